"""CDX files beside WARCs are used instead of reading the WARCs, but not trusted."""

import gzip
import json
from pathlib import Path

import pytest

from archives.warc.captures import Capture
from archives.warc.files import Damage
from archives.warc_index.building import index_collection
from archives.warc_index.cdx import CdxLine, read_cdx_file
from tests.archives.warc_index.folders import LONG_AGO, a_warc, put, rows_of, stamps_of

PAGE = "http://example.com/"
DIGEST = "GZKPRBZ2L7ZVWR3PPQOGX3VV5GXGC3YJ"
CAPTURE = Capture("com,example)/", "20200101000000", PAGE, "text/html", 200, DIGEST, 12, 34)
ELEVEN = f"com,example)/ 20200101000000 {PAGE} text/html 200 {DIGEST} - - 34 12 a.warc.gz"
NINE = f" CDX N b a m s k r V g\n{ELEVEN.replace(' - - 34', ' -')}"


def cdxj(**changed: object) -> str:
    fields: dict[str, object] = {
        "url": PAGE,
        "mime": "text/html",
        "status": "200",
        "digest": f"sha1:{DIGEST}",
        "length": "34",
        "offset": "12",
        "filename": "a.warc.gz",
    }
    return f"com,example)/ 20200101000000 {json.dumps(fields | changed)}"


def read(folder: Path, text: str, name: str = "x.cdxj") -> list[CdxLine | Damage]:
    octets = text.encode()
    path = put(folder, name, gzip.compress(octets) if name.endswith(".gz") else octets)
    return list(read_cdx_file(path.open("rb"), path.name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (cdxj(), CAPTURE),
        (cdxj(offset=12, length=34, status=200), CAPTURE),
        (cdxj(filename="http://elsewhere.example/warcs/a.warc.gz"), CAPTURE),
        (cdxj(status="-", mime="-"), CAPTURE._replace(status=None, mime=None)),
        (cdxj(length="-"), CAPTURE._replace(length=0)),
        (ELEVEN, CAPTURE),
        (f" CDX N b a m s k r M S V g\r\n{ELEVEN}\r\n", CAPTURE),
        (NINE, CAPTURE._replace(length=0)),
        (NINE.partition("\n")[2], CAPTURE._replace(length=0)),
        (f"{ELEVEN} 34 12 b.warc.gz", CAPTURE),
        (f"!meta {{}}\n\n{ELEVEN}\n", CAPTURE),
    ],
    ids=[
        "cdxj",
        "numbers",
        "address",
        "dashes",
        "no length",
        "11",
        "CRLF",
        "9",
        "9 bare",
        "14",
        "meta",
    ],
)
@pytest.mark.parametrize("name", ["x.cdxj", "x.cdx.gz"])
def test_a_line_is_read(tmp_path: Path, text: str, expected: Capture, name: str) -> None:
    (item,) = read(tmp_path, text, name)

    assert isinstance(item, CdxLine)
    assert (item.name, item.capture) == ("a.warc.gz", expected)


@pytest.mark.parametrize(
    "text",
    [
        "com,example)/ 20200101000000",
        cdxj().replace("20200101000000", "20201301000000"),
        cdxj(url=""),
        cdxj(url="http://example.com/\ud800"),
        cdxj(offset="-5"),
        cdxj(offset="9" * 30),
        cdxj(filename=""),
        cdxj(filename="warcs/"),
        cdxj()[:-5],
        f"{ELEVEN}{ELEVEN}",
        "com,example)/ 20200101000000 {" + "[" * 5000,
    ],
)
def test_an_unreadable_line_is_a_damage_with_its_position(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, f"{ELEVEN}\n{text}\n{ELEVEN}\n")

    assert [type(item) for item in found] == [CdxLine, Damage, CdxLine]
    assert found[1][:1] == (len(ELEVEN) + 1,)


def test_captures_of_post_requests_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, cdxj().replace(")/", ")/?__wb_method=post&x=1")) == []


def test_a_line_that_is_too_long_is_a_damage_and_reading_continues(tmp_path: Path) -> None:
    found = read(tmp_path, f"{'x' * 200_000}\n{ELEVEN}\n")

    assert [type(item) for item in found] == [Damage, CdxLine]


def test_reading_a_gzip_bomb_is_aborted(tmp_path: Path) -> None:
    found = read(tmp_path, f"!{'x' * 999}\n" * 30_000, "x.cdx.gz")

    assert len(found) == 1
    assert "more than 200 times its size" in str(found[0])


def test_the_lines_of_a_truncated_gzip_file_are_read(tmp_path: Path) -> None:
    path = put(tmp_path, "x.cdx.gz", gzip.compress(f"{ELEVEN}\n".encode() * 1000)[:-9])

    found = list(read_cdx_file(path.open("rb"), path.name))

    assert isinstance(found[0], CdxLine)
    assert isinstance(found[-1], Damage)


# How the indexer uses them


def listing(folder: Path, *lines: str, mtime: int = LONG_AGO) -> Path:
    return put(folder, "index.cdxj", "\n".join(lines).encode(), mtime=mtime)


def elsewhen(**changed: object) -> str:
    """Return a line with a time that does not occur in the WARC."""
    return cdxj(**changed).replace("20200101", "19990101")


def test_a_cdx_file_is_used_instead_of_reading_its_warcs(tmp_path: Path) -> None:
    a_warc(tmp_path, "deep/a.warc.gz", (PAGE, "20200101000000"))
    a_warc(tmp_path, "b.warc.gz", (PAGE, "20210101000000"))
    listing(tmp_path, elsewhen())

    summary = index_collection(tmp_path)
    again = index_collection(tmp_path)

    assert (summary.from_cdx, summary.read, summary.complaints) == (1, 1, 0)
    assert stamps_of(tmp_path) == ["19990101000000", "20210101000000"]
    assert rows_of(tmp_path)[0].file == str(tmp_path / "deep/a.warc.gz")
    assert again.unchanged == 2


def test_a_cdx_file_that_is_older_than_the_warc_is_not_used(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    listing(tmp_path, elsewhen(), mtime=LONG_AGO - 1)

    index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["20200101000000"]


def test_read_all_ignores_cdx_files(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    listing(tmp_path, elsewhen())
    index_collection(tmp_path)

    summary = index_collection(tmp_path, read_all=True)

    assert (summary.read, summary.from_cdx) == (1, 0)
    assert stamps_of(tmp_path) == ["20200101000000"]


def test_a_changed_cdx_file_is_read_again(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    listing(tmp_path, elsewhen())
    index_collection(tmp_path)
    listing(tmp_path, elsewhen(), cdxj(offset="40"), mtime=LONG_AGO + 1)

    index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["19990101000000", "20200101000000"]


def test_without_its_cdx_file_a_warc_is_read(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    path = listing(tmp_path, elsewhen())
    index_collection(tmp_path)
    path.unlink()

    index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["20200101000000"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"filename": "../../etc/passwd"}, "there is no file passwd"),
        ({"filename": "twice.warc.gz"}, "several files are called twice.warc.gz"),
        ({"offset": "99999999"}, "a.warc.gz is shorter than the line says"),
    ],
)
def test_a_line_for_a_missing_ambiguous_or_shorter_file_is_a_problem(
    tmp_path: Path, changed: dict[str, object], why: str
) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    for folder in "xy":
        a_warc(tmp_path, f"{folder}/twice.warc.gz", (PAGE, "20210101000000"))
    listing(tmp_path, elsewhen(**changed), elsewhen(**changed))

    summary = index_collection(tmp_path)

    (complaint,) = summary.shown
    assert complaint.why.startswith(why)
    assert len(stamps_of(tmp_path)) == 3


def test_a_cdx_file_with_an_unreadable_line_is_not_used(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    listing(tmp_path, elsewhen(), "rubbish")

    summary = index_collection(tmp_path)

    assert str(summary.shown[0]).endswith("the files it lists are read instead")
    assert (summary.read, summary.from_cdx, summary.captures) == (1, 0, 1)
    assert stamps_of(tmp_path) == ["20200101000000"]
