import asyncio
import gzip
import socket
import struct
from contextlib import suppress

import pytest

from archives.errors import Misbehaved, Refused, Unreachable
from archives.source import Fetcher, Purpose, Reply, Request
from tests.timegate.upstream.raw_server import CLOSE, OK, entry, fetching, serving, silence
from timegate.upstream.http_client import Timeouts

HASTY = Timeouts(connect=0.2, tls=0.2, first_byte=0.2, stall=0.2, total=5, total_memento=5)


def get(url: str, purpose: Purpose = "index", **headers: str) -> Request:
    return Request("GET", url, purpose, {n.replace("_", "-"): v for n, v in headers.items()})


async def read(reply: Reply) -> bytes:
    return b"".join([chunk async for chunk in reply.chunks()])


async def body(fetch: Fetcher, request: Request) -> bytes:
    async with fetch(request) as reply:
        return await read(reply)


def framed(content: bytes, *fields: bytes) -> bytes:
    head = b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(content), *fields))
    return head + b"\r\n\r\n" + content


@pytest.mark.parametrize(
    "path",
    [
        "/web/2013/http://a.example//b/../c",
        "/web/2013/http://a.example/?",
        "/a%2Fb%2fc%7e~%zz",
        '/a?b=[1]&c={2}|\\^`"<>',
        "/a;b=1,2!$&'()*+",
        "/?a=%00%0D%0A&&=",
        "/a?b?c",
        "//",
    ],
)
async def test_a_url_is_sent_unchanged(path: str) -> None:
    async with serving(OK) as server, fetching(entry(server)) as fetch:
        await body(fetch, get(server.url(path)))

    assert server.lines == [f"GET {path} HTTP/1.1"]


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", "/"),
        ("?a", "/?a"),
        ("/a#b", "/a"),
        ("/a?b#c?d", "/a?b"),
        ("/ä b", "/%C3%A4%20b"),
        ("/\udce4", "/%E4"),
    ],
)
async def test_characters_that_are_not_allowed_in_a_request_line_are_removed_or_escaped(
    path: str, sent: str
) -> None:
    async with serving(OK) as server, fetching(entry(server)) as fetch:
        await body(fetch, get(server.url(path)))

    assert server.lines == [f"GET {sent} HTTP/1.1"]


async def test_only_allowed_headers_are_sent() -> None:
    async with serving(OK) as server, fetching(entry(server)) as fetch:
        url = f"http://user:secret@127.0.0.1:{server.port}/"
        await body(fetch, get(url, Cookie="a=b", Referer="http://c/", Accept_Datetime="then"))

    _, *fields = server.heads[0].decode().strip().split("\r\n")
    assert sorted(field.split(":")[0].lower() for field in fields) == [
        "accept",
        "accept-datetime",
        "accept-encoding",
        "host",
        "user-agent",
    ]
    assert "User-Agent: timegate/0.1.0 (+mailto:test@example.org)".lower() in [
        field.lower() for field in fields
    ]
    assert b"secret" not in server.heads[0]


async def test_cookies_are_never_returned() -> None:
    cookie = framed(b"", b"Set-Cookie: id=1; Path=/")
    async with serving(cookie) as server, fetching(entry(server)) as fetch:
        await body(fetch, get(server.url()))
        await body(fetch, get(server.url()))

    assert len(server.heads) == 2
    assert b"cookie" not in server.heads[1].lower()


async def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    async with (
        serving(moved) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        assert (reply.status, reply.headers["location"]) == (302, "/there")

    assert len(server.lines) == 1


async def test_repeated_fields_are_joined_under_a_lower_case_name() -> None:
    answer = framed(b"", b'Link: <a>; rel="x"', b'LINK: <b>; rel="y"')
    async with (
        serving(answer) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        assert reply.headers["link"] == '<a>; rel="x", <b>; rel="y"'


async def test_a_header_field_of_60_kb_passes() -> None:
    answer = framed(b"", b"Link: <" + b"x" * 60_000 + b">")
    async with (
        serving(answer) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        assert len(reply.headers["link"]) == 60_002


@pytest.mark.parametrize(
    "fields",
    [
        [b"Link: " + b"x" * 1_000_000],
        [b"X-%d: y" % n for n in range(1000)],
        [b"X-%d: " % n + b"y" * 60_000 for n in range(5)],
        [b"X: a\0b"],
        [b"Content-Length: 5"],
        [b"Transfer-Encoding: chunked"],
        [b"X Y : z"],
    ],
    ids=["huge field", "many fields", "huge head", "NUL", "two lengths", "both", "space"],
)
async def test_a_broken_head_is_misbehaviour(fields: list[bytes]) -> None:
    async with serving(framed(b"", *fields)) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved):
            await body(fetch, get(server.url()))


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 999999 X\r\n\r\n", b"\0"]
)
async def test_a_response_that_is_not_http_is_misbehaviour(answer: bytes) -> None:
    async with serving(answer + CLOSE) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match="broken HTTP"):
            await body(fetch, get(server.url()))


async def test_a_flood_of_interim_answers_ends_with_the_final_one() -> None:
    flood = b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000 + OK
    async with serving(flood) as server, fetching(entry(server)) as fetch:
        assert await body(fetch, get(server.url())) == b"ok"


async def test_endless_interim_answers_are_misbehaviour() -> None:
    async def forever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            await writer.drain()

    async with serving(forever) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match="without the end of the head"):
            await body(fetch, get(server.url()))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort" + CLOSE,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n" + CLOSE,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort" + CLOSE,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nshort\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"a")[:-1] + CLOSE,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + CLOSE,
        framed(gzip.compress(b"long" * 100)[:-9], b"Content-Encoding: gzip"),
        framed(b"plain", b"Content-Encoding: gzip"),
        framed(gzip.compress(gzip.compress(b"a")), b"Content-Encoding: gzip, gzip"),
        framed(b"a", b"Content-Encoding: rot13"),
    ],
    ids=[
        "length",
        "no last chunk",
        "in a chunk",
        "no chunk",
        "gzip trailer",
        "empty until close",
        "gzip in full length",
        "not gzip",
        "twice",
        "unknown",
    ],
)
async def test_a_truncated_body_raises(answer: bytes) -> None:
    async with serving(answer) as server, fetching(entry(server), timeouts=HASTY) as fetch:
        with pytest.raises(Misbehaved):
            await body(fetch, get(server.url()))


async def test_a_reset_is_no_end_of_a_body_without_stated_length() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\npart of it")
        await writer.drain()
        await asyncio.wait_for(seen.wait(), 5)
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        del reader

    seen = asyncio.Event()
    async with (
        serving(reset) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        chunks = reply.chunks().__aiter__()
        assert await anext(chunks) == b"part of it"
        seen.set()
        with pytest.raises(Misbehaved, match="breaks off"):
            await anext(chunks)


async def test_garbage_between_two_chunks_ends_the_body_at_once() -> None:
    async def spoil(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n")
        await writer.drain()
        await asyncio.wait_for(seen.wait(), 5)
        writer.write(b"xyz\r\nbad\r\n")
        await silence(reader, writer)

    seen = asyncio.Event()
    async with (
        serving(spoil) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        chunks = reply.chunks().__aiter__()
        assert await anext(chunks) == b"good"
        seen.set()
        with pytest.raises(Misbehaved, match="breaks off"):
            await anext(chunks)


async def test_a_whole_body_of_each_framing_is_read() -> None:
    packed = gzip.compress(b"whole")
    answers = [
        framed(b"whole"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n",
        framed(packed, b"Content-Encoding: gzip"),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\n\r\n" + packed + CLOSE,
        b"HTTP/1.1 200 OK\r\n\r\nwhole" + CLOSE,
    ]
    async with serving(*answers) as server, fetching(entry(server)) as fetch:
        for _ in answers:
            assert await body(fetch, get(server.url())) == b"whole"


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (
            "HEAD",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\nevil body",
        ),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil"),
        ("GET", b"HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\nevil"),
        ("GET", OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
    ],
)
async def test_an_unexpected_body_does_not_become_the_next_response(
    method: str, answer: bytes
) -> None:
    right = framed(b"right")
    async with serving(answer, right) as server, fetching(entry(server)) as fetch:
        request = Request("HEAD" if method == "HEAD" else "GET", server.url("/1"), "memento")
        with suppress(Misbehaved):
            async with fetch(request) as reply:
                assert await read(reply) in (b"", b"ok")

        assert await body(fetch, get(server.url("/2"))) == b"right"


async def test_a_connection_is_used_again() -> None:
    async with serving(OK) as server, fetching(entry(server)) as fetch:
        await body(fetch, get(server.url()))
        await body(fetch, get(server.url()))

    assert (len(server.heads), server.connections) == (2, 1)


async def test_a_new_connection_that_is_dropped_is_not_tried_again() -> None:
    async with serving(CLOSE) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Unreachable, match="without an answer"):
            await body(fetch, get(server.url()))

    assert len(server.heads) == 1


async def test_a_new_connection_that_is_reset_is_not_tried_again() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with serving(reset) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Unreachable, match="connection lost"):
            await body(fetch, get(server.url()))

    assert len(server.heads) == 1


async def test_an_offer_to_change_the_protocol_is_misbehaviour() -> None:
    offer = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    async with serving(offer) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match="answered with 101"):
            await body(fetch, get(server.url()))


async def test_an_idle_connection_that_was_closed_is_replaced_without_an_error() -> None:
    async with serving(OK, CLOSE, OK) as server, fetching(entry(server)) as fetch:
        await body(fetch, get(server.url("/1")))

        assert await body(fetch, get(server.url("/2"))) == b"ok"


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_a_refusal_is_raised(status: int) -> None:
    answer = b"HTTP/1.1 %d No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n" % status
    async with serving(answer) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Refused) as caught:
            await body(fetch, get(server.url()))

    assert (caught.value.status, caught.value.retry_after) == (status, 120)


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_an_archived_refusal_is_a_reply(status: int) -> None:
    answer = (
        b"HTTP/1.1 %d No\r\nMemento-Datetime: Wed, 04 Dec 2013 00:00:00 GMT\r\n"
        b"Content-Length: 4\r\n\r\nbusy" % status
    )
    async with (
        serving(answer) as server,
        fetching(entry(server)) as fetch,
        fetch(get(server.url())) as reply,
    ):
        assert (reply.status, await read(reply)) == (status, b"busy")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(bytes(20 * 1024**2)), "unpacks to more than 200 times its size"),
        (gzip.compress(b"") * 100_000, "more than 1024 gzip members"),
    ],
    ids=["bomb", "members"],
)
async def test_a_bomb_is_stopped_and_the_next_request_works(content: bytes, why: str) -> None:
    bomb = framed(content, b"Content-Encoding: gzip")
    async with serving(bomb, OK) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match=why):
            await body(fetch, get(server.url()))

        assert await body(fetch, get(server.url())) == b"ok"


async def test_an_error_page_is_read_up_to_64_kb() -> None:
    answer = b"HTTP/1.1 404 No\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000
    async with serving(answer) as server, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match="larger than 65,536 bytes"):
            await body(fetch, get(server.url()))


async def test_an_archive_that_never_answers_is_unreachable() -> None:
    async with serving(silence) as server, fetching(entry(server), timeouts=HASTY) as fetch:
        with pytest.raises(Unreachable, match=r"did not answer in time|stopped sending"):
            await body(fetch, get(server.url()))


async def test_a_body_that_stalls_is_unreachable() -> None:
    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome")
        await silence(reader, writer)

    async with (
        serving(stall) as server,
        fetching(entry(server), timeouts=HASTY) as fetch,
        fetch(get(server.url())) as reply,
    ):
        with pytest.raises(Unreachable, match="stopped sending"):
            await read(reply)


async def test_a_body_that_trickles_ends_at_the_total_limit() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    brief = Timeouts(total=0.2)
    async with (
        serving(trickle) as server,
        fetching(entry(server), timeouts=brief) as fetch,
        fetch(get(server.url())) as reply,
    ):
        with pytest.raises(Unreachable, match="took too long in all"):
            await read(reply)


async def test_a_closed_port_is_unreachable_and_says_so() -> None:
    async with serving(OK) as server:
        pass
    async with fetching(entry(server)) as fetch:
        with pytest.raises(Unreachable, match="cannot connect: Connection refused"):
            await body(fetch, get(server.url()))


async def test_an_address_that_is_not_in_the_entry_is_not_connected_to() -> None:
    async with serving(OK) as server, serving(OK) as other, fetching(entry(server)) as fetch:
        with pytest.raises(Misbehaved, match="which the registry does not name"):
            await body(fetch, get(other.url()))

    assert other.connections == 0


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_senseless_timeout_is_rejected(seconds: float) -> None:
    with pytest.raises(ValueError, match="'stall' must be more than 0"):
        Timeouts(stall=seconds)
