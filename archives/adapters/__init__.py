"""Adapters: how to query each kind of archive. `source_for` makes a `Source` of an entry.

An adapter holds what is known of one archive for as long as the process runs, and no `Fetcher`:
the fetcher carries the budget of one request and is passed with every query.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from archives.adapters import cdx, memento, second_way, warc, wayback
from archives.model import ArchiveEntry, ArchiveKind
from archives.negotiation import Clock
from archives.source import Adapter, AdapterSource, Fetcher, Source

ADAPTERS: Final[Mapping[ArchiveKind, Callable[[ArchiveEntry, Clock], Adapter]]] = {
    memento.KIND: memento.MementoArchive,
    wayback.KIND: wayback.WaybackArchive,
    cdx.KIND: cdx.CdxArchive,
}
_SECOND: Final = {memento.KIND: cdx.KIND, cdx.KIND: memento.KIND}
"""The kind by which an archive is queried if querying it by its own kind fails."""
NOT_ASKABLE: Final = ArchiveKind("none", "programs cannot query it", is_askable=False)
KINDS: Final[Mapping[str, ArchiveKind]] = {
    kind.name: kind for kind in (*ADAPTERS, warc.KIND, NOT_ASKABLE)
}


def adapter_for(entry: ArchiveEntry, clock: Clock) -> Adapter:
    """Return the adapter for *entry*, with a second way where it has what that needs.

    Raises ValueError where programs cannot query it.
    """
    if entry.kind not in ADAPTERS:
        raise ValueError(f"{entry.id} cannot be asked by programs: {entry.because}")
    first = ADAPTERS[entry.kind](entry, clock)
    other = _second(entry)
    if other is None:
        return first
    return second_way.SecondWay(
        first, ADAPTERS[other](replace(entry, kind=other), clock), clock
    )


def _second(entry: ArchiveEntry) -> ArchiveKind | None:
    """Return the kind of the second way; None if there is none.

    A TimeGate leads to replay, where a bot gate stands (New Zealand: the index is open).
    """
    other = _SECOND.get(entry.kind)
    if other is None or (entry.gate and other is memento.KIND):
        return None
    return other if all(getattr(entry, name) for name in other.needs) else None


def source_for(entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> Source:
    """Return the adapter for *entry* with *fetch* as its only fetcher."""
    return AdapterSource(adapter_for(entry, clock), fetch)
