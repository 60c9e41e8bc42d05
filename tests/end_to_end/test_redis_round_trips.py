"""How often a cold request to ten archives goes to Redis."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from archives.model import Closest, Limits, Memento, Rate
from archives.moment import Moment
from archives.source import Request
from tests.end_to_end.redis_servers import needs_redis, redis_server
from tests.scenario import FakeArchive, entry
from timegate.cache import AnswerCache
from timegate.redis.address import RedisAddress, parse_address
from timegate.redis.client import RedisClient
from timegate.redis.connections import RedisConnection, Word, connection_to
from timegate.redis.opening import SharedState
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.context import RequestContext, TimeBudget
from timegate.resolution.model import Plan, Preferences, Query
from timegate.resolution.resolver import Resolver
from timegate.upstream.rate_limit import RequestQueue

pytestmark = needs_redis

AT = Moment("20200101000000")
NAMES = tuple(f"a{number}" for number in range(10))
OURS = Rate(2000, 1, 2000)
PUBLIC = Rate(100, 60, 50)


@dataclass
class LimitedArchive(FakeArchive):
    """An archive behind its rate limit."""

    queue: RequestQueue | None = None

    def captures(self, original: str) -> list[Memento]:
        self.holds = original
        return super().captures(original)

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        assert self.queue is not None
        if not self.queue.enter_now("memento"):
            await self.queue.enter(self.name, Request("GET", original, "memento"), 2.0)
        try:
            return await super().closest(original, at)
        finally:
            self.queue.leave()


class CountingConnection:
    """A connection that counts the batches of commands, each of which is one round trip."""

    def __init__(self, inner: RedisConnection) -> None:
        self.trips = 0
        self.commands = 0
        self.place, self.scan, self.close = inner.place, inner.scan, inner.close
        self._inner = inner

    async def run(self, *command: Word) -> object:
        self.trips += 1
        self.commands += 1
        return await self._inner.run(*command)

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        self.trips += 1
        self.commands += len(commands)
        return await self._inner.run_all(commands)


@dataclass
class World:
    """One replica over a connection that counts."""

    counted: CountingConnection
    resolver: Resolver

    async def cold(self, page: str) -> None:
        context = RequestContext(redis_time=TimeBudget(10.0))
        result = await self.resolver.resolve(Query(page, AT), Preferences(), context)
        assert len(result.attempts) == len(NAMES)

    async def settled(self) -> int:
        """Return the number of round trips when there are no more."""
        while True:
            before = self.counted.trips
            await asyncio.sleep(0.15)
            if self.counted.trips == before:
                return before


@asynccontextmanager
async def world(folder: Path, rate: Rate) -> AsyncGenerator[World]:
    counted: list[CountingConnection] = []

    def connect(address: RedisAddress) -> CountingConnection:
        counted.append(CountingConnection(connection_to(address)))
        return counted[0]

    with redis_server(folder) as server:
        address = parse_address(server.url)
        async with RedisClient(address, bound=10.0, connect=connect) as client:
            shared = SharedState(client, 2)
            limits = Limits(rate, rate, 64, "a test")
            limiters = {
                name: shared.rate_limiter(replace(entry(name), limits=limits)) for name in NAMES
            }
            sources = {
                name: LimitedArchive(
                    name, 0.05, ("20190101000000",), queue=RequestQueue(limiter, 64)
                )
                for name, limiter in limiters.items()
            }
            cache = AnswerCache(shared.store, lambda: 1e9, "1")
            locks = shared.locks("1")
            locks.written = cache.written
            async with aclosing(cache), Coalescer(fixed(sources), cache, locks=locks) as asking:
                resolver = Resolver(asking, cache, lambda *_: Plan((NAMES,)))
                yield World(counted[0], resolver)


@pytest.mark.parametrize("rate", [PUBLIC, OURS])
async def test_a_client_waits_for_three_round_trips(tmp_path: Path, rate: Rate) -> None:
    """The lookup, the locks and the tokens; the answers are written when it has its answer."""
    waited, trips = [], []
    async with world(tmp_path / "redis", rate) as here:
        await here.cold("http://example.org/")  # connects, and loads the scripts
        for page in range(5):
            before = await here.settled()
            await here.cold(f"http://example.org/{page}")
            waited.append(here.counted.trips - before)
            trips.append(await here.settled() - before)

    # On a busy machine the writing may begin before the last archive has answered.
    assert min(waited) <= 3
    assert min(trips) <= 5


async def test_requests_at_the_same_time_share_round_trips(tmp_path: Path) -> None:
    async with world(tmp_path / "redis", OURS) as here:
        await here.cold("http://example.org/")
        before = await here.settled()

        pages = [f"http://example.org/{number}" for number in range(50)]
        await asyncio.gather(*map(here.cold, pages))
        trips = await here.settled() - before

    assert trips <= 4 * len(pages)
