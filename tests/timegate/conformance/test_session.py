"""Each thing is asked once, and an archive that does not answer is left alone."""

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


class Asked:
    """A `Fetcher` that answers all alike, and counts."""

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


async def test_a_question_is_asked_once() -> None:
    fetch = Asked(b"body")
    session = Session(fetch)

    first, second = await session.get(A), await session.get(A)

    assert fetch.requests == [A]
    assert first is second
    assert (first.status, first.headers, first.body) == (200, {"vary": "x"}, b"body")


async def test_another_turn_is_another_question() -> None:
    fetch = Asked()
    session = Session(fetch)

    await session.get(A)
    await session.get(A, turn=1)

    assert fetch.requests == [A, A]


async def test_who_does_not_answer_is_left_alone() -> None:
    fetch = Asked(error=Unreachable("x", "y", "too slow"))
    session = Session(fetch)

    exchanges = [await session.get(A, turn) for turn in range(10)]

    assert len(fetch.requests) == GIVEN_UP_AFTER
    assert exchanges[0].trouble is not None
    assert exchanges[0].trouble.why == "too slow"
    assert exchanges[-1].trouble is not None
    assert exchanges[-1].trouble.kind == "not-asked"


async def test_a_refusal_is_kept_with_its_status() -> None:
    session = Session(Asked(error=Refused("x", "y", 429, 5.0)))

    exchange = await session.get(A)

    assert exchange.status == 429
    assert exchange.trouble is not None
    assert exchange.trouble.kind == "refused"


async def test_broken_http_is_told_from_silence() -> None:
    session = Session(Asked(error=Misbehaved("x", "y", "no HTTP")))

    exchange = await session.get(A)

    assert exchange.trouble is not None
    assert exchange.trouble.kind == "misbehaved"


async def test_a_body_is_read_no_further_than_the_limit() -> None:
    session = Session(Asked(*[b"x" * 1024**2] * 20))

    exchange = await session.get(A)

    assert len(exchange.body) == MOST_OCTETS
    assert exchange.trouble is not None


async def test_the_bytes_of_mementos_are_not_read() -> None:
    session = Session(Asked(b"video"))

    exchange = await session.get(Request("GET", A.url, "memento"))

    assert exchange.body == b""


async def test_without_a_fetcher_only_what_is_known_is_told() -> None:
    session = Session(None, {key_of(A, 0): RecordedExchange(A, 204)})

    assert (await session.get(A)).status == 204
    missing = (await session.get(B)).trouble
    assert missing is not None
    assert missing.kind == "not-asked"
