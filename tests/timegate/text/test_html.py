"""The title of a page, whatever its encoding and markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.text.html import title_in

HTML = "text/html"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Museum</title>", "Museum"),
        ("<!DOCTYPE html><HTML><HEAD><TITLE lang=en>\n A \t&amp; B </TITLE>", "A & B"),
        ("<title/>a</title>", "a"),
        ("<p>a < b</p><title>late</title>", "late"),
        ("<!-- <title>no</title> --><title>yes</title>", "yes"),
        ("<script>'<title>no</title>'</script><title>yes</title>", "yes"),
        ("<svg><title>no</title></svg><title>yes</title>", "yes"),
        ("<titles>no</titles><title>yes</title>", "yes"),
        ("<title>first</title><title>second</title>", "first"),
        ("<title><b>&lt;x&gt;</b></title>", "<b><x></b>"),
        ("<title></title>", None),
        ("<title> \n </title>", None),
        ("<title>cut off", None),
        ("<title", None),
        ("<!-- <title>no</title>", None),
        ("<script><title>no</title>", None),
        ("no page", None),
        ("", None),
    ],
)
def test_the_first_title_element_counts(page: str, title: str | None) -> None:
    assert title_in(page.encode(), HTML) == title


@pytest.mark.parametrize(
    ("octets", "kind"),
    [
        ("<title>Ærø</title>".encode(), HTML),
        ("<title>Ærø</title>".encode("utf-8-sig"), "text/html; charset=latin1"),
        ("<title>Ærø</title>".encode("utf-16"), HTML),
        ("<title>Ærø</title>".encode("cp1252"), HTML),
        ("<title>Ærø</title>".encode("cp1252"), "text/html; charset=iso-8859-1"),
        ("<title>Ærø</title>".encode("cp1252"), 'text/html;charset="ISO-8859-1"'),
        ("<meta charset=cp865><title>Ærø</title>".encode(), HTML),
        ("<meta charset=zlib><title>Ærø</title>".encode(), "text/html; charset=rot13"),
        (b"<meta charset=windows-1252><title>\xc6r\xf8</title>", "application/xhtml+xml"),
        ("<title>Ærø</title>Æ".encode()[:-1], HTML),
    ],
)
def test_the_title_is_decoded_in_the_encoding_of_the_page(octets: bytes, kind: str) -> None:
    assert title_in(octets, kind) == "Ærø"


def test_a_picture_has_no_title() -> None:
    assert title_in(b"<title>x</title>", "image/svg+xml") is None


@given(st.binary() | st.text(alphabet="<>/!-title sc=\"'").map(str.encode), st.text())
def test_a_title_is_one_line_or_none_for_any_input(octets: bytes, kind: str) -> None:
    title = title_in(octets, f"html {kind}")

    assert title is None or (title and "\n" not in title)
