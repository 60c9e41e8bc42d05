"""One connection in virtual time, without a socket: timeouts and closing."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from tests.clock import in_virtual_time
from timegate.upstream.egress import Endpoint
from timegate.upstream.http1 import (
    BUFFER,
    BrokenOff,
    BrokenResponse,
    ConnectionDropped,
    Http1Connection,
    ResponseTimeouts,
)

HERE = Endpoint("http", "a.example", 80)
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole"
HALF = WHOLE[:-2]


class Wire(asyncio.Transport):
    """A fake transport, and the server at its other end."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[Http1Connection] = []
        self.sent: list[bytes] = []
        self.closed_at: float | None = None
        self.reading = True
        self._loop = asyncio.get_running_loop()
        self.connection = Http1Connection(HERE, bytearray(BUFFER), self.lost.append)
        self.connection.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed_at is not None

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def abort(self) -> None:
        self.end(None)

    def end(self, error: Exception | None) -> None:
        if self.closed_at is None:
            self.closed_at = self._loop.time() - 1_000
            self._loop.call_soon(self.connection.connection_lost, error)

    def says(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def says_later(self, seconds: float, data: bytes) -> None:
        self._loop.call_later(seconds, self.says, data)


def pace(first_byte: float = 10, stall: float = 30, total: float = 60) -> ResponseTimeouts:
    return ResponseTimeouts(first_byte, stall, total)


async def whole(wire: Wire, limits: ResponseTimeouts | None = None) -> bytes:
    connection = wire.connection
    try:
        answer = await connection.ask(b"GET", limits or pace(), to_head=False)
        read = b""
        while data := await connection.read(answer):
            read += data
        return read
    finally:
        connection.finish()


Story = Callable[[Wire], Coroutine[object, object, object]]


def outcome_of(story: Story) -> tuple[object, float | None]:
    """Return how *story* ended, and when the connection was closed."""

    async def telling() -> tuple[object, float | None]:
        wire = Wire()
        try:
            outcome = await story(wire)
        except (OSError, BrokenResponse) as error:
            outcome = f"{type(error).__name__}: {error}"
        await asyncio.sleep(100)
        assert wire.closed_at is None or wire.lost == [wire.connection]
        return outcome, wire.closed_at

    return in_virtual_time(telling())


def test_an_unused_connection_is_closed_after_thirty_seconds() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(2, WHOLE)
        return await whole(wire)

    assert outcome_of(story) == (b"whole", 32)


def test_each_use_starts_the_thirty_seconds_anew() -> None:
    async def story(wire: Wire) -> int:
        for _ in range(5):
            wire.says_later(1, WHOLE)
            await whole(wire)
            await asyncio.sleep(20)
        return len(wire.sent)

    assert outcome_of(story) == (5, 4 * 21 + 31)


@pytest.mark.parametrize(
    ("limits", "outcome", "closed_at"),
    [
        ((10, 30, 60), "TimeoutError: did not answer in time", 10),
        ((10, 30, 7), "TimeoutError: took too long in all", 7),
    ],
)
def test_a_missing_response_times_out(
    limits: tuple[float, float, float], outcome: str, closed_at: float
) -> None:
    assert outcome_of(lambda wire: whole(wire, pace(*limits))) == (outcome, closed_at)


def test_the_deadline_of_a_head_is_not_extended_by_its_octets() -> None:
    async def story(wire: Wire) -> bytes:
        for second in range(1, 60):
            wire.says_later(second, WHOLE[second : second + 1] if second > 1 else WHOLE[:2])
        return await whole(wire)

    assert outcome_of(story) == ("TimeoutError: did not answer in time", 10)


def test_the_deadline_of_a_second_request_is_its_own() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(9, WHOLE)
        await whole(wire)
        await asyncio.sleep(11)
        return await whole(wire)

    assert outcome_of(story) == ("TimeoutError: did not answer in time", 30)


def test_a_stalled_body_times_out() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(9, HALF)
        return await whole(wire)

    assert outcome_of(story) == ("TimeoutError: stopped sending", 39)


def test_a_body_that_trickles_ends_at_the_total_timeout() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(1, b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        for second in range(2, 90):
            wire.says_later(second, b"x")
        return await whole(wire)

    assert outcome_of(story) == ("TimeoutError: took too long in all", 60)


def test_a_slow_reader_does_not_count_as_a_stalled_sender() -> None:
    async def story(wire: Wire) -> list[object]:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n"
        for part in (head, bytes(50_000), bytes(50_000)):
            wire.says_later(1, part)
        connection = wire.connection
        answer = await connection.ask(b"GET", pace(total=600), to_head=False)
        await asyncio.sleep(100)
        seen: list[object] = [wire.reading, len(await connection.read(answer)), wire.reading]
        wire.says_later(29, b"x")
        return [*seen, await connection.read(answer), connection.finish()]

    assert outcome_of(story) == ([False, 100_000, True, b"x", True], 1 + 100 + 29 + 30)


def test_a_connection_that_ends_before_a_response_is_reported_as_dropped() -> None:
    async def story(wire: Wire) -> bytes:
        asyncio.get_running_loop().call_later(3, wire.end, None)
        return await whole(wire)

    assert outcome_of(story) == (
        "ConnectionDropped: closed the connection without an answer",
        3,
    )


@pytest.mark.parametrize(
    ("said", "kind"),
    [(b"", ConnectionDropped), (b"HTTP/1.1 2", ConnectionDropped), (HALF, BrokenOff)],
)
def test_a_reset_is_reported(said: bytes, kind: type[Exception]) -> None:
    async def story(wire: Wire) -> bytes:
        if said:
            wire.says_later(1, said)
        error = ConnectionResetError(104, "Connection reset by peer")
        asyncio.get_running_loop().call_later(3, wire.end, error)
        return await whole(wire)

    outcome, _ = outcome_of(story)

    assert isinstance(outcome, str)
    assert outcome.startswith(f"{kind.__name__}: connection lost: Connection reset by peer")


def test_data_that_came_before_a_failure_is_read_first() -> None:
    async def story(wire: Wire) -> list[object]:
        connection = wire.connection
        wire.says_later(1, HALF)
        answer = await connection.ask(b"GET", pace(), to_head=False)
        wire.connection.eof_received()
        seen: list[object] = [await connection.read(answer)]
        with pytest.raises(BrokenOff):
            await connection.read(answer)
        return seen

    assert outcome_of(story) == ([b"who"], 1)


def test_a_complete_response_is_valid_even_if_the_connection_ends_with_it() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(1, WHOLE)
        answer = await wire.connection.ask(b"GET", pace(), to_head=False)
        wire.connection.eof_received()
        wire.end(None)
        await asyncio.sleep(1)
        return await wire.connection.read(answer)

    assert outcome_of(story) == (b"whole", 1)


def test_a_lost_connection_is_not_used() -> None:
    async def story(wire: Wire) -> bytes:
        wire.end(None)
        await asyncio.sleep(1)
        assert not wire.connection.usable
        return await whole(wire)

    assert outcome_of(story) == (
        "ConnectionDropped: closed the connection without an answer",
        0,
    )


def test_invalid_octets_close_the_connection_at_once() -> None:
    async def story(wire: Wire) -> bytes:
        wire.says_later(1, b"SSH-2.0")
        return await whole(wire)

    outcome, closed_at = outcome_of(story)

    assert str(outcome).startswith("BrokenResponse: ")
    assert closed_at == 1
