import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from archives.errors import Internal, Queued, Resting, Unreachable
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import WantedCaptures
from tests.clock import in_virtual_time
from tests.scenario import LIMITS, entry
from tests.timegate.timemaps.capture_lists import ORIGINAL, FakeListCache, Listing, captures
from timegate.resolution.coalescing import fixed
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.timemaps.lists import MOST_CACHED, ArchiveLists


class Archive:
    """A `Source` that can only list."""

    def __init__(self, listing: Listing, index: Listing | None = None) -> None:
        self.listing = listing
        self.index = index
        self.wanted: list[WantedCaptures | None] = []

    @property
    def entry(self) -> ArchiveEntry:
        known = entry("a")
        if self.index is None:
            return known
        return replace(
            known,
            timemaps={"link": "http://a/timemap/link/"},
            cdx="http://a/cdx",
            dialect="wayback-cdx",
            replay="http://a/{time14}/{uri}",
        )

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        raise NotImplementedError(original, at)

    def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        self.wanted.append(wanted)
        assert original == ORIGINAL
        return self.index() if detailed and self.index is not None else self.listing()


async def read(
    listing: Listing, cache: FakeListCache, preferences: Preferences | None = None
) -> list[Sequence[Memento]]:
    lists = ArchiveLists(fixed({"a": Archive(listing)}), cache)
    batches = lists.of("a", ORIGINAL, preferences or Preferences(), UNLIMITED)
    return [batch async for batch in batches]


async def test_a_list_that_was_read_to_its_end_is_cached() -> None:
    cache = FakeListCache()

    await read(Listing(captures("a", [1, 2]), captures("a", [3])), cache)

    assert cache.kept == {"a": captures("a", [1, 2, 3])}


async def test_an_excerpt_of_an_index_is_not_cached() -> None:
    cache, wanted = FakeListCache(), WantedCaptures(order="newest", most=2)
    archive = Archive(Listing(), Listing(captures("a", [1, 2])))
    lists = ArchiveLists(fixed({"a": archive}), cache)

    batches = lists.of("a", ORIGINAL, Preferences(), UNLIMITED, detailed=True, wanted=wanted)

    assert [batch async for batch in batches] == [captures("a", [1, 2])]
    assert archive.wanted == [wanted]
    assert cache.kept == {}


async def test_a_timemap_is_cached_whatever_is_wanted_of_it() -> None:
    cache = FakeListCache()
    lists = ArchiveLists(fixed({"a": Archive(Listing(captures("a", [1, 2])))}), cache)

    batches = lists.of("a", ORIGINAL, Preferences(), UNLIMITED, wanted=WantedCaptures(most=1))

    assert [batch async for batch in batches] == [captures("a", [1, 2])]
    assert cache.kept == {"a": captures("a", [1, 2])}


async def test_an_empty_list_is_cached() -> None:
    cache = FakeListCache()

    await read(Listing(), cache)

    assert cache.kept == {"a": []}


async def test_a_list_that_breaks_off_is_not_cached() -> None:
    cache = FakeListCache()

    with pytest.raises(Unreachable):
        await read(Listing(captures("a", [1]), Unreachable("a", "", "cut")), cache)
    assert cache.kept == {}


async def test_a_list_that_was_not_read_to_its_end_is_not_cached() -> None:
    cache = FakeListCache()
    archive = Archive(Listing(captures("a", [1])))
    lists = ArchiveLists(fixed({"a": archive}), cache)
    batches = lists.of("a", ORIGINAL, Preferences(), UNLIMITED)

    await anext(batches)
    await batches.aclose()

    assert cache.kept == {}


async def test_a_long_list_is_passed_on_and_not_cached() -> None:
    cache = FakeListCache()

    received = await read(Listing(captures("a", range(MOST_CACHED + 1))), cache)

    assert len(received[0]) == MOST_CACHED + 1
    assert cache.kept == {}


async def test_a_cached_list_is_not_requested() -> None:
    listing = Listing(captures("a", [9]))

    assert await read(listing, FakeListCache(a=captures("a", [1]))) == [captures("a", [1])]
    assert not listing.pulled


async def test_with_no_cache_the_list_is_requested_and_cached() -> None:
    cache = FakeListCache(a=captures("a", [1]))

    received = await read(Listing(captures("a", [9])), cache, Preferences(no_cache=True))

    assert received == [captures("a", [9])]
    assert cache.kept == {"a": captures("a", [9])}


async def test_with_only_if_cached_no_list_is_requested() -> None:
    listing = Listing(captures("a", [9]))

    with pytest.raises(Resting, match="only-if-cached"):
        await read(listing, FakeListCache(), Preferences(only_if_cached=True))
    assert not listing.pulled


async def test_an_internal_error_in_a_list_is_a_failure_of_its_archive() -> None:
    cache = FakeListCache()

    with pytest.raises(Internal, match="OverflowError"):
        await read(Listing(captures("a", [1]), OverflowError("http://secret.example/")), cache)
    assert cache.kept == {}


async def test_a_detailed_list_is_cached_apart_from_the_timemap() -> None:
    cache = FakeListCache(a=captures("a", [1]))
    pages = [capture._replace(status=200) for capture in captures("a", [1, 2])]
    index = Listing(pages)
    lists = ArchiveLists(fixed({"a": Archive(Listing(), index)}), cache)

    batches = [
        [batch async for batch in lists.of(*question, detailed=True)]
        for question in [("a", ORIGINAL, Preferences(), UNLIMITED)] * 2
    ]

    assert batches == [[pages]] * 2
    assert index.pulled == 1
    assert cache.kept == {"a": captures("a", [1]), "a index": pages}


async def test_a_detailed_list_without_details_is_not_cached() -> None:
    cache = FakeListCache()
    lists = ArchiveLists(fixed({"a": Archive(Listing(), Listing(captures("a", [1])))}), cache)

    batches = lists.of("a", ORIGINAL, Preferences(), UNLIMITED, detailed=True)

    assert [batch async for batch in batches] == [captures("a", [1])]
    assert cache.kept == {}


async def test_without_a_second_list_the_cached_timemap_serves_for_details() -> None:
    listing = Listing(captures("a", [9]))
    lists = ArchiveLists(fixed({"a": Archive(listing)}), FakeListCache(a=captures("a", [1])))

    batches = lists.of("a", ORIGINAL, Preferences(), UNLIMITED, detailed=True)

    assert [batch async for batch in batches] == [captures("a", [1])]
    assert not listing.pulled


def test_lists_that_are_not_read_take_half_of_the_requests_to_an_archive() -> None:
    async def story() -> tuple[int, type[BaseException] | None]:
        lists = ArchiveLists(
            fixed({"a": Archive(Listing(captures("a", [1])))}), FakeListCache()
        )
        unread = [lists.of("a", ORIGINAL, Preferences(), UNLIMITED) for _ in range(5)]
        begun = 0
        failure: type[BaseException] | None = None
        for each in unread:
            try:
                await anext(each)
                begun += 1
            except Queued as error:
                failure = type(error)
        await unread[0].aclose()
        again = lists.of("a", ORIGINAL, Preferences(), UNLIMITED)
        assert await anext(again)
        for each in (*unread, again):
            await each.aclose()
        return begun, failure

    assert in_virtual_time(story()) == (LIMITS.at_once // 2, Queued)


async def test_few_merges_are_started_in_one_turn_of_the_loop() -> None:
    cache = FakeListCache(a=captures("a", [1]))
    lists = ArchiveLists(fixed({"a": Archive(Listing())}), cache)
    started, most = [0], [0]

    async def merge() -> None:
        async with lists.merged(["a"], ORIGINAL, Preferences(), UNLIMITED):
            started[0] += 1

    async def watch() -> None:
        while started[0] < 20:
            before = started[0]
            await asyncio.sleep(0)
            most[0] = max(most[0], started[0] - before)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(merge())
        group.create_task(watch())

    assert most[0] <= 2
