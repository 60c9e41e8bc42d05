"""Identical questions are asked once, in one process and over all replicas."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from archives.errors import ArchiveError, Internal, Unreachable
from archives.model import Closest
from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.scenario import FakeArchive, FakeMemory
from timegate.resolution.coalescing import Coalescer, Question, fixed
from timegate.resolution.context import (
    REDIS_TIME_WITH_QUESTION,
    UNLIMITED,
    RequestContext,
    TimeBudget,
)
from timegate.resolution.model import Attempt, CachedAnswer

PAGE = "http://example.org/"
AT = Moment("20200101000000")


class Elsewhere:
    """Another replica that asks the same question for some seconds, and caches the answer."""

    def __init__(self, seconds: float, memory: FakeMemory, known: CachedAnswer | None) -> None:
        self.seconds = seconds
        self.memory = memory
        self.known = known
        self.done_with: list[Question] = []

    async def wait(self, question: Question, context: RequestContext) -> float:
        del context
        await asyncio.sleep(self.seconds)
        if self.known is not None:
            archive, original, at, _ = question
            self.memory.kept[archive, original, at] = self.known
        return self.seconds

    def done(self, question: Question) -> None:
        self.done_with.append(question)


class Story:
    """One question to one archive, which another replica is asking already."""

    def __init__(
        self, seconds: float, known: CachedAnswer | None = None, *, error: bool = False
    ) -> None:
        self.archive = FakeArchive("a", 1.0, ("20200101000000",), error=error)
        self.memory = FakeMemory()
        self.locks = Elsewhere(seconds, self.memory, known)
        self.attempt = in_virtual_time(self._told())

    async def _told(self) -> Attempt:
        async with Coalescer(
            fixed({"a": self.archive}), self.memory, locks=self.locks
        ) as coalescer:
            return await coalescer.ask("a", PAGE, AT, UNLIMITED)

    @property
    def asked(self) -> int:
        return len(self.archive.asked)


def test_an_answer_that_another_replica_got_is_not_requested_again() -> None:
    story = Story(2.0, CachedAnswer(None, fresh=True, age=0.5))

    assert story.asked == 0
    assert story.attempt == Attempt("a", None, 2.0, PAGE, None, 0.5)


@pytest.mark.parametrize(
    "known",
    [None, CachedAnswer(None, fresh=False, age=1), CachedAnswer(None, fresh=True, age=3600)],
    ids=["nothing", "something stale", "something from before"],
)
def test_after_a_wait_without_a_fresh_answer_the_archive_is_asked(
    known: CachedAnswer | None,
) -> None:
    story = Story(2.0, known)

    assert story.asked == 1
    assert story.attempt.seconds == 3.0


def test_without_another_replica_the_archive_is_asked_at_once() -> None:
    story = Story(0.0, CachedAnswer(None, fresh=True, age=30.0))

    assert (story.asked, story.attempt.seconds) == (1, 1.0)


def test_an_answer_that_came_between_lookup_and_question_is_used() -> None:
    story = Story(0.0, CachedAnswer(None, fresh=True, age=0.1))

    assert story.asked == 0


@pytest.mark.parametrize("error", [False, True])
def test_the_lock_is_released_after_success_and_after_failure(error: bool) -> None:  # noqa: FBT001
    story = Story(0.0, error=error)

    assert story.locks.done_with == [("a", PAGE, AT, "closest")]


def test_the_answer_is_cached_before_the_lock_is_released() -> None:
    memory, seen = FakeMemory(), []

    class Looking(Elsewhere):
        def done(self, question: Question) -> None:
            del question
            seen.append(len(memory.kept))

    async def story() -> None:
        locks = Looking(0.0, memory, None)
        async with Coalescer(fixed({"a": FakeArchive("a")}), memory, locks=locks) as coalescer:
            await coalescer.ask("a", PAGE, AT, UNLIMITED)

    in_virtual_time(story())
    assert seen == [1]


def test_waiting_for_another_replica_ends_with_the_patience_of_the_coalescer() -> None:
    story = Story(20.0)

    assert isinstance(story.attempt.outcome, Unreachable)
    assert story.attempt.seconds == 15.0
    assert story.locks.done_with == [("a", PAGE, AT, "closest")]


def test_closing_the_coalescer_releases_its_locks() -> None:
    memory = FakeMemory()
    locks = Elsewhere(5.0, memory, None)

    async def story() -> None:
        async with Coalescer(fixed({"a": FakeArchive("a")}), memory, locks=locks) as coalescer:
            asked = coalescer.ask("a", PAGE, AT, UNLIMITED)
            await asyncio.sleep(1)
            assert not asked.done()

    in_virtual_time(story())
    assert len(locks.done_with) == 1


def test_a_thousand_identical_questions_are_asked_once() -> None:
    memory = FakeMemory()
    archive = FakeArchive("a", 1.0)

    async def story() -> None:
        async with Coalescer(fixed({"a": archive}), memory) as coalescer:
            await asyncio.gather(
                *(coalescer.ask("a", PAGE, AT, UNLIMITED) for _ in range(1000))
            )

    in_virtual_time(story())
    assert len(archive.asked) == 1


def test_many_questions_at_once_are_started_in_small_groups_and_all_are_answered() -> None:
    archive = FakeArchive("a", 1.0, ("20200101000000",))

    async def story() -> tuple[list[int], list[Attempt]]:
        async with Coalescer(fixed({"a": archive}), FakeMemory()) as coalescer:
            tasks = [
                coalescer.ask("a", f"{PAGE}{number}", AT, UNLIMITED) for number in range(200)
            ]
            begun = []
            while len(archive.asked) < 200:
                begun.append(len(archive.asked))
                await asyncio.sleep(0)
            return begun, [await task for task in tasks]

    begun, attempts = in_virtual_time(story())

    assert max(later - sooner for sooner, later in pairwise(begun)) == 16
    assert {attempt.seconds for attempt in attempts} == {1.0}


def test_a_question_that_is_not_started_in_time_is_unreachable() -> None:
    archive = FakeArchive("a", 1.0, ("20200101000000",))

    async def story() -> list[Attempt]:
        async with Coalescer(fixed({"a": archive}), FakeMemory(), patience=0.0) as coalescer:
            tasks = [
                coalescer.ask("a", f"{PAGE}{number}", AT, UNLIMITED) for number in range(20)
            ]
            return [await task for task in tasks]

    outcomes = [attempt.outcome for attempt in in_virtual_time(story())]

    assert all(isinstance(outcome, Unreachable) for outcome in outcomes)


class Unwritable(FakeMemory):
    """An answer cache that fails to encode answers, as it does with text that is no UTF-8."""

    async def remember(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        del archive, original, at, outcome, budget
        "\udcff".encode()


def test_an_answer_that_cannot_be_cached_is_a_failure_of_its_archive() -> None:
    archive = FakeArchive("a", 1.0, ("20200101000000",))
    observed: list[Attempt] = []

    async def story() -> Attempt:
        async with Coalescer(fixed({"a": archive}), Unwritable(), observed.append) as coalescer:
            return await coalescer.ask("a", PAGE, AT, UNLIMITED)

    attempt = in_virtual_time(story())

    assert isinstance(attempt.outcome, Internal)
    assert observed == [attempt]


@pytest.mark.parametrize("limited", [True, False])
def test_each_question_has_a_branch_of_the_redis_time_of_its_request(limited: bool) -> None:  # noqa: FBT001
    budget = TimeBudget() if limited else None
    contexts: list[RequestContext] = []

    class Recording(Elsewhere):
        async def wait(self, question: Question, context: RequestContext) -> float:
            contexts.append(context)
            return await super().wait(question, context)

    async def story() -> None:
        memory = FakeMemory()
        locks = Recording(0.0, memory, None)
        async with Coalescer(fixed({"a": FakeArchive("a")}), memory, locks=locks) as coalescer:
            await coalescer.ask("a", PAGE, AT, RequestContext(redis_time=budget))

    in_virtual_time(story())
    left = [None if c.redis_time is None else c.redis_time.left(0.0) for c in contexts]
    assert left == [REDIS_TIME_WITH_QUESTION if limited else None]


class Forgetful(FakeArchive):
    """An archive with one answer after the other: a stamp, nothing, or an error."""

    def then(self, *answers: str | ArchiveError | None) -> "Forgetful":
        self.answers = list(answers)
        return self

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        self.asked.append((original, at))
        answer = self.answers.pop(0)
        if isinstance(answer, ArchiveError):
            raise answer
        self.stamps = () if answer is None else (answer,)
        found = self.captures(original)
        return Closest(found[0], "timegate") if found else None


DOWN = Unreachable("a", PAGE, "it is down")
STAMP = "20200101000000"


async def outcomes(
    archive: Forgetful, memory: FakeMemory, times: Sequence[Moment]
) -> tuple[list[object], list[str]]:
    """Ask for each of *times*; return the outcomes, and the archives that were asked again."""
    repeated: list[str] = []
    sources = fixed({"a": archive})
    async with Coalescer(sources, memory, repeated=repeated.append) as coalescer:
        attempts = [await coalescer.ask("a", PAGE, at, UNLIMITED) for at in times]
    return [attempt.outcome for attempt in attempts], repeated


@pytest.mark.parametrize(
    ("second", "is_found"), [(STAMP, True), (None, False)], ids=["found", "empty again"]
)
async def test_an_empty_answer_after_a_memento_is_asked_for_once_more(
    second: str | None, *, is_found: bool
) -> None:
    archive = Forgetful("a").then(STAMP, None, second)

    (_, last), repeated = await outcomes(archive, FakeMemory(), [AT, Moment("2021")])

    assert (last is not None) == is_found
    assert (len(archive.asked), repeated) == (3, ["a"])


async def test_an_empty_answer_is_asked_for_again_if_the_cache_has_a_memento() -> None:
    archive, memory = Forgetful("a").then(None, STAMP), FakeMemory()
    held = FakeArchive("a", stamps=(STAMP,)).captures(PAGE)[0]
    memory.kept["a", PAGE, AT] = CachedAnswer(Closest(held, "timegate"), fresh=False, age=9e5)

    (last,), repeated = await outcomes(archive, memory, [AT])

    assert isinstance(last, Closest)
    assert repeated == ["a"]


async def test_an_empty_answer_of_an_archive_that_never_held_the_page_is_believed() -> None:
    archive = Forgetful("a").then(None, None)

    found, repeated = await outcomes(archive, FakeMemory(), [AT, Moment("2021")])

    assert (found, len(archive.asked), repeated) == ([None, None], 2, [])


async def test_an_empty_answer_that_was_confirmed_is_not_doubted_again() -> None:
    archive = Forgetful("a").then(STAMP, None, None, None)

    _, repeated = await outcomes(archive, FakeMemory(), [AT, Moment("2021"), Moment("2022")])

    assert (len(archive.asked), repeated) == (4, ["a"])


async def test_an_empty_answer_and_then_none_is_unknown() -> None:
    archive = Forgetful("a").then(STAMP, None, DOWN)

    (_, last), _ = await outcomes(archive, FakeMemory(), [AT, Moment("2021")])

    assert last is DOWN
