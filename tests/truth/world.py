"""A small world of archives that lie, and what each of them said so far.

Every archive is `timegate.misbehave`'s, which shares no code with the product: the faults of
its archive apply to every request, and faults of single mementos to their addresses alone. The
world is served to the product through the `Fetcher` seam, and to the oracle by `serve`.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from archives.errors import ArchiveError, Misbehaved, Refused, Unreachable
from archives.model import ArchiveEntry
from archives.source import Fetcher, Request
from timegate.misbehave import Archive, ArchiveOptions
from timegate.misbehave.faults.fault import Fault
from timegate.misbehave.wire import Fields, RawAnswer, WholeAnswer, WireRequest

OPTIONS: Final = ArchiveOptions(interval=1.0, patience=60.0, bulk=20_000, bomb=100_000)
TIMEOUT: Final = 10.0
"""Seconds after which a request that is not answered has failed."""
_MOST_FIELDS: Final = 200
_MOST_HEAD: Final = 65_536
_STAMP: Final = re.compile(r"/web/([0-9]{14})(?:id_)?/")
_HELD_BACK: Final = (403, 429, 503)


class Served(NamedTuple):
    """An answer as a client sees it."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; repeated fields joined with a comma."""
    body: bytes | None
    """None where the body cannot be read."""
    delay: float = 0.0


class Exchange(NamedTuple):
    """A request of the product to an archive, and how it ended."""

    archive: str
    method: str
    url: str
    outcome: Served | str
    """The answer, or the reason why there is none."""


@dataclass
class LyingArchive:
    """One archive: its entry, what it holds, how it lies, and how slow it is."""

    entry: ArchiveEntry
    archive: Archive
    faults: tuple[Fault, ...]
    """Faults of every answer."""
    marred: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)
    """Faults of single mementos, by their stamp."""
    delay: float = 0.0

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def base(self) -> str:
        return self.archive.url

    def faults_at(self, url: str) -> tuple[Fault, ...]:
        """Return the faults that a request to *url* meets."""
        stamp = _STAMP.search(url)
        return (*self.faults, *self.marred.get(stamp[1] if stamp else "", ()))

    def has(self, fault: str, url: str) -> bool:
        """Whether a request to *url* meets *fault*."""
        return any(each.name == fault for each in self.faults_at(url))

    async def serve(self, method: str, url: str, headers: Mapping[str, str]) -> Served:
        """Answer a request. Raises ArchiveError where a client gets no answer."""
        faults = self.faults_at(url)
        if any(fault.hangs_up or _is_untrusted(fault) for fault in faults):
            raise Unreachable(self.id, url, "the connection fails")
        if any(fault.silent for fault in faults):
            await asyncio.sleep(TIMEOUT)
            raise Unreachable(self.id, url, "the handshake is not answered")
        self.archive.faults = faults
        fields = tuple((name.lower(), value) for name, value in headers.items())
        reply = self.archive.reply(WireRequest(method, url[len(self.base) :], fields))
        if isinstance(reply, WholeAnswer):
            return whole(self.id, url, reply)
        return await _raw(self.id, url, reply)

    def described(self) -> str:
        """Return the archive in a few lines, for people."""
        held = [
            f"{capture.stamp}{'' if capture.status == 200 else f' {capture.status}'}"
            f" {capture.original}"
            for capture in self.archive.holdings.everything()
        ]
        marred = {stamp: [f.name for f in faults] for stamp, faults in self.marred.items()}
        entry = self.entry
        manner = [
            f"{entry.kind} {self.archive.options.timegate}",
            *(name for name in ("cdx", "replay", "raw") if getattr(entry, name)),
            *(["padded"] if entry.padded else []),
            f"{self.delay:.2f} s",
        ]
        lines = [
            f"{self.id} ({', '.join(manner)}): {[f.name for f in self.faults]}",
            *(f"    {line}" for line in held),
            *([f"    marred: {marred}"] if marred else []),
        ]
        return "\n".join(lines)


def _is_untrusted(fault: Fault) -> bool:
    return fault.name.startswith("tls-") and fault.name not in ("tls-right", "tls-hung")


def whole(archive: str, url: str, answer: WholeAnswer) -> Served:
    """Return an answer as a client sees it. Raises Misbehaved for broken HTTP."""
    if len(answer.headers) > _MOST_FIELDS or any("\0" in v for _, v in answer.headers):
        raise Misbehaved(archive, url, "broken HTTP")
    body = None if answer.value("Content-Encoding") else answer.body
    return Served(answer.status, _joined(answer.headers), body, answer.delay)


async def _raw(archive: str, url: str, answer: RawAnswer) -> Served:
    """Read the head of an answer in bytes; its body counts as broken."""
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _read(archive, url, answer.pieces)
    except TimeoutError as error:
        raise Unreachable(archive, url, f"no answer within {TIMEOUT:g} s") from error


async def _read(archive: str, url: str, pieces: AsyncIterator[bytes]) -> Served:
    read = b""
    async for piece in pieces:
        read += piece
        while read.startswith(b"HTTP/1.1 100") and b"\r\n\r\n" in read:
            read = read.partition(b"\r\n\r\n")[2]
        if b"\r\n\r\n" in read or len(read) > _MOST_HEAD:
            break
    first, *lines = read.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    if not first.startswith("HTTP/1.1 "):
        raise Unreachable(archive, url, "closed the connection")
    pairs = [(name, value.strip()) for name, _, value in (ln.partition(":") for ln in lines)]
    if len({value for name, value in pairs if name == "Content-Length"}) > 1:
        raise Misbehaved(archive, url, "two lengths")
    return Served(int(first.split(" ")[1]), _joined(tuple(pairs)), None)


def _joined(fields: Fields) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in fields:
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    return joined


@dataclass(frozen=True, slots=True)
class _Reply:
    """A `Reply` of the `Fetcher` seam."""

    archive: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes | None

    async def chunks(self) -> AsyncIterator[bytes]:
        if self.body is None:
            raise Misbehaved(self.archive, self.url, "the body is broken")
        yield self.body


class World:
    """All archives, and every exchange with them."""

    def __init__(self, archives: Sequence[LyingArchive]) -> None:
        self.archives = {archive.id: archive for archive in archives}
        self.journal: list[Exchange] = []

    def at(self, url: str) -> LyingArchive | None:
        """Return the archive that *url* belongs to; None where there is none."""
        found = (each for each in self.archives.values() if url.startswith(f"{each.base}/"))
        return next(found, None)

    def network(self, entry: ArchiveEntry) -> Fetcher:
        """Return the fetcher of an archive, as the product uses it."""
        archive = self.archives[entry.id]

        @asynccontextmanager
        async def fetch(request: Request) -> AsyncGenerator[_Reply]:
            if not request.url.startswith(f"{archive.base}/"):
                raise Misbehaved(entry.id, request.url, "the registry does not name its host")
            try:
                served = await self._served(archive, request)
            except ArchiveError as error:
                self._note(archive, request, error.why)
                raise
            self._note(archive, request, served)
            if served.status in _HELD_BACK and "memento-datetime" not in served.headers:
                raise Refused(entry.id, request.url, served.status, None)
            body = b"" if request.method == "HEAD" else served.body
            yield _Reply(entry.id, request.url, served.status, served.headers, body)

        return fetch

    async def _served(self, archive: LyingArchive, request: Request) -> Served:
        await asyncio.sleep(archive.delay)
        served = await archive.serve(request.method, request.url, request.headers)
        await asyncio.sleep(served.delay)
        return served

    def _note(self, archive: LyingArchive, request: Request, outcome: Served | str) -> None:
        self.journal.append(Exchange(archive.id, request.method, request.url, outcome))

    def described(self) -> str:
        return "\n".join(archive.described() for archive in self.archives.values())
