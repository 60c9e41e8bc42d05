"""A proxy changes no response: the demo answers the same with and without one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.deploy.proxies import PROXIES, Proxy, running
from tests.deploy.raw import Place, RawAnswer, ask
from tests.deploy.test_raw_paths import expected
from tests.deploy.vectors import TARGETS
from tests.end_to_end.server import running_demo

SAID = ("location", "link", "vary", "memento-datetime", "memento-precision", "content-type")
BATCH = (
    b"urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk\nhttp://nobody.example/\n"
)


@pytest.fixture(scope="module")
def demo() -> Iterator[Place]:
    with running_demo() as server:
        yield Place(int(server.url.rpartition(":")[2]))


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, demo: Place, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    name = str(request.param)
    with running(name, tmp_path_factory.mktemp(name), demo.port) as started:
        yield started


# The third archive of the demo is slow on purpose, and where nobody has a copy all are awaited.
HASTE = {"Prefer": 'exclude="lantern"'}


def said(answer: RawAnswer) -> tuple[object, ...]:
    """Return the parts of a response that a client uses."""
    assert answer.whole
    return answer.status, *(tuple(answer.get(name)) for name in SAID)


def test_every_identifier_is_answered_as_without_a_proxy(proxy: Proxy, demo: Place) -> None:
    def both(target: str) -> tuple[object, object]:
        passed_on = expected(proxy.name, target)
        if isinstance(passed_on, int):
            return None, None
        return said(ask(demo, passed_on, HASTE)), said(ask(proxy.tls, target, HASTE))

    with ThreadPoolExecutor(8) as threads:
        answers = dict(zip(TARGETS, threads.map(both, TARGETS), strict=True))

    assert not {target: two for target, two in answers.items() if two[0] != two[1]}


def test_targets_that_a_proxy_rejects_are_rejected_by_the_server_too(
    proxy: Proxy, demo: Place
) -> None:
    refused = [target for target in TARGETS if expected(proxy.name, target) == 400]

    taken = [target for target in refused if ask(demo, target, HASTE).status != 400]

    # %00 is the only one that a URL may have.
    assert all("%00" in target for target in taken)


def test_targets_that_caddy_encodes_resolve_to_the_same_page(demo: Place) -> None:
    encoded = {target: expected("caddy", target) for target in TARGETS}

    for raw, sent in encoded.items():
        if isinstance(sent, str) and raw != sent:
            direct, through = ask(demo, raw, HASTE), ask(demo, sent, HASTE)
            assert direct.get("link") == through.get("link") != [], raw


@pytest.mark.parametrize(
    "target",
    [
        "/timemap/link/http://www.dr.dk",
        "/timemap/json/http://www.dr.dk",
        "/about",
        "/static/site.css",
        "/cdx?url=http://www.dr.dk",
        "/list/2016/http://www.dr.dk",
    ],
)
def test_bodies_are_unchanged(proxy: Proxy, demo: Place, target: str) -> None:
    direct, through = ask(demo, target, HASTE), ask(proxy.tls, target, HASTE)

    assert said(direct) == said(through)
    assert direct.body == through.body


def test_a_batch_passes(proxy: Proxy) -> None:
    answer = ask(proxy.tls, "/resolve", body=BATCH)

    assert answer.status == 200
    assert answer.whole
    assert answer.body.count(b"\n") == 2


def test_events_pass_without_delay(proxy: Proxy) -> None:
    target = b"/events?q=http://www.dr.dk&at=2016"
    with proxy.tls.connect() as talk:
        talk.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b"event: answer" not in received:
            octets = talk.recv(65536)
            assert octets, received
            received += octets

    assert b"text/event-stream" in received
