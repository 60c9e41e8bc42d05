"""Turns: one piece of work on lists in each iteration of the event loop."""

import asyncio

from timegate.timemaps.lane import Turns


async def test_one_turn_is_granted_in_each_iteration_in_the_order_of_requests() -> None:
    turns = Turns()
    granted: list[tuple[int, int]] = []
    iteration = 0

    async def count() -> None:
        nonlocal iteration
        while True:
            await asyncio.sleep(0)
            iteration += 1

    async def work(number: int) -> None:
        await turns.next()
        granted.append((number, iteration))

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count())
        await asyncio.gather(*map(work, range(20)))
        counting.cancel()

    assert [number for number, _ in granted] == [*range(20)]
    iterations = [at for _, at in granted]
    assert iterations == [*range(iterations[0], iterations[0] + 20)]


async def test_a_cancelled_wait_takes_no_turn_from_another() -> None:
    turns = Turns()
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(turns.next()) for _ in range(2))
        await asyncio.sleep(0)

        first.cancel()
        await asyncio.wait_for(second, 5)

    assert first.cancelled()


async def test_turns_are_granted_again_after_a_pause() -> None:
    turns = Turns()
    for _ in range(3):
        await asyncio.wait_for(turns.next(), 5)
        await asyncio.sleep(0)
