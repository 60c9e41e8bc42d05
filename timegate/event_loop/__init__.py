"""Helpers for asyncio: fair starts in the event loop, slow work beside it, ending tasks."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Final, TypeVar

R = TypeVar("R")
_LONGEST_WAIT: Final = 10.0
"""Seconds for which slow work waits for its turn."""


_PAUSES: Final = 3
"""Iterations without a job after one that takes long."""


class FairTurns:
    """Starts a bounded number of jobs in each iteration of the event loop, in order.

    Jobs that start together run in one iteration, in which nothing else is served: 200
    questions to 35 archives were 7,000 requests, and 240 ms until the loop looked for new work.
    """

    def __init__(
        self,
        per_turn: int,
        longest: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """*longest*: seconds; after a longer iteration, fewer jobs are started in the next.

        If one job alone takes longer, some iterations without a job follow. They cost little if
        nothing else is to be done, and other work gets on without waiting for a job each time.
        """
        self._per_turn = per_turn
        self._longest = longest
        self._clock = clock
        self._allowed = per_turn
        self._left = per_turn
        self._began = 0.0
        self._pauses = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turning = False

    def enter_now(self) -> bool:
        """Return whether the job may start at once; if not, it must `enter`."""
        if not self._turning:
            self._turning = True
            self._began = self._clock()
            loop = asyncio.get_running_loop()
            loop.call_soon(self._turn, loop)
        if not self._left:
            return False
        self._left -= 1
        return True

    async def enter(self) -> None:
        """Return when the job may start: at once, if there are few."""
        if self.enter_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._longest is not None:
            self._adapt(self._longest)
        if self._pauses:
            self._left = 0
            loop.call_soon(self._turn, loop)
            return
        self._left = self._allowed
        while self._left and self._waiting:
            turn = self._waiting.popleft()
            # A job that was cancelled needs no turn.
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        self._turning = self._left < self._allowed
        if self._turning:
            loop.call_soon(self._turn, loop)

    def _adapt(self, longest: float) -> None:
        """Start half as many jobs after a long iteration, and one more after a short one."""
        now = self._clock()
        is_long, self._began = now - self._began > longest, now
        if self._pauses:
            self._pauses -= 1
        elif is_long:
            self._pauses = _PAUSES if self._allowed == 1 else 0
            self._allowed = max(1, self._allowed // 2)
        else:
            self._allowed = min(self._per_turn, self._allowed + 1)


class SlowWork:
    """Runs work of some hundred milliseconds in a thread, one piece at a time, in order.

    In the event loop nothing else would be served meanwhile: the text of one client could stop
    the answers to all others. The work must be bounded, because a thread cannot be ended.
    """

    def __init__(self, wait: float = _LONGEST_WAIT) -> None:
        self._wait = wait
        self._turn = asyncio.Semaphore(1)

    async def run(self, work: Callable[[], R]) -> R:
        """Return the result of *work*. Raises TimeoutError if others take too long before it.

        Work that was cancelled keeps its turn until its thread has ended.
        """
        async with asyncio.timeout(self._wait):
            await self._turn.acquire()
        running = asyncio.get_running_loop().run_in_executor(None, work)
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)

    def _ended(self, running: "asyncio.Future[R]") -> None:
        self._turn.release()
        if not running.cancelled():
            # The result of cancelled work is not awaited, and its exception is not reported.
            running.exception()


async def end(tasks: "Collection[asyncio.Task[object]]") -> None:
    """Cancel *tasks*, and return when all of them have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
