"""Indexes with one capture on each line, in all dialects of archives."""

import pytest

from archives.formats.cdx import CdxLines
from archives.formats.rows import Row

CAPTURE = Row("20020120142510", None, "http://a.example:80/", 200, "text/html", "HT2D")


def read(body: bytes) -> tuple[list[Row], CdxLines]:
    """Return the rows without length and key, which not every dialect states."""
    decoder = CdxLines("http://cdx.example/")
    rows = [*decoder.feed(body), *decoder.close()]
    return [row._replace(length=None, urlkey=None) for row in rows], decoder


DIALECTS = b"""\
example,a)/ 20020120142510 http://a.example:80/ text/html 200 HT2D 1792
example,a)/ 20020120142510 http://a.example:80/ text/html 200 HT2D - - 1792 0 x.gz
example,a)/ 20020120142510 http://a.example:80/ text/html 200 HT2D
k 20020120142510 {"url":"http://a.example:80/","mime":"text/html","status":"200","digest":"HT2D"}
{"timestamp":"20020120142510","url":"http://a.example:80/","mime":"text/html","status":"200",\
"digest":"HT2D","collection":"AWP1"}
{"timestamp":20020120142510,"original":"http://a.example:80/","mimetype":"text/html",\
"statuscode":200,"digest":"HT2D","x":[1],"y":{}}
""".splitlines()


@pytest.mark.parametrize("line", DIALECTS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_every_dialect_gives_the_same_rows(line: bytes, end: bytes) -> None:
    rows, index = read(line + end)

    assert rows == [CAPTURE]
    assert (index.skipped, index.complete) == (0, True)


@pytest.mark.parametrize(
    ("line", "length"),
    [
        (DIALECTS[0], 1792),
        (DIALECTS[1], 1792),
        (DIALECTS[2], None),
        (b'example,a)/ 20020120142510 {"url": "http://a.example/", "length": "17"}', 17),
        (b'example,a)/ 20020120142510 {"url": "http://a.example/", "length": "0"}', None),
        (b'example,a)/ 20020120142510 {"url": "http://a.example/", "length": "-"}', None),
        (DIALECTS[0].replace(b"1792", b"9" * 400), None),
    ],
)
def test_the_length_is_read_where_it_is_stated(line: bytes, length: int | None) -> None:
    decoder = CdxLines("http://cdx.example/")

    (row,) = [*decoder.feed(line), *decoder.close()]

    assert row.length == length


def test_the_key_of_a_line_is_read() -> None:
    decoder = CdxLines("http://cdx.example/")

    (row,) = [*decoder.feed(DIALECTS[0]), *decoder.close()]

    assert row.urlkey == "example,a)/"


def test_cdxj_of_memgator_has_headers_and_links() -> None:
    rows, timemap = read(
        b'!context ["http://tools.ietf.org/html/rfc7089"]\n'
        b'!id {"uri": "http://agg.example/timemap/cdxj/http://a.example/"}\n'
        b'!meta {"original_uri": "http://a.example/"}\n'
        b'!meta {"timegate_uri": "http://agg.example/timegate/http://a.example/"}\n'
        b'20160122112029 {"uri": "http://b.example/1", "rel": "first memento", '
        b'"datetime": "Fri, 22 Jan 2016 11:20:29 GMT"}\n'
    )

    assert rows == [Row("20160122112029", "http://b.example/1")]
    assert timemap.original == "http://a.example/"
    assert timemap.timegate == "http://agg.example/timegate/http://a.example/"


def test_the_header_of_a_cdx_file_is_no_capture() -> None:
    rows, index = read(b" CDX N b a m s k r M S V g\nk 20020120142510 o m - d - - 1 2 f\n")

    assert rows == [Row("20020120142510", None, "o", None, "m", "d")]
    assert index.skipped == 0


def test_the_resume_key_comes_after_an_empty_line() -> None:
    rows, index = read(
        b"k 20020120142510 http://a.example:80/ text/html 200 HT2D 1\n\ncom%2Cexample+2002%21\n"
    )

    assert rows == [CAPTURE]
    assert (index.resume_key, index.skipped) == ("com%2Cexample+2002%21", 0)


@pytest.mark.parametrize(
    ("stated", "stamp"),
    [
        ("20000008241731", "20000824173100"),  # EDGI: an extra 00 as the month
        ("20000800241731", "20000824173100"),  # or as the day
        ("20160122112029123", "20160122112029123"),  # webarchiv.cz: milliseconds
        ("20161231235960", "20161231235960"),
    ],
)
def test_known_errors_in_stamps_are_repaired(stated: str, stamp: str) -> None:
    rows, _ = read(f"k {stated} o m 200 d 1\n".encode())

    assert [row.stamp for row in rows] == [stamp]


@pytest.mark.parametrize(
    "stated",
    [
        *("2014", "20140101", "201401011200", "20140001000000", "20000000000000"),
        *("20160230000000", "20160101240000", "20150101235960", "20000013451731", "x", "-1"),
    ],
)
def test_a_stamp_shorter_than_a_second_is_not_padded(stated: str) -> None:
    rows, index = read(f"k {stated} o m 200 d 1\nk 20020120142510 o m 200 d 1\n".encode())

    assert [row.stamp for row in rows] == ["20020120142510"]
    assert index.skipped == 1


def test_other_columns_can_be_requested() -> None:
    decoder = CdxLines("http://cdx.example/", ("timestamp", "original"))

    rows = decoder.feed(b"20020120142510 http://a.example/\n")

    assert rows == [Row("20020120142510", None, "http://a.example/")]


@pytest.mark.parametrize(
    "line", [b'{"message": "no"}', b"{", b"k 2 {}", b"one", b"!meta {x", b'{"a"']
)
def test_an_unreadable_line_is_skipped(line: bytes) -> None:
    rows, index = read(line + b"\nk 20020120142510 o m 200 d 1\n")

    assert len(rows) == 1
    assert (index.skipped, index.complete) == (1, True)


def test_an_incomplete_line_is_reported() -> None:
    _, index = read(b"k 20020120142510 o m 200 d 1\nk 200201201425")

    assert index.shortfall == "it ends inside a line"


def test_a_line_that_is_too_long_is_dropped_and_reading_continues() -> None:
    rows, index = read(b"x" * 100_000 + b"\nk 20020120142510 o m 200 d 1\n")

    assert len(rows) == 1
    assert (index.skipped, index.complete) == (1, False)


def test_text_that_is_not_utf8_is_read_as_latin1() -> None:
    rows, _ = read(
        b"k 20020120142510 http://a/\xe9 m 200 d 1\n" + b'k 20020120142510 {"url":"\xe9"}'
    )

    assert [row.original for row in rows] == ["http://a/é", "é"]


def test_an_empty_document_is_complete() -> None:
    rows, index = read(b"")

    assert rows == []
    assert index.complete
