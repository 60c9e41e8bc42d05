"""The second way: an archive whose TimeGate fails is queried by its CDX server, or vice versa.

The way of its kind comes first. A clear no is an answer and no failure. An archive that asks
for fewer requests (429, ``Retry-After``), or that our own limits keep from being queried, gets
no second request: the second way leads to the same servers.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final

from archives.errors import ArchiveError, Refused, Resting
from archives.model import ArchiveEntry, Closest, Memento, Selection
from archives.moment import Moment
from archives.negotiation import Clock
from archives.source import Adapter, Fetcher, WantedCaptures

PATIENCE: Final = 4.0
"""Seconds after which the second way is queried as well. It can still answer within the 5 s of
a resolution. A request that our own rate limit delayed, by 2 s at most, has had 2 s by then:
0.9 % of answers take longer (median 300 ms, lognormal, sigma 0.8), and are still waited for."""
FAILURES: Final = 2
"""After so many failures in a row, at which the second way answered, it comes first."""
REST: Final = timedelta(minutes=1)
"""Time until the way of its kind is tried first again."""
_Question = asyncio.Task[Closest | None]
_TOO_MANY_REQUESTS: Final = 429
_LEGAL_REASONS: Final = 451


class SecondWay:
    """An `Adapter` over two adapters for the same archive."""

    def __init__(self, first: Adapter, second: Adapter, clock: Clock) -> None:
        self.entry: ArchiveEntry = first.entry
        self._first = first
        self._second = second
        self._clock = clock
        self._failures = 0
        self._swapped_until: datetime | None = None

    @property
    def selection(self) -> Selection:
        """How the way of its kind selects."""
        return self._first.selection

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Query the first way; the second too if that fails, or takes `PATIENCE` seconds.

        The first answer counts. Raises the failure of the first way if both fail.
        """
        swapped = self._is_swapped()
        first, second = self._ways(swapped=swapped)
        start = asyncio.get_running_loop().create_task
        tasks = [start(first.closest(fetch, original, at))]
        try:
            await asyncio.wait(tasks, timeout=PATIENCE)
            if not _is_of_no_use(tasks[0]):
                answer = tasks[0].result()
                self._failures = self._failures if swapped else 0
                return answer
            tasks.append(start(second.closest(fetch, original, at)))
            answered = await _first_answer(tasks, second.entry)
            if answered is tasks[1]:
                self._note_failure(swapped=swapped)
            return answered.result()
        finally:
            await _end(tasks)

    async def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the list of the first way; that of the second if it fails before any capture."""
        listed = False
        try:
            async with aclosing(
                self._first.mementos(fetch, original, detailed=detailed, wanted=wanted)
            ) as batches:
                async for batch in batches:
                    listed = listed or bool(batch)
                    yield batch
        except ArchiveError as error:
            if listed or not self._has_two_lists() or not _allows_another(error):
                raise
        else:
            return
        async with aclosing(
            self._second.mementos(fetch, original, detailed=detailed, wanted=wanted)
        ) as batches:
            async for batch in batches:
                yield batch

    def _ways(self, *, swapped: bool) -> tuple[Adapter, Adapter]:
        return (self._second, self._first) if swapped else (self._first, self._second)

    def _has_two_lists(self) -> bool:
        """Whether there is a TimeMap besides the index; else both ways read the index."""
        return bool(self.entry.timemaps)

    def _is_swapped(self) -> bool:
        return self._swapped_until is not None and self._clock() < self._swapped_until

    def _note_failure(self, *, swapped: bool) -> None:
        """Count a failure of the first way; after a failure of the second it comes first."""
        self._failures = 0 if swapped else self._failures + 1
        is_due = self._failures >= FAILURES
        self._swapped_until = self._clock() + REST if is_due else None


def _is_of_no_use(task: _Question) -> bool:
    """Whether the second way is to be queried: no answer so far, or an error of this way."""
    if not task.done():
        return True
    error = task.exception()
    return isinstance(error, ArchiveError) and _allows_another(error)


async def _first_answer(tasks: Sequence[_Question], second: ArchiveEntry) -> _Question:
    """Return the question that is answered first; if none is, raise their reasons."""
    pending = {*tasks}
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if not isinstance(task.exception(), ArchiveError):
                return task
    failure, other = (task.exception() for task in tasks)
    assert isinstance(failure, ArchiveError)  # noqa: S101 -- no task has an answer
    assert isinstance(other, ArchiveError)  # noqa: S101
    if other.why != failure.why:
        failure.why = f"{failure.why}; queried as {second.kind}: {other.why}"
    raise failure


async def _end(tasks: Sequence[_Question]) -> None:
    """Cancel the questions in progress, and wait until they have ended."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    # All of them, so that no failure is reported as never looked at.
    await asyncio.gather(*tasks, return_exceptions=True)


def _allows_another(error: ArchiveError) -> bool:
    """Whether another request may be sent after *error*.

    451 is an answer about the page, which the archive may not show: no other way is tried.
    """
    if isinstance(error, Resting):
        return False
    if not isinstance(error, Refused):
        return True
    return error.retry_after is None and error.status not in (
        _TOO_MANY_REQUESTS,
        _LEGAL_REASONS,
    )
