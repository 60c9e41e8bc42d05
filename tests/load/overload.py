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
_GLUTTON: Final = "127.0.7.7"
# One process plays all clients: it must not be what is measured.
_FEW_PLACES: Final = {"TIMEGATE_LIMITS_IN_FLIGHT": "64", "TIMEGATE_LIMITS_QUEUE": "16"}
_ALL_AT_ONCE: Final = {"TIMEGATE_LIMITS_IN_FLIGHT": "1200"}


async def one_page(rig: Rig) -> None:
    """LO-01: 1,000 simultaneous questions about one page, at ten dates."""
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
            asked = farm.asked
    good = [answer for answer in answers if answer.status == 302]
    rig.promise(
        "1,000 questions at once about one page at 10 dates: requests an archive saw",
        f"{max(asked)} at most ({statuses(answers)})",
        "1 for each date: 10; all answered",
        met=max(asked) <= 10 and len(good) == 1000,
    )
    longest = percentile(answers, 1.0)
    rig.speed("the longest of the 1,000", f"{longest:.2f} s", "1.5 s", met=longest <= 1.5)


async def overloaded(rig: Rig) -> None:
    """LO-03, S15: three times the capacity of 64 concurrent requests, all new questions.

    The places are few and the archives slow, so that one process can play all the clients.
    """
    seconds = rig.scaled(15, 5, 60)
    with archives(_ARCHIVES, rig.folder) as farm:
        farm.behave(range(_ARCHIVES), seconds=0.5)
        with timegate(rig.place("t"), farm.entries(), environment=_FEW_PLACES) as server:
            peak = await capacity(server, 4)
            count = int(3 * peak * seconds)
            async with pinged(server.port, rig.folder) as liveness:
                began = time.monotonic()
                answers = await Client(server.port).at_rate(timegates("over", count), 3 * peak)
                took = time.monotonic() - began
            recovery = await _recovery(server)
    good = [answer for answer in answers if answer.status == 302]
    refused = [answer for answer in answers if answer.status in (429, 503)]
    rig.promise(
        f"{part_of(seconds, 60)} s at three times the {peak:.0f}/s that 64 places can do",
        f"{statuses(answers)} in {took:.1f} s",
        "answers and refusals, nothing else",
        met=len(good) + len(refused) == len(answers),
    )
    share = len(good) / took / peak
    rig.speed("goodput against the peak", f"{share:.0%}", "90 %", met=share >= 0.9)
    said = percentile(refused, 0.5) * 1000
    rig.speed(
        "refusals, median as the client saw it",
        f"{said:.0f} ms" if refused else "none",
        "50 ms",
        met=not refused or said <= 50,
    )
    told = all(answer.header("Retry-After") for answer in refused)
    rig.promise("refusals have Retry-After", told, "True", met=told)
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)
    rig.promise(
        "as before after", recovery, "5 s", met=recovery.startswith("0") or "s" in recovery
    )


async def _recovery(server: TimeGate) -> str:
    """Return after how many seconds twenty new questions in a row are answered."""
    began = time.monotonic()
    number = 0
    while time.monotonic() < began + 5:
        answers = await Client(server.port).at_once(timegates("calm", 20, number), 4)
        number += 20
        if all(answer.status == 302 for answer in answers):
            return f"{time.monotonic() - began:.1f} s"
    return "not within 5"


async def glutton(rig: Rig) -> None:
    """LO-04: one address sends nine tenths of too much, twenty others the rest."""
    seconds = rig.scaled(10, 5)
    with archives(_ARCHIVES, rig.folder) as farm:
        farm.behave(range(_ARCHIVES), seconds=0.5)
        with timegate(rig.place("t"), farm.entries()) as server:
            peak = await capacity(server, 2)
            # In half a second each, these are far more at once than one may have.
            greedy = Client(server.port, address=_GLUTTON)
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
        f"twenty modest clients beside a greedy one ({peak:.0f}/s are possible): refused",
        f"{len(rejected)} of {len(others)} ({statuses(others)})",
        "1 %",
        met=len(rejected) <= len(others) / 100,
    )
    rig.promise(
        "the greedy one",
        statuses(much.result()),
        "429, or 503 with Retry-After where it has 32 connections",
        met=any(a.status in (429, 503) and a.header("Retry-After") for a in much.result()),
    )


SCENARIOS: Final = (
    Scenario("one-page", "LO-01, S10", one_page),
    Scenario("overload", "LO-03, S15", overloaded, 120, full_seconds=240),
    Scenario("glutton", "LO-04", glutton, 90),
)
