"""The server over fake archives, and a client that sends request targets byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from multidict import CIMultiDict
from prometheus_client import CollectorRegistry

from archives.model import ArchiveEntry, Memento
from archives.registry import Registry
from tests.scenario import FakeArchive, World
from timegate.endpoints.operations import CacheState, Operations
from timegate.endpoints.resolve import BatchResolve, Resolve
from timegate.endpoints.timegate import TimeGateEndpoint
from timegate.pages.answer_pages import AnswerPages
from timegate.pages.kept_answers import KeptAnswers
from timegate.pages.rendering import Pages
from timegate.resolution.coalescing import fixed
from timegate.resolution.context import TimeBudget
from timegate.resolution.model import Deadlines
from timegate.resolution.neighbours import Neighbours
from timegate.responses.answers import Answers
from timegate.responses.model import Handler
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes

QUICK = Deadlines(0.2, 0.5)


@dataclass(frozen=True, slots=True)
class Seen:
    """A response."""

    status: int
    headers: CIMultiDict[str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Site:
    """A running server."""

    port: int
    world: World
    host: str = "x"
    """The value of the Host header."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ask(
        self,
        target: str,
        *headers: tuple[str, str],
        method: str = "GET",
        body: bytes = b"",
    ) -> Seen:
        """Send one request exactly as written."""
        fields = [("Host", self.host), ("Connection", "close"), *headers]
        if body:
            fields.append(("Content-Length", str(len(body))))
        head = "".join(f"{name}: {value}\r\n" for name, value in fields)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
            return _seen(await reader.read(-1))
        finally:
            writer.close()


def _seen(answer: bytes) -> Seen:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = CIMultiDict[str]()
    for line in lines:
        name, _, value = line.partition(": ")
        headers.add(name, value)
    return Seen(int(first.split(" ")[1]), headers, body)


def entries(world: World, *extra: ArchiveEntry) -> Registry:
    """Return a registry of the archives of *world*; ``a`` is ``a.example`` in PWIDs."""
    known = [
        replace(
            archive.entry,
            pwid=(f"{name}.example",),
            hosts=(f"{name}.host",),
            replay=f"https://{name}.host/{{time14}}/{{uri}}",
        )
        for name, archive in world.archives.items()
    ]
    return Registry([*known, *extra])


class NoLists:
    """A cache of lists that stays empty."""

    async def recall_timemap(
        self,
        _archive: str,
        _original: str,
        _budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None:
        del detailed
        return None

    async def remember_timemap(
        self,
        _archive: str,
        _original: str,
        _captures: Sequence[Memento],
        _budget: TimeBudget | None = None,
        *,
        detailed: bool = False,
    ) -> None: ...


def answer_pages(answers: Answers, registry: Registry) -> AnswerPages:
    """Return the pages that show the resolutions of *answers*."""
    pages, kept = Pages(answers.base_url), KeptAnswers(answers.base_url)
    return AnswerPages(answers, registry, pages, kept)


def resolve_of(answers: Answers, registry: Registry) -> Resolve:
    """Return the handler of identifiers over *answers*."""
    return Resolve(answers, registry, answer_pages(answers, registry))


def dispatch_to(
    resolve: Resolve,
    *,
    exact: Mapping[str, Handler] | None = None,
    prefixes: Mapping[str, Handler] | None = None,
) -> Dispatch:
    """Return a server with these handlers, and with *resolve* for everything else."""
    posts = {"/resolve": BatchResolve(resolve)}
    return Dispatch(Routes(exact or {}, prefixes or {}, resolve.whole, posts))


@asynccontextmanager
async def serving(
    *archives: FakeArchive,
    extra: tuple[ArchiveEntry, ...] = (),
    resolving: type[Resolve] = Resolve,
) -> AsyncIterator[Site]:
    """Serve *archives*."""
    world = World(*archives, deadlines=QUICK)
    world.others = {entry.id: entry for entry in extra}
    registry = entries(world, *extra)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolve = resolving(answers, registry, answer_pages(answers, registry))
    operations = Operations(
        registry,
        lambda name: {"name": name, "asked": True},
        CacheState,
        CollectorRegistry,
        "mailto:x@y.org",
    )
    around = Neighbours(fixed(world.archives), NoLists(), frozenset())
    routes = Routes(
        exact={
            "/archives": operations.archives,
            "/about": operations.about,
            "/healthz": operations.health,
            "/readyz": operations.readiness,
            "/metrics": operations.metrics,
        },
        prefixes={
            "/timegate/": TimeGateEndpoint(answers, around),
            "/resolve/": resolve,
            "/archives/": operations.archive,
        },
        otherwise=resolve.whole,
        posts={"/resolve": BatchResolve(resolve, body_deadline=0.3)},
    )
    async with world.coalescer, listening(Dispatch(routes), "127.0.0.1", 0) as port:
        yield Site(port, world)
