"""A server that is slow, each time otherwise, costs no request more than is promised."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from archives.adapters import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from tests.clock import in_virtual_time
from timegate.redis.address import RedisAddress, parse_address
from timegate.redis.client import RedisClient
from timegate.redis.connections import RedisConnection, Word
from timegate.redis.locks import Question
from timegate.redis.opening import SharedState
from timegate.redis.time_budget import IN_ALL, patient

ARCHIVES = 5
LIMITS = Limits(Rate(100, 1, 100), Rate(100, 1, 100), 8, "")
AT = Moment("2020")
SECONDS = st.one_of(
    st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.03, 0.034, 0.036, 1000.0]), st.floats(0, 0.1)
)


class SlowConnection:
    """An empty server that answers after a while, each batch after another one."""

    def __init__(self, pauses: Sequence[float]) -> None:
        self._pauses = list(pauses)
        self._batches = 0

    def place(self, key: str) -> str:
        del key
        return "slow"

    async def run(self, *command: Word) -> object:
        return _answer(command)

    async def run_all(self, commands: Sequence[Sequence[Word]]) -> list[object]:
        pause = self._pauses[self._batches % len(self._pauses)]
        self._batches += 1
        await asyncio.sleep(pause)
        return [_answer(command) for command in commands]

    async def scan(self, pattern: str) -> AsyncGenerator[list[bytes], None]:
        del pattern
        yield []

    async def close(self) -> None:
        return


def _answer(command: Sequence[Word]) -> object:
    match command[0]:
        case "GETRANGE":
            return b""
        case "EXISTS":
            return 0
        case "EVALSHA":
            return [b"ab", b"0", b"0", b"9"]
        case _:
            return b"OK"


def entry(name: str) -> ArchiveEntry:
    return ArchiveEntry(
        name, name, KINDS["memento"], use=True, because="", access="open", limits=LIMITS
    )


async def one_request(shared: SharedState) -> None:
    """Do what a request does that finds nothing: look up, then ask every archive."""
    turns = shared.turns("1")

    async def question(number: int) -> None:
        name = f"a{number}"
        asked: Question = (name, "http://example.org/", AT, "closest")
        await turns.wait(asked)
        await shared.store.get(name)
        await shared.ledger(entry(name)).take("memento")
        await shared.store.put(name, b"value", 60, 60)
        turns.done(asked)

    with patient():
        for url in range(2):
            await asyncio.gather(*(shared.store.get(f"{url} {n}") for n in range(ARCHIVES)))
            async with asyncio.TaskGroup() as group:
                for number in range(ARCHIVES):
                    group.create_task(question(number))


@given(st.lists(SECONDS, min_size=1, max_size=12))
@example([0.015])
@example([0.03])
@example([0.0, 0.034])
def test_a_request_waits_no_longer_than_promised(pauses: list[float]) -> None:
    def connect(address: RedisAddress) -> RedisConnection:
        del address
        return SlowConnection(pauses)

    async def story() -> float:
        clock = asyncio.get_running_loop().time
        address = parse_address("redis://127.0.0.1")
        async with RedisClient(address, monotonic=clock, connect=connect) as client:
            shared = SharedState(client, 1, clock)
            began = clock()
            await one_request(shared)
            return clock() - began

    assert in_virtual_time(story()) <= IN_ALL + 1e-6
