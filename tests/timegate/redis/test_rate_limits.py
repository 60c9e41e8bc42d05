"""Rate limits that hold for all replicas together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from archives.model import Limits, Rate
from tests.clock import Clock
from tests.end_to_end.redis_servers import RedisServer, needs_redis, redis_server
from tests.scenario import entry
from tests.timegate.upstream.windows import most_in_any_span
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient
from timegate.redis.rate_limits import LONGEST_REST, RedisRateLimiter, RedisRateLimiters
from timegate.redis.rate_state import LocalFallback, Sent

pytestmark = needs_redis

HOUR = Limits(Rate(10, 3600, 4), Rate(6, 3600, 6), 8, "a test")


class Replicas:
    """Several replicas over one server, with a clock that stands still."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self.clock = Clock()
        self._url = url
        self._stack = stack
        self._clients: list[RedisClient] = []

    async def healed(self) -> None:
        async with asyncio.timeout(30):
            for client in self._clients:
                while client.trouble:  # noqa: ASYNC110 -- a server in another process
                    await asyncio.sleep(0.01)

    async def ledger(self, limits: Limits = HOUR, name: str = "a") -> RedisRateLimiter:
        client = await self._stack.enter_async_context(
            RedisClient(parse_address(self._url), bound=5.0)
        )
        self._clients.append(client)
        ledgers = RedisRateLimiters(client, lambda: 2, self.clock)
        return ledgers.of(replace(entry(name), limits=limits))


@pytest.fixture
async def replicas(redis: RedisServer) -> AsyncIterator[Replicas]:
    async with AsyncExitStack() as stack:
        yield Replicas(redis.url, stack)


async def taken(ledger: RedisRateLimiter, times: int = 20) -> int:
    return sum([await ledger.take("index") == 0.0 for _ in range(times)])


async def test_two_replicas_together_send_no_more_than_one_may(replicas: Replicas) -> None:
    one, other = await replicas.ledger(), await replicas.ledger()

    sent = [await taken(ledger, 1) for _ in range(10) for ledger in (one, other)]

    assert sum(sent) == 6


async def test_a_burst_is_shared_as_well(replicas: Replicas) -> None:
    one, other = await replicas.ledger(), await replicas.ledger()

    got = [await ledger.take("memento") for _ in range(4) for ledger in (one, other)]

    assert got[:4] == [0, 0, 0, 0]
    assert 350 < got[4] <= 360


async def test_the_outlook_is_the_wait_behind_the_requests_ahead(
    replicas: Replicas,
) -> None:
    ledger = await replicas.ledger()

    free = await ledger.outlook("index", 5)
    full = await ledger.outlook("index", 6)
    burst = await ledger.outlook("memento", 4)

    assert free == 0
    assert full == pytest.approx(3601, abs=0.1)
    assert burst == pytest.approx(360)


async def test_a_rest_that_one_process_learned_of_holds_for_the_others(
    replicas: Replicas,
) -> None:
    one, other = await replicas.ledger(), await replicas.ledger()

    await one.rest(60)
    refused = await other.take("index")

    assert 50 < refused <= 60
    assert 50 < await other.resting() <= 60
    assert await one.resting() == 60


async def test_a_shorter_rest_does_not_end_a_longer_one(replicas: Replicas) -> None:
    one, other = await replicas.ledger(), await replicas.ledger()

    await one.rest(100)
    await other.rest(1)

    assert 90 < await other.take("index") <= 100


async def test_archives_do_not_share_their_limits(replicas: Replicas) -> None:
    one, other = await replicas.ledger(), await replicas.ledger(name="b")

    assert (await taken(one), await taken(other)) == (6, 6)


@pytest.mark.parametrize("loss", [("FLUSHALL",), ("DEL", "timegate:1:{a}:index:sent")])
async def test_a_server_that_lost_its_data_is_sent_the_recent_requests(
    replicas: Replicas, redis: RedisServer, loss: tuple[str, ...]
) -> None:
    one, other = await replicas.ledger(), await replicas.ledger()
    before = await taken(one, 3) + await taken(other, 2)

    redis.say(*loss)
    settled = [await one.outlook("index", 0), await other.outlook("index", 0)]

    assert (before, settled) == (5, [0, 0])
    assert await taken(one) + await taken(other) == 1


async def test_a_server_that_lost_its_scripts_is_sent_them_again(
    replicas: Replicas, redis: RedisServer
) -> None:
    ledger = await replicas.ledger()
    await taken(ledger, 3)

    redis.say("SCRIPT", "FLUSH")

    assert await taken(ledger) == 3


@pytest.mark.parametrize("part", ["index:sent", "index:bucket", "rest"])
async def test_a_key_of_another_type_is_removed_and_restored(
    replicas: Replicas, redis: RedisServer, part: str
) -> None:
    ledger = await replicas.ledger()
    redis.say("HSET", f"timegate:1:{{a}}:{part}", "a", "b")

    sent = await taken(ledger)

    assert sent <= 6
    assert redis.number("EXISTS", f"timegate:1:{{a}}:{part}") == (part != "rest")


@pytest.mark.parametrize("lie", ["", "garbage", "-5", "1e400", "nan", "99999999999999999999"])
@pytest.mark.parametrize("part", ["index:bucket", "rest"])
async def test_a_false_value_stops_requests_to_an_archive_for_an_hour_at_most(
    replicas: Replicas, redis: RedisServer, part: str, lie: str
) -> None:
    ledger = await replicas.ledger()
    redis.say("SET", f"timegate:1:{{a}}:{part}", lie)

    wait = await ledger.take("index")

    assert 0 <= wait <= LONGEST_REST
    assert redis.number("ZCARD", "timegate:1:{a}:index:sent") == (1 if wait else 2)
    assert 0 <= await ledger.resting() <= LONGEST_REST


@pytest.mark.parametrize("lie", ["x", "", "0" * 1000, "\ud7ff", "0123456789abcdef0"])
async def test_a_foreign_epoch_is_replaced(
    replicas: Replicas, redis: RedisServer, lie: str
) -> None:
    ledger = await replicas.ledger()
    before = await taken(ledger, 2)
    redis.say("DEL", "timegate:1:{a}:index:sent")
    redis.say("ZADD", "timegate:1:{a}:index:sent", "inf", lie)

    afterwards = await taken(ledger)

    assert before + afterwards == 6
    assert redis.number("ZCARD", "timegate:1:{a}:index:sent") == 7


async def test_without_redis_each_replica_has_its_share(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with AsyncExitStack() as stack:
            replicas = Replicas(server.url, stack)
            ledgers = [await replicas.ledger(), await replicas.ledger()]
            server.kill()

            alone = [await taken(ledger) for ledger in ledgers]

    assert alone == [3, 3]


async def test_requests_that_were_sent_without_redis_are_reported_when_it_is_back(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with AsyncExitStack() as stack:
            replicas = Replicas(server.url, stack)
            one, other = await replicas.ledger(), await replicas.ledger()
            before = await taken(one, 1) + await taken(other, 1)
            server.kill()
            meanwhile = await taken(one) + await taken(other)
            server.start()
            await replicas.healed()

            await one.outlook("index", 0)
            afterwards = await taken(other) + await taken(one)

    assert (before, meanwhile, afterwards) == (2, 4, 0)


async def test_a_replica_that_used_the_whole_limit_gets_no_second_one_without_redis(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with AsyncExitStack() as stack:
            ledger = await Replicas(server.url, stack).ledger()
            before = await taken(ledger)
            server.kill()

            alone = await taken(ledger)

    assert (before, alone) == (6, 0)


async def test_a_rest_that_could_not_be_reported_is_reported_later(tmp_path: Path) -> None:
    with redis_server(tmp_path / "redis") as server:
        async with AsyncExitStack() as stack:
            replicas = Replicas(server.url, stack)
            one, other = await replicas.ledger(), await replicas.ledger()
            server.kill()
            await one.rest(60)
            server.start()
            await replicas.healed()

            mine, others = await one.take("index"), await other.take("index")

    assert 50 < mine <= 60
    assert 50 < others <= 60


async def test_requests_no_longer_count_after_the_window_in_real_time(
    replicas: Replicas,
) -> None:
    quick = Limits(Rate(1, 1, 1), Rate(3, 0.2, 3), 8, "a test")
    ledger = await replicas.ledger(quick)

    sent = 0
    for _ in range(30):
        wait = await ledger.take("index")
        sent += wait == 0
        await asyncio.sleep(wait)

    assert sent > 6


def test_the_share_of_a_burst_refills_at_the_share_of_the_rate() -> None:
    share = LocalFallback(Rate(24, 60, 5))

    waits = []
    for _ in range(3):
        waits.append(share.wait(1000.0, 2))
        share.note(Sent("", 1000.0))

    assert waits == [0, 0, 10]
    assert share.wait(1000.0, 2, ahead=3) == 20


def test_a_share_of_less_than_one_request_takes_longer() -> None:
    share = LocalFallback(Rate(2, 60))
    share.note(Sent("", 1000.0))

    assert share.wait(1000.0, 3) == 90


@given(
    st.builds(Rate, st.integers(1, 30), st.integers(1, 60), st.integers(1, 9)),
    st.integers(1, 5),
    st.lists(st.floats(0, 20), min_size=1, max_size=60),
)
def test_all_shares_together_are_no_more_than_the_limit(
    rate: Rate, replicas: int, pauses: list[float]
) -> None:
    """Where a part would be less than one request, no division can keep the whole."""
    assume(rate.burst <= rate.requests and rate.requests >= replicas)
    shares = [LocalFallback(rate) for _ in range(replicas)]
    now, sent = 1000.0, []

    for pause in pauses:
        now += pause
        for share in shares:
            while share.wait(now, replicas) == 0:
                share.note(Sent("", now))
                sent.append(now)

    assert most_in_any_span(sent, rate.seconds) <= rate.requests


async def test_a_replica_that_loses_redis_uses_its_share_of_what_was_left(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        server = stack.enter_context(redis_server(tmp_path / "redis"))
        replicas = Replicas(server.url, stack)
        one, other = await replicas.ledger(), await replicas.ledger()
        # Five of six are gone: one is left, and it is unknown for which replica.
        together = await taken(other, 4) + await taken(one, 1)
        server.kill()

        alone = await taken(one) + await taken(other)

    assert together == 5
    assert alone <= 1
