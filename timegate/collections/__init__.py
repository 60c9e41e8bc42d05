"""Local collections of WARC files, served as archives of their own.

A collection has an index, a source and records. One lookup in the index answers every query,
so no search, cache or deadline is needed: `CollectionResolver` takes the place of the resolver
for many archives.
"""

from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Executor
from typing import Final, NamedTuple, Protocol

from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.source import Source, WantedCaptures
from archives.warc.replay import Replayer
from archives.warc_index.model import IndexRow, is_asserted
from timegate.observability.logs import Unforeseen
from timegate.resolution.coalescing import Contained, Containment
from timegate.resolution.context import RequestContext, TimeBudget
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.ranking import in_direction
from timegate.responses.answers import Answers
from timegate.verdict import header_safe

LOG: Final = Unforeseen("archive-internal-error")
CONTAINMENT: Final = Containment(log=LOG)
"""The boundary around queries to a collection by its own addresses."""


class CollectionAccess(Protocol):
    """Access to the index of a collection. Every method raises ArchiveError."""

    @property
    def id(self) -> str: ...

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None: ...

    async def at(self, url: str, stamp: str) -> IndexRow | None: ...

    async def nearest_with_neighbours(
        self, url: str, at: Moment | None
    ) -> Sequence[IndexRow]: ...

    def captures_of(
        self, url: str, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]: ...

    def captures_between(
        self, lower: str, upper: str
    ) -> AsyncGenerator[Sequence[IndexRow], None]: ...

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None: ...


class CollectionResolver:
    """Resolves queries within one collection."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return what the collection holds. Failures of the collection never raise."""
        del context
        outcome: Closest | ArchiveError | None
        try:
            outcome = await self._source.closest(query.original, query.at)
        except ArchiveError as error:
            outcome = error
        if isinstance(outcome, Closest):
            outcome = in_direction(outcome, query.at, preferences.direction)
        attempt = Attempt(self._source.entry.id, outcome, 0.0, query.original)
        best = attempt if isinstance(outcome, Closest) else None
        return Resolution(query, preferences, best, (), (attempt,))


class NoCache:
    """Caches no list: the index is as fast as any cache."""

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None:
        del archive, original, budget, detailed
        return None

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> None: ...


class OpenCollection(NamedTuple):
    """An open collection: its index, its source, and the replayer of its records."""

    collection: CollectionAccess
    source: Source
    replayer: Replayer

    @classmethod
    def of(
        cls, collection: CollectionAccess, source: Source, threads: Executor
    ) -> "OpenCollection":
        """Return the collection with its own replayer, which works in *threads*."""
        return cls(collection, source, Replayer(collection.id, collection, threads))

    @property
    def contained(self) -> Source:
        """The source, for callers that have no boundary of their own."""
        return Contained(self.source, CONTAINMENT)

    def answers(self, registry: Registry, base_url: str) -> Answers:
        """Return the answers from this collection alone; *base_url* is its own address."""
        resolver = CollectionResolver(self.contained)
        return Answers(resolver, registry, base_url, changing=frozenset({self.collection.id}))


def address(base_url: str, collection: str, stamp: str, url: str, view: str = "") -> str:
    """Return the address of a capture; *view* is ``id_`` for its raw bytes."""
    base = base_url.rstrip("/")
    return f"{base}/collections/{collection}/{stamp}{view}/{header_safe(url)}"


def memento_of(row: IndexRow, collection: str, base_url: str) -> Memento:
    """Return the memento of a row of the index."""
    uri = address(base_url, collection, row.stamp, row.url)
    asserted = is_asserted(row.name)
    return Memento(
        row.stamp, uri, row.url, collection, row.status, row.mime, row.digest, asserted
    )
