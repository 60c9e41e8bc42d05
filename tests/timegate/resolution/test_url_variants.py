"""Equivalent URLs of a reference are tried in order, while nothing is acceptable."""

from collections.abc import Callable
from dataclasses import replace

from archives.moment import Moment
from tests.clock import in_virtual_time
from tests.scenario import NEVER, FakeArchive, World
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Deadlines, Preferences, Query, Resolution
from timegate.resolution.url_variants import EquivalentUrls

OLD, GONE, NEW = "http://old.example/", "http://gone.example/", "http://new.example/"
QUERY = Query(OLD, Moment("2015"))
ALSO = Preferences(also=(GONE, NEW))
AT = "20150630235958"
LATE = "20200101000000"


def has_memento(found: Resolution) -> bool:
    return found.memento is not None


def in_time(found: Resolution) -> bool:
    return found.memento is not None and found.memento.stamp.startswith("2015")


def resolved(
    *archives: FakeArchive,
    preferences: Preferences = ALSO,
    accepts: Callable[[Resolution], bool] = has_memento,
    deadlines: Deadlines | None = None,
) -> Resolution:
    async def story() -> Resolution:
        world = World(*archives, deadlines=deadlines)
        async with world.coalescer:
            resolver = EquivalentUrls(world.resolver, accepts)
            return await resolver.resolve(QUERY, preferences, UNLIMITED)

    return in_virtual_time(story())


def asked(archive: FakeArchive) -> list[str]:
    """The pages that were requested, without their other spellings."""
    return [url for url, _ in archive.asked if url in (OLD, GONE, NEW)]


def test_an_equivalent_url_is_found_and_marked() -> None:
    archive = FakeArchive("a", stamps=(AT,), holds=NEW)

    found = resolved(archive)

    assert asked(archive) == [OLD, GONE, NEW]
    assert found.memento is not None
    assert found.memento.original == NEW
    assert found.best is not None
    assert found.best.variant == "also"
    assert found.query == QUERY
    assert found.preferences == ALSO
    assert {a.original for a in found.attempts} >= {OLD, GONE, NEW}


def test_an_acceptable_memento_of_the_url_itself_is_enough() -> None:
    archive = FakeArchive("a", stamps=(AT,), holds=OLD)

    found = resolved(archive)

    assert asked(archive) == [OLD]
    assert found.best is not None
    assert found.best.variant is None


def test_without_an_acceptable_memento_the_next_url_is_tried() -> None:
    old = FakeArchive("old", stamps=(LATE,), holds=OLD)
    new = FakeArchive("new", stamps=(AT,), holds=NEW)

    found = resolved(old, new, accepts=in_time)

    assert found.best is not None
    assert found.best.archive == "new"
    assert [attempt.archive for attempt in found.alternatives] == ["old"]


def test_if_none_is_acceptable_the_memento_of_the_first_url_is_returned() -> None:
    old = FakeArchive("old", stamps=(LATE,), holds=OLD)
    new = FakeArchive("new", stamps=(LATE,), holds=NEW)

    found = resolved(old, new, accepts=in_time)

    assert found.best is not None
    assert found.best.archive == "old"


def test_if_nothing_is_found_all_failures_are_reported() -> None:
    found = resolved(FakeArchive("a"), FakeArchive("b", error=True))

    assert found.memento is None
    assert found.failed == ("b",)
    assert not found.complete


def test_equivalent_urls_are_not_tried_where_only_an_exact_match_is_acceptable() -> None:
    archive = FakeArchive("a", stamps=(AT,), holds=NEW)

    found = resolved(archive, preferences=replace(ALSO, precision="exact"))

    assert asked(archive) == [OLD]
    assert found.memento is None


def test_the_time_that_the_client_waits_is_divided_among_the_urls() -> None:
    hanging = FakeArchive("hanging", delay=NEVER)
    archive = FakeArchive("a", stamps=(AT,), holds=NEW)

    async def story() -> Resolution:
        world = World(hanging, archive)
        async with world.coalescer:
            resolver = EquivalentUrls(world.resolver, has_memento)
            return await resolver.resolve(QUERY, replace(ALSO, wait=6.0), UNLIMITED)

    found = in_virtual_time(story())

    assert found.memento is not None
    assert found.preferences.wait == 6.0
    assert found.unanswered == ("hanging",)
