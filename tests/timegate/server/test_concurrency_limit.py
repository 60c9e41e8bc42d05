"""The concurrency limit: which requests enter, wait, or are rejected."""

import asyncio

import pytest

from tests.clock import in_virtual_time
from timegate.server.concurrency_limit import EXEMPT, Capacity, ConcurrencyLimit, Rejection

NO_QUEUE = Capacity(in_flight=4, queue=0, wait=10.0)
NOBODY_WAITS_LONG = Capacity(in_flight=4, queue=2, wait=0.0)
PATIENT = Capacity(in_flight=4, queue=2, wait=1000.0)


async def entered(admission: ConcurrencyLimit, *clients: str) -> list[Rejection | None]:
    return [await admission.enter(client) for client in clients]


async def waiting(
    group: asyncio.TaskGroup, admission: ConcurrencyLimit, client: str
) -> "asyncio.Task[Rejection | None]":
    task = group.create_task(admission.enter(client))
    await asyncio.sleep(0)
    return task


async def test_requests_beyond_limit_and_queue_are_rejected_at_once() -> None:
    admission = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(admission, "a", "b", "c", "d", "e")

    assert answers == [None, None, None, None, Rejection("full")]
    assert admission.in_flight == 4


async def test_a_released_place_can_be_taken_again() -> None:
    admission = ConcurrencyLimit(NO_QUEUE)
    await entered(admission, "a", "b", "c", "d")

    admission.leave("a")

    assert await admission.enter("e") is None


async def test_a_single_client_gets_three_quarters_of_the_places() -> None:
    admission = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(admission, "greedy", "greedy", "greedy", "greedy", "other")

    assert answers == [None, None, None, Rejection("full"), None]


async def test_a_client_beyond_its_share_is_rejected_for_that_reason() -> None:
    admission = ConcurrencyLimit(NO_QUEUE)
    await entered(admission, "other", "greedy", "greedy", "greedy")

    assert await admission.enter("greedy") == Rejection("share")
    assert await admission.enter("newcomer") == Rejection("full")


async def test_an_exempt_client_may_take_all_places() -> None:
    admission = ConcurrencyLimit(NO_QUEUE)

    answers = await entered(admission, *([EXEMPT] * 5))

    assert answers == [None, None, None, None, Rejection("full")]


async def test_a_queued_request_gets_the_next_place() -> None:
    admission = ConcurrencyLimit(PATIENT)
    await entered(admission, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        turn = await waiting(group, admission, "e")
        admission.leave("a")

    assert turn.result() is None
    assert (admission.in_flight, admission.queued) == (4, 0)


async def test_a_queued_request_is_rejected_after_the_longest_wait() -> None:
    admission = ConcurrencyLimit(NOBODY_WAITS_LONG)
    await entered(admission, "a", "b", "c", "d")

    assert await admission.enter("e") == Rejection("full")
    assert admission.queued == 0


async def test_the_client_with_the_fewest_requests_is_next() -> None:
    admission = ConcurrencyLimit(PATIENT)
    await entered(admission, "greedy", "greedy", "a", "b")

    async with asyncio.TaskGroup() as group:
        first = await waiting(group, admission, "greedy")
        second = await waiting(group, admission, "new")
        admission.leave("a")
        await asyncio.sleep(0)

        assert second.done()
        assert not first.done()
        admission.leave("b")


async def test_a_client_that_fills_the_queue_yields_to_one_with_fewer_requests() -> None:
    admission = ConcurrencyLimit(PATIENT)
    await entered(admission, "greedy", "greedy", "greedy", "a")

    async with asyncio.TaskGroup() as group:
        early = await waiting(group, admission, "greedy")
        late = await waiting(group, admission, "greedy")
        other = await waiting(group, admission, "other")

        await asyncio.sleep(0)
        assert late.result() == Rejection("share")
        admission.leave("a")
        admission.leave("greedy")

    assert early.result() is None
    assert other.result() is None


async def test_a_request_cancelled_in_the_queue_is_removed() -> None:
    admission = ConcurrencyLimit(PATIENT)
    await entered(admission, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        gone = await waiting(group, admission, "e")
        stays = await waiting(group, admission, "f")
        gone.cancel()
        # Before the one that has left knows it.
        admission.leave("a")

    assert stays.result() is None
    assert (admission.in_flight, admission.queued) == (4, 0)


async def test_a_request_cancelled_with_a_granted_place_releases_it() -> None:
    admission = ConcurrencyLimit(PATIENT)
    await entered(admission, "a", "b", "c", "d")

    async with asyncio.TaskGroup() as group:
        gone = await waiting(group, admission, "e")
        admission.leave("a")
        gone.cancel()

    assert (admission.in_flight, admission.queued) == (3, 0)


async def test_twenty_small_clients_get_through_beside_a_large_one() -> None:
    """Nine tenths of the load come from one address, and only that one is refused (LO-04)."""
    admission = ConcurrencyLimit(Capacity(in_flight=16, queue=8, wait=1000.0))
    refused: list[str] = []

    async def request(client: str) -> None:
        refusal = await admission.enter(client)
        if refusal is not None:
            refused.append(client)
            return
        for _ in range(20):
            await asyncio.sleep(0)
        admission.leave(client)

    async with asyncio.TaskGroup() as group:
        for number in range(2_000):
            small = f"small-{number // 10 % 20}"
            group.create_task(request(small if number % 10 == 0 else "large"))
            if number % 2:
                await asyncio.sleep(0)

    assert set(refused) == {"large"}
    assert admission.in_flight == admission.queued == 0


@pytest.mark.parametrize(("in_flight", "share"), [(1, 1), (2, 1), (4, 3), (256, 192)])
def test_a_share_is_three_quarters_and_at_least_one(in_flight: int, share: int) -> None:
    assert Capacity(in_flight=in_flight).share == share


def test_occupied_places_are_overload_even_without_a_queue() -> None:
    async def story() -> list[bool]:
        admission = ConcurrencyLimit(Capacity(in_flight=4, queue=64, wait=0.5))
        await entered(admission, "a", "b", "c")
        told = [admission.overloaded]
        await admission.enter("d")
        told.append(admission.overloaded)
        await asyncio.sleep(0.5)
        told.append(admission.overloaded)
        admission.leave("a")
        told.append(admission.overloaded)
        return told

    assert in_virtual_time(story()) == [False, False, True, False]


def test_rejections_from_the_queue_are_overload_even_while_places_change() -> None:
    async def story() -> list[bool]:
        admission = ConcurrencyLimit(Capacity(in_flight=4, queue=64, wait=0.5))
        await entered(admission, "a", "b", "c", "d")
        refused = await admission.enter("e")
        admission.leave("a")
        await admission.enter("f")
        told = [refused == Rejection("full"), admission.overloaded]
        await asyncio.sleep(5)
        admission.leave("b")
        await admission.enter("g")
        return [*told, admission.overloaded]

    assert in_virtual_time(story()) == [True, True, False]
