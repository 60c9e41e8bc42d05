"""The budget of a resolution: upstream requests, and octets of lists."""

import pytest

from archives.errors import Resting
from archives.source import Fetcher, Purpose, Request
from tests.fakes import Canned, FakeFetcher
from tests.timegate.upstream.guarded import within_budget
from timegate.resolution.context import MOST_REQUESTS, UNLIMITED, Budget, RequestContext

URL = "https://archive.example/list"


async def read(fetch: Fetcher, purpose: Purpose) -> bytes:
    async with fetch(Request("GET", URL, purpose)) as reply:
        return b"".join([chunk async for chunk in reply.chunks()])


async def test_requests_beyond_the_budget_are_not_sent() -> None:
    network = FakeFetcher({URL: Canned()})
    fetch = within_budget(network, "a", RequestContext(budget=Budget(requests=2)))

    for _ in range(2):
        await read(fetch, "memento")
    with pytest.raises(Resting, match="budget of upstream requests"):
        await read(fetch, "memento")

    assert len(network.journal) == 2


async def test_two_archives_draw_on_the_same_budget() -> None:
    network, budget = FakeFetcher({URL: Canned()}), Budget(requests=1)

    await read(within_budget(network, "a", RequestContext(budget=budget)), "memento")
    with pytest.raises(Resting) as caught:
        await read(within_budget(network, "b", RequestContext(budget=budget)), "memento")

    assert caught.value.archive == "b"


async def test_a_list_beyond_the_budget_of_octets_breaks_off() -> None:
    network = FakeFetcher({URL: Canned(body=[bytes(60), bytes(60)])})
    budget = Budget(octets=100)

    with pytest.raises(Resting, match="budget of octets"):
        await read(within_budget(network, "a", RequestContext(budget=budget)), "index")


async def test_a_list_within_the_budget_is_read_whole() -> None:
    network = FakeFetcher({URL: Canned(body=[bytes(60), bytes(40)])})
    budget = Budget(octets=100)

    assert await read(
        within_budget(network, "a", RequestContext(budget=budget)), "index"
    ) == bytes(100)
    assert budget.octets == 0


async def test_without_a_budget_nothing_is_limited() -> None:
    network = FakeFetcher({URL: Canned()})

    for _ in range(MOST_REQUESTS + 1):
        await read(within_budget(network, "a", UNLIMITED), "memento")
