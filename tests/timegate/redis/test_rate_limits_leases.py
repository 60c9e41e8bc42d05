"""Leased tokens: replicas together never send more than the limit, whatever they lease.

The script runs in a real server, by a virtual clock.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from archives.model import Limits, Rate
from tests.clock import Clock
from tests.end_to_end.redis_servers import RedisServer, needs_redis
from tests.scenario import entry
from tests.timegate.upstream.windows import most_beyond_the_bucket, most_in_any_span
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient, Script
from timegate.redis.rate_limits import RedisRateLimiter, RedisRateLimiters
from timegate.redis.rate_state import LONGEST_LEASE, MOST_LEASED
from timegate.redis.time_budget import REDIS_TIME
from timegate.resolution.context import TimeBudget

pytestmark = needs_redis

FAST = Limits(Rate(2000, 1, 2000), Rate(500, 1, 500), 64, "a test")


class VirtualRedis(RedisClient):
    """A client of a server whose scripts run by a virtual clock; it counts them."""

    now: Clock
    scripts = 0

    async def script(
        self,
        script: Script,
        keys: list[str],
        *words: str | bytes | float,
        budget: TimeBudget | None = None,
        patient: bool = False,
    ) -> object:
        del budget
        self.scripts += 1
        micro = round(self.now() * 1e6)
        told = f"{{{micro // 1_000_000}, {micro % 1_000_000}}}"
        # The last word, so that the text of the script is always the same.
        text = script.text.replace("redis.call('TIME')", "loadstring('return ' .. KEYS[4])()")
        names = [*keys, *["-"] * (3 - len(keys)), told]
        return await self.write(keys[0], "EVAL", text, 4, *names, *words, patient=patient)


class World:
    """Replicas that share the limits of one archive, by one virtual clock."""

    def __init__(self, server: RedisServer, limits: Limits, replicas: int) -> None:
        server.say("FLUSHALL")
        self.clock = Clock()
        self.sent: list[float] = []
        self.clients: list[VirtualRedis] = []
        self.limiters: list[RedisRateLimiter] = []
        for _ in range(replicas):
            client = VirtualRedis(parse_address(server.url), bound=5.0)
            client.now = self.clock
            self.clients.append(client)
            limiters = RedisRateLimiters(client, lambda: replicas, self.clock)
            self.limiters.append(limiters.of(replace(entry("a"), limits=limits)))

    async def send(self, replica: int, number: int) -> int:
        """Let a replica send so many requests at once, if it may; return how many it sent."""
        limiter = self.limiters[replica]
        waits = await asyncio.gather(*(limiter.take("memento") for _ in range(number)))
        sent = waits.count(0.0)
        self.sent += [self.clock()] * sent
        return sent


def run(story: Coroutine[object, object, None]) -> None:
    with asyncio.Runner() as runner:
        runner.run(story)


FAST_RATES = (Rate(100, 1, 100), Rate(400, 1, 400), Rate(300, 2, 150), Rate(40, 1, 400))
rates = st.sampled_from(FAST_RATES) | st.builds(
    Rate, st.integers(1, 60), st.sampled_from((0.25, 1, 7, 60)), st.integers(1, 60)
)
# A lease lasts up to half a second, a window a little more than its seconds.
pauses = st.sampled_from((0.0, 0.001, 0.01, 0.2, 0.24, 0.8, 1.03)) | st.floats(0, 1.5)
turns = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from((1, 5, 40, 400)), pauses),
    min_size=1,
    max_size=30,
)
LATE = [(0, 40, 0.001), (0, 40, 0.001), (1, 400, 0.24), (0, 40, 0.82), (1, 400, 0.0)]
"""A replica uses its lease at the last moment, when the window of the others is over."""
REFILLED = [(0, 5, 0.001), (0, 5, 0.49), (1, 400, 0.0), (0, 5, 0.0)]
"""A replica uses its lease when the bucket is full again."""


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rate=rates, turns=turns)
@example(rate=Rate(400, 1, 400), turns=LATE)
@example(rate=Rate(40, 1, 400), turns=REFILLED)
def test_replicas_together_send_no_more_than_the_limit(
    redis: RedisServer, rate: Rate, turns: Sequence[tuple[int, int, float]]
) -> None:
    async def story() -> None:
        world = World(redis, Limits(rate, rate, 64, "a test"), 3)
        for replica, number, pause in turns:
            await world.send(replica, number)
            world.clock.advance(pause)
        for client in world.clients:
            await client.__aexit__(None, None, None)
        if rate.burst <= rate.requests:
            assert most_in_any_span(world.sent, rate.seconds) <= rate.requests
        if world.sent:
            # A token that was not leased is counted when it is granted, and sent at once.
            assert most_beyond_the_bucket(world.sent, rate) <= 1e-3

    run(story())


async def test_a_replica_that_sends_much_asks_seldom(redis: RedisServer) -> None:
    world = World(redis, FAST, 1)
    async with world.clients[0]:
        sent = 0
        for _ in range(1000):
            sent += await world.send(0, 1)
            world.clock.advance(0.002)

    assert sent == 1000
    assert world.clients[0].scripts < 1000 / MOST_LEASED * 3


async def test_a_replica_that_sends_little_leases_nothing(redis: RedisServer) -> None:
    world = World(redis, FAST, 1)
    async with world.clients[0]:
        for _ in range(5):
            await world.send(0, 1)
            world.clock.advance(2)

    assert world.clients[0].scripts == 5


async def test_a_lease_leaves_most_of_what_is_free_to_the_others(redis: RedisServer) -> None:
    limits = Limits(Rate(200, 1, 200), Rate(1, 1, 1), 64, "a test")
    world = World(redis, limits, 2)
    async with world.clients[0], world.clients[1]:
        await world.send(0, 20)
        await world.send(0, 20)

        others = await world.send(1, 100)

    assert others == 100


async def test_tokens_are_not_used_after_their_lease(redis: RedisServer) -> None:
    world = World(redis, FAST, 1)
    limiter = world.limiters[0]
    async with world.clients[0]:
        await world.send(0, 20)
        world.clock.advance(0.01)
        await world.send(0, 20)
        leased = limiter.take_now("memento")
        world.clock.advance(LONGEST_LEASE)

        assert (leased, limiter.take_now("memento")) == (True, False)


async def test_leased_tokens_are_not_used_during_a_pause(redis: RedisServer) -> None:
    world = World(redis, FAST, 1)
    limiter = world.limiters[0]
    async with world.clients[0]:
        await world.send(0, 20)
        world.clock.advance(0.01)
        await world.send(0, 20)
        before = limiter.take_now("memento")
        await limiter.rest(60)

        assert (before, limiter.take_now("memento")) == (True, False)
        assert await limiter.take("memento") == pytest.approx(60, abs=REDIS_TIME)


async def test_a_server_that_lost_its_data_ends_the_lease(redis: RedisServer) -> None:
    world = World(redis, Limits(Rate(400, 1, 400), Rate(1, 1, 1), 64, "a test"), 1)
    async with world.clients[0]:
        sent = await world.send(0, 20)
        world.clock.advance(0.01)
        sent += await world.send(0, 20)
        redis.say("FLUSHALL")
        for _ in range(20):
            sent += await world.send(0, 40)

    assert 300 < sent <= 400


async def test_a_false_number_of_tokens_is_not_believed(redis: RedisServer) -> None:
    class Lying(VirtualRedis):
        async def script(self, *_: object, **__: object) -> object:
            return [b"ab", b"0", b"0", b"9", 1 << 40, 1 << 40]

    client = Lying(parse_address(redis.url), bound=5.0)
    client.now = Clock()
    limiter = RedisRateLimiters(client, lambda: 1, client.now).of(
        replace(entry("a"), limits=FAST)
    )
    async with client:
        assert await limiter.take("memento") == 0.0
        assert not limiter.take_now("memento")
