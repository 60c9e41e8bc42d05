"""The archive on a socket: reads requests and writes the replies, correct or faulty.

Every connection and every answer ends after `ArchiveOptions.patience` seconds at the latest.
The numbers of connections, of requests on a connection and of bytes in a request are limited.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from timegate.misbehave.archive import Archive, Ending
from timegate.misbehave.site import EXAMPLE, ArchiveOptions, FakeCapture
from timegate.misbehave.wire import (
    HOST,
    MAX_HEAD,
    RawAnswer,
    Reply,
    WholeAnswer,
    WireRequest,
    read_request,
    written,
)

MAX_CONNECTIONS: Final = 256
MAX_REQUESTS: Final = 10_000
"""On one connection."""


@asynccontextmanager
async def misbehaving_archive(
    captures: Iterable[FakeCapture] = EXAMPLE,
    fault: str = "none",
    options: ArchiveOptions | None = None,
    *,
    port: int = 0,
) -> AsyncIterator[Archive]:
    """Serve an archive on 127.0.0.1 (port 0: any free one) until the block ends.

    Raises ValueError for an unknown fault.
    """
    archive = Archive(captures, fault, options)
    async with served(archive, port):
        yield archive


@asynccontextmanager
async def served(
    archive: Archive, port: int = 0, host: str = HOST, base_url: str | None = None
) -> AsyncIterator[None]:
    """Serve *archive* on a socket; all connections are closed at the end of the block.

    Its addresses begin with *base_url*, by default with *host* and *port*.
    """
    context = archive.server_tls()
    scheme = "http" if context is None else "https"
    silent = archive.has_fault(lambda fault: fault.silent)
    service = _Service(archive)
    server = await asyncio.start_server(
        service.serve, host, port, ssl=None if silent else context, limit=MAX_HEAD
    )
    address = server.sockets[0].getsockname()
    written_host = f"[{host}]" if ":" in host else host
    archive.url = base_url or f"{scheme}://{written_host}:{address[1]}"
    try:
        yield
    finally:
        server.close()
        await service.close()


class _Service:
    """The connections of one archive."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.tasks: set[asyncio.Task[object]] = set()

    async def close(self) -> None:
        """Close every connection."""
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends, and record who closed it."""
        task = asyncio.current_task()
        if task is None or len(self.tasks) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self.tasks.add(task)
        number = self.archive.journal.record_opened()
        ending: Ending = "archive"
        try:
            ending = await self._serve_requests(number, reader, writer)
        except (ConnectionError, ssl.SSLError):
            ending = "client"
        except (TimeoutError, asyncio.LimitOverrunError):
            writer.transport.abort()
        except asyncio.CancelledError:
            # The server is being closed, and `close` waits for this task.
            writer.transport.abort()
        finally:
            self.tasks.discard(task)
            self.archive.journal.record_closed(number, ending)
            writer.close()

    async def _serve_requests(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Ending:
        archive, options = self.archive, self.archive.options
        if archive.has_fault(lambda fault: fault.hangs_up):
            return "archive"
        if archive.has_fault(lambda fault: fault.silent):
            return await _ignore(reader, options)
        for _ in range(MAX_REQUESTS):
            async with asyncio.timeout(options.patience):
                request = await read_request(reader)
                if request is None:
                    return "client" if reader.at_eof() else "archive"
                archive.journal.record_request(number, request)
                reply = archive.reply(request)
                ending = await _send(reply, request, reader, writer)
            if ending is not None:
                return ending
        return "archive"


async def _ignore(reader: asyncio.StreamReader, options: ArchiveOptions) -> Ending:
    """Read without answering until the client leaves or the time limit."""
    async with asyncio.timeout(options.patience):
        while await reader.read(MAX_HEAD):
            pass
    return "client"


async def _send(
    reply: Reply,
    request: WireRequest,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> Ending | None:
    """Write a reply; return who closes the connection, None if it stays open."""
    if isinstance(reply, RawAnswer):
        ending = await _send_raw(reply, reader, writer)
        return "archive" if ending is None and _wants_close(request) else ending
    await asyncio.sleep(reply.delay)
    writer.write(written(_whole(reply, request), request.method))
    await writer.drain()
    return "archive" if _wants_close(request) else None


def _whole(answer: WholeAnswer, request: WireRequest) -> WholeAnswer:
    return answer.having("Connection", "close") if _wants_close(request) else answer


def _wants_close(request: WireRequest) -> bool:
    return "close" in (value.lower() for value in request.values("Connection"))


async def _send_raw(
    raw: RawAnswer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Ending | None:
    async for piece in raw.pieces:
        if reader.at_eof():
            return "client"
        writer.write(piece)
        await writer.drain()
    if raw.resets:
        _reset(writer)
    return None if raw.keeps_alive else "archive"


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a TCP reset, by closing a socket that may not linger."""
    socket_of = writer.get_extra_info("socket")
    socket_of.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
