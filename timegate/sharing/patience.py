"""How long the shared memory may be waited for: by one operation, and by one request in all.

A request looks up many things, one after the other. Each alone is bounded, but seventy look-ups
of 10 ms would still be 700. So what a request has waited is counted, wherever it waited: the
counter travels in the context, into the tasks that the request starts. Waiting for two things
at once counts once.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Final

BOUND: Final = 0.05
"""Seconds; reliability: Redis op timeout."""
_LAG: Final = 0.01
"""Seconds. A timer that fires later than that shows that this process was busy, not Redis; the
answer may lie in the socket already. It gets as long again, once."""


class Impatient(TimeoutError):
    """The request has waited enough, which says nothing about the one it waited for."""


class Patience:
    """What a request may still wait."""

    __slots__ = ("_began", "_left", "_waiting")

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._waiting = 0
        self._began = 0.0

    def left(self, now: float) -> float:
        """Return the seconds that are left at *now*."""
        return self._left - (now - self._began if self._waiting else 0.0)

    def begin(self, now: float) -> None:
        """Note that a wait begins."""
        if not self._waiting:
            self._began = now
        self._waiting += 1

    def end(self, now: float) -> None:
        """Note that it is over."""
        self._waiting -= 1
        if not self._waiting:
            self._left -= now - self._began


_current: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patient(seconds: float = BOUND) -> Iterator[None]:
    """Let all that is started in this block wait no longer than *seconds* in sum."""
    token = _current.set(Patience(seconds))
    try:
        yield
    finally:
        _current.reset(token)


class Bounded:
    """A block that ends after some seconds with TimeoutError, unless it ended before.

    Cheaper than `asyncio.timeout`, and fairer: see `_LAG`.
    """

    __slots__ = (
        "_clipped",
        "_due",
        "_fired",
        "_lenient",
        "_loop",
        "_patience",
        "_seconds",
        "_task",
        "_timer",
    )

    def __init__(self, seconds: float, *, counted: bool = True) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = _current.get() if counted else None
        self._seconds = seconds
        self._clipped = False
        self._fired = False
        self._lenient = True

    async def __aenter__(self) -> None:
        now = self._loop.time()
        if self._patience is not None:
            left = self._patience.left(now)
            self._clipped = left < self._seconds
            self._seconds = min(self._seconds, left)
            if left <= 0:
                raise Impatient
            self._patience.begin(now)
        self._task = asyncio.current_task()
        self._due = now + self._seconds
        self._timer = self._loop.call_at(self._due, self._fire)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._patience is not None:
            self._patience.end(self._loop.time())
        if self._fired and self._task is not None:
            self._task.uncancel()
            if isinstance(error, asyncio.CancelledError) and not self._task.cancelling():
                raise (Impatient if self._clipped else TimeoutError) from error

    def _fire(self) -> None:
        lag = self._loop.time() - self._due
        if lag > _LAG and self._lenient:
            self._lenient = False
            self._due += lag + _LAG
            self._timer = self._loop.call_at(self._due, self._fire)
        elif self._task is not None:
            self._fired = True
            self._task.cancel()
