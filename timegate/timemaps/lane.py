"""One archive's list on its way into a merge: filled by a task, emptied by the merge.

A lane holds about `FULL` captures (256 kB) and one batch more. Then its task stops reading, and
the archive stops sending: however slowly a client reads, nothing piles up here.
"""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from operator import itemgetter
from typing import Final

from archives.errors import ArchiveError, Misbehaved
from archives.model import Memento

FULL: Final = 800
"""Captures; at 320 octets each these are the 256 kB of the table of limits."""
PIECE: Final = 1_000
"""Captures that go into one block of the merge; a sorted list may come in one batch."""
MOST_LISTED: Final = 2_000_000
MOST_IN_A_SECOND: Final = 10_000
"""Nobody captures a page so often: such a list would have to be held to be sorted."""

_stamp: Final = itemgetter(0)


def second(capture: Memento) -> str:
    """Return the second of a capture, without the fraction that some archives prove."""
    return capture[0][:14]


class Lane:
    """The captures of one archive that have come and not left yet, oldest first."""

    def __init__(
        self,
        archive: str,
        batches: AsyncGenerator[Sequence[Memento], None],
        news: asyncio.Event,
    ) -> None:
        self.archive = archive
        self.captures: list[Memento] = []
        self.error: ArchiveError | None = None
        """Why the list is not whole."""
        self.listed = 0
        self._news = news
        self._room = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._fill(batches), name=f"timemap of {archive}")
        self._task.add_done_callback(lambda _: news.set())

    @property
    def ended(self) -> bool:
        """Whether no more will come. Raises what was our own mistake."""
        if not self._task.done():
            return False
        if not self._task.cancelled():
            self._task.result()
        return True

    @property
    def begun(self) -> bool:
        """Whether it is known what the archive says first."""
        return bool(self.captures) or self.ended

    @property
    def settled(self) -> bool:
        """Whether nothing can be learnt by waiting, before captures are taken."""
        return len(self.captures) >= FULL or self.ended

    @property
    def ready(self) -> bool:
        """Whether at least one whole second is there."""
        return self.ended or self._is_past_a_second()

    def horizon(self) -> str | None:
        """Return the second before which all that will come is here; None if all is here.

        Not all that is here, if that is more than a piece.
        """
        captures = self.captures
        if len(captures) <= PIECE and self.ended:
            return None
        last = second(captures[min(len(captures), PIECE) - 1])
        if last > second(captures[0]):
            return last
        # A colon sorts behind every digit, so behind every fraction of this second.
        behind = bisect_left(captures, last + ":", key=_stamp)
        return second(captures[behind]) if behind < len(captures) else None

    def take(self, before: str | None) -> list[Memento]:
        """Take out the captures before the second *before*; all of them where it is None."""
        captures = self.captures
        count = len(captures) if before is None else bisect_left(captures, before, key=_stamp)
        taken = captures[:count]
        del captures[:count]
        if len(captures) < FULL:
            self._room.set()
        return taken

    def stop(self, why: ArchiveError | None = None) -> None:
        """Read no more of it."""
        if not self._task.done():
            self._task.cancel()
            self.error = self.error or why

    async def stopped(self) -> None:
        """Wait until the connection to the archive has been given back."""
        self.stop()
        await asyncio.wait([self._task])

    async def _fill(self, batches: AsyncGenerator[Sequence[Memento], None]) -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    # Only now: that a list has ended is seen when more of it is wanted.
                    await self._has_room()
                    if batch:
                        self._add(batch)
        except ArchiveError as error:
            self.error = error

    def _add(self, batch: Sequence[Memento]) -> None:
        if self.captures and batch[0].stamp < self.captures[-1].stamp:
            raise Misbehaved(self.archive, batch[0].uri, "lists captures out of order")
        self.listed += len(batch)
        if self.listed > MOST_LISTED:
            raise Misbehaved(self.archive, batch[0].uri, f"lists more than {MOST_LISTED}")
        self.captures += batch
        if len(self.captures) > MOST_IN_A_SECOND and not self._is_past_a_second():
            why = (
                f"lists more than {MOST_IN_A_SECOND} captures in the second {second(batch[0])}"
            )
            raise Misbehaved(self.archive, batch[0].uri, why)
        self._news.set()

    async def _has_room(self) -> None:
        while len(self.captures) >= FULL and self._is_past_a_second():
            self._room.clear()
            await self._room.wait()

    def _is_past_a_second(self) -> bool:
        captures = self.captures
        return bool(captures) and second(captures[0]) < second(captures[-1])
