"""Clients that send a request and do not read the response: how long they hold a place."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site, entries, resolve_of
from tests.timegate.server.limited_server import configured
from timegate.config import Config
from timegate.config.schema import LimitsSection
from timegate.demo import demo_config
from timegate.endpoints.resolve import BatchResolve
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, PostHandler, Response, StreamingResponse
from timegate.server import connection_limit
from timegate.server.client_quota import ClientLimits
from timegate.server.concurrency_limit import Capacity, ConcurrencyLimit
from timegate.server.connection_limit import ClientDeadline
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch, Routes

LONG = b"no identifier " + b"x" * 900 + b"\n"
GRACE = 0.3


async def _nothing(call: ClientRequest) -> Response:
    return Response(404, {}, call.rest.encode())


@asynccontextmanager
async def posted(batch: PostHandler, concurrency: ConcurrencyLimit) -> AsyncIterator[Site]:
    """Serve *batch* at ``POST /resolve``."""
    routes = Routes({}, {}, _nothing, {"/resolve": batch})
    dispatch = Dispatch(routes, ClientLimits(concurrency))
    with bound("127.0.0.1", 0) as place:
        async with serving(dispatch, place):
            yield Site(place.getsockname()[1], World())


async def unread(site: Site, body: bytes) -> socket.socket:
    """Send a batch on a connection of which nothing is read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)  # noqa: FBT003 -- its only parameter
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", site.port))
    head = f"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    await loop.sock_sendall(client, head.encode() + body)
    return client


async def _free(concurrency: ConcurrencyLimit) -> None:
    while concurrency.in_flight:  # noqa: ASYNC110 -- nothing tells of it
        await asyncio.sleep(0.01)


async def test_an_unread_batch_releases_its_place() -> None:
    world = World()
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    batch = BatchResolve(resolve_of(answers, registry), most_idle=GRACE)
    concurrency = ConcurrencyLimit(Capacity(in_flight=1, queue=0))

    async with posted(batch, concurrency) as site:
        with await unread(site, LONG * 1000) as client:
            while not concurrency.in_flight:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0)
            async with asyncio.timeout(10):
                await _free(concurrency)
            answer = await asyncio.wait_for(_rest(client), 10)

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert not answer.endswith(b"0\r\n\r\n")


async def _rest(client: socket.socket) -> bytes:
    """Read what is left until the connection ends."""
    loop, read = asyncio.get_running_loop(), bytearray()
    with suppress(ConnectionResetError):
        while piece := await loop.sock_recv(client, 1 << 16):
            read += piece
    return bytes(read)


class LongResponses:
    """A POST handler whose response is as long as the body of the request says."""

    largest_body = 100
    body_deadline = 10.0

    async def __call__(self, request: ClientRequest, body: bytes) -> StreamingResponse:
        del request
        chunks = self._chunks(int(body))
        return StreamingResponse(200, {}, chunks, most_idle=GRACE, in_progress=True)

    async def _chunks(self, octets: int) -> AsyncGenerator[bytes, None]:
        yield bytes(octets)
        yield bytes(60_000)


async def test_a_response_whose_end_is_not_read_releases_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A write of up to 64 kB does not wait for the client; the end of the body does.

    How much the kernel buffers is not known, so responses of many lengths are sent.
    """
    # No extra time for the octets of the response: a second for each kilobyte is too long here.
    impatient = partial(ClientDeadline, slowest=1e9)
    monkeypatch.setattr(connection_limit, "ClientDeadline", impatient)
    concurrency = ConcurrencyLimit(Capacity(in_flight=400, queue=0))

    async with posted(LongResponses(), concurrency) as site:
        with ExitStack() as clients:
            for octets in range(70_000, 3_000_000, 30_000):
                clients.enter_context(await unread(site, str(octets).encode()))
            async with asyncio.timeout(10):
                await _free(concurrency)


async def test_readyz_and_metrics_count_the_places_of_unread_batches(tmp_path: Path) -> None:
    demo = demo_config(tmp_path)
    limits = LimitsSection(in_flight=4, exempt=["127.0.0.0/8"])
    config = Config(demo.registry, limits=limits, queue_wait=0.1)

    async with configured(config, "http://gate.example") as (site, process):
        before = json.loads((await site.ask("/readyz")).body)
        with ExitStack() as clients:
            for _ in range(4):
                clients.enter_context(await unread(site, LONG * 1000))
            async with asyncio.timeout(10):
                while process.gauges()["in_flight"] < 4:  # noqa: ASYNC110 -- as above
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            ready = await site.ask("/readyz")
            metrics = (await site.ask("/metrics")).body.decode()
            refused = await site.ask("/timegate/http://example.org/")

    assert (before["ready"], before["overloaded"]) == (True, False)
    assert (ready.status, json.loads(ready.body)["overloaded"]) == (503, True)
    assert "timegate_overloaded 1.0" in metrics
    assert refused.status == 503
