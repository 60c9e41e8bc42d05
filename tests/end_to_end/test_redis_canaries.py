"""Canaries of three replicas over a real Redis: one sends them, all show the results."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from archives.model import NEVER_ARCHIVED
from tests.end_to_end.redis_servers import needs_redis, redis_server
from tests.scenario import FakeArchive
from timegate.observability.canaries import CanaryWatch, watching
from timegate.observability.canary_history import CanaryQuestion, CanaryStore
from timegate.redis.opening import opened
from timegate.resolution.coalescing import fixed

pytestmark = needs_redis

EVERY = 2.0
ARCHIVES = [f"archive-{number}" for number in range(4)]


async def always(_: str) -> bool:
    return True


async def test_of_three_replicas_one_sends_canaries_and_all_show_the_results(
    tmp_path: Path,
) -> None:
    archives = {name: FakeArchive(name, delay=0.2) for name in ARCHIVES}
    questions = [CanaryQuestion(name, "lacks", NEVER_ARCHIVED) for name in ARCHIVES]
    boards = []
    with redis_server(tmp_path) as server:
        async with AsyncExitStack() as stack:
            for _ in range(3):
                shared = await stack.enter_async_context(opened(server.url, bound=5.0))
                board, turns = (
                    CanaryStore(shared.canary_store),
                    shared.locks("a set of archives"),
                )
                # They look at the same times, so that only taking turns keeps them apart.
                watch = CanaryWatch(
                    questions, fixed(archives), board, always, locks=turns, chance=lambda: 0.5
                )
                boards.append(board)
                await stack.enter_async_context(watching(watch, EVERY))
            async with asyncio.timeout(30):
                while not all(map(_knows_all, boards)):  # noqa: ASYNC110 -- each by itself
                    await asyncio.sleep(0.05)
            for question in questions:
                sent = len(archives[question.archive].asked)
                noted = sum(span.times for span in (await boards[0].look(question)).spans)
                # One may be under way: it was sent, and its answer is not noted.
                assert sent - noted in (0, 1)


def _knows_all(board: CanaryStore) -> bool:
    records = board.records.values()
    return len(records) == len(ARCHIVES) and all(one.standing == "kept" for one in records)
