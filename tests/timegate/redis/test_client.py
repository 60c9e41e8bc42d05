"""The Redis client: a server that fails is left alone, probed, and used again."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from itertools import pairwise
from typing import TypeVar

import pytest

from tests.clock import in_virtual_time
from timegate.redis.address import RedisAddress, parse_address
from timegate.redis.client import RedisClient, RedisUnavailable, Spoiled
from timegate.redis.connections import Denied, Down, Missing, Word

T = TypeVar("T")
ADDRESS = parse_address("redis://:hunter2@127.0.0.1")


class FakeConnection:
    """Two servers: keys that begin with "b" are on the second."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.denied = False
        self.silent = False
        self.probes: list[float] = []
        self.asked = 0
        self.said: dict[str, object] = {}
        """What is answered to a probe instead of the right thing."""

    def place(self, key: str) -> str:
        return "second" if key.removeprefix("timegate:1:probe:{").startswith("b") else "first"

    async def run(self, *command: Word) -> object:
        self.probes.append(asyncio.get_running_loop().time() - 1000)
        await self._answered(command)
        return self.said.get(str(command[0]), 0 if command[0] == "EXISTS" else True)

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        self.asked += len(commands)
        if isinstance(self.failure, Spoiled):
            return [self.failure] * len(commands)
        return [await self._answered(command) for command in commands]

    async def _answered(self, command: Sequence[Word]) -> object:
        if self.place(str(command[1])) == "second":
            return b"well"
        if self.silent:
            await asyncio.sleep(1000)
        if self.failure is not None:
            raise self.failure
        if self.denied and command[0] == "SET":
            raise Denied("OOM")
        return b"well"

    async def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        del pattern
        yield []

    async def close(self) -> None:
        return


class Story:
    """A client over the fake, in virtual time."""

    def __init__(self) -> None:
        self.connection = FakeConnection()

    def connect(self, address: RedisAddress) -> FakeConnection:
        del address
        return self.connection

    def client(self) -> RedisClient:
        clock = asyncio.get_running_loop().time
        return RedisClient(ADDRESS, monotonic=clock, connect=self.connect)


async def read(client: RedisClient, key: str = "a") -> object:
    try:
        return await client.read(key, "GET", key)
    except RedisUnavailable:
        return None


async def written(client: RedisClient, key: str = "a") -> object:
    try:
        return await client.write(key, "SET", key, "1")
    except RedisUnavailable:
        return None


def run(story: Coroutine[object, object, T]) -> T:
    return in_virtual_time(story)


@pytest.mark.parametrize("failure", [Down("gone"), None])
def test_after_the_first_failure_no_command_is_sent(failure: Exception | None) -> None:
    async def story() -> tuple[list[object], int, str | None]:
        world = Story()
        async with world.client() as client:
            world.connection.failure, world.connection.silent = failure, failure is None
            answers = [await read(client) for _ in range(10)]
            return answers, world.connection.asked, client.trouble

    answers, asked, trouble = run(story())
    assert answers == [None] * 10
    assert asked == 1
    assert trouble == ("first: gone" if failure else "first: slower than 0.035 s")


def test_probes_have_pauses_that_grow_to_four_seconds() -> None:
    async def story() -> list[float]:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Down("gone")
            await read(client)
            world.connection.probes.clear()
            await asyncio.sleep(60)
            return world.connection.probes

    probes = run(story())
    pauses = [later - sooner for sooner, later in pairwise(probes)]
    assert 0.2 <= probes[0] <= 0.25
    assert 3.2 <= max(pauses) <= 4
    assert min(pauses[5:]) >= 3.2


def test_once_the_server_is_back_commands_are_answered() -> None:
    async def story() -> tuple[object, str | None]:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Down("gone")
            await read(client)
            await asyncio.sleep(30)
            world.connection.failure = None
            await asyncio.sleep(5)
            return await read(client), client.trouble

    assert run(story()) == (b"well", None)


def test_the_failure_of_one_server_leaves_the_others_in_use() -> None:
    async def story() -> tuple[object, object]:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Down("gone")
            await read(client)
            return await read(client), await read(client, "b")

    assert run(story()) == (None, b"well")


def test_if_writing_is_denied_reading_goes_on() -> None:
    async def story() -> tuple[object, object, str | None]:
        world = Story()
        async with world.client() as client:
            world.connection.denied = True
            await written(client)
            return await written(client), await read(client), client.trouble

    assert run(story()) == (None, b"well", "first: OOM")


def test_once_writing_is_allowed_again_it_is_used() -> None:
    async def story() -> object:
        world = Story()
        async with world.client() as client:
            world.connection.denied = True
            await written(client)
            await asyncio.sleep(10)
            world.connection.denied = False
            await asyncio.sleep(5)
            return await written(client)

    assert run(story()) == b"well"


def test_there_is_one_warning_a_minute_and_no_password_in_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> None:
        world = Story()
        async with world.client() as client:
            for _ in range(100):
                world.connection.failure = Down("hunter2 is wrong")
                await read(client)
                world.connection.failure = None
                await asyncio.sleep(1.19)

    with caplog.at_level(logging.WARNING):
        run(story())

    assert [record.getMessage() for record in caplog.records] == [
        "Redis is not used: first: *** is wrong"
    ] * 2


def test_a_server_that_is_missing_at_the_start_does_not_prevent_the_start() -> None:
    async def story() -> tuple[str | None, object]:
        world = Story()
        world.connection.failure = Down("gone")
        async with world.client() as client:
            trouble = client.trouble
            world.connection.failure = None
            await asyncio.sleep(1)
            return trouble, await read(client)

    assert run(story()) == ("first: gone", b"well")


@pytest.mark.parametrize("lie", [Spoiled("WRONGTYPE"), Missing()])
def test_after_a_probe_with_a_false_reply_there_is_another(lie: Exception) -> None:
    async def story() -> tuple[object, str | None]:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Down("gone")
            await read(client)
            world.connection.failure = lie
            await asyncio.sleep(30)
            world.connection.failure = None
            await asyncio.sleep(5)
            return await read(client), client.trouble

    assert run(story()) == (b"well", None)


@pytest.mark.parametrize("lie", [Spoiled("WRONGTYPE"), Missing()])
def test_false_replies_at_the_start_do_not_prevent_the_start(lie: Exception) -> None:
    async def story() -> str | None:
        world = Story()
        world.connection.failure = lie
        async with world.client() as client:
            return client.trouble

    assert run(story()) is not None


@pytest.mark.parametrize(
    ("command", "lie", "trouble"),
    [
        ("EXISTS", b"OK", "first: it replies b'OK' to 'EXISTS'"),
        ("EXISTS", 2, "first: it replies 2 to 'EXISTS'"),
        ("EXISTS", [], "first: it replies [] to 'EXISTS'"),
        ("SET", None, "first: it replies None to 'SET'"),
    ],
)
def test_a_server_that_answers_nonsense_is_not_used(
    command: str, lie: object, trouble: str
) -> None:
    async def story() -> tuple[str | None, object]:
        world = Story()
        world.connection.said = {command: lie}
        async with world.client() as client:
            said = client.trouble
            world.connection.said = {}
            await asyncio.sleep(5)
            return said, await read(client)

    assert run(story()) == (trouble, b"well")


def test_a_missing_script_error_for_another_command_means_unavailable() -> None:
    async def story() -> tuple[object, object]:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Missing()
            return await read(client), await written(client)

    assert run(story()) == (None, None)


def test_a_foreign_value_is_no_failure_of_the_server() -> None:
    async def story() -> str | None:
        world = Story()
        async with world.client() as client:
            world.connection.failure = Spoiled("WRONGTYPE")
            with pytest.raises(Spoiled):
                await client.read("a", "GET", "a")
            return client.trouble

    assert run(story()) is None
