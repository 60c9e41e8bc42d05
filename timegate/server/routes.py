"""Routes: the handler of each address, and the dependencies of the handlers."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from archives.warc_index.collection import Collection
from timegate.collections.extents import HeldExtents
from timegate.core import Core
from timegate.endpoints import PDIS, STORE
from timegate.endpoints.cdx import CdxCaptures, PywbCdx, WaybackCdx
from timegate.endpoints.collection_extents import CollectionPages
from timegate.endpoints.collections import Collections, VisibleCollections
from timegate.endpoints.memento import ApiEndpoint, ListEndpoint, MementoEndpoint
from timegate.endpoints.operations import (
    CacheState,
    Condition,
    Monitor,
    Operations,
    robots,
    without_files,
)
from timegate.endpoints.pwid_resolver import PwidResolver
from timegate.endpoints.raw_proxy import RawProxyEndpoint
from timegate.endpoints.resolve import BatchResolve, Resolve
from timegate.endpoints.thttp import ThttpEndpoint
from timegate.endpoints.timegate import TimeGateEndpoint, forwarded
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.endpoints.wayback import Availabilities, Availability, WaybackEndpoint
from timegate.extract.archived_files import ArchivedFiles
from timegate.following.follower import Follower
from timegate.observability.logs import AccessLog
from timegate.pages.answer_pages import AnswerPages, HtmlProblems
from timegate.pages.archives import CHECKS_PATH as CHECKS
from timegate.pages.archives import ArchivePages
from timegate.pages.home import Home, PostedForm, RunningSearches, SearchEvents
from timegate.pages.json_pages import JsonPage
from timegate.pages.kept_answers import KeptAnswers
from timegate.pages.rendering import Pages, icon, static
from timegate.pages.timeline import Timeline
from timegate.redis import is_shared
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.responses.answers import Answers
from timegate.responses.model import (
    ClientRequest,
    Handler,
    PostHandler,
    Response,
    StreamingResponse,
    WriteHandler,
)
from timegate.responses.referral import is_demo
from timegate.responses.timemap import TimeMapResponses
from timegate.server.client_quota import ClientLimits
from timegate.server.middleware import Dispatch, Routes
from timegate.store import RevisionWriter

if TYPE_CHECKING:
    from timegate.endpoints.series import SeriesEndpoint
    from timegate.endpoints.store import KeepCapture, StoreEndpoint
    from timegate.pages.checks import ArchiveChecks

# What few servers have is imported where it is configured: stores, series, and checks. What few
# clients ask first is imported for its first request, or soon after the start (`running`).
CHANGES: Final = "/changes/"
SERIES: Final = "/series/"


def deferred(make: Callable[[], Handler]) -> Handler:
    """Return a handler that *make* makes for the first request."""
    made = cache(make)

    async def handle(request: ClientRequest) -> Response | StreamingResponse:
        return await made()(request)

    return handle


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The parts from which the handlers are built."""

    core: Core
    limits: ClientLimits
    condition: Callable[[], Condition]
    follower: Follower
    checks: "ArchiveChecks | None"
    keeping: "Callable[[RevisionWriter], KeepCapture | None]" = lambda _: None
    """Returns what keeps references in the store of a writer; None where that is off."""


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
        self.pages = Pages(needs.core.base_url, is_demo=is_demo(registry))
        self.kept = KeptAnswers(needs.core.base_url)
        self.answer_pages = AnswerPages(self.answers, registry, self.pages, self.kept)
        replay_url = needs.core.config.replay_url or needs.core.base_url
        collections = needs.core.local.collections
        held = HeldExtents(collections, registry, replay_url) if collections else None
        self.resolve = Resolve(self.answers, registry, self.answer_pages, held)
        self.pwids = PwidResolver(self.resolve, registry, needs.core.base_url)
        self.operations = Operations(
            registry,
            lambda name: {
                **needs.core.planner.state(name),
                **needs.core.sources.selection(name),
                **needs.core.canaries.state(name),
            },
            lambda: CacheState(needs.core.store.trouble, needs.core.dropped_writes()),
            needs.core.metrics.registry,
            needs.core.config.contact,
            needs.condition,
        )
        self.archive_pages = ArchivePages(
            registry, self.operations.state, self.operations, self.pages, needs.checks
        )
        served = Collections(
            collections,
            registry,
            replay_url,
            needs.core.deadlines,
            CollectionPages(self.pages, needs.core.blocklist),
            pages_url=needs.core.base_url,
        )
        self.collections = VisibleCollections(served, needs.core.blocklist)
        self.store = self.stores()
        self.captures = CdxCaptures(
            needs.core.lists, self.plan, registry, needs.core.deadlines, needs.core.ranges
        )
        self.series = self.series_endpoint()
        self.documented = deferred(self.documentation)

    def exact(self, home: Home) -> dict[str, Handler]:
        """Return the handlers of exact paths."""
        needs, operations = self.needs, self.operations
        return {
            "/": home,
            "/about": JsonPage(operations.about, self.pages, "about"),
            "/archives": self.archive_pages.all,
            "/cdx": PywbCdx(self.captures),
            "/cite": deferred(self.cite),
            "/collections": JsonPage(self.collections.overview, self.pages, "collections"),
            "/docs": self.documented,
            "/events": home.events,
            "/favicon.ico": icon,
            "/healthz": operations.health,
            "/metrics": operations.metrics,
            "/monitor": Monitor(subscriptions=needs.core.observer.watchers),
            "/openapi.json": deferred(self.openapi),
            "/pwid": self.pwids,
            "/readyz": operations.readiness,
            "/resolve": self.pwids,
            "/robots.txt": robots,
            "/wayback/available": Availability(self.answers, self.registry),
        }

    def documentation(self) -> Handler:
        """Return the handler of the documentation."""
        from timegate.endpoints.openapi import description  # noqa: PLC0415
        from timegate.pages.documentation import Documentation  # noqa: PLC0415

        base_url = self.needs.core.base_url
        return Documentation(self.pages, lambda: description(base_url, self.unserved()))

    def openapi(self) -> Handler:
        """Return the handler of the description of all addresses."""
        from timegate.endpoints.openapi import OpenApi  # noqa: PLC0415

        return OpenApi(self.needs.core.base_url, self.unserved())

    def cite(self) -> Handler:
        """Return the handler of citations."""
        from timegate.endpoints.cite import CiteEndpoint  # noqa: PLC0415
        from timegate.extract.titles import ArchivedTitles  # noqa: PLC0415

        core = self.needs.core
        titles = ArchivedTitles(core.fetchers, self.registry, core.containment)
        return CiteEndpoint(self.answers, self.resolve, self.registry, titles.of, self.pages)

    def prefixes(self, stack: AsyncExitStack) -> dict[str, Handler]:
        """Return the handlers of prefixes; the first prefix that matches counts.

        What has to be closed is closed with *stack*.
        """
        needs, answers, registry = self.needs, self.answers, self.registry
        timegate = TimeGateEndpoint(answers, needs.core.neighbours)
        raw = RawProxyEndpoint(
            answers,
            registry,
            needs.core.fetchers,
            containment=needs.core.containment,
            slots=needs.core.lists.slots,
        )
        old = needs.core.config.old_redirects
        start = needs.core.config.partial_stamps == "start"
        wayback_cdx = WaybackCdx(self.captures)
        return {
            "/timegate/": timegate,
            "/timemap/html/": deferred(lambda: self.captures_page(stack)),
            "/timemap/": TimeMapEndpoint(
                TimeMapResponses(
                    needs.core.lists,
                    self.plan,
                    registry,
                    needs.core.base_url,
                    needs.core.deadlines,
                    changing=frozenset(needs.core.local.sources),
                )
            ),
            CHANGES: deferred(self.changes),
            "/resolve/": self.resolve,
            "/parts/": deferred(self.parts),
            "/diff/": deferred(self.diff),
            "/collections/": JsonPage(self.collections, self.pages, "collection"),
            "/docs/": self.documented,
            "/memento/proxy/": raw,
            "/memento/": MementoEndpoint(
                answers, needs.core.neighbours, old_redirects=old, from_start=start
            ),
            "/api/": ApiEndpoint(
                answers, needs.core.neighbours, old_redirects=old, from_start=start
            ),
            "/list/": ListEndpoint(answers, self.answer_pages, self.plan, from_start=start),
            "/web/": WaybackEndpoint(
                answers,
                timegate,
                raw,
                self.answer_pages,
                frozenset(needs.core.local.sources),
                cdx=wayback_cdx,
                sends_bytes=needs.core.config.replay_url is None,
            ),
            "/cdx/search/": wayback_cdx,
            **self.replay(),
            "/uri-res/": self.thttp(),
            "/answers/": self.kept,
            "/archives/": self.archive_pages.one,
            "/timeline/": Timeline(needs.core.lists, self.plan, registry, needs.core.deadlines),
            "/static/": static,
            **({} if self.store is None else {STORE: self.store}),
            **self.series_routes(),
            **forwarded(timegate.answer_url, enabled=needs.core.config.forward_proxy),
        }

    def captures_page(self, stack: AsyncExitStack) -> Handler:
        """Return the handler of pages of captures, whose reading ends with *stack*."""
        from timegate.pages.captures import CapturesPage, CaptureTables  # noqa: PLC0415

        core = self.needs.core
        tables = CaptureTables(core.lists, core.deadlines)
        stack.push_async_exit(tables)
        return CapturesPage(tables, self.plan, self.registry, self.pages)

    def parts(self) -> Handler:
        """Return the handler of parts."""
        from timegate.endpoints.parts import PartsEndpoint  # noqa: PLC0415

        parts_of = self.needs.core.parts_of
        return PartsEndpoint(self.answers, self.resolve, self.registry, parts_of, self.pages)

    def diff(self) -> Handler:
        """Return the handler of differences."""
        from timegate.endpoints.diff import DiffEndpoint  # noqa: PLC0415

        texts = self.needs.core.texts
        return DiffEndpoint(self.answers, self.resolve, self.registry, texts, self.pages)

    def replay(self) -> dict[str, Handler]:
        """Return the handlers of whole pages."""
        return {
            "/view/": deferred(lambda: self.whole_pages("view")),
            "/reconstruct/": deferred(lambda: self.whole_pages("reconstruct")),
        }

    def whole_pages(self, route: Literal["view", "reconstruct"]) -> Handler:
        """Return the handler of whole pages at *route*."""
        from timegate.endpoints.replay import (  # noqa: PLC0415
            ReplayEndpoint,
            ReplaySettings,
            no_collections,
            not_reconstructed,
        )

        core = self.needs.core
        if route == "view" and not core.local.sources:
            return no_collections
        if route == "reconstruct" and not core.config.reconstruct:
            return not_reconstructed
        files = ArchivedFiles(core.fetchers, self.registry, core.containment)
        base_url = core.base_url.rstrip("/")
        settings = ReplaySettings(
            route=route,
            base_url=base_url,
            content_url=core.config.replay_url or base_url,
            own=frozenset(core.local.sources),
            only_own=route == "view",
        )
        return ReplayEndpoint(
            self.answers, core.neighbours, self.registry, files.of, self.pages, settings
        )

    def changes(self) -> Handler:
        """Return the handler of changes."""
        from timegate.endpoints.changes import (  # noqa: PLC0415
            ChangesEndpoint,
            ChangesTiming,
        )

        core = self.needs.core
        timing = ChangesTiming(wait=core.deadlines.hard)
        return ChangesEndpoint(
            self.needs.follower,
            self.plan,
            self.registry,
            core.base_url,
            timing,
            ends=lambda: self.needs.condition().draining,
        )

    def stores(self) -> "StoreEndpoint | None":
        """Return the handler of all stores; None if none is configured."""
        core = self.needs.core
        if not core.stores:
            return None
        from timegate.endpoints.changes import AnnouncedWriter  # noqa: PLC0415
        from timegate.endpoints.store import StoreEndpoint, StoreSite  # noqa: PLC0415

        opened = {one.collection.id: one.collection for one in core.local.collections}
        sites = {}
        for name, writer in core.stores.items():
            entry, collection = self.registry.by_id(name), opened.get(name)
            if entry is not None and isinstance(collection, Collection):
                announced = AnnouncedWriter(writer, self.needs.follower.announce)
                sites[name] = StoreSite(
                    announced, collection, entry, keep=self.needs.keeping(announced)
                )
        if not sites:
            return None
        return StoreEndpoint(
            sites,
            self.collections,
            core.base_url,
            replay_url=core.config.replay_url,
            blocklist=core.blocklist,
            observe=core.metrics.answered,
        )

    def series_endpoint(self) -> "SeriesEndpoint | None":
        """Return the handler of all series; None if none is configured."""
        series = self.needs.core.series
        if series is None:
            return None
        from timegate.endpoints.series import SeriesEndpoint  # noqa: PLC0415

        base_url = self.needs.core.base_url
        endpoint = SeriesEndpoint(
            series, self.registry, self.resolve.whole, base_url, series.resolvers
        )
        self.resolve.series = endpoint.answer
        return endpoint

    def unserved(self) -> tuple[str, ...]:
        """Return the prefixes of described addresses that this server does not have."""
        series = (*PDIS, SERIES.rstrip("/")) if self.series is None else ()
        store = (STORE,) if self.store is None else ()
        checks = (CHECKS,) if self.needs.checks is None else ()
        return (*series, *store, *checks)

    def series_routes(self) -> dict[str, Handler]:
        """Return the handlers of PDIs."""
        endpoint = self.series
        if endpoint is None:
            return {}
        from timegate.endpoints.series_pages import SeriesBrowsing  # noqa: PLC0415
        from timegate.pages.series import SeriesPages  # noqa: PLC0415

        browsing = SeriesBrowsing(endpoint, SeriesPages(self.pages))
        return {
            **{prefix: endpoint.at(prefix) for prefix in PDIS},
            SERIES: browsing.one,
            # Not an exact path of all servers: without series, there is nothing here.
            SERIES.rstrip("/"): browsing.all,
        }

    def writes(self) -> dict[str, WriteHandler]:
        """Return the handlers of PUT and POST requests, by prefix."""
        writes: dict[str, WriteHandler] = {}
        if self.store is not None:
            writes[STORE] = self.store
        if self.series is not None:
            from timegate.endpoints.series_writes import SeriesWrites  # noqa: PLC0415

            observe = self.needs.core.metrics.answered
            for prefix in (*PDIS, SERIES):
                writes[prefix] = SeriesWrites(self.series, prefix, observe)
        return writes

    def thttp(self) -> ThttpEndpoint:
        """Return the handler of THTTP operations."""
        thttp = ThttpEndpoint(self.answers, self.registry, self.plan)
        if self.series is not None:
            from timegate.endpoints.series_thttp import SeriesOperations  # noqa: PLC0415

            thttp.series = SeriesOperations(self.series)
        return thttp

    def posts(self, home: Home) -> dict[str, PostHandler]:
        """Return the handlers of POST requests."""
        posts: dict[str, PostHandler] = {
            "/": PostedForm(home),
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
        needs.core.resolver,
        handlers.plan,
        selections=needs.core.selections,
        originals=needs.core.originals,
        contents=needs.core.contents,
    )
    events = SearchEvents(needs.core.observer.public_watchers)
    async with (
        RunningSearches(exhaustive, events) as searches,
        AsyncExitStack() as stack,
    ):
        home = Home(
            handlers.answers,
            handlers.registry,
            searches,
            handlers.pages,
            handlers.kept,
            origins=(needs.core.config.replay_url or "",),
        )
        routes = Routes(
            handlers.exact(home),
            handlers.prefixes(stack),
            without_files(handlers.resolve.whole),
            handlers.posts(home),
            handlers.writes(),
        )
        yield Dispatch(
            routes,
            needs.limits,
            observe=needs.core.metrics.answered,
            log=AccessLog() if needs.core.config.log.access else None,
            trace=needs.core.trace,
            base_url=needs.core.base_url,
            replay_url=needs.core.config.replay_url,
            problem_page=HtmlProblems(handlers.pages, handlers.registry),
            uses_redis=is_shared(needs.core.config.cache),
        )
