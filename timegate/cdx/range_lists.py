"""Lists of the captures of a range of URLs, from the archives that have an index of them."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from msgspec import structs

from archives.addresses import AddressPolicy
from archives.errors import Resting
from archives.listing.ranges import RangeBatch, UrlRange, list_range, lists_ranges
from archives.model import ArchiveEntry
from archives.negotiation import Clock
from archives.source import Fetcher
from timegate.cdx.query import CdxQuery, RangeResume
from timegate.cdx.ranges import RangeMerge, Turn, merged_ranges, without
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import MOST_REQUESTS, BodySlots, Budget, RequestContext
from timegate.resolution.model import Preferences

MOST_OCTETS: Final = 1024**3
"""Bytes of all archives together, for one request."""


class ListsRanges(Protocol):
    """A collection of this server."""

    def captures_in(
        self, wanted: UrlRange, start: str = ""
    ) -> AsyncGenerator[RangeBatch, None]:
        """List the captures of a range of URLs, from the key *start* on."""
        ...


@dataclass(frozen=True, slots=True)
class RangeLists:
    """Reads lists of ranges of URLs."""

    entries: Mapping[str, ArchiveEntry]
    policy: AddressPolicy
    clock: Clock
    fetcher: Callable[[str, RequestContext], Fetcher]
    """Returns the fetcher of an archive within the limits of a request."""
    local: Mapping[str, ListsRanges]
    """The collections of this server, by their id."""
    is_blocked: Callable[[str], bool]
    containment: Containment = field(default_factory=Containment)
    public: frozenset[str] = frozenset()
    """Archives that count against the quota of a client."""
    slots: BodySlots = field(default_factory=BodySlots)

    @asynccontextmanager
    async def merged(
        self,
        archives: Iterable[str],
        query: CdxQuery,
        preferences: Preferences,
        context: RequestContext,
        turns: Turn,
    ) -> AsyncIterator[RangeMerge]:
        """Merge the lists of *archives*; those without an index are noted as failures."""
        named = list(archives)
        listed = [name for name in named if self._lists_ranges(name)]
        context = structs.replace(context, budget=Budget(MOST_REQUESTS, MOST_OCTETS))
        async with AsyncExitStack() as stack:
            if context.quota is not None:
                charge = await context.quota.charge(query.url)
                stack.callback(charge.settle)
                context = structs.replace(context, charge=charge)
            lists = {name: self._of(name, query, preferences, context) for name in listed}
            merge = await stack.enter_async_context(merged_ranges(lists, query.url, turns))
            merge.note_unlisted(name for name in named if name not in lists)
            yield merge

    def _lists_ranges(self, archive: str) -> bool:
        return archive in self.local or lists_ranges(self.entries[archive])

    async def _of(
        self,
        archive: str,
        query: CdxQuery,
        preferences: Preferences,
        context: RequestContext,
    ) -> AsyncGenerator[RangeBatch, None]:
        """Yield the captures that *archive* lists. Lists of ranges are not cached."""
        is_local = archive in self.local
        charge = context.charge if archive in self.public else None
        if (preferences.only_if_cached and not is_local) or (charge and not charge.granted):
            raise Resting(archive, query.url, "not asked: only-if-cached", 1.0)
        if charge is not None:
            charge.use()
        # What was collapsed or counted before the position is needed again.
        resume = None if query.collapses or query.counters else query.resume
        async with AsyncExitStack() as stack:
            stack.enter_context(self.containment.around(archive, query.url))
            entry = self.entries[archive]
            if not is_local:
                await stack.enter_async_context(self.slots.taken(entry, query.url))
            batches = without(self._read(entry, query, resume, context), self.is_blocked)
            async for batch in await stack.enter_async_context(aclosing(batches)):
                yield batch
        self.containment.worked(archive)

    def _read(
        self,
        entry: ArchiveEntry,
        query: CdxQuery,
        resume: RangeResume | None,
        context: RequestContext,
    ) -> AsyncGenerator[RangeBatch, None]:
        wanted = wanted_range(query)
        if entry.id in self.local:
            start = "" if resume is None else resume.position.urlkey
            return self.local[entry.id].captures_in(wanted, start)
        key = None if resume is None else resume.keys.get(entry.id)
        fetch = self.fetcher(entry.id, context)
        return list_range(entry, self.policy.of(entry), fetch, self.clock, wanted, key)


def wanted_range(query: CdxQuery) -> UrlRange:
    """Return the range of *query*, which has one."""
    if query.match == "exact":
        raise ValueError("one URL is no range")
    # A few more, because archives list captures of one another.
    is_counted = not (query.filters or query.collapses or query.holds or query.counts_pages)
    most = max(query.limit + query.offset + 1, 100) if is_counted else None
    return UrlRange(query.url, query.match, query.since, query.until, most)
