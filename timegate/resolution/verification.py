"""Verification: requests a memento itself, and reads what its own headers state (X-6).

A redirect, a link or an index only promises a memento. The outcome of a request is cached for
as long as mementos live, and concurrent requests for one memento are sent once.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Protocol, Self

from cachetools import TTLCache
from msgspec import structs

from archives.addresses import WITHOUT_SERVER, AddressPolicy
from archives.errors import ArchiveError, Misbehaved, Refused, Resting, Unreachable
from archives.listing import filled
from archives.model import ArchiveEntry, Closest, Evidence, Memento
from archives.moment import Moment
from archives.negotiation import Clock, Negotiator, Question
from archives.source import Fetcher
from timegate.event_loop import end
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import QueueTime, RequestContext, TimeBudget
from timegate.resolution.model import CachedAnswer, MementoCheck

_PATIENCE: Final = 10.0
"""Seconds for one memento, not counting the time in our own queue for the archive."""
_FAILURE_LIFETIME: Final = 60.0
"""Seconds for which a memento that was not delivered is not requested again."""
_MOST_FAILURES: Final = 1024
_TOO_BUSY: Final = (429, 503)
_MOST_MISSES: Final = 3
"""Unusable answers at replay addresses in a row, after which an archive is queried as usual."""

FetcherFor = Callable[[str, RequestContext], Fetcher]
"""Returns the fetcher for an archive, within the limits of a request."""


class MementoProbe(Protocol):
    """Requests a memento at an address; None if it does not exist. Raises ArchiveError."""

    async def __call__(
        self, memento: Memento, address: str, context: RequestContext
    ) -> Closest | None: ...


class MementoMemory(Protocol):
    """Cached outcomes of requests for mementos, by the address of the memento."""

    async def recall_memento(
        self, memento: Memento, address: str, budget: TimeBudget | None = None
    ) -> CachedAnswer | None: ...

    async def remember_memento(
        self,
        memento: Memento,
        address: str,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None: ...


def memento_probes(
    entries: Iterable[ArchiveEntry],
    fetcher_for: FetcherFor,
    clock: Clock,
    policy: AddressPolicy = WITHOUT_SERVER,
) -> Mapping[str, MementoProbe]:
    """Return the probe of each archive whose mementos programs can request."""

    def probe(entry: ArchiveEntry) -> MementoProbe:
        usual = Negotiator(entry, policy.of(entry), clock)

        async def requested(
            memento: Memento, address: str, context: RequestContext
        ) -> Closest | None:
            question = Question(
                address, memento.original, memento.captured, "template", {}, memento.stamp[:14]
            )
            fetch = fetcher_for(entry.id, context)
            negotiator = usual
            if entry.kind.asks_originals:
                # Each original is at a server of its own: no other may answer for it.
                negotiator = Negotiator(entry, policy.at(entry, address), clock)
            found = await negotiator.closest(fetch, question)
            return None if found is None else _delivered(memento, address, found, entry)

        return requested

    return {entry.id: probe(entry) for entry in entries if not entry.gate}


def _delivered(promised: Memento, address: str, found: Closest, entry: ArchiveEntry) -> Closest:
    """Return the memento that was delivered at *address*, as its own headers describe it."""
    if not found.hops:
        # A redirect or an absent page that names a capture with a link: it delivers none.
        raise Misbehaved(entry.id, address, "names another memento, and delivers none")
    served = found.hops[-1]
    memento = found.memento
    if served.stamp is None:
        raise Misbehaved(entry.id, address, "states no Memento-Datetime of its own")
    if served.stamp != memento.stamp[:14]:
        raise Misbehaved(entry.id, address, "; ".join(found.doubts))
    if memento.stamp[:14] == promised.stamp[:14]:
        # The header has whole seconds; an address may have a fraction as well.
        memento = memento._replace(
            stamp=promised.stamp,
            mime=promised.mime,
            digest=promised.digest,
            is_asserted=promised.is_asserted,
        )
    as_promised = (memento.stamp, memento.original) == (promised.stamp, promised.original)
    # The raw view was requested; the replay of the same capture is for people.
    is_replayed = address != promised.uri and as_promised and len(found.hops) == 1
    memento = memento._replace(uri=promised.uri if is_replayed else served.url)
    evidence: Evidence = "held" if entry.kind.is_local else "delivered"
    return structs.replace(found, memento=memento, evidence=evidence)


def _concerns_archive(error: ArchiveError) -> bool:
    """Whether *error* is not about one memento: the archive is not to be queried again now."""
    if isinstance(error, Refused):
        return error.status in _TOO_BUSY
    return isinstance(error, Unreachable | Resting)


class Verifier:
    """Requests mementos. Use as a context manager: its end cancels requests in progress."""

    def __init__(
        self,
        probes: Mapping[str, MementoProbe],
        memory: MementoMemory,
        containment: Containment,
        entries: Iterable[ArchiveEntry] = (),
        patience: float = _PATIENCE,
    ) -> None:
        """*entries* are archives whose replay addresses can be written from their template."""
        self._probes = probes
        self._memory = memory
        self._containment = containment
        self._templates = {e.id: e for e in entries if e.replay and e.id in probes}
        self._patience = patience
        self._in_progress: dict[tuple[str, str], asyncio.Task[MementoCheck]] = {}
        self._failed: TTLCache[tuple[str, str], ArchiveError] = TTLCache(
            _MOST_FAILURES, _FAILURE_LIFETIME
        )
        self._misses: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await end(list(self._in_progress.values()))

    def can_check(self, archive: str) -> bool:
        """Whether programs can request the mementos of *archive*."""
        return archive in self._probes

    def check(
        self, memento: Memento, address: str, context: RequestContext, *, cached: bool = True
    ) -> "asyncio.Task[MementoCheck]":
        """Return the outcome of requesting *memento* at *address* as a task; never cancel it.

        A request in progress is joined. The places belong to those who wait for the task, which
        may outlive them.
        """
        context = structs.replace(context, places=None)
        key = (memento.archive, address)
        task = self._in_progress.get(key)
        if task is None:
            checking = self._check(memento, address, context, cached=cached)
            task = asyncio.get_running_loop().create_task(checking)
            self._in_progress[key] = task
            task.add_done_callback(lambda _: self._in_progress.pop(key, None))
        return task

    async def recall(
        self, memento: Memento, address: str, context: RequestContext
    ) -> MementoCheck | None:
        """Return the outcome of an earlier request; None if there is none to be used."""
        key = (memento.archive, address)
        known = await self._memory.recall_memento(memento, address, context.redis_time)
        if known is not None and known.fresh:
            return MementoCheck(*key, known.outcome, known.age)
        return MementoCheck(*key, self._failed[key], 0.0) if key in self._failed else None

    async def at_replay_address(
        self, archive: str, original: str, at: Moment | None, context: RequestContext
    ) -> Closest | None:
        """Request the capture of the second *at* at its replay address: found and verified.

        It may lead to a capture of another time. None if the address cannot be written, or no
        memento is there. Raises ArchiveError if the archive refuses.
        """
        entry = self._templates.get(archive)
        stamp = "" if at is None else at.digits[:14]
        if entry is None or entry.replay is None or len(stamp) < 14 or stamp.endswith("60"):
            return None
        if self._misses.get(archive, 0) >= _MOST_MISSES:
            return None
        memento = Memento(stamp, filled(entry.replay, stamp, original), original, archive)
        # The raw view is preferred: framed replay repeats the digits of the URL as
        # Memento-Datetime, even for pages that it does not hold (pywb 2.10).
        address = filled(entry.raw or entry.replay, stamp, original)
        outcome = (await self.check(memento, address, context)).outcome
        self._note(archive, outcome)
        if isinstance(outcome, ArchiveError) and _concerns_archive(outcome):
            raise outcome
        return outcome if isinstance(outcome, Closest) else None

    def _note(self, archive: str, outcome: Closest | ArchiveError | None) -> None:
        failed = isinstance(outcome, Misbehaved | Refused)
        self._misses[archive] = self._misses.get(archive, 0) + 1 if failed else 0

    async def _check(
        self, memento: Memento, address: str, context: RequestContext, *, cached: bool
    ) -> MementoCheck:
        budget, key = context.redis_time, (memento.archive, address)
        recalled = await self.recall(memento, address, context) if cached else None
        if recalled is not None:
            return recalled
        outcome: Closest | ArchiveError | None
        try:
            outcome = await self._requested_in_time(memento, address, context)
            with self._containment.around(memento.archive, address):
                await self._memory.remember_memento(memento, address, outcome, budget)
        except ArchiveError as error:
            outcome = error
        except TimeoutError:
            why = f"did not deliver the memento within {self._patience:g} s"
            outcome = Unreachable(memento.archive, address, why)
        # Where no request was sent, nothing is known about the memento.
        if isinstance(outcome, ArchiveError) and not isinstance(outcome, Resting):
            self._failed[key] = outcome
        return MementoCheck(*key, outcome)

    async def _requested_in_time(
        self, memento: Memento, address: str, context: RequestContext
    ) -> Closest | None:
        queue_time = context.queue_time or QueueTime()
        context = structs.replace(context, queue_time=queue_time)
        async with asyncio.timeout(self._patience) as limit:
            with queue_time.pausing(limit):
                return await self._requested(memento, address, context)

    async def _requested(
        self, memento: Memento, address: str, context: RequestContext
    ) -> Closest | None:
        if context.charge is not None:
            context.charge.use()
        with self._containment.around(memento.archive, address):
            return await self._probes[memento.archive](memento, address, context)
