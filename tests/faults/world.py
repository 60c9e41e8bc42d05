"""Archives whose responses arrive as octets, without sockets and in virtual time.

The product reads them with its own HTTP client; only the transport below it is replaced. One
archive of the world is broken: its responses have a fault at one position. The oracle sees what
that archive really sends: HTTP is read by llhttp, as in the product, and the rest by itself.
"""

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from archives.errors import Unreachable
from archives.model import ArchiveEntry
from archives.source import Fetcher
from tests.faults.octets import NO_FAULT, ByteFault, Delivery, octets_of
from tests.truth.world import Exchange, LyingArchive, Served, World
from timegate.misbehave.wire import WholeAnswer, WireRequest
from timegate.upstream.connection_pool import Connections, Dialling
from timegate.upstream.egress import Egress, Endpoint
from timegate.upstream.http1 import BUFFER, BrokenResponse, Http1Connection, UpstreamResponse
from timegate.upstream.http_client import HttpFetcher, Timeouts

_AT_ONCE: Final = 8
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_URI: Final = "".join(set(_PRINTABLE) - set(' "<>'))


@dataclass
class WireArchive(LyingArchive):
    """An archive that sends octets, of which those for some requests have a fault."""

    framing: str = "length"
    fault: ByteFault = NO_FAULT
    position: int = 0
    hits: Callable[[WireRequest], bool] = lambda _: False
    struck: int = 0
    """Number of responses sent with the fault."""

    def octets(self, request: WireRequest) -> bytes:
        """Return the whole response to *request*, without a fault."""
        reply = self.archive.reply(request)
        if not isinstance(reply, WholeAnswer):
            raise TypeError(f"{self.id} has other faults than those of octets")
        return octets_of(reply, request.method, self.framing)

    def delivery(self, request: WireRequest) -> Delivery:
        """Return how the response to *request* is sent."""
        octets = self.octets(request)
        sent = NO_FAULT(octets, len(octets))
        if self.hits(request):
            self.struck += 1
            sent = self.fault(octets, min(self.position, len(octets)))
        if b"\r\nConnection: close\r\n" in octets and sent.ending == "stays":
            return sent._replace(ending="closed")
        return sent

    async def serve(self, method: str, url: str, headers: Mapping[str, str]) -> Served:
        """Answer the oracle as every other client. Raises Unreachable where nobody can read."""
        fields = tuple((name.lower(), value) for name, value in headers.items())
        request = WireRequest(method, url[len(self.base) :], fields)
        outcome = reading(self.delivery(request), method)
        if isinstance(outcome, str):
            raise Unreachable(self.id, url, outcome)
        return outcome


def reading(delivery: Delivery, method: str) -> Served | str:
    """Return a response as a client sees it, or why it sees none."""
    response, broken = UpstreamResponse(to_head=method == "HEAD"), False
    try:
        response.feed(delivery.in_time)
    except BrokenResponse:
        broken = True
    if not response.has_head:
        return "no head"
    if delivery.ending == "closed" and not broken:
        response.end()
    # Only a response that ends with its connection may lack something that nobody can see.
    unseen = response.ends_with_connection and delivery.ending == "closed"
    whole = response.complete and not broken and (unseen or not delivery.lacks)
    headers = {name: _sendable(name, value) for name, value in response.headers.items()}
    return Served(response.status, headers, _decoded(response) if whole else None)


def _sendable(name: str, value: str) -> str:
    """Return a field with its addresses as a client requests them, and as the product does."""
    safe = {"location": _URI, "content-location": _URI, "link": _PRINTABLE}.get(name)
    return value if safe is None else quote(value, safe=safe, errors="surrogateescape")


def _decoded(response: UpstreamResponse) -> bytes | None:
    """Return the body without its coding; None if it is not whole."""
    body, coding = response.take(), response.headers.get("content-encoding")
    if not coding or not body:
        return body
    stream = zlib.decompressobj(31)
    try:
        decoded = stream.decompress(body)
    except zlib.error:
        return None
    return decoded if stream.eof else None


class _Transport(asyncio.Transport):
    """A transport without a socket: what is written is a request, and is answered at once."""

    def __init__(self, protocol: Http1Connection, answer: Callable[[bytes], Delivery]) -> None:
        super().__init__()
        self._protocol = protocol
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[bytes, float]] = deque()
        self._ending = ""
        self._closed = False
        self._paused = False
        self._timer: asyncio.Handle | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        delivery = self._answer(bytes(data))
        self._queue.extend(delivery.pieces)
        self._ending = delivery.ending
        self._next()

    def is_closing(self) -> bool:
        return self._closed

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._next()

    def abort(self) -> None:
        self._lose(None)

    def _next(self) -> None:
        if self._timer is not None or self._closed or self._paused:
            return
        if self._queue:
            self._timer = self._loop.call_later(self._queue[0][1], self._deliver)
        elif self._ending in ("closed", "reset"):
            self._timer = self._loop.call_soon(self._end)

    def _deliver(self) -> None:
        self._timer = None
        octets, _ = self._queue.popleft()
        for start in range(0, len(octets), BUFFER):
            part = octets[start : start + BUFFER]
            if not self._closed:
                self._protocol.get_buffer(-1)[: len(part)] = part
                self._protocol.buffer_updated(len(part))
        self._next()

    def _end(self) -> None:
        if self._ending == "reset":
            self._lose(ConnectionResetError(104, "Connection reset by peer"))
            return
        self._protocol.eof_received()
        self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._loop.call_soon(self._protocol.connection_lost, error)


class _WireConnections(Connections):
    """Connections that need no network."""

    def __init__(self, answer: Callable[[bytes], Delivery]) -> None:
        unused: Any = None  # Names and certificates are for real connections.
        dialling = Dialling(unused, unused, bytearray(BUFFER), 1.0, 1.0)
        super().__init__(_AT_ONCE, lambda _: None, dialling)
        self._answer = answer
        self._buffer = dialling.buffer

    async def opened(self, endpoint: Endpoint) -> Http1Connection:
        await asyncio.sleep(0)
        connection = Http1Connection(endpoint, self._buffer, self._forget)
        self._open.add(connection)
        connection.connection_made(_Transport(connection, self._answer))
        return connection


class WireWorld(World):
    """A world in which the product reads octets."""

    def __init__(self, archives: Sequence[WireArchive]) -> None:
        super().__init__(archives)
        self._wired = {archive.id: archive for archive in archives}

    def at(self, url: str) -> LyingArchive | None:
        """Return the archive of *url*; the case of scheme and host does not count."""
        start = "/".join(url.split("/", 3)[:3])
        return super().at(start.lower() + url[len(start) :])

    def network(self, entry: ArchiveEntry) -> Fetcher:
        archive = self._wired[entry.id]

        def answer(octets: bytes) -> Delivery:
            request = _request(octets)
            delivery = archive.delivery(request)
            outcome = reading(delivery, request.method)
            url = f"{archive.base}{request.target}"
            self.journal.append(Exchange(archive.id, request.method, url, outcome))
            return delivery

        return HttpFetcher(
            Egress.of(entry, allow_private=False),
            _WireConnections(answer),
            "faults",
            Timeouts(),
        )


def _request(octets: bytes) -> WireRequest:
    line, *lines = octets.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    pairs = (line.partition(": ") for line in lines)
    return WireRequest(method, target, tuple((name.lower(), value) for name, _, value in pairs))
