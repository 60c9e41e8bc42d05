"""The composition root: from configuration to running objects, wrapped in this order."""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from archives.adapters import source_for
from archives.model import ArchiveEntry, Closest, Memento
from archives.negotiation import Negotiator, Question
from archives.source import Fetcher, Source
from timegate.access.blocklist import Blocklist, denying
from timegate.access.restricted import ScopedRecollection, visible
from timegate.cache import Store
from timegate.collections.opening import (
    LocalCollections,
    is_local,
    open_collections,
    with_replay_addresses,
)
from timegate.collections.site import VisibleCollections
from timegate.config import BadConfig, Config, is_public
from timegate.conformance.report import Report
from timegate.conformance.run import check_entry
from timegate.demo import DelayedSource
from timegate.endpoints.operations import Monitor, Operations
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.observability.canaries import open_canaries
from timegate.observability.logs import AccessLog, StateChanges
from timegate.observability.tracing import Trace, TracedSource, tracing
from timegate.pages.checks import ArchiveChecks
from timegate.pages.progress import SearchEvents
from timegate.redis import is_shared, open_shared
from timegate.resolution.budget import budgeted
from timegate.resolution.coalescing import Coalescer, ReplicaLocks
from timegate.resolution.model import Attempt
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.resolver import Deadlines, Resolver
from timegate.resolution.verification import MementoProbe, Verifier
from timegate.responses.answers import Answers
from timegate.routing import CombinedKnowledge, MementoMap, Observations, Standing
from timegate.routing.planner import Planner
from timegate.server.client_quota import FrugalLists, FrugalResolver, Public
from timegate.server.middleware import Dispatch
from timegate.server.process_state import ProcessState
from timegate.server.routes import Dependencies, routed
from timegate.upstream.breaker import Breakers
from timegate.upstream.containment import Contained, Containment
from timegate.upstream.rate_limit import RateLimiter
from timegate.upstream.stack import (
    Fetchers,
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)
from timegate.upstream.worker_rate_limits import WorkerRateLimiters


@dataclass(frozen=True, slots=True)
class App:
    """What runs: the resolver, and everything that answers over HTTP."""

    resolver: Resolver
    answers: Answers
    timemap: TimeMapEndpoint
    dispatch: Dispatch


def askable(config: Config) -> list[ArchiveEntry]:
    """Return the archives that are asked, in the order of the registry."""
    return [entry for entry in config.registry.used if is_local(entry) or entry.kind.is_remote]


@asynccontextmanager
async def running(
    config: Config,
    base_url: str,
    ledgers: Path | None = None,
    *,
    lasting: ProcessState | None = None,
) -> AsyncIterator[App]:
    """Build everything, and end it at the end of the block.

    *ledgers* is the file in which several workers share their manners. With *lasting*, it
    serves: clients have limits, and the indexes of local collections are kept up to date.
    """
    replay_url = config.replay_url or base_url
    config = with_replay_addresses(config, replay_url)
    remote = [entry for entry in askable(config) if not is_local(entry)]
    settings = UpstreamSettings(
        config.contact or "no contact given",
        allow_private=config.private,
        authorizations=config.authorizations,
    )
    deadlines = Deadlines(config.soft, config.hard)
    async with AsyncExitStack() as stack:
        kept = await stack.enter_async_context(ProcessState()) if lasting is None else lasting
        state = await _state(config, remote, ledgers, kept, stack)
        if lasting is not None and config.telemetry is not None:
            trace = await stack.enter_async_context(tracing(config.telemetry))
            state = replace(state, trace=trace)
        around = UpstreamEnvironment(ledger=state.ledger, addresses=kept.addresses)
        fetchers = await stack.enter_async_context(open_fetchers(remote, settings, around))
        kept.hand_on(fetchers.breakers)
        state.watch(fetchers.breakers)
        local = await stack.enter_async_context(
            open_collections(
                config.registry,
                replay_url,
                deadlines,
                keep=lasting is not None,
                settings=settings,
            )
        )
        checks = _checks(config, base_url, settings, state.ledger)
        if checks is not None:
            await stack.enter_async_context(checks)
        if lasting is None:
            # Who asks once from a command line has no time to watch anybody.
            config = replace(config, canaries_every=None)
        yield await stack.enter_async_context(
            _answering(config, fetchers, local, state, base_url, checks)
        )


@dataclass(frozen=True, slots=True)
class _State:
    """What outlives a request: in this process, in files, or shared by replicas."""

    lasting: ProcessState
    store: Store
    ledger: Callable[[ArchiveEntry], RateLimiter]
    turns: ReplicaLocks | None = None
    watch: Callable[[Breakers], None] = lambda _: None
    trace: Trace | None = None
    board: Store | None = None
    """Where canaries are kept, if not in the store."""


@contextmanager
def _complaining_of_the_cache() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise BadConfig(f"cache.url: {error}") from error


async def _state(
    config: Config,
    remote: Sequence[ArchiveEntry],
    ledgers: Path | None,
    lasting: ProcessState,
    stack: AsyncExitStack,
) -> _State:
    if is_shared(config.cache):
        with _complaining_of_the_cache():
            opening = open_shared(config.cache, config.replicas)
        shared = await stack.enter_async_context(opening)
        turns = shared.turns(_version(askable(config)), restricted=config.restricted.keys())
        return _State(
            lasting, shared.store, shared.ledger, turns, shared.watch, board=shared.board
        )
    with _complaining_of_the_cache():
        store = lasting.store(config.cache, config.cache_limit)
    if ledgers is None:
        return _State(lasting, store, lasting.ledger)
    file = WorkerRateLimiters(ledgers, remote)
    stack.callback(file.close)
    # Canaries are asked by one worker, and all of them tell what it was told.
    beside = f"sqlite:{ledgers.with_name('canaries.sqlite')}"
    alone = config.cache == "memory:" and config.canaries_every is not None
    return _State(lasting, store, file.of, board=lasting.store(beside) if alone else None)


@asynccontextmanager
async def _answering(  # noqa: PLR0913, PLR0917 -- all that an answer is made of
    config: Config,
    remote: Fetchers,
    local: LocalCollections,
    state: _State,
    base_url: str,
    checks: ArchiveChecks | None = None,
) -> AsyncIterator[App]:
    entries = askable(config)
    store, lasting = state.store, state.lasting
    deadlines = Deadlines(config.soft, config.hard)
    own = frozenset(entry.id for entry in entries if not is_public(entry))
    public = frozenset(entry.id for entry in entries) - own
    containment = _containment(lasting, remote.breakers)
    sources = _sources(config, entries, remote, local, public)
    sources = {name: Contained(one, containment) for name, one in sources.items()}
    if state.trace is not None:
        sources = {name: TracedSource(one, state.trace) for name, one in sources.items()}
    fetchers: dict[str, Fetcher] = {**remote, **local.fetchers}
    memory = ScopedRecollection(
        store,
        time.time,
        _version(entries),
        changing=local.sources,
        restricted=config.restricted.keys(),
    )
    observations = await lasting.observed(store)
    known = _known(config, observations, remote, local, own)
    guide = Planner(entries, known)
    denials = Blocklist(config.deny.urls, config.deny.hosts)
    plan = denying(visible(guide.plan), denials)
    monitor, news, changes = Monitor(), SearchEvents(), StateChanges("archive")
    lasting.metrics.watch(
        lasting.gauges, lambda: {entry.id: known.standing(entry.id) for entry in entries}
    )

    def observe(attempt: Attempt) -> None:
        lasting.metrics.asked(attempt)
        monitor.observe(attempt)
        if attempt.archive not in config.restricted:
            news.observe(attempt)
        guide.note(attempt)
        changes.look(attempt.archive, known.standing(attempt.archive))

    async with (
        open_canaries(
            config.canaries_every,
            entries,
            sources,
            remote,
            state.board or store,
            state.turns,
            config.restricted.keys(),
        ) as canaries,
        Coalescer(sources, memory, observe, turns=state.turns, containment=containment) as desk,
    ):
        lasting.metrics.watch_canaries(canaries.standings)
        resolver = FrugalResolver(
            desk, memory, plan, deadlines, public=public, observe=lasting.metrics.resolved
        )
        looking = _looking(entries, fetchers, containment)
        verifier = Verifier(resolver, looking, config.soft)
        answers = Answers(
            resolver, config.registry, base_url, verifier, changing=frozenset(local.sources)
        )
        rooms = Dependencies(
            config,
            answers,
            guide,
            plan,
            FrugalLists(sources, memory, public, containment),
            deadlines,
            Neighbours(sources, memory, own),
            fetchers,
            Operations(
                config.registry,
                lambda name: {**guide.state(name), **canaries.state(name)},
                lambda: store.trouble,
                lasting.metrics.registry,
                config.contact,
                lasting.condition,
            ),
            monitor,
            news,
            VisibleCollections(local.collections, denials),
            lasting.metrics.answered,
            lasting.guard(config),
            checks,
            AccessLog() if config.log.access else None,
            state.trace,
            containment,
        )
        async with routed(rooms) as dispatch:
            yield App(resolver, answers, rooms.timemap, dispatch)
    await lasting.keep_observed(store)


def _checks(
    config: Config,
    base_url: str,
    settings: UpstreamSettings,
    ledger: Callable[[ArchiveEntry], RateLimiter],
) -> ArchiveChecks | None:
    """Return the checks that pages show, and what runs one where that is allowed."""
    if config.checks.history is None:
        return None

    async def run(entry: ArchiveEntry) -> tuple[Report, str]:
        return await check_entry(entry, settings, ledger)

    file, may_run = Path(config.checks.history), config.checks.run
    return ArchiveChecks(file, config.registry, base_url, run if may_run else None)


def _sources(
    config: Config,
    entries: Sequence[ArchiveEntry],
    remote: Fetchers,
    local: LocalCollections,
    public: frozenset[str],
) -> dict[str, Source]:
    sources = {
        entry.id: local.sources.get(entry.id)
        or source_for(entry, budgeted(remote[entry.id], entry.id), _now)
        for entry in entries
    }
    for name, seconds in config.delays.items():
        sources[name] = DelayedSource(sources[name], seconds)
    return {
        name: Public(source) if name in public else source for name, source in sources.items()
    }


def _known(
    config: Config,
    observations: Observations,
    remote: Fetchers,
    local: LocalCollections,
    own: frozenset[str],
) -> CombinedKnowledge:
    maps = {name: MementoMap.load(Path(file)) for name, file in config.mementomaps.items()}

    def health(archive: str) -> Standing:
        return "closed" if archive in local.sources else remote.breakers.standing(archive)

    return CombinedKnowledge(observations, health, maps, frozenset(local.sources), own)


def _containment(lasting: ProcessState, breakers: Breakers) -> Containment:
    """Return the boundary around questions to archives."""

    def failed(archive: str) -> None:
        lasting.metrics.broke(archive)
        breakers.broke(archive)

    return Containment(failed, breakers.worked)


def _looking(
    entries: Sequence[ArchiveEntry],
    fetchers: Mapping[str, Fetcher],
    containment: Containment,
) -> Mapping[str, MementoProbe]:
    """Return for each archive how to look at one of its copies."""

    def at(negotiator: Negotiator, fetch: Fetcher) -> MementoProbe:
        async def look(memento: Memento) -> Closest | None:
            asked = Question(
                memento.uri, memento.original, memento.captured, "template", {}, None
            )
            with containment.around(memento.archive, memento.uri):
                return await negotiator.closest(fetch, asked)

        return look

    return {entry.id: at(Negotiator(entry, _now), fetchers[entry.id]) for entry in entries}


def _now() -> datetime:
    return datetime.now(UTC)


def _version(entries: Sequence[ArchiveEntry]) -> str:
    """Return a name for this set of archives: answers of another set are not ours (R10)."""
    told = "\n".join(
        f"{e.id} {e.kind} {e.timegate} {e.cdx} {e.replay} {e.path}" for e in entries
    )
    return blake2b(told.encode(), digest_size=8).hexdigest()
