"""Captures of intact files are those that cdxj-indexer lists; damages are reported."""

import io
import json
import subprocess
import sys

import pytest

from archives.warc.captures import Capture, RecordReader, captures_in, read_response
from archives.warc.captures import _contained as captured
from archives.warc.captures import _is_capture as is_capture
from archives.warc.files import Damage, Damaged
from archives.warc.http import HttpHead
from archives.warc.records import Record, records_in
from archives.warc_index.model import IndexRow
from tests import warcs
from tests.warcs import (
    DAY,
    LAYOUTS,
    PAGE,
    answer,
    digest,
    every_arc,
    every_kind,
    gzipped,
    plain,
    record,
    response,
)

Row = tuple[str, str, str, str | None, str | None, str | None, int, int]


def scanned(octets: bytes) -> list[Capture | Damage]:
    return list(captures_in(io.BytesIO(octets)))


def capture(octets: bytes) -> Capture:
    (found,) = scanned(octets)
    assert isinstance(found, Capture), found
    return found


def row_of(found: Capture | Damage) -> Row:
    assert isinstance(found, Capture), found
    status = None if found.status is None else str(found.status)
    # cdxj-indexer drops the fraction of a second, which we keep (T-9).
    stamp = found.stamp[:14]
    return (
        *(found.surt, stamp, found.url, found.mime),
        *(status, found.digest, found.offset, found.length),
    )


def sound_files() -> dict[str, bytes]:
    kinds = {f"WARC, {kind}": records for kind, records in every_kind().items()}
    kinds |= {f"ARC, {kind}": records for kind, records in every_arc().items()}
    return {
        f"{kind}, {layout}.warc.gz": write(*records, response("http://example.com/last"))
        for kind, records in kinds.items()
        for layout, write in LAYOUTS.items()
    }


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Return the rows of the real cdxj-indexer for each file."""
    folder = tmp_path_factory.mktemp("warcs")
    for name, octets in sound_files().items():
        (folder / name).write_bytes(octets)
    # In a subprocess, since it leaves temporary files open.
    command = [sys.executable, "-c", "from cdxj_indexer.main import main; main()", str(folder)]
    run = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    rows: dict[str, list[Row]] = {name: [] for name in sound_files()}
    for line in run.stdout.splitlines():
        rows[json.loads(line.split(" ", 2)[2])["filename"]].append(_row(line))
    return rows


def _row(line: str) -> Row:
    key, stamp, written = line.split(" ", 2)
    fields = json.loads(written)
    found = fields.get("digest")
    return (
        *(key, stamp, fields["url"], fields.get("mime"), fields.get("status")),
        *(found and found.removeprefix("sha1:"), int(fields["offset"]), int(fields["length"])),
    )


@pytest.mark.parametrize("name", sound_files())
def test_captures_are_those_of_cdxj_indexer(name: str, theirs: dict[str, list[Row]]) -> None:
    ours = [row_of(found) for found in scanned(sound_files()[name])]

    assert ours == theirs[name]
    assert ours[-1][0] == "com,example)/last"


@pytest.mark.parametrize("mime", ["text/anvl", "text/plain", "application/json", "text/html"])
def test_a_note_about_a_page_is_no_capture(mime: str) -> None:
    note = record(b"via: x\r\n", "metadata", mime=mime)
    document = record(b"{}", "metadata", "metadata://example.com/a", mime=mime)

    assert [found.url for found in scanned(note + document) if isinstance(found, Capture)] == [
        "metadata://example.com/a"
    ]


def test_a_capture_has_all_fields_of_an_index_row() -> None:
    octets = gzipped(response("http://www.example.com/A?b=1"))

    found = capture(octets)

    assert found == Capture(
        surt="com,example)/a?b=1",
        stamp="20200220202020",
        url="http://www.example.com/A?b=1",
        mime="text/html",
        status=200,
        digest=digest(PAGE).removeprefix("sha1:"),
        offset=0,
        length=len(octets),
    )


@pytest.mark.parametrize(
    ("date", "stamp"),
    [
        ("2020-02-20T20:20:20Z", "20200220202020"),
        ("2020-02-20T20:20:20", "20200220202020"),
        ("2020-02-20T20:20:20+00:00", "20200220202020"),
        ("2020-02-20T20:20:20.1Z", "202002202020201"),
        ("2020-02-20T20:20:20.123456789Z", "20200220202020123456789"),
        ("2020-02-20T20:20:20.1234567891Z", "20200220202020123456789"),
        ("2016-12-31T23:59:60Z", "20161231235960"),
        ("2020-02-20T20:20Z", "20200220202000"),
        ("2020-02-20", "20200220000000"),
        ("2020-02", "20200201000000"),
        ("2020", "20200101000000"),
    ],
)
def test_the_precision_of_a_date_is_kept(date: str, stamp: str) -> None:
    found = capture(plain(record(answer(), date=date, version="1.1")))

    assert found.stamp == stamp


@pytest.mark.parametrize(
    "date",
    [
        None,
        "",
        "yesterday",
        "2020-13-01T00:00:00Z",
        "2021-02-29T00:00:00Z",
        "2020-02-20T24:00:00Z",
        "2020-02-20T20:20:20+01:00",
        "0000-01-01T00:00:00Z",
        "20200220T202020Z",
        "2020-02-20T20:20:20." + "9" * 5000 + "x",
        "٢٠٢٠-02-20T20:20:20Z",
    ],
)
def test_an_invalid_date_is_a_damage_with_its_offset(date: str | None) -> None:
    first = gzipped(response())
    octets = first + gzipped(record(answer(), date=date)) + gzipped(response())

    before, damage, after = scanned(octets)

    assert damage == Damage(len(first), "invalid WARC-Date")
    assert isinstance(before, Capture)
    assert isinstance(after, Capture)


@pytest.mark.parametrize(
    "url", [None, "", "http://example.com/\0a", "http://e.com/\x1b[2J", "#a"]
)
def test_a_url_that_no_index_can_hold_is_a_damage(url: str | None) -> None:
    octets = plain(record(answer(), url=url), response())

    damage, after = scanned(octets)

    assert damage == Damage(0, "invalid WARC-Target-URI")
    assert isinstance(after, Capture)


def test_a_url_folded_over_lines_holds_no_newline() -> None:
    octets = plain(record(answer(), url="http://example.com/a\r\n b"))

    assert capture(octets).url == "http://example.com/a%20b"


def test_the_fragment_of_a_url_is_removed() -> None:
    # cdxj-indexer keeps it, but browsers never send it to a server.
    assert capture(plain(record(answer(), url="http://e.com/a#b"))).url == "http://e.com/a"


@pytest.mark.parametrize("block", [PAGE, b"", b"200 OK\r\n\r\n"])
def test_a_response_without_an_http_head_has_no_status(block: bytes) -> None:
    found = capture(plain(record(block)))

    assert (found.status, found.mime) == (None, None)


def test_any_response_with_a_status_line_has_a_status() -> None:
    found = capture(plain(record(b"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\nla la")))

    assert (found.status, found.mime) == (200, "audio/mpeg")


def test_too_many_archived_headers_are_a_damage_and_reading_continues() -> None:
    flood = answer().replace(b"\r\n", b"\r\n" + b"A: b\r\n" * 300, 1)
    octets = gzipped(record(flood), response())

    damage, after = scanned(octets)

    assert damage == Damage(0, "the archived response has a head of more than 256 lines")
    assert isinstance(after, Capture)


def test_an_absurd_digest_is_computed_again() -> None:
    found = capture(plain(record(answer(), payload_digest="x" * 3000)))

    assert found.digest == digest(PAGE).removeprefix("sha1:")


def test_only_the_requested_region_is_read() -> None:
    one, two, three = (gzipped(response(f"http://example.com/{n}")) for n in "123")
    file = io.BytesIO(one + two + three)

    (found,) = captures_in(file, len(one), len(one) + len(two))

    assert isinstance(found, Capture)
    assert (found.url, found.offset, found.length) == (
        "http://example.com/2",
        len(one),
        len(two),
    )


def test_reading_from_the_end_of_a_file_yields_nothing() -> None:
    octets = gzipped(response(date=DAY))

    assert list(captures_in(io.BytesIO(octets), len(octets))) == []


@pytest.mark.parametrize("name", sound_files())
def test_records_that_are_read_quickly_give_the_same_captures(name: str) -> None:
    octets = sound_files()[name]
    found = (one for one in records_in(io.BytesIO(octets)) if isinstance(one, Record))
    slowly = (captured(one) for one in found if is_capture(one))

    assert scanned(octets) == [*filter(None, slowly)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"WARC/1.0", b"WARC/1.9"),
        (b"WARC/1.0", b"WARC/2.0"),
        (b"WARC-Type: response", b"WARC-Type: Response"),
        (b"WARC-Type: response", b"WARC-Type: resource"),
        (b"Content-Length: ", b"Content-Length: 1"),
        (b"\r\n\r\nHTTP/1.1 200", b"\r\n\r\nICY 200"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1  200 OK"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1 2000 OK"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1 200\t"),
        (b"Content-Type: text", b" Content-Type: text"),
        (b"Content-Type: text", b"Content-Type : text"),
        (b"Content-Type: text", b"content-type:\ttext"),
        (b"Content-Type: text", b"Content-Type:\r\nContent-Type: text"),
        (b"WARC-Date: 2", b"WARC-Date: x2"),
        (b"WARC-Target-URI: http", b"WARC-Target-URI: ftp"),
    ],
)
def test_an_unusual_record_is_read_as_it_was_opened(old: bytes, new: bytes) -> None:
    unusual = response("http://example.com/").replace(old, new)
    octets = gzipped(unusual, response("http://example.com/last"))
    found = records_in(io.BytesIO(octets))
    slowly = [one if isinstance(one, Damage) else captured(one) for one in found]

    assert scanned(octets) == [*filter(None, slowly)]


def _responses() -> dict[str, bytes]:
    page = warcs.answer()
    both = {"block_digest": warcs.digest(page), "payload_digest": warcs.digest(warcs.PAGE)}
    chunks = warcs.answer(warcs.chunked(warcs.PAGE), transfer_encoding="chunked")
    bare = warcs.record(page)
    return {
        "usual": warcs.response(),
        "with a block digest": warcs.record(page, **both),
        "without a digest": bare,
        "of WARC 1.1, with a fraction": warcs.record(
            page, version="1.1", date="2020-02-20T20:20:20.250Z"
        ),
        "empty": warcs.record(warcs.answer(b"")),
        "wrong digest": warcs.record(page, payload_digest=warcs.digest(b"other")),
        "wrong block digest": warcs.record(page, block_digest=warcs.digest(b"other")),
        "chunked": warcs.record(chunks),
        "of a dns record": warcs.record(b"20200220202020\nexample.com. A 192.0.2.1\n"),
        "with a folded field": warcs.record(page.replace(b": text", b":\r\n text")),
        "LF only": warcs.record(page.replace(b"\r\n", b"\n")),
        "without a status": warcs.record(page.replace(b" 200 OK", b"")),
        "too long": warcs.record(page, length=str(len(page) + 1)),
        "too short": warcs.record(page, length=str(len(page) - 1)),
        "a revisit": warcs.revisit(),
        "another page": warcs.response("http://example.com/other"),
        "another time": warcs.response(date="2021-02-20T20:20:20Z"),
        "without an end": bare[:-4],
        "a second end": bare + b"\r\n\r\n",
    }


def _located(stored: bytes) -> IndexRow:
    return IndexRow(
        stamp="20200220202020",
        url="http://example.com/",
        mime="text/html",
        status=200,
        digest=None,
        offset=0,
        length=len(stored),
        surt="com,example)/",
        file="one.warc.gz",
        name="one.warc.gz",
    )


def _read_with_all_checks(stored: bytes) -> tuple[HttpHead, bytes] | None:
    try:
        reader = RecordReader(_located(stored), stored)
        return reader.head, b"".join(iter(lambda: reader.read(1 << 16), b""))
    except Damaged:
        return None


@pytest.mark.parametrize("name", _responses())
def test_a_response_read_at_once_is_that_of_the_reader_with_all_checks(name: str) -> None:
    stored = warcs.gzipped(_responses()[name])

    quick = read_response(_located(stored), stored)

    assert quick is None or quick == _read_with_all_checks(stored)


@pytest.mark.parametrize("name", ["usual", "with a block digest", "without a digest", "empty"])
def test_a_usual_response_is_read_at_once(name: str) -> None:
    stored = warcs.gzipped(_responses()[name])

    quick = read_response(_located(stored), stored)

    assert quick is not None
    assert quick[1] == (b"" if name == "empty" else warcs.PAGE)


def test_a_response_that_is_damaged_anywhere_is_never_read_at_once_as_another() -> None:
    for name in ("usual", "without a digest"):
        stored = warcs.gzipped(_responses()[name])
        whole = read_response(_located(stored), stored)
        for at in range(len(stored)):
            for flip in (1, 0x80):
                damaged = stored[:at] + bytes([stored[at] ^ flip]) + stored[at + 1 :]
                assert read_response(_located(damaged), damaged) in (None, whole)
            assert read_response(_located(stored), stored[:at]) is None


def test_a_small_record_that_inflates_to_megabytes_is_not_read_at_once() -> None:
    stored = warcs.gzipped(warcs.response(payload=bytes(3 << 20)))

    assert read_response(_located(stored), stored) is None
