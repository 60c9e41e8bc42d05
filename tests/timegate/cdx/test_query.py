"""CDX parameters, the captures that they select, and the formats."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from archives.moment import Moment
from archives.source import WantedCaptures
from tests.timegate.timemaps.capture_lists import at
from timegate.cdx.formats import Capture, Cdxj, PywbObjects, WaybackArray, WaybackLines
from timegate.cdx.query import (
    MOST_HELD,
    MOST_ROWS,
    CdxQuery,
    Dialect,
    Position,
    parameters_in,
    query_from,
    resume_key,
)
from timegate.cdx.selection import Selection
from timegate.resolution.preferences import BadPreference
from timegate.verdict import header_safe

URL = "http://example.org/"


def query_of(dialect: Dialect = "wayback", **parameters: str | list[str]) -> CdxQuery:
    given_ = {
        name.rstrip("_"): [value] if isinstance(value, str) else value
        for name, value in parameters.items()
    }
    return query_from({"url": [URL], **given_}, dialect)


def capture(
    stamp: str,
    status: int | None = None,
    mime: str | None = None,
    digest: str | None = None,
    original: str = URL,
) -> Memento:
    return Memento(stamp, f"http://a/{stamp}/{URL}", original, "a", status, mime, digest)


def selected(query: CdxQuery, captures: Sequence[Memento], step: int = 3) -> list[Memento]:
    return _run(Selection(query), captures, step)


def _run(selection: Selection, captures: Sequence[Memento], step: int) -> list[Memento]:
    rows: list[Capture] = []
    for start in range(0, len(captures), step):
        if selection.done:
            break
        rows += selection.take(captures[start : start + step])
    return [row for row in [*rows, *selection.rest()] if isinstance(row, Memento)]


STAMPS = (
    "20110101000000",
    "20120301000000",
    "20120301000001",
    "20121231235959",
    "20130630120000",
    "20150101000000",
)
YEARS = [capture(stamp) for stamp in STAMPS]


# Which captures


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"from": "2"}, [0, 1, 2, 3, 4, 5]),
        ({"from": "2012"}, [1, 2, 3, 4, 5]),
        ({"from": "20120301000001"}, [2, 3, 4, 5]),
        ({"to": "2012"}, [0, 1, 2, 3]),
        ({"to": "201"}, [0, 1, 2, 3, 4, 5]),
        ({"to": "20120301000000"}, [0, 1]),
        ({"to": "1999"}, []),
        ({"from": "201203", "to": "201203"}, [1, 2]),
        ({"from": "2013", "to": "2012"}, []),
        ({"limit": "2"}, [0, 1]),
        ({"limit": "0"}, [0, 1, 2, 3, 4, 5]),
        ({"limit": "-2"}, [4, 5]),
        ({"limit": "-99"}, [0, 1, 2, 3, 4, 5]),
        ({"limit": "-1", "to": "2012"}, [3]),
        ({"offset": "4"}, [4, 5]),
        ({"offset": "1", "limit": "2"}, [1, 2]),
        ({"offset": "9"}, []),
        ({"sort": "reverse", "limit": "2"}, [5, 4]),
        ({"sort": "reverse", "limit": "2", "offset": "1"}, [4, 3]),
        ({"sort": "closest", "closest": "20121231"}, [3, 4, 2, 1, 0, 5]),
        ({"sort": "closest", "closest": "20121231", "limit": "1"}, [3]),
        ({"closest": "2012", "limit": "2"}, [2, 1]),
        ({"closest": "20110101", "limit": "2"}, [0, 1]),
        ({"closest": "20130701", "limit": "2", "offset": "1"}, [3, 2]),
        ({"closest": "2", "limit": "1"}, [5]),
        ({"closest": "now", "limit": "1"}, [5]),
        ({"closest": "", "sort": "closest"}, [0, 1, 2, 3, 4, 5]),
        ({"closest": "2013", "sort": "default", "limit": "1"}, [0]),
        ({"collapse": "timestamp:4"}, [0, 1, 4, 5]),
        ({"collapse": "timestamp:14"}, [0, 1, 2, 3, 4, 5]),
        ({"collapse": "urlkey"}, [0]),
        ({"collapse": "timestamp:4", "limit": "-2"}, [4, 5]),
        ({"gzip": "false", "fastLatest": "true", "pageSize": "3", "what": "x"}, [*range(6)]),
    ],
)
def test_parameters_select_captures(parameters: dict[str, str], wanted: list[int]) -> None:
    query = query_from({"url": [URL], **{k: [v] for k, v in parameters.items()}}, "wayback")

    found = selected(query, YEARS)

    assert [STAMPS.index(row.stamp) for row in found] == wanted


KINDS = [
    capture("20110101000000", status=200, mime="text/html", digest="AAA"),
    capture("20120101000000", status=301, mime="text/html", digest="AAA"),
    capture("20130101000000", status=404, mime="text/html", digest="BBB"),
    capture("20140101000000", status=200, mime="image/svg+xml", digest="BBB"),
    capture("20150101000000"),
    capture("20160101000000"),
]


@pytest.mark.parametrize(
    ("dialect", "filters", "wanted"),
    [
        ("wayback", ["statuscode:200"], [0, 3]),
        ("wayback", ["!statuscode:200"], [1, 2, 4, 5]),
        ("wayback", ["statuscode:[23].."], [0, 1, 3]),
        ("wayback", ["statuscode:20"], []),
        ("wayback", [r"statuscode:\d\d\d"], [0, 1, 2, 3]),
        ("wayback", ["statuscode:(200|404)"], [0, 2, 3]),
        ("wayback", ["statuscode:200|404"], [0, 2, 3]),
        ("wayback", ["!statuscode:200", "!statuscode:-"], [1, 2]),
        ("wayback", ["mimetype:text/.*"], [0, 1, 2]),
        ("wayback", ["mimetype:.*svg.*", "statuscode:200"], [3]),
        ("wayback", [r"mimetype:image/svg\+xml"], [3]),
        ("wayback", ["timestamp:201[2-4].*"], [1, 2, 3]),
        ("wayback", ["^$"], None),
        ("wayback", ["=status:200"], [0, 3]),
        ("wayback", ["status:200"], [0, 3]),
        ("pywb", ["=status:200"], [0, 3]),
        ("pywb", ["!=status:200"], [1, 2, 4, 5]),
        ("pywb", ["status:0"], [0, 1, 2, 3]),
        ("pywb", ["!mime:html"], [3, 4, 5]),
        ("pywb", ["~status:[23]"], [0, 1, 3]),
        ("pywb", ["~status:2$"], []),
        ("pywb", ["!~status:2"], [1, 2, 4, 5]),
        ("pywb", ["~status:4|3"], [1, 2]),
        ("pywb", ["=statuscode:404"], [2]),
        ("pywb", ["mime:image", "=status:404"], []),
    ],
)
def test_filters_select_captures(
    dialect: Dialect, filters: list[str], wanted: list[int] | None
) -> None:
    if wanted is None:
        with pytest.raises(BadPreference):
            query_of(dialect, filter=filters)
        return

    found = selected(query_of(dialect, filter=filters), KINDS)

    assert [KINDS.index(row) for row in found] == wanted


@pytest.mark.parametrize(
    ("dialect", "filters", "unjudged"),
    [
        ("wayback", ["statuscode:200"], 2),
        ("wayback", ["statuscode:999"], 2),
        ("wayback", ["statuscode:200|-"], 0),
        ("wayback", ["statuscode:.*"], 0),
        ("wayback", ["!statuscode:404"], 0),
        ("wayback", ["!statuscode:-"], 0),
        ("wayback", ["timestamp:1999.*"], 0),
        ("wayback", ["statuscode:200", "timestamp:2011.*"], 0),
        ("wayback", ["statuscode:200", "mimetype:text/html"], 2),
        ("wayback", ["length:5"], 6),
        ("pywb", ["=status:200"], 2),
        ("pywb", ["~status:[23]"], 2),
        ("pywb", ["status:0"], 2),
    ],
)
def test_captures_whose_field_is_unknown_are_counted(
    dialect: Dialect, filters: list[str], unjudged: int
) -> None:
    selection = Selection(query_of(dialect, filter=filters))

    _run(selection, KINDS, 3)

    assert selection.unjudged == unjudged


def test_captures_outside_the_interval_are_not_counted_as_unjudged() -> None:
    selection = Selection(query_of(filter="statuscode:200", from_="1999", to="2010"))

    _run(selection, KINDS, 3)

    assert selection.unjudged == 0


@pytest.mark.parametrize(
    ("parameters", "needed"),
    [
        ({}, True),
        ({"fl": "timestamp,original,url_m"}, False),
        ({"fl": "timestamp,statuscode"}, True),
        ({"filter": "statuscode:200"}, True),
        ({"filter": "!mimetype:warc/revisit"}, True),
        ({"fl": "timestamp", "filter": "original:.*"}, False),
        ({"collapse": "digest"}, True),
        ({"fl": "timestamp", "collapse": "timestamp:8"}, False),
        ({"fl": "timestamp", "showDupeCount": "true"}, True),
    ],
)
def test_an_index_is_needed_for_fields_that_timemaps_lack(
    parameters: dict[str, str], *, needed: bool
) -> None:
    query = query_from({"url": [URL], **{k: [v] for k, v in parameters.items()}}, "wayback")

    assert query.needs_index is needed


def test_a_question_mark_before_a_name_is_ignored() -> None:
    # waybackpy writes one between its endpoint and its parameters.
    read = parameters_in("?archives=internet-archive&?from=2010&url=http://x/?a")

    assert read == {"archives": ["internet-archive"], "from": ["2010"], "url": ["http://x/?a"]}


@pytest.mark.parametrize(
    ("collapses", "wanted"),
    [
        (["digest"], [0, 2, 4, 5]),
        (["statuscode"], [0, 1, 2, 3, 4, 5]),
        (["mimetype:4"], [0, 3, 4, 5]),
        (["digest", "statuscode:1"], [0, 2, 4, 5]),
        (["timestamp:3"], [0]),
    ],
)
def test_only_neighbours_with_known_values_collapse(
    collapses: list[str], wanted: list[int]
) -> None:
    found = selected(query_of(collapse=collapses), KINDS)

    assert [KINDS.index(row) for row in found] == wanted


def test_captures_after_the_interval_or_the_limit_are_not_read() -> None:
    for parameters in ({"to": "2011"}, {"limit": "1"}, {"closest": "2011", "limit": "1"}):
        selection = Selection(
            query_from({"url": [URL], **{k: [v] for k, v in parameters.items()}}, "wayback")
        )

        selection.take(YEARS)

        assert selection.done


# What is refused


@pytest.mark.parametrize(
    ("dialect", "parameters", "word"),
    [
        ("wayback", {"url": ""}, "url"),
        ("wayback", {"url": "*"}, "matchType"),
        ("wayback", {"matchType": "regex"}, "matchType"),
        ("wayback", {"from": "2013-01"}, "from"),
        ("wayback", {"to": "123456789012345"}, "to"),
        ("wayback", {"limit": "many"}, "limit"),
        ("wayback", {"limit": "--1"}, "limit"),
        ("wayback", {"limit": "9999999999"}, "limit"),
        ("wayback", {"limit": f"-{MOST_HELD + 1}"}, "limit"),
        ("wayback", {"closest": "2013", "limit": str(MOST_HELD), "offset": "1"}, "limit"),
        ("wayback", {"offset": "-1"}, "offset"),
        ("wayback", {"page": "x"}, "page"),
        ("wayback", {"sort": "closest"}, "closest"),
        ("wayback", {"sort": "size"}, "sort"),
        ("wayback", {"closest": "20130231"}, "closest"),
        ("wayback", {"closest": "tomorrow"}, "closest"),
        ("wayback", {"fl": "timestamp,colour"}, "fl"),
        ("wayback", {"filter": "statuscode"}, "filter"),
        ("wayback", {"filter": "colour:red"}, "filter"),
        ("wayback", {"filter": r"original:(.)\1"}, "allowed"),
        ("wayback", {"filter": "original:(?=x)y"}, "allowed"),
        ("wayback", {"filter": "original:a{3}"}, "allowed"),
        ("wayback", {"filter": "original:a*+"}, "allowed"),
        ("wayback", {"collapse": "colour"}, "collapse"),
        ("wayback", {"collapse": "timestamp:0"}, "collapse"),
        ("wayback", {"collapse": "timestamp:x"}, "collapse"),
        ("wayback", {"resumeKey": "com%2Cexample"}, "resumeKey"),
        ("wayback", {"resumeKey": "aGVsbG8"}, "resumeKey"),
        ("wayback", {"resumeKey": "\u00e4"}, "resumeKey"),
        ("pywb", {"output": "link"}, "output"),
        ("pywb", {"output": "xml"}, "output"),
    ],
)
def test_unsupported_values_are_rejected(
    dialect: Dialect, parameters: Mapping[str, str], word: str
) -> None:
    given_ = {"url": [URL], **{name: [value] for name, value in parameters.items()}}

    with pytest.raises(BadPreference, match=word):
        query_from(given_, dialect)


def test_the_number_of_filters_is_limited() -> None:
    with pytest.raises(BadPreference, match="filter"):
        query_of(filter=["statuscode:200"] * 9)


def test_a_query_string_is_read() -> None:
    parameters = parameters_in(
        "?url=http%3A%2F%2Fexample.org%2F%3Fa%3D1%26b&filter=!mimetype:image/svg+xml"
        "&filter=statuscode%3A200&limit=&flag"
    )

    assert parameters == {
        "url": ["http://example.org/?a=1&b"],
        "filter": ["!mimetype:image/svg+xml", "statuscode:200"],
        "limit": [""],
        "flag": [""],
    }


def test_parameters_become_a_query() -> None:
    query = query_of(
        output="json",
        fl="timestamp,original",
        closest="201305",
        showResumeKey="true",
        showNumPages="true",
        page="2",
    )

    assert query == CdxQuery(
        URL,
        "json",
        ("timestamp", "original"),
        order="nearest",
        near=Moment("201305"),
        limit=MOST_HELD,
        resumable=True,
        page=2,
        counts_pages=True,
    )
    assert query_of().limit == MOST_ROWS
    assert query_of(limit="999999").limit == MOST_ROWS
    assert query_of("pywb").output == "cdxj"
    assert query_of("pywb", fields="url", fl="mime").fields == ("url",)


# Going on


def test_a_resume_key_is_a_position() -> None:
    last = capture("20130101000000")

    key = resume_key(last)

    assert query_of(resumeKey=key).after == Position(last.stamp, last.uri)
    assert quote(key, safe="") == key


CAPTURES = st.lists(
    st.builds(
        lambda second, archive, status, digest: Memento(
            at(second),
            f"http://{archive}/{at(second)}/{URL}",
            URL,
            archive,
            status,
            None,
            digest,
        ),
        st.integers(0, 12),
        st.sampled_from("abc"),
        st.sampled_from([None, 200, 404]),
        st.sampled_from([None, "A", "B"]),
    ),
    unique_by=lambda made: made[:2],
    max_size=25,
).map(lambda made: sorted(made, key=lambda one: one[:2]))
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "collapse": st.sampled_from([["digest"], ["timestamp:13"], ["digest", "statuscode"]]),
        "filter": st.sampled_from([["statuscode:200"], ["!statuscode:404"]]),
        "offset": st.sampled_from([["1"], ["4"]]),
        "from": st.just([at(3)]),
        "to": st.just([at(9)]),
    },
)


@given(CAPTURES, WISHES, st.integers(1, 5), st.integers(1, 7))
def test_resume_keys_lead_through_all_rows_once(
    captures: list[Memento], parameters: dict[str, list[str]], limit: int, step: int
) -> None:
    whole = query_from({"url": [URL], **parameters}, "wayback")
    paged = replace(whole, limit=limit, resumable=True)
    rows: list[Memento] = []
    pages = 0

    while True:
        selection = Selection(paged)
        page = _run(selection, captures, step)
        assert len(page) <= limit
        rows += page
        pages += 1
        if selection.resume_key is None:
            break
        assert len(page) == limit
        paged = replace(paged, after=query_of(resumeKey=selection.resume_key).after)

    assert rows == selected(whole, captures)
    assert pages == max(1, -(-len(rows) // limit))


@given(CAPTURES, st.integers(0, 14), st.integers(1, 9), st.integers(1, 7))
def test_the_nearest_rows_are_the_nearest_of_all_captures(
    captures: list[Memento], second: int, limit: int, step: int
) -> None:
    near = query_of(closest=at(second))

    everything = selected(near, captures, max(1, len(captures)))
    some = selected(replace(near, limit=limit), captures, step)

    assert some == everything[:limit]


# What must be read


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"limit": "5"}, WantedCaptures(most=5)),
        ({"limit": "5", "offset": "2", "showResumeKey": "true"}, WantedCaptures(most=8)),
        ({"limit": "-5"}, WantedCaptures(order="newest", most=5)),
        ({"sort": "reverse", "limit": "5"}, WantedCaptures(order="newest", most=5)),
        (
            {"closest": "2013", "limit": "5"},
            WantedCaptures(order="nearest", near=Moment("2013"), most=5),
        ),
        ({"from": "2012", "to": "2013", "limit": "5"}, WantedCaptures("2012", "2013", most=5)),
        # How many captures make five rows is not known.
        ({"limit": "5", "filter": "statuscode:200"}, WantedCaptures()),
        ({"limit": "5", "collapse": "timestamp:4", "from": "2012"}, WantedCaptures("2012")),
    ],
)
def test_a_query_says_which_captures_must_be_read(
    parameters: dict[str, str], wanted: WantedCaptures
) -> None:
    assert query_of("wayback", **parameters).wanted == wanted


def test_a_resumed_query_begins_at_the_second_of_its_key() -> None:
    selection = Selection(query_of(limit="1", showResumeKey="true"))
    selection.take([capture(stamp) for stamp in STAMPS])

    assert selection.resume_key is not None
    assert query_of(resumeKey=selection.resume_key).wanted == WantedCaptures(STAMPS[0])
    collapsed = query_of(resumeKey=selection.resume_key, collapse="timestamp:4")
    assert collapsed.wanted == WantedCaptures()


# How it is written


TWO = [
    capture("20120101000000.5".replace(".", ""), status=200, mime="text/html", digest="AAA"),
    capture("20161231235960", original="http://example.org/a b\n\u00e9", mime="a b"),
]


def test_text_has_seven_fields_per_line() -> None:
    text = WaybackLines().rows(TWO).decode()

    assert text.split("\n") == [
        "org,example)/ 20120101000000 http://example.org/ text/html 200 AAA -",
        "org,example)/a%20b%c3%a9 20161231235959 http://example.org/a%20b%0A%C3%A9 a%20b - - -",
        "",
    ]


def test_an_array_begins_with_the_field_names() -> None:
    writer = WaybackArray(("timestamp", "statuscode"))

    rows = json.loads(writer.head() + writer.rows(TWO) + writer.tail("KEY"))

    assert rows == [
        ["timestamp", "statuscode"],
        ["20120101000000", "200"],
        ["20161231235959", "-"],
        [],
        ["KEY"],
    ]
    assert json.loads(writer.nothing) == []


def test_objects_and_cdxj_have_the_same_content() -> None:
    objects = [json.loads(line) for line in PywbObjects().rows(TWO).splitlines()]
    lines = Cdxj().rows(TWO).decode().splitlines()

    assert objects[0] == {
        "urlkey": "org,example)/",
        "timestamp": "20120101000000",
        "url": "http://example.org/",
        "mime": "text/html",
        "status": "200",
        "digest": "AAA",
        "source": "a",
        "memento": TWO[0].uri,
        "url_m": TWO[0].uri,
    }
    for row, line in zip(objects, lines, strict=True):
        key, stamp, rest = line.split(" ", 2)
        assert {"urlkey": key, "timestamp": stamp, **json.loads(rest)} == row


@given(CAPTURES)
def test_text_and_json_have_the_same_content(captures: list[Memento]) -> None:
    array = WaybackArray()

    rows = json.loads(array.head() + array.rows(captures) + array.tail(None))[1:]

    assert [row[:7] for row in rows] == [
        line.split(" ") for line in WaybackLines().rows(captures).decode().splitlines()
    ]
    assert [row[7] for row in rows] == [header_safe(capture.uri) for capture in captures]
