"""Fair turns: a bounded number of waiters pass in each iteration of the event loop."""

import asyncio
from itertools import pairwise

import pytest

from tests.clock import in_virtual_time
from timegate.event_loop import FairTurns


async def _passing(turnstile: FairTurns, number: int, passed: list[int]) -> None:
    await turnstile.enter()
    passed.append(number)


async def _turns(counts: list[int], passed: list[int], until: int) -> None:
    while len(passed) < until:
        counts.append(len(passed))
        await asyncio.sleep(0)
    counts.append(len(passed))


async def test_a_hundred_waiters_pass_seven_at_a_time_and_in_order() -> None:
    turnstile, passed, counts = FairTurns(7), list[int](), list[int]()

    async with asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(_passing(turnstile, number, passed))
        group.create_task(_turns(counts, passed, 100))

    assert passed == list(range(100))
    assert max(later - sooner for sooner, later in pairwise(counts)) == 7


async def test_a_single_waiter_passes_at_once() -> None:
    turnstile = FairTurns(2)

    for _ in range(2):
        with pytest.raises(StopIteration):
            turnstile.enter().send(None)


async def test_a_cancelled_waiter_takes_no_turn() -> None:
    turnstile, passed = FairTurns(1), list[int]()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_passing(turnstile, n, passed)) for n in range(4)]
        await asyncio.sleep(0)
        for task in tasks[1:3]:
            task.cancel()

    assert passed == [0, 3]


async def test_later_waiters_queue_behind_earlier_ones() -> None:
    turnstile, passed = FairTurns(2), list[int]()

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(_passing(turnstile, number, passed))
        await asyncio.sleep(0)
        group.create_task(_passing(turnstile, 6, passed))

    assert passed == list(range(7))


def test_without_waiters_the_loop_sleeps() -> None:
    async def story() -> None:
        await FairTurns(1).enter()
        # The virtual clock moves only while nothing else is to be done.
        await asyncio.sleep(1_000.0)

    in_virtual_time(story())
