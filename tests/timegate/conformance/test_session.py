"""Each request is sent once, and an archive that does not answer gets no more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from archives.errors import Misbehaved, Refused, Unreachable
from archives.source import Reply, Request
from tests.fakes import FakeReply
from timegate.conformance.session import (
    GIVEN_UP_AFTER,
    MOST_OCTETS,
    RecordedExchange,
    Session,
    key_of,
)

A = Request("GET", "http://archive.example/a", "index")
B = Request("GET", "http://archive.example/b", "index", {"accept-datetime": "x"})


class RecordingFetcher:
    """A `Fetcher` that answers all requests alike, and records them."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.requests: list[Request] = []
        self._pieces = pieces
        self._error = error

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncIterator[Reply]:
        self.requests.append(request)
        if self._error is not None:
            raise self._error
        yield FakeReply(request.url, 200, {"vary": "x"}, self._pieces, None)


async def test_a_request_is_sent_once() -> None:
    fetch = RecordingFetcher(b"body")
    session = Session(fetch)

    first, second = await session.get(A), await session.get(A)

    assert fetch.requests == [A]
    assert first is second
    assert (first.status, first.headers, first.body) == (200, {"vary": "x"}, b"body")


async def test_a_repeated_request_is_sent_again() -> None:
    fetch = RecordingFetcher()
    session = Session(fetch)

    await session.get(A)
    await session.get(A, repeat=1)

    assert fetch.requests == [A, A]


async def test_an_archive_that_does_not_answer_gets_no_more_requests() -> None:
    fetch = RecordingFetcher(error=Unreachable("x", "y", "too slow"))
    session = Session(fetch)

    exchanges = [await session.get(A, repeat) for repeat in range(10)]

    assert len(fetch.requests) == GIVEN_UP_AFTER
    assert exchanges[0].trouble is not None
    assert exchanges[0].trouble.why == "too slow"
    assert exchanges[-1].trouble is not None
    assert exchanges[-1].trouble.kind == "not-asked"


async def test_a_refusal_is_kept_with_its_status() -> None:
    session = Session(RecordingFetcher(error=Refused("x", "y", 429, 5.0)))

    exchange = await session.get(A)

    assert exchange.status == 429
    assert exchange.trouble is not None
    assert exchange.trouble.kind == "refused"


async def test_broken_http_is_not_taken_for_no_response() -> None:
    session = Session(RecordingFetcher(error=Misbehaved("x", "y", "no HTTP")))

    exchange = await session.get(A)

    assert exchange.trouble is not None
    assert exchange.trouble.kind == "misbehaved"


async def test_a_body_is_read_no_further_than_the_limit() -> None:
    session = Session(RecordingFetcher(*[b"x" * 1024**2] * 20))

    exchange = await session.get(A)

    assert len(exchange.body) == MOST_OCTETS
    assert exchange.trouble is not None


async def test_the_bodies_of_mementos_are_not_read() -> None:
    session = Session(RecordingFetcher(b"video"))

    exchange = await session.get(Request("GET", A.url, "memento"))

    assert exchange.body == b""


async def test_without_a_fetcher_only_known_exchanges_are_returned() -> None:
    session = Session(None, {key_of(A, 0): RecordedExchange(A, 204)})

    assert (await session.get(A)).status == 204
    missing = (await session.get(B)).trouble
    assert missing is not None
    assert missing.kind == "not-asked"
