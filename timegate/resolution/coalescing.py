"""Asks archives, each question once, however many clients wait for the answer.

A question under way belongs to the desk, not to the client that asked first: clients come and
go, the answer is remembered. A question ends by itself after `patience` seconds.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Final, Protocol, Self

from archives.errors import ArchiveError, Unreachable
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.nearest import nearest
from archives.source import Source
from timegate.event_loop import FairTurns
from timegate.resolution.model import Attempt, Direction, Remembered, Rule
from timegate.resolution.ranking import in_direction
from timegate.upstream.containment import Containment

Question = tuple[str, str, Moment | None, Direction]
_PATIENCE: Final = 15.0
_SKEW: Final = 60.0
"""Seconds by which the clocks of two replicas may differ."""
_AT_A_TURN: Final = 16
"""Questions that are begun at one turn of the loop: some 2 ms of work."""
_JUST_NOW: Final = 2.0
"""Seconds, in which a question that was looked up in vain may have been answered."""


class AnswerMemory(Protocol):
    """What archives said before."""

    async def recall(
        self, archive: str, original: str, at: Moment | None
    ) -> Remembered | None: ...

    async def recall_all(
        self, archives: Sequence[str], original: str, at: Moment | None
    ) -> dict[str, Remembered]:
        """Return what is known of each, those left out of which nothing is."""
        ...

    async def remember(
        self, archive: str, original: str, at: Moment | None, outcome: Closest | None
    ) -> None: ...


class ReplicaLocks(Protocol):
    """Who asks, where several replicas have the same question at the same time."""

    async def wait(self, question: Question) -> float | None:
        """Wait while another replica asks; return for how many seconds.

        0 if nobody does, None if nobody could: then there is no answer to look for.
        """
        ...

    def done(self, question: Question) -> None:
        """Note that the question is answered, remembered, or given up."""
        ...


class NoReplicas:
    """One replica: it is always its turn."""

    async def wait(self, question: Question) -> None:
        del question

    def done(self, question: Question) -> None:
        """Do nothing: nobody waits."""


class Coalescer:
    """Where questions are handed in. Use as a context manager: it ends what is under way."""

    def __init__(  # noqa: PLR0913, PLR0917 -- whom it asks, and who wants to know
        self,
        sources: Mapping[str, Source],
        memory: AnswerMemory,
        observe: Callable[[Attempt], None] = lambda _: None,
        patience: float = _PATIENCE,
        turns: ReplicaLocks | None = None,
        containment: Containment | None = None,
    ) -> None:
        self._sources = sources
        self._memory = memory
        self._observe = observe
        self._patience = patience
        self._turns: ReplicaLocks = turns or NoReplicas()
        self._containment = containment or Containment()
        self._turnstile = FairTurns(_AT_A_TURN)
        self._under_way: dict[Question, asyncio.Task[Attempt]] = {}
        self._overdue: set[Question] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def ask(
        self,
        archive: str,
        original: str,
        at: Moment | None,
        *,
        direction: Direction = "closest",
        variant: Rule | None = None,
    ) -> "asyncio.Task[Attempt]":
        """Return the answer to come; wait for it with `asyncio.wait`, never cancel it."""
        question = (archive, original, at, direction)
        task = self._under_way.get(question)
        if task is None:
            loop = asyncio.get_running_loop()
            task = loop.create_task(self._answer(question, variant))
            self._under_way[question] = task
            # A timer of its own: `asyncio.timeout` costs several times as much.
            timer = loop.call_later(self._patience, self._give_up, question)
            task.add_done_callback(lambda _: self._done(question, timer))
        return task

    def _give_up(self, question: Question) -> None:
        self._overdue.add(question)
        self._under_way[question].cancel()

    def _done(self, question: Question, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._under_way.pop(question, None)
        self._overdue.discard(question)

    async def _answer(self, question: Question, variant: Rule | None) -> Attempt:
        try:
            return await self._asked(question, variant)
        finally:
            self._turns.done(question)

    async def _asked(self, question: Question, variant: Rule | None) -> Attempt:
        archive, original, _, _ = question
        clock = asyncio.get_running_loop().time
        began = clock()
        outcome: Closest | ArchiveError | None
        try:
            await self._turnstile.enter()
            began = clock()
            known = await self._asked_elsewhere(question)
            if known is not None:
                took = clock() - began
                return Attempt(archive, known.outcome, took, original, variant, known.age)
            with self._containment.around(archive, original):
                outcome = await self._outcome(question)
        except ArchiveError as error:
            outcome = error
        except asyncio.CancelledError:
            if question not in self._overdue:
                raise
            why = f"no answer within {self._patience:g} s"
            outcome = Unreachable(archive, original, why)
        attempt = Attempt(archive, outcome, clock() - began, original, variant)
        attempt = await self._remembered(question, attempt)
        self._observe(attempt)
        return attempt

    async def _remembered(self, question: Question, attempt: Attempt) -> Attempt:
        """Remember the answer, and return *attempt*; as failed where that raises.

        Text that an archive sends cannot always be written: a header may be no UTF-8.
        """
        archive, original, at, direction = question
        if isinstance(attempt.outcome, ArchiveError):
            return attempt
        try:
            with self._containment.around(archive, original):
                if direction == "closest":
                    await self._memory.remember(archive, original, at, attempt.outcome)
        except ArchiveError as error:
            return replace(attempt, outcome=error)
        self._containment.worked(archive)
        return attempt

    async def _asked_elsewhere(self, question: Question) -> Remembered | None:
        """Return what another replica was told meanwhile; None if we have to ask.

        Who waited in vain does not wait again: the other one has failed, or is gone.
        """
        waited = await self._turns.wait(question)
        if waited is None:
            return None
        archive, original, at, _ = question
        known = await self._memory.recall(archive, original, at)
        # An older one was there before the question: whoever asked did not want it. One that
        # came between looking and asking is what all the others have got.
        oldest = waited + _SKEW if waited else _JUST_NOW
        return known if known is not None and known.fresh and known.age <= oldest else None

    async def _outcome(self, question: Question) -> Closest | None:
        archive, original, at, direction = question
        source = self._sources[archive]
        closest = await source.closest(original, at)
        if closest is None or at is None:
            return closest
        return in_direction(closest, at, direction) or await _listed(
            source, original, at, direction
        )


async def _listed(
    source: Source, original: str, at: Moment, direction: Direction
) -> Closest | None:
    """Look in the archive's list: its own choice was on the other side."""
    best: Memento | None = None
    async with aclosing(source.mementos(original)) as batches:
        async for batch in batches:
            fitting = [
                memento
                for memento in batch
                if in_direction(Closest(memento, "timemap"), at, direction) is not None
            ]
            best = nearest(fitting if best is None else [best, *fitting], at)
    return None if best is None else Closest(best, "timemap")
