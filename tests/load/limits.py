"""Scarce resources: a busy processor, and limited memory."""

import asyncio
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.processes import running
from tests.chaos.rig.timegates import TimeGate, free_port, timegate
from tests.chaos.scenario import CannotRun, Rig, Scenario
from tests.load.capacity import capacity

_ARCHIVES: Final = 6
_FEW_AT_ONCE: Final = {"TIMEGATE_LIMITS_IN_FLIGHT": "64", "TIMEGATE_LIMITS_QUEUE": "16"}
_SOFT, _HARD = 2.0, 5.0
_MEGABYTES: Final = 200
# Nice values of the clients and archives, of the busy processes, and of our server.
_MEASURING, _BURNING, _SERVING = -10, -5, 0


async def busy_processor(rig: Rig) -> None:
    """LO-10: as many busy processes as cores, all with a higher priority than our server."""
    seconds = rig.scaled(10, 4)
    with _measuring(), archives(_ARCHIVES, rig.folder) as farm:
        before = ("nice", "-n", str(_SERVING - _MEASURING))
        with (
            timegate(
                rig.place("t"), farm.entries(), before=before, environment=_FEW_AT_ONCE
            ) as server,
            _burners(rig.folder),
        ):
            client = Client(server.port)
            farm.behave(range(_ARCHIVES), "hang")
            none = await client.at_once(timegates("none", 8), 8)
            farm.behave(range(_ARCHIVES))
            farm.behave([0], "hang")
            some = await client.at_once(timegates("some", 8), 8)
            farm.behave(range(_ARCHIVES), seconds=0.5)
            rate = 3 * await capacity(server, 2)
            async with pinged(server.port, rig.folder) as liveness:
                many = await client.at_rate(timegates("many", int(rate * seconds)), rate)
    _held(rig, "all archives hang, hard deadline", none, 504, _HARD)
    _held(rig, "one of six hangs, soft deadline", some, 302, _SOFT)
    rejected = [answer for answer in many if answer.status in (429, 503)]
    longest = percentile(many, 1.0)
    rig.promise(
        f"{seconds} s at three times the remaining capacity of {rate / 3:.0f}/s",
        statuses(many),
        "only answers and rejections",
        met=all(answer.status in (302, 429, 502, 503, 504) for answer in many),
    )
    rig.speed("longest response time", f"{longest:.1f} s", "5 s + 20 %", met=longest <= 6)
    rig.speed(
        "rejections, median and longest",
        f"{percentile(rejected, 0.5):.2f} s and {percentile(rejected, 1.0):.2f} s",
        "within the queue time of 0.5 s + 20 %",
        met=bool(rejected) and percentile(rejected, 0.5) <= 0.6,
    )
    rig.speed("liveness meanwhile", liveness, "max 250 ms", met=liveness.worst <= 250)


def _held(rig: Rig, what: str, answers: list[Answer], status: int, deadline: float) -> None:
    spans = [answer.seconds for answer in answers]
    rig.speed(
        f"{what} of {deadline:g} s",
        f"{statuses(answers)} after {min(spans):.2f} to {max(spans):.2f} s",
        f"{status} within 20 %",
        met=all(answer.status == status for answer in answers)
        and 0.8 * deadline <= min(spans)
        and max(spans) <= 1.2 * deadline,
    )


@contextmanager
def _measuring() -> Iterator[None]:
    """Raise the priority of this process and of those started in the block."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _MEASURING)
    except PermissionError as error:
        raise CannotRun("no permission to raise the priority (nice)") from error
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@contextmanager
def _burners(folder: Path) -> Iterator[None]:
    command = ["nice", "-n", str(_BURNING - _MEASURING), sys.executable, "-c"]
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(running([*command, "while True: pass"], folder / "burner.log"))
        yield


async def little_memory(rig: Rig) -> None:
    """RB-10: three times the capacity, with a memory limit of 200 MB."""
    seconds = rig.scaled(15, 5)
    cache = f'[cache]\nurl = "sqlite:{rig.folder / "cache.db"}"\n'
    port = free_port()
    with archives(_ARCHIVES, rig.folder) as farm:
        farm.behave(range(_ARCHIVES), seconds=0.3)
        config = farm.entries() + cache
        with timegate(rig.place("t"), config, port=port) as server:
            rate = 3 * await capacity(server, 2)
            questions = timegates("much", int(rate * seconds))
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_kill_if_large(server))
                answers = await Client(port).at_rate(questions, rate)
                watching.cancel()
            alive, peak = server.running.alive, _peak(server)
            server.running.kill()
        began = time.monotonic()
        with timegate(rig.place("t"), config, port=port, name="again"):
            first = await Client(port).ask(questions[0])
            again = time.monotonic() - began
    rig.promise(
        f"{seconds} s (of 60) at three times the capacity of {rate / 3:.0f}/s",
        f"{statuses(answers)}",
        "only answers and rejections",
        met=all(answer.status in (302, 429, 502, 503, 504) for answer in answers),
    )
    rig.promise(
        f"peak memory, killed above {_MEGABYTES} MB resident (by a watcher, no cgroup)",
        f"{peak:.0f} MB" if alive else "killed",
        f"{_MEGABYTES} MB",
        met=alive and peak <= _MEGABYTES,
    )
    rig.speed(
        "killed with kill -9 and started again: until the first answer",
        f"{again:.1f} s ({first.status})",
        "2 s",
        met=first.status == 302 and again <= 2,
    )


async def _kill_if_large(server: TimeGate) -> None:
    while server.running.alive:
        if server.running.peak > _MEGABYTES:
            server.running.kill()
        await asyncio.sleep(0.02)


def _peak(server: TimeGate) -> float:
    return server.running.peak if server.running.alive else math.nan


SCENARIOS: Final = (
    Scenario("busy-processor", "LO-10", busy_processor, 120),
    Scenario("little-memory", "RB-10", little_memory, 120),
)
