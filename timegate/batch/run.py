"""The batch run: resolves several items at a time in two passes, the second more patient.

All I/O goes through the `BatchEnvironment`; the clock is that of the event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from archives.errors import ArchiveError, Queued, Refused, Resting
from archives.model import ArchiveEntry, Rate
from archives.registry import Registry
from timegate.batch.journal import Journal
from timegate.batch.model import (
    Item,
    ItemResult,
    Json,
    ReadTime,
    better,
    candidates,
    failed_result,
    refused_result,
    result_of,
    trusted,
)
from timegate.observability.logs import Unforeseen
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import with_also
from timegate.verdict import Verdict, verdict

_LONGEST_REST: Final = 300.0
"""Seconds per archive in a whole run: the longest time for which the breaker opens."""


def queued(resolution: Resolution) -> dict[str, float]:
    """Return the archives that our own full queue kept from being asked, with the wait.

    Archives that asked us to wait or seem dead are left to the second pass.
    """
    return {
        archive: error.retry_after
        for archive, error in _errors(resolution)
        if isinstance(error, Queued)
    }


def _errors(resolution: Resolution) -> Iterator[tuple[str, ArchiveError]]:
    """Yield the failures of questions and of requests for mementos, with their archives."""
    for attempt in resolution.attempts:
        if isinstance(attempt.outcome, ArchiveError):
            yield attempt.archive, attempt.outcome
    for check in resolution.checks:
        if isinstance(check.outcome, ArchiveError):
            yield check.archive, check.outcome


class ArchiveQueue:
    """Hands out turns: the times at which items may query an archive, one after the other."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._periods = {name: rate.seconds / rate.requests for name, rate in rates.items()}
        self._last: dict[str, float] = {}

    def next(self, archive: str, now: float, wait: float) -> float:
        """Return the next turn for *archive*, whose queue has a place in *wait* seconds."""
        period = self._periods.get(archive, 1.0)
        last = self._last.get(archive, now)
        turn = max(now + min(wait, period), last + period)
        self._last[archive] = turn
        return turn


class ArchiveRests:
    """How long the second pass waits for archives that asked us to wait, or seem dead.

    The limit is per archive, not per item: a dead archive delays a long list no more than a
    short one.
    """

    def __init__(self, longest: float = _LONGEST_REST) -> None:
        self._longest = longest
        self._give_up: dict[str, float] = {}

    def wait(self, resolution: Resolution, now: float) -> float:
        """Return the seconds until these archives may be queried; 0 if none is waited for."""
        waits = [0.0]
        for archive, error in _errors(resolution):
            if not isinstance(error, Resting | Refused) or isinstance(error, Queued):
                continue
            give_up = self._give_up.setdefault(archive, now + self._longest)
            if error.retry_after is not None and now + error.retry_after <= give_up:
                waits.append(error.retry_after)
        return max(waits)


class DurationEstimate(NamedTuple):
    """How long a list takes at most, if every archive answers at once."""

    seconds: float
    archive: str
    """The archive whose rate limit determines the duration."""
    rate: Rate


def rates_of(entries: Collection[ArchiveEntry]) -> dict[str, Rate]:
    """Return the rate limit for queries of each archive; archives on one host share it."""
    by_id = {entry.id: entry for entry in entries}
    rates = {}
    for entry in entries:
        limits = by_id.get(entry.hosted_by or "", entry).limits
        rates[entry.id] = limits.index if entry.kind.uses_index else limits.memento
    return rates


def estimate(items: int, rates: Mapping[str, Rate]) -> DurationEstimate | None:
    """Return how long *items* take if every archive is queried; None without archives."""
    times = {
        name: max(items - rate.burst, 0) * rate.seconds / rate.requests
        for name, rate in rates.items()
    }
    if not times:
        return None
    slowest = max(times, key=lambda name: times[name])
    return DurationEstimate(times[slowest], slowest, rates[slowest])


_MOST_TURNS: Final = 20
"""After so many turns, an archive whose queue is still full counts as not answering."""

Resolve = Callable[[Query, Preferences], Awaitable[Resolution]]
Without = Callable[[Item], frozenset[str]]


@dataclass(frozen=True, slots=True)
class BatchEnvironment:
    """What a run needs from outside."""

    resolve: Resolve
    report: Callable[[Resolution, Verdict], Json]
    registry: Registry
    read_time: ReadTime
    turns: ArchiveQueue
    advance: Callable[[], None] = lambda: None
    """Called when a result is final."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that an archive has to answer, in the first and in the second pass."""

    quick: float
    slow: float


class BatchRun:
    """Resolves each item of a list and writes the results to a journal."""

    def __init__(
        self,
        environment: BatchEnvironment,
        journal: Journal,
        preferences: Preferences,
        at_once: int,
        without: Without = lambda _: frozenset(),
    ) -> None:
        """*without* returns archives to exclude for an item, besides the preferences."""
        self._without = without
        self._environment = environment
        self._journal = journal
        self._preferences = preferences
        self._at_once = at_once
        self._rests = ArchiveRests()
        self._log = Unforeseen("item-internal-error")

    async def complete(self, items: AsyncIterator[Item], waits: Waits) -> None:
        """Resolve the items that the journal does not have, then those without final result."""
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
            self._environment.advance()
        if self._journal.due:
            await asyncio.to_thread(self._journal.sync)

    async def _contained(
        self, item: Item, preferences: Preferences, *, last: bool
    ) -> ItemResult:
        """Resolve *item*; an unexpected exception affects only its own result."""
        try:
            allowed = replace(preferences, exclude=preferences.exclude | self._without(item))
            return await self._resolved(item, allowed, last=last)
        except Exception as error:  # noqa: BLE001 -- the boundary environment each item
            self._log("list", error)
            return failed_result(item, error)

    def _settled(self, result: ItemResult) -> ItemResult:
        """Return *result*, or a better one of the first pass if an archive fails by now."""
        earlier = self._journal.result(result.item.position)
        if not result.final and earlier is not None:
            result = better(result, earlier)
        return replace(result, final=True)

    async def _resolved(
        self, item: Item, preferences: Preferences, *, last: bool
    ) -> ItemResult:
        """Try each date until one gives what was asked; otherwise return the best result."""
        environment = self._environment
        try:
            queries = candidates(item, environment.registry, environment.read_time)
            preferences = with_also(preferences, item.also)
        except ValueError as error:
            return refused_result(item, error)
        best: ItemResult | None = None
        certain = True
        for query, date in queries:
            resolution = trusted(
                await self._resolved_in_turn(query, preferences, last=last),
                environment.registry,
            )
            judged = verdict(resolution, environment.registry)
            result = result_of(item, resolution, judged, date, environment.report)
            if result.code == 0:
                return result
            certain = certain and result.final
            best = better(best, result)
        assert best is not None  # noqa: S101 -- there is always a query
        return replace(best, final=certain)

    async def _resolved_in_turn(
        self, query: Query, preferences: Preferences, *, last: bool
    ) -> Resolution:
        """Resolve; while our own queues are full, wait for a turn and resolve again.

        In the last pass, wait for archives that asked us to wait as well.
        """
        clock = asyncio.get_running_loop().time
        resolution = await self._environment.resolve(query, preferences)
        for _ in range(_MOST_TURNS):
            wait = self._wait(resolution, clock(), last=last)
            if wait == 0 or _suffices(resolution, self._environment.registry):
                break
            await asyncio.sleep(wait)
            resolution = await self._environment.resolve(query, preferences)
        return resolution

    def _wait(self, resolution: Resolution, now: float, *, last: bool) -> float:
        turns = [
            self._environment.turns.next(archive, now, wait) - now
            for archive, wait in queued(resolution).items()
        ]
        rest = self._rests.wait(resolution, now) if last else 0.0
        return max([rest, *turns])


async def read_in_thread(items: Iterator[Item]) -> AsyncIterator[Item]:
    """Yield *items*, read in a thread: slow input does not block requests to archives."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


async def _unsettled(journal: Journal) -> AsyncIterator[Item]:
    for result in journal.unsettled():
        yield result.item


def _suffices(resolution: Resolution, registry: Registry) -> bool:
    return verdict(resolution, registry).match.value == "exact"
