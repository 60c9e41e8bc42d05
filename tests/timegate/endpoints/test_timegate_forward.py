"""Requests with absolute URLs: to ourselves, and to a proxy."""

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
async def test_a_url_is_a_question_to_a_timegate(url: str) -> None:
    async with proxy(enabled=True) as site:
        seen = await site.ask(url)

    assert (seen.status, seen.body) == (200, url.encode())


async def test_it_is_no_proxy_unless_it_is_told_to_be() -> None:
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


async def test_our_own_address_in_full_is_our_own() -> None:
    async with proxy(enabled=True) as site:
        seen = await site.ask("http://gate.example/timegate/http://example.org/")

    assert seen.body == b"http://example.org/"
