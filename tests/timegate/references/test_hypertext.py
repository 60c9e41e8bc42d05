"""References in a page of HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references.hypertext import read_html

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
