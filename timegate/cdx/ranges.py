"""Captures of a range of URLs in several archives, merged in the order of key, time, address.

Each archive lists its captures in the order of key and time. What is held in memory is a few
batches of each. A list that is continued by a resume key is read from its beginning again,
unless the archive gave out a resume key of its own: that is part of ours.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

from archives.errors import ArchiveError, Misbehaved, Unreachable
from archives.listing.ranges import RangeBatch
from timegate.cdx.formats import FiledCapture
from timegate.cdx.query import RangePosition

MOST_WITH_ONE_KEY: Final = 10_000
"""Captures of one URL and one second, which must be held in memory to be sorted."""
_STALL: Final = 30.0
"""Seconds from one batch of an archive to the next."""


class Turn(Protocol):
    """Grants a turn in the event loop."""

    async def next(self) -> None: ...


def position(capture: FiledCapture) -> RangePosition:
    """Return the position of *capture*."""
    return RangePosition(capture.urlkey, capture.stamp, capture.uri)


class RangeLane:
    """The captures of one archive that have arrived and are not merged yet."""

    def __init__(self, archive: str, batches: AsyncGenerator[RangeBatch, None]) -> None:
        self.archive = archive
        self._batches = batches
        self.captures: list[FiledCapture] = []
        self.begun = False
        self.ended = False
        self.error: ArchiveError | None = None
        self._last: RangePosition | None = None
        self._keys: list[tuple[RangePosition, str]] = []
        """Resume keys of the archive, with the position after which it continues."""

    def key_before(self, at: RangePosition) -> str | None:
        """Return the last resume key of the archive that leaves out nothing after *at*."""
        keys = [key for reached, key in self._keys if reached <= at]
        return keys[-1] if keys else None

    async def fill(self) -> None:
        """Wait for more captures, or for the end of the list."""
        try:
            while not self.ended:
                batch = await anext(self._batches, None)
                if batch is None:
                    self.ended = True
                elif batch.captures:
                    self._add(batch)
                    break
                elif batch.resume_key is not None and self._last is not None:
                    self._keys.append((self._last, batch.resume_key))
        except ArchiveError as error:
            self.error, self.ended = error, True
        self.begun = True

    def _add(self, batch: RangeBatch) -> None:
        rows = [
            FiledCapture.of(capture, key)
            for key, capture in zip(batch.urlkeys, batch.captures, strict=True)
        ]
        order = [(row.urlkey, row.stamp) for row in rows]
        if order != sorted(order) or (self._last is not None and order[0] < _key(self._last)):
            raise Misbehaved(self.archive, rows[0].uri, "lists captures out of order")
        self.captures += rows
        self._last = max(map(position, rows))
        if len(self.captures) > MOST_WITH_ONE_KEY and order[-1] == (
            self.captures[0].urlkey,
            self.captures[0].stamp,
        ):
            why = f"lists more than {MOST_WITH_ONE_KEY} captures of one URL and second"
            raise Misbehaved(self.archive, rows[0].uri, why)

    def take(self, before: tuple[str, str] | None) -> list[FiledCapture]:
        """Take out the captures before a key and stamp; all where that is None."""
        if before is None:
            taken, self.captures = self.captures, []
            return taken
        count = sum(1 for row in self.captures if (row.urlkey, row.stamp) < before)
        taken, self.captures = self.captures[:count], self.captures[count:]
        return taken

    @property
    def reached(self) -> tuple[str, str] | None:
        """The key and stamp before which all captures have arrived; None if all have."""
        if self.ended:
            return None
        last = self.captures[-1]
        return last.urlkey, last.stamp

    async def close(self) -> None:
        """Stop reading."""
        await self._batches.aclose()


def _key(at: RangePosition) -> tuple[str, str]:
    return at.urlkey, at.stamp


class RangeMerge:
    """One merge. First `begin`, then `blocks`; *failures* grows until the last block."""

    cut_short = False

    def __init__(self, lanes: Sequence[RangeLane], original: str, turns: Turn) -> None:
        self._lanes = lanes
        self._original = original
        self.turns = turns
        self.failures: dict[str, ArchiveError] = {}
        """Archives whose lists may be incomplete, and why."""

        self.unlisted: frozenset[str] = frozenset()
        """Archives that have no index of many URLs; they are among the failures."""

    def note_unlisted(self, archives: Iterable[str]) -> None:
        """Note the archives that cannot be asked."""
        self.unlisted = frozenset(archives)
        why = "publishes no index that lists many URLs"
        for name in self.unlisted:
            self.failures[name] = Unreachable(name, self._original, why)

    @property
    def asked(self) -> tuple[str, ...]:
        """All archives of the merge."""
        return (*(lane.archive for lane in self._lanes), *sorted(self.unlisted))

    @property
    def is_whole(self) -> bool:
        """Whether all lists have ended."""
        return all(lane.ended for lane in self._lanes)

    def keys_before(self, capture: FiledCapture) -> dict[str, str]:
        """Return the resume keys of archives with which a list can continue after *capture*."""
        at = position(capture)
        keys = ((lane.archive, lane.key_before(at)) for lane in self._lanes)
        return {archive: key for archive, key in keys if key is not None}

    async def begin(self, soft: float, hard: float) -> None:
        """Wait until the archives have begun; those that have not by then are left out."""
        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(lane.fill()): lane for lane in self._lanes}
            pending = await _pending(tasks, soft)
            if not any(lane.captures for lane in self._lanes):
                pending = await _pending(pending, max(hard - soft, 0.0))
            for task in pending:
                task.cancel()
                lane = tasks[task]
                lane.error = Unreachable(lane.archive, self._original, "no answer in time")
                lane.ended = True
        self._note_failures()

    async def blocks(self) -> AsyncGenerator[Sequence[FiledCapture], None]:
        """Yield all captures in order."""
        while True:
            await self._fill([lane for lane in self._lanes if not lane.captures])
            live = [lane for lane in self._lanes if lane.captures]
            if not live:
                return
            horizon = min(filter(None, (lane.reached for lane in live)), default=None)
            block = [row for lane in live for row in lane.take(horizon)]
            if not block:
                await self._fill([lane for lane in live if lane.reached == horizon])
                continue
            await self.turns.next()
            yield _each_once(sorted(block, key=position))

    async def _fill(self, lanes: Sequence[RangeLane]) -> None:
        open_lanes = [lane for lane in lanes if not lane.ended]
        await asyncio.gather(*map(self._filled, open_lanes))
        self._note_failures()

    async def _filled(self, lane: RangeLane) -> None:
        try:
            async with asyncio.timeout(_STALL):
                await lane.fill()
        except TimeoutError:
            why = "stopped sending before the end of its list"
            lane.error = Unreachable(lane.archive, self._original, why)
            lane.ended = True

    def _note_failures(self) -> None:
        for lane in self._lanes:
            if lane.error is not None:
                self.failures.setdefault(lane.archive, lane.error)


async def _pending(
    tasks: Iterable[asyncio.Task[None]], seconds: float
) -> set[asyncio.Task[None]]:
    """Return the tasks that have not ended after *seconds*."""
    waiting = {task for task in tasks if not task.done()}
    if not waiting:
        return set()
    _, pending = await asyncio.wait(waiting, timeout=seconds)
    return pending


def _each_once(captures: Sequence[FiledCapture]) -> Sequence[FiledCapture]:
    """Return *captures* without those of the same second at the same address."""
    return list({(row.urlkey, row.stamp[:14], row.uri): row for row in captures}.values())


@asynccontextmanager
async def merged_ranges(
    lists: Mapping[str, AsyncGenerator[RangeBatch, None]], original: str, turns: Turn
) -> AsyncIterator[RangeMerge]:
    """Merge *lists*, by archive, each in the order of key and time."""
    lanes = [RangeLane(archive, batches) for archive, batches in lists.items()]
    try:
        yield RangeMerge(lanes, original, turns)
    finally:
        await asyncio.gather(*(lane.close() for lane in lanes))


async def without(
    batches: AsyncGenerator[RangeBatch, None], is_left_out: Callable[[str], bool]
) -> AsyncGenerator[RangeBatch, None]:
    """Yield *batches* without the captures of some URLs."""
    try:
        async for urlkeys, captures, resume_key in batches:
            rows = [
                (key, capture)
                for key, capture in zip(urlkeys, captures, strict=True)
                if not is_left_out(capture.original)
            ]
            yield RangeBatch(
                [key for key, _ in rows], [capture for _, capture in rows], resume_key
            )
    finally:
        await batches.aclose()
