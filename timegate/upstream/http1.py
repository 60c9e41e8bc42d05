"""One HTTP/1.1 connection to an archive, and the response that arrives on it (RFC 9112).

A connection carries one request at a time and is kept alive in between. It has a single timer,
which checks when it fires whether the deadline has moved meanwhile. That is nearly always so,
and a request needs no timer of its own. Responses are limited in size, time and number of
fields.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from timegate.upstream.egress import Endpoint

FIELD_LIMIT: Final = 64 * 1024
"""Bytes. A Link field may repeat a long URL five times; the usual 8 kB are too little."""
FIELD_COUNT: Final = 256
HEAD_LIMIT: Final = 256 * 1024
INTERIM_LIMIT: Final = 1024 * 1024
"""Bytes of 1xx responses and of the head after them; 100,000 times 100 is more (HU-14)."""
_PADDING_LIMIT: Final = 256 * 1024
"""Bytes in a row that are not part of the body: chunk extensions, trailers."""
_END: Final = b"\r\n\r\n"
_SINGLE: Final = frozenset({"location", "content-location", "memento-datetime"})
_COMMON_NAMES: Final = {
    name.encode(): name.lower()
    for name in (
        *("Server", "Date", "Content-Type", "Content-Length", "Connection", "Vary", "Link"),
        *("Location", "Memento-Datetime", "Transfer-Encoding", "Content-Encoding"),
        *("Content-Location", "Cache-Control", "Last-Modified", "ETag", "Retry-After"),
    )
}
"""Lower-case forms of the names as nearly all servers write them; saves time."""
_CODINGS: Final = ("chunked", "identity")

Octets = bytes | bytearray | memoryview


class BrokenResponse(Exception):
    """The response is not HTTP, or exceeds a limit."""


class UpstreamResponse(Struct, eq=False):
    """One response, as far as it has arrived."""

    to_head: bool
    """Whether it answers HEAD, and has no body."""
    status: int = 0
    headers: dict[str, str] = {}
    """Names in lower case, repeated fields joined (RFC 9110 5.2)."""
    has_head: bool = False
    complete: bool = False
    reusable: bool = False
    """Once the response is complete: whether the connection may carry another one."""
    ends_with_connection: bool = False
    received: int = 0
    """Bytes in all."""
    held: int = 0
    """Bytes of the body that have not been taken yet."""
    _pieces: list[bytes] = []
    _fields: list[tuple[bytes, bytes]] = []
    """Fields of the head, until it is complete."""
    _padding: int = 0
    _interim: bool = False
    _persistent: bool = False
    _spoiled: bool = False
    _tail: bytes = b""
    _why: str = ""
    _parser: HttpResponseParser | None = None

    def __post_init__(self) -> None:
        self._parser = HttpResponseParser(self)
        # Common faults of servers that are harmless here: control characters in fields that
        # archives copy from archived pages, folded lines, bare line feeds, blanks after the
        # size of a chunk. Browsers accept all of them.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def feed(self, data: Octets) -> None:
        """Parse *data*. Raises BrokenResponse, unless the response was already complete."""
        parser = self._parser
        if parser is None:
            self.reusable = False
            return
        had_head, held = self.has_head, self.held
        self.received += len(data)
        try:
            parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.complete:
                raise BrokenResponse(self._why or str(error)) from error
            # The response is complete; what follows does not belong to it.
            self._spoiled = True
        if not self.has_head:
            self._check_unfinished_head(data)
        elif self.complete:
            self._complete_response(data)
        elif had_head and held == self.held:
            self._check_padding(len(data))
        else:
            self._padding = 0

    def end(self) -> bool:
        """Note that the connection was closed; return whether the response is complete now."""
        if self.has_head and self.ends_with_connection:
            self.complete = True
            self._parser = None
        return self.complete

    def take(self) -> bytes:
        """Return the part of the body that has arrived since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.held = 0
        return data

    # Called by llhttp; an exception raised here ends the parsing.

    def on_message_begin(self) -> None:
        self._spoiled = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:  # Trailers, and fields of what follows, are ignored.
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.has_head or self._parser is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self._pass_interim(status)
            return
        if self.received > FIELD_LIMIT or len(self._fields) > FIELD_COUNT:
            self._check_fields()
        self._read_fields()
        self.status = status
        self.has_head = True
        self._persistent = self._parser.should_keep_alive()
        if self.to_head:
            self.complete = True
            self._persistent = self._persistent or self._stays_open()
        elif status not in (204, 304):
            self._choose_framing()

    def on_body(self, data: bytes) -> None:
        if self.complete:
            self._spoiled = True
            return
        self._pieces.append(data)
        self.held += len(data)

    def on_chunk_header(self) -> None:
        self._spoiled = self._spoiled or self.complete

    def on_message_complete(self) -> None:
        self.complete = self.has_head

    def _broken(self, why: str) -> BrokenResponse:
        self._why = why
        return BrokenResponse(why)

    def _pass_interim(self, status: int) -> None:
        if status < 100 or status == 101:
            raise self._broken(f"answered with {status}")
        self._fields.clear()
        self._interim = True

    def _read_fields(self) -> None:
        headers = self.headers
        for name, value in self._fields:
            if b"\0" in value:
                raise self._broken("a NUL in a header field")
            key = _COMMON_NAMES.get(name) or str(name, "latin-1").lower()
            text = str(value.rstrip(b" \t"), "utf-8", "surrogateescape")
            headers[key] = self._joined(key, text) if key in headers else text
        self._fields.clear()

    def _joined(self, key: str, text: str) -> str:
        """Return the value of a repeated field.

        Joined, two addresses or dates would be a third one, which the archive never stated.
        """
        first = self.headers[key]
        if key not in _SINGLE:
            return f"{first}, {text}"
        if first != text:
            raise self._broken(f"two different fields {key}")
        return first

    def _check_fields(self) -> None:
        """Check number and sizes; not needed where less than `FIELD_LIMIT` has arrived."""
        number = len(self._fields)
        if number > FIELD_COUNT:
            raise self._broken(f"{number} header fields")
        sizes = [len(name) + len(value) for name, value in self._fields]
        if max(sizes, default=0) > FIELD_LIMIT:
            raise self._broken(f"a header field of {max(sizes):,} bytes")
        if sum(sizes) > HEAD_LIMIT:
            raise self._broken(f"{number} header fields of {sum(sizes):,} bytes")

    def _choose_framing(self) -> None:
        coding = self.headers.get("transfer-encoding", "identity").lower()
        if coding not in _CODINGS:
            raise self._broken(f"a transfer coding we cannot read: {coding[:40]!r}")
        sized = coding == "chunked" or "content-length" in self.headers
        self.ends_with_connection = not sized

    def _stays_open(self) -> bool:
        """Whether the connection stays open after a response to HEAD without a length.

        llhttp takes it for a response whose body ends with the connection.
        """
        if self._parser is None or self._parser.get_http_version() != "1.1":
            return False
        return "close" not in self.headers.get("connection", "").lower()

    def _complete_response(self, data: Octets) -> None:
        clean = not self.to_head or self._ends_here(data)
        self.reusable = self._persistent and clean and not self._spoiled
        self._parser = None  # Breaks the reference cycle.

    def _ends_here(self, data: Octets) -> bool:
        """Whether the head ends with *data*; llhttp may have consumed half a chunk size."""
        head = self._tail + bytes(data)
        return not self._interim and head.find(_END) == len(head) - len(_END)

    def _check_unfinished_head(self, data: Octets) -> None:
        limit = INTERIM_LIMIT if self._interim else HEAD_LIMIT
        if self.received > limit or len(self._fields) > FIELD_COUNT:
            raise BrokenResponse(f"{self.received:,} bytes without the end of the head")
        self._tail = (self._tail + bytes(data[-3:]))[-3:]

    def _check_padding(self, size: int) -> None:
        self._padding += size
        if self._padding > _PADDING_LIMIT:
            raise BrokenResponse(f"{self._padding:,} bytes between two pieces of the body")


BUFFER: Final = 64 * 1024
IDLE: Final = 30.0
"""Seconds until an idle connection is closed; servers close theirs after 5 to 75."""
_MOST_HELD: Final = 64 * 1024
"""Bytes of a body that are buffered before reading from the socket is paused."""


class ConnectionDropped(ConnectionError):
    """The connection ended before the head of a response had arrived."""


class BrokenOff(ConnectionError):
    """The connection ended before the end of a body."""


class ResponseTimeouts(NamedTuple):
    """How many seconds a response may take."""

    first_byte: float
    stall: float
    total: float


class Http1Connection(asyncio.BufferedProtocol):
    """A connection, and the response that is arriving on it."""

    def __init__(
        self,
        endpoint: Endpoint,
        buffer: bytearray,
        lost: "Callable[[Http1Connection], None]",
    ) -> None:
        self.endpoint = endpoint
        self.used = False
        """Whether it has carried a response: then the server may be closing it just now."""
        self._loop = asyncio.get_running_loop()
        # Shared by all connections of a loop: received bytes are parsed at once.
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._response: UpstreamResponse | None = None
        self._changed: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._paused = False
        self._timeouts = ResponseTimeouts(0.0, 0.0, 0.0)
        self._ends = 0.0
        """The time of the event loop at which the response must be complete."""
        self._deadline = 0.0
        self._timeout_reason = ""
        self._timer: asyncio.Handle | None = None
        self._timer_due = 0.0

    @property
    def usable(self) -> bool:
        """Whether a request may be sent now."""
        transport = self._transport
        return (
            transport is not None
            and self._response is None
            and self._error is None
            and not transport.is_closing()
        )

    @property
    def has_received(self) -> bool:
        """Whether any byte of the response to the last request has arrived."""
        return self._response is not None and self._response.received > 0

    async def ask(
        self, request: bytes, timeouts: ResponseTimeouts, *, to_head: bool
    ) -> UpstreamResponse:
        """Send *request* and return the response as soon as its head has arrived.

        Raises ConnectionDropped, BrokenResponse, TimeoutError. `finish` must follow in any
        case.
        """
        transport = self._transport
        if transport is None or transport.is_closing():
            raise ConnectionDropped("closed the connection without an answer")
        self._response = response = UpstreamResponse(to_head=to_head)
        now = self._loop.time()
        self._timeouts = timeouts
        self._ends = now + timeouts.total
        self._set_deadline(now + timeouts.first_byte, "did not answer in time")
        transport.write(request)
        while not response.has_head:
            if self._error is not None:
                raise self._error
            self._changed = self._loop.create_future()
            await self._changed
        self.used = True
        return response

    async def read(self, response: UpstreamResponse) -> bytes:
        """Return the next part of the body of *response*; nothing at its end.

        Raises BrokenOff, BrokenResponse, TimeoutError.
        """
        if response is not self._response:
            raise RuntimeError("the body is read after its exchange has ended")
        while not response.held:
            if response.complete:
                return b""
            await self._wait()
        self._resume()
        return response.take()

    def finish(self) -> bool:
        """End the exchange; return whether the connection may carry another one.

        A connection that may not is closed.
        """
        response, self._response = self._response, None
        if (
            response is None
            or not response.complete
            or not response.reusable
            or not self.usable
        ):
            self.close()
            return False
        if self._paused:
            self._resume()
        self._set_deadline(self._loop.time() + IDLE, "")
        return True

    def close(self) -> None:
        """Close at once. A TLS shutdown would wait up to 30 s for that of the server."""
        if self._transport is not None:
            self._transport.abort()

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        response = self._response
        if response is None or response.complete:
            # Unsolicited bytes: a body where none belongs, or a 408 before closing.
            self.close()
            return
        try:
            response.feed(self._view[:nbytes])
        except BrokenResponse as error:
            self._fail(error)
            return
        if response.has_head and not response.complete:
            self._pause(response) if response.held > _MOST_HELD else self._expect_more()
        changed = self._changed
        if changed is not None and not changed.done():
            changed.set_result(None)

    def eof_received(self) -> None:
        response = self._response
        if response is not None and not response.complete and not response.end():
            self._fail(_ended_early(response, None))
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._response is not None and not self._response.complete:
            self._fail(_ended_early(self._response, exc))
        self._lost(self)

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._changed = self._loop.create_future()
        await self._changed

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._wake()
        self.close()

    def _pause(self, response: UpstreamResponse) -> None:
        """Stop reading from the socket until the body is read; no stall is counted."""
        if self._transport is not None and not self._paused and not response.complete:
            self._paused = True
            self._transport.pause_reading()
            self._set_deadline(self._ends, "took too long in all")

    def _resume(self) -> None:
        transport = self._transport
        if self._paused and transport is not None and not transport.is_closing():
            self._paused = False
            transport.resume_reading()
            self._expect_more()

    def _expect_more(self) -> None:
        self._set_deadline(self._loop.time() + self._timeouts.stall, "stopped sending")

    def _set_deadline(self, when: float, reason: str) -> None:
        if self._response is not None and when >= self._ends:
            when, reason = self._ends, "took too long in all"
        self._deadline, self._timeout_reason = when, reason
        if self._timer is None or when < self._timer_due:
            if self._timer is not None:
                self._timer.cancel()
            self._set_timer(when)

    def _set_timer(self, when: float) -> None:
        # Not TimerHandle.when: uvloop returns a Handle without it for a time that has passed.
        self._timer_due = when
        self._timer = self._loop.call_at(when, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._set_timer(self._deadline)
        elif self._response is None:
            self.close()
        elif not self._response.complete:
            self._fail(TimeoutError(self._timeout_reason))


def _ended_early(response: UpstreamResponse, error: Exception | None) -> Exception:
    """Return the error for a connection that ended before *response* was complete."""
    how = "closed the connection"
    if isinstance(error, OSError):
        how = f"connection lost: {error.strerror or error}"
    if response.has_head:
        return BrokenOff(how)
    if response.received:
        return ConnectionDropped(f"{how} in the middle of a head")
    return ConnectionDropped(how if error else f"{how} without an answer")
