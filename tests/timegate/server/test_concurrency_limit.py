"""The concurrency limit: which requests enter, wait, or are rejected."""

import asyncio

import pytest

from tests.clock import in_virtual_time
from timegate.server.concurrency_limit import (
    EXEMPT,
    Capacity,
    ConcurrencyLimit,
    OctetLimit,
    Rejection,
)

NO_QUEUE = Capacity(in_flight=4, queue=0, wait=10.0)
NOBODY_WAITS_LONG = Capacity(in_flight=4, queue=2, wait=0.0)
PATIENT = Capacity(in_flight=4, queue=2, wait=1000.0)


async def entered(limit: ConcurrencyLimit, *clients: str) -> list[Rejection | None]:
    return [await limit.enter(client) for client in clients]


async def waiting(
    group: asyncio.TaskGroup, limit: ConcurrencyLimit, client: str
) -> "asyncio.Task[Rejection | None]":
    task = group.create_task(limit.enter(client))
    await asyncio.sleep(0)
    return task


async def test_requests_beyond_limit_and_queue_are_rejected_at_once() -> None:
    limit = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(limit, "a", "b", "c", "d", "e")

    assert answers == [None, None, None, None, Rejection("full")]
    assert limit.in_flight == 4


async def test_a_released_place_can_be_taken_again() -> None:
    limit = ConcurrencyLimit(NO_QUEUE)
    await entered(limit, "a", "b", "c", "d")

    limit.leave("a")

    assert await limit.enter("e") is None


async def test_a_single_client_gets_three_quarters_of_the_places() -> None:
    limit = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(limit, "greedy", "greedy", "greedy", "greedy", "other")

    assert answers == [None, None, None, Rejection("full"), None]


async def test_a_client_beyond_its_share_is_rejected_for_that_reason() -> None:
    limit = ConcurrencyLimit(NO_QUEUE)
    await entered(limit, "other", "greedy", "greedy", "greedy")

    assert await limit.enter("greedy") == Rejection("share")
    assert await limit.enter("newcomer") == Rejection("full")


async def test_an_exempt_client_may_take_all_places() -> None:
    limit = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(limit, *([EXEMPT] * 5))

    assert answers == [None, None, None, None, Rejection("full")]


async def test_a_queued_request_gets_the_next_place() -> None:
    limit = ConcurrencyLimit(PATIENT)
    await entered(limit, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        turn = await waiting(group, limit, "e")
        limit.leave("a")

    assert turn.result() is None
    assert (limit.in_flight, limit.queued) == (4, 0)


async def test_a_queued_request_is_rejected_after_the_longest_wait() -> None:
    limit = ConcurrencyLimit(NOBODY_WAITS_LONG)
    await entered(limit, "a", "b", "c", "d")

    assert await limit.enter("e") == Rejection("full")
    assert limit.queued == 0


async def test_the_client_with_the_fewest_requests_is_next() -> None:
    limit = ConcurrencyLimit(PATIENT)
    await entered(limit, "greedy", "greedy", "a", "b")

    async with asyncio.TaskGroup() as group:
        first = await waiting(group, limit, "greedy")
        second = await waiting(group, limit, "new")
        limit.leave("a")
        await asyncio.sleep(0)

        assert second.done()
        assert not first.done()
        limit.leave("b")


async def test_a_client_that_fills_the_queue_yields_to_one_with_fewer_requests() -> None:
    limit = ConcurrencyLimit(PATIENT)
    await entered(limit, "greedy", "greedy", "greedy", "a")

    async with asyncio.TaskGroup() as group:
        early = await waiting(group, limit, "greedy")
        late = await waiting(group, limit, "greedy")
        other = await waiting(group, limit, "other")

        await asyncio.sleep(0)
        assert late.result() == Rejection("share")
        limit.leave("a")
        limit.leave("greedy")

    assert early.result() is None
    assert other.result() is None


async def test_a_request_cancelled_in_the_queue_is_removed() -> None:
    limit = ConcurrencyLimit(PATIENT)
    await entered(limit, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        gone = await waiting(group, limit, "e")
        stays = await waiting(group, limit, "f")
        gone.cancel()
        # Before the one that has left knows it.
        limit.leave("a")

    assert stays.result() is None
    assert (limit.in_flight, limit.queued) == (4, 0)


async def test_a_request_cancelled_with_a_granted_place_releases_it() -> None:
    limit = ConcurrencyLimit(PATIENT)
    await entered(limit, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        gone = await waiting(group, limit, "e")
        limit.leave("a")
        gone.cancel()

    assert (limit.in_flight, limit.queued) == (3, 0)


async def test_twenty_small_clients_get_through_beside_a_large_one() -> None:
    """Nine tenths of the load come from one address, and only that one is refused (LO-04)."""
    limit = ConcurrencyLimit(Capacity(in_flight=16, queue=8, wait=1000.0))
    refused: list[str] = []

    async def request(client: str) -> None:
        refusal = await limit.enter(client)
        if refusal is not None:
            refused.append(client)
            return
        for _ in range(20):
            await asyncio.sleep(0)
        limit.leave(client)

    async with asyncio.TaskGroup() as group:
        for number in range(2_000):
            small = f"small-{number // 10 % 20}"
            group.create_task(request(small if number % 10 == 0 else "large"))
            if number % 2:
                await asyncio.sleep(0)

    assert set(refused) == {"large"}
    assert limit.in_flight == limit.queued == 0


@pytest.mark.parametrize(("in_flight", "share"), [(1, 1), (2, 1), (4, 3), (256, 192)])
def test_a_share_is_three_quarters_and_at_least_one(in_flight: int, share: int) -> None:
    assert Capacity(in_flight=in_flight).share == share


def test_occupied_places_are_overload_even_without_a_queue() -> None:
    async def story() -> list[bool]:
        limit = ConcurrencyLimit(Capacity(in_flight=4, queue=64, wait=0.5))
        await entered(limit, "a", "b", "c")
        states = [limit.overloaded]
        await limit.enter("d")
        states.append(limit.overloaded)
        await asyncio.sleep(0.5)
        states.append(limit.overloaded)
        limit.leave("a")
        states.append(limit.overloaded)
        return states

    assert in_virtual_time(story()) == [False, False, True, False]


def test_rejections_from_the_queue_are_overload_even_while_places_change() -> None:
    async def story() -> list[bool]:
        limit = ConcurrencyLimit(Capacity(in_flight=4, queue=64, wait=0.5))
        await entered(limit, "a", "b", "c", "d")
        refused = await limit.enter("e")
        limit.leave("a")
        await limit.enter("f")
        states = [refused == Rejection("full"), limit.overloaded]
        await asyncio.sleep(5)
        limit.leave("b")
        await limit.enter("g")
        return [*states, limit.overloaded]

    assert in_virtual_time(story()) == [True, True, False]


async def test_octets_wait_for_others_to_end_and_beyond_that_are_rejected() -> None:
    limit = OctetLimit(most=10, wait=5.0)

    assert await limit.enter(100) is None, "one response of any length is sent"
    async with asyncio.TaskGroup() as group:
        queued = group.create_task(limit.enter(6))
        await asyncio.sleep(0)
        assert await limit.enter(5) == Rejection("full"), "at most the limit waits"
        assert limit.overloaded
        limit.leave(100)
    assert queued.result() is None
    assert await limit.enter(4) is None
    assert limit.octets == 10


async def test_octets_that_wait_too_long_are_rejected_and_hold_nothing() -> None:
    limit = OctetLimit(most=10, wait=0.01)

    await limit.enter(10)
    assert await limit.enter(1) == Rejection("full")
    limit.leave(10)
    assert await limit.enter(10) is None
    assert limit.octets == 10
