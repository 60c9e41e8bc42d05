"""How to ask each kind of archive. `source_for` gives the adapter that an entry names."""

from collections.abc import Callable, Mapping

from archives.adapters.cdx import CdxArchive
from archives.adapters.memento import MementoArchive
from archives.adapters.wayback import WaybackArchive
from archives.model import ArchiveEntry
from archives.negotiation import Clock
from archives.source import Fetcher, Source

KINDS: Mapping[str, Callable[[ArchiveEntry, Fetcher, Clock], Source]] = {
    "memento": MementoArchive,
    "wayback": WaybackArchive,
    "cdx": CdxArchive,
}


def source_for(entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> Source:
    """Return the adapter for *entry*. Raises ValueError where programs cannot ask it."""
    kind = KINDS.get(entry.kind)
    if kind is None:
        raise ValueError(f"{entry.id} cannot be asked by programs: {entry.because}")
    return kind(entry, fetch, clock)
