"""What is read from a queue in Redis: pages, results, jobs, addresses."""

import asyncio
import json

import msgspec
import pytest

from tests.timegate.batch.results import a_result
from timegate.batch.backlog import encoded
from timegate.batch.model import Item, to_line
from timegate.batch.run import BadQueue
from timegate.batch.stream_queue import (
    Job,
    PageResults,
    StreamQueue,
    read_entry,
    read_job,
    read_queue_url,
    read_results,
)
from timegate.resolution.model import Preferences

ITEM = Item(3, "http://a.example/", ("http://a.example/",), ("2016",))


def test_a_page_is_read_as_it_was_written() -> None:
    text = json.dumps(["job", True, [encoded(ITEM)]]).encode()

    entry = read_entry("lane", "1-0", text)

    assert (entry.lane, entry.id, entry.job, entry.last) == ("lane", "1-0", "job", True)
    assert entry.items == [ITEM]


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"\xff", b'["job", true, []]', b'["job", 1, ["x"]]', b'["j", true, [1]]'],
)
def test_a_page_that_another_program_wrote_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a page|not an item|Expecting|codec"):
        read_entry("lane", "1-0", text)


def test_results_are_read_as_they_were_written() -> None:
    line = to_line(a_result(3)).decode()
    text = json.dumps(["job", "lane", [[line, {"a": 2}]]]).encode()

    page = read_results([b"1-0", [b"results", text]])

    assert page == PageResults("1-0", "job", "lane", [(a_result(3), {"a": 2})])


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        [b"1-0", [b"results", b"{}"]],
        [b"1-0", [b"results", b'["job", "lane", [["{}", {}]]]']],
        [b"1-0", [b"results", b'["job", "lane", [[1, 2]]]']],
    ],
)
def test_foreign_results_belong_to_no_job(row: object) -> None:
    assert read_results(row).job == ""


def test_a_job_is_read_as_it_was_written() -> None:
    job = Job("id", Preferences(exclude=frozenset({"x"}), verify="none"), "digest", ("", "a"))

    assert read_job(msgspec.json.encode(job)) == job


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", None, 5])
def test_a_job_that_another_program_wrote_is_refused(text: object) -> None:
    with pytest.raises(BadQueue, match="another program"):
        read_job(text)


def test_the_name_of_a_queue_follows_its_address() -> None:
    address, name = read_queue_url("redis://127.0.0.1:7000/2#wikipedia-2026")

    assert (address.nodes, address.database, name) == (
        (("127.0.0.1", 7000),),
        2,
        "wikipedia-2026",
    )
    assert read_queue_url("redis://127.0.0.1")[1] == "default"


@pytest.mark.parametrize("url", ["", "http://a/", "redis://a#b{c}", f"redis://a#{'x' * 101}"])
def test_an_address_that_is_no_queue_is_refused(url: str) -> None:
    with pytest.raises(BadQueue, match="--queue"):
        read_queue_url(url)


async def test_a_queue_that_cannot_be_reached_is_noted() -> None:
    noted: asyncio.Queue[str] = asyncio.Queue()
    async with (
        StreamQueue("redis://127.0.0.1:1", noted.put_nowait) as queue,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = tasks.create_task(queue.job())
        why = await noted.get()
        still = waiting.done()
        waiting.cancel()

    assert "the queue cannot be reached (127.0.0.1:1: " in why
    assert not still
