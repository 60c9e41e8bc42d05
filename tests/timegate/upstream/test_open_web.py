"""Requests to originals: which URLs are refused, and which addresses are never reached."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from archives.errors import ArchiveError
from archives.source import Request
from timegate.upstream.open_web import OpenWeb, open_web, refusal_of
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
