"""Core: the parts that resolve references, without HTTP. `timegate.app.build_core` makes one.

The command line, batches, extraction, the library and the server use it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from archives.model import ArchiveEntry
from archives.registry import Registry
from archives.source import Fetcher
from timegate.access.blocklist import Blocklist
from timegate.cache import Store
from timegate.collections.opening import LocalCollections
from timegate.config import Config
from timegate.observability.canaries import Canaries
from timegate.observability.metrics import AttemptObserver, Metrics
from timegate.observability.tracing import Trace
from timegate.resolution.coalescing import Containment
from timegate.resolution.model import Deadlines, Resolves
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.selection import Selections
from timegate.routing.planner import Planner
from timegate.timemaps import ArchiveLists
from timegate.upstream.rate_limit import RateLimiter
from timegate.upstream.stack import ArchiveSources, UpstreamSettings


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
    neighbours: Neighbours
    deadlines: Deadlines
    fetchers: Mapping[str, Fetcher]
    local: LocalCollections
    blocklist: Blocklist
    containment: Containment
    canaries: Canaries
    metrics: Metrics
    observer: AttemptObserver
    store: Store
    upstream_settings: UpstreamSettings
    rate_limiter: Callable[[ArchiveEntry], RateLimiter]
    trace: Trace | None = None

    @property
    def registry(self) -> Registry:
        """The known archives."""
        return self.config.registry
