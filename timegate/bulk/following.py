"""Rows while a run is under way: in the order of the list, each as soon as it is final.

One that is to be asked for a second time holds up those behind it. None of them wait in memory:
they stand in the journal. They are written in a thread, so that somebody who reads slowly, or
not at all, makes no archive wait.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import BinaryIO

from timegate.bulk.journal import Journal
from timegate.bulk.result import ItemResult


class OrderedRows:
    """Writes the rows of one journal, each once."""

    def __init__(
        self, journal: Journal, row: Callable[[ItemResult], bytes], out: BinaryIO
    ) -> None:
        self._journal = journal
        self._row = row
        self._out = out
        self._next = 0
        self._news = asyncio.Event()
        self._over = False

    def advance(self) -> None:
        """Note that a result has become final."""
        self._news.set()

    def end(self) -> None:
        """Note that there will be no more results."""
        self._over = True
        self._news.set()

    async def follow(self) -> None:
        """Write what is final, until the end. Raises OSError."""
        over = False
        while not over:
            over = self._over
            self._news.clear()
            await asyncio.to_thread(self._write)
            if not over:
                await self._news.wait()

    def _write(self) -> None:
        self._out.writelines(map(self._row, self._final()))
        self._out.flush()

    def _final(self) -> Iterator[ItemResult]:
        while self._journal.is_final(self._next):
            result = self._journal.result(self._next)
            self._next += 1
            if result is not None:
                yield result
