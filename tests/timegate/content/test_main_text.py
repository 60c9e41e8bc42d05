import pytest

from timegate.content.main_text import MOST_OCTETS, NotRead, PageText, extract

ARTICLE = (
    "The harbour of Esbjerg was extended in 1908, and the new quay took the first steamers in "
    "the spring of the following year. The town paid for the work with a loan that it had "
    "taken up in Copenhagen, and the last part of it was returned in 1931. "
)
PAGE = f"""<!doctype html><html lang="en"><head><title>The harbour
 of Esbjerg</title><meta name=description content="A history"><link rel=canonical href="/h">
</head><body><nav><ul><li><a href="/">Home</a><li><a href="/news">News</a></ul></nav>
<main><article><h1>The harbour</h1><p>{ARTICLE}</p><p>{ARTICLE}</p></article></main>
<footer><p>Copyright 2016 All rights reserved</p></footer><script src="/a.js">var x</script>
</body></html>"""


def read(octets: bytes, content_type: str = "text/html") -> PageText:
    found = extract(octets, content_type)
    assert isinstance(found, PageText)
    return found


def test_main_text_is_without_navigation_and_footer() -> None:
    page = read(PAGE.encode())
    assert "extended in 1908" in page.main
    assert "News" not in page.main
    assert "Copyright" not in page.main
    assert "News" in page.text
    assert "Copyright" in page.text


def test_title_language_headings_and_links_are_read() -> None:
    page = read(PAGE.encode())
    assert page.title == "The harbour of Esbjerg"
    assert page.language == page.declared_language == "en"
    assert page.headings == ("The harbour",)
    assert (page.links, page.link_text) == (2, len("HomeNews"))
    assert page.description == "A history"
    assert page.canonical == "/h"
    assert page.scripts == 1


def test_scripts_are_no_text() -> None:
    assert "var x" not in read(PAGE.encode()).text


@pytest.mark.parametrize(
    ("octets", "content_type"),
    [
        ("<p>Ærø og Læsø".encode("latin-1"), "text/html; charset=ISO-8859-1"),
        ("<p>Ærø og Læsø".encode(), "text/html; charset=utf-8"),
        ("<meta charset=windows-1252><p>Ærø og Læsø".encode("cp1252"), "text/html"),
        ("\ufeff<p>Ærø og Læsø".encode("utf-16le"), "text/html; charset=utf-8"),
        ("<p>Ærø og Læsø".encode(), 'text/html; charset="no such"'),
        ("<p>Ærø og Læsø".encode(), "text/html"),
    ],
)
def test_the_charset_is_that_of_mark_header_or_page(octets: bytes, content_type: str) -> None:
    assert read(octets, content_type).text.strip() == "Ærø og Læsø"


def test_language_of_a_short_text_is_not_guessed() -> None:
    assert read(b"<p>Not found").language == ""


def test_plain_text_is_its_own_main_text() -> None:
    page = read(b"One line", "text/plain")
    assert page.main == page.text == "One line"


@pytest.mark.parametrize(
    ("refresh", "target"),
    [
        ("0; url=/index.html", "/index.html"),
        ("0;URL='http://example.org/'", "http://example.org/"),
        ("600; url=/", ""),
        ("5", ""),
        ("x; url=/", ""),
        ("9999999999; url=/", ""),
    ],
)
def test_a_refresh_counts_if_it_comes_at_once(refresh: str, target: str) -> None:
    html = f'<meta http-equiv="Refresh" content="{refresh}">'
    assert read(html.encode()).refresh == target


def test_password_fields_and_frames_are_counted() -> None:
    page = read(b'<form><input type=PASSWORD></form><iframe src="/f"></iframe>')
    assert page.passwords == 1
    assert page.frames == ("/f",)


def test_images_have_no_text() -> None:
    found = extract(b"\x89PNG", "image/png")
    assert isinstance(found, NotRead)
    assert found.reason == "media-type"


def test_html_without_a_media_type_is_read() -> None:
    assert read(PAGE.encode(), "").title == "The harbour of Esbjerg"


def test_a_damaged_pdf_is_not_read() -> None:
    found = extract(b"%PDF-1.4 nothing", "application/pdf")
    assert isinstance(found, NotRead)
    assert found.reason == "damaged"


def test_too_many_octets_are_not_read() -> None:
    found = extract(bytes(MOST_OCTETS + 1), "text/html")
    assert isinstance(found, NotRead)
    assert found.reason == "too-large"


@pytest.mark.parametrize("octets", [b"", b"\0", b"<", b"<html>", b"\xff\xfe", b"<title>"])
def test_nearly_nothing_is_an_empty_page(octets: bytes) -> None:
    assert read(octets).main.strip() in {"", "<"}
