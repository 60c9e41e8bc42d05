"""Sends what is asked for in one turn of the loop in one go, to each server for itself.

A question is looked up for many archives, and many questions come at once. Alone, a command
takes some 200 microseconds of our own time; among a hundred, 25.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from timegate.redis.connections import Down, Word
from timegate.redis.time_budget import BoundedWait, ResponsiveClock

_AT_ONCE: Final = 8
"""Batches under way to one server; what comes meanwhile waits, and goes together."""
_LARGEST: Final = 256

Run = Callable[[Sequence[Sequence[Word]]], Awaitable[list[object]]]


class _Asked(NamedTuple):
    command: Sequence[Word]
    answer: "asyncio.Future[object]"


class _Lane:
    """The way to one server."""

    __slots__ = ("scheduled", "under_way", "waiting")

    def __init__(self) -> None:
        self.waiting: list[_Asked] = []
        self.under_way = 0
        self.scheduled = False


class Pipeline:
    """Gathers commands."""

    def __init__(self, run: Run, attention: ResponsiveClock, bound: float) -> None:
        self._run = run
        self._attention = attention
        self._bound = bound
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, place: str, command: Sequence[Word]) -> "asyncio.Future[object]":
        """Return the answer to come."""
        loop = asyncio.get_running_loop()
        asked = _Asked(command, loop.create_future())
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = _Lane()
        lane.waiting.append(asked)
        if not lane.scheduled and lane.under_way < _AT_ONCE:
            lane.scheduled = True
            loop.call_soon(self._start, lane)
        return asked.answer

    def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()

    def _start(self, lane: _Lane) -> None:
        lane.scheduled = False
        batch, lane.waiting = lane.waiting[:_LARGEST], lane.waiting[_LARGEST:]
        # Who gave up while it waited needs no answer.
        batch = [asked for asked in batch if not asked.answer.done()]
        if not batch:
            return
        lane.under_way += 1
        task = asyncio.get_running_loop().create_task(self._send(batch))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._over(done, lane))
        if lane.waiting and lane.under_way < _AT_ONCE:
            self._start(lane)

    def _over(self, task: "asyncio.Task[None]", lane: _Lane) -> None:
        self._tasks.discard(task)
        lane.under_way -= 1
        if lane.waiting and not lane.scheduled:
            self._start(lane)

    async def _send(self, batch: list[_Asked]) -> None:
        try:
            async with BoundedWait(self._attention, self._bound):
                answers = await self._run([asked.command for asked in batch])
        except (Down, TimeoutError) as error:
            answers = [error] * len(batch)
        except asyncio.CancelledError:
            for asked in batch:
                asked.answer.cancel()
            raise
        for asked, answer in zip(batch, answers, strict=True):
            _tell(asked.answer, answer)


def _tell(future: "asyncio.Future[object]", answer: object) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
