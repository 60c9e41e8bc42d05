"""The contract of every store: memory, SQLite, Redis."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clock import Clock
from tests.end_to_end.redis_servers import needs_redis, redis_server
from tests.timegate.cache.samples import NOW
from timegate.cache import MemoryStore, SqliteStore, Store, open_store
from timegate.cache.store import LONGEST, SKEW
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient
from timegate.redis.store import RedisStore

DAY = 86_400.0


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(params=["memory:", "sqlite:", pytest.param("redis:", marks=needs_redis)])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[Store]:
    if request.param == "redis:":
        with redis_server(tmp_path / "redis") as server:
            async with RedisClient(parse_address(server.url), bound=5.0) as client:
                yield RedisStore(client, clock=clock, recent=0.0)
        return
    path = tmp_path / "cache.db" if request.param == "sqlite:" else ""
    opened = open_store(f"{request.param}{path}", clock=clock)
    yield opened
    await opened.close()


async def test_a_stored_value_is_found(store: Store) -> None:
    await store.put("key", b"value", 60, 60)

    assert await store.get("key") == (b"value", 0.0, True)
    assert store.trouble is None


async def test_a_key_that_was_never_stored_is_not_found(store: Store) -> None:
    assert await store.get("key") is None


async def test_a_later_value_replaces_an_earlier_one(store: Store) -> None:
    await store.put("key", b"old", 60, 60)
    await store.put("key", b"new", 60, 60)

    stored = await store.get("key")

    assert stored is not None
    assert stored.value == b"new"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (0, (b"value", 0, True)),
        (9, (b"value", 9, True)),
        (10, (b"value", 10, False)),
        (29, (b"value", 29, False)),
        (30, None),
    ],
)
async def test_a_value_is_fresh_then_stale_then_gone(
    store: Store, clock: Clock, after: float, expected: object
) -> None:
    await store.put("key", b"value", 10, 20)
    await committed(store)
    clock.advance(after)

    assert await store.get("key") == expected


async def test_no_value_is_kept_longer_than_the_cap(store: Store, clock: Clock) -> None:
    await store.put("key", b"value", 100 * DAY, 100 * DAY)
    await committed(store)
    clock.advance(LONGEST)

    assert await store.get("key") is None


async def test_a_value_from_the_future_is_not_believed(store: Store, clock: Clock) -> None:
    await store.put("key", b"value", DAY, DAY)
    await committed(store)
    clock.advance(-SKEW - 1)

    assert await store.get("key") is None


async def test_a_clock_that_is_a_little_off_makes_no_negative_age(
    store: Store, clock: Clock
) -> None:
    await store.put("key", b"value", DAY, DAY)
    clock.advance(-1)

    assert await store.get("key") == (b"value", 0.0, True)


async def test_a_deleted_value_is_gone(store: Store) -> None:
    await store.put("key", b"value", 60, 60)
    await store.put("key2", b"value", 60, 60)

    await store.delete("key")

    assert await store.get("key") is None
    assert await store.get("key2") is not None


async def test_deleting_a_missing_key_does_nothing(store: Store) -> None:
    await store.delete("key")

    assert store.trouble is None


async def test_purging_removes_a_prefix_and_nothing_else(store: Store) -> None:
    keys = ["a/1", "a/2", "a/\U0010fffd", "a", "a0", "b/1"]
    for key in keys:
        await store.put(key, b"value", 60, 60)
    await committed(store)

    removed = await store.purge("a/")

    left = [key for key in keys if await store.get(key)]
    assert removed == 3
    assert left == ["a", "a0", "b/1"]


async def test_a_value_that_was_stored_a_moment_ago_is_purged_too(store: Store) -> None:
    await store.put("a/1", b"value", 60, 60)
    await store.put("a/2", b"value", 60, 60)

    await store.purge("a/")
    await committed(store)

    assert await store.get("a/1") is None
    assert await store.get("a/2") is None


async def test_any_octets_are_returned_unchanged(store: Store) -> None:
    value = bytes(range(256)) * 100

    await store.put("key", value, 60, 60)
    await committed(store)

    stored = await store.get("key")
    assert stored is not None
    assert stored.value == value


async def test_many_tasks_at_once_see_their_own_values(store: Store) -> None:
    async def use(number: int) -> bool:
        key = f"key {number % 50}"
        await store.put(key, b"%d" % (number % 50), 60, 60)
        await asyncio.sleep(0)
        stored = await store.get(key)
        return stored is not None and stored.value == b"%d" % (number % 50)

    seen = await asyncio.gather(*(use(number) for number in range(500)))

    assert all(seen)


@pytest.mark.parametrize(
    "url",
    ["", "memory", "memory:x", "sqlite", "sqlite:", "sqlite::memory:", "redis://x", "/a/b.db"],
)
def test_an_unknown_store_is_rejected_with_the_allowed_ones(url: str) -> None:
    with pytest.raises(ValueError, match="allowed are memory: and sqlite:PATH"):
        open_store(url)


def test_a_misspelt_url_with_a_password_is_not_shown() -> None:
    with pytest.raises(ValueError, match="allowed are") as caught:
        open_store("rediss+clutser://:hunter2@h")

    assert "hunter2" not in str(caught.value)


async def test_a_url_names_the_store_and_its_limit(tmp_path: Path) -> None:
    memory = open_store("memory:", limit=1 << 20)
    sqlite = open_store(f"sqlite:{tmp_path / 'cache.db'}", limit=1 << 20)

    assert isinstance(memory, MemoryStore)
    assert isinstance(sqlite, SqliteStore)
    await sqlite.close()


async def committed(store: Store) -> None:
    if isinstance(store, SqliteStore):
        await store.flush()


def joined(key: str, stored: bytes | None, learned: bytes) -> bytes:
    """Merge words: each once, in order."""
    assert key.startswith("page")
    return b" ".join(sorted({*(stored or b"").split(), *learned.split()}))


async def test_a_value_is_merged_into_the_one_that_is_stored(store: Store) -> None:
    assert await store.merge("page", b"b", joined, DAY)
    assert await store.merge("page", b"a c", joined, DAY)

    stored = await store.get("page")

    assert stored is not None
    assert stored.value == b"a b c"


async def test_of_many_values_that_are_merged_at_once_none_is_lost(store: Store) -> None:
    words = [f"{number:02}".encode() for number in range(8)]

    kept = await asyncio.gather(*(store.merge("page", each, joined, DAY) for each in words))
    stored = await store.get("page")

    assert all(kept)
    assert stored is not None
    assert stored.value.split() == words


async def test_an_expired_value_is_not_merged(store: Store, clock: Clock) -> None:
    await store.merge("page", b"old", joined, 60)
    clock.advance(61)
    await store.merge("page", b"new", joined, 60)

    stored = await store.get("page")

    assert stored is not None
    assert stored.value == b"new"


async def test_a_value_that_is_too_large_is_not_merged(store: Store) -> None:
    huge = bytes(64 << 20)

    assert not await store.merge("page", huge, lambda _key, _stored, new: new, DAY)
    assert await store.get("page") is None
