"""Reloads of the configuration under load, which add or remove an archive."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Final

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import HEAD, TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_REMOVED: Final = 3
"""The archive that is removed and added again."""
_EACH: Final = 0.6
"""Seconds until the next change."""
_LAST: Final = 5.0
"""Seconds for which it stays removed after the last change."""
_RATE: Final = 60.0


async def reloaded(rig: Rig) -> None:
    """FA-17: an archive is removed and added again, 50 times, under load."""
    times = rig.scaled(50, 6)
    with archives(4, rig.folder) as farm:
        farm.behave(range(4), seconds=0.1)
        place = rig.place("t")
        with timegate(place, farm.entries()) as server:
            client = Client(server.port)
            await client.at_once(timegates("before", 40), 8)
            descriptors = await _descriptors_after_reload(server)
            count = int(_RATE * (times * _EACH + _LAST))
            async with asyncio.TaskGroup() as group:
                load = group.create_task(client.at_rate(timegates("load", count), _RATE))
                async with pinged(server.port, rig.folder) as liveness:
                    removals = await _changed(server, farm, place / "timegate.toml", times)
                    await asyncio.sleep(_LAST)
            answers = load.result()
            requests = [at for at, _ in farm.requests_to(_REMOVED)]
            applied = _reloads(server) - 1
            left = await _descriptors_after_reload(server) - descriptors
    _report(rig, answers, times, applied)
    lag = longest_lag(removals, requests)
    rig.promise(
        f"an archive removed {len(removals)} times: its last request",
        f"at most {lag:.2f} s after the signal",
        "2 s",
        met=lag <= 2,
    )
    rig.promise("descriptors left over", max(left, 0), "0", met=left <= 0)
    rig.speed("liveness meanwhile", liveness, "max 250 ms", met=liveness.worst <= 250)


def _report(rig: Rig, answers: list[Answer], times: int, applied: int) -> None:
    failed = [answer for answer in answers if answer.status != 302]
    rig.promise(
        f"SIGHUP {times} times under {_RATE:g} new questions a second: failed requests",
        f"{len(failed)} of {len(answers):,} ({statuses(answers)}), "
        f"p99 {percentile(answers, 0.99):.2f} s; {applied} reloads applied",
        "0, all reloads applied",
        met=not failed and applied == times,
    )


def _reloads(server: TimeGate) -> int:
    return server.running.log_text().count("reload taken=True")


async def _descriptors_after_reload(server: TimeGate) -> int:
    """Reload, and return the descriptors while no archive has been queried."""
    before = _reloads(server)
    server.running.send(signal.SIGHUP)
    await asyncio.sleep(2)
    assert _reloads(server) == before + 1
    return server.running.descriptors


async def _changed(
    server: TimeGate, farm: Archives, file: Path, times: int
) -> list[tuple[float, float]]:
    """Remove the archive and add it again; return the begin and the end of its absence."""
    with_it = HEAD + farm.entries()
    without = with_it.replace(farm.entry(_REMOVED), "")
    spans = []
    out_since = 0.0
    for number in range(times):
        leaves = (times - number) % 2 == 1
        await asyncio.to_thread(file.write_text, without if leaves else with_it)
        now = time.monotonic()
        server.running.send(signal.SIGHUP)
        if leaves:
            out_since = now
        elif out_since:
            spans.append((out_since, now))
        await asyncio.sleep(_EACH)
    return [*spans, (out_since, float("inf"))]


def longest_lag(removals: list[tuple[float, float]], requests: list[float]) -> float:
    """Return the longest time after its removal at which the archive was still queried."""
    lags = [at - since for since, until in removals for at in requests if since <= at < until]
    return max(lags, default=0.0)


SCENARIOS: Final = (Scenario("reload", "FA-17", reloaded, 120),)
