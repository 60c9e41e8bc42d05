"""Where the lists of archives come from: from memory while they are fresh, or from the archive.

A list that was read to its end is remembered, if it is not too long: then TimeGate questions
are answered from it as well. One that broke off is not.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Final, Protocol

from archives.errors import Resting
from archives.model import Memento
from archives.source import Source
from timegate.resolution.budget import MOST_REQUESTS, Budget, spending
from timegate.resolution.model import Preferences
from timegate.timemaps.merge import Merge, merged
from timegate.upstream.containment import Containment

MOST_REMEMBERED: Final = 5_000
"""Captures of one archive, 1.6 MB while they are read; that times ten archives still fits."""
MOST_OCTETS: Final = 1024**3
"""Of all archives together. Five million captures are 700 MB."""


class ListCache(Protocol):
    """What archives listed before."""

    async def recall_timemap(
        self, archive: str, original: str
    ) -> tuple[Sequence[Memento], float] | None: ...

    async def remember_timemap(
        self, archive: str, original: str, captures: Sequence[Memento]
    ) -> None: ...


class ArchiveLists:
    """The lists of all archives."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        memory: ListCache,
        containment: Containment | None = None,
    ) -> None:
        self._sources = sources
        self._memory = memory
        self._containment = containment or Containment()

    @asynccontextmanager
    async def merged(
        self, archives: Iterable[str], original: str, preferences: Preferences
    ) -> AsyncIterator[Merge]:
        """Merge what *archives* list of *original*."""
        lists = {name: self.of(name, original, preferences) for name in archives}
        async with AsyncExitStack() as stack:
            # Tasks take the budget with them from where they begin.
            with spending(Budget(MOST_REQUESTS, MOST_OCTETS)):
                merge = await stack.enter_async_context(merged(lists, original))
            yield merge

    async def of(
        self, archive: str, original: str, preferences: Preferences
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Yield the captures that *archive* lists in batches, oldest first."""
        known = None
        if not preferences.no_cache:
            known = await self._memory.recall_timemap(archive, original)
        if known is not None:
            yield known[0]
            return
        if preferences.only_if_cached:
            raise Resting(archive, original, "not asked: only-if-cached", 1.0)
        with self._containment.around(archive, original):
            async with aclosing(self._asked(archive, original)) as batches:
                async for batch in batches:
                    yield batch
        self._containment.worked(archive)

    async def _asked(
        self, archive: str, original: str
    ) -> AsyncGenerator[Sequence[Memento], None]:
        kept: list[Memento] | None = []
        async with aclosing(self._sources[archive].mementos(original)) as batches:
            async for batch in batches:
                if kept is not None:
                    kept += batch
                    kept = kept if len(kept) <= MOST_REMEMBERED else None
                yield batch
        if kept is not None:
            await self._memory.remember_timemap(archive, original, kept)
