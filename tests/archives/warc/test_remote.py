"""Remote files: the requested bytes or an error, never other bytes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.warc.remote import Piece, checked_range, open_remote, read_error, safe_path

WHOLE = bytes(range(256)) * 40


class MemoryRanges:
    """`RangeReader` over bytes in memory, which can be changed."""

    def __init__(self, octets: bytes = WHOLE) -> None:
        self.octets = octets
        self.version = '"1"'
        self.requests: list[tuple[int, int]] = []

    def get(self, name: str, start: int, end: int) -> Piece:
        assert name == "some.warc.gz"
        self.requests.append((start, end))
        if start >= len(self.octets):
            raise read_error("the file is shorter than the index says")
        return Piece(self.octets[start:end], len(self.octets), self.version)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 3000)), max_size=8))
def test_a_remote_file_reads_like_a_local_one(reads: list[tuple[int, int]]) -> None:
    with open_remote(MemoryRanges(), "some.warc.gz", ahead=512) as file:
        for start, length in reads:
            file.seek(start)

            assert file.read(length) == WHOLE[start : start + length]


def test_an_unknown_length_is_requested_from_the_server() -> None:
    with open_remote(MemoryRanges(), "some.warc.gz") as file:
        assert file.seek(0, 2) == len(WHOLE)


def test_nothing_after_the_record_is_requested() -> None:
    ranges = MemoryRanges()

    with open_remote(ranges, "some.warc.gz", 300) as file:
        file.seek(100)
        octets = file.read()

    assert octets == WHOLE[100:300]
    assert ranges.requests == [(100, 300)]


@pytest.mark.parametrize("change", ["version", "length"])
def test_a_file_that_changes_while_it_is_read_is_an_error(change: str) -> None:
    ranges = MemoryRanges()

    with open_remote(ranges, "some.warc.gz", ahead=64) as file:
        file.read(64)
        if change == "version":
            ranges.version = '"2"'
        else:
            ranges.octets += b"more"

        with pytest.raises(OSError, match="changed while it was read"):
            file.read(64)


RANGE = {"content-range": "bytes 10-19/100", "etag": '"a"'}
TEN = bytes(10)


def test_the_requested_range_is_accepted() -> None:
    assert checked_range(206, RANGE, TEN, 10, 20) == Piece(TEN, 100, '"a"')


def test_the_last_range_may_be_shorter() -> None:
    headers = {"content-range": "bytes 90-99/100", "last-modified": "then"}

    assert checked_range(206, headers, TEN, 90, 200) == Piece(TEN, 100, "then")


@pytest.mark.parametrize(
    ("status", "headers", "octets", "why"),
    [
        (200, RANGE, TEN, "ignores ranges"),
        (302, RANGE, b"", "answers 302"),
        (404, RANGE, b"", "no such file"),
        (416, RANGE, b"", "shorter than the index says"),
        (500, RANGE, b"", "answers 500"),
        (206, {}, TEN, "which range"),
        (206, {"content-range": "bytes 10-19/*"}, TEN, "which range"),
        (206, {"content-range": "bytes 11-20/100"}, TEN, "another range"),
        (206, {"content-range": "bytes 10-14/100"}, TEN[:5], "another range"),
        (206, {"content-range": "bytes 10-29/100"}, TEN, "another range"),
        (206, RANGE, TEN[:9], "more or fewer bytes"),
        (206, RANGE, TEN + b"x", "more or fewer bytes"),
        (206, {**RANGE, "content-encoding": "gzip"}, TEN, "compresses"),
    ],
)
def test_any_other_response_is_an_error(
    status: int, headers: dict[str, str], octets: bytes, why: str
) -> None:
    with pytest.raises(OSError, match=why):
        checked_range(status, headers, octets, 10, 20)


@given(st.text(max_size=40), st.binary(max_size=30))
def test_any_content_range_is_right_or_an_error(content_range: str, octets: bytes) -> None:
    try:
        piece = checked_range(206, {"content-range": content_range}, octets, 0, 20)
    except OSError:
        return

    assert len(piece.octets) == min(20, piece.total)


@pytest.mark.parametrize(
    "path", ["", "..", "../a", "a/../b", "a//b", "/a", "a/", "./a", "a\nb"]
)
def test_a_name_that_is_no_plain_path_is_refused(path: str) -> None:
    with pytest.raises(OSError, match="not a plain relative path"):
        safe_path(path)


def test_no_local_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "some.warc.gz").write_bytes(b"here")

    with open_remote(MemoryRanges(b"there"), "some.warc.gz") as file:
        assert file.read() == b"there"
