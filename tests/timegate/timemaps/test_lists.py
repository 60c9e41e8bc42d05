from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from archives.errors import Internal, Resting, Unreachable
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from tests.scenario import entry
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
        self, original: str, *, detailed: bool = False
    ) -> AsyncGenerator[Sequence[Memento], None]:
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
