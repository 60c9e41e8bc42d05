"""Lists of captures: from the cache while they are fresh, else from the archives.

A list that was read to its end is cached, if it is not too long, and then answers TimeGate
questions as well. An incomplete list is not cached.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Final

from msgspec import structs

from archives.columns import CaptureColumns
from archives.errors import Resting
from archives.listing import has_second_list, is_excerpted
from archives.model import Memento
from archives.source import ALL, WantedCaptures
from timegate.event_loop import FairTurns
from timegate.resolution.coalescing import Containment, SourceFor
from timegate.resolution.context import MOST_REQUESTS, BodySlots, Budget, RequestContext
from timegate.resolution.model import Preferences
from timegate.resolution.neighbours import CaptureLists
from timegate.timemaps.lane import Turns
from timegate.timemaps.merge import Merge, merged

MOST_CACHED: Final = 5_000
"""Captures of one archive: 1.6 MB while they are read, which is acceptable for ten archives."""
_STARTS_PER_TURN: Final = 1
"""Merges that are started in one iteration of the event loop. One of long lists in the cache
takes some 10 ms, in small parts: one in each iteration."""
MOST_OCTETS: Final = 1024**3
"""Bytes of all archives together. Five million captures are 700 MB."""


class ArchiveLists:
    """The lists of captures of all archives."""

    def __init__(
        self,
        source_for: SourceFor,
        cache: CaptureLists,
        containment: Containment | None = None,
        *,
        public: frozenset[str] = frozenset(),
    ) -> None:
        """Charge lists of the archives in *public* to the quota of the client."""
        self._source_for = source_for
        self._cache = cache
        self._containment = containment or Containment()
        self._public = public
        self._starts = FairTurns(_STARTS_PER_TURN)
        self.slots = BodySlots()
        """Slots of archives whose lists are being sent."""
        self.turns = Turns()
        """Turns of all merges of lists."""

    @asynccontextmanager
    async def merged(  # noqa: PLR0913 -- the lists, and what is wanted of them
        self,
        archives: Iterable[str],
        original: str,
        preferences: Preferences,
        context: RequestContext,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncIterator[Merge]:
        """Merge the lists of *archives* for *original*; the others as `Source.mementos`."""
        # Before the deadlines of archives begin.
        await self._starts.enter()
        context = structs.replace(context, budget=Budget(MOST_REQUESTS, MOST_OCTETS))
        async with AsyncExitStack() as stack:
            if context.quota is not None:
                charge = await context.quota.charge(original)
                stack.callback(charge.settle)
                context = structs.replace(context, charge=charge)
            ages: dict[str, float] = {}
            lists = {
                name: self.of(
                    name,
                    original,
                    preferences,
                    context,
                    detailed=detailed,
                    wanted=wanted,
                    ages=ages,
                )
                for name in archives
            }
            merge = await stack.enter_async_context(merged(lists, original, self.turns))
            merge.ages = ages
            yield merge

    async def of(  # noqa: PLR0913 -- the list, and what is wanted of it
        self,
        archive: str,
        original: str,
        preferences: Preferences,
        context: RequestContext,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
        ages: dict[str, float] | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Yield the captures that *archive* lists in batches, oldest first.

        Beyond the quota of the client, lists of public archives come from the cache alone. The
        age of a list from the cache is put into *ages*.
        """
        detailed = detailed and has_second_list(self._source_for(archive, context).entry)
        charge = context.charge if archive in self._public else None
        only_if_cached = preferences.only_if_cached
        if charge is not None and not charge.granted:
            only_if_cached = True
        if only_if_cached or not preferences.no_cache:
            known = await self._cache.recall_timemap(
                archive, original, context.redis_time, detailed=detailed
            )
            if known is not None:
                if ages is not None:
                    ages[archive] = known[1]
                yield known[0]
                return
        if only_if_cached:
            raise Resting(archive, original, "not asked: only-if-cached", 1.0)
        if charge is not None:
            charge.use()
        with self._containment.around(archive, original):
            queried = self._queried(
                archive, original, context, wanted or ALL, detailed=detailed
            )
            async with aclosing(queried) as batches:
                async for batch in batches:
                    yield batch
        self._containment.worked(archive)

    async def _queried(
        self,
        archive: str,
        original: str,
        context: RequestContext,
        wanted: WantedCaptures,
        *,
        detailed: bool,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        source = self._source_for(archive, context)
        is_whole = not is_excerpted(source.entry, wanted)
        captures = CaptureColumns([], [], []) if is_whole else None
        async with (
            self.slots.taken(source.entry, original),
            aclosing(source.mementos(original, detailed=detailed, wanted=wanted)) as batches,
        ):
            async for batch in batches:
                if captures is not None:
                    captures.extend(batch)
                    captures = captures if len(captures) <= MOST_CACHED else None
                yield batch
        # A list without details is that of the TimeMap: the CDX server may list it tomorrow.
        if captures is not None and not (detailed and _lacks_details(captures)):
            await self._cache.remember_timemap(
                archive, original, captures, context.redis_time, detailed=detailed
            )


def _lacks_details(captures: CaptureColumns) -> bool:
    """Whether there are captures, and none has a status, media type or digest."""
    return bool(captures) and not any(d.status or d.mime or d.digest for d in captures.details)
