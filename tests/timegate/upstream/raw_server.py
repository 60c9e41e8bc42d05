"""A server on 127.0.0.1 that sends given octets, and records the requests."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Fetcher
from timegate.upstream.http_client import Timeouts
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GENEROUS = Rate(requests=1000, seconds=1, burst=1000)
UNLIMITED = Limits(memento=GENEROUS, index=GENEROUS, at_once=4, source="test")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class RawServer:
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    """The heads of all requests, as received."""
    connections: int = 0
    open_now: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def open_count(self) -> int:
        return len(self.open_now)

    @property
    def lines(self) -> list[str]:
        """The request lines."""
        return [head.split(b"\r\n")[0].decode("latin-1") for head in self.heads]

    def url(self, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"


CLOSE = b"<close>"


class _Scripted(RawServer):
    def __init__(
        self, answers: tuple[bytes | Script, ...], greeting: Script | None = None
    ) -> None:
        super().__init__()
        self.answers = answers
        self.greeting = greeting

    async def __call__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.open_now[task] = writer
        # The client may go at any time, as clients do; uvloop's word for it is RuntimeError.
        try:
            with suppress(OSError, asyncio.IncompleteReadError, RuntimeError):
                await self.converse(reader, writer)
            with suppress(OSError):
                writer.close()
                await writer.wait_closed()
        finally:
            del self.open_now[task]

    async def converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self.greeting is not None:
            await self.greeting(reader, writer)
            return
        while True:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            answer = self.answers[min(len(self.heads), len(self.answers)) - 1]
            if not isinstance(answer, bytes):
                await answer(reader, writer)
                return
            writer.write(answer.removesuffix(CLOSE))
            await writer.drain()
            if answer.endswith(CLOSE):
                return

    async def end(self) -> None:
        for writer in self.open_now.values():
            writer.transport.abort()
        while self.open_now:
            await asyncio.wait(self.open_now)


@asynccontextmanager
async def serving(
    *answers: bytes | Script,
    tls: ssl.SSLContext | None = None,
    greeting: Script | None = None,
) -> AsyncGenerator[RawServer]:
    """Serve *answers* in turn, one for each request, the last one again and again.

    Octets are sent as they are; after ``CLOSE`` at their end the connection is closed. With a
    *greeting*, that is all that happens, and no request is read.
    """
    scripted = _Scripted(answers, greeting)
    server = await asyncio.start_server(scripted, "127.0.0.1", 0, ssl=tls)
    scripted.port = server.sockets[0].getsockname()[1]
    try:
        yield scripted
    finally:
        server.close()
        await scripted.end()


async def silence(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Send nothing until the client has disconnected."""
    await reader.read()


def entry(server: RawServer, scheme: str = "http", **fields: object) -> ArchiveEntry:
    known: dict[str, object] = {
        "id": "test",
        "name": "Test",
        "kind": KINDS["memento"],
        "use": True,
        "because": "",
        "access": "open",
        "limits": UNLIMITED,
        "timegate": server.url("/", scheme),
    }
    return ArchiveEntry(**(known | fields))  # type: ignore[arg-type]


@asynccontextmanager
async def fetching(
    archive: ArchiveEntry,
    *,
    timeouts: Timeouts | None = None,
    tls: ssl.SSLContext | None = None,
    surroundings: UpstreamEnvironment | None = None,
) -> AsyncGenerator[Fetcher]:
    settings = UpstreamSettings("mailto:test@example.org", timeouts or Timeouts(), tls=tls)
    async with open_fetchers([archive], settings, surroundings) as fetchers:
        yield fetchers[archive.id]
