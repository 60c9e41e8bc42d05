"""Bad habits: hundreds of clients that do not read, read slowly, send halves, or hang up.

For each habit and each kind of route, a normal client sends requests beside the bad clients and
without them, in turns. Its 99th percentile is that of all turns together: 1,200 requests beside
the bad clients, and 1,800 without them. The server has a core of its own; clients and archives
have the others. The bad clients come first: what they request takes as much of the processor as
from any other client. Then they behave badly, for as long as the measurement lasts.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from hashlib import sha256
from itertools import count
from operator import itemgetter
from typing import Final, NamedTuple

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.processes import stolen
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario
from tests.load.many_clients import Crowd

_CLIENTS: Final = 300
_RATE: Final = 200
"""Requests of the normal client per second."""
_SECONDS: Final = 3
"""Of one turn."""
_TURNS: Final = 2
_STOLEN: Final = 0.05
"""Seconds of all processors that the host may take in a turn; then it is repeated."""
_MOST_TRIES: Final = 3
"""Of one turn: responses that are not read are ended after 20 seconds."""
_LINES: Final = 1000
_MEGABYTES: Final = 300
_SIZE: Final = 1_000_000
"""Octets of archived bytes, and of a revision in the store."""
_PAGE: Final = "http://www.example.org/list"
_BYTES: Final = "http://www.example.org/bytes"
_REVISION: Final = "/store/s/http://www.example.org/revision"
_TOKEN: Final = "secret"  # noqa: S105 -- of a store of this test
_AT_ONCE: Final = 3
"""Clients that hang up together, ten times a second: 300 in ten seconds."""
_SETTLING: Final = 14.0
"""Seconds; unread responses are ended after 20."""
_QUICK: Final = 0.1
"""Seconds for a new page, of which the archives take 0.05."""
_numbers: Final = count()


# Requests


class Route(NamedTuple):
    """A kind of route: its name, and a request for it."""

    name: str
    request: bytes
    times: int = 1
    """How often it is sent on one connection: short responses fit into the buffers."""


def _get(target: str) -> bytes:
    date = "Accept-Datetime: Fri, 22 Jan 2010 11:20:29 GMT"
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{date}\r\n\r\n".encode()


def _post(body: bytes) -> bytes:
    return _head("POST /resolve", len(body)) + body


def _put(body: bytes, length: int) -> bytes:
    fields = f"Authorization: Bearer {_TOKEN}\r\nContent-Type: text/plain\r\n"
    return _head(f"PUT {_REVISION}", length, fields) + body


def _head(start: str, length: int, fields: str = "") -> bytes:
    return (
        f"{start} HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {length}\r\n\r\n"
    ).encode()


async def _routes(client: Client) -> list[Route]:
    """Return the kinds of routes whose responses are read."""
    nearest = await client.ask(f"/memento/proxy/20100122112029/{_BYTES}")
    raw = "/" + (nearest.header("Location") or "").split("/", 3)[3]
    batch = _post(b"".join(b"no identifier %d\n" % n for n in range(_LINES)))
    return [
        Route("TimeGate, cached", _get(f"/timegate/{_PAGE}"), 200),
        Route("page", _get("/openapi.json"), 10),
        Route("TimeMap", _get(f"/timemap/link/{_PAGE}")),
        Route("raw bytes", _get(raw)),
        Route("batch", batch),
        Route("events", _get(f"/events?q={_PAGE}")),
        Route("own revision", f"GET {_REVISION} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()),
    ]


async def _written_to(_client: Client) -> list[Route]:
    """Return the kinds of routes that read a body, with a half of it."""
    half = b"x" * 1000
    return [
        Route("batch", _head("POST /resolve", 2000) + half),
        Route("store", _put(half, 2000)),
        Route("list to resolve", _head("POST /resolve?as=csv", 2000) + half),
    ]


async def _begun(_client: Client) -> list[Route]:
    """Return halves of heads: of a first request, and of a second one on the connection."""
    half = _get(f"/timegate/{_PAGE}")[:30]
    return [Route("first head", half), Route("second head", _get("/healthz") + half)]


# Bad clients


@asynccontextmanager
async def _sent(port: int, route: Route) -> AsyncIterator[Crowd]:
    """Clients that send their octets, read nothing, and stay."""
    crowd, octets = Crowd(port), route.request * route.times
    try:
        await asyncio.gather(*(crowd.join(octets) for _ in range(_CLIENTS)))
        await _settled(port)
        yield crowd
    finally:
        crowd.close()


@asynccontextmanager
async def _reading_slowly(port: int, route: Route) -> AsyncIterator[None]:
    async def reading(crowd: Crowd) -> None:
        """Read a hundred octets a second from each."""
        while True:
            for client in crowd.open:
                with suppress(OSError):
                    client.recv(100)
            await asyncio.sleep(1)

    async with _sent(port, route) as crowd, _task(reading(crowd)):
        yield


@asynccontextmanager
async def _hanging_up(port: int, route: Route) -> AsyncIterator[None]:
    async def hanging_up() -> None:
        """Send each request on a new connection, which is closed soon after."""
        while True:
            crowd = Crowd(port)
            octets = route.request * route.times
            await asyncio.gather(*(crowd.join(octets) for _ in range(_AT_ONCE)))
            await asyncio.sleep(0.1)
            crowd.close()

    async with _task(hanging_up()):
        yield


async def _settled(port: int) -> None:
    """Wait until nothing is left to do for the bad clients.

    A ping of the server is quick, and the archives, which are one process, answer in time: they
    have made hundreds of lists for the bad clients.
    """
    quick, until = 0, time.monotonic() + _SETTLING
    while quick < 5 and time.monotonic() < until:
        await asyncio.sleep(0.2)
        ping = await Client(port).ask("/healthz")
        (new,) = timegates("settling", 1, next(_numbers) * 10_000)
        answer = await Client(port).ask(new)
        complete = "sources=complete" in (answer.header("Memento-Precision") or "")
        is_quick = ping.seconds < 0.03 and answer.seconds < _QUICK
        quick = quick + 1 if is_quick and complete else 0


@asynccontextmanager
async def _task(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


_HABITS: Final = {
    "not reading": (_sent, _routes),
    "reading slowly": (_reading_slowly, _routes),
    "hanging up": (_hanging_up, _routes),
    "half heads": (_sent, _begun),
    "half bodies": (_sent, _written_to),
}


# Measuring


async def bad_habits(habit: str, rig: Rig) -> None:
    """300 clients of one habit on each kind of route, and a normal client."""
    with _cores() as server_core, archives(2, rig.folder) as farm:
        farm.behave([0], length=3000, size=_SIZE, seconds=0.05)
        farm.behave([1], seconds=0.05)
        before = (*server_core, "prlimit", "--nofile=12000", "--")
        config = farm.entries() + _store(rig)
        with timegate(rig.place("t"), config, before=before) as server:
            client = Client(server.port)
            await _write_revision(client)
            routes = await _HABITS[habit][1](client)
            await _normal(server, rig.scaled(_SECONDS, 2))
            for route in routes:
                await _measured(rig, server, habit, route)
            await _report_left(rig, server)


@contextmanager
def _cores() -> Iterator[Sequence[str]]:
    """Leave the first core to the server; yields what its command begins with."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        yield ()
        return
    os.sched_setaffinity(0, cores[1:])
    try:
        yield ("taskset", "--cpu-list", str(cores[0]))
    finally:
        os.sched_setaffinity(0, cores)


def _store(rig: Rig) -> str:
    digest = sha256(_TOKEN.encode()).hexdigest()
    return f'[[store]]\nid = "s"\npath = "{rig.place("store")}"\ntokens = ["sha256:{digest}"]\n'


async def _write_revision(client: Client) -> None:
    reader, writer = await client.connect()
    writer.write(_put(b"x" * _SIZE, _SIZE))
    status = (await reader.readline()).split()[1]
    writer.close()
    if status != b"201":
        raise RuntimeError(f"the revision was not written: {status.decode()}")


async def _normal(server: TimeGate, seconds: int) -> list[Answer]:
    """Send requests for new pages at a steady rate; every second one is for a known page."""
    new = timegates("normal", seconds * _RATE // 2, next(_numbers) * 10_000)
    known = [f"/timegate/{_PAGE}"] * len(new)
    targets = [target for pair in zip(new, known, strict=True) for target in pair]
    return await Client(server.port).at_rate(targets, _RATE)


class _Turn(NamedTuple):
    """One turn of the normal client."""

    answers: list[Answer]
    stolen: float
    """Seconds of the processors that the host took from the machine."""
    tries: int
    """How often it was measured."""


async def _turn(server: TimeGate, seconds: int) -> _Turn:
    """Measure a turn; again if the host of the machine took much time from it.

    A pause of the whole machine of 100 ms is in the 99th percentile. The least disturbed try
    counts, whatever was measured in it.
    """
    tries: list[tuple[float, list[Answer]]] = []
    while not tries or (tries[-1][0] > _STOLEN and len(tries) < _MOST_TRIES):
        before = stolen()
        answers = await _normal(server, seconds)
        tries.append((stolen() - before, answers))
    taken, answers = min(tries, key=itemgetter(0))
    return _Turn(answers, taken, len(tries))


class _Turns(NamedTuple):
    """The turns of one combination."""

    alone: list[_Turn]
    beside: list[_Turn]
    cpu: float
    """Seconds of the processor that the bad clients took."""
    held: float
    """Responses that were being sent to them at the same time."""
    disturbed: float
    """The share of the time in which other processes had the core of the server."""

    @property
    def p99s(self) -> tuple[float, float]:
        """Seconds, without and with bad clients."""
        together = (
            [a for turn in turns for a in turn.answers] for turns in (self.alone, self.beside)
        )
        alone, beside = (percentile(answers, 0.99) for answers in together)
        return alone, beside

    @property
    def stolen(self) -> float:
        """Seconds that the host of the machine took from the most disturbed turn."""
        return max(turn.stolen for turn in (*self.alone, *self.beside))

    def range_of(self, turns: Sequence[_Turn]) -> str:
        each = sorted(1000 * percentile(turn.answers, 0.99) for turn in turns)
        return f"{each[0]:.0f} to {each[-1]:.0f}"


async def _turns(rig: Rig, server: TimeGate, habit: str, route: Route) -> _Turns:
    seconds, held, cpu = rig.scaled(_SECONDS, 2), 0.0, 0.0
    alone, beside = list[_Turn](), list[_Turn]()
    began, waited = time.monotonic(), server.running.waited
    for _ in range(rig.scaled(_TURNS, 1)):
        # In turns, because the load of the machine changes.
        start = server.running.cpu
        alone.append(await _turn(server, seconds))
        middle = server.running.cpu
        async with _HABITS[habit][0](server.port, route):
            beside.append(await _turn(server, seconds))
            held = max(held, await asyncio.to_thread(server.metric, "timegate_streams"))
        usual = (middle - start) / alone[-1].tries
        cpu += server.running.cpu - middle - usual * beside[-1].tries
        # Nothing of theirs is left to do when the next turn without them begins.
        await _settled(server.port)
    alone.append(await _turn(server, seconds))
    disturbed = (server.running.waited - waited) / (time.monotonic() - began)
    return _Turns(alone, beside, cpu, held, disturbed)


async def _measured(rig: Rig, server: TimeGate, habit: str, route: Route) -> None:
    turns = await _turns(rig, server, habit, route)
    answers = [answer for turn in turns.beside for answer in turn.answers]
    good = [answer for answer in answers if answer.status == 302]
    what = f"{_CLIENTS} clients {habit}, {route.name}"
    rig.promise(
        f"{what}: a normal client",
        f"{len(good):,} of {len(answers):,} ({statuses(answers)}), {turns.held:.0f} held",
        "all answered",
        met=len(good) == len(answers),
    )
    alone, beside = turns.p99s
    rig.speed(
        f"{what}: its p99",
        f"{beside / alone:.2f} times: {1000 * beside:.0f} ms ({turns.range_of(turns.beside)}), "
        f"{1000 * alone:.0f} ms without ({turns.range_of(turns.alone)}); "
        f"{1000 * turns.cpu / len(turns.beside) / _CLIENTS:.1f} ms of the processor for each, "
        f"which others had for {100 * turns.disturbed:.0f} % of the time; the host of the "
        f"machine took {1000 * turns.stolen:.0f} ms of a turn at most",
        "1.5 times",
        met=beside <= 1.5 * alone,
    )


async def _report_left(rig: Rig, server: TimeGate) -> None:
    peak = server.running.peak
    left = await asyncio.to_thread(server.metric, "timegate_streams")
    rig.promise("memory", f"{peak:.0f} MB", f"{_MEGABYTES} MB", met=peak <= _MEGABYTES)
    rig.promise("responses still being sent at the end", left, "0", met=left == 0)


SCENARIOS: Final = tuple(
    Scenario(
        f"bad-habits-{habit.replace(' ', '-')}", "RB-02, T2", partial(bad_habits, habit), 900
    )
    for habit in _HABITS
)
