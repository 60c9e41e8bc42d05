"""What the attacks share: archives that send any octets, requests of any octets, traps."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.rig.asking import Answer, Client

DATE: Final = "Fri, 22 Jan 2016 11:20:29 GMT"
STAMP: Final = "20160122112029"
PAGE: Final = "http://page.example/"
Answering = Callable[[str, str], "bytes | None"]
"""Returns the octets for a method and a target; None to stay silent."""


def response(status: str, *fields: str, body: bytes = b"") -> bytes:
    """Return a response; a field with the length is added."""
    lines = (f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(lines).encode("latin-1") + body


@dataclass
class ScriptedArchive:
    """An archive that sends the octets that it is told to, and notes what it receives."""

    port: int = 0
    answering: Answering = lambda _method, _target: None
    heads: list[str] = field(default_factory=list)
    """The heads of the requests, as they were received."""
    opened: int = 0
    closed: list[float] = field(default_factory=list)
    """When clients closed their connections."""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def still_open(self) -> int:
        return self.opened - len(self.closed)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
                method, target, _ = head.split("\r\n")[0].split(" ", 2)
                octets = self.answering(method, target)
                if octets is None:
                    await reader.read()
                    return
                head_end = octets.find(b"\r\n\r\n") + 4
                writer.write(octets[:head_end] if method == "HEAD" else octets)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        except asyncio.CancelledError:
            # The attack has ended, and asyncio would report each connection.
            return
        finally:
            self.closed.append(time.monotonic())
            writer.transport.abort()


@asynccontextmanager
async def scripted(answering: Answering) -> AsyncIterator[ScriptedArchive]:
    """Serve an archive at a port of its own."""
    archive = ScriptedArchive(answering=answering)
    server = await asyncio.start_server(archive.serve, "127.0.0.1", 0, limit=1 << 20)
    archive.port = server.sockets[0].getsockname()[1]
    try:
        yield archive
    finally:
        server.close()


def healthy(base: Callable[[], str], *, at: str = STAMP) -> Answering:
    """Return the answers of an archive with one copy of every page."""

    def answer(_method: str, target: str) -> bytes:
        page = target.partition("http")[1] + target.partition("http")[2]
        memento = f"{base()}/web/{at}/{page}"
        date = f"Fri, 22 Jan 2016 {at[8:10]}:{at[10:12]}:{at[12:14]} GMT"
        link = f'<{page}>; rel="original", <{memento}>; rel="memento"; datetime="{date}"'
        if target.startswith("/timegate/"):
            fields = (f"Location: {memento}", "Vary: accept-datetime", f"Link: {link}")
            return response("302 Found", *fields)
        if target.startswith("/timemap/"):
            kind = "Content-Type: application/link-format"
            return response("200 OK", kind, body=link.encode())
        fields = (f"Memento-Datetime: {date}", f"Link: {link}", "Content-Type: text/plain")
        return response("200 OK", *fields, body=b"the copy")

    return answer


def entry(name: str, base: str, more: str = "") -> str:
    """Return the configuration of an archive."""
    return (
        f'[[archive]]\nid = "{name}"\nkind = "memento"\ntimegate = "{base}/timegate/"\n'
        f'timemap = "{base}/timemap/link/"\nreplay = "{base}/web/{{time14}}/{{uri}}"\n'
        f'raw = "{base}/web/{{time14}}id_/{{uri}}"\npwid = ["{name}.example"]\n{more}'
    )


async def exchange(port: int, octets: bytes, seconds: float = 1.0) -> bytes:
    """Send *octets*; return what is received until the end, or until nothing comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    received = b""
    try:
        writer.write(octets)
        with suppress(TimeoutError, ConnectionError):
            while piece := await asyncio.wait_for(reader.read(65_536), seconds):
                received += piece
    finally:
        writer.transport.abort()
    return received


def asking(port: int, **headers: str) -> Client:
    """Return a client with a date; underscores in the names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Client(port, date=DATE, headers=named, patience=20)


@asynccontextmanager
async def trap() -> AsyncIterator[tuple[int, list[str]]]:
    """Listen at a port to which nobody may connect; yield it and the connections."""
    caught: list[str] = []

    async def catch(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caught.append(str(writer.get_extra_info("peername")))
        writer.transport.abort()

    server = await asyncio.start_server(catch, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], caught
    finally:
        server.close()


async def settled(client: Client, target: str) -> Answer:
    """Ask until the index of a collection has been built, for a minute at most."""
    answer = await client.ask(target)
    for _ in range(120):
        if answer.status not in (0, 503, 504):
            break
        await asyncio.sleep(0.5)
        answer = await client.ask(target)
    return answer


async def until(holds: Callable[[], bool], seconds: float) -> float:
    """Wait until something holds; return the seconds that it took, at most *seconds*."""
    began = time.monotonic()
    for _ in range(int(seconds / 0.02)):
        if holds() or time.monotonic() - began > seconds:
            break
        await asyncio.sleep(0.02)
    return time.monotonic() - began
