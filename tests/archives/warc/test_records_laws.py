"""Property tests: what holds for reading any bytes."""

import gzip
import io
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.warc.captures import Capture, captures_in
from archives.warc.files import Damage, Damaged
from archives.warc.http import payload_of, read_http
from archives.warc.records import Record, open_record, records_in
from tests.warcs import (
    PAGE,
    answer,
    arc_header,
    arc_record,
    chunked,
    gzipped,
    plain,
    record,
    request,
    response,
    revisit,
    warcinfo,
)

SOUND = [
    warcinfo(),
    response("http://example.com/1", payload=PAGE * 40),
    request(),
    revisit("http://example.com/2"),
    record(answer(chunked(PAGE), transfer_encoding="chunked")),
    record(b"", "resource", mime="text/plain"),
]
ARC = [arc_header(), arc_record("http://example.com/1"), arc_record("http://example.com/2")]
FILES: dict[str, tuple[Callable[..., bytes], list[bytes]]] = {
    "plain": (plain, SOUND),
    "gzip": (gzipped, SOUND),
    "ARC, plain": (plain, ARC),
    "ARC, gzip": (gzipped, ARC),
}
FRAGMENTS = st.sampled_from(
    [
        *SOUND,
        *(gzipped(each) for each in SOUND),
        *ARC,
        *(b"WARC/1.0\r\n", b"\r\n\r\n", b"Content-Length: 9\r\n", b"\x1f\x8b\x08\0", b"\n"),
        *(b"http://e.com/ 1.2.3.4 20140102000000 text/html 9\n", b"HTTP/1.1 200\r\n", b"5\r\n"),
        gzipped(SOUND[1])[:200],
        gzip.compress(b"".join(SOUND)),
    ]
)


def read(found: Record) -> bytes | None:
    """Return the payload, or None if the record is damaged."""
    try:
        payload = payload_of(found.block, read_http(found.block))
        return b"".join(iter(lambda: payload.read(100), b""))
    except Damaged:
        return None


@given(st.lists(st.one_of(st.binary(max_size=40), FRAGMENTS), max_size=8).map(b"".join))
def test_any_bytes_yield_records_and_damages_in_order(octets: bytes) -> None:
    offsets = [
        each.offset
        for each in records_in(io.BytesIO(octets))
        if isinstance(each, Damage) or read(each) is not None
    ]

    assert offsets == sorted(offsets)
    assert len(set(offsets)) == len(offsets)


@given(st.lists(st.one_of(st.binary(max_size=40), FRAGMENTS), max_size=8).map(b"".join))
def test_every_listed_capture_can_be_opened_by_offset_and_length(octets: bytes) -> None:
    file = io.BytesIO(octets)
    captures = [each for each in captures_in(file) if isinstance(each, Capture)]

    for each in captures:
        found = open_record(file, each.offset, each.length)

        assert (found.url, found.stamp) == (each.url, each.stamp)
        assert found.length == each.length


@settings(max_examples=300)
@given(
    st.sampled_from(list(FILES)),
    st.integers(0, len(b"".join(SOUND))),
)
def test_a_truncated_file_yields_its_complete_records(kind: str, cut: int) -> None:
    layout, records = FILES[kind]
    octets = layout(*records)
    cut = min(cut, len(octets))
    expected, torn = _whole_before(cut, layout, records)

    found = list(_found(octets[:cut]))

    assert [each for each in found if isinstance(each, int)] == expected
    assert sum(isinstance(each, Damage) for each in found) == torn


def _whole_before(
    cut: int, layout: Callable[..., bytes], records: list[bytes]
) -> tuple[list[int], int]:
    """Return the offsets of records complete before *cut*, and whether one is truncated.

    An uncompressed record is complete without the newlines after it.
    """
    at = 0
    whole: list[int] = []
    for each in records:
        newlines = 0 if layout is gzipped else len(each) - len(each.rstrip(b"\r\n"))
        separator = min(newlines, 4 if each.startswith(b"WARC") else 1)
        stored = len(layout(each))
        if at + stored - separator > cut:
            return whole, int(cut > at or not cut)
        whole.append(at)
        at += stored
    return whole, 0


def _found(octets: bytes) -> list[int | Damage]:
    found: list[int | Damage] = []
    for each in records_in(io.BytesIO(octets)):
        if isinstance(each, Damage):
            found.append(each)
        else:
            try:
                each.block.finish()
            except Damaged:
                continue
            found.append(each.offset)
    return found


@pytest.mark.parametrize("kind", FILES)
@given(st.integers(1, 3000))
def test_the_read_size_does_not_matter(kind: str, step: int) -> None:
    layout, records = FILES[kind]
    file = io.BytesIO(layout(*records))

    for each in records_in(file):
        assert isinstance(each, Record)
        at_once = open_record(file, each.offset).block

        octets = b"".join(iter(lambda: each.block.read(step), b""))  # noqa: B023

        assert octets == b"".join(iter(lambda: at_once.read(1 << 20), b""))  # noqa: B023


@given(st.binary(max_size=3000), st.integers(1, 400), st.integers(1, 700))
def test_chunks_of_any_size_are_decoded(payload: bytes, size: int, step: int) -> None:
    block = answer(chunked(payload, size), transfer_encoding="chunked")
    found = open_record(io.BytesIO(gzipped(record(block))), 0)

    decoded = payload_of(found.block, read_http(found.block))

    assert b"".join(iter(lambda: decoded.read(step), b"")) == payload
