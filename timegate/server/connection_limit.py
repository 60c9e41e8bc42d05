"""aiohttp's server with a bounded number of connections, in all and from one client.

Who comes when there is no room takes the place of somebody who has not said what they want in
all the time there was for it. If nobody is like that, who comes gets a 503 and is hung up on,
without a request being read. The bound lies below the kernel's limit of open files: there
nobody could be told anything.

What cannot be read as HTTP is refused in our words; aiohttp would quote it.
"""

import asyncio
import resource
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from timegate.access.networks import Networks, household
from timegate.responses.model import Response
from timegate.responses.problems import problem
from timegate.server.client_quota import peer_address

_FILES_OF_OUR_OWN: Final = 32
"""Of the process: standard streams, event loop, a listener, files of the cache."""
_AT_A_TURN: Final = 8
_SAY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n"
    b"Content-Length: 22\r\nConnection: close\r\n\r\ntoo many connections.\n"
)
_UNREADABLE: Final = (
    "this is no request of HTTP/1.1, or has too long a line, or a character that has no place "
    "there: other alphabets are written percent-encoded"
)
# Older curl sends what it is given. Putting it right ourselves is what RFC 9112 3.2 warns of:
# others on the way may have read the line otherwise.
_UNENCODED: Final = (
    "a character in the address has no place there as it is: write what is not ASCII "
    "percent-encoded, \u00fc as %C3%BC"
)
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class ConnectionLimit:
    """How many connections there may be, and how many there are."""

    most: int = 10_000
    per_client: int = 32
    uncounted: Networks = field(default_factory=Networks)
    """Trusted proxies, and clients that have no share to keep to."""
    refused: Callable[[str], None] = lambda _: None
    soon: float = 1.0
    """Seconds in which who connects says what they want, where there is no room for others."""
    total: int = 0
    _clients: Counter[str] = field(default_factory=Counter)

    @property
    def full(self) -> bool:
        """Whether one more connection would be refused."""
        return self.total >= self.most

    @property
    def at_a_turn(self) -> int:
        """How many may come at one turn of the loop; they need files before they are counted.

        libuv, since 1.45, lets in one for each listener: at three times what we can do, health
        was told after 4.6 s of waiting at the door.
        """
        return max(1, min(_AT_A_TURN, self.most // _AT_A_TURN))

    def enter(self, address: str) -> str | None:
        """Count a connection and return None, or return why there is no room for it."""
        if self.total >= self.most:
            return "connections"
        if address not in self.uncounted:
            client = household(address)
            if self._clients[client] >= self.per_client:
                return "connections-per-client"
            self._clients[client] += 1
        self.total += 1
        return None

    def leave(self, address: str) -> None:
        """Count a connection off that was let in."""
        self.total -= 1
        client = household(address)
        if client in self._clients:
            self._clients[client] -= 1
            if self._clients[client] <= 0:
                del self._clients[client]


def files_allow(wanted: int, besides: int) -> int:
    """Return how many connections there may be, with the limit of open files raised for them.

    *besides*: how many other files there may be, if half of all are enough for them; listeners
    and who is just being sent away among them.
    """
    besides += 2 * _AT_A_TURN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + besides + _FILES_OF_OUR_OWN
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    left = soft - _FILES_OF_OUR_OWN
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


class ServerConnection(RequestHandler):
    """A connection whose client is told what is wrong, but nothing of what it sent (E-1)."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what was no request. It is the client's fault, and no line in our log."""
        if status != HTTPStatus.BAD_REQUEST:
            return super().handle_error(request, status, exc, message)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is under way, there is no place for another")
        why = _UNENCODED if isinstance(exc, InvalidURLError) else _UNREADABLE
        told = send(problem(400, "bad-request", why))
        told.force_close()
        return told


class LimitedServer(web.Server):
    """A server that counts its connections."""

    def __init__(
        self,
        handler: Handler,
        room: ConnectionLimit,
        *,
        head_deadline: float,
        **options: object,
    ) -> None:
        """*head_deadline*: seconds for the first request; aiohttp's timer is for later ones.

        Both would be the same otherwise (M1).
        """
        super().__init__(handler, request_factory=self._read, **options)  # type: ignore[arg-type]
        self._room = room
        self._head_deadline = head_deadline
        self._inside: dict[RequestHandler, str] = {}
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}
        """Who has not sent a whole head yet, the one that came first before all others."""

    def __call__(self) -> RequestHandler:
        """Make what talks to a client that came."""
        return ServerConnection(self, loop=self._loop, **self._kwargs)

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
        """Let a connection in, or turn it away."""
        super().connection_made(handler, transport)
        address = peer_address(transport.get_extra_info("peername"))
        reason = self._room.enter(address)
        if reason == "connections" and self._send_off_one():
            reason = self._room.enter(address)
        if reason is None:
            self._inside[handler] = address
            loop = asyncio.get_running_loop()
            self._silent[handler] = loop.call_later(self._head_deadline, transport.close)
            return
        self._room.refused(reason)
        transport.write(_SAY)
        handler.close()
        transport.close()

    def connection_lost(
        self, handler: RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Note that a connection is gone."""
        super().connection_lost(handler, exc)
        self._count_off(handler)

    def _send_off_one(self) -> bool:
        """Hang up on who has been silent for longest, if that is long enough."""
        for handler, timer in self._silent.items():
            came = timer.when() - self._head_deadline
            if asyncio.get_running_loop().time() < came + self._room.soon:
                return False
            self._room.refused("silent")
            handler.force_close()
            self._count_off(handler)
            return True
        return False

    def _count_off(self, handler: RequestHandler) -> None:
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()
        address = self._inside.pop(handler, None)
        if address is not None:
            self._room.leave(address)


def send(response: Response) -> web.Response:
    """Return *response* for aiohttp, which sends it."""
    headers = CIMultiDict(COMMON)
    headers.update(response.headers)
    return web.Response(status=response.status, headers=headers, body=response.body)
