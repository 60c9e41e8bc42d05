"""One search: archives are asked in groups until nothing better can come, or time is up.

Our own come first, so that nobody else learns what we look for, then the one that the reference
names, then all others. A group follows when the one before it has answered without an exact
copy, or one archive at a time when it is slower than usual. An exact copy ends the search. At
the soft deadline the best so far is the answer, at the hard one whatever there is. What is
still under way goes on and is remembered by the `Coalescer`.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from archives.errors import Unreachable
from archives.model import Closest
from timegate.resolution.coalescing import AnswerMemory, Coalescer
from timegate.resolution.context import RequestContext
from timegate.resolution.model import (
    Attempt,
    Deadlines,
    Plan,
    Preferences,
    Query,
    Remembered,
    Resolution,
)
from timegate.resolution.ranking import ends_search, found, in_direction, ranked
from timegate.resolution.url_variants import Spelling, Spellings


def fresh(
    query: Query, preferences: Preferences, remembered: Mapping[str, Remembered]
) -> list[Attempt]:
    """Return what was said lately and answers the question."""
    return [
        attempt_of(query, preferences, archive, known)
        for archive, known in remembered.items()
        if known.fresh and tells(query, preferences, known)
    ]


def tells(query: Query, preferences: Preferences, known: Remembered) -> bool:
    """Whether *known* answers the question.

    The closest copy may lie on the side that is not wanted. Whether there is one on the other
    side the archive was not asked.
    """
    outcome = known.outcome
    return outcome is None or in_direction(outcome, query.at, preferences.direction) is not None


def stale(
    query: Query, preferences: Preferences, remembered: Mapping[str, Remembered]
) -> list[Attempt]:
    """Return the copies that were told of once, for when nothing better is to be had."""
    return [
        attempt_of(query, preferences, a, r)
        for a, r in remembered.items()
        if not r.fresh and r.outcome is not None
    ]


def attempt_of(
    query: Query, preferences: Preferences, archive: str, known: Remembered
) -> Attempt:
    """Return *known* as if *archive* had just said it, with its age."""
    outcome = known.outcome
    if outcome is not None:
        outcome = in_direction(outcome, query.at, preferences.direction)
    return Attempt(archive, outcome, 0.0, query.original, None, known.age)


# The named archive alone for so long, then one more at a time: with answers at a median of
# 300 ms (lognormal, sigma 0.8) that is 1.14 requests on average where it holds the copy.
PATIENCE: Final = 1.3
STAGGER: Final = 0.1


class _Question(NamedTuple):
    archive: str
    spelling: Spelling | None
    """None for the URL itself."""
    began: float


class Search:
    """One search: who was asked, who answered, what is the best so far."""

    def __init__(  # noqa: PLR0913, PLR0917 -- the question, the archives, and what is known
        self,
        query: Query,
        preferences: Preferences,
        plan: Plan,
        context: RequestContext,
        coalescer: Coalescer,
        memory: AnswerMemory,
        known: Iterable[Attempt],
    ) -> None:
        self._query = query
        self._preferences = preferences
        self._plan = plan
        self._context = context
        self._coalescer = coalescer
        self._memory = memory
        self._asked_spellings: Spellings | None = None
        self._looked_up: set[str] = set()
        self._attempts: list[Attempt] = list(known)
        self._ended = any(ends_search(query, attempt) for attempt in self._attempts)
        answered = {attempt.archive for attempt in self._attempts}
        self._groups = [
            left for group in plan.groups if (left := [a for a in group if a not in answered])
        ]
        self._current: set[str] = set()
        self._pending: dict[asyncio.Task[Attempt], _Question] = {}
        self._next_start = 0.0

    @property
    def _spellings(self) -> Spellings:
        """Other spellings of the URL; most searches need none."""
        if self._asked_spellings is None:
            self._asked_spellings = Spellings(self._query, self._plan.folding)
        return self._asked_spellings

    async def run(self, deadlines: Deadlines, *, old: bool = False) -> None:
        """Ask until nothing better can come, everyone has answered, or time is up.

        *old* says that there is an answer for when nobody has a better one.
        """
        if self._ended:
            return
        began = self._now()
        await self._ask_named_for_spellings()
        while not self._ended:
            self._start_more()
            if not self._pending and not await self._ask_all_for_spellings():
                return
            give_up = began + deadlines.give_up(copy=self._has_copy(), old=old)
            if self._now() >= give_up:
                return
            await self._wait(give_up)
            await self._ask_named_for_spellings()

    def conclusion(self, stale: Sequence[Attempt]) -> Resolution:
        """Return what there is now; *stale* answers only where there is nothing better."""
        silent = self._silent()
        # Where nobody else was needed, those who are silent are not missing.
        needed = not (self._ended or self._preferences.only_if_cached)
        unanswered = silent if needed else []
        attempts = [*self._attempts, *self._overdue_spellings()]
        if not found(attempts):
            lacking = {*unanswered, *self._failed()}
            attempts += [attempt for attempt in stale if attempt.archive in lacking]
        copies = _one_for_each(ranked(self._query, attempts, self._plan.order))
        return Resolution(
            self._query,
            self._preferences,
            copies[0] if copies else None,
            tuple(copies[1:]),
            tuple(attempts),
            tuple(unanswered),
            () if copies else self._spellings.unasked(self._absent()),
            () if needed else tuple(silent),
        )

    def _has_copy(self) -> bool:
        return bool(found(self._attempts))

    def _start_more(self) -> None:
        """Start the next group if this one has answered, or one of it if this one is slow."""
        if not self._groups:
            return
        if not any(asked.archive in self._current for asked in self._pending.values()):
            self._current.update(self._groups[0])
            self._start(self._groups.pop(0))
            self._next_start = self._now() + PATIENCE
        elif self._now() >= self._next_start:
            self._start([self._groups[0].pop(0)])
            self._groups = [group for group in self._groups if group]
            self._next_start = self._now() + STAGGER

    async def _ask_named_for_spellings(self) -> None:
        """Ask the named archive for other spellings as soon as it has said no (S-7)."""
        if self._query.archive is None:
            return
        named = [archive for archive in self._absent() if archive == self._query.archive]
        await self._recall_spellings(named)
        copies = {attempt.archive for attempt, _ in found(self._attempts)}
        self._start_spellings([archive for archive in named if archive not in copies])

    async def _ask_all_for_spellings(self) -> bool:
        """Ask for other spellings once the URL itself is nowhere; False if none is left."""
        if self._has_copy():
            return False
        absent = self._absent()
        await self._recall_spellings(absent)
        return not self._has_copy() and self._start_spellings(absent)

    def _start_spellings(self, archives: Sequence[str]) -> bool:
        taken = self._spellings.take(archives)
        for archive, spelling in taken:
            self._start([archive], spelling)
        return bool(taken)

    async def _recall_spellings(self, archives: Sequence[str]) -> None:
        """Take what is known of other spellings: that costs nobody a request."""
        new = [archive for archive in archives if archive not in self._looked_up]
        self._looked_up.update(new)
        by_spelling: dict[Spelling, list[str]] = {}
        for archive, spelling in (
            () if self._preferences.no_cache else self._spellings.left(new)
        ):
            by_spelling.setdefault(spelling, []).append(archive)
        for spelling, those in by_spelling.items():
            known = await self._memory.recall_all(
                those, spelling.url, self._query.at, self._context.redis_time
            )
            heard = [(archive, spelling.url) for archive in self._taken(known, spelling)]
            self._spellings.heard(heard)

    def _taken(self, known: Mapping[str, Remembered], spelling: Spelling) -> Iterator[str]:
        """Take what is remembered of *spelling*; yield who had said it."""
        query = replace(self._query, original=spelling.url)
        told = {
            a: r for a, r in known.items() if r.fresh and tells(query, self._preferences, r)
        }
        for archive, remembered in told.items():
            attempt = attempt_of(query, self._preferences, archive, remembered)
            self._take(replace(attempt, variant=spelling.rule))
            yield archive

    def _absent(self) -> list[str]:
        """Return who has said no to the URL itself, the most promising first."""
        said_no = {a.archive for a in self._attempts if a.outcome is None and a.variant is None}
        return [archive for archive in self._plan.order if archive in said_no]

    def _start(self, archives: Sequence[str], spelling: Spelling | None = None) -> None:
        for archive in archives:
            task = self._coalescer.ask(
                archive,
                self._query.original if spelling is None else spelling.url,
                self._query.at,
                self._context,
                direction=self._preferences.direction,
                variant=None if spelling is None else spelling.rule,
            )
            self._pending[task] = _Question(archive, spelling, self._now())

    async def _wait(self, give_up: float) -> None:
        until = min(give_up, self._next_start) if self._groups else give_up
        patience = max(until - self._now(), 0.0)
        done, _ = await asyncio.wait(
            self._pending, timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            spelling = self._pending.pop(task).spelling
            rule = None if spelling is None else spelling.rule
            attempt = task.result()
            # Whoever asked first may have meant another URL, of which this one is a variant.
            self._take(attempt if attempt.variant == rule else replace(attempt, variant=rule))

    def _take(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)
        self._ended = self._ended or ends_search(self._query, attempt)

    def _silent(self) -> list[str]:
        """Return who has not answered, or was not even asked."""
        pending = [asked.archive for asked in self._pending.values() if asked.spelling is None]
        return [*pending, *(archive for group in self._groups for archive in group)]

    def _overdue_spellings(self) -> Iterator[Attempt]:
        """Yield who was asked for another spelling and has not said: that is unknown too."""
        for archive, spelling, began in () if self._ended else self._pending.values():
            if spelling is not None:
                silence = Unreachable(archive, spelling.url, "no answer in time")
                waited = self._now() - began
                yield Attempt(archive, silence, waited, spelling.url, spelling.rule)

    def _failed(self) -> set[str]:
        return {
            a.archive
            for a in self._attempts
            if a.outcome is not None and not isinstance(a.outcome, Closest)
        }

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def _one_for_each(copies: Sequence[Attempt]) -> list[Attempt]:
    """Return the best copy of each archive, in the order of *copies*."""
    best: dict[str, Attempt] = {}
    for attempt in copies:
        best.setdefault(attempt.archive, attempt)
    return list(best.values())
