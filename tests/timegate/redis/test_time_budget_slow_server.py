"""A Redis of varying slowness costs no request more time than is promised."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from tests.clock import in_virtual_time
from timegate.cache import AnswerCache
from timegate.redis.address import RedisAddress, parse_address
from timegate.redis.client import RedisClient
from timegate.redis.connections import RedisConnection, Word
from timegate.redis.locks import Question
from timegate.redis.opening import SharedState
from timegate.resolution.context import (
    REDIS_TIME_WITH_QUESTION,
    RequestContext,
    TimeBudget,
)

ARCHIVES = 5
LIMITS = Limits(Rate(100, 1, 100), Rate(100, 1, 100), 8, "")
AT = Moment("2020")
SECONDS = st.one_of(
    st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.03, 0.034, 0.036, 1000.0]), st.floats(0, 0.1)
)


class SlowConnection:
    """An empty Redis that answers after a pause, a different one for each batch."""

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
        case "EVALSHA" if ":lock:" in str(command[3]):
            return [0] * (len(command) - 6)
        case "EVALSHA":
            return [b"ab", b"0", b"0", b"9", 1, 0]
        case _:
            return b"OK"


def entry(name: str) -> ArchiveEntry:
    return ArchiveEntry(
        name, name, KINDS["memento"], use=True, because="", access="open", limits=LIMITS
    )


async def one_request(shared: SharedState, cache: AnswerCache) -> None:
    """Do what a request does that finds nothing: look up, then ask every archive."""
    locks = shared.locks("1")

    async def question(number: int, budget: TimeBudget) -> None:
        name = f"a{number}"
        asked: Question = (name, "http://example.org/", AT, "closest")
        await locks.wait(asked, RequestContext(redis_time=budget))
        await shared.store.get(name, budget)
        await shared.rate_limiter(entry(name)).take("memento", budget)
        await cache.remember(name, "http://example.org/", AT, None, budget)
        locks.done(asked)

    budget = TimeBudget()
    for url in range(2):
        keys = [f"{url} {number}" for number in range(ARCHIVES)]
        await asyncio.gather(*(shared.store.get(key, budget) for key in keys))
        async with asyncio.TaskGroup() as group:
            for number in range(ARCHIVES):
                group.create_task(question(number, budget.branch()))


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
            cache = AnswerCache(shared.store, clock, "1")
            began = clock()
            await one_request(shared, cache)
            spent = clock() - began
            await cache.aclose()
            return spent

    assert in_virtual_time(story()) <= REDIS_TIME_WITH_QUESTION + 1e-6
