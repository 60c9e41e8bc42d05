"""Rate limit per archive: token buckets, a queue, and a pause after a 429 or 503.

Archives ban clients that are faster: MemGator was banned by four of them on a single day. A
`RateLimiter` counts requests in token buckets, which several processes can share. The requests
of this process wait in the `RequestQueue` of the archive, first come, first served.
"""

import asyncio
import math
from array import array
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, runtime_checkable

from archives.errors import Queued, Refused, Resting
from archives.model import Limits, Rate
from archives.source import Purpose, Request
from timegate.resolution.context import QueueTime, TimeBudget

MOST_REMEMBERED: Final = 4096
"""Requests remembered by their times, 32 kB. A larger window is divided into equal parts, and
the limit likewise."""
_EPSILON: Final = 1e-6
"""Tokens or seconds. Rounding errors would mean waits too short to move a clock."""
_JITTER: Final = 0.02
_LONGEST_JITTER: Final = 1.0
"""Seconds by which one request may take longer to arrive than another. The archive counts
requests by when they arrive, not by when they were sent."""
_TOKENS: Final = 0
_UPDATED: Final = 1
_SENT: Final = 2
_RING: Final = 3


class Cells(Protocol):
    """Numbers that can be changed in place: an array, or a part of a mapped file."""

    def __getitem__(self, place: int, /) -> float: ...

    def __setitem__(self, place: int, number: float, /) -> None: ...


class Window(NamedTuple):
    """At most *most* in any *span* seconds; none at all if *most* is 0."""

    most: int
    span: float

    @classmethod
    def of(cls, rate: Rate) -> "Window":
        """Return the window of *rate*.

        A burst of 5 at 1 a second allows more than 1 in a second: such a rate is limited by the
        bucket alone.
        """
        if rate.burst > rate.requests:
            return cls(0, 0.0)
        parts = math.ceil(rate.requests / MOST_REMEMBERED)
        span = rate.seconds / parts
        return cls(int(rate.requests) // parts, span + min(_JITTER * span, _LONGEST_JITTER))


def cells_of(rate: Rate) -> int:
    """Return how many numbers the state of a bucket of *rate* takes."""
    return _RING + Window.of(rate).most


def full(rate: Rate, now: float) -> "array[float]":
    """Return the state of a full bucket."""
    cells = array("d", bytes(8 * cells_of(rate)))
    cells[_TOKENS] = rate.burst
    cells[_UPDATED] = now
    return cells


class TokenBucket:
    """Token bucket, combined with a sliding window."""

    __slots__ = ("_burst", "_cells", "_per_second", "_window")

    def __init__(self, rate: Rate, cells: Cells) -> None:
        self._per_second = rate.requests / rate.seconds
        self._burst = float(rate.burst)
        self._window = Window.of(rate)
        self._cells = cells

    def wait(self, now: float, ahead: int = 0) -> float:
        """Return the seconds until a token is free for a request with *ahead* before it."""
        most, span = self._window
        laps, ahead = divmod(ahead, most) if most else (0, ahead)
        missing = ahead + 1 - self._tokens(now)
        wait = missing / self._per_second if missing > _EPSILON else 0.0
        entry = int(self._cells[_SENT]) - most + ahead
        if most and entry >= 0:
            left = self._cells[_RING + entry % most] + span - now
            wait = max(wait, min(left, span))
        wait += laps * span
        return wait if wait > _EPSILON else 0.0

    def take(self, now: float) -> float:
        """Take a token and return 0, or take nothing and return how long to wait."""
        cells, (most, span) = self._cells, self._window
        # As `_tokens`, which would be one more call for every request.
        elapsed = now - cells[_UPDATED]
        tokens = cells[_TOKENS] + (elapsed * self._per_second if elapsed > 0 else 0.0)
        tokens = min(self._burst, tokens)
        sent = int(cells[_SENT])
        place = _RING + sent % most if most else 0
        is_free = tokens >= 1 and (sent < most or not most or cells[place] + span <= now)
        wait = 0.0 if is_free else self.wait(now)
        if wait > 0:
            return wait
        cells[_TOKENS] = tokens - 1
        cells[_UPDATED] = now
        if most:
            cells[place] = now
            cells[_SENT] = sent + 1
        return 0.0

    def _tokens(self, now: float) -> float:
        cells, burst = self._cells, self._burst
        elapsed = now - cells[_UPDATED]
        tokens = cells[_TOKENS] + (elapsed * self._per_second if elapsed > 0 else 0.0)
        return min(tokens, burst)


_PURPOSES: Final[tuple[Purpose, ...]] = ("memento", "index")
# 403 is not among them: it is about one page far more often than about this client.
_PAUSING: Final = (429, 503)
_TICK: Final = 0.1
"""Seconds by which timers may be late; a token that was due in time is still taken."""


class RateLimiter(Protocol):
    """Counts the requests to an archive, and knows until when it asked for a pause."""

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        """Return the seconds until a request may be sent that has *ahead* others before it.

        *budget*, here and below, limits the time spent waiting for Redis.
        """
        ...

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        """Take a token and return 0, or take none and return the seconds to wait."""
        ...

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        """Pause all requests for *seconds*."""
        ...

    async def resting(self) -> float:
        """Return the seconds until the end of the pause, 0 if there is none."""
        ...


@runtime_checkable
class ImmediateRateLimiter(Protocol):
    """A `RateLimiter` that answers without waiting for another process."""

    def take_now(self, purpose: Purpose) -> bool:
        """Take a token and return True; False without a token, or during a pause."""
        ...


class Slots:
    """Requests that may be under way; those that wait for one are served in order."""

    __slots__ = ("_waiting", "free")

    def __init__(self, number: int) -> None:
        self.free = number
        """Slots that may be taken at once; 0 while others wait."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a slot. Every slot must be released."""
        if self.free:
            self.free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Pass the slot on to the next that waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1


class LocalRateLimiter:
    """A rate limiter for one process."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        now = clock()
        self._buckets: dict[Purpose, TokenBucket] = {
            "memento": TokenBucket(limits.memento, full(limits.memento, now)),
            "index": TokenBucket(limits.index, full(limits.index, now)),
        }
        self._rests_until = now
        self._clock = clock

    def take_now(self, purpose: Purpose) -> bool:
        now = self._clock()
        return now >= self._rests_until and self._buckets[purpose].take(now) == 0

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        del budget
        return self._buckets[purpose].wait(self._clock(), ahead)

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        del budget
        return self._buckets[purpose].take(self._clock())

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        del budget
        self._rests_until = max(self._rests_until, self._clock() + seconds)

    async def resting(self) -> float:
        return max(0.0, self._rests_until - self._clock())


class RequestQueue:
    """Queue of the requests to one host; archives at the same host share it."""

    def __init__(self, limiter: RateLimiter, at_once: int) -> None:
        self.limiter = limiter
        self._immediate = limiter if isinstance(limiter, ImmediateRateLimiter) else None
        self._slots = Slots(at_once)
        self.leave = self._slots.release
        """Frees the slot."""
        self._turns = {purpose: asyncio.Lock() for purpose in _PURPOSES}
        self._waiting = dict.fromkeys(_PURPOSES, 0)

    def enter_now(self, purpose: Purpose) -> bool:
        """Take a token and a slot, if that takes no waiting; if not, `enter` the queue.

        After True, `leave` must follow.
        """
        slots, limiter = self._slots, self._immediate
        if limiter is None or not slots.free or self._waiting[purpose]:
            return False
        if not limiter.take_now(purpose):
            return False
        slots.free -= 1
        return True

    async def enter(
        self,
        archive: str,
        request: Request,
        patience: float,
        budget: TimeBudget | None = None,
        queue_time: QueueTime | None = None,
    ) -> None:
        """Wait for a token and a slot; raise Resting where that takes more than *patience*.

        *queue_time* counts the wait. After it returns, `leave` must follow.
        """
        await self._check_pause(archive, request)
        if not self._waiting[request.purpose] and self._slots.free:
            await self._slots.take()
            if await self._took_token(request.purpose, budget):
                return
        if queue_time is None:
            await self._wait(archive, request, patience, budget)
        else:
            await self._wait_counted(archive, request, patience, budget, queue_time)
        try:
            # The answer to an earlier request may have been a 429 meanwhile.
            await self._check_pause(archive, request)
        except BaseException:
            self.leave()
            raise

    async def is_quiet(self, purpose: Purpose, spare: int) -> bool:
        """Whether one more request delays no other, with room for *spare* more."""
        if self._waiting[purpose] or not self._slots.free:
            return False
        pause = await self.limiter.resting()
        return pause == 0 and await self.limiter.outlook(purpose, spare) == 0

    async def _wait_counted(
        self,
        archive: str,
        request: Request,
        patience: float,
        budget: TimeBudget | None,
        queue_time: QueueTime,
    ) -> None:
        clock = asyncio.get_running_loop().time
        queue_time.begin(clock())
        try:
            await self._wait(archive, request, patience, budget)
        finally:
            queue_time.end(clock())

    async def _wait(
        self, archive: str, request: Request, patience: float, budget: TimeBudget | None
    ) -> None:
        # A limiter that other processes share may have learned of a pause only now.
        await self._check_pause(archive, request)
        purpose = request.purpose
        wait = await self.limiter.outlook(purpose, self._waiting[purpose], budget)
        if wait > patience:
            raise Queued(archive, request.url, "our rate limit for it is used up", wait)
        try:
            async with asyncio.timeout(patience + _TICK):
                await self._queue(purpose, budget)
        except TimeoutError:
            why = "too many of our requests are under way"
            raise Queued(archive, request.url, why, patience) from None

    async def _check_pause(self, archive: str, request: Request) -> None:
        pause = await self.limiter.resting()
        if pause > 0:
            raise Resting(archive, request.url, "it asked us to wait", pause)

    async def _queue(self, purpose: Purpose, budget: TimeBudget | None) -> None:
        self._waiting[purpose] += 1
        try:
            async with self._turns[purpose]:
                while not await self._took_slot_and_token(purpose, budget):
                    pass
        finally:
            self._waiting[purpose] -= 1

    async def _took_slot_and_token(self, purpose: Purpose, budget: TimeBudget | None) -> bool:
        # Nothing is reserved in advance: a request that is cancelled while it waits leaves no
        # gap, and no token is ever returned, which would let two requests be sent in the place
        # of one. The slot is taken before the token, so that tokens are not collected and spent
        # all at once; and after the wait, so that index lookups do not delay mementos.
        wait = await self.limiter.outlook(purpose, 0, budget)
        if wait > 0:
            await asyncio.sleep(wait)
        await self._slots.take()
        return await self._took_token(purpose, budget)

    async def _took_token(self, purpose: Purpose, budget: TimeBudget | None) -> bool:
        """Take a token for a request that has a slot; without a token, free the slot."""
        took = False
        try:
            took = await self.limiter.take(purpose, budget) == 0
        finally:
            if not took:
                self._slots.release()
        return took

    async def pause_after(self, error: BaseException, budget: TimeBudget | None) -> None:
        """Pause all requests if *error* is the refusal of an archive that asks for a pause."""
        if not isinstance(error, Refused) or error.status not in _PAUSING:
            return
        if error.retry_after is not None:
            await self.limiter.rest(error.retry_after, budget)
