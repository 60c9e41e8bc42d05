"""Parsed TimeMaps, and where they violate the grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.source import Request
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap, first_violation
from timegate.conformance.session import RecordedExchange

URL = "http://archive.example/timemap/link/http://example.org/"


def a_listing(body: bytes) -> ParsedTimeMap:
    request = Request("GET", URL, "index")
    return ParsedTimeMap(ParsedResponse(RecordedExchange(request, 200, {}, body)))


@pytest.mark.parametrize(
    "body",
    [
        b'<http://a/>; rel="original"',
        b'<http://a/>;rel="original",<http://b/>;rel=memento;datetime="x, y"',
        b'<http://a/>; rel="original",\n <http://b/>; rel="self"; alone\n',
        b'<http://a/>; type=application/link-format, <http://b/>; title="a \\" <b>, c"',
        b"<>",
    ],
)
def test_what_rfc_8288_and_rfc_6690_allow_is_not_a_violation(body: bytes) -> None:
    assert first_violation(body) is None


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (b"", 0),
        (b"\xef\xbb\xbf<http://a/>", 0),
        (b"<http://a/> <http://b/>", 12),
        (b'<http://a/>; rel="self",', 24),
        (b'<http://a/>; rel="self",,<http://b/>', 24),
        (b'<http://a/>; rel="self', 17),
        (b"<http://a/>; rel='first memento'", 24),
        (b"<http://a b/>", 0),
        (b"<!doctype html>", 0),
    ],
)
def test_the_offset_of_a_violation_is_found(body: bytes, at: int) -> None:
    found = first_violation(body)

    assert found is not None
    assert abs(found - at) <= 6  # Whether it is the parameter or its value that is wrong.


@given(
    st.lists(
        st.tuples(st.text("abc/:.?=&%", max_size=20), st.text('abc ,;<>\\"', max_size=20)),
        min_size=1,
        max_size=5,
    )
)
def test_quoted_links_follow_the_grammar(links: list[tuple[str, str]]) -> None:
    def quoted(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"')

    body = ",\n".join(f'<{uri}>; rel="memento"; title="{quoted(t)}"' for uri, t in links)

    assert first_violation(body.encode()) is None
    assert len(a_listing(body.encode()).mementos) == len(links)


def test_links_to_itself_pages_and_mementos_are_distinguished() -> None:
    listing = a_listing(
        b'<http://example.org/>; rel="original",\n'
        b'<http://archive.example/timemap/link/http://example.org/>; rel="self"; '
        b'from="Fri, 01 Jan 2010 12:00:00 GMT",\n'
        b'</timemap/json/http://example.org/>; rel="timemap"; type="application/json",\n'
        b'</timemap/2/http://example.org/>; rel="timemap",\n'
        b'</web/2010/http://example.org/>; rel="first memento"; '
        b'datetime="Fri, 01 Jan 2010 12:00:00 GMT",\n'
        b'</web/2011/http://example.org/>; rel="memento"; datetime="2011"'
    )

    assert listing.targets("original") == ["http://example.org/"]
    assert listing.pages == ["http://archive.example/timemap/2/http://example.org/"]
    assert listing.bounds == ("20100101120000", None)
    assert listing.captures == (
        ("20100101120000", "http://archive.example/web/2010/http://example.org/"),
    )
    assert [link.stamp for link in listing.mementos] == ["20100101120000", None]
