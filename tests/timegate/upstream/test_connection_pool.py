"""Connections over real sockets: which are reused, which are closed, and none leaks."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
import trustme

from archives.errors import ArchiveError, Misbehaved, Unreachable
from archives.source import Request
from tests.clock import Clock
from tests.timegate.upstream.book import Book
from tests.timegate.upstream.raw_server import (
    CLOSE,
    OK,
    RawServer,
    entry,
    serving,
    silence,
)
from timegate.event_loop import FairTurns
from timegate.upstream.connection_pool import Connections, Dialling
from timegate.upstream.dns import DnsCache
from timegate.upstream.egress import Egress
from timegate.upstream.http1 import BUFFER
from timegate.upstream.http_client import HttpFetcher, Timeouts

PATIENT = Timeouts()


class Client:
    """A fetcher and its connections, without rate limit and breaker."""

    def __init__(self, fetch: HttpFetcher, connections: Connections) -> None:
        self.fetch = fetch
        self.connections = connections

    async def ask(self, url: str) -> int | bytes | ArchiveError:
        try:
            async with self.fetch(Request("GET", url, "index")) as reply:
                return b"".join([chunk async for chunk in reply.chunks()])
        except ArchiveError as error:
            return error


@asynccontextmanager
async def client(  # noqa: PLR0913 -- each test changes one of them
    server: RawServer,
    *,
    url: str | None = None,
    book: Book | None = None,
    timeouts: Timeouts = PATIENT,
    at_once: int = 4,
    tls: ssl.SSLContext | None = None,
    forbidden: Sequence[str] = (),
    also: RawServer | None = None,
    a_turn: int = 16,
) -> AsyncGenerator[Client]:
    def refusal(address: str) -> str | None:
        return f"{address} is forbidden" if address in forbidden else None

    dialling = Dialling(
        names=DnsCache(book or Book(), Clock()),
        tls=lambda: tls or ssl.create_default_context(),
        buffer=bytearray(BUFFER),
        connect_seconds=timeouts.connect,
        tls_seconds=timeouts.tls,
        responses=FairTurns(a_turn),
    )
    connections = Connections(at_once, refusal, dialling)
    archive = entry(
        server,
        timegate=url or server.url(),
        cdx=server.url("/cdx", "https"),
        replay=None if also is None else also.url(),
    )
    fetch = HttpFetcher(Egress.of(archive), connections, "test", timeouts)
    try:
        yield Client(fetch, connections)
    finally:
        await connections.close()
        assert connections.count == 0


async def gone(server: RawServer, left: int = 0) -> None:
    """Wait until the server sees no more than *left* connections."""
    async with asyncio.timeout(5):
        while server.open_count > left:  # noqa: ASYNC110 -- the server is in this loop too
            await asyncio.sleep(0)


async def test_no_connection_is_open_after_the_end() -> None:
    async with serving(OK) as server:
        async with client(server) as it:
            await it.ask(server.url())
            assert it.connections.count == 1

        await gone(server)


async def test_responses_that_arrive_together_are_read_one_after_the_other() -> None:
    async with serving(OK) as server, client(server, at_once=8, a_turn=1) as it:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(it.ask(server.url())) for _ in range(8)]

        assert {task.result() for task in tasks} == {b"ok"}


async def test_a_request_that_is_given_up_leaves_no_connection() -> None:
    async with serving(OK) as server, client(server, a_turn=0) as it:
        task = asyncio.get_running_loop().create_task(it.ask(server.url()))
        async with asyncio.timeout(5):
            while not server.heads:  # noqa: ASYNC110 -- the server is in this loop too
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    assert task.cancelled()
    assert it.connections.count == 0


async def test_a_request_that_is_cancelled_while_it_waits_closes_its_connection() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await silence(reader, writer)

    asked = asyncio.Event()
    async with serving(hang) as server, client(server) as it:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(it.ask(server.url()))
            await asked.wait()
            task.cancel()

        await gone(server)
        assert it.connections.count == 0


async def test_a_request_that_is_cancelled_while_its_body_arrives_closes_its_connection() -> (
    None
):
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        await silence(reader, writer)

    async def read(it: Client, url: str) -> None:
        async with it.fetch(Request("GET", url, "index")) as reply:
            async for _ in reply.chunks():
                begun.set()

    begun = asyncio.Event()
    async with serving(half) as server, client(server) as it:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(read(it, server.url()))
            await begun.wait()
            task.cancel()

        await gone(server)


async def test_a_request_that_is_cancelled_during_the_handshake_leaves_no_socket() -> None:
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeted.set()
        await silence(reader, writer)

    greeted = asyncio.Event()
    async with serving(greeting=listen) as server, client(server) as it:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(it.ask(server.url("/cdx", "https")))
            await greeted.wait()
            task.cancel()

        await gone(server)
        assert it.connections.count == 0


async def test_an_unread_body_is_dropped_with_its_connection() -> None:
    large = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + bytes(9_000_000)
    async with serving(large) as server, client(server) as it:
        async with it.fetch(Request("GET", server.url(), "index")) as reply:
            assert reply.status == 200

        await gone(server)


async def test_a_small_unread_body_does_no_harm() -> None:
    async with serving(OK) as server, client(server) as it:
        for _ in range(2):
            async with it.fetch(Request("GET", server.url(), "index")):
                pass

    assert (len(server.heads), server.connections) == (2, 1)


async def test_a_server_that_sends_faster_than_the_reader_has_to_wait() -> None:
    size = 30_000_000

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent[0] < size:
            writer.write(bytes(100_000))
            await writer.drain()
            sent[0] += 100_000

    sent = [0]
    async with (
        serving(pour) as server,
        client(server) as it,
        it.fetch(Request("GET", server.url(), "index")) as reply,
    ):
        chunks = aiter(reply.chunks())
        first = await anext(chunks)
        for _ in range(1000):
            await asyncio.sleep(0)
        before = sent[0]
        rest = sum([len(chunk) async for chunk in chunks])

    assert before < size
    assert len(first) + rest == size


async def test_a_reply_cannot_be_read_after_its_end() -> None:
    async with serving(OK) as server, client(server) as it:
        async with it.fetch(Request("GET", server.url(), "index")) as reply:
            pass

        with pytest.raises(RuntimeError, match="after its exchange has ended"):
            await anext(aiter(reply.chunks()))


async def test_a_kept_connection_that_ends_without_an_octet_is_replaced_once() -> None:
    async with serving(OK, CLOSE, CLOSE, OK) as server, client(server) as it:
        await it.ask(server.url("/1"))

        outcome = await it.ask(server.url("/2"))

    assert isinstance(outcome, Unreachable)
    assert [line.split()[1] for line in server.lines] == ["/1", "/2", "/2"]


async def test_a_kept_connection_that_ends_within_a_head_is_not_replaced() -> None:
    async with serving(OK, b"HTTP/1.1 2" + CLOSE, OK) as server, client(server) as it:
        await it.ask(server.url("/1"))

        outcome = await it.ask(server.url("/2"))

    assert isinstance(outcome, Unreachable)
    assert "in the middle of a head" in outcome.why
    assert len(server.lines) == 2


async def test_unsolicited_data_ends_the_connection() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await writer.drain()
        await asyncio.wait_for(answered.wait(), 5)
        writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await silence(reader, writer)

    answered = asyncio.Event()
    async with serving(twice, OK) as server, client(server) as it:
        assert await it.ask(server.url("/1")) == b"ok"
        answered.set()
        await gone(server)

        assert await it.ask(server.url("/2")) == b"ok"
    assert server.connections == 2


async def test_no_more_connections_are_kept_open_than_may_be_busy() -> None:
    async with (
        serving(OK) as one,
        serving(OK) as other,
        client(one, at_once=2, also=other) as it,
    ):
        for server in (one, other):
            async with asyncio.TaskGroup() as group:
                for _ in range(2):
                    group.create_task(it.ask(server.url()))

        await gone(one)
        assert (other.open_count, it.connections.count) == (2, 2)


async def test_one_connection_is_used_in_turn_and_several_at_once() -> None:
    async with serving(OK) as server, client(server) as it:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(it.ask(server.url()))
        for _ in range(5):
            await it.ask(server.url())

    assert len(server.heads) == 8
    assert server.connections == 3


NAMED = "http://archive.example:{port}/"


async def test_when_an_address_refuses_the_next_is_tried() -> None:
    async with serving(OK) as server:
        url = NAMED.format(port=server.port)
        # Loopback too, but without a listener.
        async with client(server, url=url, book=Book("127.0.0.2", "127.0.0.1")) as it:
            assert await it.ask(url) == b"ok"


async def test_a_forbidden_address_is_skipped() -> None:
    async with serving(OK) as server:
        url = NAMED.format(port=server.port)
        book = Book("127.0.0.3", "127.0.0.1")
        async with client(server, url=url, book=book, forbidden=["127.0.0.3"]) as it:
            assert await it.ask(url) == b"ok"


async def test_when_all_addresses_are_forbidden_none_is_connected_to() -> None:
    async with serving(OK) as server:
        url = NAMED.format(port=server.port)
        book = Book("127.0.0.1")
        async with client(server, url=url, book=book, forbidden=["127.0.0.1"]) as it:
            outcome = await it.ask(url)

    assert isinstance(outcome, Misbehaved)
    assert outcome.why == "its name resolves to a forbidden address: 127.0.0.1 is forbidden"
    assert server.connections == 0


async def test_when_no_address_answers_the_last_one_says_why() -> None:
    async with serving(OK) as server:
        url = NAMED.format(port=server.port)
        async with client(server, url=url, book=Book("127.0.0.2", "127.0.0.3")) as it:
            outcome = await it.ask(url)

    assert isinstance(outcome, Unreachable)
    assert outcome.why == "cannot connect: Connection refused"


async def test_the_name_is_sent_and_checked_not_the_address() -> None:
    seen: list[str | None] = []
    authority = trustme.CA()
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("archive.example").configure_cert(server_tls)
    server_tls.sni_callback = lambda _socket, name, _context: seen.append(name)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with serving(OK, tls=server_tls) as server:
        url = f"https://archive.example:{server.port}/"
        async with client(server, url=url, book=Book("127.0.0.1"), tls=trusting) as it:
            assert await it.ask(url) == b"ok"
            assert await it.ask(url) == b"ok"

    assert seen == ["archive.example"]
    assert server.connections == 1


async def test_a_server_that_disconnects_during_the_handshake_is_unreachable() -> None:
    async def hang_up(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(1)

    async with serving(greeting=hang_up) as server, client(server) as it:
        outcome = await it.ask(server.url("/cdx", "https"))

    assert isinstance(outcome, Unreachable)


async def test_a_value_that_would_end_its_line_is_not_sent() -> None:
    async with serving(OK) as server, client(server) as it:
        request = Request("GET", server.url(), "index", {"Prefer": "a\r\nX: y"})
        with pytest.raises(ValueError, match="Prefer cannot be sent"):
            async with it.fetch(request):
                pass

    assert server.connections == 0
