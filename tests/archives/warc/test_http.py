"""Archived responses are read as warcio reads them, but within limits."""

import io
import random

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.bufferedreaders import ChunkedDataReader  # type: ignore[import-untyped]

from archives.warc.files import Damaged
from archives.warc.http import HttpHead, length_fault, payload_of, read_http
from archives.warc.records import Record, open_record
from tests.warcs import LAYOUTS, PAGE, answer, chunked, every_arc, every_kind, gzipped, record


def opened(block: bytes) -> Record:
    return open_record(io.BytesIO(gzipped(record(block))), 0)


def read(block: bytes) -> tuple[HttpHead | None, bytes]:
    found = opened(block)
    head = read_http(found.block)
    payload = payload_of(found.block, head)
    return head, b"".join(iter(lambda: payload.read(1000), b""))


def as_warcio_reads(octets: bytes) -> tuple[str | None, list[tuple[str, str]], bytes]:
    """Return status, fields and payload, content coding included."""
    found = next(ArchiveIterator(io.BytesIO(octets), arc2warc=True))
    head = found.http_headers
    if head is None:
        return None, [], found.raw_stream.read()
    is_chunked = head.get_header("transfer-encoding") == "chunked"
    body = ChunkedDataReader(found.raw_stream) if is_chunked else found.raw_stream
    return head.get_statuscode(), head.headers, body.read()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*every_kind(), *(f"ARC, {kind}" for kind in every_arc())])
def test_responses_are_read_as_warcio_reads_them(name: str, layout: str) -> None:
    records = every_arc()[name[5:]][1:] if name.startswith("ARC, ") else every_kind()[name]
    for each in records:
        octets = LAYOUTS[layout](each)
        found = open_record(io.BytesIO(octets), 0)
        if found.kind in ("request", "warcinfo"):
            continue

        status, fields, payload = as_warcio_reads(octets)
        has_http = found.kind in ("response", "revisit") and found.url != "dns:example.com"
        head = read_http(found.block) if has_http else None
        body = payload_of(found.block, head)

        assert (str(head.status) if head else None) == status
        assert (list(head.headers) if head else []) == fields
        assert b"".join(iter(lambda: body.read(99), b"")) == payload  # noqa: B023


def test_head_and_payload_of_a_response_are_read() -> None:
    head, payload = read(answer(PAGE, "404 Not Found", x_odd="a:b"))

    assert head == HttpHead(404, "Not Found", (("Content-Type", "text/html"), ("X-Odd", "a:b")))
    assert payload == PAGE


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        ("HTTP/1.1 200 OK", 200, "OK"),
        ("HTTP/1.1 200", 200, ""),
        ("HTTP/1.1 200 ", 200, ""),
        ("HTTP/2 204 ", 204, ""),
        ("HTTP/1.0\t302  Moved", 302, "Moved"),
        ("HTTP/1.1 2000 OK", None, ""),
        ("HTTP/1.1 abc", None, ""),
        ("HTTP/1.1", None, ""),
        ("ICY 200 OK", 200, "OK"),
    ],
)
def test_a_status_line_is_read(line: str, status: int | None, reason: str) -> None:
    head, payload = read(f"{line}\r\nA: b\r\n\r\nbody".encode())

    assert head == HttpHead(status, reason, (("A", "b"),))
    assert payload == b"body"


@pytest.mark.parametrize("block", [b"", b"<html>", b"HTT", b"Hello 200 times\r\n\r\n"])
def test_a_block_without_a_head_is_all_payload(block: bytes) -> None:
    assert read(block) == (None, block)


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        (chunked(PAGE), PAGE),
        (b"5;ext=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", b"hello"),
        (b"5  \r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"5\r\nhello\r\n", b"hello"),
        (b"5\r\nhel", b"hel"),
        (b"0\r\n\r\n", b""),
        (b"", b""),
        (PAGE, PAGE),
        (b"5\r\nhello\r\nnot a size\r\nrest", b"hello" + b"not a size\r\nrest"),
        (b"ffffffff\r\nhello", b"hello"),
        (b"fffffffff\r\nhello", b"fffffffff\r\nhello"),
        (b"-5\r\nhello", b"-5\r\nhello"),
    ],
)
def test_chunks_are_decoded_where_there_are_some(body: bytes, payload: bytes) -> None:
    head, found = read(answer(body, transfer_encoding="Chunked"))

    assert head is not None
    assert found == payload


def test_the_size_of_a_payload_is_known_unless_it_is_chunked() -> None:
    usual, odd = opened(answer()), opened(answer(chunked(PAGE), transfer_encoding="chunked"))

    assert payload_of(usual.block, read_http(usual.block)).size == len(PAGE)
    assert payload_of(odd.block, read_http(odd.block)).size is None


def test_field_names_are_case_insensitive() -> None:
    head, _ = read(b"HTTP/1.1 200 OK\r\nCONTENT-type : text/plain \r\nno field\r\n\r\n")

    assert head is not None
    assert head.get("content-type") == "text/plain"
    assert head.get("no field") is None


@pytest.mark.parametrize("fields", [b"A: b\r\n" * 257, b"A: " + b"b" * 66_000 + b"\r\n"])
def test_too_many_fields_are_damage(fields: bytes) -> None:
    with pytest.raises(Damaged, match="the archived response has a head of more than"):
        read(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")


def test_256_fields_are_allowed() -> None:
    head, _ = read(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 256 + b"\r\n")

    assert head is not None
    assert len(head.headers) == 256


def test_a_head_may_be_longer_than_one_read() -> None:
    # Noise is incompressible: the stored head is longer than one read.
    noise = random.Random(2).randbytes(20_000).hex()  # noqa: S311
    head, payload = read(answer(PAGE, x_noise=noise))

    assert head is not None
    assert head.get("x-noise") == noise
    assert payload == PAGE


def test_a_head_that_is_not_utf_8_is_read_as_latin_1() -> None:
    head, _ = read(b"HTTP/1.1 200 \xe9t\xe9\r\n\r\n")

    assert head is not None
    assert head.reason == "été"


def test_a_response_truncated_in_its_head_is_damage() -> None:
    noise = random.Random(2).randbytes(20_000).hex()  # noqa: S311
    octets = gzipped(record(answer(PAGE, x_noise=noise)))[:-5000]
    found = open_record(io.BytesIO(octets), 0)

    for _ in range(2):
        with pytest.raises(Damaged, match="the file ends inside a gzip member"):
            read_http(found.block)


@pytest.mark.parametrize(
    ("values", "chunked", "expected"),
    [
        ((), False, None),
        (("3",), False, None),
        (("003",), False, None),
        (("3", "3"), False, None),
        (("3, 3",), False, None),
        (("500",), False, "content-length-too-large;stated=500;stored=3"),
        (("2",), False, "content-length-too-small;stated=2;stored=3"),
        (("0",), False, "content-length-too-small;stated=0;stored=3"),
        (("-3",), False, 'content-length-invalid;stated="-3"'),
        (("+3",), False, 'content-length-invalid;stated="+3"'),
        (("",), False, 'content-length-invalid;stated=""'),
        (("three",), False, 'content-length-invalid;stated="three"'),
        (("3.0",), False, 'content-length-invalid;stated="3.0"'),
        (("٣",), False, 'content-length-invalid;stated="?"'),
        (('3"\\\r\nX: y',), False, 'content-length-invalid;stated="3????X: y"'),
        (("9" * 16,), False, f'content-length-invalid;stated="{"9" * 16}"'),
        (("3", "4"), False, 'content-length-repeated;stated="3, 4"'),
        (("3, 4",), False, 'content-length-repeated;stated="3, 4"'),
        (("3",), True, "content-length-with-chunked;stated=3"),
        (("x" * 5000,), False, f'content-length-invalid;stated="{"x" * 40}"'),
    ],
)
def test_a_wrong_content_length_is_diagnosed(
    values: tuple[str, ...],
    chunked: bool,  # noqa: FBT001 -- a column of the table
    expected: str | None,
) -> None:
    fields = tuple(("Content-Length", value) for value in values)

    assert length_fault(HttpHead(200, "OK", fields), 3, chunked=chunked) == expected
