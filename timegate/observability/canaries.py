"""Asks canaries, one after the other, and only where that is in nobody's way."""

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
    has_flipped,
    judged,
    noted,
    questions_of,
    standings,
    told,
)
from timegate.observability.logs import event
from timegate.resolution.coalescing import NoReplicas, ReplicaLocks, SourceFor
from timegate.resolution.coalescing import Question as Turn
from timegate.resolution.context import UNLIMITED, Budget, RequestContext
from timegate.upstream.stack import Fetchers

QUIET: Final = 60.0
"""Seconds after a start in which nobody is asked: who is started again and again asks
nobody."""
SPREAD: Final = 900.0
"""Seconds over which the first questions after a start are spread."""
DRIFT: Final = 0.1
"""By which part of it intervals differ, so that questions do not come to fall together."""
AGAIN: Final = 600.0
"""Seconds after which what is wrong for the first time is looked at once more."""
_TICK: Final = 60.0
_SKEW: Final = 60.0
"""Seconds by which the clocks of two replicas may differ."""


def tick(every: float) -> float:
    """Return how often to look whether anything is due."""
    return min(_TICK, every / 10)


def is_due(
    question: CanaryQuestion, record: CanaryRecord, every: float, *, started: float, now: float
) -> bool:
    """Whether it is time for *question*, with *every* seconds between two of its kind."""
    share = _share(question)
    if now < started + min(every, QUIET + share * SPREAD):
        return False
    if record.asked is None:
        return True
    waited = now - record.asked
    # What was asked in the future was asked under a clock that has been put right since.
    return waited >= _interval(record, every, share) or waited < -_SKEW


def _interval(record: CanaryRecord, every: float, share: float) -> float:
    return min(AGAIN, every) if record.is_doubtful else every * (1 + DRIFT * share)


def _share(question: CanaryQuestion) -> float:
    """Return a number from 0 to 1 that is as good as drawn by lot, and always the same."""
    name = f"{question.archive} {question.side}".encode()
    return int.from_bytes(blake2b(name, digest_size=4).digest()) / 2**32


Quiet = Callable[[str], Awaitable[bool]]
"""Whether an archive, by its id, may be asked without being in anybody's way."""
_PATIENCE: Final = 15.0
_MOST_REQUESTS: Final = 8
"""For one question: a TimeGate with a few redirects. Who wants more is not worth it."""
_MOST_OCTETS: Final = 1024 * 1024


class CanaryWatch:
    """Asks *questions* of *sources*, each every so many seconds."""

    def __init__(  # noqa: PLR0913 -- what is asked, of whom, and all that has a say in it
        self,
        questions: Sequence[CanaryQuestion],
        source_for: SourceFor,
        board: CanaryStore,
        quiet: Quiet,
        *,
        turns: ReplicaLocks | None = None,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """*clock* tells the seconds since 1970: histories outlive the process.

        *turns* are taken with other replicas, so that one of them asks. *chance* (0 to 1) keeps
        workers that began together, and can take no turns, from looking together.
        """
        self._questions = questions
        self._source_for = source_for
        self._board = board
        self._quiet = quiet
        self._turns: ReplicaLocks = turns or NoReplicas()
        self._clock = clock
        self._chance = chance

    async def run(self, every: float) -> None:
        """Ask for ever, *every* so many seconds; what was known before is read at once."""
        started = self._clock()
        while True:
            for question in self._questions:
                await self._look(question, every, started)
            await asyncio.sleep(tick(every) * (0.5 + self._chance()))

    async def _look(self, question: CanaryQuestion, every: float, started: float) -> None:
        """Ask *question* if it is time; where archive or users are busy, it is not."""
        if not await self._is_due(question, every, started):
            return
        if not await self._quiet(question.archive):
            return
        turn: Turn = (f"canary {question.archive}", question.url, question.at, "closest")
        await self._turns.wait(turn, UNLIMITED)
        try:
            # Whoever was waited for has asked.
            if await self._is_due(question, every, started):
                await self._ask(question)
        finally:
            self._turns.done(turn)

    async def _is_due(self, question: CanaryQuestion, every: float, started: float) -> bool:
        record = await self._board.look(question)
        return is_due(question, record, every, started=started, now=self._clock())

    async def _ask(self, question: CanaryQuestion) -> None:
        # Written down before it is done: who dies of it does not do it again at once.
        before = msgspec.structs.replace(
            self._board.records.get(question, CanaryRecord()), asked=self._clock()
        )
        await self._board.put(question, before)
        seen = await self._answer(question)
        after = noted(before, seen, self._clock())
        await self._board.put(question, after)
        if has_flipped(before, after):
            _tell(question, before, after, seen)

    async def _answer(self, question: CanaryQuestion) -> CanaryOutcome:
        budget = Budget(_MOST_REQUESTS, _MOST_OCTETS)
        source = self._source_for(question.archive, RequestContext(budget=budget))
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await source.closest(question.url, question.at)
        except ArchiveError as error:
            return CanaryOutcome("unknown", error.why)
        except TimeoutError:
            return CanaryOutcome("unknown", f"no answer within {_PATIENCE:g} s")
        return judged(question, found)


@asynccontextmanager
async def watching(watch: CanaryWatch, every: float) -> AsyncIterator[None]:
    """Let *watch* ask until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(watch.run(every))
        try:
            yield
        finally:
            task.cancel()


def _tell(
    question: CanaryQuestion, before: CanaryRecord, after: CanaryRecord, seen: CanaryOutcome
) -> None:
    level = logging.INFO if after.standing == "kept" else logging.WARNING
    event(
        "canary",
        level,
        id=question.archive,
        page=question.side,
        state=after.standing,
        before=before.standing,
        why=seen.why,
    )


class Canaries:
    """What is known of them. Without a board there are none."""

    def __init__(self, board: CanaryStore | None = None, secret: Collection[str] = ()) -> None:
        """Do not name the pages of archives in *secret*: what they hold is not for all."""
        self._records = {} if board is None else board.records
        self._secret = secret

    def state(self, archive: str) -> dict[str, object]:
        """Return what /archives says of those of *archive*: nothing where there are none."""
        known = told(archive, self._records, self._secret)
        return {"canary": known} if known else {}

    def standings(self) -> Mapping[tuple[str, str], Standing]:
        """Return how each stands, for the metrics."""
        return standings(self._records)


@asynccontextmanager
async def open_canaries(  # noqa: PLR0913, PLR0917 -- whom to ask, how, when, and where to keep it
    every: float | None,
    entries: Sequence[ArchiveEntry],
    source_for: SourceFor,
    remote: Fetchers,
    store: Store,
    turns: ReplicaLocks | None,
    secret: Collection[str],
) -> AsyncIterator[Canaries]:
    """Ask *every* so many seconds until the block ends; None for never."""
    if every is None:
        yield Canaries()
        return
    board = CanaryStore(store)
    quiet = quiet_at(entries, remote)
    watch = CanaryWatch(list(questions_of(entries)), source_for, board, quiet, turns=turns)
    async with watching(watch, every):
        yield Canaries(board, secret)


def quiet_at(entries: Sequence[ArchiveEntry], remote: Fetchers) -> Quiet:
    """Return who says whether an archive has time for us: users go first.

    One that failed is found again by their questions, not by ours (R14).
    """
    known = {entry.id: entry for entry in entries}

    async def quiet(archive: str) -> bool:
        queue = remote.queues.get(archive)
        if queue is None:
            # A collection of our own.
            return True
        if remote.breakers.standing(archive) != "closed":
            return False
        entry = known[archive]
        # Those of its host: a tenant's own are not kept to.
        limits = known.get(entry.hosted_by or archive, entry).limits
        if entry.kind.uses_index:
            return await queue.is_quiet("index", limits.index.burst // 2)
        return await queue.is_quiet("memento", limits.memento.burst // 2)

    return quiet


__all__ = ["Canaries", "open_canaries"]
