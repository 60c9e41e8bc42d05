"""Clocks that tests control, so that an hour passes at once and nothing depends on a race.

`Clock` is for code that is passed a clock, `in_virtual_time` for whole coroutines that
sleep and time out. The latter is for code without sockets: real packets know no virtual time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """A monotonic clock that tests advance; call it for the time in seconds."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class _Skipping(selectors.DefaultSelector):
    """A selector that never waits: where the loop would sleep, its clock jumps instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing left to wait for: this test would hang")
        if not ready and timeout is not None:
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing that is due as soon as all is quiet."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def in_virtual_time(story: Coroutine[object, object, T]) -> T:
    """Run *story* to its end; its sleeps and timeouts cost nothing and come in right order.

    Pass ``asyncio.get_running_loop().time`` as clock to the code under test.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)
