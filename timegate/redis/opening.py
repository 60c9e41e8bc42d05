"""Opens the state that replicas share, and counts the replicas."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Final

from archives.model import ArchiveEntry
from timegate.redis.address import parse_address
from timegate.redis.breakers import SharedBreakers
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.locks import Locks
from timegate.redis.rate_limits import RedisRateLimiter, RedisRateLimiters
from timegate.redis.store import RedisStore
from timegate.redis.time_budget import REDIS_TIME
from timegate.upstream.breaker import Breakers

BEAT: Final = 2.0
"""Seconds between two heartbeats of a replica."""
_SILENT: Final = 10.0
"""Seconds without a heartbeat after which a replica does not count. Longer than the pause after
a failure of Redis, so that a short failure does not enlarge the shares of the others."""
_MOST: Final = 1000
_KEY: Final = "timegate:1:{replicas}"

_BEAT: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ARGV[2], '+inf')
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] * 1000))
return redis.call('ZCARD', KEYS[1])
""")


class Replicas:
    """Counts the replicas; there are never fewer than *expected*."""

    def __init__(self, client: RedisClient, name: str, expected: int | None = None) -> None:
        self._client = client
        self._name = name
        self._expected = expected or 1
        # Until the first count: a replica with a shared cache is probably not the only one.
        self._seen = expected or 2

    @property
    def number(self) -> int:
        """Number of replicas; never fewer than expected."""
        return max(self._seen, self._expected)

    async def beat(self) -> None:
        """Send a heartbeat, and count the replicas."""
        try:
            seen = await self._client.script(_BEAT, [_KEY], self._name, _SILENT)
        except RedisUnavailable:
            return
        except Spoiled:
            await self._forget()
            return
        if isinstance(seen, int):
            self._seen = min(max(seen, 1), _MOST)

    async def leave(self) -> None:
        """Remove this replica from the count."""
        try:
            await self._client.write(_KEY, "ZREM", _KEY, self._name)
        except (RedisUnavailable, Spoiled):
            return

    async def _forget(self) -> None:
        try:
            await self._client.write(_KEY, "UNLINK", _KEY)
        except (RedisUnavailable, Spoiled):
            return


_EXCHANGE: Final = 1.0
"""Seconds between two exchanges of open circuits."""


class SharedState:
    """The parts of the program that use Redis, over one client."""

    def __init__(
        self,
        client: RedisClient,
        replicas: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        name = token_hex(8)
        self.store = RedisStore(client)
        # Replicas that take turns must see the last value written, not a recent one.
        self.canary_store = RedisStore(client, recent=0.0)
        self.replicas = Replicas(client, name, replicas)
        self._limiters = RedisRateLimiters(client, lambda: self.replicas.number, clock, name)
        self._client = client

    def rate_limiter(self, entry: ArchiveEntry) -> RedisRateLimiter:
        """Return the rate limiter of a host, for `UpstreamEnvironment`."""
        return self._limiters.of(entry)

    def locks(self, version: str, *, restricted: Collection[str] = ()) -> Locks:
        """Return the locks on questions under way, for the `Coalescer`."""
        shared_locks = Locks(self._client, version, restricted=restricted)
        self._client.in_background(shared_locks.keep_renewing())
        return shared_locks

    def watch(self, breakers: Breakers) -> None:
        """Share the open circuits of *breakers* from now on."""
        shared = SharedBreakers(self._client, breakers)
        self._client.in_background(_every(_EXCHANGE, shared.exchange))


@asynccontextmanager
async def opened(
    url: str, replicas: int | None = None, bound: float = REDIS_TIME
) -> AsyncGenerator[SharedState]:
    """Connect to *url*; an unavailable Redis does not prevent the start. Raises ValueError.

    *bound*: seconds that one command may take.
    """
    async with RedisClient(parse_address(url), bound=bound) as client:
        shared = SharedState(client, replicas)
        await shared.replicas.beat()
        client.in_background(_every(BEAT, shared.replicas.beat))
        try:
            yield shared
        finally:
            await shared.replicas.leave()


async def _every(seconds: float, do: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await do()
