"""Asks an archive no faster than it allows, and not at all while it has asked us to wait.

Archives ban those who do not: MemGator lost four of them on a single day. What has been sent
and until when to rest is kept in a `RateLimiter`, so that several workers can share one; who waits
in this process queues at the archive's `RequestQueue`, first come, first served.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol

from archives.errors import Queued, Refused, Resting
from archives.model import Limits
from archives.source import Fetcher, Purpose, Reply, Request
from timegate.upstream.token_bucket import TokenBucket, full

_PURPOSES: Final[tuple[Purpose, ...]] = ("memento", "index")
# 403 is not among them: it is about one page far more often than about us.
_RESTS_ALL: Final = (429, 503)
_TICK: Final = 0.1
"""Timers fire a little late; who was promised a token in time shall get it."""


class RateLimiter(Protocol):
    """What an archive has been asked, and until when it wants to be left alone."""

    async def outlook(self, purpose: Purpose, ahead: int) -> float:
        """Return the seconds until one more may be sent, with *ahead* others before it."""
        ...

    async def take(self, purpose: Purpose) -> float:
        """Take the right to send one and return 0, or take nothing and return the wait."""
        ...

    async def rest(self, seconds: float) -> None:
        """Note that nothing may be sent for so long."""
        ...

    async def resting(self) -> float:
        """Return for how many seconds nothing may be sent."""
        ...


class LocalRateLimiter:
    """A ledger for one process."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        now = clock()
        self._buckets: dict[Purpose, TokenBucket] = {
            "memento": TokenBucket(limits.memento, full(limits.memento, now)),
            "index": TokenBucket(limits.index, full(limits.index, now)),
        }
        self._rests_until = now
        self._clock = clock

    async def outlook(self, purpose: Purpose, ahead: int) -> float:
        return self._buckets[purpose].wait(self._clock(), ahead)

    async def take(self, purpose: Purpose) -> float:
        return self._buckets[purpose].take(self._clock())

    async def rest(self, seconds: float) -> None:
        self._rests_until = max(self._rests_until, self._clock() + seconds)

    async def resting(self) -> float:
        return max(0.0, self._rests_until - self._clock())


class RequestQueue:
    """Where requests to one host wait their turn; archives with the same host share it."""

    def __init__(self, ledger: RateLimiter, at_once: int) -> None:
        self.ledger = ledger
        self._slots = asyncio.Semaphore(at_once)
        self._turns = {purpose: asyncio.Lock() for purpose in _PURPOSES}
        self._line = dict.fromkeys(_PURPOSES, 0)

    async def enter(self, archive: str, request: Request, patience: float) -> None:
        """Wait for a token and a slot; raise Resting where that takes more than *patience*.

        Who got in must `leave`.
        """
        await self._check_rest(archive, request)
        if not self._line[request.purpose] and not self._slots.locked():
            await self._slots.acquire()
            if await self._got_token(request.purpose):
                return
        await self._wait_in_line(archive, request, patience)
        try:
            # The answer to an earlier request may have been a 429 meanwhile.
            await self._check_rest(archive, request)
        except BaseException:
            self.leave()
            raise

    async def is_quiet(self, purpose: Purpose, spare: int) -> bool:
        """Whether one more would be in nobody's way, with room for *spare* others."""
        if self._line[purpose] or self._slots.locked():
            return False
        resting = await self.ledger.resting()
        return resting == 0 and await self.ledger.outlook(purpose, spare) == 0

    def leave(self) -> None:
        """Free the slot."""
        self._slots.release()

    async def _wait_in_line(self, archive: str, request: Request, patience: float) -> None:
        # A ledger that others write to as well may have learned of a rest only now.
        await self._check_rest(archive, request)
        wait = await self.ledger.outlook(request.purpose, self._line[request.purpose])
        if wait > patience:
            raise Queued(archive, request.url, "our share of requests is used up", wait)
        try:
            async with asyncio.timeout(patience + _TICK):
                await self._queue(request.purpose)
        except TimeoutError:
            why = "too many requests of ours are under way"
            raise Queued(archive, request.url, why, patience) from None

    async def _check_rest(self, archive: str, request: Request) -> None:
        resting = await self.ledger.resting()
        if resting > 0:
            raise Resting(archive, request.url, "it asked us to wait", resting)

    async def _queue(self, purpose: Purpose) -> None:
        self._line[purpose] += 1
        try:
            async with self._turns[purpose]:
                while not await self._got_slot_and_token(purpose):
                    pass
        finally:
            self._line[purpose] -= 1

    async def _got_slot_and_token(self, purpose: Purpose) -> bool:
        # Nothing is reserved in advance: who is cancelled while waiting leaves no gap, and no
        # token is ever handed back, which would let two leave in the place of one. The slot
        # comes before the token, so that tokens are not hoarded and spent all at once; and
        # after the wait, so that look-ups in the index do not hold up mementos.
        wait = await self.ledger.outlook(purpose, 0)
        if wait > 0:
            await asyncio.sleep(wait)
        await self._slots.acquire()
        return await self._got_token(purpose)

    async def _got_token(self, purpose: Purpose) -> bool:
        """Take a token for who has a slot; without one the slot is free again."""
        got = False
        try:
            got = await self.ledger.take(purpose) == 0
        finally:
            if not got:
                self._slots.release()
        return got


def rate_limited(fetch: Fetcher, archive: str, door: RequestQueue, patience: float) -> Fetcher:
    """Return a `Fetcher` that sends through *door* what *fetch* would send at once."""

    def politely(request: Request) -> _Polite:
        return _Polite(fetch, archive, request, door, patience)

    return politely


class _Polite:
    """One request that waits its turn, and takes a refusal to heart."""

    __slots__ = ("_archive", "_door", "_fetch", "_inner", "_patience", "_request")

    def __init__(
        self,
        fetch: Fetcher,
        archive: str,
        request: Request,
        door: RequestQueue,
        patience: float,
    ) -> None:
        self._fetch = fetch
        self._archive = archive
        self._request = request
        self._door = door
        self._patience = patience

    async def __aenter__(self) -> Reply:
        await self._door.enter(self._archive, self._request, self._patience)
        try:
            self._inner = self._fetch(self._request)
            return await self._inner.__aenter__()
        except BaseException as error:
            try:
                await self._heed(error)
            finally:
                self._door.leave()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            handled = await self._inner.__aexit__(kind, error, trace)
            await self._heed(error)
        finally:
            self._door.leave()
        return handled

    async def _heed(self, error: BaseException | None) -> None:
        if not isinstance(error, Refused) or error.status not in _RESTS_ALL:
            return
        if error.retry_after is not None:
            await self._door.ledger.rest(error.retry_after)
