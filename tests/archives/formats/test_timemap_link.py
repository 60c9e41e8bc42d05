"""TimeMaps in link-format, in every notation."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.formats.httpdate import http_date
from archives.formats.linkformat import parse_header
from archives.formats.rows import (
    LONGEST_ITEM,
    MOST_WITHOUT_CAPTURE,
    AlikeRows,
    Row,
    TimeMapPage,
)
from archives.formats.timemap_link import LinkTimeMap, neighbours

BASE = "http://arxiv.example.net/timemap/http://a.example.org"
# RFC 7089 5, figure 28: the last memento comes second.
FIGURE_28 = b"""\
 <http://a.example.org>;rel="original",
 <http://arxiv.example.net/timemap/http://a.example.org>
   ; rel="self";type="application/link-format"
   ; from="Tue, 20 Jun 2000 18:02:59 GMT"
   ; until="Wed, 09 Apr 2008 20:30:51 GMT",
 <http://arxiv.example.net/timegate/http://a.example.org>
   ; rel="timegate",
 <http://arxiv.example.net/web/20000620180259/http://a.example.org>
   ; rel="first memento";datetime="Tue, 20 Jun 2000 18:02:59 GMT"
   ; license="http://creativecommons.org/publicdomain/zero/1.0/",
 <http://arxiv.example.net/web/20091027204954/http://a.example.org>
    ; rel="last memento";datetime="Tue, 27 Oct 2009 20:49:54 GMT"
    ; license="http://creativecommons.org/publicdomain/zero/1.0/",
 <http://arxiv.example.net/web/20000621011731/http://a.example.org>
   ; rel="memento";datetime="Wed, 21 Jun 2000 01:17:31 GMT"
"""
USUAL = '<http://web.example/web/{0}/http://a.example.org/>; rel="memento"; datetime="{1}",\n'
STAMP = "19961231235847"
ROW = Row(STAMP, f"http://web.example/web/{STAMP}/http://a.example.org/")


def usual(stamp: str) -> bytes:
    return USUAL.format(stamp, http_date(stamp)).encode()


def read(body: bytes, base: str = BASE) -> tuple[list[Row], LinkTimeMap]:
    decoder = LinkTimeMap(base)
    return [*decoder.feed(body), *decoder.close()], decoder


def test_the_example_of_the_rfc_is_read() -> None:
    rows, timemap = read(FIGURE_28)

    assert [row.stamp for row in rows] == ["20000620180259", "20091027204954", "20000621011731"]
    assert rows[0].uri == "http://arxiv.example.net/web/20000620180259/http://a.example.org"
    assert timemap.original == "http://a.example.org"
    assert timemap.timegate == "http://arxiv.example.net/timegate/http://a.example.org"
    assert timemap.pages == []
    assert timemap.complete


def test_other_timemaps_are_pages_with_their_period() -> None:
    _, timemap = read(
        b'<http://a.example.org>;rel="original",'
        b'<http://arxiv.example.net/timemap/1>; rel="timemap"; type="application/link-format"'
        b'; from="Tue, 20 Jun 2000 18:02:59 GMT"; until="Wed, 09 Apr 2008 20:30:51 GMT",'
        b'</timemap/2>; rel="timemap"; from="whenever",'
        b'</timemap/json/http://a.example.org>; rel="timemap"; type="application/json"'
    )

    assert timemap.pages == [
        TimeMapPage("http://arxiv.example.net/timemap/1", "20000620180259", "20080409203051"),
        TimeMapPage("http://arxiv.example.net/timemap/2", None, None),
    ]


URI = ROW.uri
DATE = http_date(STAMP)


@pytest.mark.parametrize(
    "written",
    [
        f'<{URI}>; rel="memento"; datetime="{DATE}",\n',
        f'<{URI}>; rel="first last memento"; datetime="{DATE}",\n',
        f'<{URI}>; rel="memento"; datetime="{DATE}"; collection="web",\n',
        f'<{URI}>; rel="memento"; datetime="{DATE}"',
        f'<{URI}>; rel="memento"; datetime="{DATE}",\r\n',
        f"<{URI}>; rel=memento; datetime='{DATE}'\n",
        f"<{URI}>; rel=first memento ; datetime={DATE} ,",
        f'<{URI}>; DATETIME = "{DATE}" ; collection=x; Rel = "Memento prev"',
        f'<{URI}>\n ; license="http://x/"; rel="memento"\n ; datetime="{DATE}"\n',
        f'<{URI}>; title="a, \\"<b>\\"; c"; rel="memento"; datetime="{DATE}"; x; y=; z=\'\'',
        f'<{URI}>; rel="memento"; datetime="{DATE}"; title="{"x" * 1000}"',
        f'\ufeff <{URI}>; rel="memento"; datetime="{DATE}"; title=ä',
        f'<//web.example/web/{STAMP}/http://a.example.org/>; rel="memento"; datetime="{DATE}"',
        f'<{URI}>; rel="memento"; datetime="Mon{DATE[3:]}",\n',
    ],
)
def test_a_memento_can_be_written_in_many_ways(written: str) -> None:
    for before in ("", '<http://a.example.org/>; rel="original",\n'):
        for after in (
            "",
            '<http://b.example/>; rel="timegate"',
            usual("20000101000000").decode(),
        ):
            rows, timemap = read(f"{before}{written}{after}".encode())

            assert rows[0] == ROW
            assert len(rows) == 1 + after.startswith("<http://web")
            assert (timemap.skipped, timemap.shortfall) == (0, "")


@pytest.mark.parametrize(
    "written",
    [
        f'<{URI}>; rel="memento"; datetime="Wed, 30 Feb 2000 00:00:00 GMT",\n',
        f'<{URI}>; rel="memento"; datetime="Foo, 01 Feb 2000 00:00:00 GMT",\n',
        f'<{URI}>; rel="memento"; datetime="Wed, 01 Feb 2000 24:00:00 GMT",\n',
        f'<{URI}>; datetime="Wed, 00 Feb 2000 00:00:00 GMT"; rel="memento",\n',
        f'<{URI}>; rel="memento"; datetime="yesterday",\n',
        f'<{URI}>; rel="memento",\n',
        f'<{URI}>; rel="memento"; datetime="{DATE},\n',
    ],
)
def test_an_impossible_item_is_skipped_and_counted(written: str) -> None:
    rows, timemap = read(
        usual("20000101000000") + written.encode() + usual(STAMP) + usual(STAMP)
    )

    assert [row.stamp for row in rows] == ["20000101000000", STAMP, STAMP]
    assert timemap.skipped == 1


def test_a_link_with_another_context_is_no_capture_of_this_original() -> None:
    rows, timemap = read(
        f'<http://a.example.org>; rel="original",\n'
        f'<{URI}>; rel="memento"; datetime="{DATE}"; anchor="http://other.example/",\n'
        f'<{URI}>; rel="memento"; datetime="{DATE}"; anchor="http://a.example.org/"'.encode()
    )

    assert rows == [ROW]
    assert timemap.skipped == 0


def test_a_link_without_the_memento_relation_is_no_memento() -> None:
    rows, _ = read(f'<{URI}>; rel="mementos"; datetime="{DATE}", <x>; rel="first"'.encode())

    assert rows == []


@pytest.mark.parametrize(
    "cut", [1, len(URI or ""), len(URI or "") + 12, -20, -3], ids=lambda cut: f"at {cut}"
)
def test_an_unfinished_last_item_is_reported(cut: int) -> None:
    rows, timemap = read(usual("20000101000000") + usual(STAMP)[:cut])

    assert len(rows) == 1
    assert not timemap.complete
    assert timemap.shortfall == "it ends inside a link"


def test_a_document_is_incomplete_before_its_end() -> None:
    timemap = LinkTimeMap(BASE)

    timemap.feed(usual(STAMP))

    assert not timemap.complete


def test_an_item_that_is_too_long_makes_the_list_incomplete() -> None:
    long_link = f'<{URI}>; title="{"x" * LONGEST_ITEM}"; rel=memento; datetime="{DATE}",\n'

    rows, timemap = read(long_link.encode() + usual(STAMP) * 2)

    assert rows == [ROW, ROW]
    assert timemap.shortfall == "an item of more than 8192 bytes"


@pytest.mark.parametrize("limit", ["_room_items", "_room_bytes"])
def test_an_endless_list_is_read_up_to_the_limit(limit: str) -> None:
    timemap = LinkTimeMap(BASE)
    setattr(timemap, limit, 3)

    rows = [*timemap.feed(usual(STAMP) * 10), *timemap.feed(usual(STAMP)), *timemap.close()]

    assert len(rows) <= 3
    assert timemap.full
    assert not timemap.complete


def test_usual_lines_may_be_followed_by_one_endless_line() -> None:
    timemap = LinkTimeMap(BASE)

    rows = timemap.feed(usual(STAMP) * 3 + usual(STAMP).replace(b"\n", b" ") * 500)

    assert len(rows) == 502


def test_links_that_are_no_mementos_count_against_the_limit() -> None:
    timemap = LinkTimeMap(BASE)
    timemap._room_items = 3  # noqa: SLF001

    timemap.feed(b"<a>," * 10)

    assert timemap.full


@pytest.mark.parametrize("link", [b'<http://a/>; rel="memento",\n', b"<a>,\n"])
def test_reading_stops_after_too_many_items_without_capture(link: bytes) -> None:
    timemap = LinkTimeMap(BASE)

    rows = [*timemap.feed(usual(STAMP) + link * MOST_WITHOUT_CAPTURE)]
    too_soon = timemap.full
    timemap.feed(link * 10)
    rows += [*timemap.feed(usual(STAMP)), *timemap.close()]

    assert not too_soon
    assert rows == [ROW]
    assert timemap.shortfall == "more than 50000 items that are no captures"


def test_the_number_of_pages_is_limited() -> None:
    _, timemap = read(b'</t>; rel="timemap",\n' * 1001)

    assert len(timemap.pages) == 1000
    assert not timemap.complete


def test_a_target_that_cannot_be_resolved_is_skipped() -> None:
    rows, timemap = read(f'<x[/../>; rel="memento"; datetime="{DATE}",\n'.encode(), "http://[x")

    assert rows == []
    assert timemap.skipped == 1


def test_neighbours_in_a_header_have_their_relations() -> None:
    """UKWA merges relations: `prev first memento`."""
    links = parse_header(
        f'<{URI}>; rel="prev first memento"; datetime="{DATE}", </2>; rel="last memento"; '
        'datetime="Wed, 21 Jun 2000 01:17:31 GMT", <http://a.example.org>; rel="original first"'
    )

    found = neighbours(links, BASE)

    assert found == {
        "prev": ROW,
        "first": ROW,
        "last": Row("20000621011731", "http://arxiv.example.net/2"),
    }


URIS = st.text(alphabet="abc/,;:?=%'\"é<~ ", max_size=20).map(
    lambda path: "http://a.example/" + path.replace("<", "")
)
TITLES = st.text(alphabet="ab,;<>=\"\\' é", max_size=12)
SPACES = st.sampled_from(["", " ", "\t", "\n ", "\r\n"])


@st.composite
def legal_links(draw: st.DrawFn) -> tuple[Row, str]:
    """Return a memento and its link in one of many notations."""
    instant = draw(st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001
    stamp = instant.replace(tzinfo=UTC).strftime("%Y%m%d%H%M%S")
    uri = draw(URIS)
    title = draw(TITLES).replace("\\", "\\\\").replace('"', '\\"')
    params = draw(
        st.permutations(
            [
                draw(st.sampled_from(['rel="memento"', "REL=Memento", "rel='last memento'"])),
                f'{draw(st.sampled_from(["datetime", "Datetime"]))}="{http_date(stamp)}"',
                *draw(st.sampled_from([[], [f'title="{title}"'], ["x=1", "y", "z=a b"]])),
            ]
        )
    )
    gaps = [f"{draw(SPACES)};{draw(SPACES)}" for _ in params]
    return Row(stamp, uri), f"<{uri}>" + "".join(map("".join, zip(gaps, params, strict=True)))


@given(st.lists(legal_links()), st.sampled_from([",\n", ",", " , ", "\n", ",\r\n"]))
def test_every_valid_notation_of_a_list_gives_the_same_rows(
    links: list[tuple[Row, str]], separator: str
) -> None:
    body = separator.join(written for _, written in links)

    rows, timemap = read(body.encode())

    assert rows == [row for row, _ in links]
    assert (timemap.skipped, timemap.shortfall) == (0, "")


# Lines that are alike

SECONDS = [f"2013061508{n // 60:02}{n % 60:02}" for n in range(200)]


def ending(stamp: str, end: str = "/http://a.example.org/", date: str = "") -> str:
    address = f"http://web.example/web/{stamp}{end}"
    return f'<{address}>; rel="memento"; datetime="{date or http_date(stamp)}",\n'


def test_lines_that_differ_in_time_and_spelling_are_read_by_column() -> None:
    ends = ["/http://a.example.org/", "id_/https://www.a.example.org:80/"]
    lines = [ending(stamp, ends[n % 2]) for n, stamp in enumerate(SECONDS)]

    rows = LinkTimeMap(BASE).feed("".join(lines).encode())

    assert isinstance(rows, AlikeRows)
    assert rows.prefix == "http://web.example/web/"
    assert {*rows.suffixes} == {*ends}
    # Whether the last line is complete is not known before another follows.
    assert [*rows] == [
        Row(stamp, f"http://web.example/web/{stamp}{ends[n % 2]}")
        for n, stamp in enumerate(SECONDS[:-1])
    ]
    assert [*rows[5:7]] == [*rows][5:7]


@pytest.mark.parametrize(
    "other",
    [
        ending(STAMP, date="Wed, 31 Dec 1996 23:58:47 GMT"),
        ending(STAMP, date="Tue, 31 Dec 1996 23:58:48 GMT"),
        ending("19961231235960", date="Tue, 31 Dec 1996 23:59:59 GMT"),
        ending("19961331000000", date="Tue, 31 Dec 1996 23:59:59 GMT"),
        ending(STAMP).replace("web.example", "other.example"),
        ending(STAMP).replace("/web/", "/wayback/"),
        ending(STAMP).replace('"memento"', '"last memento"'),
        ending(STAMP).replace("a.example.org/", "a.example.org/\u00e9"),
        ending(STAMP).replace("a.example.org/", "a.example.org/>x<"),
        ending(STAMP).replace(",\n", ",\r\n"),
        ending(STAMP, "0/http://a.example.org/"),
        "\n",
        "<>\n",
    ],
)
def test_one_other_line_leaves_all_to_the_other_readers(other: str) -> None:
    lines = [ending(stamp) for stamp in SECONDS[:9]]
    text = "".join([*lines[:4], other, *lines[4:]]).encode()
    slowly = LinkTimeMap(BASE)

    rows, timemap = read(text)
    expected = [row for octet in text for row in slowly.feed(bytes([octet]))]

    assert rows == [*expected, *slowly.close()]
    assert timemap.skipped == slowly.skipped


def test_lines_with_many_spellings_are_read_as_well() -> None:
    lines = [ending(stamp, f"/http://a.example.org/{n}") for n, stamp in enumerate(SECONDS)]

    rows, _ = read("".join(lines).encode())

    assert [row.stamp for row in rows] == SECONDS
