import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from timegate.upstream.webhook import Webhook, WebhookFailed


class Names(AbstractResolver):
    """Resolves every name to the same addresses."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=each, port=port, family=family, proto=0, flags=0)
            for each in self._addresses
        ]

    async def close(self) -> None: ...


@asynccontextmanager
async def receiver(status: int = 204) -> AsyncIterator[tuple[int, list[tuple[str, bytes]]]]:
    """Yield the port of a server, and what it received."""
    received: list[tuple[str, bytes]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        received.append((request.headers.get("Idempotency-Key", ""), await request.read()))
        return web.Response(status=status, headers={"Location": "http://127.0.0.1:1/"})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1], received
    finally:
        await runner.cleanup()


async def test_a_message_is_sent_to_an_address_that_the_operator_wrote() -> None:
    async with (
        receiver() as (port, received),
        Webhook(f"http://127.0.0.1:{port}/hook", "t") as hook,
    ):
        await hook.send(b"{}", {"Idempotency-Key": "1"})

    assert received == [("1", b"{}")]


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_any_other_status_is_a_failure_and_redirects_are_not_followed(
    status: int,
) -> None:
    async with (
        receiver(status) as (port, received),
        Webhook(f"http://127.0.0.1:{port}/hook", "t") as hook,
    ):
        with pytest.raises(WebhookFailed, match=str(status)):
            await hook.send(b"{}", {})

    assert len(received) == 1


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["169.254.169.254"], ["10.0.0.1"], ["192.0.2.1", "127.0.0.1"]],
)
async def test_a_name_that_leads_to_a_forbidden_address_is_refused(
    addresses: list[str],
) -> None:
    async with (
        receiver() as (port, received),
        Webhook(f"http://hook.example:{port}/", "t", Names(addresses)) as hook,
    ):
        with pytest.raises(WebhookFailed, match="forbidden address"):
            await hook.send(b"{}", {})

    assert received == []


@pytest.mark.parametrize(
    "url", ["ftp://hook.example/", "hook", "http://", "http://a\\@b/", "http://a b/"]
)
def test_other_addresses_are_no_webhooks(url: str) -> None:
    with pytest.raises(ValueError, match="http"):
        Webhook(url, "t")
