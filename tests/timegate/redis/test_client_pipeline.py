"""The pipeline: commands of one iteration of the event loop are sent together."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.clock import in_virtual_time
from timegate.redis.client import Pipeline
from timegate.redis.connections import Down, Word
from timegate.redis.time_budget import ResponsiveClock

Commands = Sequence[Sequence[Word]]


class Server:
    """Answers each command with itself, after a pause."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.batches: list[int] = []
        self.most_at_once = 0
        self.failure: Exception | None = None
        self._seconds = seconds
        self._now = 0

    async def run(self, commands: Commands) -> list[object]:
        self.batches.append(len(commands))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._now -= 1
        if self.failure is not None:
            raise self.failure
        return [ValueError() if command[0] == "bad" else command[0] for command in commands]


def batches(server: Server) -> Pipeline:
    return Pipeline(server.run, ResponsiveClock(), 0.05)


async def answers(batches: Pipeline, *words: str, place: str = "") -> list[object]:
    asked = [batches.put(place, [word]) for word in words]
    return await asyncio.gather(*asked, return_exceptions=True)


def test_commands_of_one_iteration_are_sent_together_and_each_gets_its_answer() -> None:
    server = Server()

    replies = in_virtual_time(answering(server, "a", "b", "c"))

    assert replies == ["a", "b", "c"]
    assert server.batches == [3]


async def answering(server: Server, *words: str) -> list[object]:
    return await answers(batches(server), *words)


def test_a_failed_command_does_not_affect_the_others() -> None:
    replies = in_virtual_time(answering(Server(), "a", "bad", "c"))

    assert [replies[0], type(replies[1]), replies[2]] == ["a", ValueError, "c"]


@pytest.mark.parametrize("seconds", [0.01, 1.0])
def test_a_batch_that_fails_or_takes_too_long_fails_for_all(seconds: float) -> None:
    server = Server(seconds)
    server.failure = Down("gone")

    replies = in_virtual_time(answering(server, "a", "b"))

    assert [isinstance(answer, Down | TimeoutError) for answer in replies] == [True, True]


def test_the_size_and_the_number_of_batches_are_bounded() -> None:
    server = Server()

    replies = in_virtual_time(answering(server, *map(str, range(5000))))

    assert replies == [*map(str, range(5000))]
    assert max(server.batches) == 256
    assert server.most_at_once == 8


def test_commands_that_come_while_all_batches_are_in_use_are_sent_together() -> None:
    server = Server()

    async def story() -> None:
        to_server = batches(server)
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(answers(to_server, str(number)))
                await asyncio.sleep(0.0001)

    in_virtual_time(story())
    assert server.batches == [1] * 8 + [42]


def test_each_server_gets_its_own_batch() -> None:
    server = Server()

    async def story() -> None:
        to_server = batches(server)
        await asyncio.gather(answers(to_server, "a", place="x"), answers(to_server, "b"))

    in_virtual_time(story())
    assert server.batches == [1, 1]


def test_a_cancelled_command_is_not_sent() -> None:
    server = Server()

    async def story() -> object:
        to_server = batches(server)
        gone, there = to_server.put("", ["a"]), to_server.put("", ["b"])
        gone.cancel()
        return await there

    assert in_virtual_time(story()) == "b"
    assert server.batches == [1]


def test_if_all_commands_are_cancelled_the_next_batch_can_start() -> None:
    server = Server()

    async def story() -> list[object]:
        to_server = batches(server)
        to_server.put("", ["a"]).cancel()
        await asyncio.sleep(0)
        return await answers(to_server, "b")

    assert in_virtual_time(story()) == ["b"]


def test_closing_cancels_waiting_commands() -> None:
    async def story() -> bool:
        to_server = batches(Server(0.04))
        waiting = to_server.put("", ["a"])
        await asyncio.sleep(0.01)
        to_server.close()
        await asyncio.wait({waiting})
        return waiting.cancelled()

    assert in_virtual_time(story())
