"""Time limits for Redis: for one command, and for all commands of one request.

Each command has a limit, but seventy lookups of 10 ms would still take 700 ms. So a request
also has a `TimeBudget`, which all its commands draw on.
"""

import asyncio
from types import TracebackType
from typing import Final

from timegate.resolution.context import REDIS_TIME, TimeBudget

__all__ = ["REDIS_TIME", "BoundedWait", "OutOfTime", "ResponsiveClock"]

_TICK: Final = 0.002
_LATE: Final = 0.0005
"""Seconds by which timers are late in a loop that has nothing else to do."""
_LONGEST: Final = 0.25
"""Seconds of real time, however busy this process is."""


class ResponsiveClock:
    """A clock that stands still while the event loop is too busy to read replies.

    A thousand questions at once keep the loop busy for more than 50 ms, while the replies wait
    in the socket buffer. If that counted as a slow server, the questions would go to the
    archives instead, which makes it worse. So a timer ticks while a reply is awaited, and its
    delay does not count.
    """

    __slots__ = ("_due", "_loop", "_lost", "_timer", "_waiting")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lost = 0.0
        self._waiting = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """Return the seconds in which replies could be read."""
        now = self._loop.time()
        late = now - self._due
        if self._timer is not None and late > _LATE:
            # The tick is due in this turn of the loop as well, and will find no delay.
            self._lost += late
            self._due = now
        return now - self._lost

    def begin(self) -> None:
        """Note that a wait has begun."""
        self._waiting += 1
        if self._timer is None:
            self._schedule()

    def end(self) -> None:
        """Note that a wait has ended."""
        self._waiting -= 1

    def _schedule(self) -> None:
        self._due = self._loop.time() + _TICK
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self.now()
        self._timer = None
        if self._waiting:
            self._schedule()


class OutOfTime(TimeoutError):
    """The time budget of the request is used up, which says nothing about the server."""


class BoundedWait:
    """Context manager that raises TimeoutError after some seconds by a `ResponsiveClock`."""

    __slots__ = (
        "_budget",
        "_clipped",
        "_clock",
        "_ends",
        "_fired",
        "_last",
        "_loop",
        "_seconds",
        "_task",
        "_timer",
    )

    def __init__(
        self, clock: ResponsiveClock, seconds: float, budget: TimeBudget | None = None
    ) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._budget = budget
        self._seconds = seconds
        self._clipped = False
        self._fired = False

    async def __aenter__(self) -> None:
        now = self._clock.now()
        if self._budget is not None:
            left = self._budget.left(now)
            self._clipped = left < self._seconds
            self._seconds = min(self._seconds, left)
            if left <= 0:
                raise OutOfTime
            self._budget.begin(now)
        self._clock.begin()
        self._task = asyncio.current_task()
        self._ends = now + self._seconds
        began = self._loop.time()
        self._last = began + max(self._seconds, _LONGEST)
        self._timer = self._loop.call_at(began + self._seconds, self._fire)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._clock.end()
        if self._budget is not None:
            self._budget.end(self._clock.now())
        if self._fired and self._task is not None:
            self._task.uncancel()
            if isinstance(error, asyncio.CancelledError) and not self._task.cancelling():
                raise (OutOfTime if self._clipped else TimeoutError) from error

    def _fire(self) -> None:
        left = self._ends - self._clock.now()
        until = min(self._loop.time() + left, self._last)
        if left > 0 and until > self._loop.time():
            self._timer = self._loop.call_at(until, self._fire)
        elif self._task is not None:
            self._fired = True
            self._task.cancel()
