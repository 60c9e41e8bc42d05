"""Faults of HTTP and TLS: headers, codings, trickles, certificates."""

import asyncio
import gzip
import re
import ssl
import warnings
import zlib

import pytest
from aiohttp import ClientSession, ClientTimeout
from yarl import URL

from tests.timegate.misbehave.asking import (
    CDX,
    CORRECT_TIMEMAP,
    PATIENCE,
    REPLAY,
    SMALL,
    TIMEGATE,
    TIMEMAP,
    ask,
    ask_raw,
    pure,
)
from timegate.misbehave import (
    EXAMPLE,
    Archive,
    misbehaving_archive,
)
from timegate.misbehave.faults.transport import POISON


async def test_truncated_bodies_end_early() -> None:
    for fault, ending in (("truncated-length", None), ("truncated-chunks", b"0\r\n\r\n")):
        async with misbehaving_archive(fault=fault) as archive:
            head, _, body = (await ask_raw(archive, TIMEMAP)).partition(b"\r\n\r\n")

            length = re.search(rb"Content-Length: (\d+)", head)
            assert len(body) < (int(length[1]) if length else 10**9)
            assert ending is None or ending not in body


async def test_a_truncated_close_looks_like_a_complete_body() -> None:
    async with misbehaving_archive(fault="truncated-close") as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.status == 200
        assert 0 < len(answer.mementos) < len(EXAMPLE)


async def test_a_thousand_headers_are_sent() -> None:
    async with misbehaving_archive(fault="thousand-headers") as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert raw.startswith(b"HTTP/1.1 302 Found\r\n")
        assert raw.count(b"\r\nX-Filler-") == 1000


async def test_a_huge_header_is_sent() -> None:
    async with misbehaving_archive(fault="huge-header", options=SMALL) as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert b"\r\nX-Filler: " + b"z" * (SMALL.bulk // 10) + b"\r\n" in raw


async def test_a_flood_of_100_continue_comes_before_the_answer() -> None:
    async with misbehaving_archive(fault="continue-flood", options=SMALL) as archive:
        flood = b"HTTP/1.1 100 Continue\r\n\r\n" * (SMALL.bulk // 100)
        raw = await ask_raw(archive, TIMEGATE)

        assert raw.startswith(flood + b"HTTP/1.1 302 Found\r\n")


async def test_a_nul_and_two_lengths_are_sent_unchanged() -> None:
    async with misbehaving_archive(fault="nul-in-header") as archive:
        assert b"X-Filler: a\0b\r\n" in await ask_raw(archive, TIMEGATE)
    async with misbehaving_archive(fault="two-lengths") as archive:
        assert (await ask_raw(archive, REPLAY)).count(b"Content-Length: ") == 2


async def test_browser_headers_have_a_cookie() -> None:
    async with misbehaving_archive(fault="browser-headers") as archive:
        answer = await ask(archive, TIMEGATE)

        assert answer.headers["Set-Cookie"] == "spy=1; Path=/"
        assert "rel=preload" in ",".join(answer.headers.getall("Link"))


@pytest.mark.parametrize("status", [204, 205, 206, 304, 416])
async def test_forbidden_bodies_are_sent_and_the_connection_stays_open(status: int) -> None:
    async with misbehaving_archive(fault=f"status-{status}", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        for asked in (1, 2):
            writer.write(f"GET {TIMEGATE} HTTP/1.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(4 if status == 206 else len(POISON))

            assert head.startswith(f"HTTP/1.1 {status} ".encode())
            assert body == (b"part" if status == 206 else POISON)
            assert archive.journal.request_count == asked
        writer.close()


async def test_head_is_answered_with_a_body_and_get_correctly() -> None:
    async with misbehaving_archive(fault="head-with-body", options=SMALL) as archive:
        head = await ask_raw(archive, REPLAY, "HEAD")
        get = await ask(archive, REPLAY)

        assert head.endswith(b"\r\n\r\n" + POISON)
        assert get.body == EXAMPLE[1].content


def inflated(data: bytes) -> int:
    """Return how much *data* expands to, and check its checksum."""
    stream, size = zlib.decompressobj(31), 0
    while data and not stream.eof:
        size += len(stream.decompress(data, 65_536))
        data = stream.unconsumed_tail
    assert stream.eof
    return size


@pytest.mark.parametrize("path", [TIMEMAP, CDX, REPLAY])
async def test_a_gzip_bomb_is_small_on_the_wire(path: str) -> None:
    async with misbehaving_archive(fault="gzip-bomb", options=SMALL) as archive:
        answer = await ask(archive, path)

        assert answer.headers["Content-Encoding"] == "gzip"
        assert inflated(answer.body) >= SMALL.bomb
        assert len(answer.body) * 100 < SMALL.bomb


async def test_a_nested_bomb_is_smaller_still() -> None:
    async with misbehaving_archive(fault="gzip-nested", options=SMALL) as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.headers["Content-Encoding"] == "gzip, gzip"
        assert inflated(gzip.decompress(answer.body)) >= SMALL.bomb


async def test_gzip_members_are_many() -> None:
    async with misbehaving_archive(fault="gzip-members", options=SMALL) as archive:
        answer = await ask(archive, TIMEMAP)

        assert gzip.decompress(answer.body) == b"\n" * (SMALL.bulk // 100)


@pytest.mark.parametrize(("fault", "coding"), [("brotli-bomb", "br"), ("zstd-bomb", "zstd")])
async def test_other_bombs_are_small_on_the_wire_too(fault: str, coding: str) -> None:
    """Decoded by aiohttp, which supports both where their libraries are installed."""
    async with (
        misbehaving_archive(fault=fault, options=SMALL) as archive,
        ClientSession(timeout=ClientTimeout(PATIENCE)) as session,
    ):
        packed = await ask(archive, TIMEMAP)
        async with session.get(URL(archive.url + TIMEMAP, encoded=True)) as reply:
            size = sum([len(part) async for part in reply.content.iter_chunked(65_536)])

        assert packed.headers["Content-Encoding"] == coding
        assert len(packed.body) * 100 < SMALL.bomb <= size


def test_content_encoding_is_false() -> None:
    assert pure("says-gzip", TIMEMAP).value("Content-Encoding") == "gzip"
    assert pure("says-gzip", TIMEMAP).body.decode() == CORRECT_TIMEMAP
    assert pure("says-gzip-twice", TIMEMAP).value("Content-Encoding") == "gzip, gzip"
    assert gzip.decompress(pure("says-gzip-twice", TIMEMAP).body).decode() == CORRECT_TIMEMAP
    assert pure("says-unknown", TIMEMAP).value("Content-Encoding") == "x-shuffled"


@pytest.mark.parametrize(("fault", "ended"), [("drip-head", False), ("drip-body", True)])
async def test_a_trickle_sends_byte_after_byte_until_the_client_leaves(
    fault: str, *, ended: bool
) -> None:
    async with misbehaving_archive(fault=fault, options=SMALL) as archive:
        raw = await ask_raw(archive, TIMEMAP, at_most=300)
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert (b"\r\n\r\n" in raw) is ended
        assert archive.journal.closings[0].by == "client"


async def handshake(archive: Archive, context: ssl.SSLContext) -> None:
    port = URL(archive.url).port
    async with asyncio.timeout(0.2 if archive.faults[0].silent else PATIENCE):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("tls-expired", "certificate has expired"),
        ("tls-self-signed", "self-signed certificate"),
        ("tls-wrong-host", "IP address mismatch"),
    ],
)
async def test_an_invalid_certificate_fails_for_its_own_reason(
    fault: str, complaint: str
) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
            await handshake(archive, archive.client_tls())


async def test_an_outdated_archive_accepts_only_outdated_clients() -> None:
    async with misbehaving_archive(fault="tls-outdated") as archive:
        old = archive.client_tls()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version = ssl.TLSVersion.TLSv1
        old.set_ciphers("ALL:@SECLEVEL=0")

        await handshake(archive, old)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await handshake(archive, archive.client_tls())


async def test_a_valid_certificate_is_trusted_by_clients_that_trust_the_authority() -> None:
    async with misbehaving_archive(fault="tls-right") as archive:
        await handshake(archive, archive.client_tls())

        with pytest.raises(ssl.SSLCertVerificationError):
            await handshake(archive, ssl.create_default_context())


async def test_a_hung_handshake_is_never_answered() -> None:
    async with misbehaving_archive(fault="tls-hung", options=SMALL) as archive:
        with pytest.raises(TimeoutError):
            await handshake(archive, archive.client_tls())
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert archive.url.startswith("https://")
        assert archive.journal.requests == []
