"""Requests to originals: which URLs are refused, and which addresses are never reached."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import structs

from archives.errors import ArchiveError
from archives.source import Request
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import LiveOriginal, Preferences, Query
from timegate.upstream.open_web import OpenWeb, OriginalStates, open_web, refusal_of
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings

SETTINGS = UpstreamSettings("mailto:a@example.org")


class Names(AbstractResolver):
    """Resolves every name to *address*."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=self._address, port=port, family=family, proto=0, flags=0
            )
        ]

    async def close(self) -> None: ...


@asynccontextmanager
async def a_server(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Start a server; yield its port, and the requests that it gets."""
    requests: list[bytes] = []

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], requests


async def body_of(web: OpenWeb, url: str) -> bytes:
    async with web(Request("GET", url, "memento")) as reply:
        return b"".join([piece async for piece in reply.chunks()])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "http://example.org:22/",
        "http://example.org:6379/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest/",
        "http://10.1.2.3/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://localhost/",
        "http://printer/",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://x.onion/",
        "http://user@example.org\\@127.0.0.1/",
    ],
)
def test_local_and_odd_addresses_are_refused(url: str) -> None:
    assert refusal_of(url) is not None


@pytest.mark.parametrize(
    "url", ["http://example.org/", "https://example.org:443/a?b", "http://192.0.43.8/"]
)
def test_public_addresses_are_not_refused(url: str) -> None:
    assert refusal_of(url) is None


def test_a_host_that_the_operator_names_is_not_refused_at_its_port() -> None:
    hosts = {"wiki.local:8080"}

    assert refusal_of("http://wiki.local:8080/", hosts) is None
    assert refusal_of("http://wiki.local/", hosts) is not None
    assert refusal_of("http://wiki.local:8081/", hosts) is not None


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"])
async def test_a_public_name_with_a_private_address_is_not_connected_to(address: str) -> None:
    names = UpstreamEnvironment(resolver=lambda: Names(address))
    async with open_web(SETTINGS, (), names) as web:
        with pytest.raises(ArchiveError, match="forbidden address"):
            await body_of(web, "http://rebinding.example/")


async def test_a_host_of_the_operator_is_requested_with_our_name_and_nothing_else() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    async with (
        a_server(answer) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        url = f"http://127.0.0.1:{port}/a?b"
        assert await body_of(web, url) == b"hi"
        assert requests == [web.request_head(url).encode()]


async def test_a_host_of_the_operator_is_not_a_metadata_service() -> None:
    names = UpstreamEnvironment(resolver=lambda: Names("169.254.169.254"))
    async with open_web(SETTINGS, {"intranet.example:80"}, names) as web:
        with pytest.raises(ArchiveError, match="forbidden address"):
            await body_of(web, "http://intranet.example/")


NOW = datetime(2026, 11, 18, 6, 0, 0, tzinfo=UTC)
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def states_of(web: OpenWeb, patience: float = 5.0, refused: str = "") -> OriginalStates:
    return OriginalStates(
        web, lambda: NOW, patience, lambda url: "no" if refused and refused in url else None
    )


async def state_of(
    states: OriginalStates,
    url: str,
    preferences: Preferences | None = None,
    context: RequestContext = UNLIMITED,
) -> LiveOriginal | None:
    query = Query(url, None, identifier=f"duri::{url}")
    return await states(query, preferences or Preferences(live=True), context)


async def test_an_original_is_asked_once_and_its_state_has_the_time_of_the_request() -> None:
    async with (
        a_server(PAGE) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        states, url = states_of(web), f"http://127.0.0.1:{port}/a"
        found = await asyncio.gather(*(state_of(states, url) for _ in range(20)))
        again = await state_of(states, url, Preferences(live=True, no_cache=True))

    first = found[0]
    assert first is not None
    assert first.answers
    assert (first.status, str(first.requested)) == (200, "2026-11-18T06:00:00Z")
    assert found == [first] * 20
    assert again is not None
    assert [line.split()[0] for line in requests] == [b"HEAD", b"HEAD"]


@pytest.mark.parametrize("status", [403, 405, 500, 501])
async def test_get_is_tried_after_an_error_that_may_concern_head_only(status: int) -> None:
    error = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with (
        a_server(error.encode()) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        found = await state_of(states_of(web), f"http://127.0.0.1:{port}/")

    assert found is not None
    assert (found.status, found.why) == (status, f"answers {status}")
    assert [line.split()[0] for line in requests] == [b"HEAD", b"GET"]


async def test_a_redirect_to_a_private_address_is_no_answer() -> None:
    moved = b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    async with (
        a_server(moved) as (port, _),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        found = await state_of(states_of(web), f"http://127.0.0.1:{port}/")

    assert found is not None
    assert "is not requested" in found.why


async def test_a_redirect_in_a_circle_ends() -> None:
    moved = b"HTTP/1.1 302 F\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with (
        a_server(moved) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        found = await state_of(states_of(web), f"http://127.0.0.1:{port}/")

    assert found is not None
    assert "redirects more than" in found.why
    assert len(requests) == 6


async def test_an_original_that_does_not_answer_in_time_is_not_waited_for() -> None:
    async with (
        a_server(b"") as (port, _),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        found = await state_of(states_of(web, patience=0.0), f"http://127.0.0.1:{port}/")

    assert found is not None
    assert not found.answers
    assert found.status is None


@pytest.mark.parametrize(
    "preferences",
    [
        Preferences(live=True, archives=frozenset({"a"})),
        Preferences(live=True, precision="exact"),
        Preferences(live=True, verify="content"),
        Preferences(live=True, only_if_cached=True),
    ],
)
async def test_a_request_for_a_memento_does_not_request_the_original(
    preferences: Preferences,
) -> None:
    async with (
        a_server(PAGE) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        found = await state_of(states_of(web), f"http://127.0.0.1:{port}/", preferences)
        refused = await state_of(
            states_of(web, refused="127.0.0.1"), f"http://127.0.0.1:{port}/"
        )

    assert (found, refused, requests) == (None, None, [])


class _UsedUp:
    granted = False

    async def charge(self, original: str) -> "_UsedUp":
        assert original
        return self

    def use(self) -> None:
        raise AssertionError

    def settle(self) -> None: ...


async def test_a_client_without_quota_causes_no_request_to_an_original() -> None:
    async with (
        a_server(PAGE) as (port, requests),
        open_web(SETTINGS, {f"127.0.0.1:{port}"}) as web,
    ):
        context = structs.replace(UNLIMITED, quota=_UsedUp())
        url = f"http://127.0.0.1:{port}/"
        states = states_of(web)
        found = await state_of(states, url, context=context)
        other = await state_of(states, url)

    assert found is not None
    assert "quota" in found.why
    # What one client may not ask is no answer for another.
    assert other is not None
    assert other.answers
    assert len(requests) == 1
