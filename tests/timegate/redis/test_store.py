"""The store in Redis, beyond what every store does (tests/timegate/cache)."""

import asyncio
import struct
import zlib
from pathlib import Path

import pytest

from tests.clock import Clock
from tests.end_to_end.redis_servers import RedisServer, needs_redis, redis_server
from timegate.cache.store import RECENT, Unavailable
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient
from timegate.redis.store import LARGEST, RedisStore
from timegate.resolution.context import TimeBudget

pytestmark = needs_redis
NAME = "timegate:1:cache:key"


async def test_a_value_that_one_replica_stores_is_found_by_the_other(
    client: RedisClient,
) -> None:
    one, other = RedisStore(client), RedisStore(client)

    await one.put("key", b"value", 60, 60)
    found = await other.get("key")

    assert found is not None
    assert found.value == b"value"


async def test_a_recent_value_is_not_looked_up_again(
    client: RedisClient, redis: RedisServer
) -> None:
    monotonic = Clock()
    store = RedisStore(client, monotonic=monotonic)
    await store.put("key", b"value", 60, 60)
    before = redis.commands()

    found = [await store.get("key") for _ in range(100)]
    asked = redis.commands() - before - 1

    assert None not in found
    assert asked <= 0


async def test_a_value_that_is_no_longer_recent_is_looked_up_again(client: RedisClient) -> None:
    monotonic = Clock()
    one, other = RedisStore(client, monotonic=monotonic), RedisStore(client)
    await one.put("key", b"old", 60, 60)
    await other.put("key", b"new", 60, 60)

    monotonic.advance(RECENT + 0.1)
    found = await one.get("key")

    assert found is not None
    assert found.value == b"new"


async def test_a_value_expires_on_the_server_when_it_is_no_longer_usable(
    client: RedisClient, redis: RedisServer
) -> None:
    await RedisStore(client).put("key", b"value", 10, 20)

    assert 25_000 < redis.number("PTTL", NAME) <= 30_000


async def test_a_value_that_is_too_large_is_not_stored(
    client: RedisClient, redis: RedisServer
) -> None:
    store = RedisStore(client)

    await store.put("key", bytes(LARGEST + 1), 60, 60)

    assert await store.get("key") is None
    assert redis.number("EXISTS", NAME) == 0


async def test_a_value_of_the_largest_size_is_stored(client: RedisClient) -> None:
    store = RedisStore(client, recent=0)

    await store.put("key", bytes(LARGEST), 60, 60)

    assert await store.get("key") is not None


async def test_a_value_that_lies_under_another_key_is_not_believed(
    client: RedisClient, redis: RedisServer
) -> None:
    store = RedisStore(client, recent=0)
    await store.put("key", b"value", 60, 60)
    redis.say("RENAME", NAME, NAME + "2")

    assert await store.get("key2") is None
    assert store.rejected == 1


@pytest.mark.parametrize(
    "lie",
    [
        ("SET", "x"),
        ("SET", "x" * 100),
        ("SETRANGE", str(2 * LARGEST), "x"),
        ("HSET", "a", "b"),
        ("RPUSH", "a"),
    ],
)
async def test_garbage_is_a_miss_and_is_replaced(
    client: RedisClient, redis: RedisServer, lie: tuple[str, ...]
) -> None:
    store = RedisStore(client, recent=0)
    command, *rest = lie
    redis.say(command, NAME, *rest)

    missed = await store.get("key")
    await store.put("key", b"value", 60, 60)

    assert missed is None
    assert store.rejected == 1
    assert await store.get("key") is not None
    assert store.trouble is None


@pytest.mark.parametrize("place", [0, 1, 4, 5, 20, 29, 33])
async def test_one_wrong_octet_is_noticed(
    client: RedisClient, redis: RedisServer, place: int
) -> None:
    store = RedisStore(client, recent=0)
    await store.put("key", b"value", 60, 60)
    redis.say(
        "SETBIT", NAME, str(8 * place), str(1 - redis.number("GETBIT", NAME, str(8 * place)))
    )

    assert await store.get("key") is None
    assert store.rejected == 1


async def test_an_entry_with_an_endless_lifetime_is_not_believed(
    client: RedisClient, redis: RedisServer
) -> None:
    store = RedisStore(client, recent=0)
    body = struct.pack("<ddd", 0.0, 1e18, 1e18) + b"value"
    checksum = zlib.crc32(body, zlib.crc32(NAME.encode()))
    await client.write(NAME, "SET", NAME, b"\x01" + checksum.to_bytes(4, "little") + body)

    assert redis.number("STRLEN", NAME) == 34
    assert await store.get("key") is None
    assert store.rejected == 1


async def test_a_value_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with RedisClient(parse_address(server.url)) as client:
            store = RedisStore(client)
            await store.put("key", b"value", 60, 60)
            server.kill()

            with pytest.raises(Unavailable):
                await store.purge("k")
            with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
                await store.delete("key")

            assert await store.get("key") is None


async def test_a_value_that_is_removed_during_its_lookup_is_not_kept(
    client: RedisClient,
) -> None:
    store = RedisStore(client)
    await RedisStore(client).put("key", b"value", 60, 60)

    async with asyncio.TaskGroup() as group:
        group.create_task(store.get("key"))
        await asyncio.sleep(0)
        await store.delete("key")

    assert await store.get("key") is None


async def test_concurrent_lookups_of_one_key_are_sent_once(
    client: RedisClient, redis: RedisServer
) -> None:
    store = RedisStore(client)
    await RedisStore(client).put("key", b"value", 60, 60)
    before = redis.commands()

    found = await asyncio.gather(*(store.get("key") for _ in range(1000)))

    assert None not in found
    assert redis.commands() - before <= 2


async def test_a_purge_may_take_longer_than_a_request_waits(client: RedisClient) -> None:
    store = RedisStore(client, recent=0)
    await store.put("key", b"value", 60, 60)

    found = await store.get("key", TimeBudget(0.0))
    removed = await store.purge("k")

    assert found is None
    assert removed == 1


async def test_a_glob_pattern_in_a_prefix_is_taken_literally(client: RedisClient) -> None:
    store = RedisStore(client, recent=0)
    for key in ("a*b", "axb", "[a]", "a"):
        await store.put(key, b"value", 60, 60)

    removed = [await store.purge("a*"), await store.purge("[a]"), await store.purge("?")]

    assert removed == [1, 1, 0]


async def test_thousands_are_purged(client: RedisClient) -> None:
    store = RedisStore(client)
    for number in range(2500):
        await store.put(f"a/{number}", b"value", 60, 60)
    await store.put("b/1", b"value", 60, 60)

    assert await store.purge("a/") == 2500
    assert await store.get("b/1") is not None


def joined(_: str, stored: bytes | None, learned: bytes) -> bytes:
    return b" ".join(sorted({*(stored or b"").split(), *learned.split()}))


async def test_values_that_two_replicas_merge_are_both_kept(client: RedisClient) -> None:
    one, other = RedisStore(client), RedisStore(client)
    await one.merge("page", b"a", joined, 60)
    await other.merge("page", b"b", joined, 60)
    await asyncio.gather(
        one.merge("page", b"c", joined, 60), other.merge("page", b"d", joined, 60)
    )

    seen = await one.get("page", recent=False)

    assert seen is not None
    assert seen.value == b"a b c d"


async def test_a_merge_takes_one_command_if_the_stored_value_is_known(
    client: RedisClient, redis: RedisServer
) -> None:
    store = RedisStore(client)
    await store.merge("page", b"a", joined, 60)
    before = redis.commands()

    await store.merge("page", b"b", joined, 60)

    # The script, what it calls, and the two commands that count.
    assert redis.commands() - before <= 5


@pytest.mark.parametrize("harm", [("SET", "x"), ("LPUSH", "x")])
async def test_a_value_of_another_program_is_replaced_by_a_merge(
    client: RedisClient, redis: RedisServer, harm: tuple[str, str]
) -> None:
    command, value = harm
    redis.say(command, "timegate:1:cache:page", value)
    store = RedisStore(client)

    assert await store.merge("page", b"a", joined, 60)
    seen = await store.get("page", recent=False)

    assert seen is not None
    assert (seen.value, store.rejected) == (b"a", 1)


async def test_a_merge_waits_until_redis_is_available_again(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with RedisClient(parse_address(server.url)) as client:
            store = RedisStore(client, merge_time=60.0)
            server.pause()
            assert await store.get("other") is None
            assert client.trouble
            async with asyncio.TaskGroup() as group:
                merging = group.create_task(store.merge("page", b"a", joined, 60))
                await asyncio.sleep(0.2)
                server.go_on()

            assert merging.result()


async def test_a_merge_gives_up_if_redis_stays_away(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with RedisClient(parse_address(server.url)) as client:
            store = RedisStore(client, merge_time=0.1)
            server.kill()

            assert not await store.merge("page", b"a", joined, 60)
