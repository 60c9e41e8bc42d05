"""A Redis that is stopped, killed, slow, full, read-only, flushed, or failed over."""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.fault_proxy import fault_proxy
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import CannotRun, Rig, Scenario
from tests.end_to_end.redis_servers import PROGRAM, RedisServer, free_port, redis_server

Action = Callable[[RedisServer], object]
_RATE: Final = 40.0
_EACH: Final = 20.0
"""Questions a second to each of two servers, at the same times."""
_PAUSE: Final = 0.05
"""Seconds that archives take to answer, so that they are slower than a lookup in Redis."""
_PAUSES: Final = (0.005, 0.015, 0.03)
"""Seconds that a slow Redis takes to answer; the limit for one command is 35 ms."""


class Fault(NamedTuple):
    """A fault of Redis: how it is caused, and how it is ended."""

    name: str
    cause: Action
    end: Action


def _nothing(_: RedisServer) -> None:
    return None


def _make_lists(server: RedisServer) -> None:
    """Make every key a list; our values are never lists."""
    script = (
        "for _, k in ipairs(redis.call('KEYS', '*')) do "
        "redis.call('DEL', k); redis.call('RPUSH', k, 'x') end"
    )
    server.say("EVAL", script, "0")


FAULTS: Final = (
    # The difference between two servers without a fault.
    Fault("not disturbed", _nothing, _nothing),
    Fault("killed", RedisServer.kill, RedisServer.start),
    Fault("stopped", RedisServer.pause, RedisServer.go_on),
    Fault("paused for 3 s", lambda s: s.say("CLIENT", "PAUSE", "3000", "ALL"), _nothing),
    Fault(
        "full",
        lambda s: s.say("CONFIG", "SET", "maxmemory", "1"),
        lambda s: s.say("CONFIG", "SET", "maxmemory", "0"),
    ),
    Fault(
        "read-only",
        lambda s: s.say("REPLICAOF", "127.0.0.1", "1"),
        lambda s: s.say("REPLICAOF", "NO", "ONE"),
    ),
    Fault("flushed", lambda s: s.say("FLUSHALL"), _nothing),
    Fault("with wrong types", _make_lists, _nothing),
)


@contextmanager
def _shared(rig: Rig, url: str) -> Iterator[tuple[Archives, TimeGate]]:
    with archives(6, rig.folder) as farm:
        farm.behave(range(6), seconds=_PAUSE)
        config = f'[cache]\nurl = "{url}"\n' + farm.entries()
        with timegate(rig.place("t"), config) as server:
            yield farm, server


class ServerPair(NamedTuple):
    """Two of our servers that get requests at the same times; the Redis of one has a fault.

    Other load on the machine affects both. Compared with a measurement before the fault, a
    request that waited for a processor looked like one that waited for Redis.
    """

    faulty: TimeGate
    healthy: TimeGate
    redis: RedisServer


@contextmanager
def _server_pair(rig: Rig, redis: RedisServer, url: str) -> Iterator[ServerPair]:
    """Run both servers; *url* is the address of *redis*, which gets the fault."""
    with archives(6, rig.folder) as farm, redis_server(rig.folder / "other") as other:
        farm.behave(range(6), seconds=_PAUSE)
        configs = [
            f'[cache]\nurl = "{address}"\n{farm.entries()}' for address in (url, other.url)
        ]
        with (
            timegate(rig.place("t"), configs[0]) as faulty,
            timegate(rig.place("s"), configs[1]) as healthy,
        ):
            yield ServerPair(faulty, healthy, redis)


async def redis_faults(rig: Rig) -> None:
    """FA-13: each fault under load: its cost for requests, and when Redis is in use again."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    began = time.monotonic()
    with (
        redis_server(rig.folder / "redis") as redis,
        _server_pair(rig, redis, redis.url) as both,
    ):
        await _send_to_both(both, "warm", 40, _nothing)
        for fault in FAULTS:
            await _run_fault(rig, fault, both)
        warnings = both.faulty.running.log_text().count("Redis is not used")
    minutes = (time.monotonic() - began) / 60
    rig.promise(
        f"warnings in the log over all faults, in {minutes:.1f} minutes",
        warnings,
        "at most one a minute",
        met=warnings <= minutes + 1,
    )


async def redis_slow(rig: Rig) -> None:
    """FA-13: a Redis that answers every command late."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    with redis_server(rig.folder / "redis") as redis:
        async with fault_proxy(redis.port) as proxy:
            with _server_pair(rig, redis, f"redis://127.0.0.1:{proxy.port}") as both:
                await _send_to_both(both, "warm", 40, _nothing)
                for pause in _PAUSES:
                    proxy.faults.latency = pause
                    name = f"{1000 * pause:.0f} ms late"
                    rounds = [
                        await _send_to_both(both, f"{name} {number}", int(4 * _EACH), _nothing)
                        for number in range(rig.scaled(3, 1, 10))
                    ]
                    _report(rig, name, rounds)


class Round(NamedTuple):
    """The answers of both servers."""

    faulty: list[Answer]
    healthy: list[Answer]

    @property
    def added(self) -> float:
        """Milliseconds by which the fault made the longest response longer."""
        return 1000 * (percentile(self.faulty, 1.0) - percentile(self.healthy, 1.0))


async def _send_to_both(both: ServerPair, label: str, count: int, cause: Action) -> Round:
    """Send both servers the same requests, and cause the fault meanwhile."""
    targets = timegates(label.replace(" ", "-"), count)
    async with asyncio.TaskGroup() as group:
        faulty = group.create_task(Client(both.faulty.port).at_rate(targets, _EACH))
        healthy = group.create_task(Client(both.healthy.port).at_rate(targets, _EACH))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(cause, both.redis)
    return Round(faulty.result(), healthy.result())


async def _run_fault(rig: Rig, fault: Fault, both: ServerPair) -> None:
    rounds: list[Round] = []
    back: list[float | None] = []
    for number in range(rig.scaled(3, 1, 10)):
        label, count = f"{fault.name} {number}", int(4 * _EACH)
        rounds.append(await _send_to_both(both, label, count, fault.cause))
        await asyncio.to_thread(fault.end, both.redis)
        back.append(await in_use_again(both.faulty, both.redis))
    _report(rig, fault.name, rounds)
    rig.promise(
        f"Redis {fault.name}: in use again",
        "never" if None in back else f"after {max(filter(None, back)):.1f} s",
        "10 s",
        met=None not in back,
    )


def _report(rig: Rig, name: str, rounds: list[Round]) -> None:
    answers = [answer for each in rounds for answer in each.faulty]
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(f"Redis {name}: answers", statuses(answers), "all 302", met=not wrong)
    added = sorted(each.added for each in rounds)
    median = statistics.median(added)
    rig.speed(
        f"Redis {name}: longest response time, compared with a healthy Redis",
        f"{median:+.0f} ms (rounds: {', '.join(f'{each:+.0f}' for each in added)})",
        "+50 ms in the median round",
        met=median <= 50,
    )


async def in_use_again(server: TimeGate, redis: RedisServer) -> float | None:
    """Send requests until an answer is in Redis; return the seconds, None after 12."""
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + 12:
        await asyncio.to_thread(redis.say, "FLUSHALL")
        number += 1
        await Client(server.port).ask(timegates(f"back{began}", 1, number)[0])
        count_reply = await asyncio.to_thread(redis.say, "EVAL", _COUNT_ENTRIES, "0")
        if count_reply.startswith(":") and int(count_reply[1:]) > 0:
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    return None


_COUNT_ENTRIES: Final = "return #redis.call('KEYS', 'timegate:1:cache:*')"


async def failover(rig: Rig) -> None:
    """FA-14: a Sentinel promotes the replica to master under load."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    with (
        redis_server(rig.folder / "first") as first,
        redis_server(rig.folder / "second", "--replicaof", f"127.0.0.1 {first.port}") as second,
        redis_server(rig.folder / "sentinel", sentinel=True) as sentinel,
    ):
        await asyncio.to_thread(_set_up_sentinel, sentinel, first, second)
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/main"
        with _shared(rig, url) as (_, server):
            count = int(rig.scaled(15, 10) * _RATE)
            async with asyncio.TaskGroup() as group:
                load = group.create_task(
                    Client(server.port).at_rate(timegates("fo", count), _RATE)
                )
                await asyncio.sleep(2)
                killed = time.monotonic()
                await asyncio.to_thread(first.kill)
                back = await _until_written(second, killed)
            answers = load.result()
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise("master killed under Sentinel", statuses(answers), "0 errors", met=not wrong)
    rig.promise(
        "the new master is written to",
        "never" if back is None else f"after {back:.1f} s",
        "at most 10 s of cache misses",
        met=back is not None and back <= 10,
    )


def _set_up_sentinel(sentinel: RedisServer, first: RedisServer, second: RedisServer) -> None:
    sentinel.say("SENTINEL", "MONITOR", "main", "127.0.0.1", str(first.port), "1")
    for name, value in (("down-after-milliseconds", "1000"), ("failover-timeout", "3000")):
        sentinel.say("SENTINEL", "SET", "main", name, value)
    until = time.monotonic() + 30
    while str(second.port) not in sentinel.say("SENTINEL", "REPLICAS", "main"):
        if time.monotonic() > until:
            raise TimeoutError("the Sentinel does not see the replica")
        time.sleep(0.1)


async def _until_written(second: RedisServer, killed: float) -> float | None:
    """Return the seconds from *killed* until a new key is written to *second*."""
    before = await asyncio.to_thread(second.number, "DBSIZE")
    while time.monotonic() < killed + 15:
        role = await asyncio.to_thread(second.say, "ROLE")
        if "master" in role and await asyncio.to_thread(second.number, "DBSIZE") > before:
            return time.monotonic() - killed
        await asyncio.sleep(0.1)
    return None


async def absent_at_start(rig: Rig) -> None:
    """FA-13: Redis is not running when our server starts, and is started later."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    redis = RedisServer(Path(rig.folder) / "later", free_port())
    with _shared(rig, redis.url) as (_, server):
        early = await Client(server.port).ask(timegates("early", 1)[0])
        reported = server.json_at("/readyz").get("cache")
        await asyncio.to_thread(redis.start)
        try:
            back = await in_use_again(server, redis)
        finally:
            redis.kill()
    rig.promise(
        "Redis not running at the start",
        f"{early.status}, /readyz reports {reported}; in use after {back:.1f} s"
        if back
        else "never",
        "answers, reported, in use within 10 s",
        met=early.status == 302 and reported != "ok" and back is not None,
    )


SCENARIOS: Final = (
    Scenario("redis-faults", "FA-13, S2", redis_faults, 300, full_seconds=900),
    Scenario("redis-slow", "FA-13, S2", redis_slow, 120, full_seconds=300),
    Scenario("redis-failover", "FA-14, S2", failover, 90),
    Scenario("redis-absent", "FA-13", absent_at_start),
)
