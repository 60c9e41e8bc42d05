"""The run: items in, results out, some at a time; quickly first, then slowly what is left.

No I/O in here but through what is passed in; time is the event loop's.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from archives.registry import Registry
from timegate.bulk.candidates import ReadTime, candidates
from timegate.bulk.item import Item
from timegate.bulk.journal import Journal
from timegate.bulk.result import ItemResult, Json, better, broken, found, refused
from timegate.bulk.trust import trusted
from timegate.bulk.turns import ArchiveQueue, ArchiveRests, queued
from timegate.logs import Unforeseen
from timegate.resolution import Preferences, Query, Resolution
from timegate.verdict import Verdict, verdict

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
        policy: Preferences,
        at_once: int,
        without: Without = lambda _: frozenset(),
    ) -> None:
        """*without* says which archives are not to be asked for an item, beside the policy."""
        self._without = without
        self._around = around
        self._journal = journal
        self._policy = policy
        self._at_once = at_once
        self._rests = ArchiveRests()
        self._log = Unforeseen("item-internal-error")

    async def complete(self, items: AsyncIterator[Item], waits: Waits) -> None:
        """Resolve what the journal does not have, then again what nobody answered."""
        new = (item async for item in items if not self._journal.knows(item))
        await self._pass(new, replace(self._policy, wait=waits.quick), last=False)
        again = _unsettled(self._journal)
        await self._pass(again, replace(self._policy, wait=waits.slow), last=True)

    async def _pass(
        self, items: AsyncIterator[Item], policy: Preferences, *, last: bool
    ) -> None:
        reading = asyncio.Lock()

        async def work() -> None:
            while True:
                async with reading:
                    item = await anext(items, None)
                if item is None:
                    return
                await self._finish(item, policy, last=last)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(work())

    async def _finish(self, item: Item, policy: Preferences, *, last: bool) -> None:
        result = await self._contained(item, policy, last=last)
        result = self._settled(result) if last else result
        self._journal.append(result)
        if result.final:
            self._around.advance()
        if self._journal.due:
            await asyncio.to_thread(self._journal.sync)

    async def _contained(self, item: Item, policy: Preferences, *, last: bool) -> ItemResult:
        """Resolve *item*; an unforeseen exception costs its row and no other."""
        try:
            spared = replace(policy, exclude=policy.exclude | self._without(item))
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

    async def _resolved(self, item: Item, policy: Preferences, *, last: bool) -> ItemResult:
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
                await self._patiently(query, policy, last=last), around.registry
            )
            judged = verdict(resolution, around.registry)
            result = found(item, resolution, judged, date, around.report)
            if result.code == 0:
                return result
            certain = certain and result.final
            best = better(best, result)
        assert best is not None  # noqa: S101 -- there is always a question
        return replace(best, final=certain)

    async def _patiently(self, query: Query, policy: Preferences, *, last: bool) -> Resolution:
        """Ask; while only our own queues are in the way, wait for a turn and ask again.

        The last time, wait also for archives that rest.
        """
        clock = asyncio.get_running_loop().time
        resolution = await self._around.resolve(query, policy)
        for _ in range(_MOST_TURNS):
            wait = self._wait(resolution, clock(), last=last)
            if wait == 0 or _suffices(resolution, self._around.registry):
                break
            await asyncio.sleep(wait)
            resolution = await self._around.resolve(query, policy)
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
