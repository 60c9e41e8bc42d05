"""WARCs inside a WACZ are found at their positions; malformed ZIP files are damages."""

import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.warc.captures import Capture, captures_in
from archives.warc.files import Damage, WaczMember, iter_wacz_members, wacz_members
from tests.warcs import gzipped, response, wacz

WARC = gzipped(response())
WACZ = wacz(
    {
        "datapackage.json": b"{}",
        "archive/one.warc.gz": WARC,
        "indexes/index.cdx.gz": b"",
        "archive/two.warc.gz": WARC * 2,
        "pages/pages.jsonl": b"{}",
    }
)


def members(octets: bytes) -> list[WaczMember | Damage]:
    return list(iter_wacz_members(io.BytesIO(octets)))


def why(octets: bytes) -> str:
    (damage,) = members(octets)
    assert isinstance(damage, Damage), damage
    return damage.why


def test_warcs_are_found_at_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "some.wacz"
    path.write_bytes(WACZ)

    with path.open("rb") as file:
        one, two = wacz_members(file)

    assert isinstance(one, WaczMember)
    assert isinstance(two, WaczMember)
    assert (one.name, two.name) == ("archive/one.warc.gz", "archive/two.warc.gz")
    assert WACZ[one.start : one.end] == WARC
    assert WACZ[two.start : two.end] == WARC * 2


def test_captures_are_read_inside_the_wacz() -> None:
    _, two = members(WACZ)
    assert isinstance(two, WaczMember)

    first, second = captures_in(io.BytesIO(WACZ), two.start, two.end)

    assert isinstance(first, Capture)
    assert isinstance(second, Capture)
    assert (first.offset, second.offset) == (two.start, two.start + len(WARC))
    assert second.length == len(WARC)


def test_zip64_numbers_are_read() -> None:
    octets = _with_wide_numbers(wacz({"archive/a.warc.gz": WARC}))

    (member,) = members(octets)

    assert isinstance(member, WaczMember)
    assert octets[member.start : member.end] == WARC


def _with_wide_numbers(octets: bytes) -> bytes:
    """Rewrite directory and end with ZIP64 numbers, as in files above four gigabytes."""
    start, end = octets.index(b"PK\x01\x02"), octets.index(b"PK\x05\x06")
    other = struct.pack("<HHI", 0x5455, 4, 0)
    wide = struct.pack("<HHQQQ", 1, 24, len(WARC), len(WARC), 0)
    entry = bytearray(octets[start:end])
    struct.pack_into("<II", entry, 20, 0xFFFFFFFF, 0xFFFFFFFF)
    struct.pack_into("<H", entry, 30, len(other + wide))
    struct.pack_into("<I", entry, 42, 0xFFFFFFFF)
    directory = bytes(entry) + other + wide
    end_64 = struct.pack("<4s36xQQ", b"PK\x06\x06", len(directory), start)
    locator = struct.pack("<4s4xQ4x", b"PK\x06\x07", start + len(directory))
    last = struct.pack("<4s8xIIH", b"PK\x05\x06", 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return octets[:start] + directory + end_64 + locator + last


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/cron.d/a.warc",
        "/etc/a.warc",
        "archive/../a.warc",
        "archive//a.warc",
        "archive\\a.warc",
        "C:\\a.warc",
        "archive/a\n.warc",
        "archive/\x1b[2J.warc",
        "archive/./a.warc",
    ],
)
def test_a_name_that_is_no_plain_path_is_a_damage(name: str) -> None:
    assert "its name is not a plain relative path" in why(wacz({name: WARC}))


def test_a_compressed_warc_is_a_damage_and_the_others_are_found() -> None:
    written = io.BytesIO(wacz({"archive/a.warc": bytes(1000)}, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("archive/b.warc.gz", WARC)

    damage, member = members(written.getvalue())

    assert isinstance(damage, Damage)
    assert "compressed by ZIP" in damage.why
    assert isinstance(member, WaczMember)


def test_an_encrypted_warc_is_a_damage() -> None:
    octets = bytearray(wacz({"a.warc": WARC}))
    octets[octets.index(b"PK\x01\x02") + 8] |= 1

    assert "encrypted" in why(bytes(octets))


def test_overlapping_files_are_read_once() -> None:
    octets = wacz({"a.warc": WARC})
    start, end = octets.index(b"PK\x01\x02"), octets.index(b"PK\x05\x06")
    directory = octets[start:end] * 3
    last = struct.pack("<4s8xIIH", b"PK\x05\x06", len(directory), start, 0)

    member, *damages = members(octets[:start] + directory + last)

    assert isinstance(member, WaczMember)
    assert [str(found).count("overlaps another file") for found in damages] == [1, 1]


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "not a ZIP file"),
        (b"x" * 100_000, "not a ZIP file"),
        (WACZ[:-30], "not a ZIP file"),
        (b"PK\x05\x06" + struct.pack("<8xIIH", 100, 0, 0), "directory lies outside the file"),
        (b"PK\x05\x06" + struct.pack("<8xIIH", 0xFFFFFFFF, 0, 0), "no ZIP directory where"),
        (
            bytes(2_000_000) + b"PK\x05\x06" + struct.pack("<8xIIH", 1_900_000, 0, 0),
            "the ZIP directory has more than",
        ),
    ],
)
def test_a_file_that_is_no_wacz_is_a_damage(octets: bytes, reason: str) -> None:
    assert reason in why(octets)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (42, 0xFFFF, "not where the ZIP directory says"),
        (42, 5, "not where the ZIP directory says"),
        (24, 0xFFFFFF, "compressed by ZIP"),
    ],
)
def test_a_wrong_directory_entry_is_a_damage(at: int, value: int, reason: str) -> None:
    octets = bytearray(wacz({"a.warc": WARC}))
    struct.pack_into("<I", octets, octets.index(b"PK\x01\x02") + at, value)

    assert reason in why(bytes(octets))


def test_a_size_beyond_the_file_is_a_damage() -> None:
    octets = bytearray(wacz({"a.warc": WARC}))
    struct.pack_into("<II", octets, octets.index(b"PK\x01\x02") + 20, 9999, 9999)

    assert "longer than the ZIP file has room for" in why(bytes(octets))


def test_the_number_of_damages_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "some.wacz"
    path.write_bytes(wacz({f"../{number}.warc": b"" for number in range(1200)}))

    with path.open("rb") as file:
        assert len(wacz_members(file)) == 1000


@given(st.integers(0, len(WACZ)), st.binary(max_size=30), st.integers(0, 30))
def test_any_bytes_yield_members_inside_the_file_or_damages(
    at: int, others: bytes, fewer: int
) -> None:
    octets = WACZ[:at] + others + WACZ[at + fewer :]

    for found in members(octets):
        if isinstance(found, WaczMember):
            assert 0 <= found.start <= found.end <= len(octets)
