"""Merges the lists of many archives into one, oldest first, each capture once.

Captures are passed on in blocks of complete seconds: all captures before a second that the
lists of all archives have reached. Such a block consists of sorted runs, so sorting it merges
them, at a fraction of the cost of a heap with one step for each capture.

The tasks belong to the context manager `merged`, which ends them; generators own none (PEP
789).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from archives.errors import ArchiveError, Unreachable
from archives.model import Memento
from timegate.timemaps.lane import Lane, second

MOST_ITEMS: Final = 5_000_000
_COUNTABLE: Final = 50_000
"""The most captures that are counted in advance, which takes 15 ms."""
_order: Final = itemgetter(0, 1)
_uri: Final = itemgetter(1)


@dataclass(frozen=True, slots=True)
class MergeDeadlines:
    """Seconds that archives have."""

    soft: float = 2.0
    """To begin their list, if another archive has begun."""
    hard: float = 5.0
    """To begin their list."""
    grace: float = 0.05
    """To end, before the first byte is sent: short lists are then complete, and counted."""
    stall: float = 30.0
    """From one part to the next."""
    total: float = 60.0
    """In all, without the time that the client takes to read."""


class Merge:
    """One merge. First `begin`, then `blocks`; *failures* grows until the last block."""

    def __init__(self, lanes: Sequence[Lane], changed: asyncio.Event, original: str) -> None:
        self._lanes = lanes
        self._changed = changed
        self._original = original
        self._live: list[Lane] = []
        self._late: list[Lane] = []
        self._deadlines = MergeDeadlines()
        self._waited = 0.0
        self.failures: dict[str, ArchiveError] = {}
        """Archives whose lists may be incomplete, and why."""
        self.sent = 0
        self.cut_short = False
        """Whether there are more than `MOST_ITEMS` captures."""

    @property
    def asked(self) -> tuple[str, ...]:
        """All archives of the merge."""
        return tuple(lane.archive for lane in self._lanes)

    @property
    def first(self) -> Memento | None:
        """The oldest capture, before the first block; None if there is none."""
        heads = [lane.captures[0] for lane in self._lanes if lane.captures]
        return min(heads, key=_order, default=None)

    @property
    def is_whole(self) -> bool:
        """Whether all lists have ended."""
        return all(lane.ended for lane in self._lanes)

    @property
    def last(self) -> Memento | None:
        """The newest capture, where it is known before the first block."""
        if not self.is_whole:
            return None
        tails = [lane.captures[-1] for lane in self._lanes if lane.captures]
        return max(tails, key=_order, default=None)

    def count(self) -> int | None:
        """Return the number of captures, where it is known before the first block."""
        if not self.is_whole or sum(len(lane.captures) for lane in self._lanes) > _COUNTABLE:
            return None
        return len({(second(c), c[1]) for lane in self._lanes for c in lane.captures})

    async def begin(self, deadlines: MergeDeadlines) -> None:
        """Wait until the archives have begun; those that have not by then are late."""
        self._deadlines = deadlines
        lanes = self._lanes
        clock = asyncio.get_running_loop().time
        began = clock()
        await self._until(lambda: all(lane.begun for lane in lanes), began + deadlines.soft)
        await self._until(self._has_some_or_all_ended, began + deadlines.hard)
        begun = [lane for lane in lanes if lane.begun]
        # Nothing can be merged before: a failure until then is known in the header.
        since = clock()
        await self._until(lambda: all(lane.ready for lane in begun), began + deadlines.soft)
        self._waited += clock() - since
        grace = clock() + deadlines.grace
        await self._until(lambda: all(lane.settled for lane in begun), grace)
        for lane in lanes:
            admitted = self._join if lane.begun else self._mark_late
            admitted(lane)

    async def blocks(self) -> AsyncGenerator[list[Memento], None]:
        """Yield all captures in order of stamp and address."""
        while self._live and not self.cut_short:
            await self._until_ready()
            block = self._limited(self._block())
            if block:
                reached = second(block[-1])
                yield block
                self._admit(reached)

    def _limited(self, block: list[Memento]) -> list[Memento]:
        left = MOST_ITEMS - self.sent
        self.cut_short = len(block) > left
        self.sent += min(len(block), left)
        return block[:left] if self.cut_short else block

    def _block(self) -> list[Memento]:
        live = self._live
        horizon = min(filter(None, (lane.horizon() for lane in live)), default=None)
        block = [capture for lane in live for capture in lane.take(horizon)]
        block.sort(key=_order)
        for lane in [lane for lane in live if lane.ended and not lane.captures]:
            self._leave(lane)
        return _each_once(block)

    def _join(self, lane: Lane) -> None:
        self._live.append(lane)
        if lane.error is not None:
            self.failures[lane.archive] = lane.error
        if lane.ended and not lane.captures:
            self._live.remove(lane)

    def _leave(self, lane: Lane) -> None:
        self._live.remove(lane)
        if lane.error is not None:
            self.failures[lane.archive] = lane.error

    def _mark_late(self, lane: Lane) -> None:
        self._late.append(lane)
        why = "no answer in time"
        self.failures[lane.archive] = Unreachable(lane.archive, self._original, why)

    def _admit(self, sent: str) -> None:
        """Admit late archives whose lists begin after the second *sent*; stop the others."""
        for lane in [lane for lane in self._late if lane.begun]:
            self._late.remove(lane)
            if lane.captures and second(lane.captures[0]) <= sent:
                lane.stop()
            else:
                del self.failures[lane.archive]
                self._join(lane)

    async def _until_ready(self) -> None:
        """Wait for lanes without a complete second; those that stall are stopped."""
        live, deadlines = self._live, self._deadlines
        if all(lane.ready for lane in live):
            return
        clock = asyncio.get_running_loop().time
        began = clock()
        timeout = min(deadlines.stall, max(deadlines.total - self._waited, 0.0))
        await self._until(lambda: all(lane.ready for lane in live), began + timeout)
        self._waited += clock() - began
        for lane in [lane for lane in live if not lane.ready]:
            why = "stopped sending before the end of its list"
            lane.stop(Unreachable(lane.archive, self._original, why))
            if lane.error is not None:
                self.failures[lane.archive] = lane.error
        await asyncio.gather(*(lane.stopped() for lane in live if lane.error is not None))

    def _has_some_or_all_ended(self) -> bool:
        return any(lane.captures for lane in self._lanes) or self.is_whole

    async def _until(self, met: Callable[[], bool], deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                while not met():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return


def _each_once(block: list[Memento]) -> list[Memento]:
    """Return *block* without duplicates: captures of one second at the same address.

    Archives list captures of one another. An address usually contains its stamp, so duplicates
    have the same second; comparing further would mean remembering all captures.
    """
    if len(set(map(_uri, block))) == len(block):
        return block
    seen: dict[tuple[str, str], Memento] = {}
    for capture in block:
        seen.setdefault((second(capture), capture[1]), capture)
    return list(seen.values())


@asynccontextmanager
async def merged(
    lists: Mapping[str, AsyncGenerator[Sequence[Memento], None]], original: str
) -> AsyncIterator[Merge]:
    """Merge *lists*, by archive, each oldest first."""
    changed = asyncio.Event()
    lanes = [Lane(archive, batches, changed) for archive, batches in lists.items()]
    try:
        yield Merge(lanes, changed, original)
    finally:
        for lane in lanes:
            lane.stop()
        await asyncio.gather(*(lane.stopped() for lane in lanes))
