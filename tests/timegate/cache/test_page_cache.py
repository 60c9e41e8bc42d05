import asyncio
import logging

import pytest

from archives.model import Closest
from tests.clock import Clock, in_virtual_time
from tests.timegate.cache.samples import ARCHIVE, NOW, capture, found
from timegate.cache.page_cache import DRAIN, MOST_PENDING, PageCache
from timegate.cache.page_record import ArchiveRecord, KnownAnswer
from timegate.cache.store import MemoryStore, Merge, Stored
from timegate.resolution.context import TimeBudget

FIELD = f"public/{ARCHIVE}"
NO = ArchiveRecord([KnownAnswer(NOW, "2014", None)])
HELD = ArchiveRecord([KnownAnswer(NOW + 1, "2015", found())])


class SlowStore:
    """A store over a network: it takes *seconds* to write, or drops what is written."""

    trouble: str | None = None

    def __init__(self, seconds: float = 1.0, *, drops: bool = False) -> None:
        self.store = MemoryStore(clock=lambda: NOW)
        self.dropped = 0
        self.merges = 0
        self._seconds = seconds
        self._drops = drops

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        return await self.store.get(key, budget, recent=recent)

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        await asyncio.sleep(self._seconds)
        self.dropped += self._drops
        await self.store.put(key, value, lifetime, stale_for, budget)

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        self.merges += 1
        await asyncio.sleep(self._seconds)
        return not self._drops and await self.store.merge(key, value, merge, lifetime)

    async def delete(self, key: str) -> None:
        await self.store.delete(key)

    async def purge(self, prefix: str) -> int:
        return await self.store.purge(prefix)

    async def close(self) -> None:
        await self.store.close()


def test_what_was_learned_is_seen_at_once_and_written_once() -> None:
    store = SlowStore()

    async def story() -> None:
        pages = PageCache(store)
        pages.learn("page", FIELD, NO)
        pages.learn("page", "public/other", NO)
        assert set(await pages.read("page")) == {FIELD, "public/other"}
        await asyncio.sleep(0.5)
        assert set(await pages.read("page")) == {FIELD, "public/other"}
        await pages.written("page")
        assert set(await pages.read("page")) == {FIELD, "public/other"}

    in_virtual_time(story())
    assert store.merges == 1


def test_what_is_learned_while_a_page_is_written_is_merged_afterwards() -> None:
    store = SlowStore()

    async def story() -> ArchiveRecord:
        pages = PageCache(store)
        pages.learn("page", FIELD, NO)
        await asyncio.sleep(0.5)
        pages.learn("page", FIELD, HELD)
        await pages.written("page")
        return (await PageCache(store).read("page"))[FIELD]

    assert len(in_virtual_time(story()).answers) == 2


def test_the_caller_never_waits_for_the_store() -> None:
    async def story() -> float:
        pages = PageCache(SlowStore(seconds=60.0))
        began = asyncio.get_running_loop().time()
        for number in range(100):
            pages.learn(f"page {number}", FIELD, NO)
            pages.put(f"list {number}", b"list", 60.0, 60.0)
        spent = asyncio.get_running_loop().time() - began
        await pages.drain(0.0)
        return spent

    assert in_virtual_time(story()) == 0.0


def test_values_that_are_not_written_are_counted_and_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    monotonic = Clock()

    async def story() -> int:
        pages = PageCache(SlowStore(drops=True), monotonic)
        for second in range(120):
            monotonic.advance(1.0)
            pages.learn(f"page {second}", FIELD, NO)
            await pages.written(f"page {second}")
        pages.put("list", b"list", 60.0, 60.0)
        await pages.drain()
        return pages.dropped

    with caplog.at_level(logging.WARNING):
        assert in_virtual_time(story()) == 121
    assert [record.getMessage() for record in caplog.records] == [
        "values were not written to the cache: 1",
        "values were not written to the cache: 60",
    ]


def test_pages_that_wait_are_bounded_in_number() -> None:
    async def story() -> int:
        pages = PageCache(SlowStore())
        for number in range(MOST_PENDING + 10):
            pages.learn(f"page {number}", FIELD, NO)
        dropped = pages.dropped
        await pages.drain(0.0)
        return dropped

    assert in_virtual_time(story()) == 10


def test_the_end_of_the_process_waits_for_some_seconds_and_counts_the_rest() -> None:
    async def story(seconds: float) -> tuple[int, float]:
        pages = PageCache(SlowStore(seconds))
        pages.learn("page", FIELD, NO)
        pages.put("list", b"list", 60.0, 60.0)
        began = asyncio.get_running_loop().time()
        await pages.drain()
        return pages.dropped, asyncio.get_running_loop().time() - began

    assert in_virtual_time(story(1.0))[0] == 0
    assert in_virtual_time(story(60.0)) == (2, DRAIN)


def test_an_answer_that_cannot_be_encoded_is_refused_and_nothing_else_is_lost() -> None:
    spoilt = Closest(capture("20140101000000"), "timegate", ("\udcff",))

    async def story() -> set[str]:
        pages = PageCache(SlowStore())
        pages.learn("page", FIELD, NO)
        with pytest.raises(UnicodeEncodeError):
            pages.learn("page", "public/b", ArchiveRecord([KnownAnswer(NOW, "2014", spoilt)]))
        await pages.written("page")
        return set(await pages.read("page"))

    assert in_virtual_time(story()) == {FIELD}


def test_a_value_that_is_damaged_is_a_miss_and_counted() -> None:
    async def story() -> int:
        store = MemoryStore()
        store.put_now("page", b"damaged", 60.0, 60.0)
        pages = PageCache(store)
        assert not await pages.read("page")
        return pages.rejected

    assert in_virtual_time(story()) == 1


def test_waits_for_a_page_end_when_it_is_written_forgotten_or_dropped() -> None:
    async def story() -> None:
        pages = PageCache(SlowStore(seconds=5.0))
        clock = asyncio.get_running_loop().time
        began = clock()
        pages.learn("written", FIELD, NO)
        await asyncio.gather(pages.written("written"), pages.written("written"))
        assert clock() - began == pytest.approx(5.02)
        pages.learn("forgotten", FIELD, NO)
        async with asyncio.TaskGroup() as group:
            group.create_task(pages.written("forgotten"))
            await asyncio.sleep(0)
            await pages.forget("forgotten")
        assert clock() - began == pytest.approx(5.02)
        pages.learn("dropped", FIELD, NO)
        async with asyncio.TaskGroup() as group:
            group.create_task(pages.written("dropped"))
            await asyncio.sleep(1.0)
            await pages.drain(0.0)
        assert clock() - began == pytest.approx(6.02)

    in_virtual_time(story())


def test_a_wait_for_a_page_that_is_cancelled_ends_no_other_wait() -> None:
    async def story() -> None:
        pages = PageCache(SlowStore())
        pages.learn("page", FIELD, NO)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(pages.written("page"))
            group.create_task(pages.written("page"))
            await asyncio.sleep(0)
            first.cancel()
        assert first.cancelled()

    in_virtual_time(story())


def test_what_is_learned_when_a_write_has_just_ended_is_written_too() -> None:
    async def learning() -> None:
        store = SlowStore()
        pages = PageCache(store)
        for number in range(5):
            # The wait ends before the task that wrote is noted to have ended.
            pages.learn(f"page {number}", FIELD, NO)
            await pages.written(f"page {number}")
            assert await store.get(f"page {number}") is not None
        assert store.merges == 5

    in_virtual_time(learning())
