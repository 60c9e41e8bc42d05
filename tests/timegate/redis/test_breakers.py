"""Breakers shared by replicas: an archive that one found dead is not queried by any."""

import pytest

from tests.clock import Clock
from tests.end_to_end.redis_servers import RedisServer, needs_redis
from timegate.redis.breakers import SharedBreakers
from timegate.redis.client import RedisClient
from timegate.upstream.breaker import FAILURES, LONGEST_REST, Breakers

pytestmark = needs_redis

ARCHIVES = ["a", "b", "c", "d"]
KEY = "timegate:1:{breakers}"


class Replica:
    """The breakers of one replica, over a clock that stands still."""

    def __init__(self, client: RedisClient) -> None:
        self.clock = Clock()
        self.breakers = Breakers(ARCHIVES, self.clock, lambda: 0.0)
        self._shared = SharedBreakers(client, self.breakers)

    async def finds_dead(self, *archives: str) -> None:
        for archive in archives:
            for _ in range(FAILURES):
                self.breakers.report(archive, "bad")
        await self.exchange()

    async def exchange(self) -> None:
        await self._shared.exchange()

    def standing(self, archive: str = "a") -> str:
        return self.breakers.standing(archive)


@pytest.fixture
def one(client: RedisClient) -> Replica:
    return Replica(client)


@pytest.fixture
def other(client: RedisClient) -> Replica:
    return Replica(client)


async def test_an_archive_that_one_replica_finds_dead_is_not_queried_by_the_other(
    one: Replica, other: Replica
) -> None:
    await one.finds_dead("a")

    await other.exchange()

    assert (other.standing("a"), other.standing("b")) == ("open", "closed")


async def test_a_good_answer_at_one_replica_lets_the_other_try(
    one: Replica, other: Replica
) -> None:
    await one.finds_dead("a")
    await other.exchange()
    one.clock.advance(31)
    one.breakers.report("a", "good")

    await one.exchange()
    await other.exchange()

    assert (one.standing(), other.standing()) == ("closed", "half-open")


async def test_a_good_answer_at_the_advised_replica_counts_as_well(
    one: Replica, other: Replica
) -> None:
    await one.finds_dead("a")
    await other.exchange()
    other.breakers.report("a", "good")

    await other.exchange()
    await one.exchange()

    assert (one.standing(), other.standing()) == ("half-open", "closed")


async def test_the_same_state_is_not_sent_again(one: Replica, redis: RedisServer) -> None:
    await one.finds_dead("a")
    redis.say("HDEL", KEY, "a")

    await one.exchange()

    assert redis.number("HLEN", KEY) == 0


async def test_a_replica_that_finds_most_archives_dead_does_not_share_that(
    one: Replica, other: Replica
) -> None:
    await one.finds_dead("a", "b")
    await other.exchange()
    before = other.standing("a")

    await one.finds_dead("c")
    await other.exchange()

    assert before == "open"
    assert [other.standing(archive) for archive in ARCHIVES] == [
        "half-open",
        "half-open",
        "closed",
        "closed",
    ]


async def test_a_rest_that_has_ended_is_no_advice(one: Replica, redis: RedisServer) -> None:
    redis.say("HSET", KEY, "a", "5 1 1000")

    await one.exchange()

    assert one.standing() == "closed"
    assert redis.number("HLEN", KEY) == 0


@pytest.mark.parametrize(
    "lie", ["", "x", "5 1", "5 1 -3", "5 1 99999999999999999", "99999999999 1 0", "5 1 1e9"]
)
async def test_a_false_value_is_discarded(one: Replica, redis: RedisServer, lie: str) -> None:
    redis.say("HSET", KEY, "a", lie, "unknown", lie)

    await one.exchange()

    assert one.standing() == "closed"
    assert redis.number("HLEN", KEY) == 0


async def test_a_key_of_another_type_is_removed(one: Replica, redis: RedisServer) -> None:
    redis.say("SET", KEY, "x")

    await one.exchange()
    await one.finds_dead("a")

    assert redis.number("HLEN", KEY) == 1


async def test_a_flood_of_archives_is_discarded(one: Replica, redis: RedisServer) -> None:
    redis.say("HSET", KEY, *(word for n in range(1001) for word in (f"x{n}", "5 1 1")))

    await one.exchange()

    assert redis.number("EXISTS", KEY) == 0


def test_advice_is_bounded_and_does_not_shorten_a_rest() -> None:
    clock = Clock()
    breakers = Breakers(ARCHIVES, clock, lambda: 0.0)

    breakers.advise("a", 5, 1, 1e9)
    breakers.advise("a", 5, 1, 1.0)
    clock.advance(LONGEST_REST)

    assert breakers.standing("a") == "open"
    clock.advance(LONGEST_REST)
    assert breakers.standing("a") == "half-open"
