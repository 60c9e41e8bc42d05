"""Bad habits: hundreds of clients that do not read, read slowly, send halves, or hang up.

For each habit and each kind of route, a normal client sends requests at the same time; its
response times are compared with those without bad clients, before and after, in several rounds;
the row has the median, and by how much two measurements without bad clients differ. The bad
clients come first: what they request takes as much of the processor as from any other client.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from statistics import median
from typing import Final, NamedTuple

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario
from tests.load.many_clients import Crowd

_CLIENTS: Final = 300
_RATE: Final = 20
"""Requests of the normal client per second."""
_LINES: Final = 1000
_MEGABYTES: Final = 300
_PAGE: Final = "http://www.example.org/list"
_BYTES: Final = "http://www.example.org/bytes"
_ROUNDS: Final = 3
"""Of each combination, without and with bad clients in turns."""
_AT_ONCE: Final = 3
"""Clients that hang up together, ten times a second: 300 in ten seconds."""
_SETTLING: Final = 14.0
"""Seconds; unread responses are ended after 20."""
_numbers: Final = count()


class Route(NamedTuple):
    """A kind of route: its name, and a request for it."""

    name: str
    request: bytes
    times: int = 1
    """How often it is sent on one connection: short responses fit into the buffers."""


def _get(target: str) -> bytes:
    date = "Accept-Datetime: Fri, 22 Jan 2010 11:20:29 GMT"
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{date}\r\n\r\n".encode()


def _post(body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return (
        f"POST /resolve HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
        + body
    )


async def _routes(client: Client) -> AsyncIterator[Route]:
    nearest = await client.ask(f"/memento/proxy/20100122112029/{_BYTES}")
    raw = "/" + (nearest.header("Location") or "").split("/", 3)[3]
    yield Route("TimeGate, cached", _get(f"/timegate/{_PAGE}"), 200)
    yield Route("page", _get("/openapi.json"), 10)
    yield Route("TimeMap", _get(f"/timemap/link/{_PAGE}"))
    yield Route("raw bytes", _get(raw))
    yield Route("batch", _post(b"".join(b"no identifier %d\n" % n for n in range(_LINES))))
    yield Route("events", _get(f"/events?q={_PAGE}"))


class BadClients:
    """The clients of one habit, for as long as the block lasts."""

    def __init__(self, port: int, route: Route) -> None:
        self._crowd = Crowd(port)
        self._octets = route.request * route.times
        self._port = port

    @asynccontextmanager
    async def not_reading(self) -> AsyncIterator[None]:
        async with self._joined(self._octets):
            yield

    @asynccontextmanager
    async def reading_slowly(self) -> AsyncIterator[None]:
        async with self._joined(self._octets), _task(self._reading()):
            yield

    @asynccontextmanager
    async def half_heads(self) -> AsyncIterator[None]:
        async with self._joined(self._octets[:30]):
            yield

    @asynccontextmanager
    async def half_bodies(self) -> AsyncIterator[None]:
        async with self._joined(_post(b"x" * 1000, 2000)):
            yield

    @asynccontextmanager
    async def hanging_up(self) -> AsyncIterator[None]:
        async with _task(self._hanging_up()):
            yield

    @asynccontextmanager
    async def _joined(self, octets: bytes) -> AsyncIterator[None]:
        try:
            await asyncio.gather(*(self._crowd.join(octets) for _ in range(_CLIENTS)))
            await _settled(self._port)
            yield
        finally:
            self._crowd.close()

    async def _reading(self) -> None:
        """Read a hundred octets a second from each."""
        while True:
            for client in self._crowd.open:
                with suppress(OSError):
                    client.recv(100)
            await asyncio.sleep(1)

    async def _hanging_up(self) -> None:
        """Send each request on a new connection, which is closed soon after."""
        while True:
            crowd = Crowd(self._port)
            await asyncio.gather(*(crowd.join(self._octets) for _ in range(_AT_ONCE)))
            await asyncio.sleep(0.1)
            crowd.close()


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
        quick = quick + 1 if ping.seconds < 0.03 and complete else 0


@asynccontextmanager
async def _task(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield
        finally:
            task.cancel()


async def _normal(server: TimeGate, seconds: int) -> list[Answer]:
    """Send requests for new pages at a steady rate; every second one is for a known page."""
    new = timegates("normal", seconds * _RATE // 2, next(_numbers) * 10_000)
    known = [f"/timegate/{_PAGE}"] * len(new)
    targets = [target for pair in zip(new, known, strict=True) for target in pair]
    return await Client(server.port).at_rate(targets, _RATE)


async def bad_habits(rig: Rig) -> None:
    """300 clients of each habit on each kind of route, and a normal client."""
    seconds = rig.scaled(5, 3)
    with archives(2, rig.folder) as farm:
        farm.behave([0], length=3000, size=1_000_000, seconds=0.05)
        farm.behave([1], seconds=0.05)
        limited = ("prlimit", "--nofile=12000", "--")
        with timegate(rig.place("t"), farm.entries(), before=limited) as server:
            routes = [route async for route in _routes(Client(server.port))]
            await _normal(server, seconds)
            for habit, route in _combinations(routes):
                await _measured(rig, server, habit, route, seconds)
            peak = server.running.peak
            left = server.metric("timegate_streams")
    rig.promise("memory", f"{peak:.0f} MB", f"{_MEGABYTES} MB", met=peak <= _MEGABYTES)
    rig.promise("responses still being sent at the end", left, "0", met=left == 0)


def _combinations(routes: Sequence[Route]) -> Iterator[tuple[str, Route]]:
    for habit in ("not reading", "reading slowly", "hanging up"):
        for route in routes:
            yield habit, route
    yield "half heads", routes[0]
    yield "half bodies", routes[4]


class _Round(NamedTuple):
    """One measurement without bad clients, with them, and without them again."""

    before: list[Answer]
    beside: list[Answer]
    after: list[Answer]
    cpu: float
    """Seconds of the processor that the bad clients took."""

    @property
    def alone(self) -> float:
        return (percentile(self.before, 0.99) + percentile(self.after, 0.99)) / 2

    @property
    def noise(self) -> float:
        """How much the two measurements without bad clients differ, as a ratio."""
        both = sorted(percentile(each, 0.99) for each in (self.before, self.after))
        return both[1] / both[0]

    @property
    def times(self) -> float:
        return percentile(self.beside, 0.99) / self.alone


async def _measured(rig: Rig, server: TimeGate, habit: str, route: Route, seconds: int) -> None:
    rounds, held = list[_Round](), 0.0
    for _ in range(rig.scaled(_ROUNDS, 1)):
        # In turns, because the load of the machine changes.
        start = server.running.cpu
        before = await _normal(server, seconds)
        alone = server.running.cpu - start
        async with getattr(BadClients(server.port, route), habit.replace(" ", "_"))():
            beside = await _normal(server, seconds)
            held = max(held, await asyncio.to_thread(server.metric, "timegate_streams"))
        spent = server.running.cpu - start - 2 * alone
        rounds.append(_Round(before, beside, await _normal(server, seconds), spent))
    answers = [answer for each in rounds for answer in each.beside]
    good = [answer for answer in answers if answer.status == 302]
    times, noise = (
        median(values) for values in zip(*((r.times, r.noise) for r in rounds), strict=True)
    )
    what = f"{_CLIENTS} clients {habit}, {route.name}"
    rig.promise(
        f"{what}: a normal client",
        f"{len(good)} of {len(answers)} ({statuses(answers)}), {held:.0f} responses held",
        "all answered",
        met=len(good) == len(answers),
    )
    rig.speed(
        f"{what}: its p99",
        f"{times:.1f} times ({_spread(rounds)}); {median(r.alone for r in rounds) * 1000:.0f} "
        f"ms without, where two runs differ by {noise:.1f} times; "
        f"{1000 * median(r.cpu for r in rounds) / _CLIENTS:.1f} ms of the processor for each",
        "1.5 times",
        met=times <= 1.5,
    )


def _spread(rounds: Sequence[_Round]) -> str:
    each = sorted(r.times for r in rounds)
    return f"{each[0]:.1f} to {each[-1]:.1f}"


SCENARIOS: Final = (Scenario("bad-habits", "RB-02, T2", bad_habits, 3600),)
