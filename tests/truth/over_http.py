"""The same rounds over real HTTP: each archive and the server at a port of its own.

Faults of TLS need a certificate authority, which no configuration can name; they are left out.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Final

from aiohttp import ClientSession, ClientTimeout
from yarl import URL

from archives.model import ArchiveEntry
from archives.registry import Registry
from tests.truth.asking import Asking, Made, made_of
from tests.truth.drawing import Round
from tests.truth.world import Exchange, LyingArchive, Served, World, whole
from tests.whole_server import running_server
from timegate.config import Config
from timegate.misbehave import Archive, ArchiveOptions, served
from timegate.misbehave.wire import Reply, WholeAnswer, WireRequest

_OPTIONS: Final = ArchiveOptions(
    interval=0.05, patience=5.0, bulk=20_000, bomb=100_000, delay=0.1
)
_SOFT: Final = 0.5
_HARD: Final = 1.0
_ENDLESS: Final = ("hang", "memento-hang", "drip-head", "drip-body")


class _Listening(Archive):
    """An archive at a port, which has the faults of another and notes what it answers."""

    def __init__(self, lying: LyingArchive, world: World) -> None:
        options = replace(_OPTIONS, timegate=lying.archive.options.timegate)
        super().__init__(lying.archive.holdings.everything(), options=options)
        self.faults = lying.faults
        self._lying = lying
        self._world = world

    def reply(self, request: WireRequest) -> Reply:
        self.faults = self._lying.faults_at(request.target)
        reply = super().reply(request)
        url = f"{self.url}{request.target}"
        answer: Served | str = "bytes"
        if isinstance(reply, WholeAnswer):
            answer = whole(self._lying.id, url, reply)
        self._world.journal.append(Exchange(self._lying.id, request.method, url, answer))
        return reply


class _HttpProduct(Asking):
    """A server at a port."""

    settles = False

    def __init__(self, world: World, port: int, session: ClientSession) -> None:
        super().__init__(world)
        self._port = port
        self._session = session

    async def get(
        self, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Made:
        method = "GET" if body is None else "POST"
        url = URL(f"http://127.0.0.1:{self._port}{target}", encoded=True)
        async with self._session.request(
            method, url, headers=headers, data=body, allow_redirects=False
        ) as reply:
            content = await reply.read()
            return made_of(f"{method} {target}", reply.status, dict(reply.headers), content)


def playable(drawn: Round) -> bool:
    """Whether a round needs no TLS, and no fault that only a timeout ends."""
    archives = drawn.world.archives.values()
    met = [
        fault
        for archive in archives
        for faults in (archive.faults, *archive.marred.values())
        for fault in faults
    ]
    return not any(fault.tls or fault.name in _ENDLESS for fault in met)


@asynccontextmanager
async def over_http(drawn: Round) -> AsyncIterator[tuple[Round, Asking]]:
    """Serve the archives of a round and the product; yield the round with their addresses."""
    async with AsyncExitStack() as stack:
        world, text = World([]), drawn.reference.text
        for lying in drawn.world.archives.values():
            archive = _Listening(lying, world)
            await stack.enter_async_context(served(archive))
            entry = _moved(lying.entry, lying.base, archive.url)
            text = text.replace(f"{lying.base}/", f"{archive.url}/")
            world.archives[lying.id] = LyingArchive(entry, archive, lying.faults, lying.marred)
        registry = Registry([each.entry for each in world.archives.values()], shared_hosts=True)
        config = Config(
            registry,
            contact="mailto:truth@example.org",
            partial_stamps="middle",
            soft=_SOFT,
            hard=_HARD,
            private=frozenset(world.archives),
        )
        port = await stack.enter_async_context(running_server(config))
        session = await stack.enter_async_context(
            ClientSession(timeout=ClientTimeout(30), auto_decompress=False)
        )
        reference = drawn.reference._replace(text=text)
        ways = [way if way != "library" else "resolve" for way in drawn.ways]
        moved = replace(drawn, world=world, reference=reference, ways=ways)
        yield moved, _HttpProduct(world, port, session)


def _moved(entry: ArchiveEntry, base: str, to: str) -> ArchiveEntry:
    """Return *entry* with its addresses at *to*."""
    moved = {
        name: address.replace(base, to)
        for name in ("timegate", "cdx", "replay", "raw")
        if (address := getattr(entry, name))
    }
    timemaps = {name: url.replace(base, to) for name, url in entry.timemaps.items()}
    return replace(entry, **moved, timemaps=timemaps, hosts=("127.0.0.1",))


def is_judged(kind: str) -> bool:
    """Whether a kind of violation can be told here: what came in time is not known."""
    return kind not in ("sources", "absence", "cached", "promise-not-made")
