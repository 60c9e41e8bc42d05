import gc
import weakref
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.upstream.http1 import BrokenResponse, UpstreamResponse

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nLink: <a>\r\nLINK: <b>\r\n\r\nwhole"
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"2;x=y\r\nwh\r\n3 \r\nole\r\n0\r\nT: t\r\n\r\n"
)
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nwhole"
IDENTITY = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nwhole"
INTERIM = b"HTTP/1.1 103 Early\r\nLink: <hint>\r\n\r\n"
FOUND = b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nContent-Length: 9\r\n\r\n"


def fed(*parts: bytes, to_head: bool = False) -> UpstreamResponse:
    answer = UpstreamResponse(to_head=to_head)
    for part in parts:
        answer.feed(part)
    return answer


def cut(octets: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(octets) + 1) for place in places} | {0, len(octets)})
    return [octets[start:end] for start, end in pairwise(ends)]


places = st.lists(st.integers(0, 200), max_size=12)


@given(st.sampled_from([LENGTH, CHUNKS, INTERIM + LENGTH, INTERIM * 3 + CHUNKS]), places)
def test_however_it_is_split_a_complete_response_leaves_the_connection_reusable(
    octets: bytes, places: list[int]
) -> None:
    answer = fed(*cut(octets, places))

    assert (answer.status, answer.complete, answer.reusable) == (200, True, True)
    assert answer.take() == b"whole"
    assert answer.held == 0
    assert answer.headers.get("link", "<a>, <b>") == "<a>, <b>"


@given(st.sampled_from([LENGTH, CHUNKS]), st.data())
def test_a_truncated_response_is_never_complete(octets: bytes, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(octets) - 1))

    answer = fed(octets[:size])

    assert not answer.complete
    assert not answer.end()


@given(st.sampled_from([UNTIL_CLOSE, IDENTITY]), places)
def test_a_body_without_length_ends_with_its_connection(
    octets: bytes, places: list[int]
) -> None:
    answer = fed(*cut(octets, places))

    assert not answer.complete
    assert answer.end()
    assert answer.take() == b"whole"
    assert not answer.reusable


@given(st.sampled_from([FOUND, MOVED]), places)
def test_however_it_is_split_a_response_to_head_leaves_the_connection_reusable(
    octets: bytes, places: list[int]
) -> None:
    answer = fed(*cut(octets, places), to_head=True)

    assert (answer.status, answer.complete, answer.reusable) == (302, True, True)


@given(
    st.sampled_from(
        [FOUND, MOVED, b"HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\n\r\n"]
    ),
    st.binary(min_size=1, max_size=12) | st.sampled_from([b"5", b"\r\n\r\n", FOUND, b"a\r\n"]),
    places,
)
def test_data_after_a_response_to_head_spoils_the_connection_and_not_the_response(
    octets: bytes, more: bytes, places: list[int]
) -> None:
    answer = fed(*cut(octets + more, places), to_head=True)

    assert (answer.status, answer.complete, answer.reusable) == (302, True, False)
    assert answer.held == 0


@pytest.mark.parametrize(
    ("octets", "body"),
    [
        (LENGTH + b"x", b"whole"),
        (LENGTH + FOUND, b"whole"),
        (CHUNKS + b"\0", b"whole"),
        (b"HTTP/1.1 204 No\r\n\r\nevil", b""),
        (b"HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\nevil", b""),
    ],
)
def test_data_after_a_body_spoils_the_connection_and_not_the_response(
    octets: bytes, body: bytes
) -> None:
    answer = fed(octets)

    assert (answer.complete, answer.reusable, answer.take()) == (True, False, body)


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 302 F\r\n", True),
        (b"HTTP/1.1 302 F\r\nConnection: Keep-Alive\r\n", True),
        (b"HTTP/1.1 302 F\r\nConnection: Close\r\n", False),
        (b"HTTP/1.1 302 F\r\nContent-Length: 3\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 302 F\r\n", False),
        (b"HTTP/1.0 302 F\r\nContent-Length: 3\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/1.1 302 F\r\nUpgrade: h2,h2c\r\nConnection: Upgrade, Keep-Alive\r\n", True),
    ],
)
def test_the_connection_is_kept_as_the_head_says(head: bytes, *, kept: bool) -> None:
    assert fed(head + b"\r\n", to_head=True).reusable is kept


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "Expected HTTP/"),
        (b"HTTP/1.1 099 X\r\n\r\n", "answered with 99"),
        (b"HTTP/1.1 101 X\r\n\r\n", "answered with 101"),
        (b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nx", "with 101"),
        (b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", "NUL"),
        (b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n", "two different"),
        (b"HTTP/1.1 200 OK\r\nX : a\r\n\r\n", "Invalid header token"),
        (b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "LF after header value"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "Duplicate"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "cannot read"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "cannot read"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "can't",
        ),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 65_536 + b"\r\n\r\n", "a header field of 65,537"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 257 + b"\r\n", "257 header fields"),
        (
            b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"x" * 60_000 + b"\r\n") * 5 + b"\r\n",
            "5 header fields",
        ),
        (b"HTTP/1.1 200 " + b"x" * 270_000, "without the end of the head"),
        (INTERIM * 40_000, "without the end of the head"),
    ],
)
def test_invalid_or_oversized_http_is_rejected(octets: bytes, why: str) -> None:
    with pytest.raises(BrokenResponse, match=why):
        fed(octets)


def flood(answer: UpstreamResponse) -> None:
    for _ in range(10):
        answer.feed(b"x" * 50_000)


@pytest.mark.parametrize("filling", [b"5;", b"0\r\nT: "])
def test_the_data_between_two_chunks_is_bounded(filling: bytes) -> None:
    answer = fed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n" + filling)

    with pytest.raises(BrokenResponse, match="between two pieces"):
        flood(answer)


def test_an_endless_field_is_rejected_before_it_fills_the_memory() -> None:
    answer = fed(b"HTTP/1.1 200 OK\r\nX: ")

    with pytest.raises(BrokenResponse, match="without the end of the head"):
        flood(answer)


def test_faults_that_browsers_tolerate_are_tolerated() -> None:
    answer = fed(
        b"HTTP/1.1 200 OK\nX: a\x01b\r\nY: folded\r\n line \t\r\nZ: \xe4\r\n"
        b"Content-Length: 0\n\n"
    )

    assert (answer.complete, answer.headers["x"]) == (True, "a\x01b")
    assert answer.headers["y"] == "folded line"
    assert answer.headers["z"].encode("utf-8", "surrogateescape") == b"\xe4"


def test_fields_of_interim_responses_and_trailers_are_not_those_of_the_response() -> None:
    answer = fed(INTERIM + CHUNKS)

    assert answer.headers == {"transfer-encoding": "Chunked"}


@given(st.binary(max_size=300), places)
def test_any_octets_are_parsed_or_rejected(octets: bytes, places: list[int]) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", CHUNKS[:50]):
        try:
            answer = fed(*cut(start + octets, places))
        except BrokenResponse:
            continue
        assert answer.complete or not answer.reusable


def test_a_complete_response_leaves_no_reference_cycle() -> None:
    class Watched(UpstreamResponse, weakref=True): ...

    gc.disable()
    try:
        answer = Watched(to_head=True)
        answer.feed(FOUND)
        gone = weakref.ref(answer)
        del answer

        assert gone() is None
    finally:
        gc.enable()
