"""The aiohttp client as a `Fetcher`: the one place that talks to the network.

Sends what is asked and nothing else, octet by octet, only where `Egress` allows; reads no more
than it must, and says so when an answer is not whole. Politeness and breaker wrap what is
built here; they have the same signature.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp.http_parser import HttpResponseParser
from yarl import URL

from archives.errors import Misbehaved, Refused
from archives.source import Purpose, Request
from timegate.upstream.coding import BadCoding, Decoder
from timegate.upstream.connection import Attempt
from timegate.upstream.egress import Egress, Target
from timegate.upstream.retry_after import seconds_to_wait
from timegate.upstream.translation import translated, translated_body

_GO_AWAY: Final = (403, 429, 503)
_SENT: Final = ("accept", "accept-datetime", "accept-encoding", "prefer", "range")
"""Nothing else of a request goes to an archive: R9, R23."""
_OURS: Final = {"accept": "*/*", "accept-encoding": "gzip"}
_BODY_LIMITS: Final[Mapping[Purpose, int]] = {"index": 256 * 1024**2, "memento": 1024**3}
_ERROR_BODY_LIMIT: Final = 64 * 1024
_HEAD_LIMIT: Final = 256 * 1024
_PIECE: Final = 64 * 1024


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


class AiohttpReply:
    """A `Reply` over an open response. The headers are as sent, content-encoding included."""

    def __init__(
        self, archive: str, request: Request, response: aiohttp.ClientResponse
    ) -> None:
        self.url = request.url
        self.status = response.status
        self.headers: Mapping[str, str] = _joined(response)
        self._archive = archive
        self._purpose: Purpose = request.purpose
        self._response = response
        self._ends_with_connection = not (
            request.method == "HEAD"
            or self.status in (204, 304)
            or self.headers.keys() & {"content-length", "transfer-encoding"}
        )
        self._watch_connection()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed; see `Reply`."""
        try:
            decoder = Decoder(self.headers.get("content-encoding", ""), self._limit())
            while data := await self._read():
                for piece in decoder.decode(data):
                    yield piece
                    if len(piece) > _PIECE:
                        # There may be much more in it: let others run before it is unpacked.
                        await asyncio.sleep(0)
            decoder.finish(empty_is_whole=not self._ends_with_connection)
        except BadCoding as error:
            raise Misbehaved(self._archive, self.url, f"body {error}") from error

    async def _read(self) -> bytes:
        content = self._response.content
        with translated_body(self._archive, self.url):
            data = await content.read(_PIECE)
            lost = content.exception()
            if not data and lost is not None:
                raise lost
        return data

    def _limit(self) -> int:
        if self.status >= 400 and "memento-datetime" not in self.headers:
            return _ERROR_BODY_LIMIT
        return _BODY_LIMITS[self._purpose]

    def _watch_connection(self) -> None:
        """Have the end of the connection end the body, where aiohttp 3.14.5 does not tell.

        After garbage between two chunks it closes the connection and leaves the reader waiting
        until the total timeout; and to a body without stated length, a reset is a proper end.
        """
        connection = self._response.connection
        protocol = connection.protocol if connection is not None else None
        closed = protocol.closed if protocol is not None else None
        if closed is not None:
            closed.add_done_callback(self._connection_lost)

    def _connection_lost(self, closed: asyncio.Future[None]) -> None:
        content = self._response.content
        reset = closed.exception() is not None and self._ends_with_connection
        if content.exception() is None and (reset or not content.is_eof()):
            content.set_exception(aiohttp.ClientPayloadError("connection lost"))


class AiohttpFetcher:
    """Sends the requests for one archive over one session."""

    def __init__(
        self,
        egress: Egress,
        session: aiohttp.ClientSession,
        user_agent: str,
        timeouts: Timeouts,
    ) -> None:
        self._archive = egress.archive
        self._egress = egress
        self._session = session
        self._user_agent = user_agent
        self._timeouts = timeouts

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[AiohttpReply]:
        target = self._egress.check(request.url)
        response = await self._answer(request, target)
        try:
            self._check_head(request.url, response)
            reply = AiohttpReply(self._archive, request, response)
            if reply.status in _GO_AWAY and "memento-datetime" not in reply.headers:
                wait = seconds_to_wait(reply.status, reply.headers)
                raise Refused(self._archive, request.url, reply.status, wait)
            yield reply
        finally:
            response.release()

    async def _answer(self, request: Request, target: Target) -> aiohttp.ClientResponse:
        limits = self._timeouts
        secure = target.endpoint.scheme == "https"
        connecting = limits.connect + (limits.tls if secure else 0)
        total = limits.total_memento if request.purpose == "memento" else limits.total
        attempt = Attempt()
        head_deadline = limits.connect + connecting + limits.first_byte
        with translated(self._archive, request.url):
            try:
                async with asyncio.timeout(head_deadline):
                    return await self._session.request(
                        request.method,
                        _url(target),
                        headers=self._headers(request),
                        allow_redirects=False,
                        middlewares=(attempt,),
                        trace_request_ctx=attempt,
                        timeout=aiohttp.ClientTimeout(
                            total=total, sock_connect=connecting, sock_read=limits.stall
                        ),
                    )
            except TimeoutError as error:
                if isinstance(error, aiohttp.ServerTimeoutError):
                    raise
                raise TimeoutError("did not answer in time") from error

    def _headers(self, request: Request) -> dict[str, str]:
        asked = {name.lower(): value for name, value in request.headers.items()}
        sent = {name: value for name, value in (_OURS | asked).items() if name in _SENT}
        return sent | {"user-agent": self._user_agent}

    def _check_head(self, url: str, response: aiohttp.ClientResponse) -> None:
        if response.status < 200:
            raise Misbehaved(self._archive, url, f"answered with {response.status}")
        size = sum(len(name) + len(value) for name, value in response.raw_headers)
        if size > _HEAD_LIMIT:
            raise Misbehaved(self._archive, url, f"sent {size:,} bytes of headers")


def _url(target: Target) -> URL:
    """Return a URL that aiohttp sends unaltered: the query is part of the path here."""
    scheme, host, port = target.endpoint
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return URL.build(scheme=scheme, authority=authority, path=target.path, encoded=True)


def _joined(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    """Return the headers with repeated ones, Link above all, joined as RFC 9110 5.2 says."""
    joined: dict[str, str] = {}
    for written, value in response.headers.items():
        name = written.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def check_parser(parser: type = HttpResponseParser, *, allow_python: bool = False) -> None:
    """Raise RuntimeError unless aiohttp parses with llhttp (R31).

    The parser in Python is slower and has had smuggling flaws of its own.
    """
    if parser.__module__ != "aiohttp._http_parser" and not allow_python:
        raise RuntimeError(
            "aiohttp runs without its C parser, which we do not trust with foreign answers: "
            "install a binary wheel of aiohttp, unset AIOHTTP_NO_EXTENSIONS, or allow the "
            "Python parser explicitly"
        )
