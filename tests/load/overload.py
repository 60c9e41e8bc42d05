"""Overload: one page for all clients, three times the capacity, one greedy client."""

import asyncio
import time
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Client, percentile, statuses, timegates
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario, part_of
from tests.load.capacity import capacity

_ARCHIVES: Final = 6
_GREEDY: Final = "127.0.7.7"
# One process runs all clients, and must not be the bottleneck.
_FEW_AT_ONCE: Final = {"TIMEGATE_LIMITS_IN_FLIGHT": "64", "TIMEGATE_LIMITS_QUEUE": "16"}
_ALL_AT_ONCE: Final = {"TIMEGATE_LIMITS_IN_FLIGHT": "1200"}


async def one_page(rig: Rig) -> None:
    """LO-01: 1,000 simultaneous questions for one page, at ten dates."""
    dates = [f"Fri, 22 Jan 2010 11:20:{second:02} GMT" for second in range(10)]
    target = timegates("same", 1)[0]
    with archives(12, rig.folder) as farm:
        farm.behave(range(12), seconds=0.5)
        with timegate(rig.place("t"), farm.entries(), environment=_ALL_AT_ONCE) as server:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(Client(server.port, dates[n % 10]).ask(target))
                    for n in range(1000)
                ]
            answers = [task.result() for task in tasks]
            counts = farm.request_counts
    good = [answer for answer in answers if answer.status == 302]
    rig.promise(
        "1,000 questions at once for one page at 10 dates: requests to an archive",
        f"{max(counts)} at most ({statuses(answers)})",
        "1 for each date: 10; all answered",
        met=max(counts) <= 10 and len(good) == 1000,
    )
    longest = percentile(answers, 1.0)
    rig.speed("longest response time", f"{longest:.2f} s", "1.5 s", met=longest <= 1.5)


async def overloaded(rig: Rig) -> None:
    """LO-03, S15: three times the capacity of 64 concurrent requests, all new questions.

    The limit is low and the archives are slow, so that one process can run all clients.
    """
    seconds = rig.scaled(15, 5, 60)
    with archives(_ARCHIVES, rig.folder) as farm:
        farm.behave(range(_ARCHIVES), seconds=0.5)
        with timegate(rig.place("t"), farm.entries(), environment=_FEW_AT_ONCE) as server:
            peak = await capacity(server, 4)
            count = int(3 * peak * seconds)
            async with pinged(server.port, rig.folder) as liveness:
                began = time.monotonic()
                answers = await Client(server.port).at_rate(timegates("over", count), 3 * peak)
                took = time.monotonic() - began
            recovery = await _recovery(server)
    good = [answer for answer in answers if answer.status == 302]
    rejected = [answer for answer in answers if answer.status in (429, 503)]
    rig.promise(
        f"{part_of(seconds, 60)} s at three times the capacity of {peak:.0f}/s (64 at once)",
        f"{statuses(answers)} in {took:.1f} s",
        "only answers and rejections",
        met=len(good) + len(rejected) == len(answers),
    )
    share = len(good) / took / peak
    rig.speed("goodput compared with the peak", f"{share:.0%}", "90 %", met=share >= 0.9)
    median = percentile(rejected, 0.5) * 1000
    rig.speed(
        "rejections, median measured by the client",
        f"{median:.0f} ms" if rejected else "none",
        "50 ms",
        met=not rejected or median <= 50,
    )
    have_retry_after = all(answer.header("Retry-After") for answer in rejected)
    rig.promise("rejections have Retry-After", have_retry_after, "True", met=have_retry_after)
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)
    rig.promise(
        "recovered after", recovery, "5 s", met=recovery.startswith("0") or "s" in recovery
    )


async def _recovery(server: TimeGate) -> str:
    """Return the time until twenty new questions in a row are answered."""
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + 5:
        answers = await Client(server.port).at_once(timegates("calm", 20, number), 4)
        number += 20
        if all(answer.status == 302 for answer in answers):
            return f"{time.monotonic() - began:.1f} s"
    return "not within 5"


async def greedy_client(rig: Rig) -> None:
    """LO-04: one address sends nine tenths of the load, twenty others the rest."""
    seconds = rig.scaled(10, 5)
    with archives(_ARCHIVES, rig.folder) as farm:
        farm.behave(range(_ARCHIVES), seconds=0.5)
        with timegate(rig.place("t"), farm.entries()) as server:
            peak = await capacity(server, 2)
            # At half a second each, these are far more at once than one client may have.
            greedy = Client(server.port, address=_GREEDY)
            modest = [Client(server.port, address=f"127.0.6.{n}") for n in range(1, 21)]
            async with asyncio.TaskGroup() as group:
                much = group.create_task(
                    greedy.at_rate(timegates("much", int(9 * 20 * seconds)), 9 * 20)
                )
                little = [
                    group.create_task(c.at_rate(timegates(f"l{n}", seconds), 1.0))
                    for n, c in enumerate(modest)
                ]
            others = [answer for task in little for answer in task.result()]
    rejected = [answer for answer in others if answer.status != 302]
    rig.promise(
        f"twenty modest clients and a greedy one (capacity {peak:.0f}/s): rejected",
        f"{len(rejected)} of {len(others)} ({statuses(others)})",
        "1 %",
        met=len(rejected) <= len(others) / 100,
    )
    rig.promise(
        "the greedy client",
        statuses(much.result()),
        "429, or 503 with Retry-After beyond 32 connections",
        met=any(a.status in (429, 503) and a.header("Retry-After") for a in much.result()),
    )


SCENARIOS: Final = (
    Scenario("one-page", "LO-01, S10", one_page),
    Scenario("overload", "LO-03, S15", overloaded, 120, full_seconds=240),
    Scenario("greedy-client", "LO-04", greedy_client, 90),
)
