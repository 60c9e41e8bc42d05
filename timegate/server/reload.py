"""Changes what answers while it answers: the new stands beside the old until that has finished.

Each generation lives in a task of its own, because what is opened in a task has to be closed in
it. Requests go to the newest; an older one is closed when its last request is answered. One
that cannot be opened changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

C = TypeVar("C")
"""What a generation is opened with."""
Q = TypeVar("Q")
A = TypeVar("A")
_PATIENCE: Final = 60.0
"""Seconds in which the requests of an old generation have to end; a TimeMap takes no longer."""


class _Generation(Generic[Q, A]):
    """What answers, and how many requests it has."""

    def __init__(self) -> None:
        self.answer: Callable[[Q], Awaitable[A]]
        self.requests = 0
        self.retired = asyncio.Event()
        self.idle = asyncio.Event()
        """Set when the last request is answered, but only of one that is retired."""


class Reloading(Generic[C, Q, A]):
    """Answers requests with the newest of what was opened."""

    def __init__(
        self,
        opening: Callable[[C], AbstractAsyncContextManager[Callable[[Q], Awaitable[A]]]],
        broken: Callable[[], None] = lambda: None,
        patience: float = _PATIENCE,
    ) -> None:
        """Call *broken* if what answers ends by itself; leaving the block then tells why."""
        self._opening = opening
        self._broken = broken
        self._patience = patience
        self._current: _Generation[Q, A] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._current is not None:
            self._current.retired.set()
        tasks = list(self._tasks)
        failures = await asyncio.gather(*tasks, return_exceptions=True)
        for failure in failures:
            if failure is not None and error is None:
                raise failure

    async def __call__(self, request: Q) -> A:
        """Answer *request*."""
        generation = self._current
        if generation is None:
            raise RuntimeError("nothing was opened yet")
        generation.requests += 1
        try:
            return await generation.answer(request)
        finally:
            generation.requests -= 1
            if not generation.requests and generation.retired.is_set():
                generation.idle.set()

    async def open(self, config: C) -> None:
        """Take *config* over; raise what opening it raises, and go on as before then."""
        generation = _Generation[Q, A]()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        task = loop.create_task(self._live(config, generation, ready))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._ended(task, generation))
        await ready
        old, self._current = self._current, generation
        if old is not None:
            old.retired.set()

    async def _live(
        self, config: C, generation: _Generation[Q, A], ready: "asyncio.Future[None]"
    ) -> None:
        try:
            async with self._opening(config) as generation.answer:
                ready.set_result(None)
                await generation.retired.wait()
                if generation.requests:
                    # Whoever still reads after that is cut off, and can see it.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._patience):
                            await generation.idle.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def _ended(self, task: "asyncio.Task[None]", generation: _Generation[Q, A]) -> None:
        if generation is self._current and not generation.retired.is_set():
            self._broken()
            return
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)
