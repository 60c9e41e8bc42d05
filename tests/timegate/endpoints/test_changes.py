import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import feedparser  # type: ignore[import-untyped]
import pytest

from tests.timegate.endpoints.stored import PAGE, StoreClient, serving_store
from tests.timegate.following.pages import PAGE as FOLLOWED
from tests.timegate.following.pages import ListedArchive, SourcesByName, capture
from timegate.config import load_config
from timegate.endpoints.changes import MOST_STREAMS, ChangesEndpoint, ChangesTiming
from timegate.following.change_file import ChangeFile
from timegate.following.follower import Follower
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Plan
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
)
from timegate.server.client_quota import ClientQuota, ClientQuotas

FEED = f"/changes/{PAGE}"
EVENTS = ("Accept", "text/event-stream")


class EventClient:
    """A client of server-sent events, as a browser is."""

    def __init__(self, store: StoreClient, last: str = "") -> None:
        self._port = store.site.port
        self.last = last
        self.seen: list[dict[str, Any]] = []

    async def read(self, events: int) -> None:
        """Read so many events, then leave."""
        resumed = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            head = (
                f"GET {FEED} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n{resumed}\r\n"
            )
            writer.write(head.encode())
            while True:
                line = (await reader.readline()).decode().strip()
                if line.startswith("id: "):
                    self.last = line.removeprefix("id: ")
                    if not events:
                        return
                if line.startswith("data: "):
                    self.seen.append(json.loads(line.removeprefix("data: ")))
                    events -= 1
                    if not events:
                        return
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def test_a_page_has_feeds_in_two_formats(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one", ("Timegate-Datetime", "2020-01-01T00:00:00.125Z"))
        first = await store.get(FEED)
        await store.put("two")
        atom = await store.get(f"/changes/atom/{PAGE}")
        as_json = await store.get(f"{FEED}?as=json")
        accepted = await store.get(FEED, ("Accept", "application/json"))
        head = await store.get(FEED, method="HEAD")

    assert first.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert head.headers["Content-Type"] == first.headers["Content-Type"]
    assert len(feedparser.parse(first.body).entries) == 1
    parsed: Any = feedparser.parse(atom.body)
    assert [entry.tags[0].term for entry in parsed.entries] == ["changed", "unknown"]
    assert parsed.entries[1].published == "2020-01-01T00:00:00.125Z"
    items = json.loads(as_json.body)["items"]
    assert [item["_timegate"]["time_basis"] for item in items] == ["capture", "asserted"]
    assert accepted.body == as_json.body
    assert accepted.headers["Vary"] == "accept"


async def test_an_unchanged_feed_is_not_sent_again(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one")
        first = await store.get(FEED)
        known = ("If-None-Match", first.headers["ETag"])
        same = await store.get(FEED, known)
        other_format = await store.get(f"{FEED}?as=json", known)
        await store.put("two")
        changed = await store.get(FEED, known)

    assert [a.status for a in (same, other_format, changed)] == [304, 200, 200]


async def test_an_identifier_leads_to_the_changes_of_its_page(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one")
        seen = await store.get(f"/changes/json/duri:2020:{PAGE}")

    assert len(json.loads(seen.body)["items"]) == 1


async def test_each_change_is_sent_once_over_a_restart(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("there before")
        client = EventClient(store)
        await client.read(0)  # only the position
        await store.put("one")
        await client.read(1)
        await store.put("two", ("Timegate-Datetime", "2019-01-01T00:00:00Z"))
    async with serving_store(tmp_path) as store:
        await store.put("three")
        again = EventClient(store, client.last)
        await again.read(2)

    times = [event["datetime"][:4] for event in [*client.seen, *again.seen]]
    assert times[1] == "2019"
    assert len({event["id"] for event in [*client.seen, *again.seen]}) == 3
    assert [event["changed"] for event in client.seen] == [True]


async def test_a_stream_is_woken_by_a_write(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("there before")
        client = EventClient(store)
        await client.read(0)
        async with asyncio.TaskGroup() as group:
            group.create_task(client.read(2))
            await store.put("one")
            await store.put("two")

    assert len(client.seen) == 2


async def test_changes_go_on_by_time_if_the_file_was_lost(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one", ("Timegate-Datetime", "2020-01-01T00:00:00Z"))
        client = EventClient(store, "0123-77-20191231000000")
        await client.read(0)

    assert client.last.endswith("-0-20191231000000")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/changes/", 404),
        ("/changes/atom/", 404),
        (f"{FEED}?as=rss", 400),
        (f"{FEED}?as=json&precision=exact", 400),
        ("/changes/urn:pwid:nonsense", 400),
        ("/changes/mailto:x@example.org", 422),
    ],
)
async def test_what_cannot_be_followed_is_refused(
    tmp_path: Path, target: str, status: int
) -> None:
    async with serving_store(tmp_path) as store:
        assert (await store.get(target)).status == status


async def test_a_blocked_page_has_no_changes(tmp_path: Path) -> None:
    async with serving_store(tmp_path, more='[deny]\nhosts = ["example.org"]') as store:
        assert (await store.get(FEED)).status == 451


class Now:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def endpoint(
    tmp_path: Path, archive: ListedArchive, every: float | None = 600.0
) -> AsyncIterator[tuple[ChangesEndpoint, Now]]:
    config = load_config(None)
    now = Now()
    plan = Plan(((archive.name,),))
    timing = ChangesTiming(wait=9.0, heartbeat=0.0, longest=9.0, pause=0.001)
    with ChangeFile(tmp_path / "c") as file:
        async with Follower(
            file, SourcesByName(archive), Containment(), {}, every, now
        ) as follower:
            yield (
                ChangesEndpoint(
                    follower,
                    lambda _query, _preferences, _context: plan,
                    config.registry,
                    "http://gate.example",
                    timing,
                    clock=now,
                ),
                now,
            )


async def items(
    changes: ChangesEndpoint, context: RequestContext | None = None
) -> Sequence[dict[str, Any]]:
    request = ClientRequest("GET", f"json/{FOLLOWED}", {}, context=context or RequestContext())
    response = await changes(request)
    assert isinstance(response, Response)
    found: Sequence[dict[str, Any]] = json.loads(response.body)["items"]
    return found


async def test_a_feed_waits_for_archives_that_are_due_and_shares_their_answers(
    tmp_path: Path,
) -> None:
    archive = ListedArchive(captures=[capture("20200101000000")])
    async with endpoint(tmp_path, archive) as (changes, now):
        first = await items(changes)
        archive.captures.append(capture("20210101000000"))
        soon = await items(changes)
        now.seconds += 700
        later = await items(changes)

    assert (len(first), len(soon), len(later)) == (1, 1, 2)
    assert archive.asked == 2


async def test_a_client_beyond_its_quota_starts_no_queries(tmp_path: Path) -> None:
    archive = ListedArchive(captures=[capture("20200101000000")])
    quotas = ClientQuotas(0.001, 1)
    async with endpoint(tmp_path, archive) as (changes, now):
        context = RequestContext(quota=ClientQuota("x", quotas))
        first = await items(changes, context)
        now.seconds += 700
        beyond = await items(changes, RequestContext(quota=ClientQuota("x", quotas)))

    assert (len(first), len(beyond), archive.asked) == (1, 1, 1)


async def test_a_server_that_follows_nothing_says_so(tmp_path: Path) -> None:
    async with endpoint(tmp_path, ListedArchive(), every=None) as (changes, _):
        with pytest.raises(EarlyResponse) as refused:
            await changes(ClientRequest("GET", FOLLOWED, {}))

    assert refused.value.response.status == 404


async def test_a_stream_has_heartbeats_and_an_end(tmp_path: Path) -> None:
    async with endpoint(tmp_path, ListedArchive()) as (changes, _):
        stream = await changes(ClientRequest("GET", f"events/{FOLLOWED}", {}))
        assert isinstance(stream, StreamingResponse)
        first, second = [await anext(stream.chunks) for _ in range(2)]
        await stream.chunks.aclose()

    assert first.startswith(b"retry: 5000\nid: ")
    assert second == b": no change\n\n"


async def test_streams_that_begin_together_are_bounded_too(tmp_path: Path) -> None:
    """They count before anything is awaited, and until they are closed, read or not."""
    request = ClientRequest("GET", f"events/{FOLLOWED}", {})
    async with endpoint(tmp_path, ListedArchive()) as (changes, _):
        begun = await asyncio.gather(*(changes(request) for _ in range(MOST_STREAMS + 9)))
        for stream in begun:
            if isinstance(stream, StreamingResponse):
                await stream.chunks.aclose()
        again = await asyncio.gather(*(changes(request) for _ in range(MOST_STREAMS)))
        for stream in again:
            assert isinstance(stream, StreamingResponse)
            await stream.chunks.aclose()

    assert sum(isinstance(each, StreamingResponse) for each in begun) == MOST_STREAMS


async def test_streams_are_bounded(tmp_path: Path) -> None:
    request = ClientRequest("GET", f"events/{FOLLOWED}", {})
    async with endpoint(tmp_path, ListedArchive()) as (changes, _):
        streams = [await changes(request) for _ in range(MOST_STREAMS)]
        for stream in streams:
            assert isinstance(stream, StreamingResponse)
            await anext(stream.chunks)
        refused = await changes(request)
        for stream in streams:
            assert isinstance(stream, StreamingResponse)
            await stream.chunks.aclose()
        admitted = await changes(request)

    assert refused.status == 503
    assert admitted.status == 200
