"""Clients that send a request and do not read the response: what they hold, and how long."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from tests.timegate.server.limited_server import configured, until
from timegate.access.networks import Networks
from timegate.config import Config
from timegate.config.schema import LimitsSection
from timegate.demo import demo_config
from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse
from timegate.server.client_quota import ClientLimits
from timegate.server.concurrency_limit import Capacity, ConcurrencyLimit, OctetLimit
from timegate.server.connection_limit import ConnectionLimit, Progress, ProgressRule
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch, Routes

LONG = b"no identifier " + b"x" * 900 + b"\n"
OCTETS = 6_000_000
"""More than the buffers of the kernel hold."""
IMPATIENT = ProgressRule(idle=0.3, soon=60.0, every=0.02)
LOOPBACK = Networks(["127.0.0.0/8"])


class Routed:
    """Handlers whose responses are long: whole, streamed, and as events."""

    def __init__(self) -> None:
        self.closed = 0
        self.largest_body = 100
        self.body_deadline = 10.0

    async def whole(self, call: ClientRequest) -> Response:
        del call
        return Response(200, {}, bytes(OCTETS))

    async def streamed(self, call: ClientRequest) -> StreamingResponse:
        del call
        return StreamingResponse(200, {}, self._chunks())

    async def events(self, call: ClientRequest) -> StreamingResponse:
        del call
        return StreamingResponse(200, {"Content-Type": "text/event-stream"}, self._chunks())

    async def __call__(self, request: ClientRequest, body: bytes) -> StreamingResponse:
        del body
        return await self.streamed(request)

    async def short(self, call: ClientRequest) -> Response:
        del call
        return Response(200, {}, b"short")

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(OCTETS // 60_000):
                yield bytes(60_000)
        finally:
            self.closed += 1


@asynccontextmanager
async def served(
    routed: Routed, limits: ClientLimits, connections: ConnectionLimit
) -> AsyncIterator[Site]:
    exact: dict[str, Handler] = {
        "/whole": routed.whole,
        "/streamed": routed.streamed,
        "/events": routed.events,
    }
    dispatch = Dispatch(Routes(exact, {}, routed.short, {"/resolve": routed}), limits)
    with bound("127.0.0.1", 0) as place:
        async with serving(dispatch, place, connections=connections):
            yield Site(place.getsockname()[1], World())


async def unread(site: Site, request: str, body: bytes = b"") -> socket.socket:
    """Send a request on a connection of which nothing is read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)  # noqa: FBT003 -- its only parameter
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", site.port))
    head = f"{request} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    await loop.sock_sendall(client, head.encode() + body)
    return client


async def rest(client: socket.socket) -> bytes:
    """Read what is left until the connection ends."""
    loop, read = asyncio.get_running_loop(), bytearray()
    with suppress(ConnectionResetError):
        while piece := await loop.sock_recv(client, 1 << 16):
            read += piece
    return bytes(read)


@pytest.mark.parametrize(
    "request_line", ["GET /whole", "GET /streamed", "GET /events", "POST /resolve"]
)
async def test_a_response_that_is_not_read_is_ended_on_every_kind_of_route(
    request_line: str,
) -> None:
    routed, refused = Routed(), list[str]()
    concurrency, streams = ConcurrencyLimit(), ConcurrencyLimit()
    connections = ConnectionLimit(progress=Progress(IMPATIENT), refused=refused.append)

    limits = ClientLimits(concurrency, streams=streams)
    async with served(routed, limits, connections) as site:
        with await unread(site, request_line) as client:
            await until(lambda: bool(refused))
            await until(lambda: connections.total == 0)
            read = await asyncio.wait_for(rest(client), 10)

    assert refused == ["unread"]
    assert read.startswith(b"HTTP/1.1 200 OK")
    assert len(read) < OCTETS
    assert (concurrency.in_flight, streams.in_flight) == (0, 0)
    assert routed.closed == (request_line != "GET /whole")


async def test_many_short_responses_that_are_not_read_are_ended() -> None:
    refused: list[str] = []
    connections = ConnectionLimit(progress=Progress(IMPATIENT), refused=refused.append)

    async with served(Routed(), ClientLimits(), connections) as site:
        with await unread(site, "GET /short") as client:
            await asyncio.wait_for(_pipelined(client), 10)
            await until(lambda: bool(refused))

    assert refused == ["unread"]


async def _pipelined(client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):
        while True:
            await loop.sock_sendall(client, b"GET /short HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)


async def test_responses_that_are_being_sent_hold_no_place_of_the_requests() -> None:
    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    streams = ConcurrencyLimit(Capacity(in_flight=8, queue=0))
    connections = ConnectionLimit(progress=Progress(ProgressRule()))

    limits = ClientLimits(concurrency, streams=streams)
    async with served(Routed(), limits, connections) as site:
        with ExitStack() as clients:
            for request in ("GET /whole", "GET /streamed", "POST /resolve"):
                clients.enter_context(await unread(site, request))
            await until(lambda: streams.in_flight == 3)
            held = concurrency.in_flight
            short = await site.ask("/short")

    assert held == 0
    assert short.status == 200


async def test_responses_that_are_being_sent_are_bounded_in_all_and_per_client() -> None:
    streams = ConcurrencyLimit(Capacity(in_flight=4, queue=0))
    limits = ClientLimits(ConcurrencyLimit(), streams=streams)

    async with served(Routed(), limits, ConnectionLimit()) as site:
        with ExitStack() as clients:
            for request in ("GET /whole", "GET /streamed", "POST /resolve"):
                clients.enter_context(await unread(site, request))
            await until(lambda: streams.in_flight == 3)
            own = await site.ask("/whole")
            other = await streams.enter("another client")
            third = await streams.enter("a third client")

    assert own.status == 503
    assert other is None
    assert third is not None


async def test_a_response_without_progress_is_ended_for_a_new_one_when_all_are_taken() -> None:
    refused: list[str] = []
    rule = ProgressRule(idle=60.0, soon=0.05, every=0.02)
    connections = ConnectionLimit(progress=Progress(rule), refused=refused.append)
    streams = ConcurrencyLimit(Capacity(in_flight=2, queue=2, wait=10.0))
    limits = ClientLimits(
        ConcurrencyLimit(), exempt=LOOPBACK, streams=streams, make_room=connections.make_room
    )

    async with served(Routed(), limits, connections) as site:
        with ExitStack() as clients:
            for _ in range(2):
                clients.enter_context(await unread(site, "GET /streamed"))
            await until(lambda: len(connections.progress) == 2)
            await asyncio.sleep(0.1)
            complete = await site.ask("/streamed")

    assert complete.status == 200
    assert complete.body.endswith(b"\r\n0\r\n\r\n")
    assert refused == ["stalled"]


async def test_unread_batches_leave_the_places_of_other_requests(tmp_path: Path) -> None:
    demo = demo_config(tmp_path)
    limits = LimitsSection(in_flight=4, exempt=["127.0.0.0/8"])
    config = Config(demo.registry, limits=limits, queue_wait=0.1)

    async with configured(config, "http://gate.example") as (site, process):
        before = json.loads((await site.ask("/readyz")).body)
        with ExitStack() as clients:
            for _ in range(4):
                clients.enter_context(await unread(site, "POST /resolve", LONG * 1000))
            await until(lambda: process.gauges()["streams"] == 4)
            await asyncio.sleep(0.1)
            ready = json.loads((await site.ask("/readyz")).body)
            metrics = (await site.ask("/metrics")).body.decode()
            answered = await site.ask("/timegate/http://museum.example/")

    assert (before["overloaded"], before["lists"]) == (False, "ok")
    assert (ready["overloaded"], ready["lists"]) == (False, "full")
    assert "timegate_lists_full 1.0" in metrics
    assert "timegate_streams 4.0" in metrics
    assert answered.status == 302


async def test_a_body_that_does_not_arrive_holds_no_place_of_the_requests() -> None:
    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))
    bodies = ConcurrencyLimit(Capacity(in_flight=2, queue=0))

    limits = ClientLimits(concurrency, exempt=LOOPBACK, bodies=bodies)
    async with served(Routed(), limits, ConnectionLimit()) as site:
        with ExitStack() as clients:
            for _ in range(2):
                clients.enter_context(await half_sent(site))
            await until(lambda: bodies.in_flight == 2)
            short = await site.ask("/short")
            post = await site.ask("/resolve", method="POST", body=b"x")

    assert (short.status, post.status) == (200, 503)
    assert concurrency.in_flight == 0


async def half_sent(site: Site) -> socket.socket:
    """Send a request with half of its body."""
    client = socket.socket()
    client.setblocking(False)  # noqa: FBT003 -- its only parameter
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", site.port))
    head = b"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345"
    await loop.sock_sendall(client, head)
    return client


async def test_whole_responses_that_are_not_read_hold_a_bounded_number_of_octets() -> None:
    """Responses beyond the limit are rejected, and afterwards the next is sent again."""
    octets = OctetLimit(most=2 * OCTETS, wait=0.05)
    refused: list[str] = []
    limits = ClientLimits(
        ConcurrencyLimit(), streams=ConcurrencyLimit(), octets=octets, count=refused.append
    )

    async with served(Routed(), limits, ConnectionLimit()) as site:
        with ExitStack() as clients:
            for _ in range(2):
                clients.enter_context(await unread(site, "GET /whole"))
            await until(lambda: octets.octets == 2 * OCTETS)
            third = await site.ask("/whole")
            overloaded = octets.overloaded
        await until(lambda: octets.octets == 0)
        fourth = await site.ask("/whole")

    assert (third.status, refused, overloaded) == (503, ["full"], True)
    assert (fourth.status, len(fourth.body)) == (200, OCTETS)


async def test_a_head_request_for_a_long_body_has_its_length_and_no_body() -> None:
    async with served(Routed(), ClientLimits(), ConnectionLimit()) as site:
        answer = await site.ask("/whole", method="HEAD")

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == str(OCTETS)
