"""One connection to an archive: HTTP/1.1, one request at a time, kept alive in between.

Time is watched by a single timer for each connection, which looks when it fires whether the
deadline has moved meanwhile; nearly always it has, so that a request costs no timer at all.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from timegate.upstream.egress import Endpoint
from timegate.upstream.http_response import BrokenResponse, UpstreamResponse

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
