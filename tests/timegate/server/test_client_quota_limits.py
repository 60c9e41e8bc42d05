"""Limits for clients: rejected requests and streams, and what is answered all the same."""

import asyncio
import json
from collections.abc import AsyncGenerator

from tests.clock import Clock
from tests.timegate.endpoints.served import Site
from tests.timegate.server.limited_server import Slow, limited
from timegate.access.networks import Networks
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.server.client_quota import Client, ClientAddresses, ClientLimits, ClientQuotas
from timegate.server.concurrency_limit import Capacity, ConcurrencyLimit
from timegate.server.connection_limit import ConnectionLimit

LOOPBACK = Networks(["127.0.0.0/8"])


async def test_requests_beyond_the_limit_get_503_at_once_but_health_is_answered() -> None:
    slow, refused = Slow(), list[str]()
    places = Capacity(in_flight=1, queue=0)
    limits = ClientLimits(ConcurrencyLimit(places), exempt=LOOPBACK, count=refused.append)

    async with limited(slow, limits) as site, asyncio.TaskGroup() as group:
        first = group.create_task(site.ask("/slow/one"))
        await slow.started.acquire()
        second = await site.ask("/slow/two")
        health = await site.ask("/healthz")
        slow.may_answer.set()

    assert first.result().body == b"one"
    assert (second.status, second.headers["Retry-After"]) == (503, "1")
    assert json.loads(second.body)["title"] == "Too many requests at once"
    assert health.status == 200
    assert refused == ["full"]


async def test_a_client_beyond_its_share_gets_429_and_other_clients_do_not() -> None:
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
            await slow.started.acquire()
        refused = await from_client(site, "192.0.2.1")
        slow.may_answer.set()

    assert [task.result() for task in [*greedy, other]] == [200] * 4
    assert refused == 429


async def test_a_finished_request_frees_its_place() -> None:
    slow = Slow()
    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    slow.may_answer.set()

    async with limited(slow, ClientLimits(concurrency)) as site:
        statuses = [(await site.ask("/slow/x")).status for _ in range(3)]

    assert statuses == [200, 200, 200]
    assert concurrency.in_flight == 0


def test_an_error_because_of_a_used_up_quota_becomes_429() -> None:
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


async def test_a_streamed_body_holds_a_stream_place_and_no_request_place() -> None:
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


async def test_lists_are_rejected_before_any_work_while_all_stream_places_are_taken() -> None:
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


async def test_the_monitor_takes_no_stream_place() -> None:
    streams = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    limits = ClientLimits(ConcurrencyLimit(), streams=streams)

    assert await limits.enter_stream(a_client(), "/monitor") is None
    assert streams.in_flight == 0
    limits.leave_stream(a_client(), "/monitor")
    assert await limits.enter_stream(a_client(), "/memento/1/http://x/") is None
    assert streams.in_flight == 1


async def test_a_hundred_concurrent_requests_are_all_answered() -> None:
    slow = Slow()
    slow.may_answer.set()

    many = ConnectionLimit(per_client=200)
    async with (
        limited(slow, ClientLimits(ConcurrencyLimit()), many) as site,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(site.ask(f"/slow/{n}")) for n in range(100)]

    assert [task.result().body for task in tasks] == [str(n).encode() for n in range(100)]
