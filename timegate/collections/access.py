"""A local collection as those see it who serve it, and asking it without a search.

One look at its index answers everything, so there is nobody to race, nothing to remember and
no deadline to keep: `CollectionResolver` stands where the resolver stands for many archives.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.source import Source
from archives.warc_index.model import IndexRow
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.ranking import in_direction
from timegate.verdict import header_safe


class CollectionAccess(Protocol):
    """What `archives.warc_index.Collection` can be asked. Each raises ArchiveError."""

    @property
    def id(self) -> str: ...

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None: ...

    async def at(self, url: str, stamp: str) -> IndexRow | None: ...

    async def nearest_with_neighbours(
        self, url: str, at: Moment | None
    ) -> Sequence[IndexRow]: ...

    def captures_of(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]: ...

    def captures_between(
        self, lower: str, upper: str
    ) -> AsyncGenerator[Sequence[IndexRow], None]: ...

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None: ...


class CollectionResolver:
    """Resolves queries in one archive of our own."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def resolve(self, query: Query, preferences: Preferences | None = None) -> Resolution:
        """Return what the archive has. Never raises for what it does."""
        wishes = preferences or Preferences()
        outcome: Closest | ArchiveError | None
        try:
            outcome = await self._source.closest(query.original, query.at)
        except ArchiveError as error:
            outcome = error
        if isinstance(outcome, Closest):
            outcome = in_direction(outcome, query.at, wishes.direction)
        attempt = Attempt(self._source.entry.id, outcome, 0.0, query.original)
        best = attempt if isinstance(outcome, Closest) else None
        return Resolution(query, wishes, best, (), (attempt,))


class NoCache:
    """Remembers no list: the index is as near as any cache."""

    async def recall_timemap(
        self, _archive: str, _original: str
    ) -> tuple[Sequence[Memento], float] | None:
        return None

    async def remember_timemap(
        self, _archive: str, _original: str, _captures: Sequence[Memento]
    ) -> None: ...


def address(base_url: str, collection: str, stamp: str, url: str, view: str = "") -> str:
    """Return where a capture is; *view* is ``id_`` for its bytes and nothing else."""
    base = base_url.rstrip("/")
    return f"{base}/collections/{collection}/{stamp}{view}/{header_safe(url)}"


def memento_of(row: IndexRow, collection: str, base_url: str) -> Memento:
    """Return a row of the index as the copy that it stands for."""
    uri = address(base_url, collection, row.stamp, row.url)
    return Memento(row.stamp, uri, row.url, collection, row.status, row.mime, row.digest)
