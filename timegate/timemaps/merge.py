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
from hashlib import blake2b
from typing import Final

from archives.columns import CaptureColumns, Details, from_rows, in_order
from archives.errors import ArchiveError, Unreachable
from archives.model import Memento
from timegate.timemaps.lane import Lane, Turns, second

MOST_ITEMS: Final = 5_000_000
_BLOCK: Final = 2_000
"""Captures that are merged at once: some 1 ms, in which no other request is served."""
_LEAST: Final = 50
"""Captures of one archive in a block; blocks of many archives are larger."""
_COUNTABLE: Final = 50_000
"""The most captures that are counted in advance, which takes 15 ms."""


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

    def __init__(
        self, lanes: Sequence[Lane], changed: asyncio.Event, original: str, turns: Turns
    ) -> None:
        self._lanes = lanes
        self._changed = changed
        self._original = original
        self.turns = turns
        """Turns of all merges: wait for one before each piece of work on the captures."""
        self._live: list[Lane] = []
        self._late: list[Lane] = []
        self._deadlines = MergeDeadlines()
        self._waited = 0.0
        self.failures: dict[str, ArchiveError] = {}
        """Archives whose lists may be incomplete, and why."""
        self.ages: Mapping[str, float] = {}
        """How many seconds ago the lists that come from the cache were read, by archive."""
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
        return min(heads, key=_position, default=None)

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
        return max(tails, key=_position, default=None)

    def count(self) -> int | None:
        """Return the number of captures, where it is known before the first block."""
        if not self.is_whole or sum(len(lane.captures) for lane in self._lanes) > _COUNTABLE:
            return None
        columns = ((lane.captures.stamps, lane.captures.uris) for lane in self._lanes)
        return len({(second(s), u) for c in columns for s, u in zip(*c, strict=True)})

    def fingerprint(self) -> str | None:
        """Return a text that changes with the captures; None if not all are here yet.

        Before the first block.
        """
        if not self.is_whole or self.failures:
            return None
        if sum(len(lane.captures) for lane in self._lanes) > _COUNTABLE:
            return None
        text = blake2b(digest_size=16)
        for lane in self._lanes:
            columns = (lane.captures.stamps, lane.captures.uris)
            parts = (lane.archive, *("\n".join(column) for column in columns))
            text.update("\0".join(parts).encode("utf-8", "surrogateescape") + b"\1")
        return text.hexdigest()

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

    async def blocks(self) -> AsyncGenerator[CaptureColumns, None]:
        """Yield all captures in order of stamp and address."""
        reached = ""
        while self._live and not self.cut_short:
            await self._until_ready()
            if reached and self._admit(reached):
                await self._until_ready()
            await self.turns.next()
            block = self._limited(self._block())
            if block:
                reached = second(block.stamps[-1])
                yield block
                self._admit(reached)

    def _limited(self, block: CaptureColumns) -> CaptureColumns:
        left = MOST_ITEMS - self.sent
        self.cut_short = len(block) > left
        self.sent += min(len(block), left)
        return block[:left] if self.cut_short else block

    def _block(self) -> CaptureColumns:
        live = self._live
        most = max(_BLOCK // len(live), _LEAST)
        horizon = min(filter(None, (lane.horizon(most) for lane in live)), default=None)
        block = in_order([lane.take(horizon) for lane in live])
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

    def _admit(self, sent: str) -> bool:
        """Admit late archives whose lists begin after the second *sent*; stop the others.

        Return whether any was admitted.
        """
        admitted = False
        for lane in [lane for lane in self._late if lane.begun]:
            self._late.remove(lane)
            if lane.captures and second(lane.captures.stamps[0]) <= sent:
                lane.stop()
            else:
                del self.failures[lane.archive]
                self._join(lane)
                admitted = True
        return admitted

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


def _position(capture: Memento) -> tuple[str, str]:
    return capture.stamp, capture.uri


def _each_once(block: CaptureColumns) -> CaptureColumns:
    """Return *block* without duplicates: captures of one second at the same address.

    Archives list captures of one another. An address usually contains its stamp, so duplicates
    have the same second; comparing further would mean remembering all captures.
    """
    if len(set(block.uris)) == len(block):
        return block
    rows = zip(block.stamps, block.uris, block.details, strict=True)
    seen: dict[tuple[str, str], tuple[str, str, Details]] = {}
    for row in rows:
        seen.setdefault((second(row[0]), row[1]), row)
    return from_rows(seen.values())


@asynccontextmanager
async def merged(
    lists: Mapping[str, AsyncGenerator[Sequence[Memento], None]],
    original: str,
    turns: Turns | None = None,
) -> AsyncIterator[Merge]:
    """Merge *lists*, by archive, each oldest first; *turns* are shared with other merges."""
    changed = asyncio.Event()
    turns = turns or Turns()
    lanes = [Lane(archive, batches, changed, turns) for archive, batches in lists.items()]
    try:
        yield Merge(lanes, changed, original, turns)
    finally:
        for lane in lanes:
            lane.stop()
        await asyncio.gather(*(lane.stopped() for lane in lanes))
