"""Targets pass nginx, HAProxy and Caddy byte for byte."""

import re
from collections.abc import Iterator

import pytest

from tests.deploy.proxies import PROXIES, Proxy, running
from tests.deploy.raw import Place, RawServer, ask, raw_server
from tests.deploy.vectors import TARGETS, conforming


@pytest.fixture(scope="module")
def echo() -> Iterator[RawServer]:
    with raw_server() as server:
        yield server


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, echo: RawServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    name = str(request.param)
    with running(name, tmp_path_factory.mktemp(name), echo.port) as started:
        yield started


def arrived(place: Place, target: str) -> str | int:
    """Return the target that arrived, or the status with which it was refused."""
    answer = ask(place, target)
    if answer.status != 200:
        return answer.status
    return answer.body.decode("latin-1").split(" ")[1]


# nginx and Caddy refuse what is no percent-encoding, before any configuration is looked at;
# nginx also the octet 0. HAProxy hands both on, and timegate says what is wrong with them.
BROKEN = re.compile(r"[^?]*%(?![0-9A-Fa-f]{2})")
ZERO = re.compile(r"[^?]*%00")
# Caddy would encode them, and that would be another identifier.
WRONG = re.compile(r"[^?]*[\"<>\\]")
REFUSED = {"nginx": (BROKEN, ZERO), "haproxy": (), "caddy": (BROKEN, WRONG)}


def expected(name: str, target: str) -> str | int:
    """Return what should arrive through the proxy called *name*."""
    if any(one.match(target) for one in REFUSED[name]):
        return 400
    if name == "caddy":
        path, mark, query = target.partition("?")
        return conforming(path) + mark + query
    return target


def test_every_identifier_arrives_as_it_was_sent(proxy: Proxy) -> None:
    spoilt = {
        target: seen
        for target in TARGETS
        if (seen := arrived(proxy.tls, target)) != expected(proxy.name, target)
    }

    assert not spoilt


@pytest.mark.parametrize("route", ["/timegate/", "/timemap/link/", "/web/2016id_/", "/"])
def test_every_route_passes_targets_unchanged(proxy: Proxy, route: str) -> None:
    target = f"{route}http://example.org//a%2Fb/../c?d=%2F//&e"

    assert arrived(proxy.tls, target) == target


def test_a_plain_request_is_redirected_to_https_with_the_same_target(proxy: Proxy) -> None:
    target = "/resolve/http://example.org//a%2Fb?c=http://d//"

    answer = ask(proxy.plain, target)

    assert answer.status == 308
    assert answer.get("location")[0].endswith(target)


@pytest.mark.parametrize(
    "target", ["/metrics", "/metrics?x", "/monitor", "http://localhost/metrics"]
)
def test_pages_for_operators_are_not_public(proxy: Proxy, target: str) -> None:
    assert arrived(proxy.tls, target) == 404


@pytest.mark.parametrize(
    "target", ["/metricss", "/timegate/http://example.org/../../../../metrics", "/x?/metrics"]
)
def test_similar_targets_are_public(proxy: Proxy, target: str) -> None:
    assert arrived(proxy.tls, target) == target


def test_forwarded_addresses_from_clients_are_replaced(proxy: Proxy) -> None:
    lies = {"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"}

    head = ask(proxy.tls, "/healthy", lies).body.decode().lower()

    assert "192.0.2.1" not in head
    assert "x-forwarded-for: 127.0.0.1" in head


def test_hop_by_hop_headers_are_removed(proxy: Proxy) -> None:
    hop = {"Connection": "close, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=9", "TE": "gzip"}
    asked = {**hop, "Accept-Datetime": "Fri, 22 Jan 2016 11:20:29 GMT", "Prefer": "wait=3"}

    head = ask(proxy.tls, "/timegate/http://example.org/", asked).body.decode().lower()

    assert "accept-datetime: fri, 22 jan 2016 11:20:29 gmt" in head
    assert "prefer: wait=3" in head
    assert "te: gzip" not in head
    assert "keep-alive: timeout=9" not in head


def test_a_request_body_of_more_than_a_megabyte_is_rejected(proxy: Proxy) -> None:
    answer = ask(proxy.tls, "/resolve", body=b"x" * 1_100_000)

    assert answer.status == 413
