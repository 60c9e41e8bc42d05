"""How long the shared memory may be waited for: by one operation, and by one request in all.

A request looks up many things, one after the other. Each alone is bounded, but seventy look-ups
of 10 ms would still be 700. So what a request has waited is counted, wherever it waited: the
counter travels in the context, into the tasks that the request starts. Waiting for two things
at once counts once.

A question to an archive is a branch of its own: it begins with what the request has waited by
then, and many of them wait side by side. Where they meet again, the longest way counts, as it
is what the client has waited.
"""

import asyncio
from contextvars import ContextVar
from types import TracebackType
from typing import Final

from timegate.resolution.budget import During

BOUND: Final = 0.035
"""Seconds of one operation, and of all that a request looks up."""
IN_ALL: Final = 0.04
"""Seconds, with the part that is kept back for the question whose turn it is: who had used up
all for looking up would ask an archive that another replica is asking. It had 40 ms of its own
once, and a server that answered in 15 cost every request 101.

50 ms are promised (FA-13); the rest is for timers that fire late, and for going on without:
with 45 here, 52 were measured."""
_TICK: Final = 0.002
_LATE: Final = 0.0005
"""Seconds by which timers are late in a loop that has nothing else to do."""
_LONGEST: Final = 0.25
"""Seconds by any clock, however busy this process is."""


class ResponsiveClock:
    """A clock that stands still while this process is too busy to listen.

    A thousand questions at once keep the loop busy for longer than 50 ms; the answers lie in
    the socket meanwhile. Whoever took that for a slow server would ask the archives instead,
    and make it worse. So a timer ticks while anything is waited for, and what it is late does
    not count.
    """

    __slots__ = ("_due", "_loop", "_lost", "_timer", "_waiting")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lost = 0.0
        self._waiting = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """Return the seconds in which answers could be read."""
        now = self._loop.time()
        late = now - self._due
        if self._timer is not None and late > _LATE:
            # The tick is due in this very turn of the loop, and will find nothing left.
            self._lost += late
            self._due = now
        return now - self._lost

    def begin(self) -> None:
        """Note that something is waited for."""
        self._waiting += 1
        if self._timer is None:
            self._schedule()

    def end(self) -> None:
        """Note that it is over."""
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
    """The request has waited enough, which says nothing about the one it waited for."""


class TimeBudget:
    """What a request may still wait, or one branch of it."""

    __slots__ = ("_before", "_began", "_limit", "_spent", "_trunk", "_waiting")

    def __init__(
        self, limit: float, spent: float = 0.0, trunk: "TimeBudget | None" = None
    ) -> None:
        self._limit = limit
        self._spent = spent
        self._trunk = trunk
        self._waiting = 0
        self._began = 0.0
        self._before = 0.0

    def left(self, now: float) -> float:
        """Return the seconds that are left at *now*."""
        return self._limit - self._spent_at(now)

    def begin(self, now: float) -> None:
        """Note that a wait begins."""
        if not self._waiting:
            self._began, self._before = now, self._spent
        self._waiting += 1

    def end(self, now: float) -> None:
        """Note that it is over."""
        spent = self._spent_at(now)
        self._waiting -= 1
        if not self._waiting:
            self.reach(spent)

    def branch(self, limit: float) -> "TimeBudget":
        """Return the patience of a branch, whose way from the beginning may be *limit* long."""
        return TimeBudget(limit, self._spent, self)

    def reach(self, spent: float) -> None:
        """Note that one way from the beginning was *spent* seconds long."""
        self._spent = max(self._spent, spent)
        if self._trunk is not None:
            self._trunk.reach(self._spent)

    def _spent_at(self, now: float) -> float:
        if not self._waiting:
            return self._spent
        return max(self._spent, self._before + now - self._began)


_current: ContextVar[TimeBudget | None] = ContextVar("patience", default=None)


def patient(seconds: float = BOUND) -> During[TimeBudget | None]:
    """Let all that is started in this block wait no longer than *seconds* in sum."""
    return During(_current, TimeBudget(seconds))


def branch(in_all: float = IN_ALL) -> None:
    """Let what follows in this task wait apart from the rest, and up to *in_all* in sum."""
    patience = _current.get()
    if patience is not None:
        _current.set(patience.branch(in_all))


def renew(seconds: float = BOUND) -> None:
    """Let what follows in this task wait anew, where it waited for something else."""
    if _current.get() is not None:
        _current.set(TimeBudget(seconds))


class BoundedWait:
    """A block that ends after some seconds with TimeoutError, unless it ended before."""

    __slots__ = (
        "_attention",
        "_clipped",
        "_ends",
        "_fired",
        "_last",
        "_loop",
        "_patience",
        "_seconds",
        "_task",
        "_timer",
    )

    def __init__(
        self, attention: ResponsiveClock, seconds: float, *, counted: bool = True
    ) -> None:
        self._attention = attention
        self._loop = asyncio.get_running_loop()
        self._patience = _current.get() if counted else None
        self._seconds = seconds
        self._clipped = False
        self._fired = False

    async def __aenter__(self) -> None:
        now = self._attention.now()
        if self._patience is not None:
            left = self._patience.left(now)
            self._clipped = left < self._seconds
            self._seconds = min(self._seconds, left)
            if left <= 0:
                raise OutOfTime
            self._patience.begin(now)
        self._attention.begin()
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
        self._attention.end()
        if self._patience is not None:
            self._patience.end(self._attention.now())
        if self._fired and self._task is not None:
            self._task.uncancel()
            if isinstance(error, asyncio.CancelledError) and not self._task.cancelling():
                raise (OutOfTime if self._clipped else TimeoutError) from error

    def _fire(self) -> None:
        left = self._ends - self._attention.now()
        until = min(self._loop.time() + left, self._last)
        if left > 0 and until > self._loop.time():
            self._timer = self._loop.call_at(until, self._fire)
        elif self._task is not None:
            self._fired = True
            self._task.cancel()
