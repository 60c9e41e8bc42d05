"""A list of 695,000 references, simulated: days, requests and memory.

    python -m tests.bench batch_simulation [--references N]

So many links into archive.today are to be replaced in the English Wikipedia. The clock is
virtual and no request is sent; the backlog, the lanes and the rate limits are the real ones,
with the limits of the registry.
"""

import argparse
import asyncio
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import NamedTuple

from archives.model import ArchiveEntry, Limits, Rate
from archives.registry import load_known
from archives.source import Purpose, Request
from tests.clock import in_virtual_time
from tests.scenario import entry
from timegate.batch.backlog import ListBacklog, WaitingItem
from timegate.batch.dispatch import EVERY, Answered, Dispatcher, LaneLimits, host_of
from timegate.batch.forecast import LaneMeter, forecast
from timegate.batch.model import Item
from timegate.batch.run import allowances
from timegate.event_loop import end
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue

REFERENCES = 695_000
LATENCY = 0.4
HELD = 0.99
MINUTE = 60.0
HOUR = 3600.0


class Simulated(NamedTuple):
    """What a list took."""

    seconds: float
    requests: int
    forecasts: dict[float, float | None]
    """The whole duration, as it was forecast at these times."""
    used: Mapping[str, float]
    """The part of its allowance that each host used while references waited that name it."""


class Simulation:
    """Archives behind real rate limits."""

    def __init__(
        self, entries: Sequence[ArchiveEntry], held: float, *, checked: bool = False
    ) -> None:
        """The named archive has the part *held*; *checked*: copies are requested, too."""
        clock = asyncio.get_running_loop().time
        by_id = {entry.id: entry for entry in entries}
        self._hosts = {entry.id: host_of(entry, by_id) for entry in entries}
        self._queues = {
            name: RequestQueue(
                LocalRateLimiter(by_id[name].limits, clock), by_id[name].limits.at_once
            )
            for name in set(self._hosts.values())
        }
        self._held = held
        self._checked = checked
        self._limits = LaneLimits(entries, 1)
        self._questions: dict[str, Purpose] = {
            entry.id: "index" if entry.kind.uses_index else "memento" for entry in entries
        }
        self.meter = LaneMeter(clock)
        self.requests: Counter[str] = Counter()
        self.used: dict[str, tuple[float, int]] = {}
        """When the last reference of a lane was begun, and the requests to its host so far."""
        self._chance = random.Random(7)

    async def work(self, lane: str, items: Sequence[Item], answered: Answered) -> None:
        self.used[lane] = asyncio.get_running_loop().time(), self.requests[lane]
        for item in items:
            asks: Counter[str] = Counter()
            holder = None
            if lane != EVERY:
                await self._ask(lane, answered, asks)
                holder = lane if self._chance.random() <= self._held else None
            if holder is None:
                others = [name for name, host in self._hosts.items() if host != lane]
                await asyncio.gather(*(self._ask(name, answered, asks) for name in others))
                # Plain URLs are held by any of them; one that its archive lacks, by none.
                if others and lane == EVERY and self._chance.random() <= self._held:
                    holder = self._chance.choice(others)
            if self._checked and holder is not None:
                await self._ask(holder, answered, asks, "memento")
            self.meter.done(lane, asks)
            self.done(item.position)

    def done(self, position: int) -> None:
        """Note that an item is done; replaced by the run."""

    async def _ask(
        self,
        archive: str,
        answered: Answered,
        asks: Counter[str],
        purpose: Purpose | None = None,
    ) -> None:
        host = self._hosts[archive]
        queue = self._queues[host]
        purpose = purpose or self._questions[archive]
        await queue.enter(host, Request("HEAD", "http://a/", purpose), 1e9)
        await asyncio.sleep(LATENCY)
        queue.leave()
        self.requests[host] += 1
        asks[self._limits.bucket(archive, purpose)] += 1
        answered(archive, purpose)


def simulated(  # noqa: PLR0913 -- a list, and how it is resolved
    entries: Sequence[ArchiveEntry],
    lanes: Iterator[str],
    references: int,
    *,
    held: float = HELD,
    at_once: int = 16,
    checked: bool = False,
) -> Simulated:
    """Resolve *references* that wait in *lanes*; the named archive has the part *held*.

    *checked*: each copy is requested as well, as with ``--verify head``.
    """

    async def story() -> Simulated:
        clock = asyncio.get_running_loop().time
        limits = LaneLimits(entries, at_once)
        simulation = Simulation(entries, held, checked=checked)
        began, allowed = clock(), allowances(entries)
        forecasts: dict[float, float | None] = {}
        with ListBacklog() as backlog:

            async def look(at: float) -> None:
                await asyncio.sleep(at)
                loads = {
                    lane: simulation.meter.load(lane, number, dispatcher.elsewhere(lane))
                    for lane, number in backlog.left().items()
                }
                left = forecast(loads, allowed, simulation.meter.flows())
                forecasts[at] = None if left is None else at + left

            simulation.done = backlog.done  # type: ignore[method-assign,assignment]
            waiting = (
                WaitingItem(Item(n, "", (f"http://host{n}.example/",)), lane, f"page{n}")
                for n, lane in enumerate(islice(lanes, references))
            )
            while block := list(islice(waiting, 5000)):
                backlog.put(block)
            dispatcher = Dispatcher(backlog, limits, simulation.work)
            dispatcher.end()
            async with asyncio.TaskGroup() as tasks:
                looks = [tasks.create_task(look(at)) for at in (MINUTE, HOUR)]
                await dispatcher.run()
                seconds = clock() - began
                await end(looks)
        used = {
            lane: requests / (until - began) / allowed[lane]
            for lane, (until, requests) in simulation.used.items()
            if lane != EVERY and until - began >= MINUTE
        }
        return Simulated(seconds, simulation.requests.total(), forecasts, used)

    return in_virtual_time(story())


def mixed(entries: Sequence[ArchiveEntry]) -> Iterator[str]:
    """Yield lanes: most references name the Internet Archive, some any other archive."""
    limits = LaneLimits(entries, 16)
    others = [entry.id for entry in entries]
    chance = random.Random(11)
    while True:
        named = "internet-archive" if chance.random() < 0.8 else chance.choice(others)
        yield limits.lane(named)


def everywhere() -> Iterator[str]:
    """Yield the lane of references that any archive may answer."""
    while True:
        yield EVERY


def main(options: Sequence[str] = ()) -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--references", type=int, default=REFERENCES)
    references = given.parse_known_args(options)[0].references
    askable = [e for e in load_known().entries if e.kind.name != "none" and e.access == "open"]
    table()
    one = [entry for entry in askable if entry.id == "internet-archive"]
    show("any archive may answer, --trust internet-archive", one, everywhere(), references)
    show("80 % name the Internet Archive, the rest others", askable, mixed(askable), references)


def table() -> None:
    """Print what is used of allowances of 8 a second, for any number of items at once."""
    rate = Rate(8, 1, 8)
    limits = Limits(rate, rate, 8, "a benchmark")
    ten = [replace(entry(f"a{number}"), limits=limits) for number in range(10)]
    lists: list[tuple[str, list[ArchiveEntry], list[str], int]] = [
        ("exact PWIDs, 10 archives", ten, [each.id for each in ten], 10_000),
        ("plain URLs, 10 archives", ten, [EVERY], 1_000),
        ("exact PWIDs, one archive", ten[:1], ["a0"], 1_000),
    ]
    for name, entries, lanes, references in lists:
        for at_once in (16, 64, 256):
            result = simulated(entries, cycle(lanes), references, held=1.0, at_once=at_once)
            # The burst is not a part of the allowance in a second.
            steady = result.requests - 8 * len(entries)
            used = steady / len(entries) / 8 / result.seconds
            print(
                f"{name}, --at-once {at_once}: {used:.0%} of the allowance,"
                f" {result.requests / references:.2f} requests a reference"
                f" ({references:,} in {result.seconds:.0f} s)",
                flush=True,
            )


def show(
    name: str, entries: Sequence[ArchiveEntry], lanes: Iterator[str], references: int
) -> None:
    began = time.process_time()
    result = simulated(entries, lanes, references)
    days = result.seconds / 86_400
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{references:,} references, {name} ({len(entries)} archives): {days:.2f} days,"
        f" {result.requests:,} requests ({result.requests / references:.2f} a reference),"
        f" {memory:.0f} MB at most, {time.process_time() - began:.0f} s of CPU to simulate",
        flush=True,
    )
    for at, whole in result.forecasts.items():
        if whole is not None:
            error = whole / result.seconds - 1
            print(
                f"  forecast after {at / 60:.0f} min: {whole / 86_400:.2f} days ({error:+.1%})"
            )
    if result.used:
        least = min(result.used, key=lambda lane: result.used[lane])
        print(f"  least of its allowance: {least}, {result.used[least]:.0%}", flush=True)
