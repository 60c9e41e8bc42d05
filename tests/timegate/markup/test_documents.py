"""Laws of rewriting, with parsers of others as witnesses; encodings; other documents."""

import re
from collections.abc import Iterator

import pytest
import tinycss2  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from timegate.markup import TooComplex, embedded_in, is_walkable, rewritten
from timegate.markup.model import MOST_OCTETS

PAGE = "http://site.example/dir/"
OURS = "http://gate.example/A/"
# Pieces of pages, in the spellings that parsers disagree about.
PIECES = [
    *("<a", "<img", "<svg", "<math", "<style", "<title", "<script", "<noscript", "<iframe"),
    *("<table", "<tr", "<td", "<p", "<div", "<b", "<textarea", "<xmp", "<select", "<option"),
    *("<template", "<form", "<input", "<base", "<link", "<meta", "<object", "<embed", "<use"),
    *("<mi", "<annotation-xml", "<foreignObject", "<desc", "<image", "<body", "<frameset"),
    *(" href=", " src=", " srcset=", " style=", " xlink:href=", " background=", " onload="),
    *(" rel=stylesheet", " http-equiv=refresh content=", " type=image", " srcdoc=", " data="),
    *(
        "http://evil.example/",
        "//evil.example",
        "evil.png",
        "javascript:a()",
        "\\\\evil.example",
    ),
    *("data:text/html,x", "url(http://evil.example/)", "@import 'http://evil.example/';"),
    *(">", "/>", " ", "\n", "'", '"', "`", "=", "/", "<", "&", "&lt;", "&quot;", "&#x3c;"),
    *(
        "<!--",
        "-->",
        "--!>",
        "<!",
        "<?",
        "]]>",
        "<![CDATA[",
        "</",
        "\x00",
        "\\",
        "é",
        "/*",
        "*/",
    ),
    *("</script>", "</style>", "</svg>", "</title>", "</noscript>", "</a>", "</p>", "</table>"),
    *("{", "}", "(", ")", ";", "a", "b", "1x,", "\\75rl(", "image-set(", "@font-face{src:"),
]
PAGES = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
_URL_ATTRIBUTES = ("src", "href", "data", "background", "poster", "action", "xlink:href")


def page_of(markup: str) -> str:
    page = rewritten(
        markup.encode(), "text/html; charset=utf-8", PAGE, lambda url: f"{OURS}{url.url}"
    )
    return page.octets.decode()


@given(PAGES)
def test_a_rewritten_page_names_only_our_addresses(markup: str) -> None:
    page = page_of(markup)

    urls = embedded_in(page.encode(), "text/html; charset=utf-8", "http://elsewhere.example/")

    assert [url.url for url in urls if not url.url.startswith(OURS)] == []


@given(PAGES)
def test_another_parser_finds_nothing_that_runs_or_reaches_out(markup: str) -> None:
    tree = LexborHTMLParser(page_of(markup))

    assert tree.root is not None
    for node in tree.root.traverse():
        assert node.tag not in ("script", "base")
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            if name in _URL_ATTRIBUTES:
                assert (value or "").startswith((OURS, "#", "data:image/")), (name, value)
            if name == "style":
                assert foreign_urls(value or "") == []
        if node.tag == "style":
            assert foreign_urls(node.text()) == []
        if node.tag == "meta":
            assert "http-equiv" not in node.attributes


def foreign_urls(css: str) -> list[str]:
    """Return what a stylesheet would request from others, as tinycss2 reads it."""
    tokens = tinycss2.parse_component_value_list(css)
    return [url for url in _urls(tokens) if not url.startswith((OURS, "#", "data:"))]


def _urls(tokens: list[tinycss2.ast.Node]) -> Iterator[str]:  # noqa: C901 -- one branch a kind
    rule = ""
    for token in tokens:
        if token.type == "at-keyword":
            rule = token.lower_value
        elif token.type == "literal" and token.value == ";":
            rule = ""
        if rule == "namespace":  # a name, which is never requested
            continue
        if token.type == "url" or (token.type == "string" and rule == "import"):
            yield token.value
        elif token.type == "function":
            if token.lower_name in ("url", "src", "image-set"):
                yield from (each.value for each in token.arguments if each.type == "string")
            yield from _urls(token.arguments)
        elif hasattr(token, "content"):
            yield from _urls(token.content)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_another_parser_finds_no_foreign_url_in_a_rewritten_stylesheet(css: str) -> None:
    sheet = rewritten(css.encode(), "text/css", PAGE, lambda url: f"{OURS}{url.url}")

    assert foreign_urls(sheet.octets.decode()) == []


SIMPLE = st.lists(
    st.sampled_from(
        [
            *(
                "<p>",
                "</p>",
                "<b>",
                "</b>",
                "<table>",
                "<td>",
                "</table>",
                "text",
                "<br/>",
                "&amp;",
            ),
            *("<!-- x -->", "<ul><li>", "</ul>", "<noscript>", "</noscript>", "1 < 2", "<svg>"),
            *("</svg>", "<title>x</title>", "<script>'<img src=no>'</script>", "<i", ">", "'"),
        ]
    ),
    max_size=20,
)


@given(SIMPLE, SIMPLE)
def test_the_pictures_that_another_parser_finds_are_found(
    before: list[str], after: list[str]
) -> None:
    markup = "".join((*before, " <img src=a.png alt=x> ", *after))
    tree = LexborHTMLParser(markup)

    if any(node.attributes.get("src") == "a.png" for node in tree.css("img")):
        assert f"{PAGE}a.png" in {
            url.url for url in embedded_in(markup.encode(), "text/html", PAGE)
        }


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/css", "", "image/svg+xml"]))
def test_any_octets_are_walked_through(octets: bytes, content_type: str) -> None:
    embedded_in(octets, content_type, PAGE)
    rewritten(octets, content_type, PAGE, lambda _: None)


@pytest.mark.parametrize(
    ("octets", "content_type", "text"),
    [
        ("é".encode(), "text/html; charset=utf-8", "é"),
        ("é".encode("cp1252"), "text/html; charset=iso-8859-1", "é"),
        ("é".encode("utf-16"), "text/html", "é"),
        (b"<meta charset=x-sjis>" + "表".encode("cp932"), "text/html", "表"),
        ("<meta charset=utf-16>é".encode(), "text/html", "é"),
        ("表".encode("iso2022_jp"), "text/html; charset=iso-2022-jp", "表"),
        ("é".encode(), "text/html", "é"),
    ],
)
def test_the_characters_of_a_page_survive(octets: bytes, content_type: str, text: str) -> None:
    page = rewritten(octets, content_type, PAGE, lambda _: None)

    assert page == (text.encode(), "text/html; charset=utf-8")


def test_octets_in_an_unknown_encoding_are_left_to_the_browser() -> None:
    octets = "<p>表</p>".encode("cp932")

    page = rewritten(octets, "text/html", PAGE, lambda _: None)

    assert page == (octets, "text/html")


def test_other_documents_are_returned_as_they_are() -> None:
    assert rewritten(b"<a href=b>", "image/png", PAGE, lambda _: "x") == (
        b"<a href=b>",
        "image/png",
    )
    assert embedded_in(b"<a href=b>", "text/plain", PAGE) == []


@pytest.mark.parametrize(
    ("octets", "content_type", "walkable"),
    [
        (b"", "text/html", True),
        (b" \n<!DOCTYPE html><p>", "", True),
        (b"<html>", "application/octet-stream", True),
        (b"GIF89a", "", False),
        (b"<svg>", "image/svg+xml", True),
        (b"{}", "application/json", False),
    ],
)
def test_the_type_is_guessed_where_none_is_stated(
    octets: bytes, content_type: str, *, walkable: bool
) -> None:
    assert is_walkable(octets, content_type) == walkable


def test_a_document_that_is_too_large_is_refused() -> None:
    with pytest.raises(TooComplex):
        embedded_in(b"a" * (MOST_OCTETS + 1), "text/html", PAGE)


def test_each_url_is_listed_once_and_only_so_many() -> None:
    page = b"".join(b"<img src=%d>" % (number // 2) for number in range(50))

    urls = embedded_in(page, "text/html", PAGE, most=10)

    assert [re.sub(r".*/", "", url.url) for url in urls] == [
        str(number) for number in range(10)
    ]
