"""Locks in Redis: of all replicas, one asks an archive each question."""

import asyncio

import pytest

from archives.moment import Moment
from tests.end_to_end.redis_servers import RedisServer, needs_redis
from timegate.redis.client import RedisClient
from timegate.redis.locks import LEASE, Locks, Question
from timegate.resolution.context import UNLIMITED

pytestmark = needs_redis

QUESTION: Question = ("a", "http://example.org/", Moment("2020"), "closest")
OTHERS: list[Question] = [
    ("b", "http://example.org/", Moment("2020"), "closest"),
    ("a", "http://example.org/2", Moment("2020"), "closest"),
    ("a", "http://example.org/", Moment("2021"), "closest"),
    ("a", "http://example.org/", None, "closest"),
    ("a", "http://example.org/", Moment("2020"), "before"),
]


async def test_the_first_replica_asks_and_the_others_wait_until_it_is_done(
    client: RedisClient,
) -> None:
    one, other = Locks(client, "1"), Locks(client, "1")

    led = await one.wait(QUESTION, UNLIMITED)
    async with asyncio.TaskGroup() as group:
        following = group.create_task(other.wait(QUESTION, UNLIMITED))
        await asyncio.sleep(0.05)
        waiting = not following.done()
        one.done(QUESTION)

    assert (led, waiting) == (0.0, True)
    assert (following.result() or 0.0) > 0


@pytest.mark.parametrize("question", OTHERS)
async def test_other_questions_do_not_wait(client: RedisClient, question: Question) -> None:
    one, other = Locks(client, "1"), Locks(client, "1")
    await one.wait(QUESTION, UNLIMITED)

    assert not await other.wait(question, UNLIMITED)


async def test_another_set_of_archives_does_not_wait(client: RedisClient) -> None:
    await Locks(client, "1").wait(QUESTION, UNLIMITED)

    assert await Locks(client, "2").wait(QUESTION, UNLIMITED) == 0.0


async def test_each_replica_asks_restricted_archives_for_itself(client: RedisClient) -> None:
    await Locks(client, "1").wait(QUESTION, UNLIMITED)

    assert await Locks(client, "1", restricted=["a"]).wait(QUESTION, UNLIMITED) is None


async def test_a_dead_holder_is_not_waited_for(client: RedisClient, redis: RedisServer) -> None:
    await Locks(client, "1").wait(QUESTION, UNLIMITED)
    (name,) = locks(redis)
    redis.say("PEXPIRE", name, "20")

    assert (await Locks(client, "1").wait(QUESTION, UNLIMITED) or 0.0) > 0
    assert locks(redis) == []


async def test_a_live_holder_renews_its_lock(client: RedisClient, redis: RedisServer) -> None:
    holder = Locks(client, "1")
    await holder.wait(QUESTION, UNLIMITED)
    (name,) = locks(redis)
    redis.say("PEXPIRE", name, "700")
    client.in_background(holder.keep_renewing())

    while redis.number("PTTL", name) <= 700:  # noqa: ASYNC110 -- another process
        await asyncio.sleep(0.02)

    assert redis.number("PTTL", name) <= LEASE * 1000


async def test_the_lock_of_another_holder_is_not_released(
    client: RedisClient, redis: RedisServer
) -> None:
    holder = Locks(client, "1")
    await holder.wait(QUESTION, UNLIMITED)
    (name,) = locks(redis)
    redis.say("SET", name, "of another", "PX", "1000")

    holder.done(QUESTION)
    await client.read(name, "PTTL", name)
    await asyncio.sleep(0.05)

    assert locks(redis) == [name]


@pytest.mark.parametrize(
    "lie", [("SET", "x"), ("SET", "x", "PX", "9999999"), ("HSET", "a", "b")]
)
async def test_a_foreign_value_in_place_of_a_lock_is_not_waited_for(
    client: RedisClient, redis: RedisServer, lie: tuple[str, ...]
) -> None:
    holder = Locks(client, "1")
    await holder.wait(QUESTION, UNLIMITED)
    (name,) = locks(redis)
    redis.say("DEL", name)
    command, *rest = lie
    redis.say(command, name, *rest)

    waited = await Locks(client, "1").wait(QUESTION, UNLIMITED)

    assert (waited or 0.0) > 0


def locks(redis: RedisServer) -> list[str]:
    names = redis.say("KEYS", "timegate:1:lock:*")
    return [line for line in names.splitlines() if line.startswith("timegate")]
