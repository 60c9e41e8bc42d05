"""References in a page of HTML."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.registry import load_known
from timegate.references.formats import extract
from timegate.references.hypertext import read_html

NOW = datetime(2026, 11, 1, tzinfo=UTC)
URL = "http://www.dr.dk/"
COPY = "https://archive.today/20130203040506/http://www.dr.dk/"


def links(page: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(item.references, item.dates) for item in read_html(page)]


@pytest.mark.parametrize(
    "anchor",
    [
        f'<a href="{URL}" data-versionurl="{COPY}" data-versiondate="2013-02-03">',
        f"<A\n DATA-VERSIONDATE=2013-02-03 HREF={URL}\tData-VersionUrl='{COPY} {URL}x'>",
        f'<a title=">" data-versiondate=2013-02-03 href="{URL}" data-versionurl={COPY} href>',
    ],
)
def test_a_robust_link_names_the_copy_first(anchor: str) -> None:
    assert links(anchor) == [((COPY, URL), ("2013-02-03",))]


def test_a_robust_link_may_lead_to_the_copy() -> None:
    anchor = f'<a href="{COPY}" data-originalurl="{URL}" data-versiondate="2013-02-03">'

    assert links(anchor) == [((COPY, URL), ("2013-02-03",))]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (f'<p><a href="{URL}">a</a> <a href=http://b/>b</a>', [URL, "http://b/"]),
        ('<a href="http://a/?x=1&amp;y=2&copy=3&#47;">', ["http://a/?x=1&y=2&copy=3/"]),
        ('<a href="//a.example/">', ["https://a.example/"]),
        (
            '<a href="urn:pwid:x"><a href="DURI:2016:http://a/">',
            ["urn:pwid:x", "DURI:2016:http://a/"],
        ),
        ('<a href="/a"><a href="#b"><a href="mailto:c"><a href><a name=d><a>', []),
        (f'<!-- <a href="{URL}"> --><script>"<a href={URL}>"</script>', []),
        (f'<abbr href="{URL}"><area href="{URL}">', []),
        (f'<a title="\' href="{URL}', []),
    ],
)
def test_only_links_with_a_host_are_read(page: str, found: list[str]) -> None:
    items = [*read_html(page)]

    assert [item.text for item in items] == found
    assert [item.position for item in items] == list(range(len(found)))


def test_a_page_is_read_in_its_declared_encoding() -> None:
    page = b"<meta charset=iso-8859-1><a href='http://a/\xe9'>"

    (item,) = read_html(page.decode(errors="surrogateescape"))

    assert item.text == "http://a/é"


@pytest.mark.parametrize(
    "piece", ["<a ", "<a x=", '<a x="', "<a x='\"", "<a / ", "<", "<!--", "<script ", "<a x y "]
)
def test_a_hundred_thousand_pieces_are_read_in_one_pass(piece: str) -> None:
    assert list(read_html(piece * 100_000)) == []


_PIECES = st.sampled_from(
    [
        "<a",
        " ",
        "href",
        "=",
        '"',
        "'",
        ">",
        "<",
        "/",
        URL,
        "<!--",
        "-->",
        "&amp;",
        "é",
        "\udcff",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_any_page_can_be_read(page: str) -> None:
    assert all(item.references for item in read_html(page))


@pytest.mark.parametrize(
    ("attributes", "at", "doubt"),
    [
        ('ADD_DATE="1288952430"', "2010-11-05T10:20:30Z", False),
        ('ADD_DATE="1288952430123"', "2010-11-05T10:20:30Z", False),
        ('ADD_DATE="1288952430123456"', "2010-11-05T10:20:30Z", False),
        ('time_added="1288952430"', "2010-11-05T10:20:30Z", False),
        ('ADD_DATE="13233425700000000"', "", True),
        ('ADD_DATE="0"', "", False),
        ('ADD_DATE="1288952430" LAST_VISIT="1288953000"', "2010-11-05T10:30:00Z", False),
        ('ADD_DATE="1288952430" LAST_VISIT="1320488430"', "2011-11-05T10:20:30Z", True),
        ('ADD_DATE="1288952430" LAST_VISIT="0"', "2010-11-05T10:20:30Z", False),
    ],
)
def test_a_bookmark_says_when_its_page_was_open(
    attributes: str, at: str, *, doubt: bool
) -> None:
    text = f'<DT><A HREF="http://a.example/" {attributes}>A</A>'

    (found,) = extract(text, load_known(), NOW)

    assert (str(found.at or ""), found.dates.doubt) == (at, doubt)


def test_a_time_that_several_bookmarks_share_is_in_doubt() -> None:
    text = "".join(
        f'<DT><A HREF="http://{name}.example/" ADD_DATE="{time}">A</A>\n'
        for name, time in (("a", 1288952430), ("b", 1288952430), ("c", 1288952431))
    )

    found = extract(text, load_known(), NOW)

    assert [each.dates.doubt for each in found] == [True, True, False]
