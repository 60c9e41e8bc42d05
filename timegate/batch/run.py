"""The batch run: resolves the items of a list in two passes, the second more patient.

All I/O goes through the `BatchEnvironment`; the clock is that of the event loop.
"""

import asyncio
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple, Protocol

from archives.errors import ArchiveError, Refused, Resting
from archives.model import ArchiveEntry, Rate
from archives.registry import Registry
from archives.source import Purpose
from archives.surt import surt
from timegate.batch.backlog import ListBacklog, WaitingItem
from timegate.batch.dispatch import (
    EVERY,
    Answered,
    Dispatcher,
    LaneLimits,
    bucket_of,
    host_of,
)
from timegate.batch.forecast import LaneMeter, forecast, per_second
from timegate.batch.host_queries import MOST_PAGES, HostQueries
from timegate.batch.journal import Journal
from timegate.batch.model import (
    Item,
    ItemResult,
    Json,
    ReadTime,
    better,
    candidates,
    failed_result,
    quoting,
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


def _errors(resolution: Resolution) -> Iterator[tuple[str, ArchiveError]]:
    """Yield the failures of questions and of requests for mementos, with their archives."""
    for attempt in resolution.attempts:
        if isinstance(attempt.outcome, ArchiveError):
            yield attempt.archive, attempt.outcome
    for check in resolution.checks:
        if isinstance(check.outcome, ArchiveError):
            yield check.archive, check.outcome


class ArchiveRests:
    """How long a run waits for archives that asked us to wait, or seem dead.

    The limit is per archive, not per item: a dead archive delays a long list no more than a
    short one.
    """

    def __init__(self, longest: float = _LONGEST_REST) -> None:
        self._longest = longest
        self._give_up: dict[str, float] = {}

    def wait(self, resolution: Resolution, now: float, only: str | None = None) -> float:
        """Return the seconds until these archives may be queried; 0 if none is waited for.

        With *only*, no other archive is waited for.
        """
        return self.longest(resolution, now, only)[0]

    def longest(
        self, resolution: Resolution, now: float, only: str | None = None
    ) -> tuple[float, ArchiveError | None]:
        """Return the seconds, as `wait`, and the failure that they follow from."""
        longest: tuple[float, ArchiveError | None] = (0.0, None)
        for archive, error in _errors(resolution):
            if not isinstance(error, Resting | Refused) or only not in (None, archive):
                continue
            give_up = self._give_up.setdefault(archive, now + self._longest)
            wait = error.retry_after
            if wait is not None and longest[0] < wait <= give_up - now:
                longest = wait, error
        return longest


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


def allowances(entries: Collection[ArchiveEntry]) -> dict[str, float]:
    """Return how many items in a second each lane allows, at one request to each archive.

    Limits for other requests to an archive are named by `bucket_of`.
    """
    by_id = {entry.id: entry for entry in entries}
    rates = rates_of(entries)
    allowed = {name: per_second(rate) for name, rate in rates.items()}
    for entry in entries:
        if entry.kind.uses_index:
            name = bucket_of(host_of(entry, by_id), "memento", is_index=True)
            allowed.setdefault(name, per_second(entry.limits.memento))
    hosts = [host_of(entry, by_id) for entry in entries]
    if hosts:
        allowed[EVERY] = min(allowed[host] / hosts.count(host) for host in hosts)
    return allowed


def estimate(items: int, rates: Mapping[str, Rate]) -> DurationEstimate | None:
    """Return how long *items* take if every archive is queried; None without archives."""
    times = {name: _seconds_of(items, rate) for name, rate in rates.items()}
    if not times:
        return None
    slowest = max(times, key=lambda name: times[name])
    return DurationEstimate(times[slowest], slowest, rates[slowest])


def estimate_checked(items: int, entries: Collection[ArchiveEntry]) -> float:
    """Return how many seconds *items* take at most if each copy is requested as well.

    An index has another rate limit for copies than for questions.
    """
    by_id = {entry.id: entry for entry in entries}
    limits = [(entry.kind, by_id.get(entry.hosted_by or "", entry).limits) for entry in entries]
    times = [
        max(_seconds_of(items, each.index), _seconds_of(items, each.memento))
        if kind.uses_index
        else _seconds_of(2 * items, each.memento)
        for kind, each in limits
    ]
    return max(times, default=0.0)


def _seconds_of(requests: int, rate: Rate) -> float:
    return max(requests - rate.burst, 0) * rate.seconds / rate.requests


_MOST_RESTS: Final = 20
"""After so many rests, an archive that asks for another one counts as not answering."""
_SECONDS: Final = 14
"""Digits of a time that is known to the second."""
_BLOCK: Final = 200
"""Items that are read at once from a file."""

Resolve = Callable[[Query, Preferences, Answered], Awaitable[Resolution]]
Without = Callable[[Item], frozenset[str]]


@dataclass(frozen=True, slots=True)
class BatchEnvironment:
    """What a run needs from outside."""

    resolve: Resolve
    report: Callable[[Resolution, Verdict], Json]
    registry: Registry
    read_time: ReadTime
    entries: Collection[ArchiveEntry] = ()
    """The archives that may be queried."""
    host_queries: HostQueries | None = None
    """Asks archives for many pages at once; None to ask for each."""
    resting: Callable[[ArchiveError, float], None] = lambda _, __: None
    """Called with the failure of an archive that is waited for, and the seconds."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that an archive has to answer, in the first and in the second pass."""

    quick: float
    slow: float


class ItemResolver:
    """Resolves single items."""

    def __init__(
        self,
        environment: BatchEnvironment,
        preferences: Preferences,
        waits: Waits,
        without: Without = lambda _: frozenset(),
    ) -> None:
        """*without* returns archives to exclude for an item, besides the preferences."""
        self._environment = environment
        self._preferences = preferences
        self._waits = waits
        self._without = without
        self._rests = ArchiveRests()
        self._log = Unforeseen("item-internal-error")

    def placed(self, item: Item, limits: LaneLimits) -> WaitingItem:
        """Return *item* with its lane and its page."""
        environment, preferences = self._environment, self._preferences
        try:
            query = candidates(item, environment.registry, environment.read_time)[0].query
        except ValueError:
            return WaitingItem(item, EVERY, f"#{item.position}")
        chosen = preferences.archives is None or query.archive in preferences.archives
        named = query.archive if chosen and query.archive not in preferences.exclude else None
        return WaitingItem(item, limits.lane(named), surt(query.original))

    async def prepare(
        self, items: Sequence[Item], others: Callable[[str], Iterable[Item]]
    ) -> Mapping[str, int]:
        """Ask for many pages at once where that costs less; return the requests by archive.

        *others* returns the items in the same lane that are not done, on the host of a page.
        """
        first = self._listed(items[0])
        host_queries = self._environment.host_queries
        if first is None or host_queries is None:
            return {}
        page, named = surt(first.original), first.archive

        def queries() -> list[Query]:
            found = map(self._listed, others(page))
            return [query for query in found if query is not None and query.archive == named]

        return await host_queries.ask(named, page.partition(")")[0], queries)

    def _listed(self, item: Item) -> Query | None:
        """Return the first query of *item*; None if a list of captures does not save anything.

        A memento that is requested at its replay address needs no other request.
        """
        environment, verify = self._environment, self._preferences.verify
        try:
            query = candidates(item, environment.registry, environment.read_time)[0].query
        except ValueError:
            return None
        if query.at is None:
            return None
        is_verified = query.identifier is not None if verify is None else verify != "none"
        is_exact = query.archive is not None and len(query.at.digits) >= _SECONDS
        return None if is_verified and is_exact else query

    async def resolve(self, item: Item, answered: Answered, *, last: bool) -> ItemResult:
        """Resolve *item*; an unexpected exception affects only its own result."""
        wait = self._waits.slow if last else self._waits.quick
        try:
            without = self._preferences.exclude | self._without(item)
            allowed = replace(self._preferences, exclude=without, wait=wait)
            return await self._resolved(item, allowed, answered, last=last)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("list", error)
            return failed_result(item, error)

    async def _resolved(
        self, item: Item, preferences: Preferences, answered: Answered, *, last: bool
    ) -> ItemResult:
        """Try each date until one gives what was asked; otherwise return the best result."""
        environment = self._environment
        try:
            queries = candidates(item, environment.registry, environment.read_time)
            preferences = quoting(with_also(preferences, item.also), item)
        except ValueError as error:
            return refused_result(item, error)
        best: ItemResult | None = None
        certain = True
        for query, date in queries:
            resolution = trusted(
                await self._after_rests(query, preferences, answered, last=last),
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

    async def _after_rests(
        self, query: Query, preferences: Preferences, answered: Answered, *, last: bool
    ) -> Resolution:
        """Resolve; while the named archive wants us to wait, wait and resolve again.

        In the last pass, wait for all archives.
        """
        clock = asyncio.get_running_loop().time
        resolution = await self._environment.resolve(query, preferences, answered)
        for _ in range(_MOST_RESTS if last or query.archive is not None else 0):
            only = None if last else query.archive
            wait, error = self._rests.longest(resolution, clock(), only)
            if error is None or _suffices(resolution, self._environment.registry):
                break
            self._environment.resting(error, wait)
            await asyncio.sleep(wait)
            resolution = await self._environment.resolve(query, preferences, answered)
        return resolution


class BadQueue(ValueError):
    """A queue that cannot be used; the message says why, and what to do."""


class QueueStatus(NamedTuple):
    """The progress of a list."""

    done: int
    total: int | None
    rate: float
    seconds_left: float | None
    complete: bool


class Engine(Protocol):
    """Resolves the items of a backlog: in this process, or in many."""

    def wake(self) -> None:
        """Look again: there are new items."""
        ...

    def end(self) -> None:
        """Return from `run` when the items that are there now are done."""
        ...

    def elsewhere(self, lane: str) -> int:
        """Return how many pages of *lane* wait for other archives than their own."""
        ...

    async def run(self) -> None: ...


Accept = Callable[[str, ItemResult, Mapping[str, int]], Awaitable[None]]
"""Takes the lane and the result of an item, and the requests it cost, by host."""


class Engines(Protocol):
    """Makes the engine of each pass."""

    def place(self, item: Item) -> WaitingItem:
        """Return *item* with its lane and its page."""
        ...

    def engine(self, backlog: ListBacklog, accept: Accept, *, last: bool) -> Engine:
        """Return the engine of the first or the *last* pass."""
        ...


class LocalEngines:
    """Resolves items in this process."""

    def __init__(self, resolver: ItemResolver, limits: LaneLimits) -> None:
        self._resolver = resolver
        self._limits = limits

    def place(self, item: Item) -> WaitingItem:
        return self._resolver.placed(item, self._limits)

    def engine(self, backlog: ListBacklog, accept: Accept, *, last: bool) -> Engine:
        async def work(lane: str, items: Sequence[Item], answered: Answered) -> None:
            def others(page: str) -> Iterator[Item]:
                return (item for _, item in backlog.same_host(lane, page, MOST_PAGES))

            # While the list is being read, it is not known how many pages share a host.
            ended = dispatcher.has_ended
            asks = Counter(await self._resolver.prepare(items, others) if ended else {})
            for item in items:
                noted = noting(asks, answered, self._limits)
                result = await self._resolver.resolve(item, noted, last=last)
                await accept(lane, result, asks)
                asks = Counter()

        dispatcher = Dispatcher(backlog, self._limits, work)
        return dispatcher


def noting(asks: Counter[str], answered: Answered, limits: LaneLimits) -> Answered:
    """Return *answered*, which counts the requests of each rate limit in *asks* as well."""

    def noted(archive: str, purpose: Purpose = "memento", /) -> None:
        asks[limits.bucket(archive, purpose)] += 1
        answered(archive, purpose)

    return noted


class BatchRun:
    """Resolves each item of a list and writes the results to a journal."""

    def __init__(
        self, journal: Journal, engines: Engines, allowances: Mapping[str, float]
    ) -> None:
        """Forecast the end with *allowances*: those of the lanes, in items a second."""
        self._journal = journal
        self._engines = engines
        self._allowances = allowances
        self._backlog: ListBacklog | None = None
        self._meter: LaneMeter | None = None
        self._engine: Engine | None = None
        self._reading = True
        self._advance: Callable[[], None] = lambda: None

    async def complete(
        self,
        items: AsyncIterator[Sequence[Item]],
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        """Resolve the items that the journal does not have, then those without final result.

        *items* come in blocks. *advance* is called when a result is final.
        """
        self._advance = advance
        new = (
            [item for item in block if not self._journal.knows(item)] async for block in items
        )
        await self._pass(new, last=False)
        await self._pass(_unsettled(self._journal), last=True)

    def seconds_left(self) -> float | None:
        """Return when the run will end, in seconds from now; None if that is not known."""
        backlog, meter, engine = self._backlog, self._meter, self._engine
        if backlog is None or meter is None or engine is None or self._reading:
            return None
        left = backlog.left()
        loads = {lane: meter.load(lane, n, engine.elsewhere(lane)) for lane, n in left.items()}
        return forecast(loads, self._allowances, meter.flows())

    async def _pass(self, blocks: AsyncIterator[Sequence[Item]], *, last: bool) -> None:
        meter = self._meter = LaneMeter(asyncio.get_running_loop().time)
        with ListBacklog() as backlog:
            self._backlog = backlog

            async def accept(lane: str, result: ItemResult, asks: Mapping[str, int]) -> None:
                # Where several processes work, two may have resolved the same item.
                if backlog.done(result.item.position):
                    meter.done(lane, asks)
                    await self._write(result, last=last)

            engine = self._engine = self._engines.engine(backlog, accept, last=last)
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(engine.run())
                await self._read(blocks, backlog, engine)
                engine.end()
                await running
            self._backlog = self._engine = None

    async def _read(
        self, blocks: AsyncIterator[Sequence[Item]], backlog: ListBacklog, engine: Engine
    ) -> None:
        self._reading = True
        async for block in blocks:
            backlog.put(map(self._engines.place, block))
            engine.wake()
            # Reading a long list must not keep the archives waiting.
            await asyncio.sleep(0)
        self._reading = False

    async def _write(self, result: ItemResult, *, last: bool) -> None:
        add_result(self._journal, result, last=last)
        if self._journal.is_final(result.item.position):
            self._advance()
        if self._journal.due:
            await asyncio.to_thread(self._journal.sync)


def add_result(journal: Journal, result: ItemResult, *, last: bool) -> None:
    """Write *result*, or a better one of the first pass if an archive fails by now."""
    if last:
        earlier = journal.result(result.item.position)
        if not result.final and earlier is not None:
            result = better(result, earlier)
        result = replace(result, final=True)
    journal.append(result)


async def read_in_thread(
    items: Iterator[Item], *, at_once: bool = True
) -> AsyncIterator[Sequence[Item]]:
    """Yield *items* in blocks, read in a thread: slow input does not block requests.

    Each item is a block of its own unless they come *at_once*, as from a file.
    """
    most = _BLOCK if at_once else 1
    while block := await asyncio.to_thread(lambda: list(islice(items, most))):
        yield block


async def _unsettled(journal: Journal) -> AsyncIterator[Sequence[Item]]:
    unsettled = journal.unsettled()
    while block := [result.item for result in islice(unsettled, _BLOCK)]:
        yield block


def _suffices(resolution: Resolution, registry: Registry) -> bool:
    return verdict(resolution, registry).match.value == "exact"
