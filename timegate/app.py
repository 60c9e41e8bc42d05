"""Composition root: from a configuration to running objects.

`build_core` builds everything that resolving needs, without HTTP: the command line, batches,
extraction and the library use it. `build_server` builds the HTTP handler over a core.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AsyncExitStack,
    ExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import msgspec

from archives.adapters import adapter_for
from archives.adapters.warc import WarcArchive
from archives.addresses import AddressPolicy, OwnAddress, RefusedAddress
from archives.listing import filled
from archives.model import ArchiveEntry, Memento
from archives.registry import Registry
from archives.source import Fetcher, Source
from archives.warc_index.collection import Collection
from timegate.access.blocklist import Blocklist
from timegate.access.loops import name_of
from timegate.cache import AnswerCache, OpenStores, Store
from timegate.cdx import RangeLists
from timegate.collections.opening import (
    LocalCollections,
    open_collections,
    with_replay_addresses,
)
from timegate.config import BadConfig, Config, is_public
from timegate.content.reading import TextReader
from timegate.core import Core
from timegate.demo import DelayedSource
from timegate.extract.archived_files import ArchivedFiles
from timegate.extract.content_looks import ContentLooks
from timegate.extract.copy_texts import CopyTexts
from timegate.extract.page_parts import PageParts
from timegate.extract.quote_search import QuoteSearch
from timegate.following.change_file import BadChangeFile, ChangeFile
from timegate.following.follower import Follower
from timegate.observability.canaries import open_canaries
from timegate.observability.logs import LogCounter, Unforeseen, set_up
from timegate.observability.metrics import AttemptObserver, Metrics
from timegate.observability.tracing import Trace, TracedSource, tracing
from timegate.redis import is_shared, open_shared
from timegate.resolution.coalescing import (
    Coalescer,
    Containment,
    contained_sources,
)
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Deadlines, Query
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.ranking import ProvenDigits
from timegate.resolution.resolver import Resolver
from timegate.resolution.selection import AddressOf, Selections
from timegate.resolution.url_variants import EquivalentUrls
from timegate.resolution.verification import Verifier, memento_probes
from timegate.routing import CombinedKnowledge, MementoMap, Observations
from timegate.routing.planner import Planner
from timegate.store import JournalWriter, RevisionWriter, StoreJournal
from timegate.timemaps import ArchiveLists
from timegate.upstream.breaker import Breakers
from timegate.upstream.open_web import (
    ORIGINAL,
    QUESTION_LIMITS,
    OpenWeb,
    OriginalStates,
    open_web,
    refusal_of,
)
from timegate.upstream.rate_limit import RateLimiter
from timegate.upstream.stack import (
    ArchiveSources,
    Fetchers,
    UpstreamEnvironment,
    UpstreamSettings,
    UpstreamState,
    open_fetchers,
)
from timegate.upstream.worker_rate_limits import WorkerRateLimiters
from timegate.verdict import raw_address, satisfies, verdict
from timegate.verdict.members import proven

if TYPE_CHECKING:
    from timegate.conformance.report import Report
    from timegate.endpoints.store import KeepCapture
    from timegate.pages.checks import ArchiveChecks
    from timegate.redis.locks import Locks
    from timegate.series.opening import AllSeries
    from timegate.server.middleware import Dispatch
    from timegate.server.process_state import ProcessState

_LOG: Final = logging.getLogger("timegate.changes")
_NOW: Final = partial(datetime.now, UTC)
_OBSERVATIONS: Final = "observations"
"""The key of the observations in the store."""
_MONTH: Final = 30 * 86_400.0
_CRAWLER_PATIENCE: Final = 60.0
"""Seconds that a request of the crawler may wait for the rate limit of a host."""


@dataclass(frozen=True, slots=True)
class CoreState:
    """State that survives a configuration reload: caches, counters, limits of archives.

    A reload must not start with full token buckets again (R-12). Use as a context manager.
    """

    metrics: Metrics = field(default_factory=Metrics)
    observations: Observations = field(default_factory=lambda: Observations(time.time))
    upstream: UpstreamState = field(default_factory=UpstreamState)
    stores: OpenStores = field(default_factory=OpenStores)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stores.close()


@asynccontextmanager
async def build_core(  # noqa: PLR0913 -- what a process, a test or a command differs in
    config: Config,
    base_url: str,
    *,
    state: CoreState | None = None,
    rate_limits: Path | None = None,
    serving: bool = False,
    upstream: UpstreamEnvironment | None = None,
    queue_patience: float | None = None,
) -> AsyncIterator[Core]:
    """Build everything that resolving needs; it is closed at the end of the block.

    *rate_limits* is the file in which several processes share their rate limits. With
    *serving*, indexes of local collections are kept up to date, canaries are sent, and spans
    are traced. *upstream* replaces parts of the upstream side, for tests. *queue_patience* is
    how many seconds a request may wait for our own rate limit, if not the usual time.
    """
    replay_url = config.replay_url or base_url
    config = with_replay_addresses(config, replay_url)
    settings = UpstreamSettings(
        config.contact or "no contact given",
        allow_private=config.private,
        authorizations=config.authorizations,
        loop_name=name_of(base_url),
    )
    if queue_patience is not None:
        settings = replace(settings, patience=queue_patience)
    async with AsyncExitStack() as stack:
        if state is None:
            state = await stack.enter_async_context(CoreState())
        shared = await _shared_state(config, rate_limits, state, stack)
        trace = None
        if serving and config.telemetry is not None:
            trace = await stack.enter_async_context(tracing(config.telemetry))
        replaced = upstream or UpstreamEnvironment()
        environment = replace(
            replaced,
            limiter=replaced.limiter or shared.limiter,
            addresses=state.upstream.addresses,
        )
        policy = _address_policy(config, base_url, state.metrics, serving=serving)
        archives = [entry for entry in config.remote if not entry.kind.asks_originals]
        fetchers = await stack.enter_async_context(
            open_fetchers(archives, settings, environment)
        )
        web = await _open_web(config, settings, environment, fetchers, stack)
        state.upstream.replace_breakers(fetchers.breakers)
        shared.watch(fetchers.breakers)
        stores = await _stores(config, stack) if serving and config.stores else {}
        local = await stack.enter_async_context(
            open_collections(
                config.registry, replay_url, keep=serving, settings=settings, written=stores
            )
        )
        parts = _Parts(
            config, base_url, state, shared, settings, fetchers, local, trace, policy, web
        )
        core = await stack.enter_async_context(_core(parts, canaries=serving))
        series = await _series(config, stores, settings, environment, stack)
        yield replace(core, stores=stores, series=series)


async def _open_web(
    config: Config,
    settings: UpstreamSettings,
    environment: UpstreamEnvironment,
    fetchers: Fetchers,
    stack: AsyncExitStack,
) -> OpenWeb | None:
    """Open the way to originals, if they are to be requested; each host has its own limits."""
    if not (config.live.enabled or config.live.timegates):
        return None
    opening = open_web(
        settings, config.live.hosts, replace(environment, limiter=None), QUESTION_LIMITS
    )
    web = await stack.enter_async_context(opening)
    if config.live.timegates:
        fetchers[ORIGINAL] = web
        fetchers.stacks[ORIGINAL] = web.within
    return web


async def _stores(config: Config, stack: AsyncExitStack) -> Mapping[str, JournalWriter]:
    # Only where a store is configured: warcio is slow to import.
    from timegate.store.opening import open_stores  # noqa: PLC0415

    journals: Mapping[str, StoreJournal] = {}
    if config.series:
        from timegate.series.opening import open_journals  # noqa: PLC0415

        journals = await asyncio.to_thread(open_journals, config)
    return await stack.enter_async_context(open_stores(config, journals=journals))


async def _series(
    config: Config,
    stores: Mapping[str, JournalWriter],
    settings: UpstreamSettings,
    environment: UpstreamEnvironment,
    stack: AsyncExitStack,
) -> "AllSeries | None":
    """Return the series; None if none is configured."""
    if not config.series:
        return None
    from timegate.series.opening import open_journals, open_series  # noqa: PLC0415
    from timegate.series.resolvers import open_resolvers  # noqa: PLC0415

    if not stores:
        # A command reads, and writes nothing; a server may be writing at the same time.
        await asyncio.to_thread(open_journals, config)
    opening = open_resolvers(config, settings, environment)
    return open_series(config, stores, await stack.enter_async_context(opening))


@asynccontextmanager
async def build_server(core: Core, state: "ProcessState") -> "AsyncIterator[Dispatch]":
    """Build the HTTP handler over *core*; it is closed at the end of the block."""
    # The command line needs no HTTP server, which is slow to import.
    from timegate.server.routes import Dependencies, open_routes  # noqa: PLC0415

    config = core.config

    async with (
        _open_checks(core) as checks,
        open_follower(core) as follower,
        _open_keeping(core) as keeping,
        open_routes(
            Dependencies(
                core=core,
                limits=state.limits(config),
                condition=state.condition,
                follower=follower,
                checks=checks,
                keeping=keeping,
            )
        ) as dispatch,
    ):
        yield dispatch


@asynccontextmanager
async def _open_checks(core: Core) -> "AsyncIterator[ArchiveChecks | None]":
    """Open the checks that are configured; None without a history file."""
    section = core.config.checks
    if section.history is None:
        yield None
        return
    from timegate.conformance.run import check_entry  # noqa: PLC0415 -- few servers check
    from timegate.pages.checks import ArchiveChecks  # noqa: PLC0415

    def check(entry: ArchiveEntry) -> "Awaitable[tuple[Report, str]]":
        return check_entry(entry, core.upstream_settings, core.rate_limiter)

    allowed = check if section.run else None
    file = Path(section.history)
    async with ArchiveChecks(file, core.config.registry, core.base_url, allowed) as checks:
        yield checks


@asynccontextmanager
async def _open_keeping(
    core: Core,
) -> "AsyncIterator[Callable[[RevisionWriter], KeepCapture | None]]":
    """Yield what makes keepers of stores whose operator allows that."""
    modes = {store.settings.keep for store in core.stores.values()}
    if modes <= {"no"}:
        yield lambda _: None
        return
    from timegate.keep.live import LiveLimits, open_crawler  # noqa: PLC0415
    from timegate.keep.requests import keep_requests  # noqa: PLC0415

    settings = replace(core.upstream_settings, patience=_CRAWLER_PATIENCE)
    limits = LiveLimits(
        octets=min(store.settings.largest_revision for store in core.stores.values()),
        all_octets=64 << 20,
        parts=60,
        seconds=60.0,
    )
    async with open_crawler(settings, frozenset(core.config.live.hosts), limits) as crawler:

        def keeping(writer: RevisionWriter) -> "KeepCapture | None":
            mode = writer.settings.keep
            live = crawler if mode == "live" else None
            return None if mode == "no" else keep_requests(core, writer, live)

        yield keeping


def follower_of(core: Core, file: ChangeFile) -> Follower:
    """Return a follower of the archives of *core*, which writes to *file*."""
    own = {
        one.collection.id: one.collection
        for one in core.local.collections
        if isinstance(one.collection, Collection)
    }
    every = core.config.changes_every
    return Follower(file, core.sources, core.containment, own, every)


@asynccontextmanager
async def open_follower(core: Core) -> AsyncIterator[Follower]:
    """Open the file of changes and follow pages; without a usable file, in a temporary one."""
    config = core.config
    with ExitStack() as stack:
        path = config.changes_file or _beside_store(core)
        file: ChangeFile | None = None
        if path is not None:
            try:
                file = stack.enter_context(ChangeFile(path, config.changes_pages))
            except BadChangeFile as error:
                _LOG.error("changes are forgotten when this server ends: %s", error)
        if file is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="timegate-")))
            file = ChangeFile(folder / "changes.sqlite", config.changes_pages)
            stack.enter_context(file)
        async with follower_of(core, file) as follower:
            yield follower


def _beside_store(core: Core) -> Path | None:
    """Return the file of changes in the folder of the first store; None if there is none."""
    writer = next(iter(core.stores.values()), None)
    return None if writer is None else writer.settings.path / ".timegate" / "changes.sqlite"


async def serve(
    config: Config, reread: Callable[[], Config], rate_limits: Path | None = None
) -> None:
    """Serve over HTTP until SIGTERM or SIGINT; *reread* reads the configuration again.

    A worker process shares its rate limits in the file *rate_limits*. Raises CannotListen.
    """
    from timegate.server.process_state import ProcessState  # noqa: PLC0415
    from timegate.server.running import run_server  # noqa: PLC0415

    async with CoreState() as state:
        process = ProcessState(state.metrics)

        @asynccontextmanager
        async def opening(settings: Config, base_url: str) -> "AsyncIterator[Dispatch]":
            async with (
                build_core(
                    settings, base_url, state=state, rate_limits=rate_limits, serving=True
                ) as core,
                build_server(core, process) as dispatch,
            ):
                yield dispatch

        await run_server(config, reread, opening, process, rate_limits)


def supervise(config: Config, options: Sequence[str], reread: Callable[[], Config]) -> int:
    """Run several worker processes until SIGTERM or SIGINT; return the exit code."""
    from timegate.server.running import address_of, announce  # noqa: PLC0415
    from timegate.server.workers import SharedRateLimits, Workers, reserved  # noqa: PLC0415

    set_up(config.log)
    listen = config.listen
    with (
        TemporaryDirectory(prefix="timegate-") as folder,
        reserved(listen.host, listen.port) as port,
    ):
        path = Path(folder) / "rate_limits"
        shared = ["--host", listen.host, "--port", str(port), "--rate-limits", str(path)]
        renew = SharedRateLimits(path, config.remote, lambda: reread().remote)
        workers = Workers(listen.workers, ["serve", *shared, *options], Path(folder), renew)
        workers.obey_signals()
        workers.start()
        if workers.wait_until_listening():
            announce(config, address_of(listen.host, port), worker=False)
        return workers.watch()


@dataclass(frozen=True, slots=True)
class _Shared:
    """State that processes or replicas share: the store, rate limits, locks, breakers."""

    store: Store
    limiter: Callable[[ArchiveEntry], RateLimiter]
    locks: "Locks | None" = None
    watch: Callable[[Breakers], None] = lambda _: None
    canary_store: Store | None = None
    """The store for results of canaries, if it is not the same."""


@contextmanager
def _naming_the_cache() -> Iterator[None]:
    """Name the setting in errors about the address of the cache."""
    try:
        yield
    except ValueError as error:
        raise BadConfig(f"cache.url: {error}") from error


async def _shared_state(
    config: Config, rate_limits: Path | None, state: CoreState, stack: AsyncExitStack
) -> _Shared:
    if is_shared(config.cache):
        with _naming_the_cache():
            opening = open_shared(config.cache, config.replicas)
        shared = await stack.enter_async_context(opening)
        locks = shared.locks(_version(config.askable), restricted=config.restricted.keys())
        return _Shared(
            shared.store, shared.rate_limiter, locks, shared.watch, shared.canary_store
        )
    with _naming_the_cache():
        store = state.stores.open(config.cache, config.cache_limit)
    if rate_limits is None:
        return _Shared(store, state.upstream.limiter)
    file = WorkerRateLimiters(rate_limits, config.remote)
    stack.callback(file.close)
    # One worker sends canaries, and all of them show the results.
    canaries = None
    if config.cache == "memory:" and config.canaries_every is not None:
        canaries = state.stores.open(f"sqlite:{rate_limits.with_name('canaries.sqlite')}")
    return _Shared(store, file.of, canary_store=canaries)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts from which a core is built."""

    config: Config
    base_url: str
    state: CoreState
    shared: _Shared
    settings: UpstreamSettings
    remote: Fetchers
    local: LocalCollections
    trace: Trace | None
    policy: AddressPolicy
    web: OpenWeb | None
    """The way to originals, if they are to be requested."""

    @property
    def own(self) -> frozenset[str]:
        """The operator's own archives."""
        return frozenset(entry.id for entry in self.config.askable if not is_public(entry))

    @property
    def fetchers(self) -> dict[str, Fetcher]:
        """The fetcher of each archive, remote or local."""
        return {**self.remote, **self.local.fetchers}

    def fetcher_for(self, archive: str, context: RequestContext) -> Fetcher:
        """Return the fetcher of an archive, within the limits of a request."""
        local = self.local.fetchers.get(archive)
        return self.remote.within(archive, context) if local is None else local


def _originals(parts: _Parts, blocklist: Blocklist) -> OriginalStates | None:
    """Return what requests originals for an empty date, if the operator allows that."""
    if parts.web is None or not parts.config.live.enabled:
        return None
    refused = partial(_unrequested, blocklist, parts.policy)
    return OriginalStates(parts.web, _NOW, parts.config.hard, refused)


def _unrequested(blocklist: Blocklist, policy: AddressPolicy, url: str) -> str | None:
    """Return why the original *url* is not requested; None if it may be."""
    if blocklist and blocklist.holds(url):
        return "it is blocked by the operator of this server"
    if policy.is_ours(url):
        return "it is an address of this server"
    return "it is an address of an archive" if policy.has_archive(url) else None


@asynccontextmanager
async def _core(parts: _Parts, *, canaries: bool) -> AsyncIterator[Core]:
    config, state, store = parts.config, parts.state, parts.shared.store
    public = frozenset(entry.id for entry in config.askable) - parts.own
    containment = _containment(state.metrics, parts.remote.breakers)
    sources = _sources(parts)
    contained = contained_sources(sources, containment)
    cache = AnswerCache(
        store,
        time.time,
        _version(config.askable),
        changing=parts.local.sources,
        restricted=config.restricted.keys(),
    )
    if parts.shared.locks is not None:
        parts.shared.locks.written = cache.written
    await _read_observations(state.observations, store)
    known = _known(parts)
    blocklist = Blocklist(config.deny.urls, config.deny.hosts)
    planner = Planner(
        config.askable,
        known,
        blocklist=blocklist,
        registry=config.registry,
        refusals={ORIGINAL: partial(refusal_of, hosts=config.live.hosts)},
    )
    observer = AttemptObserver(
        state.metrics,
        (planner.note, parts.remote.breakers.observe),
        # Collections have none, which counts as closed.
        parts.remote.breakers.standing,
        config.restricted.keys(),
    )
    deadlines = Deadlines(config.soft, config.hard)
    async with (
        aclosing(cache),
        open_canaries(
            config.canaries_every if canaries else None,
            [entry for entry in config.askable if not entry.kind.asks_originals],
            contained,
            parts.remote,
            parts.shared.canary_store or store,
            parts.shared.locks,
            config.restricted.keys(),
        ) as sent,
        Verifier(
            memento_probes(config.askable, parts.fetcher_for, _NOW, parts.policy),
            cache,
            containment,
            config.remote,
        ) as verifier,
        Coalescer(
            sources,
            cache,
            observer,
            locks=parts.shared.locks,
            containment=containment,
            public=public,
            replay_address=verifier.at_replay_address,
            repeated=state.metrics.repeated,
        ) as coalescer,
        TextReader() as reader,
    ):
        selections = Selections(verifier, _addresses(config.registry), _proven(config.registry))
        state.metrics.watch_archives(
            lambda: {entry.id: known.standing(entry.id) for entry in config.askable}
        )
        state.metrics.watch_canaries(sent.standings)
        state.metrics.watch_cache(lambda: cache.pages.dropped)
        resolver = Resolver(
            coalescer,
            cache,
            planner.plan,
            deadlines,
            public=public,
            observe=state.metrics.resolved,
            selections=selections,
        )
        resolver.originals = _originals(parts, blocklist)
        resolver.equivalents = EquivalentUrls(
            resolver, lambda found: satisfies(found, verdict(found, config.registry))
        )
        lists = ArchiveLists(sources, cache, containment, public=public)
        page_parts = PageParts(resolver, lists, parts.fetchers, config.registry, containment)
        resolver.whole_pages = page_parts
        contents = ContentLooks(
            resolver, lists, parts.fetchers, config.registry, containment, reader
        )
        resolver.contents = contents
        files = ArchivedFiles(parts.fetchers, config.registry, containment)
        texts = CopyTexts(files, reader, config.registry)
        quotes = QuoteSearch(resolver, texts)
        resolver.quotes = quotes
        yield Core(
            config=config,
            base_url=parts.base_url,
            resolver=resolver,
            selections=selections,
            planner=planner,
            sources=sources,
            lists=lists,
            ranges=_ranges(parts, lists, blocklist, containment, public),
            answers=cache,
            neighbours=Neighbours(contained, cache, parts.own),
            parts_of=page_parts.of,
            texts=texts,
            quotes=quotes,
            deadlines=deadlines,
            fetchers=parts.fetchers,
            local=parts.local,
            blocklist=blocklist,
            containment=containment,
            canaries=sent,
            metrics=state.metrics,
            observer=observer,
            store=store,
            dropped_writes=lambda: cache.pages.dropped,
            upstream_settings=parts.settings,
            rate_limiter=parts.shared.limiter,
            trace=parts.trace,
            originals=resolver.originals,
            contents=contents,
        )
    await _write_observations(state.observations, store)


def _proven(registry: Registry) -> ProvenDigits:
    """Return how many digits of a stamp an archive of *registry* proves."""
    return lambda memento: proven(memento.stamp, registry.by_id(memento.archive))


def _addresses(registry: Registry) -> AddressOf:
    """Return how to find the address at which a memento is requested to verify it.

    The raw view is preferred: framed replay answers 200 and repeats the digits of its address
    as Memento-Datetime, even for pages that the archive does not hold (pywb 2.10).
    """

    def address_of(query: Query, memento: Memento) -> str:
        entry = registry.by_id(memento.archive)
        template = None if entry is None else entry.replay
        is_its_replay = template is not None and (
            memento.uri == filled(template, memento.stamp, memento.original)
        )
        if query.precision != "part" and not is_its_replay:
            return memento.uri
        return raw_address(memento, entry) or memento.uri

    return address_of


def _ranges(
    parts: _Parts,
    lists: ArchiveLists,
    blocklist: Blocklist,
    containment: Containment,
    public: frozenset[str],
) -> RangeLists:
    """Return the lists of captures of many URLs."""
    local = parts.local.sources.items()
    return RangeLists(
        {entry.id: entry for entry in parts.config.askable},
        parts.policy,
        _NOW,
        parts.remote.within,
        {name: source for name, source in local if isinstance(source, WarcArchive)},
        blocklist.holds if blocklist else lambda _: False,
        containment,
        public,
        lists.slots,
    )


def _sources(parts: _Parts) -> ArchiveSources:
    """Return the source of each archive, with the layers around its questions."""
    around: dict[str, Sequence[Callable[[Source], Source]]] = {}
    for entry in parts.config.askable:
        wraps: list[Callable[[Source], Source]] = []
        delay = parts.config.delays.get(entry.id)
        if delay is not None:
            wraps.append(partial(DelayedSource, seconds=delay))
        if parts.trace is not None:
            wraps.append(partial(TracedSource, trace=parts.trace))
        around[entry.id] = wraps
    remote = parts.config.remote
    adapters = {entry.id: adapter_for(entry, _NOW, parts.policy) for entry in remote}
    return ArchiveSources(adapters, parts.remote, parts.local.sources, around)


def _address_policy(
    config: Config, base_url: str, metrics: Metrics, *, serving: bool
) -> AddressPolicy:
    """Return which addresses archives may state; refusals are counted and logged (Q-1)."""
    count = LogCounter("archive-address-refused")

    def refused(archive: str, address: RefusedAddress, times: int) -> None:
        metrics.refused_addresses(archive, address.refusal, times)
        count(f"{archive} {address.refusal}", times)

    urls = (base_url, *filter(None, (config.replay_url,)))
    listen = config.listen
    ours = OwnAddress.of_all(urls, listen.host, listen.port) if serving else ()
    remote = [entry for entry in config.registry.entries if not entry.kind.is_local]
    return AddressPolicy(ours, refused).knowing(remote)


def _known(parts: _Parts) -> CombinedKnowledge:
    files = parts.config.mementomaps
    return CombinedKnowledge(
        parts.state.observations,
        parts.remote.breakers.standing,
        {name: MementoMap.load(Path(file)) for name, file in files.items()},
        frozenset(parts.local.sources),
        parts.own,
        parts.remote.breakers.reason,
    )


def _containment(metrics: Metrics, breakers: Breakers) -> Containment:
    """Return the boundary around questions to archives."""

    def failed(archive: str) -> None:
        metrics.broke(archive)
        breakers.broke(archive)

    return Containment(failed, breakers.worked, Unforeseen("archive-internal-error"))


async def _read_observations(observations: Observations, store: Store) -> None:
    """Restore the observations of earlier processes, once."""
    stored = None if observations.restored else await store.get(_OBSERVATIONS)
    observations.restored = True
    if stored is not None:
        # Damaged observations, or those of another version, are dropped.
        with suppress(ValueError):
            observations.restore(msgspec.json.decode(bytes(stored.value)))


async def _write_observations(observations: Observations, store: Store) -> None:
    """Store the observations for the next process."""
    exported = msgspec.json.encode(observations.export())
    await store.put(_OBSERVATIONS, exported, _MONTH, 0.0)


def _version(entries: Sequence[ArchiveEntry]) -> str:
    """Return a version of this set of archives; answers of another set are not used (R-10)."""
    described = "\n".join(
        f"{e.id} {e.kind.name} {e.timegate} {e.cdx} {e.replay} {e.path} {e.raw}"
        f" {sorted(e.timemaps.items())} {e.hosts} {e.former_hosts}"
        for e in entries
    )
    return blake2b(described.encode(), digest_size=8).hexdigest()
