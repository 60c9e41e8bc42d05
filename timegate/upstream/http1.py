"""One HTTP/1.1 connection to an archive, and the response that arrives on it (RFC 9112).

One request at a time, kept alive in between. A single timer for each connection checks, when it
fires, whether the deadline has moved meanwhile; nearly always it has, so that a request costs no
timer of its own. Responses are read within bounds.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from timegate.upstream.egress import Endpoint

FIELD_LIMIT: Final = 64 * 1024
"""A Link field may repeat a long URL five times; 8 kB, as is usual, is too little (M3)."""
FIELD_COUNT: Final = 256
HEAD_LIMIT: Final = 256 * 1024
INTERIM_LIMIT: Final = 1024 * 1024
"""Octets of 1xx answers and of the head after them; 100 000 times 100 is more (HU-14)."""
_PADDING_LIMIT: Final = 256 * 1024
"""Octets in a row that are no body: extensions of chunks, trailers."""
_END: Final = b"\r\n\r\n"
_USUAL: Final = {
    name.encode(): name.lower()
    for name in (
        *("Server", "Date", "Content-Type", "Content-Length", "Connection", "Vary", "Link"),
        *("Location", "Memento-Datetime", "Transfer-Encoding", "Content-Encoding"),
        *("Content-Location", "Cache-Control", "Last-Modified", "ETag", "Retry-After"),
    )
}
"""Only saves time: names as nearly all servers write them."""
_CODINGS: Final = ("chunked", "identity")

Octets = bytes | bytearray | memoryview


class BrokenResponse(Exception):
    """Something arrived that is no HTTP, or too much of it."""


class UpstreamResponse:
    """One answer, as far as it has arrived."""

    __slots__ = (
        "_fields",
        "_interim",
        "_padding",
        "_parser",
        "_persistent",
        "_pieces",
        "_spoiled",
        "_tail",
        "_to_head",
        "_why",
        "complete",
        "ends_with_connection",
        "has_head",
        "headers",
        "held",
        "received",
        "reusable",
        "status",
    )

    def __init__(self, *, to_head: bool) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """Names in lower case, repeated fields joined (RFC 9110 5.2)."""
        self.has_head = False
        self.complete = False
        self.reusable = False
        """Once it is complete: whether the connection may carry another one."""
        self.ends_with_connection = False
        self.received = 0
        """Octets in all."""
        self.held = 0
        """Octets of the body that nobody has taken yet."""
        self._to_head = to_head
        self._pieces: list[bytes] = []
        self._fields: list[tuple[bytes, bytes]] = []
        self._padding = 0
        self._interim = False
        self._persistent = False
        self._spoiled = False
        self._tail = b""
        self._why = ""
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        # What servers in the field do wrong and nobody can abuse here: control characters in
        # fields that archives copy from archived pages, folded lines, bare line feeds, blanks
        # after the size of a chunk. Browsers take all of it.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def feed(self, data: Octets) -> None:
        """Read on. Raises Broken, unless the answer was already complete."""
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
            # The answer is whole; what follows is no answer of ours.
            self._spoiled = True
        if not self.has_head:
            self._check_unfinished_head(data)
        elif self.complete:
            self._finish(data)
        elif had_head and held == self.held:
            self._check_padding(len(data))
        else:
            self._padding = 0

    def end(self) -> bool:
        """Note that the connection was closed; return whether the answer is complete now."""
        if self.has_head and self.ends_with_connection:
            self.complete = True
            self._parser = None
        return self.complete

    def take(self) -> bytes:
        """Return what has arrived of the body since the last time."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.held = 0
        return data

    # Called by llhttp; what is raised here ends the parsing.

    def on_message_begin(self) -> None:
        self._spoiled = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:  # Else a trailer, or of what follows: nobody wants it.
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.has_head or self._parser is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self._pass_interim(status)
            return
        self._read_fields()
        self.status = status
        self.has_head = True
        self._persistent = self._parser.should_keep_alive()
        if self._to_head:
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
        if self.received > FIELD_LIMIT or len(self._fields) > FIELD_COUNT:
            self._check_fields()
        headers = self.headers
        for name, value in self._fields:
            if b"\0" in value:
                raise self._broken("a NUL in a header field")
            key = _USUAL.get(name) or str(name, "latin-1").lower()
            text = str(value.rstrip(b" \t"), "utf-8", "surrogateescape")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def _check_fields(self) -> None:
        """Count; not needed where all that has arrived is less than one field may be."""
        sizes = [len(name) + len(value) for name, value in self._fields]
        if max(sizes, default=0) > FIELD_LIMIT:
            raise self._broken(f"a header field of {max(sizes):,} bytes")
        if len(sizes) > FIELD_COUNT or sum(sizes) > HEAD_LIMIT:
            raise self._broken(f"{len(sizes)} header fields of {sum(sizes):,} bytes")

    def _choose_framing(self) -> None:
        coding = self.headers.get("transfer-encoding", "identity").lower()
        if coding not in _CODINGS:
            raise self._broken(f"a transfer coding we cannot read: {coding[:40]!r}")
        sized = coding == "chunked" or "content-length" in self.headers
        self.ends_with_connection = not sized

    def _stays_open(self) -> bool:
        """Whether the connection stays after an answer to HEAD that states no length.

        llhttp takes it for one whose body ends with the connection.
        """
        if self._parser is None or self._parser.get_http_version() != "1.1":
            return False
        return "close" not in self.headers.get("connection", "").lower()

    def _finish(self, data: Octets) -> None:
        clean = not self._to_head or self._ends_here(data)
        self.reusable = self._persistent and clean and not self._spoiled
        self._parser = None  # It refers to us, and we to it.

    def _ends_here(self, data: Octets) -> bool:
        """Whether the head ends with *data*; llhttp may have swallowed half a chunk size."""
        head = self._tail + bytes(data)
        return not self._interim and head.find(_END) == len(head) - len(_END)

    def _check_unfinished_head(self, data: Octets) -> None:
        limit = INTERIM_LIMIT if self._interim else HEAD_LIMIT
        if self.received > limit or len(self._fields) > FIELD_COUNT:
            raise BrokenResponse(f"{self.received:,} bytes and the head is not at its end")
        self._tail = (self._tail + bytes(data[-3:]))[-3:]

    def _check_padding(self, size: int) -> None:
        self._padding += size
        if self._padding > _PADDING_LIMIT:
            raise BrokenResponse(f"{self._padding:,} bytes between two pieces of the body")


BUFFER: Final = 64 * 1024
IDLE: Final = 30.0
"""Seconds until an unused connection is closed; servers close theirs after 5 to 75."""
_HELD: Final = 64 * 1024
"""Octets of a body that may wait for their reader before the sender has to."""


class ConnectionDropped(ConnectionError):
    """The connection ended before the head of an answer had arrived."""


class BrokenOff(ConnectionError):
    """The connection ended before the end of a body."""


class ResponseTimeouts(NamedTuple):
    """How long an answer may take."""

    first_byte: float
    stall: float
    ends: float
    """In the time of the loop."""


class Http1Connection(asyncio.BufferedProtocol):
    """A connection, and the answer that is arriving on it."""

    def __init__(
        self,
        endpoint: Endpoint,
        buffer: bytearray,
        lost: "Callable[[Http1Connection], None]",
    ) -> None:
        self.endpoint = endpoint
        self.used = False
        """Whether it has carried an answer: then the server may just be closing it."""
        self._loop = asyncio.get_running_loop()
        # Shared by all connections of a loop: what is received is read before anything else.
        self._buffer = buffer
        self._octets = memoryview(buffer)
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._answer: UpstreamResponse | None = None
        self._news: asyncio.Future[None] | None = None
        self._trouble: Exception | None = None
        self._paused = False
        self._pace = ResponseTimeouts(0.0, 0.0, 0.0)
        self._deadline = 0.0
        self._late = ""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def usable(self) -> bool:
        """Whether a request may be sent now."""
        transport = self._transport
        return (
            transport is not None
            and self._answer is None
            and self._trouble is None
            and not transport.is_closing()
        )

    @property
    def heard(self) -> bool:
        """Whether any octet of an answer to the last request has arrived."""
        return self._answer is not None and self._answer.received > 0

    async def ask(
        self, request: bytes, pace: ResponseTimeouts, *, to_head: bool
    ) -> UpstreamResponse:
        """Send *request* and return the answer as soon as its head is there.

        Raises Dropped, Broken, TimeoutError. Whoever asked must `finish`, whatever happens.
        """
        transport = self._transport
        if transport is None or transport.is_closing():
            raise ConnectionDropped("closed the connection without an answer")
        self._answer = answer = UpstreamResponse(to_head=to_head)
        self._pace = pace
        self._due(self._loop.time() + pace.first_byte, "did not answer in time")
        transport.write(request)
        while not answer.has_head:
            await self._wait()
        self.used = True
        return answer

    async def read(self, answer: UpstreamResponse) -> bytes:
        """Return the next part of the body of *answer*; nothing at its end.

        Raises BrokenOff, Broken, TimeoutError.
        """
        if answer is not self._answer:
            raise RuntimeError("a body is read after its request is over")
        while not answer.held:
            if answer.complete:
                return b""
            await self._wait()
        self._resume()
        return answer.take()

    def finish(self) -> bool:
        """End the exchange; return whether the connection may carry another one.

        One that may not is closed.
        """
        answer, self._answer = self._answer, None
        if answer is None or not answer.complete or not answer.reusable or not self.usable:
            self.close()
            return False
        self._resume()
        self._due(self._loop.time() + IDLE, "")
        return True

    def close(self) -> None:
        """Close at once. A TLS shutdown would wait for the other side's, up to 30 s."""
        if self._transport is not None:
            self._transport.abort()

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> bytearray:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        answer = self._answer
        if answer is None or answer.complete:
            # Nobody asked for it: a body where none belongs, or a 408 before closing.
            self.close()
            return
        try:
            answer.feed(self._octets[:nbytes])
        except BrokenResponse as error:
            self._fail(error)
            return
        if answer.has_head and not answer.complete:
            self._pause(answer) if answer.held > _HELD else self._expect_more()
        self._wake()

    def eof_received(self) -> None:
        answer = self._answer
        if answer is not None and not answer.complete and not answer.end():
            self._fail(_ended(answer, None))
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._answer is not None and not self._answer.complete:
            self._fail(_ended(self._answer, exc))
        self._lost(self)

    async def _wait(self) -> None:
        if self._trouble is not None:
            raise self._trouble
        self._news = self._loop.create_future()
        await self._news

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _fail(self, trouble: Exception) -> None:
        self._trouble = self._trouble or trouble
        self._wake()
        self.close()

    def _pause(self, answer: UpstreamResponse) -> None:
        """Let the sender wait until somebody reads; that is no silence of theirs."""
        if self._transport is not None and not self._paused and not answer.complete:
            self._paused = True
            self._transport.pause_reading()
            self._due(self._pace.ends, "took too long in all")

    def _resume(self) -> None:
        transport = self._transport
        if self._paused and transport is not None and not transport.is_closing():
            self._paused = False
            transport.resume_reading()
            self._expect_more()

    def _expect_more(self) -> None:
        self._due(self._loop.time() + self._pace.stall, "fell silent")

    def _due(self, when: float, late: str) -> None:
        if self._answer is not None and when >= self._pace.ends:
            when, late = self._pace.ends, "took too long in all"
        self._deadline, self._late = when, late
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(when, self._overdue)

    def _overdue(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._overdue)
        elif self._answer is None:
            self.close()
        elif not self._answer.complete:
            self._fail(TimeoutError(self._late))


def _ended(answer: UpstreamResponse, error: Exception | None) -> Exception:
    """Say what the end of a connection means for *answer*, which is not complete."""
    how = "closed the connection"
    if isinstance(error, OSError):
        how = f"connection lost: {error.strerror or error}"
    if answer.has_head:
        return BrokenOff(how)
    if answer.received:
        return ConnectionDropped(f"{how} in the middle of a head")
    return ConnectionDropped(how if error else f"{how} without an answer")
