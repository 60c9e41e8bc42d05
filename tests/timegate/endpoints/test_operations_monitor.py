"""`/monitor`: events for every answer of an archive, without URLs."""

import asyncio
import json

from msgspec import structs

from archives.errors import Unreachable
from archives.model import Closest, Memento
from timegate.endpoints.operations import Monitor
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Attempt
from timegate.responses.model import ClientRequest, Response, StreamingResponse

URL = "http://example.org/secret"
FOUND = Closest(Memento("20160101000000", "http://a/m", URL, "a"), "timegate")


async def watching(monitor: Monitor) -> StreamingResponse:
    stream = await monitor(ClientRequest("GET", "", {}))
    assert isinstance(stream, StreamingResponse)
    assert await anext(stream.chunks) == b": watching\n\n"
    return stream


async def test_events_name_archive_and_outcome_but_no_url() -> None:
    monitor = Monitor()
    stream = await watching(monitor)

    monitor.observe(Attempt("a", FOUND, 0.25, URL))
    monitor.observe(Attempt("b", None, 0.5, URL))
    monitor.observe(Attempt("c", Unreachable("c", URL, "down"), 1.0, URL))
    events = [await anext(stream.chunks) for _ in range(3)]
    await stream.chunks.aclose()

    data = [json.loads(event.decode().partition("data: ")[2]) for event in events]
    assert data[0] == {"archive": "a", "outcome": "found", "milliseconds": 250}
    assert [one["outcome"] for one in data] == ["found", "absent", "unknown"]
    assert b"secret" not in b"".join(events)


async def test_a_heartbeat_keeps_the_connection_open() -> None:
    stream = await watching(Monitor(heartbeat=0.01))

    assert await anext(stream.chunks) == b": nothing happens\n\n"
    await stream.chunks.aclose()


async def test_a_slow_watcher_loses_events_and_delays_nothing() -> None:
    monitor = Monitor()
    stream = await watching(monitor)
    reading = asyncio.ensure_future(anext(stream.chunks))  # noqa: TID251 -- the test is the client
    await asyncio.sleep(0)

    for _ in range(1_000):
        monitor.observe(Attempt("a", None, 0.1, URL))

    assert b"absent" in await reading
    await stream.chunks.aclose()


async def test_the_number_of_watchers_is_limited() -> None:
    monitor = Monitor()
    streams = [await watching(monitor) for _ in range(16)]

    refused = await monitor(ClientRequest("GET", "", {}))

    assert isinstance(refused, Response)
    assert refused.status == 503
    for stream in streams:
        await stream.chunks.aclose()


async def test_attempts_at_a_hidden_archive_are_not_sent() -> None:
    monitor = Monitor()
    context = structs.replace(UNLIMITED, hidden=frozenset({"secret"}))
    stream = await monitor(ClientRequest("GET", "", {}, context=context))
    assert isinstance(stream, StreamingResponse)
    await anext(stream.chunks)

    monitor.observe(Attempt("secret", FOUND, 0.25, URL))
    monitor.observe(Attempt("a", FOUND, 0.25, URL))

    assert b'"archive": "a"' in await anext(stream.chunks)
    await stream.chunks.aclose()
