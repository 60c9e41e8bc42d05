"""Our HTTP client as a `Fetcher`: the one place that talks to the network.

Sends what is asked and nothing else, octet by octet, only where `Egress` allows; reads no more
than it must, and says so when an answer is not whole. Politeness and breaker wrap what is
built here; they have the same signature.
"""

import asyncio
import errno
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final

from archives.errors import ArchiveError, Misbehaved, Queued, Refused, Unreachable
from archives.source import Purpose, Request
from timegate.config.secrets import Secret
from timegate.upstream.connection_pool import Connections, ForbiddenAddress
from timegate.upstream.content_coding import BadCoding, ContentDecoder
from timegate.upstream.dns import UnknownName
from timegate.upstream.egress import Egress, Endpoint, Target
from timegate.upstream.http1 import (
    BrokenResponse,
    ConnectionDropped,
    Http1Connection,
    ResponseTimeouts,
    UpstreamResponse,
)

FOREIGN: Final = (BrokenResponse, OSError)
"""All that may go wrong between us and an archive; TLS and timeouts are OSErrors."""
_LOCAL_FAULTS: Final = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
)
"""No descriptor, memory or port is left here. Taken for faults of the archives, these would put
all of them to rest at once, for 30 s."""
_MOMENT: Final = 1.0


def explained(archive: str, url: str, error: Exception) -> ArchiveError:
    """Return what it means that *error* came before an answer."""
    match error:
        case BrokenResponse():
            return Misbehaved(archive, url, f"broken HTTP: {_first_line(error)}")
        case ForbiddenAddress():
            return Misbehaved(archive, url, f"its name leads where we must not go: {error}")
        case OSError(errno=int(number)) if number in _LOCAL_FAULTS:
            return Queued(
                archive, url, f"no room for a connection: {os.strerror(number)}", _MOMENT
            )
        case _:
            return Unreachable(archive, url, _why_unreachable(error))


def explained_in_body(archive: str, url: str, error: Exception) -> ArchiveError:
    """Return what it means that *error* came while the body was read.

    Silence is Unreachable; a connection that ends too soon is Misbehaved, because part of an
    answer must never be taken for the whole.
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


def _why_untrusted(error: ssl.SSLError) -> str:
    """Say what OpenSSL said: "certificate has expired", "unsupported protocol"."""
    match error:
        case ssl.SSLCertVerificationError(verify_message=str(message)):
            return message.rstrip(".")
        case ssl.SSLError(reason=str(reason)):
            return reason.lower().replace("_", " ")
        case _:
            return _first_line(error)


def _timeout(error: TimeoutError) -> str:
    # The kernel's own, after minutes of lost packets, has a number instead of our words.
    if error.errno is not None:
        return f"connection lost: {os.strerror(error.errno)}"
    return _first_line(str(error) or "took too long in all")


def _first_line(error: object) -> str:
    """Return what *error* says, fit for one line: it may quote what the archive sent."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


SHORTEST: Final = 1.0
LONGEST: Final = 3600.0
"""A cap against lies: who says a year is asked again after an hour."""
UNSTATED: Final = 60.0
"""The Internet Archive's answer to 429s that are ignored is a firewall block after a minute."""


def seconds_to_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return how long a reply asks us to stay away; None where it does not say."""
    stated = headers.get("retry-after", "").strip()
    wait = _seconds(stated) if stated.isascii() and stated.isdecimal() else None
    if wait is None and stated:
        wait = _until(stated, headers.get("date", ""))
    if wait is None:
        return UNSTATED if status == 429 else None
    return min(max(wait, SHORTEST), LONGEST)


def _seconds(digits: str) -> float:
    # Longer than nine digits is longer than LONGEST; int() need not see them all.
    return float(digits) if len(digits) <= 9 else LONGEST


def _until(stated: str, date: str) -> float | None:
    """Return the time until *stated*, by the archive's own clock where it shows one."""
    until = _read_date(stated)
    if until is None:
        return None
    return (until - (_read_date(date) or datetime.now(UTC))).total_seconds()


def _read_date(text: str) -> datetime | None:
    """Return the date in *text*; None for any text that is none.

    The parser of the standard library raises OverflowError for numbers that fit no field, and
    has raised TypeError and IndexError in several of its versions.
    """
    try:
        read = parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, ArithmeticError, LookupError):
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


_GO_AWAY: Final = (403, 429, 503)
_SENT: Final = {
    "accept": "Accept",
    "accept-datetime": "Accept-Datetime",
    "accept-encoding": "Accept-Encoding",
    "access-control-request-headers": "Access-Control-Request-Headers",
    "access-control-request-method": "Access-Control-Request-Method",
    "origin": "Origin",
    "prefer": "Prefer",
    "range": "Range",
}
"""Nothing else of a request goes to an archive: R9, R23."""
_DEFAULT_FIELDS: Final = {"Accept": "*/*", "Accept-Encoding": "gzip"}
_USUAL_PORTS: Final = (("http", 80), ("https", 443))
_BODY_LIMITS: Final[Mapping[Purpose, int]] = {"index": 256 * 1024**2, "memento": 1024**3}
_ERROR_BODY_LIMIT: Final = 64 * 1024
_PIECE: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. Outer deadlines belong to who asks; these only end what nobody waits for."""

    connect: float = 2.0
    """For the name, and again for TCP."""
    tls: float = 3.0
    first_byte: float = 10.0
    """From the open connection to the end of the response head."""
    stall: float = 30.0
    """Between two reads, as in Kubo."""
    total: float = 60.0
    """For everything, body included; MemGator's."""
    total_memento: float = 600.0
    """The same for mementos: archives hold videos."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            # pywb #310: a timeout of 0 made every archive time out.
            if not getattr(self, name) > 0:
                raise ValueError(f"the timeout {name!r} must be more than 0 seconds")


class HttpReply:
    """A `Reply` over a connection. The headers are as sent, content-encoding included."""

    __slots__ = ("_answer", "_archive", "_connection", "_purpose", "headers", "status", "url")

    def __init__(
        self,
        archive: str,
        request: Request,
        connection: Http1Connection,
        answer: UpstreamResponse,
    ) -> None:
        self.url = request.url
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers
        self._archive = archive
        self._purpose: Purpose = request.purpose
        self._connection = connection
        self._answer = answer

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed; see `Reply`."""
        try:
            decoder = ContentDecoder(self.headers.get("content-encoding", ""), self._limit())
            while data := await self._read():
                for piece in decoder.decode(data):
                    yield piece
                    if len(piece) > _PIECE:
                        # There may be much more in it: let others run before it is unpacked.
                        await asyncio.sleep(0)
            decoder.finish(empty_is_whole=not self._answer.ends_with_connection)
        except BadCoding as error:
            raise Misbehaved(self._archive, self.url, f"body {error}") from error

    async def _read(self) -> bytes:
        try:
            return await self._connection.read(self._answer)
        except FOREIGN as error:
            raise explained_in_body(self._archive, self.url, error) from error

    def _limit(self) -> int:
        if self.status >= 400 and "memento-datetime" not in self.headers:
            return _ERROR_BODY_LIMIT
        return _BODY_LIMITS[self._purpose]


class HttpFetcher:
    """Sends the requests for one archive over the connections of its host."""

    def __init__(
        self,
        egress: Egress,
        connections: Connections,
        user_agent: str,
        timeouts: Timeouts,
        authorization: tuple[Endpoint, Secret] | None = None,
    ) -> None:
        """Send *authorization* to its endpoint alone, and only over https."""
        self._archive = egress.archive
        self._egress = egress
        self._connections = connections
        self._timeouts = timeouts
        self._heads = {
            endpoint: f" HTTP/1.1\r\nHost: {_host(endpoint)}\r\nUser-Agent: {user_agent}\r\n"
            for endpoint in egress.endpoints
        }
        if authorization is not None and authorization[0].scheme == "https":
            endpoint, secret = authorization
            self._heads[endpoint] += f"Authorization: {secret.reveal()}\r\n"

    def __call__(self, request: Request) -> "_Exchange":
        return _Exchange(self, request)

    async def begin(self, request: Request) -> tuple[Http1Connection, HttpReply]:
        """Send *request*; return what is to be given back to `end`, and the reply."""
        target = self._egress.check(request.url)
        octets = self._octets(request, target)
        try:
            connection, answer = await self._answered(request, target.endpoint, octets)
        except FOREIGN as error:
            raise explained(self._archive, request.url, error) from error
        reply = HttpReply(self._archive, request, connection, answer)
        if reply.status in _GO_AWAY and "memento-datetime" not in reply.headers:
            self.end(connection)
            wait = seconds_to_wait(reply.status, reply.headers)
            raise Refused(self._archive, request.url, reply.status, wait)
        return connection, reply

    def end(self, connection: Http1Connection) -> None:
        """End the exchange; a body that was not read to its end is given up."""
        self._connections.give_back(connection)

    async def _answered(
        self, request: Request, endpoint: Endpoint, octets: bytes
    ) -> tuple[Http1Connection, UpstreamResponse]:
        pace, to_head = self._pace(request.purpose), request.method == "HEAD"
        connection = self._connections.idle(endpoint)
        if connection is not None:
            try:
                return connection, await self._asked(connection, octets, pace, to_head=to_head)
            except _Stale:
                # It was closed while our request was under way, which is nobody's fault and
                # the one case that is tried again (RFC 9112 9.3.1, S8): once, and on a new
                # connection, where it cannot happen.
                pass
        connection = await self._connections.opened(endpoint)
        return connection, await self._asked(connection, octets, pace, to_head=to_head)

    async def _asked(
        self,
        connection: Http1Connection,
        octets: bytes,
        pace: ResponseTimeouts,
        *,
        to_head: bool,
    ) -> UpstreamResponse:
        try:
            answer = await connection.ask(octets, pace, to_head=to_head)
            await self._connections.turn()
        except BaseException as error:
            stale = (
                isinstance(error, ConnectionDropped)
                and connection.used
                and not connection.heard
            )
            self.end(connection)
            if stale:
                raise _Stale from error
            raise
        return answer

    def _pace(self, purpose: Purpose) -> ResponseTimeouts:
        limits = self._timeouts
        total = limits.total_memento if purpose == "memento" else limits.total
        now = asyncio.get_running_loop().time()
        return ResponseTimeouts(limits.first_byte, limits.stall, now + total)

    def _octets(self, request: Request, target: Target) -> bytes:
        endpoint, path = target
        head = f"{request.method} {path}{self._heads[endpoint]}{_fields(request.headers)}\r\n"
        return head.encode("ascii")


class _Stale(Exception):
    """A kept connection ended before a single octet of an answer."""


class _Exchange:
    """One request, as a context in which its reply may be read."""

    __slots__ = ("_connection", "_fetcher", "_request")

    def __init__(self, fetcher: HttpFetcher, request: Request) -> None:
        self._fetcher = fetcher
        self._request = request
        self._connection: Http1Connection | None = None

    async def __aenter__(self) -> HttpReply:
        self._connection, reply = await self._fetcher.begin(self._request)
        return reply

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection is not None:
            self._fetcher.end(self._connection)
            self._connection = None


def _host(endpoint: Endpoint) -> str:
    scheme, host, port = endpoint
    name = f"[{host}]" if ":" in host else host
    return name if (scheme, port) in _USUAL_PORTS else f"{name}:{port}"


def _fields(asked: Mapping[str, str]) -> str:
    """Return the fields to send. Raises ValueError for what would end a line."""
    sent = _DEFAULT_FIELDS.copy()
    for name, value in asked.items():
        written = _SENT.get(name.lower())
        if written is None:
            continue
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{written} cannot be sent: {value!r}")
        sent[written] = value
    return "".join([f"{name}: {value}\r\n" for name, value in sent.items()])
