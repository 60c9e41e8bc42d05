"""Records in sequence and by offset, from intact and from hostile files."""

import gzip
import io
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from archives.warc.captures import Capture, captures_in
from archives.warc.files import WINDOW, Damage, Damaged
from archives.warc.records import (
    MAX_DAMAGES,
    MAX_EMPTY,
    MAX_TRIALS,
    Record,
    open_record,
    records_in,
)
from tests.warcs import (
    PAGE,
    answer,
    arc_header,
    arc_line,
    arc_record,
    gzipped,
    plain,
    record,
    response,
)

LAST = "http://example.com/last"
Found = tuple[int, str | None] | Damage


def found_in(octets: bytes) -> list[Found]:
    """Return offset and URL of each complete record, and the damages."""
    return [
        each if isinstance(each, Damage) else (each.offset, each.url) for each in whole(octets)
    ]


def whole(octets: bytes) -> list[Record | Damage]:
    found: list[Record | Damage] = []
    for each in records_in(io.BytesIO(octets)):
        if isinstance(each, Record):
            try:
                each.block.finish()
            except Damaged:
                continue  # the damage is yielded next
        found.append(each)
    return found


def contents(record: Record) -> bytes:
    return b"".join(iter(lambda: record.block.read(7), b""))


def test_the_head_of_a_record_is_read() -> None:
    octets = gzipped(response("http://example.com/a"))

    (found,) = whole(octets)

    assert isinstance(found, Record)
    assert (found.kind, found.version, found.offset) == ("response", "1.0", 0)
    assert (found.url, found.stamp) == ("http://example.com/a", "20200220202020")
    assert found.headers.get("WARC-TYPE") == "response"
    assert found.headers.get("nothing") is None
    assert found.length == len(octets)


@pytest.mark.parametrize("layout", [plain, gzipped])
def test_a_record_is_opened_by_its_offset(layout: Callable[..., bytes]) -> None:
    before = layout(response())
    one = layout(response(LAST))

    found = open_record(io.BytesIO(before + one + before), len(before))

    assert found.url == LAST
    assert found.block.left == len(answer(PAGE))
    assert contents(found) == answer(PAGE)
    assert found.length == len(one) - (0 if layout is gzipped else len(b"\r\n\r\n"))


def ends_at(member: bytes, end: int) -> bytes:
    """Return the gzip *member* padded to *end* bytes, by the file name in its header."""
    name = b"n" * (end - len(member) - 1)
    return member[:3] + b"\x08" + member[4:10] + name + b"\0" + member[10:]


@pytest.mark.parametrize("damage", [False, True])
@pytest.mark.parametrize("offset", range(WINDOW - 5, WINDOW + 3))
def test_a_member_is_found_at_any_offset(offset: int, *, damage: bool) -> None:
    """A window of 64 kB may end after the member's first byte."""
    first = ends_at(gzipped(response("http://example.com/first")), offset)
    if damage:
        first = first[:-1] + bytes([first[-1] ^ 1])
    second = gzipped(response(LAST))

    found = found_in(first + second)

    assert found[-1] == (offset, LAST)
    assert len(found) == 2


def test_a_record_of_an_arc_file_is_opened_by_its_offset() -> None:
    header = arc_header()

    found = open_record(io.BytesIO(header + arc_record()), len(header), len(arc_record()))

    assert (found.kind, found.version, found.stamp) == ("response", "arc", "20140216050221")
    assert contents(found) == answer()


@pytest.mark.parametrize("offset", [-1, 1, 5000, 10**18])
def test_an_offset_without_a_record_is_damage(offset: int) -> None:
    with pytest.raises(Damaged):
        open_record(io.BytesIO(gzipped(response())), offset)


def test_a_length_that_is_too_short_is_noticed_at_the_end_at_the_latest() -> None:
    octets = gzipped(response())
    found = open_record(io.BytesIO(octets), 0, len(octets) - 5)

    with pytest.raises(Damaged, match="the file ends inside a gzip member"):
        contents(found)


def test_a_wrong_checksum_is_raised_before_the_last_bytes_are_returned() -> None:
    octets = bytearray(gzipped(response()))
    octets[-6] ^= 1

    with pytest.raises(Damaged, match="invalid gzip"):
        contents(open_record(io.BytesIO(bytes(octets)), 0))


@pytest.mark.parametrize("layout", [plain, gzipped])
@pytest.mark.parametrize("step", [None, 1000, 1 << 20])
def test_a_record_may_be_larger_than_any_buffer(
    layout: Callable[..., bytes], step: int | None
) -> None:
    payload = random.Random(1).randbytes(300_000)  # noqa: S311
    octets = layout(response(payload=payload), response(LAST))
    first, last = "", ""

    for each in records_in(io.BytesIO(octets)):
        assert isinstance(each, Record)
        first, last = last, each.url or ""
        if step and last != LAST:
            read = b"".join(iter(lambda: each.block.read(step), b""))  # noqa: B023
            assert read == answer(payload)

    assert (first, last) == ("http://example.com/", LAST)


def test_damage_is_raised_again_on_every_read() -> None:
    found = open_record(io.BytesIO(gzipped(response(payload=NOISE))[:-100]), 0)

    for read in (found.block.finish, lambda: found.block.read(9), found.block.read_head):
        with pytest.raises(Damaged, match="the file ends inside a gzip member"):
            read()
    assert found.broken


def test_a_search_gives_up_after_too_many_attempts() -> None:
    first, last = found_in(b"\x1f\x8b\x08\0" * 2000)

    assert "invalid gzip" in str(first)
    assert "the rest of the file is not read" in str(last)


def test_bytes_that_only_look_like_a_gzip_member_are_skipped() -> None:
    octets = gzipped(response()) + b"\x1f\x8b\x08\0 no gzip " * 9 + gzipped(response(LAST))

    first, damage, last = found_in(octets)

    assert isinstance(damage, Damage)
    assert (first, last) == (
        (0, "http://example.com/"),
        (len(octets) - len(gzipped(response(LAST))), LAST),
    )


def _torn(octets: bytes) -> bytes:
    return octets[:-30]


def _flipped(octets: bytes) -> bytes:
    middle = len(octets) // 2
    return (
        octets[:middle]
        + bytes(255 - each for each in octets[middle : middle + 9])
        + octets[middle + 9 :]
    )


def _lying(length: str) -> bytes:
    return record(answer(), length=length)


FLOOD = record(b"x").replace(b"WARC-Type", b"A: b\r\n" * 50_000 + b"WARC-Type")
LONG_LINE = record(b"x", long="x" * 70_000)
NOISE = random.Random(7089).randbytes(5000)  # noqa: S311

HOSTILE = {
    "torn gzip": (_torn(gzipped(response())), "gzip"),
    "flipped gzip": (_flipped(gzipped(response(payload=NOISE))), "gzip"),
    "header flood, gzip": (gzipped(FLOOD), "a head of more than 65536 octets"),
    "header flood, short lines": (
        gzipped(record(b"x").replace(b"WARC-Type", b"A:\n" * 300 + b"WARC-Type")),
        "a head of more than 256 lines",
    ),
    "long line, gzip": (gzipped(LONG_LINE), "a head of more than 65536 octets"),
    "bomb": (gzipped(record(bytes(30_000_000))), "inflates to more than 200 times"),
    "too long, gzip": (gzipped(_lying("9999")), "octets early"),
    "too short, gzip": (gzipped(_lying("50")), "the gzip member holds more"),
    "two records in a member": (gzipped(response() + response()), "warcio recompress"),
    "negative, gzip": (gzipped(_lying("-1")), "no valid Content-Length: '-1'"),
    "huge, gzip": (gzipped(_lying("99999999999")), "a record of 99999999999 octets"),
    "enormous, gzip": (gzipped(_lying("9" * 5000)), "no valid Content-Length"),
    "no number, gzip": (gzipped(_lying("ten")), "no valid Content-Length: 'ten'"),
    "other digits, gzip": (gzipped(_lying("١٢")), "no valid Content-Length"),
    "no length, gzip": (
        gzipped(response().replace(b"Content-Length", b"X")),
        "no valid Content-Length",
    ),
    "head cut off, gzip": (gzipped(response()[:60]), "ends within the head"),
    "no WARC in gzip": (gzipped(PAGE), "neither WARC nor ARC"),
    "WARC 2": (gzipped(record(answer(), version="2.0")), "unknown WARC version"),
    "garbage, gzip": (NOISE, "neither WARC nor ARC"),
    "zstandard": (b"\x28\xb5\x2f\xfd" + NOISE, "Zstandard"),
}
HOSTILE_PLAIN = {
    "header flood": (FLOOD, "a head of more than 65536 octets"),
    "long line": (LONG_LINE, "a head of more than 65536 octets"),
    "too long": (_lying("600"), "does not end where Content-Length says"),
    "far too long": (_lying("99999"), "octets early"),
    "too short": (_lying("50"), "does not end where Content-Length says"),
    "negative": (_lying("-1"), "no valid Content-Length: '-1'"),
    "huge": (_lying("99999999999"), "a record of 99999999999 octets"),
    "no number": (_lying("ten"), "no valid Content-Length: 'ten'"),
    "torn": (_torn(response()), "does not end where Content-Length says"),
    "garbage": (b"garbage " * 10 + b"\r\n\r\n", "neither WARC nor ARC"),
    "garbage on a line without end": (b"x" * 40_000 + b"\r\n", "neither WARC nor ARC"),
    "NUL": (bytes(5000) + b"\n", "neither WARC nor ARC"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_damage_in_a_compressed_file_is_reported_and_the_rest_is_found(kind: str) -> None:
    bad, why = HOSTILE[kind]
    before = gzipped(response())

    first, damage, last = found_in(before + bad + gzipped(response(LAST)))

    assert first == (0, "http://example.com/")
    assert isinstance(damage, Damage)
    assert damage.offset == len(before)
    assert why in damage.why
    assert last == (len(before) + len(bad), LAST)


@pytest.mark.parametrize("kind", HOSTILE_PLAIN)
def test_damage_in_a_plain_file_is_reported_and_the_rest_is_found(kind: str) -> None:
    bad, why = HOSTILE_PLAIN[kind]
    before = response()

    first, damage, last = found_in(before + bad + b"\r\n" + response(LAST))

    assert first == (0, "http://example.com/")
    assert isinstance(damage, Damage)
    assert damage.offset == len(before)
    assert why in damage.why
    assert last == (len(before) + len(bad) + 2, LAST)


@pytest.mark.parametrize("length", ["-1", "abc", "99999", "5"])
def test_damage_in_an_arc_file_is_reported_and_the_rest_is_found(length: str) -> None:
    before = arc_header()
    bad = arc_line("http://example.com/", length) + answer() + b"\n"

    found = found_in(before + bad + arc_record(LAST))

    damages = [each for each in found if isinstance(each, Damage)]
    assert damages[0].offset == len(before)
    assert found[-1] == (len(before) + len(bad), LAST)


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"", "the file is empty"),
        (b"x", "ends within the head of a record"),
        (PAGE, "neither WARC nor ARC"),
        (b"PK\x03\x04" + NOISE, "neither WARC nor ARC"),
        (b"\x1f\x8b", "the file ends inside a gzip member"),
        (b"\x28\xb5\x2f\xfd" + NOISE, "Zstandard, which is not supported"),
        (gzip.compress(response() * 50), "several records in one gzip member"),
    ],
)
def test_a_file_without_a_usable_record_is_one_damage(octets: bytes, why: str) -> None:
    (damage,) = found_in(octets)

    assert isinstance(damage, Damage)
    assert damage.offset == 0
    assert why in damage.why


def test_a_truncated_member_does_not_hide_records_appended_after_it() -> None:
    # warcio reads none of three records appended after a truncated member.
    torn = gzipped(response(payload=NOISE))[:-1000]
    octets = torn + gzipped(response("http://a.example/"), response("http://b.example/"))

    damage, *rest = found_in(octets)

    assert isinstance(damage, Damage)
    assert [each[1] for each in rest] == ["http://a.example/", "http://b.example/"]


def test_a_file_with_too_many_damages_is_not_read_to_its_end() -> None:
    octets = _lying("ten") * (MAX_DAMAGES + 5)

    found = found_in(octets)

    assert len(found) == MAX_DAMAGES + 1
    assert "the rest of the file is not read" in str(found[-1])


def _one_in_another(depth: int) -> bytes:
    """Return members each of which contains, as stored data, all those after it."""
    inner = b""
    for _ in range(depth):
        head = record(inner or b"x")
        body = head[: -len(b"\r\n\r\n")]
        deflated = zlib.compressobj(0, zlib.DEFLATED, -15)
        octets = deflated.compress(body) + deflated.flush()
        inner = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + octets + b"wrong checksum"[:8]
    return inner


BOMBS: dict[str, Callable[[], bytes]] = {
    "header flood": lambda: gzipped(
        record(b"x").replace(b"WARC-Type", b"A: b\r\n" * 8_400_000 + b"WARC-Type")
    ),
    "one long line": lambda: gzipped(record(b"x", long="x" * 64_000_000)),
    "one long line, plain": lambda: b"WARC/1.0\r\n" + b"x" * 64_000_000,
    "zeros": lambda: gzipped(record(bytes(100_000_000))),
    "thousands of small bombs": lambda: gzipped(record(bytes(1_000_000))) * 3000,
    "newlines": lambda: b"\n" * 32_000_000,
    "newlines behind a record": lambda: gzipped(response() + b"\n" * 32_000_000),
    "magic numbers": lambda: b"\x1f\x8b\x08\0" * 2_000_000,
    "heads": lambda: b"WARC/1.0\r\n" * 1_000_000,
    "heads that claim the rest": lambda: _lying("100000000") * 30_000,
    "members that claim the rest": lambda: _one_in_another(400),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_memory_does_not_grow_with_the_file(kind: str) -> None:
    file = io.BytesIO(BOMBS[kind]())
    tracemalloc.start()

    for each in records_in(file):
        if isinstance(each, Record):
            _read_all(each)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 * 1024 * 1024


def _read_all(record: Record) -> None:
    try:
        while record.block.read(65536):
            pass
    except Damaged:
        pass


class CountingFile(io.FileIO):
    """A file that counts the octets that are read from it."""

    octets = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(-1 if size is None else size) or b""
        self.octets += len(piece)
        return piece


HUGE = 5 * 1024**3


def sparse(path: Path, stated: int, size: int, rest: bytes) -> CountingFile:
    """Return a file with a record of which *size* octets are a hole, then *rest*."""
    head = record(b"", length=str(stated)).removesuffix(b"\r\n\r\n")
    with path.open("wb") as file:
        file.write(head + answer(b""))
        file.seek(len(head) + size)
        file.write(rest)
    return CountingFile(path)


@pytest.mark.parametrize("stated", [HUGE, HUGE + 7, 2 * HUGE, 10**18])
def test_a_huge_sparse_record_is_not_read(tmp_path: Path, stated: int) -> None:
    rest = b"\r\n\r\n" + response(LAST)

    with sparse(tmp_path / "a.warc", stated, HUGE, rest) as file:
        damage, last = records_in(file)

        assert isinstance(damage, Damage)
        assert isinstance(last, Record)
        assert last.url == LAST
        assert file.octets < 16 * 1024**2


def test_the_digest_of_a_huge_record_is_not_computed(tmp_path: Path) -> None:
    size = 3 * 1024**3
    rest = b"\r\n\r\n" + response(LAST)

    with sparse(tmp_path / "a.warc", size, size, rest) as file:
        huge, last = captures_in(file)

        assert isinstance(huge, Capture)
        assert isinstance(last, Capture)
        assert (huge.digest, last.url) == (None, LAST)
        assert last.digest
        assert file.octets < 16 * 1024**2


def test_a_record_behind_empty_members_is_found() -> None:
    octets = gzip.compress(b"") * 20_000 + gzipped(response(LAST))

    assert [found[1] for found in found_in(octets)] == [LAST]


def test_too_many_empty_members_are_a_damage() -> None:
    octets = gzip.compress(b"") * (MAX_EMPTY + 2 * MAX_TRIALS) + gzipped(response(LAST))

    damages = found_in(octets)

    assert all(isinstance(each, Damage) for each in damages)
    assert "the rest of the file is not read" in str(damages[-1])
