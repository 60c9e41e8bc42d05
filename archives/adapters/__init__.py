"""Adapters: how to query each kind of archive. `source_for` makes a `Source` of an entry.

An adapter holds what is known of one archive for as long as the process runs, and no `Fetcher`:
the fetcher carries the budget of one request and is passed with every query.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from archives.adapters import cdx, memento, warc, wayback
from archives.model import ArchiveEntry, ArchiveKind, Closest, Memento
from archives.moment import Moment
from archives.negotiation import Clock
from archives.source import Fetcher, Source


class Adapter(Protocol):
    """Queries one archive through whichever fetcher is passed; otherwise as `Source`."""

    @property
    def entry(self) -> ArchiveEntry: ...

    async def closest(
        self, fetch: Fetcher, original: str, at: Moment | None
    ) -> Closest | None: ...

    def mementos(
        self, fetch: Fetcher, original: str
    ) -> AsyncGenerator[Sequence[Memento], None]: ...


ADAPTERS: Final[Mapping[ArchiveKind, Callable[[ArchiveEntry, Clock], Adapter]]] = {
    memento.KIND: memento.MementoArchive,
    wayback.KIND: wayback.WaybackArchive,
    cdx.KIND: cdx.CdxArchive,
}
NOT_ASKABLE: Final = ArchiveKind("none", "programs cannot query it", is_askable=False)
KINDS: Final[Mapping[str, ArchiveKind]] = {
    kind.name: kind for kind in (*ADAPTERS, warc.KIND, NOT_ASKABLE)
}


@dataclass(frozen=True, slots=True)
class AdapterSource:
    """A `Source`: an adapter with the fetcher for one request. Cheap to create."""

    adapter: Adapter
    fetch: Fetcher

    @property
    def entry(self) -> ArchiveEntry:
        """The archive that is queried."""
        return self.adapter.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Return what the adapter answers."""
        return await self.adapter.closest(self.fetch, original, at)

    def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        """Return the adapter's list."""
        return self.adapter.mementos(self.fetch, original)


def adapter_for(entry: ArchiveEntry, clock: Clock) -> Adapter:
    """Return the adapter for *entry*. Raises ValueError where programs cannot query it."""
    if entry.kind not in ADAPTERS:
        raise ValueError(f"{entry.id} cannot be asked by programs: {entry.because}")
    return ADAPTERS[entry.kind](entry, clock)


def source_for(entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> Source:
    """Return the adapter for *entry* with *fetch* as its only fetcher."""
    return AdapterSource(adapter_for(entry, clock), fetch)
