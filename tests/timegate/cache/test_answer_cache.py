import asyncio
from pathlib import Path

import pytest

from archives.model import Closest, Memento
from archives.moment import Moment
from tests.clock import Clock
from tests.timegate.cache.samples import ARCHIVE, NOW, PAGE, capture, found
from timegate.cache import WAITING, AnswerCache, MemoryStore, SqliteStore, Stored
from timegate.cache.encoding import MOST_CAPTURES
from timegate.cache.store import Merge
from timegate.resolution.context import TimeBudget
from timegate.resolution.model import CachedAnswer

HOUR = 3600.0
DAY = 24 * HOUR
AT = Moment("20140102")


class TimedCache:
    """An answer cache over a store in memory, and the clock of both."""

    def __init__(self) -> None:
        self.clock = Clock(NOW)
        self.store = MemoryStore(clock=self.clock)
        self.cache = AnswerCache(self.store, self.clock, "v1")


@pytest.fixture
def timed() -> TimedCache:
    return TimedCache()


async def test_an_answer_is_recalled_with_its_age(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, found())
    timed.clock.advance(5)

    recalled = await timed.cache.recall(ARCHIVE, PAGE, AT)

    assert recalled == CachedAnswer(found(), fresh=True, age=5.0)


async def test_a_clear_no_is_cached(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, None)

    assert await timed.cache.recall(ARCHIVE, PAGE, AT) == CachedAnswer(
        None, fresh=True, age=0.0
    )
    assert await timed.cache.recall("another", PAGE, AT) is None


class OneByOne:
    """A store that cannot answer at once, and counts lookups and merges."""

    trouble: str | None = None

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.lookups = self.merges = self.dropped = 0

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        self.lookups += 1
        await asyncio.sleep(0)
        return await self._store.get(key, budget, recent=recent)

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        await asyncio.sleep(0)
        self.merges += 1
        return await self._store.merge(key, value, merge, lifetime)

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        await self._store.put(key, value, lifetime, stale_for, budget)

    async def delete(self, key: str) -> None:
        await self._store.delete(key)

    async def purge(self, prefix: str) -> int:
        return await self._store.purge(prefix)

    async def close(self) -> None:
        await self._store.close()


async def test_the_answers_of_many_archives_are_written_and_looked_up_once(
    timed: TimedCache,
) -> None:
    slow = OneByOne(timed.store)
    cache = AnswerCache(slow, timed.clock, "v1")
    for archive in (ARCHIVE, "b", "c"):
        await cache.remember(archive, PAGE, AT, found() if archive == ARCHIVE else None)

    await cache.written(PAGE)
    known = await cache.recall_all((ARCHIVE, "b", "c", "d"), PAGE, AT)
    same = await timed.cache.recall_all((ARCHIVE, "b", "c", "d"), PAGE, AT)

    assert (slow.merges, slow.lookups) == (1, 1)
    assert list(known) == [ARCHIVE, "b", "c"]
    assert known == same


@pytest.mark.parametrize(
    ("at", "outcome", "fresh_for"),
    [
        (AT, found(), DAY),
        (None, found(), HOUR),
        (AT, None, 600),
        (Moment("20261110"), found("20261109000000"), HOUR),
    ],
)
async def test_an_answer_turns_stale_and_is_gone_three_days_later(
    timed: TimedCache, at: Moment | None, outcome: object, fresh_for: float
) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, at, outcome)  # type: ignore[arg-type]

    seen = []
    for wait in (fresh_for - 1, 1, 3 * DAY - 1, 1):
        timed.clock.advance(wait)
        recalled = await timed.cache.recall(ARCHIVE, PAGE, at)
        seen.append(recalled and recalled.fresh)

    assert seen == [True, False, False, None]


async def test_no_answer_is_stale_for_more_than_a_week(timed: TimedCache) -> None:
    cache = AnswerCache(timed.store, timed.clock, "v1", stale_for=30 * DAY)
    await cache.remember(ARCHIVE, PAGE, AT, found())

    timed.clock.advance(8 * DAY - 1)
    assert await cache.recall(ARCHIVE, PAGE, AT) is not None
    timed.clock.advance(1)
    assert await cache.recall(ARCHIVE, PAGE, AT) is None


@pytest.mark.parametrize(
    ("question", "version"),
    [
        (("another", PAGE, AT), "v1"),
        ((ARCHIVE, PAGE + "/", AT), "v1"),
        ((ARCHIVE, PAGE, Moment("20140103")), "v1"),
        ((ARCHIVE, PAGE, Moment("201401")), "v1"),
        ((ARCHIVE, PAGE, None), "v1"),
        ((ARCHIVE, PAGE, AT), "v2"),
    ],
)
async def test_another_question_has_another_answer(
    timed: TimedCache, question: tuple[str, str, Moment | None], version: str
) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, found())
    await timed.cache.remember_timemap("third", PAGE, [])
    await timed.cache.written(PAGE)
    other = AnswerCache(timed.store, timed.clock, version)

    assert await other.recall(*question) is None
    assert other.rejected == 0


async def test_equal_forms_of_a_url_and_of_a_time_share_an_answer(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE + "%c3", Moment("20140102030405"), found())

    recalled = await timed.cache.recall(ARCHIVE, PAGE + "%C3", Moment("20140102030405123"))

    assert recalled is not None


async def test_an_answer_with_neighbours_answers_every_time_between_them(
    timed: TimedCache,
) -> None:
    prev, memento, following = (capture(f"{year}0601000000") for year in (2013, 2014, 2015))
    answer = Closest(memento, "timegate", (), {"prev": prev, "next": following})
    await timed.cache.remember(ARCHIVE, PAGE, AT, answer)
    await timed.cache.written(PAGE)
    timed.clock.advance(5)

    recalled = [
        await timed.cache.recall(ARCHIVE, PAGE, Moment(at))
        for at in ("20130601000001", "2014", "20150531235959", "20150601000001")
    ]

    known = CachedAnswer(answer, fresh=True, age=5.0)
    assert recalled == [known, known, known, None]


async def test_a_no_answers_for_every_time(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, None)

    assert await timed.cache.recall(ARCHIVE, PAGE, Moment("1999")) == CachedAnswer(
        None, fresh=True, age=0.0
    )


async def test_a_timemap_answers_any_question_about_its_url(timed: TimedCache) -> None:
    captures = [capture(f"{year}0601000000") for year in range(1996, 2026)]
    await timed.cache.remember_timemap(ARCHIVE, PAGE, captures)

    then = await timed.cache.recall(ARCHIVE, PAGE, Moment("2007"))
    newest = await timed.cache.recall(ARCHIVE, PAGE, None)

    assert then is not None
    assert then.outcome is not None
    assert then.outcome.memento.stamp == "20070601000000"
    assert then.fresh
    assert newest is not None
    assert newest.outcome is not None
    assert newest.outcome.memento.stamp == "20250601000000"


async def test_a_nearer_memento_in_a_cached_timemap_is_preferred_to_the_answer(
    timed: TimedCache,
) -> None:
    at = Moment("20140102000000")
    newest = Closest(capture("20200101000000"), "timegate")
    await timed.cache.remember_timemap(
        ARCHIVE, PAGE, [capture("20140102000001"), capture("20200101000000")]
    )
    await timed.cache.remember(ARCHIVE, PAGE, at, newest)

    recalled = await timed.cache.recall(ARCHIVE, PAGE, at)

    assert recalled is not None
    assert recalled.outcome is not None
    assert recalled.outcome.memento.stamp == "20140102000001"


async def test_the_delivery_of_a_memento_is_cached_for_a_week(timed: TimedCache) -> None:
    memento = capture("20140102000001")
    delivered = Closest(memento, "template", evidence="delivered")
    await timed.cache.remember_memento(memento, memento.uri, delivered)
    timed.clock.advance(6 * DAY)

    recalled = await timed.cache.recall_memento(memento, memento.uri)

    assert recalled == CachedAnswer(delivered, fresh=True, age=6 * DAY)
    assert await timed.cache.recall_memento(memento, memento.uri + "x") is None


async def test_a_memento_that_is_gone_is_requested_again_after_ten_minutes(
    timed: TimedCache,
) -> None:
    memento = capture("20140102000001")
    await timed.cache.remember_memento(memento, memento.uri, None)
    timed.clock.advance(601)

    assert await timed.cache.recall_memento(memento, memento.uri) is None


async def test_the_list_of_a_cdx_server_is_kept_apart_and_answers_no_question(
    timed: TimedCache,
) -> None:
    captures = [capture("20140101000000")]
    await timed.cache.remember_timemap(ARCHIVE, PAGE, captures, detailed=True)

    detailed = await timed.cache.recall_timemap(ARCHIVE, PAGE, detailed=True)

    assert detailed is not None
    assert detailed[0] == captures
    assert await timed.cache.recall_timemap(ARCHIVE, PAGE) is None
    assert await timed.cache.recall(ARCHIVE, PAGE, AT) is None


async def test_an_answer_from_a_cached_timemap_has_its_age(timed: TimedCache) -> None:
    await timed.cache.remember_timemap(ARCHIVE, PAGE, [capture("20140101000000")])
    timed.clock.advance(5 * HOUR)

    first = await timed.cache.recall(ARCHIVE, PAGE, AT)
    again = await timed.cache.recall(ARCHIVE, PAGE, AT)
    timed.clock.advance(DAY)
    later = await timed.cache.recall(ARCHIVE, PAGE, AT)

    assert first == again
    assert again is not None
    assert again.age == 5 * HOUR
    assert later is not None
    assert later.age == DAY + 5 * HOUR
    assert not later.fresh


async def test_a_cached_timemap_does_not_answer_for_the_newest_memento_for_long(
    timed: TimedCache,
) -> None:
    await timed.cache.remember_timemap(ARCHIVE, PAGE, [capture("20140101000000")])
    timed.clock.advance(5 * HOUR)

    then = await timed.cache.recall(ARCHIVE, PAGE, AT)
    newest = await timed.cache.recall(ARCHIVE, PAGE, None)

    assert then is not None
    assert then.fresh
    assert newest is not None
    assert not newest.fresh


async def test_an_empty_timemap_is_a_clear_no_for_ten_minutes(timed: TimedCache) -> None:
    await timed.cache.remember_timemap(ARCHIVE, PAGE, [])

    assert await timed.cache.recall(ARCHIVE, PAGE, AT) == CachedAnswer(
        None, fresh=True, age=0.0
    )
    timed.clock.advance(600)
    recalled = await timed.cache.recall(ARCHIVE, PAGE, AT)
    assert recalled is not None
    assert not recalled.fresh


async def test_of_two_stale_answers_the_later_is_recalled(timed: TimedCache) -> None:
    await timed.cache.remember_timemap(ARCHIVE, PAGE, [capture("20140101000000")])
    timed.clock.advance(HOUR)
    await timed.cache.remember(ARCHIVE, PAGE, AT, None)
    timed.clock.advance(2 * DAY)

    recalled = await timed.cache.recall(ARCHIVE, PAGE, AT)

    assert recalled == CachedAnswer(None, fresh=False, age=2 * DAY)


async def test_a_fresh_timemap_is_recalled_completely(timed: TimedCache) -> None:
    captures = [capture(f"{1000 + i}0601000000") for i in range(2000)]
    await timed.cache.remember_timemap(ARCHIVE, PAGE, captures)
    timed.clock.advance(DAY - 1)

    assert await timed.cache.recall_timemap(ARCHIVE, PAGE) == (captures, DAY - 1)
    timed.clock.advance(1)
    assert await timed.cache.recall_timemap(ARCHIVE, PAGE) is None


async def test_a_timemap_that_is_too_long_is_not_cached(timed: TimedCache) -> None:
    captures = [capture("20140101000000")] * (MOST_CAPTURES + 1)

    await timed.cache.remember_timemap(ARCHIVE, PAGE, captures)

    assert await timed.cache.recall_timemap(ARCHIVE, PAGE) is None


async def test_a_url_is_removed_in_every_archive_scope_and_version(timed: TimedCache) -> None:
    other = AnswerCache(timed.store, timed.clock, "v2", restricted=[ARCHIVE])
    await timed.cache.remember(ARCHIVE, PAGE, AT, found())
    await timed.cache.remember_timemap("another", PAGE, [])
    await other.remember(ARCHIVE, PAGE, AT, found())
    await other.remember(ARCHIVE, PAGE + "2", AT, found())
    await timed.cache.written(PAGE)
    await other.written(PAGE)
    await timed.cache.remember(ARCHIVE, PAGE, None, None)

    forgotten = await timed.cache.forget(PAGE)

    assert forgotten == 3
    assert await timed.cache.recall(ARCHIVE, PAGE, AT) is None
    assert await timed.cache.recall(ARCHIVE, PAGE, None) is None
    assert await other.recall(ARCHIVE, PAGE + "2", AT) is not None


class Liar(MemoryStore):
    """A store that returns the same value for every key."""

    def __init__(self, value: bytes) -> None:
        super().__init__()
        self._value = value

    def get_now(self, key: str) -> Stored | None:
        assert key
        return Stored(self._value, 0.0, fresh=True)


async def test_the_value_of_another_key_is_a_miss_and_counted(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, found())
    await timed.cache.written(PAGE)
    (key,) = timed.store._probation  # noqa: SLF001
    stored = timed.store.get_now(key)
    assert stored is not None
    cache = AnswerCache(Liar(stored.value), timed.clock, "v1")

    assert await cache.recall(ARCHIVE, PAGE + "/other", AT) is None
    assert await cache.recall_timemap(ARCHIVE, PAGE) is None
    assert cache.rejected == 2  # as a record, as a TimeMap
    assert await cache.recall(ARCHIVE, PAGE, AT) is not None


async def test_keys_contain_no_urls(timed: TimedCache) -> None:
    await timed.cache.remember(ARCHIVE, PAGE, AT, found())
    await timed.cache.written(PAGE)

    (key,) = timed.store._probation  # noqa: SLF001

    assert "example.org" not in key


@pytest.mark.parametrize("part", ["a/b", "/"])
async def test_a_slash_in_the_version_is_rejected(timed: TimedCache, part: str) -> None:
    with pytest.raises(ValueError, match="slash"):
        AnswerCache(timed.store, timed.clock, part)


async def test_a_store_in_memory_answers_at_once_and_a_file_does_not(
    timed: TimedCache, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "cache.db", clock=timed.clock)
    on_disk = AnswerCache(store, timed.clock, "v1")
    for cache in (timed.cache, on_disk):
        await cache.remember(ARCHIVE, PAGE, AT, found())

    assert timed.cache.recall_now(ARCHIVE, PAGE, AT) == CachedAnswer(
        found(), fresh=True, age=0.0
    )
    assert timed.cache.recall_now(ARCHIVE, PAGE, None) is None
    assert on_disk.recall_now(ARCHIVE, PAGE, AT) is WAITING
    assert await on_disk.recall(ARCHIVE, PAGE, AT) == timed.cache.recall_now(ARCHIVE, PAGE, AT)
    await store.close()


async def test_timemaps_in_a_file_answer_questions_too(
    timed: TimedCache, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "cache.db", clock=timed.clock)
    cache = AnswerCache(store, timed.clock, "v1")
    await cache.remember_timemap(ARCHIVE, PAGE, [capture("20140101000000")])
    await cache.written(PAGE)

    answers = await asyncio.gather(
        *(cache.recall(ARCHIVE, PAGE, Moment(str(year))) for year in range(2000, 2020))
    )

    stamps = {answer.outcome.memento.stamp for answer in answers if answer and answer.outcome}
    assert len(answers) == 20
    assert stamps == {"20140101000000"}
    assert await cache.forget(PAGE) == 2
    await store.close()


async def test_answers_of_a_changing_archive_are_not_cached(
    timed: TimedCache,
) -> None:
    memory = AnswerCache(timed.store, timed.clock, "v1", changing={ARCHIVE})
    await memory.remember(ARCHIVE, PAGE, AT, found())
    await memory.remember_timemap(ARCHIVE, PAGE, [found().memento])

    assert await timed.cache.recall(ARCHIVE, PAGE, AT) is None
    assert await memory.recall(ARCHIVE, PAGE, AT) is None
    assert await memory.recall_timemap(ARCHIVE, PAGE) is None


async def test_answers_of_a_restricted_archive_have_a_scope_of_their_own() -> None:
    store = MemoryStore()
    scoped = AnswerCache(store, Clock(), "v", changing=(), restricted=("x",))
    plain = AnswerCache(store, Clock(), "v")
    page, at = "http://example.org/", Moment("20160101000000")
    found = Closest(Memento("20160101000000", "http://x/1", page, "x"), "timegate")

    await scoped.remember("x", page, at, found)
    await scoped.written(page)

    assert await scoped.recall("x", page, at) is not None
    assert await plain.recall("x", page, at) is None
