"""Links in several pieces are joined; the doubt stays where something else can be meant."""

import pytest

from timegate.references.links import find_links


@pytest.mark.parametrize(
    ("text", "url", "doubt"),
    [
        ("see http://a.example/b/\nc/d.html for", "http://a.example/b/c/d.html", False),
        ("http://a.example/b?\nc=d&e=f, seen", "http://a.example/b?c=d&e=f", False),
        ("see http://a.example/b-\nc/d.html for", "http://a.example/b-c/d.html", True),
        ("see http://a.example/wor\nds1.html", "http://a.example/words1.html", True),
        ("see http://a.example/b/\nc/d/\ne.html.", "http://a.example/b/c/d/e.html", True),
        ("http://a.example/My File.pdf is", "http://a.example/My%20File.pdf", True),
        ("http://a.example/b/\nand more", "http://a.example/b/", False),
        ("http://a.example/obj\nects", "http://a.example/obj", True),
        ("http://a.example/objects\nHours", "http://a.example/objects", False),
        ("http://a.example/b\nand\nmore", "http://a.example/b", False),
        ("http://a.example/b\naccessed\n5 May 2010", "http://a.example/b", False),
        ("http://a.example/b/\nseptember2019 [", "http://a.example/b/september2019", True),
        ("http://a.example/b/\nannual_report [", "http://a.example/b/annual_report", True),
        ("http://a.example/b/\nhousing [accessed", "http://a.example/b/", True),
        ("http://a.example/b/\nwell-known as", "http://a.example/b/", False),
        ("http://a.example/b?c=d\n&e=f now", "http://a.example/b?c=d", True),
        (
            "http://a.example/wor...-in-Japan.html",
            "http://a.example/wor...-in-Japan.html",
            True,
        ),
        ("http://a.example/compare/v1...v2 is", "http://a.example/compare/v1...v2", False),
        ("http://a.example/My file is a.pdf", "http://a.example/My", False),
    ],
)
def test_a_link_goes_on_where_only_a_link_can(text: str, url: str, *, doubt: bool) -> None:
    (link,) = find_links(text)

    assert (link.identifier, link.incomplete) == (url, doubt)
