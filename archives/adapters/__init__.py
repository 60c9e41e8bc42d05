"""Adapters: how to query each kind of archive. `source_for` makes a `Source` of an entry.

An adapter holds what is known of one archive for as long as the process runs, and no `Fetcher`:
the fetcher carries the budget of one request and is passed with every query.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from archives import kinds
from archives.adapters import cdx, memento, original, second_way, wayback
from archives.addresses import WITHOUT_SERVER, AddressPolicy
from archives.model import ArchiveEntry, ArchiveKind
from archives.negotiation import Clock
from archives.source import Adapter, AdapterSource, Fetcher, Source

_MakeAdapter = Callable[[ArchiveEntry, Clock, AddressPolicy], Adapter]
ADAPTERS: Final[Mapping[ArchiveKind, _MakeAdapter]] = {
    kinds.MEMENTO: memento.MementoArchive,
    kinds.WAYBACK: wayback.WaybackArchive,
    kinds.CDX: cdx.CdxArchive,
    kinds.ORIGINAL: original.OriginalTimeGates,
}
_SECOND: Final = {kinds.MEMENTO: kinds.CDX, kinds.CDX: kinds.MEMENTO}
"""The kind by which an archive is queried if querying it by its own kind fails."""


def adapter_for(
    entry: ArchiveEntry, clock: Clock, policy: AddressPolicy = WITHOUT_SERVER
) -> Adapter:
    """Return the adapter for *entry*, with a second way where it has what that needs.

    Raises ValueError where programs cannot query it.
    """
    if entry.kind not in ADAPTERS:
        raise ValueError(f"{entry.id} cannot be asked by programs: {entry.because}")
    first = ADAPTERS[entry.kind](entry, clock, policy)
    other = _second(entry)
    if other is None:
        return first
    second = ADAPTERS[other](replace(entry, kind=other), clock, policy)
    return second_way.SecondWay(first, second, clock)


def _second(entry: ArchiveEntry) -> ArchiveKind | None:
    """Return the kind of the second way; None if there is none.

    A TimeGate leads to replay, where a bot gate stands (New Zealand: the index is open).
    """
    other = _SECOND.get(entry.kind)
    if other is None or (entry.gate and other is kinds.MEMENTO):
        return None
    return other if all(getattr(entry, name) for name in other.needs) else None


def source_for(
    entry: ArchiveEntry, fetch: Fetcher, clock: Clock, policy: AddressPolicy = WITHOUT_SERVER
) -> Source:
    """Return the adapter for *entry* with *fetch* as its only fetcher."""
    return AdapterSource(adapter_for(entry, clock, policy), fetch)
