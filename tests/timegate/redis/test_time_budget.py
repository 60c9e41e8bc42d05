"""Waiting for Redis: bounds for one command, and for all commands of one request."""

import asyncio

import pytest

from tests.clock import in_virtual_time
from timegate.redis.time_budget import BoundedWait, OutOfTime, ResponsiveClock
from timegate.resolution.context import TimeBudget


async def waited(
    seconds: float, budget: TimeBudget | None = None, *, bound: float = 0.05
) -> str:
    """Wait for a reply that takes *seconds*, and return how that ended."""
    try:
        async with BoundedWait(ResponsiveClock(), bound, budget):
            await asyncio.sleep(seconds)
    except OutOfTime:
        return "out of budget"
    except TimeoutError:
        return "too slow"
    return "in time"


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(("seconds", "expected"), [(0.04, "in time"), (0.06, "too slow")])
def test_a_wait_that_takes_too_long_is_ended(seconds: float, expected: str) -> None:
    assert in_virtual_time(waited(seconds)) == expected


def test_all_waits_of_a_request_together_take_no_longer_than_its_budget() -> None:
    async def story() -> tuple[list[str], float]:
        began, budget = now(), TimeBudget(0.05)
        said = [await waited(0.02, budget) for _ in range(70)]
        return said, now() - began

    said, took = in_virtual_time(story())

    assert said == ["in time"] * 2 + ["out of budget"] * 68
    assert took == pytest.approx(0.05)


def test_concurrent_waits_count_once() -> None:
    async def story() -> list[str]:
        budget = TimeBudget(0.05)
        first = await asyncio.gather(*(waited(0.03, budget) for _ in range(35)))
        return [*first, await waited(0.01, budget)]

    assert in_virtual_time(story()) == ["in time"] * 36


def test_waits_that_overlap_count_from_the_first_to_the_last() -> None:
    async def story() -> list[str]:
        budget = TimeBudget(0.05)

        async def later() -> str:
            await asyncio.sleep(0.02)
            return await waited(0.02, budget)

        first = await asyncio.gather(waited(0.03, budget), later())
        return [*first, await waited(0.005, budget), await waited(0.01, budget)]

    assert in_virtual_time(story()) == ["in time"] * 3 + ["out of budget"]


def test_tasks_share_the_budget_that_they_are_given() -> None:
    async def story() -> list[str]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(waited(0.04, TimeBudget(0.05)))
        budget = TimeBudget(0.05)
        await waited(0.04, budget)
        async with asyncio.TaskGroup() as group:
            other = group.create_task(waited(0.04, budget))
        return [task.result(), other.result()]

    assert in_virtual_time(story()) == ["in time", "out of budget"]


def test_a_wait_without_a_budget_is_bounded_and_costs_no_budget() -> None:
    async def story() -> list[str]:
        budget = TimeBudget(0.05)
        return [await waited(0.04), await waited(0.06), await waited(0.04, budget)]

    assert in_virtual_time(story()) == ["in time", "too slow", "in time"]


def test_a_budget_can_be_renewed_after_waiting_for_something_else() -> None:
    async def story() -> list[str]:
        budget = TimeBudget(0.05)
        spent = [await waited(0.04, budget), await waited(0.04, budget)]
        budget.renew(0.05)
        return [*spent, await waited(0.04, budget)]

    assert in_virtual_time(story()) == ["in time", "out of budget", "in time"]


def test_a_branch_has_its_reserve_and_no_more() -> None:
    async def story() -> tuple[list[str], float]:
        async def question(budget: TimeBudget) -> list[str]:
            return [await waited(0.009, budget), await waited(0.009, budget)]

        began, budget = now(), TimeBudget(0.05)
        spent = [await waited(0.049, budget), await waited(0.049, budget)]
        async with asyncio.TaskGroup() as group:
            task = group.create_task(question(budget.branch(0.06)))
        return [*spent, *task.result()], now() - began

    said, took = in_virtual_time(story())

    assert said == ["in time", "out of budget", "in time", "out of budget"]
    assert took == pytest.approx(0.06)


def test_branches_wait_side_by_side_and_the_longest_wait_counts_where_they_meet() -> None:
    async def story() -> list[str]:
        async def question(seconds: float, budget: TimeBudget) -> str:
            await asyncio.sleep(seconds)
            return await waited(0.02, budget)

        budget = TimeBudget(0.05)
        first = await waited(0.01, budget)
        questions = [question(number / 10, budget.branch(0.06)) for number in range(35)]
        answers = await asyncio.gather(*questions)
        return [first, *answers, await waited(0.015, budget), await waited(0.01, budget)]

    assert in_virtual_time(story()) == ["in time"] * 37 + ["out of budget"]


def test_without_a_budget_only_each_operation_is_bounded() -> None:
    async def story() -> list[str]:
        return [await waited(0.04) for _ in range(5)]

    assert in_virtual_time(story()) == ["in time"] * 5


def test_a_cancellation_from_outside_is_no_timeout() -> None:
    async def story() -> bool:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(waited(1, bound=10))
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.wait({task})
        return task.cancelled()

    assert in_virtual_time(story())


def test_after_a_busy_loop_the_socket_is_read_once_more() -> None:
    """The timer is due and the answer is there, both found at the same late moment."""

    async def story() -> str:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[None] = loop.create_future()

        def arrive() -> None:
            loop.call_later(0.001, answer.set_result, None)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(_until(answer))
            await asyncio.sleep(0)
            loop._skipping.now += 0.2  # type: ignore[attr-defined]  # noqa: SLF001
            arrive()
        return task.result()

    assert in_virtual_time(story()) == "in time"


async def _until(answer: "asyncio.Future[None]") -> str:
    try:
        async with BoundedWait(ResponsiveClock(), 0.05):
            await answer
    except TimeoutError:
        return "too slow"
    return "in time"
