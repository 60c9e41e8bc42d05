"""Asks canaries, one after the other, and only where that is in nobody's way."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from archives.errors import ArchiveError
from archives.source import Source
from timegate.budget import Budget, spending
from timegate.canaries.board import CanaryStore
from timegate.canaries.history import CanaryRecord, has_flipped, noted
from timegate.canaries.questions import CanaryOutcome, CanaryQuestion, judged
from timegate.canaries.schedule import is_due, tick
from timegate.desk import NoReplicas, ReplicaLocks
from timegate.desk import Question as Turn
from timegate.logs import event

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
        sources: Mapping[str, Source],
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
        self._sources = sources
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
        await self._turns.wait(turn)
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
        source = self._sources[question.archive]
        try:
            with spending(Budget(_MOST_REQUESTS, _MOST_OCTETS)):
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
