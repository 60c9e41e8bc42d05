"""How long a worker waits for a list."""

import asyncio

from tests.clock import in_virtual_time
from timegate.batch.queue_roles import LONGEST_WAIT_FOR_NEXT, wait_for_job
from timegate.batch.run import QueueStatus
from timegate.batch.stream_queue import Job, StreamQueue
from timegate.resolution.model import Preferences

JOB = Job("next", Preferences(), "")


class Queue(StreamQueue):
    """A queue whose list is complete, or has not come yet."""

    def __init__(self, *, complete: bool) -> None:
        self._is_complete = complete
        self.current: Job | None = None

    async def job(self) -> Job | None:
        return self.current

    async def status(self) -> QueueStatus | None:
        return QueueStatus(5, 5, 1.0, 0.0, complete=True) if self._is_complete else None


class Said(list[str]):
    """What the worker said."""

    def first(self) -> None:
        self.append("first")

    def next(self, seconds: float) -> None:
        self.append(f"next {seconds:g}")


def waited(queue: Queue, comes_after: float) -> tuple[Job | None, list[str], float]:
    async def story() -> tuple[Job | None, list[str], float]:
        clock, said = asyncio.get_running_loop().time, Said()
        began = clock()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(wait_for_job(queue, said))
            await asyncio.sleep(comes_after)
            queue.current = JOB
        return waiting.result(), said, clock() - began

    return in_virtual_time(story())


def test_a_worker_waits_for_a_first_list_however_long_that_takes() -> None:
    assert waited(Queue(complete=False), 5000.5)[:2] == (JOB, ["first"])


def test_after_a_complete_list_a_worker_waits_a_while_for_the_next_one() -> None:
    longest = LONGEST_WAIT_FOR_NEXT

    assert waited(Queue(complete=True), longest - 10)[:2] == (JOB, [f"next {longest:g}"])
    assert waited(Queue(complete=True), longest + 10)[:2] == (None, [f"next {longest:g}"])


def test_a_list_that_is_there_is_not_waited_for() -> None:
    queue = Queue(complete=True)
    queue.current = JOB

    assert waited(queue, 0) == (JOB, [], 0)
