"""HTTP client for archives: a `Fetcher` that sends requests, and turns every error into ours.

It sends a fixed set of fields, only to endpoints that `Egress` allows, limits the size of
bodies and reports incomplete ones. Errors of sockets, TLS and llhttp become `ArchiveError`s
here: Unreachable where no answer came, Misbehaved where the answer is no HTTP, Queued where
this machine could not send, Refused where the archive rejected the request. Each has a reason
that is shown to people. Rate limit and breaker wrap this fetcher and have the same signature.
"""

import asyncio
import errno
import os
import ssl
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import TracebackType
from typing import Final

from archives.errors import ArchiveError, Misbehaved, Queued, Refused, Resting, Unreachable
from archives.source import Purpose, Request
from timegate.config.secrets import Secret
from timegate.upstream.connection_pool import Connections, ForbiddenAddress
from timegate.upstream.content_coding import BadCoding, ContentDecoder
from timegate.upstream.dns import UnknownName
from timegate.upstream.egress import Egress, Endpoint, host_field
from timegate.upstream.http1 import (
    BrokenResponse,
    ConnectionDropped,
    Http1Connection,
    ResponseTimeouts,
    UpstreamResponse,
)

FOREIGN: Final = (BrokenResponse, OSError)
"""Every error of an exchange with an archive; TLS errors and timeouts are OSErrors."""
_LOCAL_FAULTS: Final = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
)
"""This machine has no descriptor, memory or port left. Taken for faults of the archives, these
errors would open all breakers at once, for 30 s."""
_RETRY_AFTER: Final = 1.0
"""Seconds until a request is tried again after such a local fault."""


def explained(archive: str, url: str, error: Exception) -> ArchiveError:
    """Translate an *error* that occurred before the head of an answer had arrived."""
    match error:
        case BrokenResponse():
            return Misbehaved(archive, url, f"broken HTTP: {_first_line(error)}")
        case ForbiddenAddress():
            return Misbehaved(
                archive, url, f"its name resolves to a forbidden address: {error}"
            )
        case OSError(errno=int(number)) if number in _LOCAL_FAULTS:
            return Queued(
                archive, url, f"no room for a connection: {os.strerror(number)}", _RETRY_AFTER
            )
        case _:
            why = _why_unreachable(error)
            return Unreachable(archive, url, why, no_network=_finds_no_way(error))


def explained_in_body(archive: str, url: str, error: Exception) -> ArchiveError:
    """Translate an *error* that occurred while the body was read.

    A timeout is Unreachable. A connection that ends too soon is Misbehaved, because a part of
    an answer must never be taken for the whole (R-21).
    """
    if isinstance(error, TimeoutError):
        return Unreachable(archive, url, _timeout(error))
    return Misbehaved(archive, url, f"body breaks off: {_first_line(error)}")


def _why_unreachable(error: Exception) -> str:
    match error:
        case UnknownName():
            return f"its name cannot be resolved: {_first_line(error.strerror or error)}"
        case ssl.SSLError():
            return f"TLS: {_why_untrusted(error)}"
        case TimeoutError():
            return _timeout(error)
        case ConnectionDropped():
            return _first_line(error)
        case OSError(errno=int(number)) if number > 0:
            return f"cannot connect: {os.strerror(number)}"
        case _:
            return f"no connection: {_first_line(error)}"


_NO_WAY: Final = frozenset((errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH))


def _finds_no_way(error: Exception) -> bool:
    """Whether there is no address or no route: often a fault of our own network."""
    if isinstance(error, UnknownName):
        return True
    return isinstance(error, OSError) and error.errno in _NO_WAY


def _why_untrusted(error: ssl.SSLError) -> str:
    """Return the reason of OpenSSL: "certificate has expired", "unsupported protocol"."""
    match error:
        case ssl.SSLCertVerificationError(verify_message=str(message)):
            return message.rstrip(".")
        case ssl.SSLError(reason=str(reason)):
            return reason.lower().replace("_", " ")
        case _:
            return _first_line(error)


def _timeout(error: TimeoutError) -> str:
    # A timeout of the kernel, after minutes of lost packets, has an errno and no message.
    if error.errno is not None:
        return f"connection lost: {os.strerror(error.errno)}"
    return _first_line(str(error) or "took too long in all")


def _first_line(error: object) -> str:
    """Return the message of *error* as one line: it may quote what the archive sent."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


SHORTEST: Final = 1.0
LONGEST: Final = 3600.0
"""Seconds. A cap for absurd values: after a Retry-After of a year the pause is an hour."""
UNSTATED: Final = 60.0
"""Seconds after a 429 without Retry-After. The Internet Archive blocks clients that ignore 429
in its firewall after a minute."""


def seconds_to_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the pause that a reply asks for with Retry-After; None where it asks for none."""
    stated = headers.get("retry-after", "").strip()
    wait = _seconds(stated) if stated.isascii() and stated.isdecimal() else None
    if wait is None and stated:
        wait = _until(stated, headers.get("date", ""))
    if wait is None:
        return UNSTATED if status == 429 else None
    return min(max(wait, SHORTEST), LONGEST)


def _seconds(digits: str) -> float:
    # More than nine digits are more than LONGEST, and need not be converted.
    return float(digits) if len(digits) <= 9 else LONGEST


def _until(stated: str, date: str) -> float | None:
    """Return the seconds until *stated*, by the archive's own clock where it sends Date."""
    until = _read_date(stated)
    if until is None:
        return None
    return (until - (_read_date(date) or datetime.now(UTC))).total_seconds()


def _read_date(text: str) -> datetime | None:
    """Return the date in *text*; None if it is no date.

    The parser of the standard library raises OverflowError for numbers that are too large, and
    has raised TypeError and IndexError in several versions.
    """
    try:
        read = parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, ArithmeticError, LookupError):
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


_HARMLESS: Final = 402
_REFUSALS: Final = (403, 429, 503)
_LOOP: Final = 508
"""RFC 5842 7.2, for a request that an aggregator finds to be its own."""
_FORWARDED: Final = {
    "accept": "Accept",
    "accept-datetime": "Accept-Datetime",
    "accept-encoding": "Accept-Encoding",
    "cdn-loop": "CDN-Loop",
    "access-control-request-headers": "Access-Control-Request-Headers",
    "access-control-request-method": "Access-Control-Request-Method",
    "if-modified-since": "If-Modified-Since",
    "if-none-match": "If-None-Match",
    "origin": "Origin",
    "prefer": "Prefer",
    "range": "Range",
}
"""Header fields of a request that are sent to an archive; no others are (R-9, R-23)."""
_DEFAULT_FIELDS: Final = {"Accept": "*/*", "Accept-Encoding": "gzip"}
_BODY_LIMITS: Final[Mapping[Purpose, int]] = {"index": 256 * 1024**2, "memento": 1024**3}
_ERROR_BODY_LIMIT: Final = 64 * 1024
_PIECE: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. Deadlines of resolutions are shorter; these end requests without a reader."""

    connect: float = 2.0
    """For DNS, and again for TCP."""
    tls: float = 3.0
    first_byte: float = 10.0
    """From the open connection to the end of the response head."""
    stall: float = 30.0
    """Between two reads, as in Kubo."""
    total: float = 60.0
    """For everything, body included, as in MemGator."""
    total_memento: float = 600.0
    """The same for mementos: archives hold videos."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            # pywb #310: a timeout of 0 made every archive time out.
            if not getattr(self, name) > 0:
                raise ValueError(f"the timeout {name!r} must be more than 0 seconds")


class HttpReply:
    """One request: a context manager in which its reply, which it is itself, may be read.

    The headers are as sent, content-encoding included.
    """

    __slots__ = ("_connection", "_fetcher", "_response", "headers", "request", "status", "url")

    _connection: Http1Connection
    _response: UpstreamResponse
    headers: Mapping[str, str]
    status: int

    def __init__(self, fetcher: "HttpFetcher", request: Request) -> None:
        self._fetcher = fetcher
        self.request = request
        self.url = request.url

    def __aenter__(self) -> Coroutine[object, object, "HttpReply"]:
        return self._fetcher.begin(self)

    def arrived(self, connection: Http1Connection, response: UpstreamResponse) -> None:
        """Take the head of the *response*; at the end, *connection* is given back."""
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers = response.headers

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A body that was not read to its end is discarded.
        self._fetcher.connections.give_back(self._connection)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed; see `Reply`."""
        try:
            decoder = ContentDecoder(self.headers.get("content-encoding", ""), self._limit())
            while data := await self._read():
                for piece in decoder.decode(data):
                    yield piece
                    if len(piece) > _PIECE:
                        # Much more may follow from this data: let other tasks run first.
                        await asyncio.sleep(0)
            decoder.finish(empty_is_whole=not self._response.ends_with_connection)
        except BadCoding as error:
            raise Misbehaved(self._fetcher.archive, self.url, f"body {error}") from error

    async def _read(self) -> bytes:
        try:
            return await self._connection.read(self._response)
        except FOREIGN as error:
            raise explained_in_body(self._fetcher.archive, self.url, error) from error

    def _limit(self) -> int:
        if self.status >= 400 and "memento-datetime" not in self.headers:
            return _ERROR_BODY_LIMIT
        return _BODY_LIMITS[self.request.purpose]


class HttpFetcher:
    """Sends the requests to one archive over the connections of its host."""

    def __init__(
        self,
        egress: Egress,
        connections: Connections,
        user_agent: str,
        timeouts: Timeouts,
        authorization: tuple[Endpoint, Secret] | None = None,
    ) -> None:
        """Send *authorization* to its endpoint alone, and only over https."""
        self.archive = egress.archive
        self._egress = egress
        self.connections = connections
        self._response_timeouts: Mapping[Purpose, ResponseTimeouts] = {
            "memento": ResponseTimeouts(
                timeouts.first_byte, timeouts.stall, timeouts.total_memento
            ),
            "index": ResponseTimeouts(timeouts.first_byte, timeouts.stall, timeouts.total),
        }
        self._heads = {
            each: f" HTTP/1.1\r\nHost: {host_field(each)}\r\nUser-Agent: {user_agent}\r\n"
            for each in egress.endpoints
        }
        if authorization is not None and authorization[0].scheme == "https":
            endpoint, secret = authorization
            self._heads[endpoint] += f"Authorization: {secret.reveal()}\r\n"

    def __call__(self, request: Request) -> HttpReply:
        return HttpReply(self, request)

    def begin(self, reply: HttpReply) -> Coroutine[object, object, HttpReply]:
        """Send the request of *reply*; the coroutine returns it when its head has arrived."""
        request = reply.request
        endpoint, path = self._egress.check(request.url)
        fields = _fields(tuple(request.headers.items()))
        head = f"{request.method} {path}{self._heads[endpoint]}{fields}\r\n"
        return self._send(reply, endpoint, head.encode("ascii"))

    async def _send(self, reply: HttpReply, endpoint: Endpoint, data: bytes) -> HttpReply:
        connections, request = self.connections, reply.request
        timeouts, to_head = self._response_timeouts[request.purpose], request.method == "HEAD"
        connection = connections.idle(endpoint) or await self._opened(request, endpoint)
        while True:
            try:
                response = await connection.ask(data, timeouts, to_head=to_head)
                # Responses that arrive together are processed in turns.
                if not connections.turns.enter_now():
                    await connections.turns.enter()
            except FOREIGN as error:
                is_stale = _is_stale(connection, error)
                connections.give_back(connection)
                if not is_stale:
                    raise explained(self.archive, request.url, error) from error
                # The server closed the idle connection while the request was under way. This
                # is no fault, and the only case in which a request is sent again (RFC 9112
                # 9.3.1): once, and on a new connection, where it cannot happen.
                connection = await self._opened(request, endpoint)
            except BaseException:
                connections.give_back(connection)
                raise
            else:
                reply.arrived(connection, response)
                if response.status > _HARMLESS and "memento-datetime" not in response.headers:
                    self._check_refusal(reply, connection)
                return reply

    async def _opened(self, request: Request, endpoint: Endpoint) -> Http1Connection:
        try:
            return await self.connections.opened(endpoint)
        except FOREIGN as error:
            raise explained(self.archive, request.url, error) from error

    def _check_refusal(self, reply: HttpReply, connection: Http1Connection) -> None:
        if reply.status == _LOOP:
            self.connections.give_back(connection)
            # It says nothing about the archive: another request may succeed at once.
            why = "refuses the request, because it has come back to it (508, a loop)"
            raise Resting(self.archive, reply.url, why, 1.0)
        if reply.status in _REFUSALS:
            self.connections.give_back(connection)
            wait = seconds_to_wait(reply.status, reply.headers)
            raise Refused(self.archive, reply.url, reply.status, wait, reply.headers)


def _is_stale(connection: Http1Connection, error: Exception) -> bool:
    """Whether a connection that was used before ended without a single byte of a response."""
    return (
        isinstance(error, ConnectionDropped) and connection.used and not connection.has_received
    )


# One request of a client asks many archives with the same fields.
@lru_cache(maxsize=256)
def _fields(headers: tuple[tuple[str, str], ...]) -> str:
    """Return the fields to send. Raises ValueError for a value that is not one ASCII line."""
    fields = _DEFAULT_FIELDS.copy()
    for name, value in headers:
        canonical = _FORWARDED.get(name.lower())
        if canonical is None:
            continue
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{canonical} cannot be sent: {value!r}")
        fields[canonical] = value
    return "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
