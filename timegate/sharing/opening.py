"""Opens all that replicas share, and keeps it going."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Final

from archives.model import ArchiveEntry
from timegate.sharing.address import parse_address
from timegate.sharing.breakers import SharedBreakers
from timegate.sharing.client import RedisClient
from timegate.sharing.ledger import RedisRateLimiter, RedisRateLimiters
from timegate.sharing.locks import Locks
from timegate.sharing.patience import BOUND
from timegate.sharing.replicas import BEAT, Replicas
from timegate.sharing.store import RedisStore
from timegate.upstream.breaker import Breakers

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
    url: str, replicas: int | None = None, bound: float = BOUND
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
