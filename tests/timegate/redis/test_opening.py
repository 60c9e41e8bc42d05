"""The number of replicas that share the rate limits."""

import pytest

from tests.end_to_end.redis_servers import RedisServer, needs_redis
from timegate.redis.client import RedisClient
from timegate.redis.opening import Replicas

pytestmark = needs_redis
KEY = "timegate:1:{replicas}"


async def test_each_replica_counts_all(client: RedisClient) -> None:
    replicas = [Replicas(client, name) for name in "abc"]
    for _ in range(2):
        for replica in replicas:
            await replica.beat()

    assert [replica.number for replica in replicas] == [3, 3, 3]


async def test_a_replica_that_leaves_is_not_counted(client: RedisClient) -> None:
    one, other = Replicas(client, "one"), Replicas(client, "other")
    await one.beat()
    await other.beat()

    await other.leave()
    await one.beat()

    assert one.number == 1


async def test_a_replica_without_heartbeats_is_not_counted(
    client: RedisClient, redis: RedisServer
) -> None:
    redis.say("ZADD", KEY, "1000", "old", "9999999999", "of the future")
    one = Replicas(client, "one")

    await one.beat()

    assert one.number == 1


@pytest.mark.parametrize(("expected", "number"), [(None, 2), (1, 1), (5, 5)])
async def test_before_the_first_count_there_are_as_many_as_expected(
    client: RedisClient, expected: int | None, number: int
) -> None:
    assert Replicas(client, "one", expected).number == number


async def test_there_are_never_fewer_than_expected(client: RedisClient) -> None:
    one = Replicas(client, "one", 3)

    await one.beat()

    assert one.number == 3


async def test_a_key_of_another_type_is_removed(
    client: RedisClient, redis: RedisServer
) -> None:
    redis.say("SET", KEY, "x")
    one = Replicas(client, "one")

    await one.beat()
    await one.beat()

    assert one.number == 1
