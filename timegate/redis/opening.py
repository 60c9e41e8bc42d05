"""Opens all that replicas share, and keeps it going."""

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
"""Seconds between two signs of life."""
_SILENT: Final = 10.0
"""Seconds after which a replica is taken for gone. Longer than a pause in which Redis is left
alone, so that a short trouble does not make the parts of the others larger."""
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
    """Counts them. Without a count, *expected* there are."""

    def __init__(self, client: RedisClient, name: str, expected: int | None = None) -> None:
        self._client = client
        self._name = name
        self._expected = expected or 1
        # Who shares is not alone; the first count says by how many.
        self._seen = expected or 2

    @property
    def number(self) -> int:
        """How many there are; never fewer than expected."""
        return max(self._seen, self._expected)

    async def beat(self) -> None:
        """Say that this one is there, and count."""
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
        """Say that this one is gone."""
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
"""Seconds after which all know that an archive is dead."""


class SharedState:
    """What is shared, in the shapes in which the rest of the program wants it."""

    def __init__(
        self,
        client: RedisClient,
        replicas: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        name = token_hex(8)
        self.store = RedisStore(client)
        # Who takes turns has to see what the one before has written, not what was there a
        # moment ago.
        self.board = RedisStore(client, recent=0.0)
        self.replicas = Replicas(client, name, replicas)
        self._ledgers = RedisRateLimiters(client, lambda: self.replicas.number, clock, name)
        self._client = client

    def ledger(self, entry: ArchiveEntry) -> RedisRateLimiter:
        """Return the ledger of a host archive, for `pool.Surroundings`."""
        return self._ledgers.of(entry)

    def turns(self, version: str, *, restricted: Collection[str] = ()) -> Locks:
        """Return the questions under way, for the desk."""
        locks = Locks(self._client, version, restricted=restricted)
        self._client.keep(locks.keep_renewing())
        return locks

    def watch(self, breakers: Breakers) -> None:
        """Share what is learned of dead archives from now on."""
        shared = SharedBreakers(self._client, breakers)
        self._client.keep(_every(_EXCHANGE, shared.exchange))


@asynccontextmanager
async def opened(
    url: str, replicas: int | None = None, bound: float = REDIS_TIME
) -> AsyncGenerator[SharedState]:
    """Connect to *url*; that it is away is no reason not to start. Raises ValueError.

    *bound*: seconds that one operation may take.
    """
    async with RedisClient(parse_address(url), bound=bound) as client:
        shared = SharedState(client, replicas)
        await shared.replicas.beat()
        client.keep(_every(BEAT, shared.replicas.beat))
        try:
            yield shared
        finally:
            await shared.replicas.leave()


async def _every(seconds: float, do: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await do()
