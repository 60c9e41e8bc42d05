"""The composition root: from configuration to running objects, wrapped in this order."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from archives.adapters import source_for
from archives.model import ArchiveEntry, Closest, Memento
from archives.negotiation import Negotiator, Question
from archives.source import Fetcher, Source
from timegate.budget import budgeted
from timegate.cache import Recollection, Store, open_store
from timegate.config import Config, is_public
from timegate.delay import Late
from timegate.desk import Desk, Turns
from timegate.guide import Guide
from timegate.local import Local, addressed, is_local, opened
from timegate.metrics import Metrics
from timegate.resolution import Attempt
from timegate.resolver import Deadlines, Resolver
from timegate.routes import Rooms, routed
from timegate.routing import Known, MementoMap, Observations, Standing
from timegate.sharing import is_shared, open_shared
from timegate.surroundings import Surroundings
from timegate.timemap import Lists
from timegate.upstream import pool
from timegate.upstream.breaker import Breakers
from timegate.upstream.politeness import Ledger
from timegate.upstream.shared import SharedLedgers
from timegate.verification import Looking, Verifier
from timegate.web.answers import Answers
from timegate.web.monitor import Monitor
from timegate.web.operations import Operations
from timegate.web.server import Dispatch
from timegate.web.site.following import News
from timegate.web.timemap import TimeMap

_OBSERVED: Final = "observations"
_MONTH: Final = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class App:
    """What runs: the resolver, and everything that answers over HTTP."""

    resolver: Resolver
    answers: Answers
    timemap: TimeMap
    dispatch: Dispatch


def askable(config: Config) -> list[ArchiveEntry]:
    """Return the archives that are asked, in the order of the registry."""
    return [
        entry
        for entry in config.registry.used
        if is_local(entry) or entry.kind not in ("none", "warc")
    ]


@asynccontextmanager
async def running(
    config: Config, base_url: str, ledgers: Path | None = None, *, keep: bool = False
) -> AsyncIterator[App]:
    """Build everything, and end it at the end of the block.

    *ledgers* is the file in which several workers share their manners. With *keep*, the
    indexes of local collections are kept up to date meanwhile.
    """
    config = addressed(config, base_url)
    remote = [entry for entry in askable(config) if not is_local(entry)]
    settings = pool.Settings(config.contact or "no contact given", allow_private=config.private)
    deadlines = Deadlines(config.soft, config.hard)
    async with AsyncExitStack() as stack:
        state = await _state(config, remote, ledgers, stack)
        around = pool.Surroundings(ledger=state.ledger)
        fetchers = await stack.enter_async_context(pool.open_fetchers(remote, settings, around))
        state.watch(fetchers.breakers)
        local = await stack.enter_async_context(
            opened(config.registry, base_url, deadlines, keep=keep)
        )
        yield await stack.enter_async_context(
            _answering(config, fetchers, local, state, base_url)
        )


@dataclass(frozen=True, slots=True)
class _State:
    """What outlives a request: in this process, in files, or shared by replicas."""

    store: Store
    ledger: Callable[[ArchiveEntry], Ledger] | None = None
    turns: Turns | None = None
    watch: Callable[[Breakers], None] = lambda _: None


async def _state(
    config: Config, remote: Sequence[ArchiveEntry], ledgers: Path | None, stack: AsyncExitStack
) -> _State:
    if is_shared(config.cache):
        shared = await stack.enter_async_context(open_shared(config.cache, config.replicas))
        turns = shared.turns(_version(askable(config)))
        return _State(shared.store, shared.ledger, turns, shared.watch)
    store = open_store(config.cache)
    stack.push_async_callback(store.close)
    if ledgers is None:
        return _State(store)
    file = SharedLedgers(ledgers, remote)
    stack.callback(file.close)
    return _State(store, file.of)


@asynccontextmanager
async def _answering(
    config: Config, remote: pool.Fetchers, local: Local, state: _State, base_url: str
) -> AsyncIterator[App]:
    entries = askable(config)
    store = state.store
    deadlines = Deadlines(config.soft, config.hard)
    sources = _sources(config, entries, remote, local)
    fetchers: dict[str, Fetcher] = {**remote, **local.fetchers}
    memory = Recollection(store, time.time, _version(entries), changing=local.sources)
    observations = Observations(time.time)
    await _restore(observations, store)
    own = frozenset(entry.id for entry in entries if not is_public(entry))
    guide = Guide(entries, _known(config, observations, remote, local, own))
    metrics, monitor, news = Metrics(), Monitor(), News()

    def observe(attempt: Attempt) -> None:
        metrics.asked(attempt)
        monitor.observe(attempt)
        news.observe(attempt)
        guide.note(attempt)

    async with Desk(sources, memory, observe, turns=state.turns) as desk:
        resolver = Resolver(desk, memory, guide.plan, deadlines)
        verifier = Verifier(resolver, _looking(entries, fetchers), config.soft)
        answers = Answers(
            resolver, config.registry, base_url, verifier, changing=frozenset(local.sources)
        )
        rooms = Rooms(
            config,
            answers,
            guide,
            Lists(sources, memory),
            deadlines,
            Surroundings(sources, memory, own),
            fetchers,
            Operations(
                config.registry,
                guide.state,
                lambda: getattr(store, "trouble", None),
                metrics.registry,
                config.contact,
            ),
            monitor,
            news,
            local.collections,
            metrics.answered,
        )
        async with routed(rooms) as dispatch:
            yield App(resolver, answers, rooms.timemap, dispatch)
    await store.put(_OBSERVED, msgspec.json.encode(observations.export()), _MONTH, 0.0)


def _sources(
    config: Config, entries: Sequence[ArchiveEntry], remote: pool.Fetchers, local: Local
) -> dict[str, Source]:
    sources = {
        entry.id: local.sources.get(entry.id)
        or source_for(entry, budgeted(remote[entry.id], entry.id), _now)
        for entry in entries
    }
    for name, seconds in config.delays.items():
        sources[name] = Late(sources[name], seconds)
    return sources


def _known(
    config: Config,
    observations: Observations,
    remote: pool.Fetchers,
    local: Local,
    own: frozenset[str],
) -> Known:
    maps = {name: MementoMap.load(Path(file)) for name, file in config.mementomaps.items()}

    def health(archive: str) -> Standing:
        return "closed" if archive in local.sources else remote.breakers.standing(archive)

    return Known(observations, health, maps, frozenset(local.sources), own)


def _looking(
    entries: Sequence[ArchiveEntry], fetchers: Mapping[str, Fetcher]
) -> Mapping[str, Looking]:
    """Return for each archive how to look at one of its copies."""

    def at(negotiator: Negotiator) -> Looking:
        async def look(memento: Memento) -> Closest | None:
            asked = Question(
                memento.uri, memento.original, memento.captured, "template", {}, None
            )
            return await negotiator.closest(asked)

        return look

    return {entry.id: at(Negotiator(entry, fetchers[entry.id], _now)) for entry in entries}


async def _restore(observations: Observations, store: Store) -> None:
    """Take up what was learned of the archives before the last stop."""
    kept = await store.get(_OBSERVED)
    if kept is None:
        return
    try:
        observations.restore(msgspec.json.decode(bytes(kept.value)))
    except ValueError:
        # Damaged, or of another version: learn it again.
        return


def _now() -> datetime:
    return datetime.now(UTC)


def _version(entries: Sequence[ArchiveEntry]) -> str:
    """Return a name for this set of archives: answers of another set are not ours (R10)."""
    told = "\n".join(
        f"{e.id} {e.kind} {e.timegate} {e.cdx} {e.replay} {e.path}" for e in entries
    )
    return blake2b(told.encode(), digest_size=8).hexdigest()
