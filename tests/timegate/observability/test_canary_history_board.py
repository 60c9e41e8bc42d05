"""Histories of canaries in the cache: shared by replicas, and rebuilt if lost."""

import msgspec

from archives.moment import Moment
from timegate.cache.store import MemoryStore
from timegate.observability.canary_history import (
    CanaryQuestion,
    CanaryRecord,
    CanarySpan,
    CanaryStore,
)

PAGE = CanaryQuestion("a", "has", "http://example.org/", Moment("2016"))
KNOWN = CanaryRecord(5.0, (CanarySpan("kept", "it gives the copy", 5.0, 5.0),))


async def test_the_result_of_one_replica_is_known_to_the_other() -> None:
    store = MemoryStore()
    await CanaryStore(store).put(PAGE, KNOWN)

    other = CanaryStore(store)

    assert await other.look(PAGE) == KNOWN
    assert other.records == {PAGE: KNOWN}


async def test_a_result_that_the_cache_lost_is_known_to_the_replica_that_asked() -> None:
    store = MemoryStore()
    board = CanaryStore(store)
    await board.put(PAGE, KNOWN)
    await store.purge("canary:")

    assert await board.look(PAGE) == KNOWN


async def test_of_two_records_the_newer_counts() -> None:
    store = MemoryStore()
    board = CanaryStore(store)
    newer = msgspec.structs.replace(KNOWN, asked=9.0)
    await board.put(PAGE, KNOWN)
    await CanaryStore(store).put(PAGE, newer)

    assert await board.look(PAGE) == newer


async def test_a_replica_that_looked_during_the_question_learns_the_answer() -> None:
    store = MemoryStore()
    asking, looking = CanaryStore(store), CanaryStore(store)
    await asking.put(PAGE, CanaryRecord(5.0))
    await looking.look(PAGE)
    await asking.put(PAGE, KNOWN)

    assert await looking.look(PAGE) == KNOWN


async def test_a_damaged_history_is_started_anew() -> None:
    store = MemoryStore()
    await CanaryStore(store).put(PAGE, KNOWN)
    (key,) = (*store._probation, *store._protected)  # noqa: SLF001 -- to damage what is there
    for damaged in (b"", b"{", b'{"asked": -1}', b'{"spans": [{"verdict": "fine"}]}'):
        await store.put(key, damaged, 60.0, 0.0)

        assert await CanaryStore(store).look(PAGE) == CanaryRecord()


async def test_another_page_or_another_time_has_another_history() -> None:
    store = MemoryStore()
    await CanaryStore(store).put(PAGE, KNOWN)

    for other in (
        PAGE._replace(url="http://example.org/a"),
        PAGE._replace(at=Moment("2017")),
        PAGE._replace(at=None),
        PAGE._replace(side="lacks"),
        PAGE._replace(archive="b"),
    ):
        assert await CanaryStore(store).look(other) == CanaryRecord()
