"""Core: the parts that resolve references, without HTTP. `timegate.app.build_core` makes one.

The command line, batches, extraction, the library and the server use it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from archives.model import ArchiveEntry, Memento
from archives.registry import Registry
from archives.source import Fetcher
from timegate.access.blocklist import Blocklist
from timegate.cache import Store
from timegate.cdx import RangeLists
from timegate.collections.opening import LocalCollections
from timegate.config import Config
from timegate.content.findings import LookLimits, QuoteFinding
from timegate.content.fragments import TextQuote
from timegate.observability.canaries import Canaries
from timegate.observability.metrics import AttemptObserver, Metrics
from timegate.observability.tracing import Trace
from timegate.parts.composite import CompositeMemento, PartLimits
from timegate.resolution.coalescing import AnswerMemory, Containment
from timegate.resolution.context import RequestContext
from timegate.resolution.model import (
    AsksOriginals,
    Deadlines,
    DiffsCopies,
    LooksAtCopies,
    Preferences,
    ReadsCopies,
    Resolves,
)
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.selection import Selections
from timegate.routing.planner import Planner
from timegate.store import JournalWriter
from timegate.timemaps import ArchiveLists
from timegate.upstream.rate_limit import RateLimiter
from timegate.upstream.stack import ArchiveSources, UpstreamSettings

if TYPE_CHECKING:
    # It imports warcio, which is slow to import.
    from timegate.series.opening import AllSeries


class FindsParts(Protocol):
    """Finds the parts of an archived page. Raises ArchiveError if it cannot be read."""

    async def __call__(
        self,
        memento: Memento,
        context: RequestContext,
        limits: PartLimits | None = None,
        preferences: Preferences | None = None,
        /,
    ) -> CompositeMemento: ...


class CopyReader(ReadsCopies, DiffsCopies, Protocol):
    """Reads and compares the texts of copies."""


class LooksForQuotes(Protocol):
    """Looks for a quotation in copies. Failures of archives never raise."""

    async def look(
        self,
        wanted: TextQuote,
        mementos: Sequence[Memento],
        context: RequestContext,
        limits: LookLimits,
        *,
        all_of_them: bool = False,
    ) -> QuoteFinding: ...


@dataclass(frozen=True, slots=True)
class Core:
    """Everything that resolving needs, without HTTP."""

    config: Config
    base_url: str
    resolver: Resolves
    """Resolves queries, and verifies the memento if the preferences ask for that."""
    selections: Selections
    planner: Planner
    sources: ArchiveSources
    lists: ArchiveLists
    ranges: RangeLists
    answers: AnswerMemory
    """Earlier answers of archives."""
    neighbours: Neighbours
    parts_of: FindsParts
    contents: LooksAtCopies
    texts: CopyReader
    quotes: LooksForQuotes
    deadlines: Deadlines
    fetchers: Mapping[str, Fetcher]
    local: LocalCollections
    blocklist: Blocklist
    containment: Containment
    canaries: Canaries
    metrics: Metrics
    observer: AttemptObserver
    store: Store
    dropped_writes: Callable[[], int]
    """How many values could not be written to the cache."""
    upstream_settings: UpstreamSettings
    rate_limiter: Callable[[ArchiveEntry], RateLimiter]
    trace: Trace | None = None
    originals: AsksOriginals | None = None
    """Requests originals for an empty date, where the operator allows it."""
    stores: Mapping[str, JournalWriter] = field(default_factory=dict)
    """The stores that this process writes, by id; only where it serves."""
    series: "AllSeries | None" = None
    """The series of documents; None if none is configured."""

    @property
    def registry(self) -> Registry:
        """The known archives."""
        return self.config.registry
