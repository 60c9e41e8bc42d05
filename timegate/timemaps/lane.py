"""Lane: the list of one archive in a merge, filled by a task and emptied by the merge.

A lane holds about `FULL` captures (256 kB) and one batch more. Then its task stops reading, and
the archive stops sending: the buffer stays bounded, however slowly a client reads.
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
"""Captures; at 320 bytes each these are 256 kB."""
PIECE: Final = 1_000
"""The most captures of one block of the merge; a whole list may come in one batch."""
MOST_LISTED: Final = 2_000_000
MOST_IN_A_SECOND: Final = 10_000
"""No page is captured so often; captures of one second must be held in memory to be sorted."""

_stamp: Final = itemgetter(0)


def second(capture: Memento) -> str:
    """Return the second of a capture, without the fraction that some archives give."""
    return capture[0][:14]


class Lane:
    """The captures of one archive that have arrived and are not merged yet, oldest first."""

    def __init__(
        self,
        archive: str,
        batches: AsyncGenerator[Sequence[Memento], None],
        changed: asyncio.Event,
    ) -> None:
        self.archive = archive
        self.captures: list[Memento] = []
        self.error: ArchiveError | None = None
        """Why the list is incomplete."""
        self.listed = 0
        self._changed = changed
        self._room = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._fill(batches), name=f"timemap of {archive}")
        self._task.add_done_callback(lambda _: changed.set())

    @property
    def ended(self) -> bool:
        """Whether no more captures will come. Raises internal errors of the task."""
        if not self._task.done():
            return False
        if not self._task.cancelled():
            self._task.result()
        return True

    @property
    def begun(self) -> bool:
        """Whether the first captures, or the end of the list, have arrived."""
        return bool(self.captures) or self.ended

    @property
    def settled(self) -> bool:
        """Whether the lane cannot change before captures are taken."""
        return len(self.captures) >= FULL or self.ended

    @property
    def ready(self) -> bool:
        """Whether at least one complete second has arrived."""
        return self.ended or self._is_past_a_second()

    def horizon(self) -> str | None:
        """Return the second before which all captures have arrived; None if all have.

        It leaves at most about `PIECE` captures before it.
        """
        captures = self.captures
        if len(captures) <= PIECE and self.ended:
            return None
        last = second(captures[min(len(captures), PIECE) - 1])
        if last > second(captures[0]):
            return last
        # A colon sorts after every digit, so after every fraction of this second.
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
        """Stop reading the list."""
        if not self._task.done():
            self._task.cancel()
            self.error = self.error or why

    async def stopped(self) -> None:
        """Wait until the connection to the archive has been released."""
        self.stop()
        await asyncio.wait([self._task])

    async def _fill(self, batches: AsyncGenerator[Sequence[Memento], None]) -> None:
        try:
            async with aclosing(batches):
                async for batch in batches:
                    # Wait for room after a batch was read, not before: the end of a list is
                    # only seen by reading on.
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
        self._changed.set()

    async def _has_room(self) -> None:
        while len(self.captures) >= FULL and self._is_past_a_second():
            self._room.clear()
            await self._room.wait()

    def _is_past_a_second(self) -> bool:
        captures = self.captures
        return bool(captures) and second(captures[0]) < second(captures[-1])
