"""Lane: the list of one archive in a merge, filled by a task and emptied by the merge.

A lane holds about `FULL` captures (256 kB) and one batch more. Then its task stops reading, and
the archive stops sending: the buffer stays bounded, however slowly a client reads.

Reading and writing lists takes turns (`Turns`), because hundreds of tasks may have something to
do at the same time, and another request would wait for all of them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

from archives.columns import CaptureColumns
from archives.errors import ArchiveError, Misbehaved
from archives.model import Memento

FULL: Final = 800
"""Captures; at 320 bytes each these are 256 kB."""
MOST_LISTED: Final = 2_000_000
MOST_IN_A_SECOND: Final = 10_000
"""No page is captured so often; captures of one second must be held in memory to be sorted."""


def second(stamp: str) -> str:
    """Return the second of a capture, without the fraction that some archives give."""
    return stamp[:14]


class Turns:
    """Grants one turn in each iteration of the event loop, in the order of requests.

    The work of a turn takes some milliseconds at most. So a request that needs ten iterations
    waits for ten turns, however many lists are being merged.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._granting = False

    async def next(self) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._granting:
            self._granting = True
            loop.call_soon(self._grant)
        await turn

    def _grant(self) -> None:
        waiting = self._waiting
        while waiting:
            turn = waiting.popleft()
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                break
        self._granting = bool(waiting)
        if waiting:
            asyncio.get_running_loop().call_soon(self._grant)


class Lane:
    """The captures of one archive that have arrived and are not merged yet, oldest first."""

    def __init__(
        self,
        archive: str,
        batches: AsyncGenerator[Sequence[Memento], None],
        changed: asyncio.Event,
        turns: Turns,
    ) -> None:
        self.archive = archive
        self.captures = CaptureColumns([], [], [])
        self.error: ArchiveError | None = None
        """Why the list is incomplete."""
        self.listed = 0
        self._changed = changed
        self._turns = turns
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

    def horizon(self, most: int) -> str | None:
        """Return the second before which all captures have arrived; None if all have.

        It leaves about *most* captures before it, because a whole list may come in one batch.
        """
        stamps = self.captures.stamps
        if len(stamps) <= most and self.ended:
            return None
        last = second(stamps[min(len(stamps), most) - 1])
        if last > second(stamps[0]):
            return last
        # A colon sorts after every digit, so after every fraction of this second.
        behind = self.captures.before(last + ":")
        return second(stamps[behind]) if behind < len(stamps) else None

    def take(self, before: str | None) -> CaptureColumns:
        """Take out the captures before the second *before*; all of them where it is None."""
        captures = self.captures
        taken = captures.pop_first(len(captures) if before is None else captures.before(before))
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
                    # The next batch, which may have arrived, is read in this turn too.
                    await self._turns.next()
                    if batch:
                        self._add(CaptureColumns.of(batch))
        except ArchiveError as error:
            self.error = error

    def _add(self, batch: CaptureColumns) -> None:
        stamps = self.captures.stamps
        if stamps and batch.stamps[0] < stamps[-1]:
            raise Misbehaved(self.archive, batch[0].uri, "lists captures out of order")
        self.listed += len(batch)
        if self.listed > MOST_LISTED:
            raise Misbehaved(self.archive, batch[0].uri, f"lists more than {MOST_LISTED}")
        self.captures.extend(batch)
        if len(self.captures) > MOST_IN_A_SECOND and not self._is_past_a_second():
            at = second(batch.stamps[0])
            why = f"lists more than {MOST_IN_A_SECOND} captures in the second {at}"
            raise Misbehaved(self.archive, batch[0].uri, why)
        self._changed.set()

    async def _has_room(self) -> None:
        while len(self.captures) >= FULL and self._is_past_a_second():
            self._room.clear()
            await self._room.wait()

    def _is_past_a_second(self) -> bool:
        stamps = self.captures.stamps
        return bool(stamps) and second(stamps[0]) < second(stamps[-1])
