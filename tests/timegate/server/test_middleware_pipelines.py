"""Pipelines: requests that a client sends without waiting for responses take turns."""

import asyncio
from contextlib import AsyncExitStack
from itertools import pairwise

from timegate.event_loop import FairTurns
from timegate.responses.model import ClientRequest, Response
from timegate.server.client_quota import Client, ClientLimits
from timegate.server.concurrency_limit import ConcurrencyLimit
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes

CONNECTIONS = 40
REQUESTS = 30
REQUEST = b"GET /short HTTP/1.1\r\nHost: x\r\n\r\n"


class Handled:
    """Counts the requests that are handled, and how many of them in one turn of the loop."""

    def __init__(self) -> None:
        self.count = 0
        self.most = 0

    async def __call__(self, _: ClientRequest) -> Response:
        self.count += 1
        # Not the same response again, which would come from the cache of responses.
        return Response(200, {"Cache-Control": "no-store"}, b"short")

    async def watch(self) -> None:
        before = 0
        while self.count < CONNECTIONS * REQUESTS:
            await asyncio.sleep(0)
            self.most = max(self.most, self.count - before)
            before = self.count


async def answered(handled: Handled, limits: ClientLimits) -> list[bytes]:
    routes = Routes({"/short": handled}, {}, handled)
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(
            listening(Dispatch(routes, limits), "127.0.0.1", 0)
        )
        streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
        for _, writer in streams:
            stack.callback(writer.close)
            writer.write(REQUEST * REQUESTS)
        await asyncio.wait_for(handled.watch(), 30)
        size = len(b"HTTP/1.1 200 OK")
        return [await reader.readexactly(size) for reader, _ in streams]


async def test_few_pipelined_requests_are_handled_in_one_turn_of_the_loop() -> None:
    handled = Handled()

    heads = await answered(handled, ClientLimits(pipelined=FairTurns(4)))

    assert handled.count == CONNECTIONS * REQUESTS
    assert heads == [b"HTTP/1.1 200 OK"] * CONNECTIONS
    # The last request of each pipeline needs no turn; they do not come all at once.
    assert handled.most < CONNECTIONS // 2


async def test_event_streams_that_start_together_take_turns() -> None:
    limits = ClientLimits(concurrency=ConcurrencyLimit(), starts=FairTurns(3))
    client, started, counts = Client("127.0.0.1", "127.0.0.1"), list[int](), list[int]()

    async def start(number: int) -> None:
        assert await limits.enter(client, "/events?q=x") is None
        started.append(number)

    async def watch() -> None:
        while len(started) < CONNECTIONS:
            counts.append(len(started))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for number in range(CONNECTIONS):
            group.create_task(start(number))
        group.create_task(watch())

    assert started == list(range(CONNECTIONS))
    assert max(later - sooner for sooner, later in pairwise(counts)) <= 3
