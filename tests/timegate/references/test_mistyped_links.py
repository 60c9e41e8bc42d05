"""Addresses with a mistyped scheme, or with blanks in them."""

import pytest

from timegate.references.mistyped_links import (
    has_foreign_sign,
    has_no_domain,
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
        ("http://www,museum.example/a", "http://www.museum.example/a"),
    ],
)
def test_a_mistyped_scheme_is_repaired(written: str, meant: str) -> None:
    assert with_scheme_repaired(written) == meant
    assert is_repaired(written)


def test_a_scheme_that_is_there_twice_is_certain() -> None:
    written = "http://https://museum.example/a"

    assert with_scheme_repaired(written) == "https://museum.example/a"
    assert not is_repaired(written)


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


@pytest.mark.parametrize(
    "link",
    ["http://www", "http://www.museum", "http://localhost:80/", "http://a,b.org/", "http://"],
)
def test_a_host_without_a_domain_is_none_of_the_web(link: str) -> None:
    assert has_no_domain(link)


@pytest.mark.parametrize(
    "link",
    [
        *("http://museum.example", "https://www.museum.org:8080/a", "http://192.0.2.1/"),
        *("http://[::1]/", "http://a_b.museum.org./", "http://müsli.de/", "http://a:b@c.de/"),
        *("urn:pwid:archive.org:2010:page:http://museum.example/", "http://xn--mgba.xn--p1ai/"),
    ],
)
def test_other_hosts_are_of_the_web(link: str) -> None:
    assert not has_no_domain(link)


@pytest.mark.parametrize("link", ["http://a.example/{x}", "http://a.example/a\\b?c"])
def test_signs_that_no_address_has_are_found(link: str) -> None:
    assert has_foreign_sign(link)


def test_signs_that_browsers_leave_in_a_query_are_none_of_a_notation() -> None:
    assert not has_foreign_sign("http://a.example/?a=1|2&b={3}")
