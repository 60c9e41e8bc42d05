"""An archive that answers late, on purpose."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Source


class DelayedSource:
    """A `Source` that takes *seconds* longer than it needs; the demo has one."""

    def __init__(self, source: Source, seconds: float) -> None:
        self._source = source
        self._seconds = seconds

    @property
    def entry(self) -> ArchiveEntry:
        """The archive."""
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Wait, then ask."""
        await asyncio.sleep(self._seconds)
        return await self._source.closest(original, at)

    async def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        """Wait, then list."""
        await asyncio.sleep(self._seconds)
        async with aclosing(self._source.mementos(original)) as batches:
            async for batch in batches:
                yield batch
