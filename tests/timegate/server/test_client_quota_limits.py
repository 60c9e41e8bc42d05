"""Limits for clients: rejected requests, streams and connections, and what still works."""

import asyncio
import json
import resource
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.clock import Clock
from tests.scenario import World
from tests.timegate.endpoints.served import Site
from timegate.access.networks import Networks
from timegate.observability.logs import Access
from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse
from timegate.server.client_quota import Client, ClientAddresses, ClientLimits, ClientQuotas
from timegate.server.concurrency_limit import Capacity, ConcurrencyLimit
from timegate.server.connection_limit import ConnectionLimit, files_allow
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch, Routes

LOOPBACK = Networks(["127.0.0.0/8"])


class Slow:
    """A handler that answers when it is told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = asyncio.Semaphore(0)

    async def __call__(self, call: ClientRequest) -> Response:
        self.asked.release()
        await self.may_answer.wait()
        return Response(200, {}, call.rest.encode())


async def _well(call: ClientRequest) -> Response:
    del call
    return Response(200, {}, b"ok")


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 -- connections tell nobody
            await asyncio.sleep(0)


@asynccontextmanager
async def limited(
    slow: Handler,
    limits: ClientLimits,
    connections: ConnectionLimit | None = None,
    log: list[Access] | None = None,
) -> AsyncIterator[Site]:
    """Serve *slow* at ``/slow/`` and everywhere but at ``/healthz``."""
    routes = Routes({"/healthz": _well}, {"/slow/": slow}, slow)
    dispatch = Dispatch(routes, limits, log=None if log is None else log.append)
    with bound("127.0.0.1", 0) as place:
        async with serving(dispatch, place, room=connections):
            yield Site(place.getsockname()[1], World())


async def test_what_is_too_much_is_refused_at_once_and_health_is_told_all_the_same() -> None:
    slow, refused = Slow(), list[str]()
    places = Capacity(in_flight=1, queue=0)
    limits = ClientLimits(ConcurrencyLimit(places), exempt=LOOPBACK, count=refused.append)

    async with limited(slow, limits) as site, asyncio.TaskGroup() as group:
        first = group.create_task(site.ask("/slow/one"))
        await slow.asked.acquire()
        second = await site.ask("/slow/two")
        health = await site.ask("/healthz")
        slow.may_answer.set()

    assert first.result().body == b"one"
    assert (second.status, second.headers["Retry-After"]) == (503, "1")
    assert json.loads(second.body)["title"] == "Too many requests at once"
    assert health.status == 200
    assert refused == ["full"]


async def test_who_has_its_share_gets_429_and_others_get_in() -> None:
    slow = Slow()
    addresses = ClientAddresses(LOOPBACK)
    limits = ClientLimits(ConcurrencyLimit(Capacity(in_flight=4, queue=0)), addresses=addresses)

    def from_client(site: Site, address: str) -> "asyncio.Task[int]":
        async def ask() -> int:
            return (await site.ask("/slow/x", ("X-Forwarded-For", address))).status

        return group.create_task(ask())

    async with limited(slow, limits) as site, asyncio.TaskGroup() as group:
        greedy = [from_client(site, "192.0.2.1") for _ in range(3)]
        other = from_client(site, "192.0.2.2")
        for _ in range(4):
            await slow.asked.acquire()
        refused = await from_client(site, "192.0.2.1")
        slow.may_answer.set()

    assert [task.result() for task in [*greedy, other]] == [200] * 4
    assert refused == 429


async def test_a_place_is_free_again_when_the_client_has_left() -> None:
    slow = Slow()
    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    slow.may_answer.set()

    async with limited(slow, ClientLimits(concurrency)) as site:
        statuses = [(await site.ask("/slow/x")).status for _ in range(3)]

    assert statuses == [200, 200, 200]
    assert concurrency.in_flight == 0


def test_an_error_for_want_of_budget_becomes_429() -> None:
    quotas = ClientQuotas(30, 1, Clock())
    refused: list[str] = []
    limits = ClientLimits(quotas=quotas, count=refused.append)
    quota = limits.quota(a_client(), patient=False)
    assert quota is not None
    quota.retry_after = 1.2

    answer = limits.within_quota(Response(502, {"Vary": "accept"}), quota)
    found = limits.within_quota(Response(302), quota)

    assert answer.status == 429
    assert answer.headers["Retry-After"] == "2"
    assert answer.headers["Vary"] == "accept"
    assert found.status == 302
    assert refused == ["cold"]


def a_client() -> Client:
    return Client("192.0.2.1", "192.0.2.1")


async def test_who_has_too_many_connections_is_told_and_hung_up_on() -> None:
    slow, refused = Slow(), list[str]()
    connections = ConnectionLimit(per_client=2, refused=refused.append)

    async with limited(slow, ClientLimits(), connections) as site:
        held = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(2)]
        await _until(lambda: connections.total == 2)
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        told = await reader.read()
        for _, one in [*held, (reader, writer)]:
            one.close()
        await _until(lambda: connections.total == 0)
        again = await site.ask("/healthz")

    assert told.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 1\r\n" in told
    assert refused == ["connections-per-client"]
    assert again.status == 200


def test_connections_are_bounded_in_all_and_proxies_have_no_share() -> None:
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


def test_other_files_take_half_of_what_there_is_at_most() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert files_allow(10_000_000, 10_000_000) < soft * 3 // 4
    assert files_allow(soft - 148, 100) == soft - 148


def test_where_few_may_come_few_come_at_once() -> None:
    assert [ConnectionLimit(most=most).at_a_turn for most in (4, 16, 32, 10_000)] == [
        1,
        2,
        4,
        8,
    ]


async def test_who_says_nothing_makes_room_for_who_comes_when_there_is_none_left() -> None:
    refused: list[str] = []
    connections = ConnectionLimit(most=2, soon=0.0, refused=refused.append)

    async with limited(Slow(), ClientLimits(), connections) as site:
        held = [await asyncio.open_connection("127.0.0.1", site.port) for _ in range(2)]
        held[0][1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await held[0][0].readuntil(b"ok")
        held[1][1].write(b"GET /healthz HTT")
        await _until(lambda: connections.total == 2)
        late = await site.ask("/healthz")
        sent_off = await held[1][0].read()
        held[0][1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        again = await held[0][0].readuntil(b"ok")
        for _, one in held:
            one.close()
        await _until(lambda: connections.total == 0)

    assert late.status == 200
    assert sent_off == b""
    assert answer[:12] == again[:12] == b"HTTP/1.1 200"
    assert refused == ["silent"]


async def test_who_came_just_now_need_not_have_said_anything() -> None:
    refused: list[str] = []
    connections = ConnectionLimit(most=1, soon=60.0, refused=refused.append)

    async with limited(Slow(), ClientLimits(), connections) as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        await _until(lambda: connections.total == 1)
        late = await site.ask("/healthz")
        writer.close()

    assert late.status == 503
    assert refused == ["connections"]


async def test_each_request_is_written_down_where_that_is_wanted() -> None:
    slow, log = Slow(), list[Access]()
    slow.may_answer.set()

    async with limited(slow, ClientLimits(), log=log) as site:
        await site.ask("/slow/http://example.org/?secret")

    (access,) = log
    assert (access.method, access.route, access.status) == ("GET", "/slow/", 200)
    assert access.address == "127.0.0.1"


async def test_a_body_that_is_read_slowly_holds_a_place_of_its_own() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def body() -> AsyncGenerator[bytes, None]:
        yield b"one"
        begun.set()
        await go_on.wait()
        yield b"two"

    async def handler(call: ClientRequest) -> Response | StreamingResponse:
        return (
            StreamingResponse(200, {}, body())
            if call.rest.startswith("long")
            else Response(200)
        )

    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    limits = ClientLimits(concurrency, streams=ConcurrencyLimit(Capacity(in_flight=1, queue=0)))

    async with limited(handler, limits) as site, asyncio.TaskGroup() as group:
        first = group.create_task(site.ask("/slow/long"))
        await begun.wait()
        held = concurrency.in_flight
        short = await site.ask("/slow/short")
        second = await site.ask("/slow/long")
        go_on.set()

    assert held == 0
    assert short.status == 200
    assert second.status == 503
    assert first.result().body.endswith(b"two\r\n0\r\n\r\n")
    assert limits.streams is not None
    assert limits.streams.in_flight == 0


async def test_no_list_is_begun_that_there_is_no_place_for() -> None:
    asked: list[str] = []

    async def handler(call: ClientRequest) -> Response:
        asked.append(call.rest)
        return Response(200)

    streams = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    limits = ClientLimits(ConcurrencyLimit(), streams=streams)

    async with limited(handler, limits) as site:
        await streams.enter("somebody")
        refused = [await site.ask(f"/{path}") for path in ("timemap/link/http://x/", "cdx?x")]
        others = await site.ask("/timegate/http://x/")
        streams.leave("somebody")
        then = await site.ask("/timemap/link/http://x/")

    assert [(seen.status, seen.headers["Retry-After"]) for seen in refused] == [(503, "1")] * 2
    assert (others.status, then.status) == (200, 200)
    assert asked == ["timegate/http://x/", "timemap/link/http://x/"]


async def test_who_watches_for_hours_takes_no_place_from_long_bodies() -> None:
    streams = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    limits = ClientLimits(ConcurrencyLimit(), streams=streams)

    assert await limits.enter_stream(a_client(), "/monitor") is None
    assert streams.in_flight == 0
    limits.leave_stream(a_client(), "/monitor")
    assert await limits.enter_stream(a_client(), "/memento/1/http://x/") is None
    assert streams.in_flight == 1


def test_little_of_an_answer_waits_in_the_kernel_for_who_does_not_read() -> None:
    with (
        bound("127.0.0.1", 0) as place,
        socket.create_connection(place.getsockname()) as client,
    ):
        one, _ = place.accept()
        with one:
            one.setblocking(False)  # noqa: FBT003 -- its only parameter
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            taken = 0
            with suppress(BlockingIOError):
                while taken < 64 << 20:
                    taken += one.send(bytes(64 * 1024))

    # Without a bound the kernel takes 2.8 MB (Linux 6.18, its own settings).
    assert taken < 1 << 20


async def test_many_requests_at_once_all_get_in() -> None:
    slow = Slow()
    slow.may_answer.set()

    many = ConnectionLimit(per_client=200)
    async with (
        limited(slow, ClientLimits(ConcurrencyLimit()), many) as site,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(site.ask(f"/slow/{n}")) for n in range(100)]

    assert [task.result().body for task in tasks] == [str(n).encode() for n in range(100)]


async def test_nobody_is_let_in_any_more_when_the_server_ends() -> None:
    with bound("127.0.0.1", 0) as place:
        address = place.getsockname()
        dispatch = Dispatch(Routes({"/healthz": _well}, {}, _well))
        async with serving(dispatch, place):
            await Site(address[1], World()).ask("/healthz")

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address).close()
