"""Fair turns in each iteration of the event loop, and slow work beside it."""

import asyncio
import threading
from itertools import count, pairwise

import pytest

from tests.clock import in_virtual_time
from timegate.event_loop import FairTurns, SlowWork


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


async def test_long_iterations_start_fewer_jobs_and_short_ones_more_again() -> None:
    seconds, now = 0.005, count()
    turnstile = FairTurns(4, longest=0.001, clock=lambda: next(now) * seconds)

    async def counted() -> list[int]:
        passed, counts = list[int](), list[int]()
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(_passing(turnstile, number, passed))
            group.create_task(_turns(counts, passed, 20))
        return [later - sooner for sooner, later in pairwise(counts)]

    slow = await counted()
    seconds = 0.0001
    quick = await counted()

    assert slow[1:11] == [2, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert set(slow[2:]) == {0, 1}
    assert max(quick) == 4
    assert quick.count(0) <= 4


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


async def test_the_event_loop_goes_on_beside_slow_work() -> None:
    goes_on = threading.Event()
    asyncio.get_running_loop().call_later(0.01, goes_on.set)

    assert await SlowWork().run(lambda: goes_on.wait(20))


async def test_slow_work_is_done_one_piece_at_a_time_and_in_order() -> None:
    slow, running, done = SlowWork(), list[int](), list[int]()

    def work(number: int) -> None:
        assert running == []
        running.append(number)
        threading.Event().wait(0.001)
        running.remove(number)
        done.append(number)

    await asyncio.gather(*(slow.run(lambda n=n: work(n)) for n in range(20)))  # type: ignore[misc]

    assert done == list(range(20))


async def test_slow_work_does_not_wait_for_others_without_end() -> None:
    slow, released = SlowWork(wait=0.01), threading.Event()

    async with asyncio.TaskGroup() as group:
        first = group.create_task(slow.run(lambda: released.wait(20)))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await slow.run(lambda: None)
        released.set()

    assert first.result()


async def test_cancelled_work_keeps_its_turn_until_its_thread_has_ended() -> None:
    slow, released, running = SlowWork(), threading.Event(), threading.Event()

    def first() -> None:
        running.set()
        released.wait(20)
        raise ValueError("nobody waits for this")

    async with asyncio.TaskGroup() as group:
        cancelled = group.create_task(slow.run(first))
        await asyncio.to_thread(running.wait, 20)
        cancelled.cancel()
        second = group.create_task(slow.run(released.is_set))
        await asyncio.sleep(0.01)
        waits = not second.done()
        released.set()

    assert waits
    assert cancelled.cancelled()
    assert second.result()
