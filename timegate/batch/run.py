"""The run: items in, results out, some at a time; quickly first, then slowly what is left.

No I/O in here but through what is passed in; time is the event loop's.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from archives.errors import Queued, Refused, Resting
from archives.model import ArchiveEntry, Rate
from archives.registry import Registry
from timegate.batch.journal import Journal
from timegate.batch.model import (
    Item,
    ItemResult,
    Json,
    ReadTime,
    better,
    broken,
    candidates,
    found,
    refused,
    trusted,
)
from timegate.observability.logs import Unforeseen
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.verdict import Verdict, verdict

_LONGEST_REST: Final = 300.0
"""Seconds, for one archive in a whole run: as long as the breaker rests at most."""


def queued(resolution: Resolution) -> dict[str, float]:
    """Return the archives that were not asked because too many of ours wait, and how long.

    Not those that want to be left alone or seem dead: to wait for them is the second pass's.
    """
    return {
        attempt.archive: attempt.outcome.retry_after
        for attempt in resolution.attempts
        if isinstance(attempt.outcome, Queued)
    }


class ArchiveQueue:
    """The times at which items may ask again, for each archive one after the other."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._periods = {name: rate.seconds / rate.requests for name, rate in rates.items()}
        self._last: dict[str, float] = {}

    def next(self, archive: str, now: float, wait: float) -> float:
        """Return when to ask *archive* again, which will have a place in *wait* seconds."""
        period = self._periods.get(archive, 1.0)
        last = self._last.get(archive, now)
        turn = max(now + min(wait, period), last + period)
        self._last[archive] = turn
        return turn


class ArchiveRests:
    """How long the second pass waits for archives that asked us to, or seem dead.

    So long for each of them in all, not for each item: an archive that stays away costs a long
    list no more than a short one.
    """

    def __init__(self, longest: float = _LONGEST_REST) -> None:
        self._longest = longest
        self._give_up: dict[str, float] = {}

    def wait(self, resolution: Resolution, now: float) -> float:
        """Return the seconds until those who rest may be asked; 0 for nobody to wait for."""
        waits = [0.0]
        for attempt in resolution.attempts:
            error = attempt.outcome
            if not isinstance(error, Resting | Refused) or isinstance(error, Queued):
                continue
            give_up = self._give_up.setdefault(attempt.archive, now + self._longest)
            if error.retry_after is not None and now + error.retry_after <= give_up:
                waits.append(error.retry_after)
        return max(waits)


class DurationEstimate(NamedTuple):
    """How long a list takes at most, if no archive is slow to answer."""

    seconds: float
    archive: str
    """The one that has to be waited for."""
    rate: Rate


def rates_of(entries: Collection[ArchiveEntry]) -> dict[str, Rate]:
    """Return how fast each archive may be asked for a copy; archives at one host share it."""
    by_id = {entry.id: entry for entry in entries}
    rates = {}
    for entry in entries:
        limits = by_id.get(entry.hosted_by or "", entry).limits
        rates[entry.id] = limits.index if entry.kind.uses_index else limits.memento
    return rates


def estimate(items: int, rates: Mapping[str, Rate]) -> DurationEstimate | None:
    """Return how long *items* take if each must be asked of everyone; None for nobody."""
    times = {
        name: max(items - rate.burst, 0) * rate.seconds / rate.requests
        for name, rate in rates.items()
    }
    if not times:
        return None
    slowest = max(times, key=lambda name: times[name])
    return DurationEstimate(times[slowest], slowest, rates[slowest])


_MOST_TURNS: Final = 20
"""An archive that never lets an item in, however often it waits, is one that did not answer."""

Resolve = Callable[[Query, Preferences], Awaitable[Resolution]]
Without = Callable[[Item], frozenset[str]]


@dataclass(frozen=True, slots=True)
class BatchEnvironment:
    """What a run needs of the world."""

    resolve: Resolve
    report: Callable[[Resolution, Verdict], Json]
    registry: Registry
    read_time: ReadTime
    turns: ArchiveQueue
    advance: Callable[[], None] = lambda: None
    """Called when an item is done."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds an archive has to answer, in the first pass and in the second."""

    quick: float
    slow: float


class BatchRun:
    """Resolves the items of one list, each once, and notes what became of them."""

    def __init__(
        self,
        around: BatchEnvironment,
        journal: Journal,
        preferences: Preferences,
        at_once: int,
        without: Without = lambda _: frozenset(),
    ) -> None:
        """*without* says which archives are not to be asked for an item, beside the policy."""
        self._without = without
        self._around = around
        self._journal = journal
        self._preferences = preferences
        self._at_once = at_once
        self._rests = ArchiveRests()
        self._log = Unforeseen("item-internal-error")

    async def complete(self, items: AsyncIterator[Item], waits: Waits) -> None:
        """Resolve what the journal does not have, then again what nobody answered."""
        new = (item async for item in items if not self._journal.knows(item))
        await self._pass(new, replace(self._preferences, wait=waits.quick), last=False)
        again = _unsettled(self._journal)
        await self._pass(again, replace(self._preferences, wait=waits.slow), last=True)

    async def _pass(
        self, items: AsyncIterator[Item], preferences: Preferences, *, last: bool
    ) -> None:
        reading = asyncio.Lock()

        async def work() -> None:
            while True:
                async with reading:
                    item = await anext(items, None)
                if item is None:
                    return
                await self._finish(item, preferences, last=last)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(work())

    async def _finish(self, item: Item, preferences: Preferences, *, last: bool) -> None:
        result = await self._contained(item, preferences, last=last)
        result = self._settled(result) if last else result
        self._journal.append(result)
        if result.final:
            self._around.advance()
        if self._journal.due:
            await asyncio.to_thread(self._journal.sync)

    async def _contained(
        self, item: Item, preferences: Preferences, *, last: bool
    ) -> ItemResult:
        """Resolve *item*; an unforeseen exception costs its row and no other."""
        try:
            spared = replace(preferences, exclude=preferences.exclude | self._without(item))
            return await self._resolved(item, spared, last=last)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("list", error)
            return broken(item, error)

    def _settled(self, result: ItemResult) -> ItemResult:
        """Return *result*, or what was found before it if somebody has fallen silent since."""
        before = self._journal.result(result.item.position)
        if not result.final and before is not None:
            result = better(result, before)
        return replace(result, final=True)

    async def _resolved(
        self, item: Item, preferences: Preferences, *, last: bool
    ) -> ItemResult:
        """Try one date after the other until one gives what is asked; else take the best."""
        around = self._around
        try:
            questions = candidates(item, around.registry, around.read_time)
        except ValueError as error:
            return refused(item, error)
        best: ItemResult | None = None
        certain = True
        for query, date in questions:
            resolution = trusted(
                await self._patiently(query, preferences, last=last), around.registry
            )
            judged = verdict(resolution, around.registry)
            result = found(item, resolution, judged, date, around.report)
            if result.code == 0:
                return result
            certain = certain and result.final
            best = better(best, result)
        assert best is not None  # noqa: S101 -- there is always a question
        return replace(best, final=certain)

    async def _patiently(
        self, query: Query, preferences: Preferences, *, last: bool
    ) -> Resolution:
        """Ask; while only our own queues are in the way, wait for a turn and ask again.

        The last time, wait also for archives that rest.
        """
        clock = asyncio.get_running_loop().time
        resolution = await self._around.resolve(query, preferences)
        for _ in range(_MOST_TURNS):
            wait = self._wait(resolution, clock(), last=last)
            if wait == 0 or _suffices(resolution, self._around.registry):
                break
            await asyncio.sleep(wait)
            resolution = await self._around.resolve(query, preferences)
        return resolution

    def _wait(self, resolution: Resolution, now: float, *, last: bool) -> float:
        turns = [
            self._around.turns.next(archive, now, wait) - now
            for archive, wait in queued(resolution).items()
        ]
        rest = self._rests.wait(resolution, now) if last else 0.0
        return max([rest, *turns])


async def aside(items: Iterator[Item]) -> AsyncIterator[Item]:
    """Read *items* in a thread: who is made to wait by them makes no archive wait."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


async def _unsettled(journal: Journal) -> AsyncIterator[Item]:
    for result in journal.unsettled():
        yield result.item


def _suffices(resolution: Resolution, registry: Registry) -> bool:
    return verdict(resolution, registry).match.value == "exact"
