"""Adapters: how to query each kind of archive. `source_for` makes a `Source` of an entry.

An adapter holds what is known of one archive for as long as the process runs, and no `Fetcher`:
the fetcher carries the budget of one request and is passed with every query.
"""

from collections.abc import Callable, Mapping
from typing import Final

from archives.adapters import cdx, memento, warc, wayback
from archives.model import ArchiveEntry, ArchiveKind
from archives.negotiation import Clock
from archives.source import Adapter, AdapterSource, Fetcher, Source

ADAPTERS: Final[Mapping[ArchiveKind, Callable[[ArchiveEntry, Clock], Adapter]]] = {
    memento.KIND: memento.MementoArchive,
    wayback.KIND: wayback.WaybackArchive,
    cdx.KIND: cdx.CdxArchive,
}
NOT_ASKABLE: Final = ArchiveKind("none", "programs cannot query it", is_askable=False)
KINDS: Final[Mapping[str, ArchiveKind]] = {
    kind.name: kind for kind in (*ADAPTERS, warc.KIND, NOT_ASKABLE)
}


def adapter_for(entry: ArchiveEntry, clock: Clock) -> Adapter:
    """Return the adapter for *entry*. Raises ValueError where programs cannot query it."""
    if entry.kind not in ADAPTERS:
        raise ValueError(f"{entry.id} cannot be asked by programs: {entry.because}")
    return ADAPTERS[entry.kind](entry, clock)


def source_for(entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> Source:
    """Return the adapter for *entry* with *fetch* as its only fetcher."""
    return AdapterSource(adapter_for(entry, clock), fetch)
