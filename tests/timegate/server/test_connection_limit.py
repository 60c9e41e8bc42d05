"""Limits on connections: in all, for each client, and with silent connections."""

import asyncio
import resource
import socket
from types import SimpleNamespace
from typing import cast

from tests.timegate.server.limited_server import Slow, limited, until
from timegate.access.networks import Networks
from timegate.server.client_quota import ClientLimits
from timegate.server.connection_limit import ConnectionLimit, acknowledge, files_allow

LOOPBACK = Networks(["127.0.0.0/8"])


async def test_a_client_with_too_many_connections_gets_503_and_is_disconnected() -> None:
    slow, refused = Slow(), list[str]()
    connections = ConnectionLimit(per_client=2, refused=refused.append)

    async with limited(slow, ClientLimits(), connections) as site:
        held = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(2)]
        await until(lambda: connections.total == 2)
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        response = await reader.read()
        for _, one in [*held, (reader, writer)]:
            one.close()
        await until(lambda: connections.total == 0)
        again = await site.ask("/healthz")

    assert response.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 1\r\n" in response
    assert refused == ["connections-per-client"]
    assert again.status == 200


def test_the_number_of_connections_is_bounded_and_proxies_have_no_share() -> None:
    connections = ConnectionLimit(most=3, per_client=1, uncounted=LOOPBACK)

    entered = [
        connections.enter(a) for a in ("127.0.0.1", "127.0.0.1", "192.0.2.1", "192.0.2.2")
    ]
    connections.leave("127.0.0.1")
    again = [connections.enter("192.0.2.1"), connections.enter("192.0.2.2")]

    assert entered == [None, None, None, "connections"]
    assert again == ["connections-per-client", None]


def test_there_are_never_more_connections_than_files_may_be_open() -> None:
    assert 4 <= files_allow(10_000_000, 10) < 10_000_000
    assert files_allow(10, 10) == 10


def test_other_files_are_allowed_for_with_half_of_the_limit_at_most() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert files_allow(10_000_000, 10_000_000) < soft * 3 // 4
    assert files_allow(soft - 148, 100) == soft - 148


def test_the_smaller_the_limit_the_fewer_connections_are_accepted_in_one_turn() -> None:
    assert [ConnectionLimit(most=most).accepted_per_turn for most in (4, 16, 32, 10_000)] == [
        1,
        2,
        4,
        8,
    ]


async def test_a_silent_connection_is_closed_for_a_new_one_when_all_are_taken() -> None:
    refused: list[str] = []
    connections = ConnectionLimit(most=2, soon=0.0, refused=refused.append)

    async with limited(Slow(), ClientLimits(), connections) as site:
        held = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(2)]
        held[0][1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await held[0][0].readuntil(b"ok")
        held[1][1].write(b"GET /healthz HTT")
        await until(lambda: connections.total == 2)
        late = await site.ask("/healthz")
        sent_off = await held[1][0].read()
        held[0][1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        again = await held[0][0].readuntil(b"ok")
        for _, one in held:
            one.close()
        await until(lambda: connections.total == 0)

    assert late.status == 200
    assert sent_off == b""
    assert answer[:12] == again[:12] == b"HTTP/1.1 200"
    assert refused == ["silent"]


async def test_a_connection_that_was_just_accepted_is_not_yet_silent() -> None:
    refused: list[str] = []
    connections = ConnectionLimit(most=1, soon=60.0, refused=refused.append)

    async with limited(Slow(), ClientLimits(), connections) as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        await until(lambda: connections.total == 1)
        late = await site.ask("/healthz")
        writer.close()

    assert late.status == 503
    assert refused == ["connections"]


def test_a_part_of_a_head_is_acknowledged_at_once() -> None:
    options: list[tuple[int, ...]] = []
    connection = SimpleNamespace(setsockopt=lambda *option: options.append(option))
    transport = SimpleNamespace(get_extra_info={"socket": connection}.get)

    acknowledge(cast("asyncio.Transport", transport))
    acknowledge(cast("asyncio.Transport", SimpleNamespace(get_extra_info={}.get)))

    assert options == [(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)]
