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


def read(text: str) -> list[tuple[str, str, bool]]:
    found = extract(text, load_known(), NOW)
    return [(each.identifier, str(each.at or ""), each.dates.doubt) for each in found]


def test_a_date_is_of_no_link_in_another_entry() -> None:
    one = "<item><link>http://a.example/</link><accessed>2010-11-05</accessed></item>"
    other = "<item><accessed>2011-11-05</accessed><link>http://b.example/</link></item>"
    third = "<item><link>http://c.example/</link></item>"

    assert read(f"<list>{one}{other}{third}</list>") == [
        ("http://a.example/", "2010-11-05", False),
        ("http://b.example/", "2011-11-05", False),
        ("http://c.example/", "", False),
    ]


def test_authors_are_no_entries() -> None:
    authors = "<author><first>A</first></author><author><first>B</first></author>"

    assert read(
        f"<item>{authors}<link>http://a.example/</link><accessed>2010-11-05</accessed></item>"
    ) == [("http://a.example/", "2010-11-05", False)]


@pytest.mark.parametrize(
    ("parts", "date"),
    [
        (
            (
                "<YearAccessed>2010</YearAccessed><MonthAccessed>11</MonthAccessed>"
                "<DayAccessed>5</DayAccessed>"
            ),
            "2010-11-05",
        ),
        (
            (
                "<DayAccessed>5</DayAccessed><x/><MonthAccessed>Nov</MonthAccessed>"
                "<YearAccessed>2010</YearAccessed>"
            ),
            "2010-11-05",
        ),
        ("<YearAccessed>2010</YearAccessed><MonthAccessed>11</MonthAccessed>", "2010-11"),
        ("<YearAccessed>2010</YearAccessed>", "2010"),
        ("<DayAccessed>5</DayAccessed>", ""),
    ],
)
def test_parts_of_a_date_of_access_are_one_date(parts: str, date: str) -> None:
    assert read(f"<s>{parts}<URL>http://a.example/</URL></s>")[0][1] == date


def test_two_years_of_access_are_no_date() -> None:
    year = "<YearAccessed>2010</YearAccessed>"

    (found,) = read(f"<s>{year}{year}<URL>http://a.example/</URL></s>")

    assert found == ("http://a.example/", "", True)


@pytest.mark.parametrize(
    "text",
    [
        "<list><accessed>2010-11-05</accessed>{}</list>",
        "<list>{}<accessed>2010-11-05</accessed></list>",
        "<list accessed='2010-11-05'>{}</list>",
    ],
)
def test_a_date_of_the_whole_list_leaves_a_doubt(text: str) -> None:
    items = "".join(f"<item><link>http://{name}.example/</link></item>" for name in "ab")

    assert read(text.format(items)) == [
        ("http://a.example/", "", True),
        ("http://b.example/", "", True),
    ]


def test_a_link_between_two_entries_is_found() -> None:
    one, other = (f"<item><b><c>http://{name}.example/</c></b></item>" for name in "ac")

    assert [each[0] for each in read(f"<list>{one}<c>http://b.example/</c>{other}</list>")] == [
        "http://a.example/",
        "http://b.example/",
        "http://c.example/",
    ]
