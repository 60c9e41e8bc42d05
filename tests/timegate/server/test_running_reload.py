"""Reload: the handler is replaced while requests are being answered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from timegate.server.running import Reloading

Answer = Callable[[str], Awaitable[str]]


class House:
    """Opens handlers that answer with their name, and records which are open."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.gate = asyncio.Event()
        self.closed = asyncio.Event()

    @asynccontextmanager
    async def opening(self, name: str) -> AsyncIterator[Answer]:
        if name == "wrong":
            raise ValueError("cannot be opened")
        self.open.append(name)

        async def answer(request: str) -> str:
            if request == "slow":
                await self.gate.wait()
            return f"{request} by {name}, open: {name in self.open}"

        try:
            yield answer
        finally:
            self.open.remove(name)
            self.closed.set()


async def test_requests_go_to_the_newest_handler() -> None:
    house = House()

    async with Reloading(house.opening) as answering:
        await answering.open("old")
        before = await answering("one")
        await answering.open("new")
        after = await answering("two")

    assert (before, after) == ("one by old, open: True", "two by new, open: True")
    assert house.open == []


async def test_the_old_handler_stays_open_until_its_last_request_is_answered() -> None:
    house = House()

    async with Reloading(house.opening) as answering, asyncio.TaskGroup() as group:
        await answering.open("old")
        slow = group.create_task(answering("slow"))
        await asyncio.sleep(0)
        await answering.open("new")
        meanwhile = list(house.open)
        house.gate.set()

    assert meanwhile == ["old", "new"]
    assert slow.result() == "slow by old, open: True"


async def test_an_old_handler_with_an_endless_request_is_closed_after_the_grace_time() -> None:
    house = House()

    async with (
        Reloading(house.opening, patience=0.0) as answering,
        asyncio.TaskGroup() as group,
    ):
        await answering.open("old")
        slow = group.create_task(answering("slow"))
        await asyncio.sleep(0)
        await answering.open("new")
        await house.closed.wait()
        house.gate.set()

    assert slow.result() == "slow by old, open: False"


async def test_a_handler_that_cannot_be_opened_changes_nothing() -> None:
    house = House()

    async with Reloading(house.opening) as answering:
        await answering.open("old")
        with pytest.raises(ValueError, match="cannot be opened"):
            await answering.open("wrong")
        answer = await answering("one")

    assert answer == "one by old, open: True"


async def test_the_error_of_the_first_handler_is_raised_unchanged() -> None:
    with pytest.raises(ValueError, match="cannot be opened"):
        async with Reloading(House().opening) as answering:
            await answering.open("wrong")


async def test_a_handler_that_fails_ends_the_block() -> None:
    failed = asyncio.Event()
    breaking = asyncio.Event()

    @asynccontextmanager
    async def opening(name: str) -> AsyncIterator[Answer]:
        async def breaks() -> None:
            await breaking.wait()
            raise OSError(name)

        async def answer(request: str) -> str:
            return request

        async with asyncio.TaskGroup() as group:
            group.create_task(breaks())
            yield answer

    async def story() -> None:
        async with Reloading(opening, failed.set) as answering:
            await answering.open("only")
            breaking.set()
            await failed.wait()

    with pytest.raises(ExceptionGroup) as caught:
        await story()

    assert caught.group_contains(OSError, match="only")


async def test_requests_are_rejected_before_the_first_handler_is_open() -> None:
    async with Reloading(House().opening) as answering:
        with pytest.raises(RuntimeError):
            await answering("one")
