"""Routes: the handler of each address, and the dependencies of the handlers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from timegate.core import Core
from timegate.endpoints.cdx import Captures, PywbCdx, WaybackCdx
from timegate.endpoints.collections import Collections, VisibleCollections
from timegate.endpoints.memento import ApiEndpoint, ListEndpoint, MementoEndpoint
from timegate.endpoints.openapi import OpenApi
from timegate.endpoints.operations import Condition, Monitor, Operations, robots, without_files
from timegate.endpoints.raw_proxy import WAYBACK, RawProxyEndpoint
from timegate.endpoints.resolve import BatchResolve, PwidResolver, Resolve
from timegate.endpoints.thttp import ThttpEndpoint
from timegate.endpoints.timegate import TimeGateEndpoint, forwarded
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.endpoints.wayback import Availabilities, Availability, WaybackEndpoint
from timegate.observability.logs import AccessLog
from timegate.pages.answer_pages import AnswerPages, HtmlProblems
from timegate.pages.archives import ArchivePages
from timegate.pages.checks import PATH as CHECKS
from timegate.pages.checks import ArchiveChecks
from timegate.pages.home import Home, RunningSearches, SearchEvents
from timegate.pages.rendering import Pages, static
from timegate.pages.timeline import Timeline
from timegate.redis import is_shared
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.responses.answers import Answers
from timegate.responses.model import Handler, PostHandler
from timegate.responses.timemap import TimeMapResponses
from timegate.server.client_quota import ClientLimits
from timegate.server.middleware import Dispatch, Routes


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The parts from which the handlers are built."""

    core: Core
    limits: ClientLimits
    condition: Callable[[], Condition]
    checks: ArchiveChecks | None


class _Handlers:
    """The handlers, built from their dependencies."""

    def __init__(self, needs: Dependencies) -> None:
        self.needs = needs
        self.registry = registry = needs.core.config.registry
        self.plan = needs.core.planner.plan
        self.answers = Answers(
            needs.core.resolver,
            registry,
            needs.core.base_url,
            changing=frozenset(needs.core.local.sources),
        )
        self.pages = Pages(needs.core.base_url)
        self.answer_pages = AnswerPages(self.answers, registry, self.pages)
        self.resolve = Resolve(self.answers, registry, self.answer_pages)
        self.operations = Operations(
            registry,
            lambda name: {
                **needs.core.planner.state(name),
                **needs.core.sources.selection(name),
                **needs.core.canaries.state(name),
            },
            lambda: needs.core.store.trouble,
            needs.core.metrics.registry,
            needs.core.config.contact,
            needs.condition,
        )
        self.archive_pages = ArchivePages(
            registry, self.operations.state, self.operations, self.pages, needs.checks
        )
        collections = Collections(
            needs.core.local.collections,
            registry,
            needs.core.config.replay_url or needs.core.base_url,
            needs.core.deadlines,
        )
        self.collections = VisibleCollections(collections, needs.core.blocklist)

    def exact(self, home: Home) -> dict[str, Handler]:
        """Return the handlers of exact paths."""
        needs, operations = self.needs, self.operations
        captures = Captures(needs.core.lists, self.plan, self.registry, needs.core.deadlines)
        return {
            "/": home,
            "/about": operations.about,
            "/archives": self.archive_pages.all,
            "/cdx": PywbCdx(captures),
            "/cdx/search/cdx": WaybackCdx(captures),
            "/collections": self.collections.overview,
            "/events": home.events,
            "/healthz": operations.health,
            "/metrics": operations.metrics,
            "/monitor": Monitor(subscriptions=needs.core.observer.watchers),
            "/openapi.json": OpenApi(needs.core.base_url),
            "/pwid": PwidResolver(self.resolve),
            "/readyz": operations.readiness,
            "/resolve": PwidResolver(self.resolve),
            "/robots.txt": robots,
            "/wayback/available": Availability(self.answers, self.registry),
        }

    def prefixes(self) -> dict[str, Handler]:
        """Return the handlers of prefixes; the first prefix that matches counts."""
        needs, answers, registry = self.needs, self.answers, self.registry
        timegate = TimeGateEndpoint(answers, needs.core.neighbours)
        raw = partial(
            RawProxyEndpoint,
            answers,
            registry,
            needs.core.fetchers,
            containment=needs.core.containment,
        )
        old = needs.core.config.old_redirects
        return {
            "/timegate/": timegate,
            "/timemap/": TimeMapEndpoint(
                TimeMapResponses(
                    needs.core.lists,
                    self.plan,
                    registry,
                    needs.core.base_url,
                    needs.core.deadlines,
                )
            ),
            "/resolve/": self.resolve,
            "/collections/": self.collections,
            "/memento/proxy/": raw(),
            "/memento/": MementoEndpoint(answers, needs.core.neighbours, old_redirects=old),
            "/api/": ApiEndpoint(answers, needs.core.neighbours, old_redirects=old),
            "/list/": ListEndpoint(answers, self.answer_pages, self.plan),
            "/web/": WaybackEndpoint(answers, timegate, raw(address=WAYBACK)),
            "/uri-res/": ThttpEndpoint(answers, registry, self.plan),
            "/archives/": self.archive_pages.one,
            "/timeline/": Timeline(needs.core.lists, self.plan, registry, needs.core.deadlines),
            "/static/": static,
            **forwarded(timegate.answer_url, enabled=needs.core.config.forward_proxy),
        }

    def posts(self) -> dict[str, PostHandler]:
        """Return the handlers of POST requests."""
        posts: dict[str, PostHandler] = {
            "/resolve": BatchResolve(self.resolve),
            "/wayback/available": Availabilities(self.answers, self.registry),
        }
        if self.needs.checks is not None:
            posts[CHECKS] = self.needs.checks
        return posts


@asynccontextmanager
async def open_routes(needs: Dependencies) -> AsyncIterator[Dispatch]:
    """Build the handlers and yield the server; searches in progress end with the block."""
    handlers = _Handlers(needs)
    exhaustive = ExhaustiveResolver(
        needs.core.resolver, handlers.plan, selections=needs.core.selections
    )
    events = SearchEvents(needs.core.observer.public_watchers)
    async with RunningSearches(exhaustive, events) as searches:
        home = Home(handlers.answers, handlers.registry, exhaustive, searches, handlers.pages)
        routes = Routes(
            handlers.exact(home),
            handlers.prefixes(),
            without_files(handlers.resolve.whole),
            handlers.posts(),
        )
        yield Dispatch(
            routes,
            needs.limits,
            observe=needs.core.metrics.answered,
            log=AccessLog() if needs.core.config.log.access else None,
            trace=needs.core.trace,
            base_url=needs.core.base_url,
            replay_url=needs.core.config.replay_url,
            problem_page=HtmlProblems(handlers.pages),
            uses_redis=is_shared(needs.core.config.cache),
        )
