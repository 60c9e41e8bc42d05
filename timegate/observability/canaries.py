"""Canaries: periodic questions with known answers, which show that an archive broke silently.

They are asked one after the other, and only while archive and users are idle.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Final

import msgspec

from archives.errors import ArchiveError
from archives.model import ArchiveEntry
from timegate.cache import Store
from timegate.observability.canary_history import (
    CanaryOutcome,
    CanaryQuestion,
    CanaryRecord,
    CanaryStore,
    Standing,
    canary_states,
    has_flipped,
    judged,
    noted,
    questions_of,
    standings,
)
from timegate.observability.logs import Unforeseen, event
from timegate.resolution.coalescing import NoReplicas, ReplicaLocks, SourceFor
from timegate.resolution.coalescing import Question as LockedQuestion
from timegate.resolution.context import UNLIMITED, Budget, RequestContext
from timegate.upstream.stack import Fetchers

QUIET: Final = 60.0
"""Seconds after a start without canaries: a server that is restarted again and again sends
none."""
SPREAD: Final = 900.0
"""Seconds over which the first questions after a start are spread."""
DRIFT: Final = 0.1
"""Fraction by which intervals differ, so that questions do not coincide."""
AGAIN: Final = 600.0
"""Seconds after which a wrong answer is checked once more, if it was the first one."""
_TICK: Final = 60.0
_SKEW: Final = 60.0
"""Seconds by which the clocks of two replicas may differ."""


def tick(every: float) -> float:
    """Return the seconds between two checks whether a question is due."""
    return min(_TICK, every / 10)


def is_due(
    question: CanaryQuestion, record: CanaryRecord, every: float, *, started: float, now: float
) -> bool:
    """Whether *question* is due, with *every* seconds between two questions."""
    position = _position(question)
    if now < started + min(every, QUIET + position * SPREAD):
        return False
    if record.asked is None:
        return True
    waited = now - record.asked
    # A time in the future was noted before the clock was corrected.
    return waited >= _interval(record, every, position) or waited < -_SKEW


def _interval(record: CanaryRecord, every: float, position: float) -> float:
    return min(AGAIN, every) if record.is_doubtful else every * (1 + DRIFT * position)


def _position(question: CanaryQuestion) -> float:
    """Return a pseudo-random number from 0 to 1, always the same for *question*."""
    name = f"{question.archive} {question.side}".encode()
    return int.from_bytes(blake2b(name, digest_size=4).digest()) / 2**32


Quiet = Callable[[str], Awaitable[bool]]
"""Whether an archive, by its id, can be queried without delaying other requests."""
_TIMEOUT: Final = 15.0
_MOST_REQUESTS: Final = 8
"""For one question: enough for a TimeGate with a few redirects."""
_MOST_OCTETS: Final = 1024 * 1024


class CanaryWatch:
    """Asks each of *questions* again and again."""

    def __init__(  # noqa: PLR0913 -- the questions, and all that decides when they are asked
        self,
        questions: Sequence[CanaryQuestion],
        source_for: SourceFor,
        results: CanaryStore,
        quiet: Quiet,
        *,
        locks: ReplicaLocks | None = None,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """*clock* returns the seconds since 1970: histories outlive the process.

        *locks* are shared with other replicas, so that one of them asks. *chance* (0 to 1)
        keeps workers without such locks, which started together, from asking at the same time.
        """
        self._questions = questions
        self._source_for = source_for
        self._results = results
        self._quiet = quiet
        self._locks: ReplicaLocks = locks or NoReplicas()
        self._clock = clock
        self._chance = chance
        self._log = Unforeseen("canary-internal-error")

    async def run(self, every: float) -> None:
        """Ask each question every *every* seconds, for ever; earlier results are read first."""
        started = self._clock()
        while True:
            for question in self._questions:
                await self._contained(question, every, started)
            await asyncio.sleep(tick(every) * (0.5 + self._chance()))

    async def _contained(self, question: CanaryQuestion, every: float, started: float) -> None:
        """Ask *question* if it is due; an unforeseen exception affects no other question."""
        try:
            await self._ask_if_due(question, every, started)
        except Exception as error:  # noqa: BLE001 -- the boundary around each canary
            self._log(question.archive, error)

    async def _ask_if_due(self, question: CanaryQuestion, every: float, started: float) -> None:
        """Ask *question* if it is due, and if archive and users are idle."""
        if not await self._is_due(question, every, started):
            return
        if not await self._quiet(question.archive):
            return
        name = f"canary {question.archive}"
        locked: LockedQuestion = (name, question.url, question.at, "closest")
        await self._locks.wait(locked, UNLIMITED)
        try:
            # Another replica may have asked it meanwhile.
            if await self._is_due(question, every, started):
                await self._ask(question)
        finally:
            self._locks.done(locked)

    async def _is_due(self, question: CanaryQuestion, every: float, started: float) -> bool:
        record = await self._results.look(question)
        return is_due(question, record, every, started=started, now=self._clock())

    async def _ask(self, question: CanaryQuestion) -> None:
        # Noted in advance: a process that crashes on it does not ask it again at once.
        before = msgspec.structs.replace(
            self._results.records.get(question, CanaryRecord()), asked=self._clock()
        )
        await self._results.put(question, before)
        outcome = await self._outcome(question)
        after = noted(before, outcome, self._clock())
        await self._results.put(question, after)
        if has_flipped(before, after):
            _log_flip(question, before, after, outcome)

    async def _outcome(self, question: CanaryQuestion) -> CanaryOutcome:
        budget = Budget(_MOST_REQUESTS, _MOST_OCTETS)
        source = self._source_for(question.archive, RequestContext(budget=budget))
        try:
            async with asyncio.timeout(_TIMEOUT):
                found = await source.closest(question.url, question.at)
        except ArchiveError as error:
            return CanaryOutcome("unknown", error.why)
        except TimeoutError:
            return CanaryOutcome("unknown", f"no answer within {_TIMEOUT:g} s")
        return judged(question, found)


@asynccontextmanager
async def watching(watch: CanaryWatch, every: float) -> AsyncIterator[None]:
    """Run *watch* until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(watch.run(every))
        try:
            yield
        finally:
            task.cancel()


def _log_flip(
    question: CanaryQuestion, before: CanaryRecord, after: CanaryRecord, outcome: CanaryOutcome
) -> None:
    level = logging.INFO if after.standing == "kept" else logging.WARNING
    event(
        "canary",
        level,
        id=question.archive,
        page=question.side,
        state=after.standing,
        before=before.standing,
        why=outcome.why,
    )


class Canaries:
    """The results of all canaries, for /archives and the metrics."""

    def __init__(
        self, results: CanaryStore | None = None, secret: Collection[str] = ()
    ) -> None:
        """Without *results* there are none. Pages of archives in *secret* are not named."""
        self._records = {} if results is None else results.records
        self._secret = secret

    def state(self, archive: str) -> dict[str, object]:
        """Return the member of /archives for the canaries of *archive*, empty without any."""
        states = canary_states(archive, self._records, self._secret)
        return {"canary": states} if states else {}

    def standings(self) -> Mapping[tuple[str, str], Standing]:
        """Return the state of each canary, for the metrics."""
        return standings(self._records)


@asynccontextmanager
async def open_canaries(  # noqa: PLR0913, PLR0917 -- all that canaries need
    every: float | None,
    entries: Sequence[ArchiveEntry],
    source_for: SourceFor,
    remote: Fetchers,
    store: Store,
    locks: ReplicaLocks | None,
    secret: Collection[str],
) -> AsyncIterator[Canaries]:
    """Ask canaries every *every* seconds until the block ends; None for never."""
    if every is None:
        yield Canaries()
        return
    results = CanaryStore(store)
    quiet = quiet_at(entries, remote)
    watch = CanaryWatch(list(questions_of(entries)), source_for, results, quiet, locks=locks)
    async with watching(watch, every):
        yield Canaries(results, secret)


def quiet_at(entries: Sequence[ArchiveEntry], remote: Fetchers) -> Quiet:
    """Return a function that tells whether an archive is idle: users come first.

    Whether an archive with an open breaker works again is found out by questions of users, not
    by canaries (R-14).
    """
    by_id = {entry.id: entry for entry in entries}

    async def quiet(archive: str) -> bool:
        queue = remote.queues.get(archive)
        if queue is None:
            # A local collection has no queue.
            return True
        if remote.breakers.standing(archive) != "closed":
            return False
        entry = by_id[archive]
        # The limits of the host apply.
        limits = by_id.get(entry.hosted_by or archive, entry).limits
        if entry.kind.uses_index:
            return await queue.is_quiet("index", limits.index.burst // 2)
        return await queue.is_quiet("memento", limits.memento.burst // 2)

    return quiet
