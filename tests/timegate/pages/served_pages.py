"""The pages over fake archives, and what their HTML says."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html.parser import HTMLParser

from prometheus_client import CollectorRegistry

from archives.model import ArchiveEntry
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, NoLists, Site, entries
from timegate.endpoints.memento import ListHandler
from timegate.endpoints.operations import Operations
from timegate.endpoints.resolve import BatchResolve, Resolve
from timegate.pages.archives import ArchivePages
from timegate.pages.home import Home
from timegate.pages.html_problems import HtmlProblems
from timegate.pages.progress import MOST, RunningSearches, SearchEvents
from timegate.pages.rendering import static
from timegate.pages.timeline import Timeline
from timegate.resolution.coalescing import Coalescer
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Deadlines
from timegate.resolution.resolver import Resolver
from timegate.responses.answers import Answers
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Handler
from timegate.timemaps import ArchiveLists

BROWSER = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
State = Callable[[str], Mapping[str, object]]


def unasked(_: str) -> Mapping[str, object]:
    """Know nothing of any archive."""
    return {"asked": True, "breaker": "closed"}


class Watched(World):
    """A world whose news are told."""

    def __init__(self, news: SearchEvents, *archives: FakeArchive) -> None:
        super().__init__(*archives, deadlines=QUICK)
        self.desk = Coalescer(self.archives, self.memory, news.observe)
        self.resolver = Resolver(self.desk, self.memory, self.route, QUICK)


@asynccontextmanager
async def site(
    *archives: FakeArchive,
    extra: tuple[ArchiveEntry, ...] = (),
    state: State = unasked,
    watchers: int = MOST,
) -> AsyncIterator[Site]:
    """Serve the pages as `timegate.app` wires them."""
    news = SearchEvents()
    world = Watched(news, *archives)
    registry = entries(world, *extra)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = Resolve(answers, registry)
    operations = Operations(registry, state, lambda: None, CollectorRegistry, None)
    pages = ArchivePages(registry, state, operations, answers.pages)
    everyone = ExhaustiveResolver(answers, world.route, patience=0.5)
    lists = ArchiveLists(world.archives, NoLists())
    async with world.desk, RunningSearches(everyone, news, watchers) as following:
        home = Home(answers, registry, everyone, following)
        exact: dict[str, Handler] = {
            "/": home,
            "/events": home.events,
            "/archives": pages.all,
        }
        prefixes: dict[str, Handler] = {
            "/resolve/": resolve,
            "/list/": ListHandler(answers, world.route, patience=0.5),
            "/archives/": pages.one,
            "/timeline/": Timeline(lists, world.route, registry, Deadlines(0.2, 0.5)),
            "/static/": static,
        }
        dispatch = Dispatch(
            {path: HtmlProblems(handler, answers.pages) for path, handler in exact.items()},
            {path: HtmlProblems(handler, answers.pages) for path, handler in prefixes.items()},
            otherwise=HtmlProblems(resolve, answers.pages),
            batch=BatchResolve(resolve),
        )
        async with listening(dispatch, "127.0.0.1", 0) as port:
            yield Site(port, world)


class Html(HTMLParser):
    """A page taken apart: its tags with attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def text(self) -> str:
        """All of it, in one line."""
        return " ".join("".join(self._texts).split())

    @property
    def links(self) -> list[str]:
        """Where it leads."""
        return [href for tag, a in self.tags if tag == "a" and (href := a.get("href"))]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
