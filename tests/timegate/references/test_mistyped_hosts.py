"""Hosts that are probably mistyped."""

import pytest

from timegate.references.mistyped_hosts import has_comma, is_odd_host, with_dots


@pytest.mark.parametrize(
    "host", ["wwww.a.example", "ww.a.example", "wwwmuseum.example", "museum.cmo", "a-.example"]
)
def test_a_host_that_nobody_has_is_odd(host: str) -> None:
    assert is_odd_host(f"http://{host}/x")


@pytest.mark.parametrize(
    "host", ["www.a.example", "ww2.a.example", "wwwapps.a.example", "con.example"]
)
def test_a_host_that_may_be_meant_is_not_odd(host: str) -> None:
    assert not is_odd_host(f"http://{host}/wwww.html")


def test_a_comma_in_a_host_is_a_dot() -> None:
    assert with_dots("http://www.museum,example/a,b") == "http://www.museum.example/a,b"
    assert not has_comma("http://www.museum.example/a,b")
