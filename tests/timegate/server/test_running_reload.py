"""Reload: the handler is replaced while requests are being answered."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp.web import BaseRequest, StreamResponse

from archives.registry import Registry
from timegate.config import Config, load_config
from timegate.observability.metrics import Metrics
from timegate.server.process_state import ProcessState
from timegate.server.running import Reload, Reloading

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


BROKEN = [
    "a=" + "[" * 5000,
    "a=" + "{a=" * 5000,
    "\0",
    "listen = 3",
    "[limits]\nin_flight = -1",
    '[[archive]]\nid = "x"\nkind = "memento"\ntimegate = "' + "[" * 5000 + '"',
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
async def test_any_broken_configuration_keeps_the_old_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text("[archives]\nuse = []\n")
    reload = _reload(lambda: load_config(path))
    path.write_text(text)

    await reload()

    assert reload.state.reload_trouble is not None


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _itself(path: Path) -> None:
    path.symlink_to(path.name)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 * 1024**3)


@pytest.mark.parametrize("make", [_pipe, _device, _itself, _sparse, Path.mkdir])
@pytest.mark.parametrize("kind", ["configuration", "archives"])
async def test_what_is_no_file_of_a_configuration_keeps_the_old_one(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    """A pipe that nobody writes to is not waited for, and a device is not read without end."""
    path = tmp_path / "replaced"
    make(path)
    files = (path, None) if kind == "configuration" else (None, path)
    reload = _reload(lambda: load_config(*files))

    await asyncio.wait_for(reload(), 60)

    assert reload.state.reload_trouble is not None
    assert "cannot be read" in reload.state.reload_trouble


@pytest.mark.parametrize("error", [RecursionError(), MemoryError(), ZeroDivisionError()])
async def test_an_unforeseen_error_in_a_reload_keeps_the_old_configuration(
    error: Exception,
) -> None:
    def reread() -> Config:
        raise error

    reload = _reload(reread)
    await reload()

    assert reload.state.reload_trouble == f"not taken over: unforeseen {type(error).__name__}"


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "[1, 2", "\ud800"])
async def test_a_broken_list_of_archives_keeps_the_old_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "archives.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    reload = _reload(lambda: load_config(None, path))

    await reload()

    assert reload.state.reload_trouble is not None


def _reload(reread: Callable[[], Config]) -> Reload:
    config = Config(Registry(()))

    @asynccontextmanager
    async def opening(_: Config) -> AsyncIterator[Callable[[object], Awaitable[object]]]:
        raise AssertionError("a broken configuration was used")
        yield

    reloading: Reloading[Config, BaseRequest, StreamResponse] = Reloading(opening)  # type: ignore[arg-type]
    return Reload(reloading, ProcessState(Metrics()), config, reread)
