"""`POST /wayback/available`: the availability of many URLs at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession

from archives.registry import Registry
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK
from timegate.endpoints.wayback import Availabilities
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, Response
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes

URL = "http://example.org/"
GOOD = "&statuscodes=200&statuscodes=203&statuscodes=206"
SILENT = FakeArchive("c", 0.0, error=True)


class Client:
    """A client of the running handler."""

    def __init__(self, session: ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def post(self, body: str | bytes, query: str = "") -> tuple[int, dict[str, object]]:
        """Send *body* as curl does, and read the JSON."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        address = f"{self._url}/wayback/available{query}"
        async with self._session.post(address, data=body, headers=kind) as reply:
            return reply.status, await reply.json(content_type=None)

    async def results(self, body: str | bytes, query: str = "") -> list[dict[str, object]]:
        """Return the results; they must have come with 200."""
        status, answer = await self.post(body, query)
        assert status == 200
        results = answer["results"]
        assert isinstance(results, list)
        return results


@asynccontextmanager
async def serving(*archives: FakeArchive, deadline: float = 30.0) -> AsyncIterator[Client]:
    world = World(*archives, deadlines=QUICK)
    registry = Registry([world.archives[name].entry for name in world.archives])
    handler = Availabilities(Answers(world.resolver, registry, "http://x"), registry, deadline)
    routes = Routes({}, {}, _unasked, {"/wayback/available": handler})
    async with (
        world.coalescer,
        listening(Dispatch(routes), "127.0.0.1", 0) as port,
        ClientSession() as session,
    ):
        yield Client(session, f"http://127.0.0.1:{port}")


async def _unasked(request: ClientRequest) -> Response:
    raise AssertionError(request)


def archives() -> tuple[FakeArchive, FakeArchive]:
    return (
        FakeArchive("a", 0.0, ("20100101000000", "20160122112029")),
        FakeArchive("b", 0.0, ("20130601000000",), status=404),
    )


def closest(result: dict[str, object]) -> object:
    snapshots = result["archived_snapshots"]
    assert isinstance(snapshots, dict)
    return snapshots["closest"]


async def test_each_line_gets_its_result_under_its_tag() -> None:
    body = (
        f"url=http%3A%2F%2Fexample.org%2F&timestamp=20100601000000{GOOD}&tag=17\n"
        f"url=http%3A%2F%2Fother.example%2F{GOOD}&tag=x%20y\n"
    )

    async with serving(*archives()) as client:
        held, absent = await client.results(body)

    assert (held["tag"], held["url"], held["timestamp"]) == ("17", URL, "20100601000000")
    assert closest(held) == {
        "available": True,
        "url": f"http://a/20100101000000/{URL}",
        "timestamp": "20100101000000",
        "status": "200",
    }
    assert absent == {
        "tag": "x y",
        "url": "http://other.example/",
        "archived_snapshots": {},
    }


async def test_a_result_states_nothing_where_an_archive_did_not_answer() -> None:
    async with serving(SILENT) as client:
        results = await client.results(f"url={URL}&tag=1")

    assert results == [{"url": URL, "tag": "1"}]


@pytest.mark.parametrize(
    ("side", "stamp"), [("before", "20100101000000"), ("after", "20160122112029")]
)
async def test_closest_before_and_after_are_respected(side: str, stamp: str) -> None:
    async with serving(FakeArchive("a", 0.0, ("20100101000000", "20160122112029"))) as client:
        [result] = await client.results(f"url={URL}&timestamp=2012&closest={side}&tag=1")

    assert stamp in str(closest(result))


@pytest.mark.parametrize(("codes", "stamp"), [("", "20130601000000"), (GOOD, "20160122112029")])
async def test_a_memento_with_a_wanted_status_is_preferred(codes: str, stamp: str) -> None:
    async with serving(*archives()) as client:
        [result] = await client.results(f"url={URL}&timestamp=20140101{codes}&tag=1")

    assert stamp in str(closest(result))


async def test_mementos_of_other_statuses_alone_give_no_result() -> None:
    async with serving(FakeArchive("b", 0.0, ("20130601000000",), status=404)) as client:
        results = await client.results(f"url={URL}{GOOD}&tag=1")

    assert results == [{"url": URL, "tag": "1"}]


async def test_a_memento_of_unknown_status_does_not_replace_one_of_another_status() -> None:
    bad = FakeArchive("b", 0.0, ("20130601000000",), status=404)
    unsure = FakeArchive("a", 0.0, ("20150601000000",), status=None)

    async with serving(bad, unsure) as client:
        [result] = await client.results(f"url={URL}&timestamp=20140101{GOOD}&tag=1")

    assert "archived_snapshots" not in result


async def test_a_memento_of_unknown_status_is_accepted() -> None:
    async with serving(FakeArchive("a", 0.0, ("20130601000000",), status=None)) as client:
        [result] = await client.results(f"url={URL}{GOOD}&tag=1")

    assert "20130601000000" in str(closest(result))


async def test_parameters_of_the_address_apply_to_all_lines() -> None:
    async with serving(*archives()) as client:
        [result] = await client.results(f"url={URL}&timestamp=2013&tag=1", "?archives=a")

    assert f"http://a/20160122112029/{URL}" in str(closest(result))


@pytest.mark.parametrize("query", ["?archives=nobody", "?wait=never"])
async def test_unusable_parameters_of_the_address_are_rejected(query: str) -> None:
    async with serving(*archives()) as client:
        status, _ = await client.post(f"url={URL}&tag=1", query)

    assert status == 400


async def test_a_bad_line_affects_no_other_line() -> None:
    body = f"tag=1\n\nurl=%FF%zz&tag=2\nurl={URL}&closest=sideways&tag=3\nurl={URL}&tag=4\r\n"

    async with serving(*archives()) as client:
        results = await client.results(body)

    assert [one["tag"] for one in results] == ["1", "2", "3", "4"]
    assert ["archived_snapshots" in one for one in results] == [False, False, False, True]


@pytest.mark.parametrize("body", [b"", b"\n\n", b"\xff\xfe\n"])
async def test_a_body_without_lines_gives_no_availability(body: bytes) -> None:
    async with serving(*archives()) as client:
        results = await client.results(body)

    assert not any("archived_snapshots" in one for one in results)


async def test_too_many_lines_are_rejected() -> None:
    async with serving(*archives()) as client:
        status, _ = await client.post("url=x\n" * 1001)

    assert status == 413


async def test_results_that_miss_the_deadline_state_nothing() -> None:
    async with (
        asyncio.timeout(20),
        serving(FakeArchive("slow", 3600.0, ("2010",)), deadline=0.01) as client,
    ):
        results = await client.results(f"url={URL}&tag=1\nurl={URL}&tag=2")

    assert [set(one) for one in results] == [{"url", "tag"}] * 2
