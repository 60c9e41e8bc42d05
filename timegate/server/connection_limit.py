"""Connections: an aiohttp server that bounds them, and reading and sending with deadlines.

When the limit is reached, a new connection replaces the oldest one that has not sent a request
head in time. If there is none, the new connection gets a 503 and is closed without reading a
request. The limit lies below the kernel's limit of open files, at which no response could be
sent at all.

Text that is not HTTP is rejected with a message of our own; that of aiohttp quotes the text.
"""

import asyncio
import re
import resource
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf
from typing import Any, Final

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from archives.errors import ArchiveError
from timegate.access.networks import Networks, household
from timegate.identifiers import SCHEMES
from timegate.responses.model import EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.client_quota import peer_address

_OTHER_FILES: Final = 32
"""Open files of the process: standard streams, event loop, listener, files of the cache."""
_ACCEPTED_PER_TURN: Final = 8
_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n"
    b"Content-Length: 22\r\nConnection: close\r\n\r\ntoo many connections.\n"
)
_UNREADABLE: Final = (
    "the request is not valid HTTP/1.1: it has a line that is too long, or a character that is "
    "not allowed; percent-encode characters that are not ASCII, and write / before an "
    "identifier, as in GET /urn:pwid:..."
)
# Older versions of curl send such characters as they are. RFC 9112 3.2 warns against repairing
# the line: a proxy on the way may have read it differently.
_UNENCODED: Final = (
    "the request target contains a character that is not allowed in a URL: percent-encode "
    "characters that are not ASCII, for example \u00fc as %C3%BC, and write / before an "
    "identifier, as in GET /urn:pwid:..."
)
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class ConnectionLimit:
    """The limits on connections, and the number of open ones."""

    most: int = 10_000
    per_client: int = 32
    uncounted: Networks = field(default_factory=Networks)
    """Trusted proxies and exempt clients, which have no limit per client."""
    refused: Callable[[str], None] = lambda _: None
    """Counts a rejected or closed connection by its reason."""
    soon: float = 1.0
    """Seconds after which an idle connection without a request may be closed for a new one."""
    total: int = 0
    _clients: Counter[str] = field(default_factory=Counter)

    @property
    def full(self) -> bool:
        """Whether one more connection would be rejected."""
        return self.total >= self.most

    @property
    def accepted_per_turn(self) -> int:
        """Connections accepted in one iteration of the event loop, before they are counted.

        Since 1.45, libuv accepts one for each listener: with one listener and three times the
        load that we can handle, a health check waited 4.6 s to be accepted.
        """
        return max(1, min(_ACCEPTED_PER_TURN, self.most // _ACCEPTED_PER_TURN))

    def enter(self, address: str) -> str | None:
        """Count a connection and return None, or return the limit that it exceeds."""
        if self.total >= self.most:
            return "connections"
        if not self.uncounted.holds(address):
            client = household(address)
            if self._clients[client] >= self.per_client:
                return "connections-per-client"
            self._clients[client] += 1
        self.total += 1
        return None

    def leave(self, address: str) -> None:
        """Stop counting a connection that `enter` has counted."""
        self.total -= 1
        client = household(address)
        if client in self._clients:
            self._clients[client] -= 1
            if self._clients[client] <= 0:
                del self._clients[client]


def files_allow(wanted: int, besides: int) -> int:
    """Raise the limit of open files for *wanted* connections; return how many it allows.

    *besides*: other files that may be open, for which at most half of the limit is reserved.
    """
    # Listeners, and connections that are being rejected.
    besides += 2 * _ACCEPTED_PER_TURN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + besides + _OTHER_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    left = soft - _OTHER_FILES
    return max(4, min(wanted, left - min(besides, left // 2)))


COMMON: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, Location, Memento-Datetime, Memento-Precision, Content-Location, "
        "Preference-Applied, X-Memento-Count, Memento-Sources, Content-Range, Accept-Ranges"
    ),
    "X-Content-Type-Options": "nosniff",
    "Server": "timegate",
}
"""Header fields of every response."""


# RFC 9112 3.2.2: any absolute URI may be a target. The parser knows only those with ``//``.
_IDENTIFIER_TARGET: Final = re.compile(
    rf"(?:GET|HEAD) (?=(?i:{'|'.join(sorted(SCHEMES))}):)".encode()
)


class ServerConnection(RequestHandler):
    """A connection whose error responses do not quote the request (E-1).

    Its first request may have an identifier as its target, such as ``GET urn:pwid:...``. Where
    later requests begin is only known to the parser.
    """

    __slots__ = ("_has_begun", "_waits_for_head")

    def __init__(
        self,
        manager: web.Server,
        waits_for_head: Callable[[RequestHandler], None],
        **options: Any,
    ) -> None:
        """Call *waits_for_head* when a part of a request arrives between two requests."""
        super().__init__(manager, **options)
        self._waits_for_head = waits_for_head
        self._has_begun = False

    def data_received(self, data: bytes) -> None:
        """Read *data*; the rest of a head that has begun must follow soon."""
        if not self._has_begun:
            self._has_begun = True
            target = _IDENTIFIER_TARGET.match(data)
            if target is not None:
                data = target[0] + b"/" + data[target.end() :]
        between = self._current_request is None
        if between:
            self._waits_for_head(self)
        super().data_received(data)
        if between and not self._messages and self.transport is not None:
            acknowledge(self.transport)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the response to an unreadable request; client errors are not logged.

        Neither is a client that has disconnected: aiohttp ignores a ConnectionError.
        """
        gone = self.transport is None or self.transport.is_closing()
        if gone and isinstance(exc, ConnectionError):
            raise exc
        if status != HTTPStatus.BAD_REQUEST:
            return super().handle_error(request, status, exc, message)
        if request.writer.output_size > 0:
            raise ConnectionError("a response is already being sent")
        detail = _UNENCODED if isinstance(exc, InvalidURLError) else _UNREADABLE
        response = send(problem(400, "bad-request", detail))
        response.force_close()
        return response


def acknowledge(transport: asyncio.Transport) -> None:
    """Acknowledge what has arrived at once.

    Clients often hold the rest of a head back until then (RFC 896), and Linux delays
    acknowledgements by 40 ms, but for the first packets of a connection.
    """
    connection = transport.get_extra_info("socket")
    option = getattr(socket, "TCP_QUICKACK", None)
    if connection is not None and option is not None:
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, option, 1)


class LimitedServer(web.Server):
    """An aiohttp server that limits its connections."""

    def __init__(
        self,
        handler: Handler,
        limit: ConnectionLimit,
        *,
        head_deadline: float,
        **options: object,
    ) -> None:
        """*head_deadline*: seconds for the head of each request.

        For the first from the start of the connection, for later ones from their first octet:
        until then aiohttp's timeout applies.
        """
        super().__init__(handler, request_factory=self._read, **options)  # type: ignore[arg-type]
        self._limit = limit
        self._head_deadline = head_deadline
        self._addresses: dict[RequestHandler, str] = {}
        """The client address of each connection that is counted."""
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}
        """Connections that have not sent a whole request head yet, the oldest first."""

    def __call__(self) -> RequestHandler:
        """Return the protocol for a new connection."""
        return ServerConnection(self, self._expect_head, loop=self._loop, **self._kwargs)

    def _expect_head(self, handler: RequestHandler) -> None:
        """Close a connection whose request head is not complete in time."""
        transport = handler.transport
        if handler in self._addresses and handler not in self._silent and transport is not None:
            self._silent[handler] = asyncio.get_running_loop().call_later(
                self._head_deadline, transport.close
            )

    def _read(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        timer = self._silent.pop(protocol, None)
        if timer is not None:
            timer.cancel()
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Accept a connection, or reject it with 503."""
        super().connection_made(handler, transport)
        address = peer_address(transport.get_extra_info("peername"))
        reason = self._limit.enter(address)
        if reason == "connections" and self._close_oldest_silent():
            reason = self._limit.enter(address)
        if reason is None:
            self._addresses[handler] = address
            loop = asyncio.get_running_loop()
            self._silent[handler] = loop.call_later(self._head_deadline, transport.close)
            return
        self._limit.refused(reason)
        transport.write(_TOO_MANY)
        handler.close()
        transport.close()

    def connection_lost(
        self, handler: RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Stop counting a connection that is closed."""
        super().connection_lost(handler, exc)
        self._forget(handler)

    def _close_oldest_silent(self) -> bool:
        """Close the connection that has been silent for longest, if that is long enough."""
        for handler, timer in self._silent.items():
            opened = timer.when() - self._head_deadline
            if asyncio.get_running_loop().time() < opened + self._limit.soon:
                return False
            self._limit.refused("silent")
            handler.force_close()
            self._forget(handler)
            return True
        return False

    def _forget(self, handler: RequestHandler) -> None:
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()
        address = self._addresses.pop(handler, None)
        if address is not None:
            self._limit.leave(address)


def send(response: Response) -> web.Response:
    """Return *response* as an aiohttp response."""
    headers = CIMultiDict(COMMON)
    headers.update(response.headers)
    return web.Response(status=response.status, headers=headers, body=response.body)


_SLOWEST: Final = 1024
"""Octets per second that a client has to read on average, after the grace period."""
GRACE: Final = 20.0
"""Seconds."""


class ClientDeadline:
    """Limits the time spent sending to a client: a grace period, and a second per kilobyte."""

    def __init__(
        self, grace: float = GRACE, slowest: float = _SLOWEST, most: float = inf
    ) -> None:
        """*most*: seconds that a client can save up by reading faster than it has to.

        Octets in the kernel's buffers, hundreds of kilobytes, look as if they had been read.
        """
        self._left = grace
        self._slowest = slowest
        self._most = most

    @asynccontextmanager
    async def of(self, octets: int) -> AsyncIterator[None]:
        """Wait in this block until *octets* are sent. Raises TimeoutError."""
        clock = asyncio.get_running_loop().time
        self._left = min(self._left, self._most) + octets / self._slowest
        began = clock()
        async with asyncio.timeout(self._left):
            yield
        self._left -= clock() - began


async def stream(request: web.BaseRequest, response: StreamingResponse) -> web.StreamResponse:
    """Send a body while it is produced, at the pace of the client."""
    headers = CIMultiDict(COMMON)
    headers.update(response.headers)
    sent = web.StreamResponse(status=response.status, headers=headers)
    async with aclosing(response.chunks) as chunks:
        await sent.prepare(request)
        if request.method == "HEAD":
            return sent
        reading = _deadline(response)
        try:
            async for chunk in chunks:
                # A slower client would hold connections to archives, and memory.
                async with reading.of(len(chunk)):
                    await sent.write(chunk)
            # `write` does not wait for the last 64 kB; this does.
            async with reading.of(0):
                await sent.write_eof()
        except ConnectionError:
            # The client has disconnected.
            return sent
        except (ArchiveError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
            raise
    return sent


def _deadline(response: StreamingResponse) -> ClientDeadline:
    idle = response.most_idle
    return ClientDeadline() if idle is None else ClientDeadline(idle, most=idle)


async def body_of(request: web.BaseRequest, most: int, seconds: float) -> bytes:
    """Return the body of *request*. Raises EarlyResponse if it is too large or too slow."""
    received = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                received += chunk
                if len(received) > most:
                    detail = f"a body may have {most} bytes; send the rest in another request"
                    raise EarlyResponse(problem(413, "too-large", detail))
    except TimeoutError as error:
        raise EarlyResponse(
            problem(408, "timeout", f"the body did not arrive within {seconds:g} seconds")
        ) from error
    return bytes(received)
