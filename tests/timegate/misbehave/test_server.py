"""The server and its log: connections, time limits, and who closes."""

import asyncio
from contextlib import suppress

import pytest
from yarl import URL

from tests.timegate.misbehave.asking import (
    PATIENCE,
    SMALL,
    TIMEGATE,
    TIMEMAP,
    ask,
    ask_raw,
)
from timegate.misbehave import (
    ArchiveOptions,
    misbehaving_archive,
)


async def test_the_log_has_requests_in_order_and_who_closed() -> None:
    async with misbehaving_archive() as archive:
        await ask(archive, TIMEGATE, "HEAD", {"X-Mine": "1"})
        await ask(archive, TIMEMAP)
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed(2)

        first, second = archive.journal.requests
        assert (first.method, first.target) == ("HEAD", TIMEGATE)
        assert first.values("x-mine") == ["1"]
        assert (second.method, second.target) == ("GET", TIMEMAP)
        assert [closing.by for closing in archive.journal.closings] == ["client", "client"]


async def test_the_log_records_a_client_that_leaves_a_hanging_connection() -> None:
    async with misbehaving_archive(fault="hang", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_requested()
            writer.close()
            await archive.journal.until_closed()

        assert archive.journal.closings[0].by == "client"
        assert await reader.read() == b""


@pytest.mark.parametrize("fault", ["hang", "drip-head", "drip-body", "tls-hung"])
async def test_the_time_limit_ends_endless_answers(fault: str) -> None:
    options = ArchiveOptions(interval=0.001, patience=0.05)

    async with misbehaving_archive(fault=fault, options=options) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET /timegate/http://example.org/ HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert archive.journal.closings[0].by == "archive"
        await comes_to_an_end(reader)
        writer.close()


async def comes_to_an_end(reader: asyncio.StreamReader) -> None:
    """Read until the connection is closed or reset; TimeoutError if it is neither."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionError):
            await reader.read()


async def test_hang_reads_the_request_and_sends_nothing() -> None:
    options = ArchiveOptions(interval=0.001, patience=0.05)

    async with misbehaving_archive(fault="hang", options=options) as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert raw == b""
        assert len(archive.journal.requests) == 1


async def test_leaving_the_block_ends_open_connections() -> None:
    async with misbehaving_archive(fault="hang", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await archive.journal.until_requested()

    await comes_to_an_end(reader)
    writer.close()
    assert archive.journal.closings[0].by == "archive"
