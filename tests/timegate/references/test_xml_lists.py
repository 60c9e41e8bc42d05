"""Lists in XML: text of elements and attributes are references, comments and names are not."""

from datetime import UTC, datetime

import pytest

from archives.registry import load_known
from timegate.references.detection import format_of
from timegate.references.formats import extract
from timegate.references.xml_lists import attribute_links, is_xml, without_tags

PWID = "urn:pwid:netarkivet.dk:2008-11-29T00:41:42Z:part:http://a.example/?a=1&copy=2"
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "xml"),
    [
        ("<part>\n", True),
        ("<?xml version='1.0'?>", True),
        ("<c:part a='b'>", True),
        ("<http://a.example/>", False),
        ("< 5", False),
        ("urn:pwid", False),
    ],
)
def test_xml_begins_with_an_element(text: str, *, xml: bool) -> None:
    assert is_xml(text) is xml


def test_urls_without_escapes_are_read_as_solrwayback_writes_them() -> None:
    found = extract(f"<part>\n{PWID}\n</part>\n", load_known(), NOW)

    assert [each.identifier for each in found] == [PWID]


def test_escaped_urls_are_unescaped() -> None:
    text = f"<list><part>{PWID.replace('&', '&amp;')}</part></list>"

    assert [each.identifier for each in extract(text, load_known(), NOW)] == [PWID]


def test_namespaces_schemas_and_comments_are_no_references() -> None:
    text = (
        '<list xmlns="http://ns.example/" xsi:schemaLocation="http://ns.example/ a.xsd">'
        '<!-- http://comment.example/ --><part xlink:href="http://a.example/"/></list>'
    )

    assert [each.identifier for each in extract(text, load_known(), NOW)] == [
        "http://a.example/"
    ]


def test_positions_stay() -> None:
    text = f"<part id='x' href='{PWID}'>{PWID}</part>"

    link = next(attribute_links(text))
    assert text[slice(*link.span)] == PWID
    assert without_tags(text).index(PWID) == text.rindex(PWID)
    assert len(without_tags(text)) == len(text)


def test_a_sitemap_is_a_list_of_pages() -> None:
    text = '<?xml version="1.0"?><urlset><url><loc>http://a.example/b</loc></url></urlset>'

    assert format_of("-", text.encode()) == format_of("sitemap.xml", b"") == "xml"
    assert [each.identifier for each in extract(text, load_known(), NOW)] == [
        "http://a.example/b"
    ]
