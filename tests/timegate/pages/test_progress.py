"""Events while a search is in progress, and the data of the timeline."""

import asyncio
import json
from urllib.parse import quote

from tests.scenario import NEVER, FakeArchive
from tests.timegate.endpoints.served import Seen
from tests.timegate.pages.served_pages import BROWSER, Html, dechunked, site

EXACT = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"
WATCH = f"/events?q={quote(f'duri:2016-01-22T11:20:29Z:{URL}', safe='')}"


def events(seen: Seen) -> list[tuple[str, str]]:
    """Take a stream apart; chunk sizes of HTTP stand between the events."""
    found = []
    for block in dechunked(seen.body).decode().split("\n\n"):
        lines = block.splitlines()
        if lines:
            data = "\n".join(line.removeprefix("data: ") for line in lines[1:])
            found.append((lines[0].removeprefix("event: "), data))
    return found


async def test_progress_events_come_for_each_archive_and_then_the_answer() -> None:
    archives = (FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.05), FakeArchive("c", 0.1))
    async with site(*archives) as served:
        seen = await served.ask(WATCH)

    received = events(seen)
    lines = [Html(data).text for name, data in received if name == "progress"]
    assert seen.headers["Content-Type"] == "text/event-stream"
    assert [name for name, _ in received] == ["progress"] * 4 + ["answer"]
    assert lines[0].startswith("0 of 3 archives have answered, waiting for a, b, c.")
    assert lines[1].startswith("1 of 3 archives have answered, waiting for b, c.")
    assert "has a copy from 25 January 2016" in lines[1]
    assert lines[3].startswith("3 of 3 archives have answered.")
    assert f"http://a/{LATER}/{URL}" in Html(received[-1][1]).links


async def test_a_silent_archive_does_not_delay_the_answer() -> None:
    async with site(FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", NEVER)) as served:
        received = events(await served.ask(WATCH))

    assert [name for name, _ in received] == ["progress", "progress", "answer"]
    assert "b (no answer in time)" in Html(received[-1][1]).text


async def test_a_cached_answer_is_sent_at_once() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,)), FakeArchive("b", 0.0)) as served:
        await served.ask(WATCH)
        asked = served.world.requests()
        received = events(await served.ask(WATCH))

    assert [name for name, _ in received] == ["progress", "answer"]
    assert served.world.requests() == asked


async def test_a_search_goes_on_after_the_client_has_disconnected() -> None:
    async with site(FakeArchive("a", 0.05, (LATER,))) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"GET {WATCH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readuntil(b"event: progress")
        writer.close()
        received = events(await served.ask(WATCH))

    assert f"http://a/{LATER}/{URL}" in Html(received[-1][1]).links
    assert served.world.requests() == 1


async def test_a_mistake_in_the_form_is_sent_as_an_answer() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask("/events?q=duri:2016-13:http://example.org/")

    assert seen.body.startswith(b"event: answer\ndata: ")
    assert b"<mark>1</mark>3" in seen.body


async def test_the_number_of_watched_searches_is_limited() -> None:
    async with site(FakeArchive("a", 0.2, (LATER,)), watchers=1) as served:
        first, second = await asyncio.gather(served.ask(WATCH), served.ask(WATCH))

    assert sorted((first.status, second.status)) == [200, 503]


async def test_every_line_of_an_event_is_a_data_line() -> None:
    hostile = "http://example.org/%0Aevent:x"
    async with site(FakeArchive("a", 0.0, (LATER,), holds=hostile)) as served:
        seen = await served.ask(f"/events?q={quote(f'duri:2010:{hostile}', safe='')}")

    lines = dechunked(seen.body).decode().split("\n")
    assert all(line == "" or line.startswith(("data: ", "event: ")) for line in lines)
    assert {line for line in lines if line.startswith("event")} == {
        "event: progress",
        "event: answer",
    }


async def test_the_timeline_has_every_capture_with_its_archive() -> None:
    archives = (
        FakeArchive("a", 0.0, (EXACT, LATER)),
        FakeArchive("b", 0.0, ("20150101000000",)),
    )
    async with site(*archives) as served:
        seen = await served.ask(f"/timeline/{URL}")

    first, *captures, last = [json.loads(line) for line in dechunked(seen.body).splitlines()]
    assert first == {"archives": {"a": "a", "b": "b"}}
    assert [(archive, stamp) for archive, stamp, _ in captures] == [
        ("b", "20150101000000"),
        ("a", EXACT),
        ("a", LATER),
    ]
    assert (last["count"], last["missing"], last["truncated"]) == (3, {}, False)


async def test_the_timeline_of_an_unknown_url_is_empty() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask(f"/timeline/{URL}")
        wrong = await served.ask("/timeline/mailto:x@y.org", BROWSER)

    assert len(dechunked(seen.body).splitlines()) == 2
    assert wrong.status == 422
    assert wrong.headers["Content-Type"].startswith("text/html")
