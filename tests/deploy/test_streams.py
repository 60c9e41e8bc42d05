"""Streams pass a proxy without delay, and an aborted body does not look complete."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.proxies import PROXIES, Proxy, running
from tests.deploy.raw import RawServer, ask, raw_server, read_answer


@pytest.fixture
def origin() -> Iterator[RawServer]:
    with raw_server() as server:
        yield server


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest, origin: RawServer, tmp_path: Path) -> Iterator[Proxy]:
    with running(str(request.param), tmp_path, origin.port) as started:
        yield started


@pytest.mark.parametrize("fault", ["cut-chunks", "cut-length"])
def test_an_aborted_body_does_not_look_complete(proxy: Proxy, fault: str) -> None:
    proxy.skip_if_it_hides_broken_answers()

    answer = ask(proxy.tls, f"/timemap/{fault}")

    assert answer.status == 200
    assert answer.body == b"first\n"
    assert not answer.whole


def test_a_body_that_ends_in_a_reset_does_not_look_complete(
    proxy: Proxy, origin: RawServer
) -> None:
    proxy.skip_if_it_hides_broken_answers()

    with proxy.tls.connect() as talk:
        talk.sendall(b"GET /timemap/reset-chunks HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while b"first" not in received:
            received += talk.recv(65536)
        origin.go_on.set()
        try:
            while octets := talk.recv(65536):
                received += octets
        except OSError:
            pass

    assert not read_answer(received).whole


def test_an_event_passes_before_the_next_one_is_sent(proxy: Proxy, origin: RawServer) -> None:
    with proxy.tls.connect() as talk:
        talk.sendall(
            b"GET /timemap/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        received = b""
        while b"first" not in received:
            received += talk.recv(65536)
        origin.go_on.set()
        while octets := talk.recv(65536):
            received += octets

    answer = read_answer(received)
    assert answer.body == b"data: first\n\ndata: second\n\n"
    assert answer.whole


def test_an_aborted_body_does_not_look_complete_over_http_1_0(proxy: Proxy) -> None:
    with proxy.tls.connect() as talk:
        talk.sendall(b"GET /timemap/cut-length HTTP/1.0\r\nHost: localhost\r\n\r\n")
        received = b""
        try:
            while octets := talk.recv(65536):
                received += octets
        except OSError:
            pass

    assert not read_answer(received).whole


def test_the_longest_response_head_passes(proxy: Proxy) -> None:
    answer = ask(proxy.tls, "/timemap/long-link")

    assert answer.status == 200
    assert len(answer.get("link")[0]) > 72_000
