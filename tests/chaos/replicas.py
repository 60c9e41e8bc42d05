"""Two replicas as one service: the sum of their requests, and failures."""

import asyncio
import time
from pathlib import Path
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, percentile, statuses, timegates
from tests.chaos.rig.replicas import Replicas, replicas
from tests.chaos.rig.timegates import ended
from tests.chaos.scenario import Rig, Scenario
from tests.timegate.upstream.windows import most_in_any_span

COUNT: Final = 12
_RATE: Final = 40.0


def _place(rig: Rig) -> Path:
    place = rig.place("t")
    (place / "redis").mkdir()
    return place


async def coalescing(rig: Rig) -> None:
    """S10: 1,000 identical cold questions to both replicas."""
    with archives(COUNT, rig.folder) as farm:
        farm.behave(range(COUNT), seconds=0.5)
        with replicas(_place(rig), farm.entries()) as both:
            await both.client.at_once(timegates("warm", 4), 4)
            await asyncio.sleep(3)
            farm.forget()
            answers = await both.client.at_once(timegates("same", 1) * 1000, 200)
            asked = farm.request_counts
    rig.promise(
        "1,000 identical cold questions, 200 at once, to both: requests to each archive",
        f"{min(asked)} to {max(asked)} ({statuses(answers)})",
        "1 (answers: 1,000 x 302)",
        met=asked == [1] * COUNT and all(answer.status == 302 for answer in answers),
    )


async def limit_kept(rig: Rig) -> None:
    """S9, ten times faster: 24 requests in any 6 s under load from both replicas."""
    await _limit(rig, 6.0, rig.scaled(20, 10))


async def limit_kept_a_minute(rig: Rig) -> None:
    """S9 in real time: 24 requests in any 60 s."""
    await _limit(rig, 60.0, 130)


async def _limit(rig: Rig, span: float, seconds: int) -> None:
    rate = f"{{ requests = 24, seconds = {span:g}, burst = 5 }}"
    limits = f"limits = {{ memento = {rate}, index = {rate}, at_once = 8, source = 'test' }}\n"
    with (
        archives(1, rig.folder) as farm,
        replicas(_place(rig), farm.entry(0, limits)) as both,
    ):
        answers = await both.client.at_rate(timegates("lim", int(seconds * _RATE)), _RATE)
        sent = [at for at, _ in farm.requests_to(0)]
    most = most_in_any_span(sent, span)
    rig.promise(
        f"an archive that allows 24 in {span:g} s, {seconds} s of load from both replicas",
        f"{most} at most in any {span:g} s, {len(sent)} in all ({statuses(answers)})",
        "24, and only answers or reported failures",
        met=most <= 24 < len(sent) and all(a.status in (302, 503, 504, 502) for a in answers),
    )


async def master_killed(rig: Rig) -> None:
    """FA-14, S2: one of three Redis masters is killed under load, and comes back."""
    seconds = rig.scaled(20, 10)
    with archives(3, rig.folder) as farm, replicas(_place(rig), farm.entries()) as both:
        async with asyncio.TaskGroup() as group:
            load = group.create_task(_mixed(both, seconds))
            await asyncio.sleep(seconds / 3)
            both.nodes[1].kill()
            await asyncio.sleep(seconds / 3)
            both.nodes[1].start()
        answers = load.result()
        healed = await _healed(both)
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(
        "one of three Redis masters killed under load",
        f"{statuses(answers)}, p100 {percentile(answers, 1.0) * 1000:.0f} ms",
        "no failed request",
        met=not wrong,
    )
    rig.promise("Redis in use again", healed, "10 s", met=healed.startswith("after"))


async def _healed(both: Replicas) -> str:
    began = time.monotonic()
    states: list[dict[str, object]] = []
    while time.monotonic() < began + 10:
        states = [await asyncio.to_thread(server.json_at, "/readyz") for server in both.servers]
        if all(each.get("cache") == "ok" for each in states):
            return f"after {time.monotonic() - began:.1f} s"
        await asyncio.sleep(0.1)
    return f"not within 10 s: {states}"


async def _mixed(both: Replicas, seconds: int) -> list[Answer]:
    """Send new and repeated questions at a steady rate."""
    count = int(seconds * _RATE)
    new = timegates("new", count)
    targets = [new[n] if n % 2 else new[n // 3] for n in range(count)]
    return await both.client.at_rate(targets, _RATE)


async def replica_killed(rig: Rig) -> None:
    """A replica is killed under load: only its requests in flight may fail."""
    seconds = rig.scaled(20, 10)
    with archives(3, rig.folder) as farm:
        farm.behave(range(3), seconds=0.1)
        with replicas(_place(rig), farm.entries()) as both:
            async with asyncio.TaskGroup() as group:
                load = group.create_task(_mixed(both, seconds))
                await asyncio.sleep(seconds / 2)
                killed_at = time.monotonic()
                both.servers[0].running.kill()
            answers = load.result()
    wrong = [answer for answer in answers if answer.status != 302]
    late = [a for a in wrong if a.began > killed_at]
    rig.promise(
        "a replica killed under load",
        f"{statuses(answers)}; {len(wrong)} failed, {len(late)} of them sent afterwards",
        "only its requests in flight fail",
        met=not late,
    )


async def rolling_restart(rig: Rig) -> None:
    """FA-18: both replicas are restarted one after the other under load."""
    with archives(3, rig.folder) as farm:
        farm.behave(range(3), seconds=0.1)
        with replicas(_place(rig), farm.entries()) as both:
            async with asyncio.TaskGroup() as group:
                load = group.create_task(_mixed(both, rig.scaled(24, 16)))
                codes = []
                for number in range(2):
                    await asyncio.sleep(2)
                    codes.append(await asyncio.to_thread(ended, both.servers[number]))
                    both.running[number].close()
                    await asyncio.to_thread(both.start, number)
            answers = load.result()
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(
        "rolling restart of both replicas behind HAProxy",
        f"{statuses(answers)}, ended in {max(took for _, took in codes):.1f} s",
        "no failed request",
        met=not wrong and all(code == 0 for code, _ in codes),
    )


SCENARIOS: Final = (
    Scenario("coalescing", "S10, LO-01", coalescing),
    Scenario("limit-kept", "S9", limit_kept),
    Scenario("limit-kept-a-minute", "S9", limit_kept_a_minute, 200, quick=False),
    Scenario("redis-master-killed", "FA-14, S2", master_killed),
    Scenario("replica-killed", "S2", replica_killed),
    Scenario("rolling-restart", "FA-18, S21", rolling_restart),
)
