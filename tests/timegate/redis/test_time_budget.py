"""How long the shared memory may be waited for."""

import asyncio

import pytest

from tests.clock import in_virtual_time
from timegate.redis.time_budget import (
    BoundedWait,
    OutOfTime,
    ResponsiveClock,
    branch,
    patient,
    renew,
)


async def waited(seconds: float, bound: float = 0.05, *, counted: bool = True) -> str:
    try:
        async with BoundedWait(ResponsiveClock(), bound, counted=counted):
            await asyncio.sleep(seconds)
    except OutOfTime:
        return "impatient"
    except TimeoutError:
        return "too slow"
    return "in time"


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize(("seconds", "expected"), [(0.04, "in time"), (0.06, "too slow")])
def test_what_takes_too_long_is_ended(seconds: float, expected: str) -> None:
    assert in_virtual_time(waited(seconds)) == expected


def test_a_request_waits_no_longer_in_sum_than_once() -> None:
    async def story() -> tuple[list[str], float]:
        began = now()
        with patient(0.05):
            said = [await waited(0.02) for _ in range(70)]
        return said, now() - began

    said, took = in_virtual_time(story())

    assert said == ["in time"] * 2 + ["impatient"] * 68
    assert took == pytest.approx(0.05)


def test_what_is_waited_for_at_the_same_time_counts_once() -> None:
    async def story() -> list[str]:
        with patient(0.05):
            first = await asyncio.gather(*(waited(0.03) for _ in range(35)))
            return [*first, await waited(0.01)]

    assert in_virtual_time(story()) == ["in time"] * 36


def test_waits_that_overlap_count_from_the_first_to_the_last() -> None:
    async def story() -> list[str]:
        async def later() -> str:
            await asyncio.sleep(0.02)
            return await waited(0.02)

        with patient(0.05):
            first = await asyncio.gather(waited(0.03), later())
            return [*first, await waited(0.005), await waited(0.01)]

    assert in_virtual_time(story()) == ["in time"] * 3 + ["impatient"]


def test_tasks_share_the_patience_of_the_request_that_started_them() -> None:
    async def story() -> list[str]:
        with patient(0.05):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(waited(0.04))
        with patient(0.05):
            await waited(0.04)
            async with asyncio.TaskGroup() as group:
                other = group.create_task(waited(0.04))
        return [task.result(), other.result()]

    assert in_virtual_time(story()) == ["in time", "impatient"]


def test_what_is_not_counted_is_bounded_all_the_same() -> None:
    async def story() -> list[str]:
        with patient(0.05):
            return [
                await waited(0.04, counted=False),
                await waited(0.06, counted=False),
                await waited(0.04),
            ]

    assert in_virtual_time(story()) == ["in time", "too slow", "in time"]


def test_who_waited_for_something_else_may_wait_anew() -> None:
    async def story() -> list[str]:
        with patient(0.05):
            spent = [await waited(0.04), await waited(0.04)]
            renew(0.05)
            return [*spent, await waited(0.04)]

    assert in_virtual_time(story()) == ["in time", "impatient", "in time"]


def test_a_branch_has_what_is_kept_back_and_no_more() -> None:
    async def story() -> tuple[list[str], float]:
        async def question() -> list[str]:
            branch(0.06)
            return [await waited(0.009), await waited(0.009)]

        began = now()
        with patient(0.05):
            spent = [await waited(0.049), await waited(0.049)]
            async with asyncio.TaskGroup() as group:
                task = group.create_task(question())
        return [*spent, *task.result()], now() - began

    said, took = in_virtual_time(story())

    assert said == ["in time", "impatient", "in time", "impatient"]
    assert took == pytest.approx(0.06)


def test_branches_wait_side_by_side_and_the_longest_way_counts_where_they_meet() -> None:
    async def story() -> list[str]:
        async def question(seconds: float) -> str:
            branch(0.06)
            await asyncio.sleep(seconds)
            return await waited(0.02)

        with patient(0.05):
            first = await waited(0.01)
            questions = await asyncio.gather(*(question(number / 10) for number in range(35)))
            return [first, *questions, await waited(0.015), await waited(0.01)]

    assert in_virtual_time(story()) == ["in time"] * 37 + ["impatient"]


def test_without_a_request_there_is_no_branch() -> None:
    async def story() -> list[str]:
        branch(0.01)
        return [await waited(0.04) for _ in range(5)]

    assert in_virtual_time(story()) == ["in time"] * 5


def test_without_a_request_only_each_operation_is_bounded() -> None:
    async def story() -> list[str]:
        return [await waited(0.04) for _ in range(5)]

    assert in_virtual_time(story()) == ["in time"] * 5


def test_who_is_cancelled_from_outside_is_cancelled() -> None:
    async def story() -> bool:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(waited(1, 10))
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.wait({task})
        return task.cancelled()

    assert in_virtual_time(story())


def test_a_loop_that_was_busy_looks_into_the_socket_once_more() -> None:
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
