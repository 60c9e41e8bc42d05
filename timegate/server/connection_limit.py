"""Connections: an aiohttp server that bounds them and what is sent over them.

One rule covers every response, whatever sends it: the server looks at all connections once a
second, and closes those whose clients do not take the octets that are waiting for them. So it
costs nothing where clients read, and no endpoint can forget it.

When the limit of connections is reached, a new connection replaces the oldest one that has not
sent a request head in time. If there is none, the new connection gets a 503 and is closed
without reading a request. The limit lies below the kernel's limit of open files, at which no
response could be sent at all.

Text that is not HTTP is rejected with a message of our own; that of aiohttp quotes the text.
"""

import asyncio
import re
import resource
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from operator import itemgetter
from typing import Any, Final, Generic, Literal, TypeVar

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from multidict import CIMultiDict

from archives.errors import ArchiveError
from timegate.access.networks import Networks, household
from timegate.event_loop import FairTurns
from timegate.identifiers import SCHEMES
from timegate.responses.model import EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.client_quota import peer_address

_OTHER_FILES: Final = 32
"""Open files of the process: standard streams, event loop, listener, files of the cache."""
_ACCEPTED_PER_TURN: Final = 8
_LAST_HEADS_WITHIN: Final = 1.0
"""Seconds for the request heads of connections that are new when the server stops."""
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
K = TypeVar("K")
"""A connection."""


@dataclass(frozen=True, slots=True)
class ProgressRule:
    """How much of a response a client has to take, so that sending it goes on."""

    idle: float = 20.0
    """Seconds without any progress."""
    slowest: float = 200.0
    """Octets per second, over a window. Not for event streams, which have long pauses."""
    window: float = 60.0
    """Seconds."""
    soon: float = 2.0
    """Seconds without progress after which a response may be ended to make room."""
    room_every: float = 0.2
    """Seconds between two responses that are ended to make room. Otherwise a flood of requests
    for lists, which nobody reads, would keep the processor busy with new ones."""
    every: float = 1.0
    """Seconds between two looks at all connections."""


@dataclass(slots=True)
class _Sending:
    """The progress of a connection that has octets to send."""

    taken: int
    """Octets that the client had taken when it last made progress."""
    since: float
    """When that was."""
    window_taken: int
    window_since: float
    counted: bool
    """Whether the response takes a place of the limit of responses."""


class Progress(Generic[K]):
    """Finds the connections whose clients take too little of what is being sent.

    No I/O: connections are any keys, and octets and times are given.
    """

    def __init__(self, rule: ProgressRule | None = None) -> None:
        self.rule = rule or ProgressRule()
        self._sending: dict[K, _Sending] = {}
        """Connections with octets to send, at the last look."""

    def __len__(self) -> int:
        return len(self._sending)

    def forget(self, connection: K) -> None:
        """Note that *connection* has nothing to send, or is closed."""
        self._sending.pop(connection, None)

    def fails(
        self,
        connection: K,
        taken: int,
        now: float,
        *,
        rated: bool = True,
        counted: bool = True,
    ) -> bool:
        """Note how many octets were *taken* so far; return whether that is too little.

        Without *rated*, any progress is enough. *counted*: the response takes a place.
        """
        sending = self._sending.get(connection)
        if sending is None:
            self._sending[connection] = _Sending(taken, now, taken, now, counted)
            return False
        sending.counted = counted
        if taken != sending.taken:
            sending.taken, sending.since = taken, now
        return now - sending.since >= self.rule.idle or (rated and self._is_slow(sending, now))

    def most_stalled(self, now: float) -> K | None:
        """Return the counted connection without progress for longest, if long enough."""
        counted = [(s.since, key) for key, s in self._sending.items() if s.counted]
        since, connection = min(counted, key=itemgetter(0), default=(now, None))
        return connection if now - since >= self.rule.soon else None

    def _is_slow(self, sending: _Sending, now: float) -> bool:
        seconds = now - sending.window_since
        if seconds < self.rule.window:
            return False
        slow = sending.taken - sending.window_taken < self.rule.slowest * seconds
        sending.window_taken, sending.window_since = sending.taken, now
        return slow


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
    progress: Progress[asyncio.Transport] = field(default_factory=Progress)
    """The connections that have octets to send."""
    _clients: Counter[str] = field(default_factory=Counter)
    _made_room: float = float("-inf")

    def make_room(self) -> bool:
        """End the response that has made no progress for longest; False if there is none."""
        now = asyncio.get_running_loop().time()
        if now < self._made_room + self.progress.rule.room_every:
            return False
        stalled = self.progress.most_stalled(now)
        if stalled is None:
            return False
        self._made_room = now
        self.end(stalled, "stalled")
        return True

    def end(self, transport: asyncio.Transport, reason: str) -> None:
        """Close a connection at once, without sending the rest."""
        self.progress.forget(transport)
        self.refused(reason)
        transport.abort()

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

    __slots__ = ("_has_begun", "_waits_for_head", "sends")
    sends: Literal["short", "long", "events"]
    """What is being sent: only long responses are counted, and event streams may be slow."""

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
        self.sends = "short"

    @property
    def has_more(self) -> bool:
        """Whether the client has sent another request after the current one (pipelining)."""
        return bool(self._messages)

    def data_received(self, data: bytes) -> None:
        """Read *data*; the rest of a head that has begun must follow soon."""
        if not self._has_begun:
            self._has_begun = True
            target = _IDENTIFIER_TARGET.match(data)
            if target is not None:
                data = target[0] + b"/" + data[target.end() :]
        between = self._current_request is None
        super().data_received(data)
        # Nearly always the head is complete now.
        if between and not self._messages and self.transport is not None:
            self._waits_for_head(self)
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

    def log_exception(self, *args: object, **options: object) -> None:
        """Log a failure, unless a client ended in the middle of a body that is not read."""
        if not isinstance(options.get("exc_info"), RequestPayloadError):
            super().log_exception(*args, **options)


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
        # A request ends when its client disconnects, and so do its requests to archives.
        options["handler_cancellation"] = True
        super().__init__(handler, request_factory=self._read, **options)  # type: ignore[arg-type]
        self._limit = limit
        self._head_deadline = head_deadline
        self._addresses: dict[RequestHandler, str] = {}
        """The client address of each connection that is counted."""
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}
        """Connections that have not sent a whole request head yet, the oldest first."""
        self._transports: dict[ServerConnection, asyncio.Transport] = {}
        """All connections, until they are really closed: aiohttp forgets earlier."""
        self._look = self._loop.call_later(limit.progress.rule.every, self._check_progress)
        self._all_sent_a_head: asyncio.Future[None] | None = None
        """While the server stops: done when no connection waits for its request head."""

    def __call__(self) -> RequestHandler:
        """Return the protocol for a new connection."""
        return ServerConnection(self, self._expect_head, loop=self._loop, **self._kwargs)

    def pre_shutdown(self) -> None:
        """Close the connections that wait for a next request.

        Not those whose request head is on its way: a client that has just connected would see
        its connection closed without a response.
        """
        for connection in self._connections:
            if connection not in self._silent:
                connection.close()

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 -- as in aiohttp
        """Close all connections; requests in progress have *timeout* seconds."""
        if self._silent:
            self._all_sent_a_head = self._loop.create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_HEADS_WITHIN):
                    await self._all_sent_a_head
        await super().shutdown(timeout)
        self._look.cancel()

    def _head_ended(self, handler: RequestHandler) -> None:
        """Stop waiting for the request head of a connection."""
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()
        stopping = self._all_sent_a_head
        if stopping is not None and not self._silent and not stopping.done():
            stopping.set_result(None)

    def _check_progress(self) -> None:
        """Close connections whose clients take too little of what is being sent."""
        now, progress = self._loop.time(), self._limit.progress
        self._look = self._loop.call_later(progress.rule.every, self._check_progress)
        for connection, transport in list(self._transports.items()):
            if not transport.get_write_buffer_size():
                progress.forget(transport)
                continue
            taken, sends = taken_octets(transport), connection.sends
            rated = _COUNTS_OCTETS and sends != "events"
            if progress.fails(transport, taken, now, rated=rated, counted=sends == "long"):
                self._limit.end(transport, "unread")

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
        self._head_ended(protocol)
        if self._all_sent_a_head is not None:
            # This request is the last one of its connection.
            protocol.close()
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Accept a connection, or reject it with 503."""
        super().connection_made(handler, transport)
        if isinstance(handler, ServerConnection):
            self._transports[handler] = transport
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
        if isinstance(handler, ServerConnection) and handler in self._transports:
            self._limit.progress.forget(self._transports.pop(handler))
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
        self._head_ended(handler)
        address = self._addresses.pop(handler, None)
        if address is not None:
            self._limit.leave(address)


def send(response: Response) -> web.Response:
    """Return *response* as an aiohttp response."""
    return web.Response(status=response.status, headers=_headers(response), body=response.body)


def with_all_fields(response: Response) -> Response:
    """Return *response* with the fields of every response, as they are sent.

    A response that is sent again from the cache is put together once only.
    """
    whole = replace(response, headers=_headers(response))
    if response.settled is not None:
        whole.mark_settled(response.settled)
    return whole


def _headers(response: Response | StreamingResponse) -> CIMultiDict[str]:
    """Return all fields of *response*; aiohttp adds its own to them."""
    if isinstance(response.headers, CIMultiDict):
        return response.headers.copy()
    headers = CIMultiDict(COMMON)
    headers.update(response.headers)
    return headers


_COUNTS_OCTETS: Final = sys.platform == "linux"
"""Whether the kernel tells how many octets a client has acknowledged."""
_ACKNOWLEDGED: Final = slice(120, 128)
"""The place of ``tcpi_bytes_acked`` in the ``tcp_info`` of Linux (since 4.1)."""
SHORT: Final = 16 * 1024
"""Octets. Longer bodies are counted while they are sent, like streamed ones. A shorter one fits
into the buffers of its connection, and connections are counted anyway."""
_PART: Final = 64 * 1024
"""Octets of a long body that are written at once."""


def taken_octets(transport: asyncio.Transport) -> int:
    """Return how many octets the client has acknowledged.

    Hundreds of kilobytes fit into the kernel's buffers, and it takes more in large pieces: what
    was written to the socket says little about a slow client. Where the kernel does not tell,
    the octets that wait to be written are used: any change of them is progress.
    """
    if not _COUNTS_OCTETS:
        return -transport.get_write_buffer_size()
    connection = transport.get_extra_info("socket")
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKNOWLEDGED.stop)
    return int.from_bytes(info[_ACKNOWLEDGED], sys.byteorder)


async def deliver(
    request: web.BaseRequest, response: Response | StreamingResponse, turns: FairTurns
) -> web.StreamResponse:
    """Send a long or streaming response, at the pace of the client, in parts that take *turns*.

    The connection is closed where the client takes too little (`ProgressRule`).
    """
    connection = request.protocol
    if not isinstance(connection, ServerConnection):
        raise TypeError("the request was not received by LimitedServer")
    try:
        if isinstance(response, Response):
            connection.sends = "long"
            return await _whole(request, response)
        connection.sends = "events" if response.is_event_stream else "long"
        return await _stream(request, response, turns)
    finally:
        connection.sends = "short"


async def _whole(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Send a long body in parts, so that the transport does not copy all of it."""
    sent = web.StreamResponse(status=response.status, headers=_headers(response))
    sent.content_length = len(response.body)
    # A client that disconnects meanwhile is no error.
    with suppress(ConnectionError):
        await sent.prepare(request)
        if request.method != "HEAD":
            body = memoryview(response.body)
            for start in range(0, len(body), _PART):
                await sent.write(body[start : start + _PART])
        await sent.write_eof()
    return sent


async def _stream(
    request: web.BaseRequest, response: StreamingResponse, turns: FairTurns
) -> web.StreamResponse:
    sent = web.StreamResponse(status=response.status, headers=_headers(response))
    async with aclosing(response.chunks) as chunks:
        try:
            await sent.prepare(request)
            if request.method == "HEAD":
                return sent
            await turns.enter()
            async for chunk in chunks:
                await sent.write(chunk)
                await turns.enter()
            await sent.write_eof()
        except ConnectionError:
            # The client has disconnected, or takes too little.
            return sent
        except (ArchiveError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
            raise
    return sent


async def body_of(request: web.BaseRequest, most: int, seconds: float) -> bytes:
    """Return the body of *request*. Raises EarlyResponse if it is too large or too slow."""
    received = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                received += chunk
                if len(received) > most:
                    detail = f"a body may have {most} bytes"
                    raise EarlyResponse(problem(413, "too-large", detail))
    except TimeoutError as error:
        raise EarlyResponse(
            problem(408, "timeout", f"the body did not arrive within {seconds:g} seconds")
        ) from error
    return bytes(received)
