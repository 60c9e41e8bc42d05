"""Addresses with a mistyped scheme, or with blanks in them."""

import pytest

from timegate.references.mistyped_links import (
    has_no_dot,
    is_repaired,
    spaced_link,
    with_scheme_repaired,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("htp//museum.example/a", "http://museum.example/a"),
        ("http;//museum.example/a", "http://museum.example/a"),
        ("https//www.museum.example/a", "https://www.museum.example/a"),
        ("hhtp://museum.example/a", "http://museum.example/a"),
        ("http:/museum.example/a", "http://museum.example/a"),
    ],
)
def test_a_mistyped_scheme_is_repaired(written: str, meant: str) -> None:
    assert with_scheme_repaired(written) == meant
    assert is_repaired(written)


@pytest.mark.parametrize("link", ["http://museum.example/a", "ttp://museum.example/a", "hots"])
def test_a_scheme_that_is_right_stays(link: str) -> None:
    assert with_scheme_repaired(link) == link
    assert not is_repaired(link)


def test_blanks_in_an_address_are_removed() -> None:
    text = "see http: //www. museum. gov/ a/ hours. html (1999)"

    link = spaced_link(text, 4)

    assert link is not None
    assert link.joined == "http://www.museum.gov/a/hours.html"
    assert text[link.end :] == " (1999)"


def test_a_host_without_a_dot_is_none_of_the_web() -> None:
    assert has_no_dot("http://www")
    assert not has_no_dot("http://museum.example")
