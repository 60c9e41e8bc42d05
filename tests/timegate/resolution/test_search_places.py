"""A search that waits for remote archives needs places, and ends its questions if cancelled."""

import asyncio
from collections import Counter
from contextlib import suppress

from archives.errors import Queued
from archives.model import Closest
from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.scenario import FakeArchive, World
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution

STAMP = "20200101000000"
AT = Moment(STAMP)
QUERY = Query("http://example.org/", AT)


class FakePlaces:
    """Places for all remote archives that are not full."""

    def __init__(self, *full: str, local: str = "", granted: bool = True) -> None:
        self.full = full
        self.local = local
        self.granted = granted
        self.entered = 0
        self.left = 0
        self.waiting: Counter[str] = Counter()

    def is_remote(self, archive: str) -> bool:
        return archive != self.local

    async def enter(self) -> bool:
        self.entered += 1
        return self.granted

    def leave(self) -> None:
        self.left += 1

    def begin(self, archive: str) -> bool:
        if archive in self.full:
            return False
        self.waiting[archive] += 1
        return True

    def end(self, archive: str) -> None:
        self.waiting[archive] -= 1


def resolved(world: World, places: FakePlaces, query: Query = QUERY) -> Resolution:
    async def story() -> Resolution:
        async with world.coalescer:
            return await world.resolve(query, context=RequestContext(places=places))

    return in_virtual_time(story())


def outcome_of(resolution: Resolution, archive: str) -> object:
    return next(a.outcome for a in resolution.attempts if a.archive == archive)


def test_an_archive_without_a_free_place_is_not_queried_and_others_answer() -> None:
    dead, alive = FakeArchive("dead", 100.0), FakeArchive("alive", 0.1, (STAMP,))
    places = FakePlaces("dead")

    resolution = resolved(World(dead, alive), places)

    assert resolution.memento is not None
    assert resolution.memento.archive == "alive"
    assert dead.asked == []
    assert (places.entered, places.left, +places.waiting) == (1, 1, Counter())


def test_if_the_named_archive_has_no_place_the_others_are_queried_at_once() -> None:
    dead, alive = FakeArchive("dead", 100.0), FakeArchive("alive", 0.1, (STAMP,))
    query = Query("http://example.org/", AT, archive="dead")

    resolution = resolved(World(dead, alive), FakePlaces("dead"), query)

    assert resolution.memento is not None
    assert isinstance(outcome_of(resolution, "dead"), Queued)
    assert dead.asked == []


def test_an_archive_without_a_place_is_unknown_and_never_absent() -> None:
    dead, alive = FakeArchive("dead", 100.0), FakeArchive("alive", 0.1)

    resolution = resolved(World(dead, alive), FakePlaces("dead"))

    assert resolution.memento is None
    assert not resolution.complete
    assert resolution.failed == ("dead",)


def test_without_a_place_local_archives_still_answer() -> None:
    local, remote = FakeArchive("own", 0.1, (STAMP,)), FakeArchive("remote", 0.1, (STAMP,))

    resolution = resolved(World(local, remote), FakePlaces(local="own", granted=False))

    assert resolution.memento is not None
    assert resolution.memento.archive == "own"
    assert remote.asked == []


def test_cached_answers_need_no_place() -> None:
    world = World(FakeArchive("a", 0.1, (STAMP,)))
    places = FakePlaces(granted=False)

    async def story() -> Resolution:
        async with world.coalescer:
            await world.resolve(QUERY)
            return await world.resolve(QUERY, context=RequestContext(places=places))

    resolution = in_virtual_time(story())

    assert resolution.memento is not None
    assert places.entered == 0


def test_local_answers_need_no_place() -> None:
    local, remote = FakeArchive("own", 0.1, (STAMP,)), FakeArchive("remote", 0.1, (STAMP,))
    places = FakePlaces(local="own")
    query = Query("http://example.org/", AT, archive="own")

    resolution = resolved(World(local, remote), places, query)

    assert resolution.memento is not None
    assert places.entered == 0


class Cancelled:
    """Searches for one page, some of which are cancelled after a second."""

    def __init__(self, searches: int, cancelled: int, preferences: Preferences) -> None:
        self.observed: list[Attempt] = []
        self.places = FakePlaces()
        archives = (FakeArchive("fast", 0.5, (STAMP[:-1] + "9",)), FakeArchive("slow", 10.0))
        self.world = World(*archives)
        self.preferences = preferences
        self.in_progress = in_virtual_time(self._story(searches, cancelled))
        """Tasks that are left two seconds after the start."""

    async def _story(self, searches: int, cancelled: int) -> int:
        before = len(asyncio.all_tasks())
        async with self.world.coalescer, asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._search()) for _ in range(searches)]
            await asyncio.sleep(1)
            for task in tasks[:cancelled]:
                task.cancel()
            await asyncio.sleep(1)
            left = len(asyncio.all_tasks()) - before
            for task in tasks:
                task.cancel()
        return left

    async def _search(self) -> None:
        context = RequestContext(places=self.places)
        with suppress(asyncio.CancelledError):
            await self.world.resolve(QUERY, self.preferences, context)


PATIENT = Preferences(wait=20.0)


def test_questions_end_when_the_last_search_that_waits_is_cancelled() -> None:
    story = Cancelled(2, 2, PATIENT)

    assert story.in_progress == 0
    assert (story.places.entered, story.places.left) == (2, 2)
    assert +story.places.waiting == Counter()


def test_a_question_goes_on_while_another_search_waits_for_it() -> None:
    # The search and the question to the slow archive.
    assert Cancelled(2, 1, PATIENT).in_progress == 2


def test_a_question_that_is_left_after_a_result_goes_on_to_fill_the_cache() -> None:
    # The first search has ended with the memento of the fast archive; the second is cancelled.
    assert Cancelled(1, 0, Preferences(wait=0.8)).in_progress == 1


def test_after_a_cancelled_search_the_same_question_is_asked_again() -> None:
    slow = FakeArchive("slow", 10.0, (STAMP,))
    world = World(slow)

    async def story() -> Resolution:
        async with world.coalescer, asyncio.TaskGroup() as group:
            first = group.create_task(world.resolve(QUERY, PATIENT))
            await asyncio.sleep(1)
            first.cancel()
            await asyncio.sleep(0)
            return await world.resolve(QUERY, PATIENT)

    resolution = in_virtual_time(story())

    assert resolution.memento is not None
    assert len(slow.asked) == 2


# Requests for mementos

VERIFIED = Preferences(wait=20.0, verify="head")


def waiting_for_a_memento(searches: int, *full: str) -> tuple[FakeArchive, list[Counter[str]]]:
    """Let searches wait for one memento; return what they wait for in the meantime."""
    archive = FakeArchive("slow", 0.1, (STAMP,), hangs=True)
    world = World(archive)
    all_places = [FakePlaces(*full) for _ in range(searches)]

    async def story() -> list[Counter[str]]:
        async with world.coalescer, asyncio.TaskGroup() as group:
            for places in all_places:
                context = RequestContext(places=places)
                group.create_task(world.resolve(QUERY, VERIFIED, context))
            await asyncio.sleep(1.0)
            waiting = [+places.waiting for places in all_places]
        assert [+places.waiting for places in all_places] == [Counter()] * searches
        assert all(places.entered == places.left for places in all_places)
        return waiting

    waiting = in_virtual_time(story())
    return archive, waiting


def test_each_search_that_waits_for_a_memento_has_a_place_of_its_own() -> None:
    archive, waiting = waiting_for_a_memento(3)

    assert len(archive.probed) == 1
    assert waiting == [Counter(slow=1)] * 3


def test_a_memento_that_was_delivered_before_needs_no_place() -> None:
    world = World(FakeArchive("quick", 0.1, (STAMP,)))

    async def story() -> Resolution:
        async with world.coalescer:
            await world.resolve(QUERY, VERIFIED)
            world.memory.kept.clear()
            await world.resolve(QUERY, Preferences())
            full = RequestContext(places=FakePlaces("quick"))
            return await world.resolve(QUERY, VERIFIED, full)

    resolution = in_virtual_time(story())

    assert [type(check.outcome) for check in resolution.checks] == [Closest]
    assert len(world.archives["quick"].probed) == 1


def test_a_memento_is_not_requested_without_a_free_place() -> None:
    world = World(FakeArchive("a", 0.1, (STAMP,)))
    places = FakePlaces()

    async def story() -> Resolution:
        async with world.coalescer:
            await world.resolve(QUERY, Preferences())
            places.full = ("a",)
            return await world.resolve(QUERY, VERIFIED, RequestContext(places=places))

    resolution = in_virtual_time(story())

    assert [type(check.outcome) for check in resolution.checks] == [Queued]
    assert world.archives["a"].probed == []
