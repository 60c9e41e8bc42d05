"""Rate limits that several workers on one machine share: a small file mapped into each of them.

The limit of an archive holds for the sum of all workers. Each archive has one record, which is
changed under a lock on its bytes. The clock is the monotonic one, the same for all processes.
"""

import fcntl
import mmap
import os
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

from archives.model import ArchiveEntry, Limits
from archives.source import Purpose
from timegate.resolution.context import TimeBudget
from timegate.upstream.rate_limit import TokenBucket, cells_of, full

_CELL: Final = 8
"""Bytes of a number. A record holds the end of the pause, then the bucket for mementos and the
one for the index."""


def create_rate_limits_file(path: Path, entries: Sequence[ArchiveEntry]) -> None:
    """Write the file with full buckets for *entries*, before any worker opens it."""
    now = time.monotonic()
    with path.open("wb") as file:
        if not entries:
            # An empty file cannot be mapped.
            file.write(bytes(_CELL))
        for entry in entries:
            limits = entry.limits
            record = array("d", [now]) + full(limits.memento, now) + full(limits.index, now)
            file.write(record.tobytes())


class WorkerRateLimiters:
    """The open file, and the rate limiters of the archives in it."""

    def __init__(self, path: Path, entries: Sequence[ArchiveEntry]) -> None:
        """Raise OSError, and ValueError if the file is too small for *entries*."""
        sizes = [_size(entry.limits) for entry in entries]
        if path.stat().st_size < sum(sizes) * _CELL:
            raise ValueError("the file of the shared rate limits was not rewritten")
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._cells = memoryview(self._map).cast("d")
        self._views: list[memoryview[float]] = []
        self._places = {
            entry.id: end - size
            for entry, size, end in zip(entries, sizes, accumulate(sizes), strict=True)
        }

    def of(self, entry: ArchiveEntry) -> "WorkerRateLimiter":
        """Return the rate limiter of *entry*."""
        place = self._places[entry.id]
        record = self._cells[place : place + _size(entry.limits)]
        ends = 1, 1 + cells_of(entry.limits.memento), len(record)
        views = [record[first:end] for first, end in pairwise(ends)]
        self._views += [record, *views]
        return WorkerRateLimiter(record, views, self._file.fileno(), place, entry.limits)

    def close(self) -> None:
        """Close the file."""
        # A mapping cannot be closed while there are views of it.
        for view in (*reversed(self._views), self._cells):
            view.release()
        self._map.close()
        self._file.close()


class WorkerRateLimiter:
    """A `RateLimiter` over one record. Blocking: a few microseconds under a lock."""

    def __init__(
        self,
        record: "memoryview[float]",
        views: "Sequence[memoryview[float]]",
        descriptor: int,
        place: int,
        limits: Limits,
    ) -> None:
        self._record = record
        self._descriptor = descriptor
        self._place = place * _CELL
        self._buckets: dict[Purpose, TokenBucket] = {
            "memento": TokenBucket(limits.memento, views[0]),
            "index": TokenBucket(limits.index, views[1]),
        }

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        del budget
        with self._locked():
            return self._buckets[purpose].wait(time.monotonic(), ahead)

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        del budget
        with self._locked():
            return self._buckets[purpose].take(time.monotonic())

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        del budget
        with self._locked():
            self._record[0] = max(self._record[0], time.monotonic() + seconds)

    async def resting(self) -> float:
        return max(0.0, self._record[0] - time.monotonic())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        size = len(self._record) * _CELL
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, size, self._place, os.SEEK_SET)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, size, self._place, os.SEEK_SET)


def _size(limits: Limits) -> int:
    return 1 + cells_of(limits.memento) + cells_of(limits.index)
