"""Addresses: the page in them, their origin, and whether the archive is public."""

import pytest

from timegate.conformance.subject import embedded, entry_for, is_foreign, origin_of


@pytest.mark.parametrize(
    ("url", "cut"),
    [
        (
            "http://a.example/tg/http://b.example/",
            ("http://a.example/tg/", "http://b.example/"),
        ),
        ("https://a.example/https://b.example/", ("https://a.example/", "https://b.example/")),
        ("http://a.example/", None),
        ("nothing", None),
    ],
)
def test_an_address_is_split_before_the_page_in_it(
    url: str, cut: tuple[str, str] | None
) -> None:
    assert embedded(url) == cut


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://A.example:80/x", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("http://a.example:8080/", "a.example:8080"),
        ("http://a.example:99999/", ""),
        ("file:///etc/passwd", ""),
        ("http:///", ""),
    ],
)
def test_an_origin_is_the_host_and_a_port_that_is_not_the_default(
    url: str, origin: str
) -> None:
    assert origin_of(url) == origin


def test_an_archive_at_a_private_address_with_a_port_is_not_foreign() -> None:
    home = entry_for("http://127.0.0.1:8080/x/", ["http://localhost:9090/"])
    abroad = entry_for("http://127.0.0.1:8080/x/", ["https://archive.example/"])

    assert not is_foreign(home)
    assert is_foreign(abroad)
    assert home.id == "127.0.0.1-8080-x"
