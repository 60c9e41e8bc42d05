from collections.abc import AsyncGenerator, Sequence

import pytest

from archives.errors import Internal, Resting, Unreachable
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from tests.scenario import entry
from tests.timegate.timemaps.capture_lists import ORIGINAL, FakeShelf, Listing, captures
from timegate.resolution.model import Preferences
from timegate.timemaps.lists import MOST_REMEMBERED, ArchiveLists


class Archive:
    """A `Source` that can only list."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    @property
    def entry(self) -> ArchiveEntry:
        return entry("a")

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        raise NotImplementedError(original, at)

    def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        assert original == ORIGINAL
        return self.listing()


async def read(
    listing: Listing, shelf: FakeShelf, preferences: Preferences | None = None
) -> list[Sequence[Memento]]:
    lists = ArchiveLists({"a": Archive(listing)}, shelf)
    return [batch async for batch in lists.of("a", ORIGINAL, preferences or Preferences())]


async def test_a_list_that_was_read_to_its_end_is_remembered() -> None:
    shelf = FakeShelf()

    await read(Listing(captures("a", [1, 2]), captures("a", [3])), shelf)

    assert shelf.kept == {"a": captures("a", [1, 2, 3])}


async def test_that_an_archive_has_nothing_is_remembered_too() -> None:
    shelf = FakeShelf()

    await read(Listing(), shelf)

    assert shelf.kept == {"a": []}


async def test_a_list_that_breaks_off_is_not_remembered() -> None:
    shelf = FakeShelf()

    with pytest.raises(Unreachable):
        await read(Listing(captures("a", [1]), Unreachable("a", "", "cut")), shelf)
    assert shelf.kept == {}


async def test_a_list_that_nobody_read_to_its_end_is_not_remembered() -> None:
    shelf = FakeShelf()
    batches = ArchiveLists({"a": Archive(Listing(captures("a", [1])))}, shelf).of(
        "a", ORIGINAL, Preferences()
    )

    await anext(batches)
    await batches.aclose()

    assert shelf.kept == {}


async def test_a_long_list_is_passed_on_and_not_remembered() -> None:
    shelf = FakeShelf()

    received = await read(Listing(captures("a", range(MOST_REMEMBERED + 1))), shelf)

    assert len(received[0]) == MOST_REMEMBERED + 1
    assert shelf.kept == {}


async def test_what_is_remembered_is_not_asked_for() -> None:
    listing = Listing(captures("a", [9]))

    assert await read(listing, FakeShelf(a=captures("a", [1]))) == [captures("a", [1])]
    assert not listing.pulled


async def test_a_client_that_wants_it_new_has_it_asked_for_and_remembered() -> None:
    shelf = FakeShelf(a=captures("a", [1]))

    received = await read(Listing(captures("a", [9])), shelf, Preferences(no_cache=True))

    assert received == [captures("a", [9])]
    assert shelf.kept == {"a": captures("a", [9])}


async def test_nobody_is_asked_for_a_client_that_wants_only_what_is_cached() -> None:
    listing = Listing(captures("a", [9]))

    with pytest.raises(Resting, match="only-if-cached"):
        await read(listing, FakeShelf(), Preferences(only_if_cached=True))
    assert not listing.pulled


async def test_an_internal_error_in_a_list_is_a_failure_of_its_archive() -> None:
    shelf = FakeShelf()

    with pytest.raises(Internal, match="OverflowError"):
        await read(Listing(captures("a", [1]), OverflowError("http://secret.example/")), shelf)
    assert shelf.kept == {}
