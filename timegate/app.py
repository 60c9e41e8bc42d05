"""The composition root: from configuration to running objects, wrapped in this order."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from archives.adapters import source_for
from archives.model import ArchiveEntry, Closest, Memento
from archives.negotiation import Negotiator, Question
from timegate.budget import budgeted
from timegate.cache import Recollection, Store, open_store
from timegate.config import Config, is_public
from timegate.desk import Desk
from timegate.guide import Guide
from timegate.metrics import Metrics
from timegate.resolution import Attempt
from timegate.resolver import Deadlines, Resolver
from timegate.routing import Known, MementoMap, Observations
from timegate.surroundings import Surroundings
from timegate.timemap import Lists
from timegate.upstream import pool
from timegate.upstream.shared import SharedLedgers
from timegate.verification import Looking, Verifier
from timegate.web.answers import Answers
from timegate.web.availabilities import Availabilities
from timegate.web.batch import Batch
from timegate.web.cdx import Captures, PywbCdx, WaybackCdx
from timegate.web.everyone import Everyone
from timegate.web.memento import ApiHandler, MementoHandler
from timegate.web.memento_list import ListHandler
from timegate.web.monitor import Monitor
from timegate.web.operations import Operations
from timegate.web.proxy import Proxy
from timegate.web.pwid_resolver import PwidResolver
from timegate.web.resolve import Resolve
from timegate.web.server import Dispatch, Handler
from timegate.web.site.archive_pages import ArchivePages
from timegate.web.site.dressed import Dressed
from timegate.web.site.following import Following, News
from timegate.web.site.home import Home
from timegate.web.site.static import static
from timegate.web.site.timeline import Timeline
from timegate.web.thttp import Thttp
from timegate.web.timegate import TimeGate
from timegate.web.timemap import TimeMap
from timegate.web.wayback import Availability, Web

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
    return [entry for entry in config.registry.used if entry.kind != "none"]


@asynccontextmanager
async def running(
    config: Config, base_url: str, ledgers: Path | None = None
) -> AsyncIterator[App]:
    """Build everything, and end it at the end of the block.

    *ledgers* is the file in which several workers share their manners.
    """
    entries = askable(config)
    settings = pool.Settings(config.contact or "no contact given", allow_private=config.private)
    shared = None if ledgers is None else SharedLedgers(ledgers, entries)
    around = pool.Surroundings(ledger=None if shared is None else shared.of)
    store = open_store(config.cache)
    try:
        async with (
            pool.open_fetchers(entries, settings, around) as fetchers,
            _answering(config, entries, fetchers, store, base_url) as app,
        ):
            yield app
    finally:
        await store.close()
        if shared is not None:
            shared.close()


@asynccontextmanager
async def _answering(
    config: Config,
    entries: Sequence[ArchiveEntry],
    fetchers: pool.Fetchers,
    store: Store,
    base_url: str,
) -> AsyncIterator[App]:
    maps = {name: MementoMap.load(Path(file)) for name, file in config.mementomaps.items()}
    memory = Recollection(store, time.time, _version(entries))
    metrics = Metrics()
    observations = Observations(time.time)
    await _restore(observations, store)
    own = frozenset(entry.id for entry in entries if not is_public(entry))
    known = Known(observations, fetchers.breakers.standing, maps, private=own)
    guide = Guide(entries, known)
    sources = {
        entry.id: source_for(entry, budgeted(fetchers[entry.id], entry.id), _now)
        for entry in entries
    }

    monitor, news = Monitor(), News()

    def observe(attempt: Attempt) -> None:
        metrics.asked(attempt)
        monitor.observe(attempt)
        news.observe(attempt)
        guide.note(attempt)

    async with Desk(sources, memory, observe) as desk:
        resolver = Resolver(desk, memory, guide.plan, Deadlines(config.soft, config.hard))
        verifier = Verifier(resolver, _looking(entries, fetchers), config.soft)
        answers = Answers(resolver, config.registry, base_url, verifier)
        resolve = Resolve(answers, config.registry)
        lists, deadlines = Lists(sources, memory), Deadlines(config.soft, config.hard)
        timemap = TimeMap(
            lists, guide.plan, config.registry, lambda: answers.base_url, deadlines
        )
        operations = Operations(
            config.registry,
            guide.state,
            lambda: getattr(store, "trouble", None),
            metrics.registry,
            config.contact,
        )
        around = Surroundings(sources, memory, own)
        timegate = TimeGate(answers, around)
        captures = Captures(lists, guide.plan, deadlines)
        everyone = Everyone(answers, guide.plan)
        pages = ArchivePages(config.registry, guide.state, operations, answers.pages)
        async with Following(everyone, news) as following:
            home = Home(answers, config.registry, everyone, following)
            exact: dict[str, Handler] = {
                "/": home,
                "/about": operations.about,
                "/archives": pages.all,
                "/cdx": PywbCdx(captures),
                "/cdx/search/cdx": WaybackCdx(captures),
                "/events": home.events,
                "/healthz": operations.health,
                "/metrics": operations.metrics,
                "/monitor": monitor,
                "/pwid": PwidResolver(resolve),
                "/readyz": operations.readiness,
                "/resolve": PwidResolver(resolve),
                "/wayback/available": Availability(answers, config.registry),
            }
            prefixes: dict[str, Handler] = {
                "/timegate/": timegate,
                "/timemap/": timemap,
                "/resolve/": resolve,
                "/memento/proxy/": Proxy(answers, config.registry, fetchers),
                "/memento/": MementoHandler(
                    answers, around, old_redirects=config.old_redirects
                ),
                "/api/": ApiHandler(answers, around, old_redirects=config.old_redirects),
                "/list/": ListHandler(answers, guide.plan),
                "/web/": Web(answers, timegate),
                "/uri-res/": Thttp(answers, config.registry),
                "/archives/": pages.one,
                "/timeline/": Timeline(lists, guide.plan, config.registry, deadlines),
                "/static/": static,
            }
            dispatch = Dispatch(
                {path: Dressed(handler, answers.pages) for path, handler in exact.items()},
                {path: Dressed(handler, answers.pages) for path, handler in prefixes.items()},
                otherwise=Dressed(resolve, answers.pages),
                batch=Batch(resolve),
                observe=metrics.answered,
                posts={"/wayback/available": Availabilities(answers, config.registry)},
            )
            yield App(resolver, answers, timemap, dispatch)
    await store.put(_OBSERVED, msgspec.json.encode(observations.export()), _MONTH, 0.0)


def _looking(entries: Sequence[ArchiveEntry], fetchers: pool.Fetchers) -> Mapping[str, Looking]:
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
    told = "\n".join(f"{e.id} {e.kind} {e.timegate} {e.cdx} {e.replay}" for e in entries)
    return blake2b(told.encode(), digest_size=8).hexdigest()
