"""A server of pages over fake archives, and a reader of their HTML."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html.parser import HTMLParser

from prometheus_client import CollectorRegistry

from archives.model import ArchiveEntry
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import (
    QUICK,
    NoLists,
    Site,
    answer_pages,
    entries,
    resolve_of,
)
from timegate.endpoints.memento import ListEndpoint
from timegate.endpoints.operations import CacheState, Operations
from timegate.endpoints.resolve import BatchResolve
from timegate.pages.answer_pages import HtmlProblems
from timegate.pages.archives import ArchivePages
from timegate.pages.captures import CapturesPage, CaptureTables
from timegate.pages.home import (
    MOST_SEARCHES,
    Home,
    PostedForm,
    RunningSearches,
    SearchEvents,
)
from timegate.pages.kept_answers import KeptAnswers
from timegate.pages.rendering import Pages, static
from timegate.pages.timeline import Timeline
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Deadlines
from timegate.resolution.resolver import Resolver
from timegate.responses.answers import Answers
from timegate.responses.model import Handler, PostHandler
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes
from timegate.timemaps import ArchiveLists

BROWSER = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
State = Callable[[str], Mapping[str, object]]


def unasked(_: str) -> Mapping[str, object]:
    """Return the state of an archive that was not queried."""
    return {"asked": True, "breaker": "closed"}


class Watched(World):
    """A world whose attempts are passed on to *news*."""

    def __init__(self, news: SearchEvents, *archives: FakeArchive) -> None:
        super().__init__(*archives, deadlines=QUICK)
        self.coalescer = Coalescer(fixed(self.archives), self.memory, news.observe)
        self.resolver = Resolver(self.coalescer, self.memory, self.route, QUICK)


@asynccontextmanager
async def site(
    *archives: FakeArchive,
    extra: tuple[ArchiveEntry, ...] = (),
    state: State = unasked,
    watchers: int = MOST_SEARCHES,
) -> AsyncIterator[Site]:
    """Serve the pages as `timegate.app` wires them."""
    news = SearchEvents()
    world = Watched(news, *archives)
    world.others = {entry.id: entry for entry in extra}
    registry = entries(world, *extra)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = resolve_of(answers, registry)
    pages = Pages(answers.base_url)
    operations = Operations(registry, state, CacheState, CollectorRegistry, None)
    archive_pages = ArchivePages(registry, state, operations, pages)
    everyone = ExhaustiveResolver(
        answers, world.route, patience=0.5, selections=world.selections
    )
    lists = ArchiveLists(fixed(world.archives), NoLists())
    async with (
        world.coalescer,
        RunningSearches(everyone, news, watchers) as following,
        CaptureTables(lists, Deadlines(0.2, 0.5)) as tables,
    ):
        kept = KeptAnswers(answers.base_url)
        home = Home(answers, registry, following, pages, kept)
        exact: dict[str, Handler] = {
            "/": home,
            "/events": home.events,
            "/archives": archive_pages.all,
        }
        prefixes: dict[str, Handler] = {
            "/resolve/": resolve,
            "/list/": ListEndpoint(
                answers, answer_pages(answers, registry), world.route, patience=0.5
            ),
            "/answers/": kept,
            "/archives/": archive_pages.one,
            "/timemap/html/": CapturesPage(tables, world.route, registry, pages),
            "/timeline/": Timeline(lists, world.route, registry, Deadlines(0.2, 0.5)),
            "/static/": static,
        }
        posts: dict[str, PostHandler] = {
            "/": PostedForm(home),
            "/resolve": BatchResolve(resolve),
        }
        routes = Routes(exact, prefixes, resolve.whole, posts)
        dispatch = Dispatch(routes, problem_page=HtmlProblems(pages, registry))
        async with listening(dispatch, "127.0.0.1", 0) as port:
            yield Site(port, world)


def dechunked(body: bytes) -> bytes:
    """Return the octets without the sizes of the chunks between them."""
    whole, rest = b"", body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        whole, rest = whole + rest[:length], rest[length + 2 :]
    return whole


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
