"""Who answers at which address."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from archives.registry import Registry
from archives.source import Fetcher
from timegate.collections.site import VisibleCollections
from timegate.config import Config
from timegate.endpoints.cdx import Captures, PywbCdx, WaybackCdx
from timegate.endpoints.memento import ApiHandler, ListHandler, MementoHandler
from timegate.endpoints.openapi import OpenApi
from timegate.endpoints.operations import Monitor, Operations
from timegate.endpoints.raw_proxy import Proxy
from timegate.endpoints.resolve import BatchResolve, PwidResolver, Resolve
from timegate.endpoints.robots import robots, unbidden
from timegate.endpoints.thttp import Thttp
from timegate.endpoints.timegate import TimeGateEndpoint, forwarded
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.endpoints.wayback import Availabilities, Availability, Web
from timegate.observability.logs import Access
from timegate.observability.tracing import Trace
from timegate.pages.archives import ArchivePages
from timegate.pages.checks import PATH as CHECKS
from timegate.pages.checks import ArchiveChecks
from timegate.pages.home import Home
from timegate.pages.html_problems import HtmlProblems
from timegate.pages.progress import RunningSearches, SearchEvents
from timegate.pages.rendering import static
from timegate.pages.timeline import Timeline
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.resolver import Deadlines, Router
from timegate.responses.answers import Answers
from timegate.routing.planner import Planner
from timegate.server.guard import Guard
from timegate.server.middleware import Batch as Posted
from timegate.server.middleware import Dispatch, Handler, Observe, Origins
from timegate.timemaps import ArchiveLists
from timegate.upstream.containment import Containment


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What the handlers are made of."""

    config: Config
    answers: Answers
    guide: Planner
    plan: Router
    """Whom to ask, as far as the client may know of them."""
    lists: ArchiveLists
    deadlines: Deadlines
    around: Neighbours
    fetchers: Mapping[str, Fetcher]
    operations: Operations
    monitor: Monitor
    news: SearchEvents
    collections: VisibleCollections
    observe: Observe
    guard: Guard | None = None
    checks: ArchiveChecks | None = None
    log: Callable[[Access], None] | None = None
    """Writes down each request."""
    trace: Trace | None = None
    """Opens a span for each request."""
    containment: Containment = field(default_factory=Containment)
    """The boundary around questions to archives."""

    @property
    def registry(self) -> Registry:
        """The archives that are known."""
        return self.config.registry

    @property
    def timemap(self) -> TimeMapEndpoint:
        """Who writes merged TimeMaps."""
        base = self.answers.base_url
        return TimeMapEndpoint(
            self.lists, self.plan, self.registry, lambda: base, self.deadlines
        )


@asynccontextmanager
async def routed(rooms: Dependencies) -> AsyncIterator[Dispatch]:
    """Open what watches searches, and give every address its handler."""
    answers = rooms.answers
    everyone = ExhaustiveResolver(answers, rooms.plan)
    async with RunningSearches(everyone, rooms.news) as following:
        home = Home(answers, rooms.registry, everyone, following)
        resolve = Resolve(answers, rooms.registry)
        yield Dispatch(
            _dressed(_exact(rooms, home, resolve), answers),
            _dressed(_prefixes(rooms, resolve), answers),
            otherwise=HtmlProblems(unbidden(resolve), answers.pages),
            batch=BatchResolve(resolve),
            observe=rooms.observe,
            posts=_posts(rooms),
            guard=rooms.guard,
            log=rooms.log,
            trace=rooms.trace,
            own=answers.base_url,
            origins=Origins(rooms.config.replay_url),
        )


def _posts(rooms: Dependencies) -> dict[str, Posted]:
    posts: dict[str, Posted] = {
        "/wayback/available": Availabilities(rooms.answers, rooms.registry)
    }
    if rooms.checks is not None:
        posts[CHECKS] = rooms.checks
    return posts


def _dressed(handlers: Mapping[str, Handler], answers: Answers) -> dict[str, Handler]:
    return {path: HtmlProblems(handler, answers.pages) for path, handler in handlers.items()}


def _exact(rooms: Dependencies, home: Home, resolve: Resolve) -> dict[str, Handler]:
    operations = rooms.operations
    captures = Captures(rooms.lists, rooms.plan, rooms.deadlines)
    return {
        "/": home,
        "/about": operations.about,
        "/archives": _pages(rooms).all,
        "/cdx": PywbCdx(captures),
        "/cdx/search/cdx": WaybackCdx(captures),
        "/collections": rooms.collections.overview,
        "/events": home.events,
        "/healthz": operations.health,
        "/metrics": operations.metrics,
        "/monitor": rooms.monitor,
        "/openapi.json": OpenApi(rooms.answers.base_url),
        "/pwid": PwidResolver(resolve),
        "/readyz": operations.readiness,
        "/resolve": PwidResolver(resolve),
        "/robots.txt": robots,
        "/wayback/available": Availability(rooms.answers, rooms.registry),
    }


def _prefixes(rooms: Dependencies, resolve: Resolve) -> dict[str, Handler]:
    answers, registry, plan = rooms.answers, rooms.registry, rooms.plan
    timegate = TimeGateEndpoint(answers, rooms.around)
    old = rooms.config.old_redirects
    return {
        "/timegate/": timegate,
        "/timemap/": rooms.timemap,
        "/resolve/": resolve,
        "/collections/": rooms.collections,
        "/memento/proxy/": Proxy(
            answers, registry, rooms.fetchers, containment=rooms.containment
        ),
        "/memento/": MementoHandler(answers, rooms.around, old_redirects=old),
        "/api/": ApiHandler(answers, rooms.around, old_redirects=old),
        "/list/": ListHandler(answers, plan),
        "/web/": Web(answers, timegate),
        "/uri-res/": Thttp(answers, registry),
        "/archives/": _pages(rooms).one,
        "/timeline/": Timeline(rooms.lists, plan, registry, rooms.deadlines),
        "/static/": static,
        **forwarded(timegate, enabled=rooms.config.forward_proxy),
    }


def _pages(rooms: Dependencies) -> ArchivePages:
    return ArchivePages(
        rooms.registry,
        rooms.operations.state,
        rooms.operations,
        rooms.answers.pages,
        rooms.checks,
    )
