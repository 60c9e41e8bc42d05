"""A Redis that is stopped, killed, slow, full, read-only, flushed, lying or failed over."""

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

Deed = Callable[[RedisServer], object]
_RATE: Final = 40.0
_EACH: Final = 20.0
"""Questions a second to each of two servers that are asked at the same moments."""
_PAUSE: Final = 0.05
"""Seconds in which the archives answer, so that a look-up can be told from an archive."""
_PAUSES: Final = (0.005, 0.015, 0.03)
"""Seconds after which a slow Redis answers. After 35 ms it is left alone."""


class Fault(NamedTuple):
    """What is done to a server, and what undone."""

    name: str
    harm: Deed
    heal: Deed


def _nothing(_: RedisServer) -> None:
    return None


def _lying(server: RedisServer) -> None:
    """Make every key a list, which no value of ours is."""
    script = (
        "for _, k in ipairs(redis.call('KEYS', '*')) do "
        "redis.call('DEL', k); redis.call('RPUSH', k, 'x') end"
    )
    server.say("EVAL", script, "0")


FAULTS: Final = (
    # How far two apart are of which nobody harms either.
    Fault("left alone", _nothing, _nothing),
    Fault("killed", RedisServer.kill, RedisServer.start),
    Fault("stopped", RedisServer.pause, RedisServer.go_on),
    Fault("asleep for 3 s", lambda s: s.say("CLIENT", "PAUSE", "3000", "ALL"), _nothing),
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
    Fault("of wrong types", _lying, _nothing),
)


@contextmanager
def _shared(rig: Rig, url: str) -> Iterator[tuple[Archives, TimeGate]]:
    with archives(6, rig.folder) as farm:
        farm.behave(range(6), seconds=_PAUSE)
        config = f'[cache]\nurl = "{url}"\n' + farm.entries()
        with timegate(rig.place("t"), config) as server:
            yield farm, server


class Beside(NamedTuple):
    """Two of our servers that are asked at the same moments; the Redis of one is harmed.

    What else the machine does is done to both: against a time before, a request that had to
    wait for a processor looked like one that had to wait for Redis.
    """

    harmed: TimeGate
    sound: TimeGate
    redis: RedisServer


@contextmanager
def _beside(rig: Rig, redis: RedisServer, url: str) -> Iterator[Beside]:
    """Run both; *url* leads to the *redis* that is harmed."""
    with archives(6, rig.folder) as farm, redis_server(rig.folder / "other") as other:
        farm.behave(range(6), seconds=_PAUSE)
        configs = [f'[cache]\nurl = "{one}"\n{farm.entries()}' for one in (url, other.url)]
        with (
            timegate(rig.place("t"), configs[0]) as harmed,
            timegate(rig.place("s"), configs[1]) as sound,
        ):
            yield Beside(harmed, sound, redis)


async def redis_faults(rig: Rig) -> None:
    """FA-13: each fault under load; what it costs requests, and when Redis is in use again."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    began = time.monotonic()
    with (
        redis_server(rig.folder / "redis") as redis,
        _beside(rig, redis, redis.url) as both,
    ):
        await _asked(both, "warm", 40, _nothing)
        for fault in FAULTS:
            await _suffer(rig, fault, both)
        warnings = both.harmed.running.said().count("Redis is not used")
    minutes = (time.monotonic() - began) / 60
    rig.promise(
        f"warnings in the log over all faults, in {minutes:.1f} minutes",
        warnings,
        "at most one a minute",
        met=warnings <= minutes + 1,
    )


async def redis_slow(rig: Rig) -> None:
    """FA-13: a Redis that always answers, each time later than it should."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    with redis_server(rig.folder / "redis") as redis:
        async with fault_proxy(redis.port) as proxy:
            with _beside(rig, redis, f"redis://127.0.0.1:{proxy.port}") as both:
                await _asked(both, "warm", 40, _nothing)
                for pause in _PAUSES:
                    proxy.faults.latency = pause
                    name = f"{1000 * pause:.0f} ms late each time"
                    rounds = [
                        await _asked(both, f"{name} {number}", int(4 * _EACH), _nothing)
                        for number in range(rig.scaled(3, 1, 10))
                    ]
                    _report(rig, name, rounds)


class Round(NamedTuple):
    """What both have answered."""

    harmed: list[Answer]
    sound: list[Answer]

    @property
    def added(self) -> float:
        """By how many milliseconds the longest is longer than the longest beside it."""
        return 1000 * (percentile(self.harmed, 1.0) - percentile(self.sound, 1.0))


async def _asked(both: Beside, label: str, count: int, harm: Deed) -> Round:
    """Ask both for the same, and harm the Redis of one meanwhile."""
    targets = timegates(label.replace(" ", "-"), count)
    async with asyncio.TaskGroup() as group:
        harmed = group.create_task(Client(both.harmed.port).at_rate(targets, _EACH))
        sound = group.create_task(Client(both.sound.port).at_rate(targets, _EACH))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(harm, both.redis)
    return Round(harmed.result(), sound.result())


async def _suffer(rig: Rig, fault: Fault, both: Beside) -> None:
    rounds: list[Round] = []
    back: list[float | None] = []
    for number in range(rig.scaled(3, 1, 10)):
        label, count = f"{fault.name} {number}", int(4 * _EACH)
        rounds.append(await _asked(both, label, count, fault.harm))
        await asyncio.to_thread(fault.heal, both.redis)
        back.append(await in_use_again(both.harmed, both.redis))
    _report(rig, fault.name, rounds)
    rig.promise(
        f"Redis {fault.name}: in use again",
        "never" if None in back else f"after {max(filter(None, back)):.1f} s",
        "10 s",
        met=None not in back,
    )


def _report(rig: Rig, name: str, rounds: list[Round]) -> None:
    answers = [answer for one in rounds for answer in one.harmed]
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(f"Redis {name}: answers", statuses(answers), "all 302", met=not wrong)
    added = sorted(one.added for one in rounds)
    middle = statistics.median(added)
    rig.speed(
        f"Redis {name}: the longest, against the longest beside a sound Redis",
        f"{middle:+.0f} ms (rounds: {', '.join(f'{one:+.0f}' for one in added)})",
        "+50 ms in the middle one of the rounds",
        met=middle <= 50,
    )


async def in_use_again(server: TimeGate, redis: RedisServer) -> float | None:
    """Ask until an answer lies in Redis; return after how many seconds, None if in no 12."""
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + 12:
        await asyncio.to_thread(redis.say, "FLUSHALL")
        number += 1
        await Client(server.port).ask(timegates(f"back{began}", 1, number)[0])
        kept = await asyncio.to_thread(redis.say, "EVAL", _KEPT, "0")
        if kept.startswith(":") and int(kept[1:]) > 0:
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    return None


_KEPT: Final = "return #redis.call('KEYS', 'timegate:1:cache:*')"


async def failover(rig: Rig) -> None:
    """FA-14: a Sentinel makes the replica master while questions come."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    with (
        redis_server(rig.folder / "first") as first,
        redis_server(rig.folder / "second", "--replicaof", f"127.0.0.1 {first.port}") as second,
        redis_server(rig.folder / "sentinel", sentinel=True) as sentinel,
    ):
        await asyncio.to_thread(_watched, sentinel, first, second)
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
                back = await _master(second, killed)
            answers = load.result()
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise("master killed under Sentinel", statuses(answers), "0 errors", met=not wrong)
    rig.promise(
        "the new master is written to",
        "never" if back is None else f"after {back:.1f} s",
        "10 s of misses",
        met=back is not None and back <= 10,
    )


def _watched(sentinel: RedisServer, first: RedisServer, second: RedisServer) -> None:
    sentinel.say("SENTINEL", "MONITOR", "main", "127.0.0.1", str(first.port), "1")
    for name, value in (("down-after-milliseconds", "1000"), ("failover-timeout", "3000")):
        sentinel.say("SENTINEL", "SET", "main", name, value)
    until = time.monotonic() + 30
    while str(second.port) not in sentinel.say("SENTINEL", "REPLICAS", "main"):
        if time.monotonic() > until:
            raise TimeoutError("the Sentinel does not see the replica")
        time.sleep(0.1)


async def _master(second: RedisServer, killed: float) -> float | None:
    """Return how long after *killed* something new is written into *second*."""
    before = await asyncio.to_thread(second.number, "DBSIZE")
    while time.monotonic() < killed + 15:
        role = await asyncio.to_thread(second.say, "ROLE")
        if "master" in role and await asyncio.to_thread(second.number, "DBSIZE") > before:
            return time.monotonic() - killed
        await asyncio.sleep(0.1)
    return None


async def absent_at_start(rig: Rig) -> None:
    """FA-13: Redis is not there at the start, and comes."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    redis = RedisServer(Path(rig.folder) / "later", free_port())
    with _shared(rig, redis.url) as (_, server):
        early = await Client(server.port).ask(timegates("early", 1)[0])
        told = server.told("/readyz").get("cache")
        await asyncio.to_thread(redis.start)
        try:
            back = await in_use_again(server, redis)
        finally:
            redis.kill()
    rig.promise(
        "Redis not there at the start",
        f"{early.status}, readyz says {told}; in use after {back:.1f} s" if back else "never",
        "answers, says so, in use within 10 s",
        met=early.status == 302 and told != "ok" and back is not None,
    )


SCENARIOS: Final = (
    Scenario("redis-faults", "FA-13, S2", redis_faults, 300, full_seconds=900),
    Scenario("redis-slow", "FA-13, S2", redis_slow, 120, full_seconds=300),
    Scenario("redis-failover", "FA-14, S2", failover, 90),
    Scenario("redis-absent", "FA-13", absent_at_start),
)
