"""URLs in stylesheets."""

import pytest

from timegate.markup import TooComplex, embedded_in, is_stylesheet, rewritten

SHEET = "http://site.example/style/site.css"
HERE = "http://site.example/style/"


def found(css: str) -> list[str]:
    urls = embedded_in(css.encode(), "text/css", SHEET)
    return [f"{url.kind} {url.role} {url.url.removeprefix(HERE)}" for url in urls]


def written(css: str) -> str:
    sheet = rewritten(css.encode(), "text/css", SHEET, lambda url: f"/A/{url.url}")
    return sheet.octets.decode()


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("a{background:url(a.png)}", ["image part a.png"]),
        ("a{background:url( 'a.png' )}", ["image part a.png"]),
        ('a{background:URL("a.png")}', ["image part a.png"]),
        ("a{background:u\\72 l(a.png)}", ["image part a.png"]),
        ("a{background:\\75\\72\\6c(a.png)}", ["image part a.png"]),
        ("a{background:url(a\\.png)}", ["image part a.png"]),
        ("a{background:url('a\\\n.png')}", ["image part a.png"]),
        ("a{background:url(a b.png)}", []),
        ("a{background:url(a.png", ["image part a.png"]),
        ("/* url(a.png) */", []),
        ("/* url(a.png)", []),
        ("a{content:'url(a.png)'}", []),
        ("a{--x:url(a.png)}", ["image part a.png"]),
        ("a{x:src('a.png')}", ["image part a.png"]),
        ("@import 'a.css';", ["stylesheet part a.css"]),
        ("@import url(a.css);", ["stylesheet part a.css"]),
        ("@IMPORT url('a.css') screen;", ["stylesheet part a.css"]),
        ("@import url('a.css') print;", ["stylesheet variant a.css"]),
        ("@import 'a.css' (min-width: 9px);", ["stylesheet variant a.css"]),
        ("@\\69mport 'a.css';", ["stylesheet part a.css"]),
        ("@namespace url(http://x.example/);", []),
        ("@media print{a{background:url(a.png)}}", ["image variant a.png"]),
        ("@media screen{a{background:url(a.png)}}", ["image part a.png"]),
        ("@media print{}a{background:url(a.png)}", ["image part a.png"]),
        ("@supports (a:b){a{background:url(a.png)}}", ["image part a.png"]),
        (
            "a{b:image-set('a.png' 1x, url(b.png) 2x)}",
            ["image variant a.png", "image variant b.png"],
        ),
        (
            "@font-face{src:url(a.eot);src:url(a.eot?#x),url(a.woff2),url(a.ttf)}",
            ["font variant a.eot", "font part a.woff2", "font variant a.ttf"],
        ),
        ("a{filter:url(#x)}", []),
        ("a{background:url(data:image/png;base64,AAAA)}", []),
    ],
)
def test_every_url_of_a_stylesheet_is_found(css: str, expected: list[str]) -> None:
    assert found(css) == expected


@pytest.mark.parametrize(
    ("css", "sheet"),
    [
        ("a > b{c:d !important}", None),
        ("@media (width < 600px){a{b:c}}", None),
        ("a::before{content:'\\201C'}", 'a::before{content:"“"}'),
        ("a{b:url(c.png)d}", f'a{{b:url("/A/{HERE}c.png")d}}'),
        ("a{b:url(javascript:x)}", 'a{b:url("data:,")}'),
        ("a{b:url(x(y)z)}", 'a{b:url("data:,")z)}'),
        ("a/* c */b", "a/**/b"),
        ("a{b:'</style>'}", 'a{b:"\\3c /style>"}'),
        ("@namespace url(http://x.example/);", '@namespace url("http://x.example/");'),
        ("a{b:url(#c)}", 'a{b:url("#c")}'),
    ],
)
def test_the_rest_of_a_stylesheet_stays_as_it_is(css: str, sheet: str | None) -> None:
    assert written(css) == (css if sheet is None else sheet)


@pytest.mark.parametrize("css", [b"a{", b"(", b"url(a)", b"@import 'a';", b"'a' "])
def test_a_stylesheet_that_is_too_complex_is_refused(css: bytes) -> None:
    with pytest.raises(TooComplex):
        embedded_in(css * (4_000_000 // len(css)), "text/css", SHEET)


def test_its_encoding_is_stated_in_it() -> None:
    css = '@charset "Shift_JIS"; a{font-family:"表";b:url(c.png)}'.encode("cp932")

    sheet = rewritten(css, "text/css", SHEET, lambda _: "/A")

    assert sheet.media_type == "text/css; charset=utf-8"
    assert 'font-family:"表";b:url("/A")' in sheet.octets.decode()


def test_a_stylesheet_is_told_by_its_type() -> None:
    assert is_stylesheet(b"", "Text/CSS; charset=x")
    assert not is_stylesheet(b"a{}", "")
