"""Archives that cannot be connected to: lost packets, routes that refuse, full queues."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.networks import DEAD_ROUTES, SILENT, own_network
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_QUESTIONS: Final = 3
"""Questions to each archive; a breaker opens after five failures."""
_CONNECT: Final = 2.0


async def no_connection(rig: Rig) -> None:
    """FA-05: one archive for each way in which a connection fails."""
    with own_network(), archives(1, rig.folder) as farm, full_queue() as port:
        places = {"silent": (f"{SILENT}.1", 80), "full": ("127.0.0.1", port)}
        places |= {kind: (address, 80) for kind, address in DEAD_ROUTES.items()}
        entries = farm.entry(0) + "".join(entry(name, at) for name, at in places.items())
        with timegate(rig.place("t"), entries) as server:
            alone = Client(server.port, headers={"Prefer": "archives=a0"})
            await alone.at_once(timegates("before", 4), 4)
            descriptors, threads = server.running.descriptors, _threads(server)
            for kind in places:
                await _query_one(rig, server, kind)
            others = await Client(server.port).at_once(timegates("others", 40), 4)
            await asyncio.sleep(_CONNECT)
            left = server.running.descriptors - descriptors
            more = _threads(server) - threads
    good = [answer for answer in others if answer.status == 302]
    rig.promise(
        "answers of a healthy archive while these five fail",
        f"{len(good)} of {len(others)}, longest {percentile(others, 1.0):.2f} s",
        "all within 2.3 s",
        met=len(good) == len(others) and percentile(others, 1.0) <= 2.3,
    )
    rig.promise(
        "descriptors and threads left over",
        f"{max(left, 0)} and {max(more, 0)}",
        "0 and 0",
        met=left <= 0 and more <= 0,
    )


async def _query_one(rig: Rig, server: TimeGate, archive: str) -> None:
    client = Client(server.port, headers={"Prefer": f"archives={archive}"})
    answers = await client.at_once(timegates(archive, _QUESTIONS), 1)
    reported = all(answer.status in (502, 503, 504) for answer in answers)
    longest = percentile(answers, 1.0)
    rig.promise(
        f"a single archive, {archive}",
        f"{statuses(answers)} within {longest:.2f} s: {_why(answers[-1])}",
        f"reported as a failure within {_CONNECT:g} s",
        met=reported and longest <= _CONNECT + 0.3,
    )


def _why(answer: Answer) -> str:
    """Return the reason that the problem document states for the archive."""
    text = answer.body.decode(errors="replace")
    for word in ('"why": "', '"detail": "'):
        if word in text:
            return text.partition(word)[2].partition('"')[0]
    return text[:200]


def entry(name: str, place: tuple[str, int]) -> str:
    """Return the configuration of an archive at *place*."""
    base = f"http://{place[0]}:{place[1]}"
    return (
        f'[[archive]]\nid = "{name}"\nkind = "memento"\ntimegate = "{base}/timegate/"\n'
        f'timemap = "{base}/timemap/link/"\nreplay = "{base}/{{time14}}/{{uri}}"\n'
    )


@contextmanager
def full_queue() -> Iterator[int]:
    """Yield a port whose accept queue is full: the next connection is not answered."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = int(server.getsockname()[1])
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 -- it takes no keyword
            waiting.connect_ex(("127.0.0.1", port))
        yield port


def _threads(server: TimeGate) -> int:
    return len(list(Path(f"/proc/{server.running.pid}/task").iterdir()))


SCENARIOS: Final = (Scenario("no-connection", "FA-05", no_connection, 90),)
