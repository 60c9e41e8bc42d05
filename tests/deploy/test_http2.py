"""Targets arrive over HTTP/2, which browsers use with a proxy, as over HTTP/1.1."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.http2 import arrived
from tests.deploy.proxies import PROXIES, Proxy, running
from tests.deploy.raw import raw_server
from tests.deploy.test_raw_paths import BROKEN, expected
from tests.deploy.vectors import TARGETS


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    name = str(request.param)
    with (
        raw_server() as echo,
        running(name, tmp_path_factory.mktemp(name), echo.port) as started,
    ):
        yield started


def expected_over_http2(name: str, target: str) -> str | int:
    """Return what should arrive: where Go cannot read a path, it just ends the stream."""
    return 0 if name == "caddy" and BROKEN.match(target) else expected(name, target)


def test_every_identifier_arrives_as_it_was_sent(proxy: Proxy, tmp_path: Path) -> None:
    seen = arrived(proxy, TARGETS, tmp_path)

    spoilt = {
        target: one
        for target, one in zip(TARGETS, seen, strict=True)
        if one != expected_over_http2(proxy.name, target)
    }
    assert not spoilt


def test_pages_for_operators_are_not_public(proxy: Proxy, tmp_path: Path) -> None:
    assert arrived(proxy, ["/metrics", "/metrics?x", "/monitor"], tmp_path) == [404, 404, 404]


def test_similar_targets_are_public(proxy: Proxy, tmp_path: Path) -> None:
    targets = ["/metricss", "/timegate/http://example.org/../../../../metrics", "/x?/metrics"]

    assert arrived(proxy, targets, tmp_path) == targets
