"""Canaries over a week of virtual time: how often, by which replica, and what is logged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest

from archives.model import NEVER_ARCHIVED, Closest, Memento
from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.scenario import FakeArchive
from timegate.cache.store import MemoryStore
from timegate.observability.canaries import QUIET, CanaryWatch, Quiet, watching
from timegate.observability.canary_history import CanaryQuestion, CanaryStore
from timegate.resolution.coalescing import Question as Turn
from timegate.resolution.coalescing import fixed
from timegate.resolution.context import RequestContext

HOUR = 3600.0
DAY = 24 * HOUR
EVERY = 6 * HOUR
PAGE = "http://example.org/"
HAS = CanaryQuestion("a", "has", PAGE, Moment("2016"))
LACKS = CanaryQuestion("a", "lacks", NEVER_ARCHIVED)


class Archive(FakeArchive):
    """An archive that records when it was asked, and may claim to hold everything."""

    def __init__(self, name: str = "a", *, delay: float = 0.1) -> None:
        super().__init__(name, delay, ("20160122112029",))
        self.times: list[float] = []
        self.claiming = False
        self.begun = asyncio.Event()

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        self.begun.set()
        self.times.append(asyncio.get_running_loop().time())
        if self.claiming:
            self.asked.append((original, at))
            return Closest(Memento("20160122112029", "http://a/1", original, "a"), "timegate")
        return await super().closest(original, at)


async def always(_: str) -> bool:
    return True


@dataclass
class Flock:
    """Archives, and the canary watches of one or several replicas over one store."""

    archives: list[Archive]
    questions: list[CanaryQuestion]
    quiet: Quiet = always
    chance: Callable[[], float] = lambda: 0.5
    store: MemoryStore = field(init=False)
    board: CanaryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(clock=asyncio.get_running_loop().time)
        self.board = CanaryStore(self.store)

    def watch(
        self, board: CanaryStore | None = None, turns: "Turnstile | None" = None
    ) -> CanaryWatch:
        return CanaryWatch(
            self.questions,
            fixed({archive.name: archive for archive in self.archives}),
            board or self.board,
            self.quiet,
            locks=turns,
            clock=asyncio.get_running_loop().time,
            chance=self.chance,
        )


class Turnstile:
    """Locks that let one replica after the other ask a question, as those in Redis do."""

    def __init__(self, locks: dict[Turn, asyncio.Lock]) -> None:
        self._locks = locks

    async def wait(self, question: Turn, context: RequestContext) -> float:
        del context
        await self._locks.setdefault(question, asyncio.Lock()).acquire()
        return 0.0

    def done(self, question: Turn) -> None:
        self._locks[question].release()


def watched(
    story: Callable[[Flock], Coroutine[object, object, None]], quiet: Quiet = always
) -> Flock:
    """Run *story* in the first hours of a watch over one archive."""

    async def whole() -> Flock:
        flock = Flock([Archive()], [HAS, LACKS], quiet)
        async with watching(flock.watch(), EVERY):
            await story(flock)
        return flock

    return in_virtual_time(whole())


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        record.timegate_fields  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "canary"
    ]


def test_each_page_is_asked_about_four_times_a_day() -> None:
    async def story(_: Flock) -> None:
        await asyncio.sleep(7 * DAY)

    flock = watched(story)

    assert 2 * 25 <= len(flock.archives[0].times) <= 2 * 29
    assert flock.board.records[HAS].standing == "kept"
    assert flock.board.records[LACKS].standing == "kept"
    assert all(len(record.spans) == 1 for record in flock.board.records.values())


def test_archives_are_not_asked_all_at_once() -> None:
    async def story() -> list[float]:
        archives = [Archive(f"archive-{number}") for number in range(20)]
        questions = [CanaryQuestion(one.name, "lacks", NEVER_ARCHIVED) for one in archives]
        flock = Flock(archives, questions)
        began = asyncio.get_running_loop().time()
        async with watching(flock.watch(), EVERY):
            await asyncio.sleep(DAY)
        return sorted(time - began for one in archives for time in one.times)

    times = in_virtual_time(story())

    assert times[0] >= QUIET
    # One after the other: each takes a tenth of a second, and is waited for.
    assert all(later - earlier > 0.09 for earlier, later in pairwise(times))
    assert len({int(time / 60) for time in times[:20]}) >= 8


def test_each_flip_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "timegate.events")

    async def story(flock: Flock) -> None:
        await asyncio.sleep(DAY)
        flock.archives[0].stamps = ()
        await asyncio.sleep(DAY)
        flock.archives[0].stamps = ("20160122112029",)
        flock.archives[0].claiming = True
        await asyncio.sleep(DAY)

    watched(story)

    flips = [(one["page"], one["before"], one["state"]) for one in logged(caplog)]
    assert flips[0] == ("has", "kept", "lost")
    assert sorted(flips[1:]) == [("has", "lost", "kept"), ("lacks", "kept", "claims")]
    assert all("http" not in str(one) for one in logged(caplog))


def test_no_answer_is_no_flip_and_is_in_the_history(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "timegate.events")

    async def story(flock: Flock) -> None:
        await asyncio.sleep(DAY)
        flock.archives[0].error = True
        await asyncio.sleep(DAY)
        flock.archives[0].error = False
        flock.archives[0].delay = 1000.0
        await asyncio.sleep(DAY)

    flock = watched(story)

    assert logged(caplog) == []
    record = flock.board.records[HAS]
    assert record.standing == "kept"
    assert [span.verdict for span in record.spans] == ["kept", "unknown"]
    assert record.spans[-1].why == "no answer within 15 s"


def test_an_archive_that_is_busy_with_users_is_asked_later() -> None:
    busy = True

    async def quiet(_: str) -> bool:
        return not busy

    async def story(flock: Flock) -> None:
        nonlocal busy
        await asyncio.sleep(DAY)
        assert flock.archives[0].times == []
        busy = False
        await asyncio.sleep(120)

    flock = watched(story, quiet)

    assert len(flock.archives[0].times) == 2


def test_of_several_replicas_one_asks() -> None:
    async def story() -> tuple[Archive, list[CanaryStore]]:
        flock = Flock([Archive(delay=5.0)], [HAS, LACKS])
        boards = [CanaryStore(flock.store) for _ in range(4)]
        locks: dict[Turn, asyncio.Lock] = {}
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(flock.watch(board, Turnstile(locks)).run(EVERY))
                for board in boards
            ]
            await asyncio.sleep(7 * DAY)
            for task in tasks:
                task.cancel()
        return flock.archives[0], boards

    archive, boards = in_virtual_time(story())

    assert 2 * 25 <= len(archive.times) <= 2 * 29
    assert all(board.records[HAS].standing == "kept" for board in boards)


def test_of_workers_that_look_at_different_times_one_asks() -> None:
    async def story() -> Archive:
        flock = Flock([Archive()], [HAS, LACKS], chance=Random(7).random)  # noqa: S311 -- a spread
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(flock.watch(CanaryStore(flock.store)).run(EVERY))
                for _ in range(4)
            ]
            await asyncio.sleep(7 * DAY)
            for task in tasks:
                task.cancel()
        return flock.archives[0]

    assert 2 * 25 <= len(in_virtual_time(story()).times) <= 2 * 29


def test_a_server_that_restarts_again_and_again_sends_no_canaries() -> None:
    async def story() -> list[float]:
        flock = Flock([Archive()], [HAS, LACKS])
        for _ in range(100):
            async with watching(flock.watch(), EVERY):
                await asyncio.sleep(QUIET - 1)
        return flock.archives[0].times

    assert in_virtual_time(story()) == []


def test_after_a_restart_the_schedule_continues() -> None:
    async def story() -> list[float]:
        flock = Flock([Archive()], [LACKS])
        for _ in range(12):
            async with watching(flock.watch(CanaryStore(flock.store)), EVERY):
                await asyncio.sleep(HOUR)
        return flock.archives[0].times

    assert len(in_virtual_time(story())) == 2


def test_earlier_results_are_known_right_after_a_start() -> None:
    async def story() -> str:
        flock = Flock([Archive()], [LACKS])
        async with watching(flock.watch(), EVERY):
            await asyncio.sleep(HOUR)
        board = CanaryStore(flock.store)
        async with watching(flock.watch(board), EVERY):
            await asyncio.sleep(1)
        return board.records[LACKS].standing

    assert in_virtual_time(story()) == "kept"


def test_the_watch_can_end_in_the_middle_of_a_question() -> None:
    async def story() -> list[float]:
        flock = Flock([Archive(delay=10.0)], [LACKS])
        async with watching(flock.watch(), EVERY):
            await flock.archives[0].begun.wait()
        await asyncio.sleep(DAY)
        return flock.archives[0].times

    assert len(in_virtual_time(story())) == 1
