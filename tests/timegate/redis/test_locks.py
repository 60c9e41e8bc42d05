"""Locks in Redis: of all replicas, one asks an archive each question."""

import asyncio
import time

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

    assert (led, waiting) == (None, True)
    assert (following.result() or 0.0) > 0


@pytest.mark.parametrize("question", OTHERS)
async def test_other_questions_do_not_wait(client: RedisClient, question: Question) -> None:
    one, other = Locks(client, "1"), Locks(client, "1")
    await one.wait(QUESTION, UNLIMITED)

    assert not await other.wait(question, UNLIMITED)


async def test_another_set_of_archives_does_not_wait(client: RedisClient) -> None:
    await Locks(client, "1").wait(QUESTION, UNLIMITED)

    assert await Locks(client, "2").wait(QUESTION, UNLIMITED) is None


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
    value = f"another {int(time.time() * 1000) + 1000}"
    redis.say("HSET", name, "a", value)

    holder.done(QUESTION)
    await client.read(name, "PTTL", name)
    await asyncio.sleep(0.05)

    assert value in redis.say("HGET", name, "a")


@pytest.mark.parametrize(
    "lie",
    [
        ("SET", "x"),
        ("SET", "x", "PX", "9999999"),
        ("HSET", "b", "c"),
        *(("HSET", "a", value) for value in ("", "x", "x 0", "x 99999999999999999", "x nan")),
        ("SADD", "a"),
    ],
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

    assert waited is None
    assert redis.say("TYPE", name) in {"+hash\r\n", "+none\r\n"}


async def test_a_question_that_was_just_answered_is_looked_up_again(
    client: RedisClient,
) -> None:
    one, other = Locks(client, "1"), Locks(client, "1")
    await one.wait(QUESTION, UNLIMITED)
    one.done(QUESTION)
    await asyncio.sleep(0.05)

    assert await other.wait(QUESTION, UNLIMITED) == 0.0


async def test_the_locks_of_a_page_are_taken_and_released_together(
    client: RedisClient, redis: RedisServer
) -> None:
    many: list[Question] = [(f"a{n}", "http://x/", None, "closest") for n in range(10)]
    holder = Locks(client, "1")
    await holder.wait(QUESTION, UNLIMITED)  # loads the script
    before = redis.calls("evalsha")

    await asyncio.gather(*(holder.wait(question, UNLIMITED) for question in many))
    taken = redis.calls("evalsha")
    for question in many:
        holder.done(question)
    while redis.calls("evalsha") == taken:  # noqa: ASYNC110 -- another process
        await asyncio.sleep(0.01)

    assert (taken - before, redis.calls("evalsha") - taken) == (1, 1)
    assert "held" not in await standings(client, many)


async def test_a_lock_that_is_no_longer_wanted_is_released(client: RedisClient) -> None:
    one = Locks(client, "1")
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(one.wait(QUESTION, UNLIMITED))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
    await asyncio.sleep(0.05)

    assert await Locks(client, "1").wait(QUESTION, UNLIMITED) in {None, 0.0}


async def standings(client: RedisClient, questions: list[Question]) -> list[str]:
    """Return how long another replica waits for each."""
    other = Locks(client, "1")
    waits = await asyncio.gather(*(other.wait(each, UNLIMITED) for each in questions))
    return ["held" if wait else "free" for wait in waits]


def locks(redis: RedisServer) -> list[str]:
    names = redis.say("KEYS", "timegate:1:lock:*")
    return [line for line in names.splitlines() if line.startswith("timegate")]
