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

from archives.errors import ArchiveError, Refused, Resting, Unreachable
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.negotiation import Clock
from archives.source import Adapter, Fetcher

PATIENCE: Final = 4.0
"""Seconds for the first way, of the 15 that a question has. So the second way can still answer
within the 5 s of a resolution; and a request that our own rate limit delayed, by 2 s at most,
still has 2 s (0.9 % of answers take longer: median 300 ms, lognormal, sigma 0.8)."""
FAILURES: Final = 2
"""After so many failures in a row, at which the second way answered, it comes first."""
REST: Final = timedelta(minutes=1)
"""Time until the way of its kind is tried first again."""
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

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Query the first way, for `PATIENCE` seconds; then the second if that failed."""
        swapped = self._is_swapped()
        first, second = self._ways(swapped=swapped)
        try:
            answer = await self._bounded(first, fetch, original, at)
        except ArchiveError as error:
            if not _allows_another(error):
                raise
            answer = await self._other(second, error, fetch, original, at)
            self._note_failure(swapped=swapped)
            return answer
        if not swapped:
            self._failures = 0
        return answer

    async def mementos(
        self, fetch: Fetcher, original: str
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the list of the first way; that of the second if it fails before any capture."""
        listed = False
        try:
            async with aclosing(self._first.mementos(fetch, original)) as batches:
                async for batch in batches:
                    listed = listed or bool(batch)
                    yield batch
        except ArchiveError as error:
            if listed or not self._has_two_lists() or not _allows_another(error):
                raise
        else:
            return
        async with aclosing(self._second.mementos(fetch, original)) as batches:
            async for batch in batches:
                yield batch

    def _ways(self, *, swapped: bool) -> tuple[Adapter, Adapter]:
        return (self._second, self._first) if swapped else (self._first, self._second)

    def _has_two_lists(self) -> bool:
        """Whether there is a TimeMap besides the index; else both ways read the index."""
        return bool(self.entry.timemaps)

    async def _bounded(
        self, way: Adapter, fetch: Fetcher, original: str, at: Moment | None
    ) -> Closest | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await way.closest(fetch, original, at)
        except TimeoutError:
            why = f"no answer within {PATIENCE:g} s"
            raise Unreachable(self.entry.id, original, why) from None

    @staticmethod
    async def _other(
        way: Adapter,
        failure: ArchiveError,
        fetch: Fetcher,
        original: str,
        at: Moment | None,
    ) -> Closest | None:
        """Query the other way; if that fails too, raise *failure*, with both reasons."""
        try:
            return await way.closest(fetch, original, at)
        except ArchiveError as error:
            failure.why = f"{failure.why}; queried as {way.entry.kind}: {error.why}"
            raise failure from error

    def _is_swapped(self) -> bool:
        return self._swapped_until is not None and self._clock() < self._swapped_until

    def _note_failure(self, *, swapped: bool) -> None:
        """Count a failure of the first way; after a failure of the second it comes first."""
        self._failures = 0 if swapped else self._failures + 1
        is_due = self._failures >= FAILURES
        self._swapped_until = self._clock() + REST if is_due else None


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
