"""Requests with absolute URLs: to the server's own address, and as to a forward proxy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from timegate.endpoints.timegate import forwarded
from timegate.responses.model import ClientRequest, Response
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes


async def _echo(call: ClientRequest) -> Response:
    return Response(200, {}, call.rest.encode())


@asynccontextmanager
async def proxy(*, enabled: bool) -> AsyncIterator[Site]:
    prefixes = {"/timegate/": _echo, **forwarded(_echo, enabled=enabled)}
    routes = Routes({"/healthz": _echo}, prefixes, _echo)
    dispatch = Dispatch(routes, base_url="http://gate.example")
    async with listening(dispatch, "127.0.0.1", 0) as port:
        yield Site(port, World())


@pytest.mark.parametrize(
    "url", ["http://example.org/a?b=http://c//d", "https://example.org/", "http://example.org"]
)
async def test_an_absolute_url_is_answered_by_the_timegate(url: str) -> None:
    async with proxy(enabled=True) as site:
        seen = await site.ask(url)

    assert (seen.status, seen.body) == (200, url.encode())


async def test_an_absolute_url_is_400_if_the_forward_proxy_is_off() -> None:
    async with proxy(enabled=False) as site:
        seen = await site.ask("http://example.org/")

    assert seen.status == 400


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "http://example.org/"),
        ("PUT", "http://example.org/"),
        ("CONNECT", "example.org:443"),
    ],
)
async def test_nothing_is_sent_or_tunnelled(method: str, target: str, *, enabled: bool) -> None:
    async with proxy(enabled=enabled) as site:
        seen = await site.ask(target, method=method)

    assert seen.status == 405


async def test_the_own_address_before_a_target_is_removed() -> None:
    async with proxy(enabled=True) as site:
        seen = await site.ask("http://gate.example/timegate/http://example.org/")

    assert seen.body == b"http://example.org/"
