"""TimeMaps and indexes in JSON: MemGator, Time Travel, the Internet Archive."""

import pytest

from archives.formats.rows import Row, TimeMapPage
from archives.formats.timemap_json import JsonTimeMap

BASE = "http://agg.example/timemap/json/http://a.example/"
# The format of MemGator 1.0; it repeats the first and the last memento after the list.
MEMGATOR = b"""{
  "original_uri": "http://a.example/",
  "self": "http://agg.example/timemap/json/http://a.example/",
  "mementos": {
    "list": [
      {
        "datetime": "1996-12-31T23:58:47Z",
        "uri": "http://web.example/19961231235847/http://a.example/{x}[y]"
      },
      {"datetime": "2016-01-22T11:20:29Z", "uri": ["http://b.example/2016", "http://c.example/"]}
    ],
    "first": {"datetime": "1996-12-31T23:58:47Z", "uri": "http://web.example/1996"},
    "last": {"datetime": "2016-01-22T11:20:29Z", "uri": "http://b.example/2016"}
  },
  "timemap_uri": {"link_format": "http://agg.example/timemap/link/http://a.example/"},
  "timegate_uri": "http://agg.example/timegate/http://a.example/"
}
"""
WAYBACK = b"""[["urlkey","timestamp","original","mimetype","statuscode","digest","length"],
["k", "20020120142510", "http://a.example:80/?q=[\\"x\\"]", "text/html", "200", "HT2D", "1792"],
["k", "20000008241731", "http://a.example/", "warc/revisit", "-", "-", "12"]]
"""


def read(body: bytes) -> tuple[list[Row], JsonTimeMap]:
    """Return the rows without length and key, which not every dialect states."""
    decoder = JsonTimeMap(BASE)
    rows = [*decoder.feed(body), *decoder.close()]
    return [row._replace(length=None, urlkey=None) for row in rows], decoder


def test_the_list_of_memgator_is_read_once() -> None:
    rows, timemap = read(MEMGATOR)

    assert rows == [
        Row("19961231235847", "http://web.example/19961231235847/http://a.example/{x}[y]"),
        Row("20160122112029", "http://b.example/2016"),
    ]
    assert timemap.original == "http://a.example/"
    assert timemap.timegate == "http://agg.example/timegate/http://a.example/"
    assert (timemap.skipped, timemap.complete) == (0, True)


def test_the_table_of_the_wayback_machine_is_read_by_its_first_row() -> None:
    rows, index = read(WAYBACK)

    assert rows == [
        Row("20020120142510", None, 'http://a.example:80/?q=["x"]', 200, "text/html", "HT2D"),
        Row("20000824173100", None, "http://a.example/", None, "warc/revisit", None),
    ]
    assert (index.repaired, index.resume_key, index.complete) == (1, None, True)


def test_columns_may_be_in_another_order() -> None:
    rows, _ = read(b'[["original","timestamp"],["http://a.example/","20020120142510"]]')

    assert rows == [Row("20020120142510", None, "http://a.example/")]


def test_the_resume_key_comes_after_an_empty_row() -> None:
    rows, index = read(
        b'[["timestamp","original"],["20020120142510","o"],[],["com%2Cexample+2002%21"]]'
    )

    assert len(rows) == 1
    assert index.resume_key == "com%2Cexample+2002%21"


@pytest.mark.parametrize(
    "body", [b"[]", b"[]\n", b'[["urlkey","timestamp"]]', b"\xef\xbb\xbf[ ]"]
)
def test_a_list_without_captures_is_complete(body: bytes) -> None:
    rows, index = read(body)

    assert rows == []
    assert index.complete


@pytest.mark.parametrize("cut", [30, 300, 500, -3])
def test_a_document_without_its_last_bracket_is_incomplete(cut: int) -> None:
    _, timemap = read(MEMGATOR[:cut])

    assert not timemap.complete


def test_an_index_of_timemaps_gives_pages() -> None:
    _, timemap = read(
        b'{"timemap_index": [{"uri": "/1", "from": "2000-01-01T00:00:00Z", "until": "?"}]}'
    )

    assert timemap.pages == [TimeMapPage("http://agg.example/1", "20000101000000", None)]


@pytest.mark.parametrize(
    "entry",
    [
        b'{"datetime": "2016-02-30T11:20:29Z", "uri": "x"}',
        b'{"datetime": "2016", "uri": "x"}',
        b'{"datetime": null, "uri": "x"}',
        b'{"datetime": "Fri, 22 Jan 2016", "uri": "x"}',
        b"{datetime: 1}",
        b"[[[[",
        b'["a", "\\u12"]',
        b'{"a": "' + b"x" * 9000 + b'"}',
    ],
)
def test_an_item_that_is_no_capture_is_skipped(entry: bytes) -> None:
    rows, timemap = read(
        b'[{"datetime": "2016-01-22T11:20:29Z", "uri": "x"}, ' + entry + b", 1]"
    )

    assert len(rows) == 1
    assert timemap.skipped == 1 or not timemap.complete


def test_objects_without_an_enclosing_list_are_read() -> None:
    rows, _ = read(
        b'{"timestamp":"20160122112029","url":"http://a.example/\xe9","status":200}\n'
    )

    assert rows == [Row("20160122112029", None, "http://a.example/\xe9", 200)]


def test_a_date_may_be_an_http_date() -> None:
    rows, _ = read(b'[{"datetime": "Fri, 22 Jan 2016 11:20:29 GMT", "uri": "http://x/"}]')

    assert rows == [Row("20160122112029", "http://x/")]


def test_the_next_page_of_a_list_is_a_page() -> None:
    document = (
        b'{"original_uri": "http://x.org/", "mementos": {"list": ['
        b'{"datetime": "2016-01-22T11:20:29Z", "uri": "http://a.org/20160122112029/http://x.org/"}'
        b'], "next": {"datetime": "2017-01-01T00:00:00Z", "uri": "http://a.org/m"}}, '
        b'"pages": {"next": {"uri": "http://a.org/timemap/json/2/http://x.org/"}}}'
    )
    decoder = JsonTimeMap("http://a.org/timemap/json/1/http://x.org/")

    rows = [*decoder.feed(document), *decoder.close()]

    assert len(rows) == 1
    assert [page.uri for page in decoder.pages] == ["http://a.org/timemap/json/2/http://x.org/"]
    assert decoder.complete


def test_an_index_may_have_no_dates() -> None:
    document = (
        b'{"original_uri": "http://x.org/", "timemap_index": [{"uri": "http://a.org/1"}]}'
    )
    decoder = JsonTimeMap("http://a.org/")

    rows = [*decoder.feed(document), *decoder.close()]

    assert rows == []
    assert [page.uri for page in decoder.pages] == ["http://a.org/1"]
