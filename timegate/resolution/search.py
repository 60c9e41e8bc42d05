"""Search: queries archives in groups until no better memento can come, or time is up.

The operator's own archives come first, so that no other archive learns the query; then the
archive that the reference names; then all others. The next group starts when the one before it
has answered without an exact memento; while that group is slow, one archive of the next group
starts at a time. The time that a question waits in our own queue for its archive (the rate
limit) does not make the archive slow. An exact memento ends the search. At the soft deadline
the best memento so far is the result, at the hard one whatever there is. Questions in progress
continue, and the `Coalescer` caches their answers; if the search is cancelled, they end too.

A search that waits for remote archives has places for it (`RequestContext.places`). Archives
for which there is no place are not queried, and count as unanswered.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import Struct, structs

from archives.errors import ArchiveError, Unreachable
from timegate.resolution.coalescing import AnswerMemory, Coalescer
from timegate.resolution.context import Places, RequestContext, busy
from timegate.resolution.model import (
    Attempt,
    CachedAnswer,
    Deadlines,
    Plan,
    Preferences,
    Query,
    Resolution,
)
from timegate.resolution.ranking import found, in_direction
from timegate.resolution.selection import MementoSelection
from timegate.resolution.url_variants import UrlVariant, VariantQuestions


def fresh(
    query: Query, preferences: Preferences, cached: Mapping[str, CachedAnswer]
) -> list[Attempt]:
    """Return the fresh ones of the cached answers that answer the query."""
    return [
        attempt_of(query, preferences, archive, answer)
        for archive, answer in cached.items()
        if answer.fresh and answers(query, preferences, answer)
    ]


def answers(query: Query, preferences: Preferences, cached: CachedAnswer) -> bool:
    """Whether a cached answer answers the query.

    Its memento may be in the wrong direction; whether the archive has one in the wanted
    direction is then unknown.
    """
    outcome = cached.outcome
    return outcome is None or in_direction(outcome, query.at, preferences.direction) is not None


def stale(
    query: Query, preferences: Preferences, cached: Mapping[str, CachedAnswer]
) -> list[Attempt]:
    """Return the mementos in stale cached answers, for use if there is nothing better."""
    return [
        attempt_of(query, preferences, archive, answer)
        for archive, answer in cached.items()
        if not answer.fresh and answer.outcome is not None
    ]


def attempt_of(
    query: Query, preferences: Preferences, archive: str, cached: CachedAnswer
) -> Attempt:
    """Return a cached answer as an attempt."""
    outcome = cached.outcome
    if outcome is not None:
        outcome = in_direction(outcome, query.at, preferences.direction)
    return Attempt(archive, outcome, 0.0, query.original, None, cached.age)


# Seconds for the named archive alone, and then between two more archives. With response times
# at a median of 300 ms (lognormal, sigma 0.8), a memento that the named archive holds costs
# 1.14 requests on average.
PATIENCE: Final = 1.3
PATIENCE_WITH_CHECK: Final = 1.9
"""Where the memento is verified as well: 2.1 requests instead of 2.4."""
STAGGER: Final = 0.1
_SHORTEST_WAIT: Final = 0.05
"""Seconds until the time in our queue is looked at again."""


def _failed(attempts: Iterable[Attempt]) -> set[str]:
    return {a.archive for a in attempts if isinstance(a.outcome, ArchiveError)}


class _Question(Struct, frozen=True):
    archive: str
    variant: UrlVariant | None
    """None for the URL itself."""
    began: float
    queued: float
    """Seconds that it had waited in our queue when this search joined it."""


class Search:
    """One search: questions in progress, answers, and what remains to be asked."""

    def __init__(  # noqa: PLR0913, PLR0917 -- the request, the archives, and cached answers
        self,
        query: Query,
        preferences: Preferences,
        plan: Plan,
        context: RequestContext,
        coalescer: Coalescer,
        memory: AnswerMemory,
        cached: Iterable[Attempt],
        selection: MementoSelection,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._query = query
        self._preferences = preferences
        self._plan = plan
        self._context = context
        self._coalescer = coalescer
        self._memory = memory
        self._selection = selection
        self._patience = PATIENCE_WITH_CHECK if selection.verifies else PATIENCE
        self._variant_questions: VariantQuestions | None = None
        self._looked_up: set[str] = set()
        """Archives whose cached answers for variants were looked up."""
        self._attempts = [selection.narrowed(attempt) for attempt in cached]
        self._ended = any(map(selection.ends_search, self._attempts))
        answered = {attempt.archive for attempt in self._attempts}
        self._groups = [
            left for group in plan.groups if (left := [a for a in group if a not in answered])
        ]
        self._current: set[str] = set()
        """Archives of the groups that were started as a whole."""
        self._pending: dict[asyncio.Task[Attempt], _Question] = {}
        self._cancelled: list[asyncio.Task[Attempt]] = []
        """Questions that were cancelled and are still among those pending."""
        self._has_news = False
        """Whether an answer came that changes what the search does next."""
        self._is_over = False
        self._holds = False
        """Whether a memento was named when the search began to wait."""
        self._woken: asyncio.Future[None] | None = None
        """Ends the wait for the next answer."""
        self._timer: asyncio.TimerHandle | None = None
        """Ends it in any case; kept from one wait to the next, since timers are costly."""
        self._timer_due = 0.0
        self._next_start = 0.0
        self._placed = False
        """Whether the search has a place for waiting for remote archives."""

    @property
    def _variants(self) -> VariantQuestions:
        """Questions for URL variants; most searches need none."""
        if self._variant_questions is None:
            self._variant_questions = VariantQuestions(self._query, self._plan.folding)
        return self._variant_questions

    async def run(self, deadlines: Deadlines, *, old: bool = False) -> None:
        """Query archives until no better memento can come, all have answered, or time is up.

        Then the best memento is verified; if it is not what the archive promised, the search
        goes on. *old*: there is a stale memento, so the search may end earlier.
        """
        try:
            await self._run(deadlines, old=old)
        except asyncio.CancelledError:
            self._coalescer.abandon(self._pending)
            raise
        finally:
            self._is_over = True
            for task in self._pending:
                task.remove_done_callback(self._note_arrival)
            if self._timer is not None:
                self._timer.cancel()
            self._give_places_back()

    async def _run(self, deadlines: Deadlines, *, old: bool) -> None:
        began = self._now()
        while True:
            await self._query_archives(began, deadlines, old=old)
            if not await self._is_refuted(began, deadlines):
                return

    async def _query_archives(self, began: float, deadlines: Deadlines, *, old: bool) -> None:
        if not self._ended:
            await self._ask_named_for_variants()
        while not self._ended:
            await self._start_more()
            if not self._pending and not await self._ask_all_for_variants():
                return
            self._holds = self._has_memento()
            give_up = began + deadlines.give_up(copy=self._holds, old=old)
            if self._now() >= give_up:
                return
            await self._wait(give_up)
            await self._ask_named_for_variants()

    async def _is_refuted(self, began: float, deadlines: Deadlines) -> bool:
        """Verify the best memento; return whether the search is to go on for a better one."""
        if self._selection.has_more_to_check(self._attempts):
            await self._take_place(self._plan.order)
        while await self._selection.check_best(self._attempts, began + deadlines.hard):
            self._ended = any(map(self._selection.ends_search, self._attempts))
            give_up = began + deadlines.give_up(copy=self._has_memento(), old=False)
            is_open = self._groups or self._pending
            if is_open and not self._ended and self._now() < give_up:
                return True
        return False

    def conclusion(self, stale: Sequence[Attempt]) -> Resolution:
        """Return the result so far; *stale* mementos count only if there are no others."""
        silent = self._silent()
        # Archives that were not needed for the result are not missing.
        needed = not (self._ended or self._preferences.only_if_cached)
        unanswered = silent if needed else []
        attempts = [*self._attempts, *self._overdue_variants()]
        selected = self._selection.select(attempts)
        if selected.best is None:
            unknown = {*unanswered, *_failed(selected.attempts)}
            usable = [self._selection.narrowed(a) for a in stale if a.archive in unknown]
            selected = self._selection.select([*attempts, *usable])
        return Resolution(
            self._query,
            self._preferences,
            selected.best,
            selected.alternatives,
            selected.attempts,
            tuple(unanswered),
            () if selected.best else self._variants.unasked(self._absent()),
            () if needed else tuple(silent),
            tuple(self._selection.checks),
        )

    def _has_memento(self) -> bool:
        return any(map(self._selection.names_memento, self._attempts))

    async def _start_more(self) -> None:
        """Start the next group; while the last one is slow, one archive of it at a time."""
        while self._groups and not self._is_waiting():
            await self._take_place(self._groups[0])
            self._current.update(self._groups[0])
            self._start(self._groups.pop(0))
            self._next_start = self._now() + self._patience
        if self._groups and self._now() - self._queued() >= self._next_start:
            await self._take_place(self._groups[0][:1])
            self._start([self._groups[0].pop(0)])
            self._groups = [group for group in self._groups if group]
            self._next_start = self._now() - self._queued() + STAGGER

    def _is_waiting(self) -> bool:
        """Whether an archive of the groups that were started as a whole has not answered."""
        return any(question.archive in self._current for question in self._pending.values())

    def _queued(self) -> float:
        """Return the seconds in which the current groups waited in our own queues.

        Where several archives are waited for, one that was sent its request is slow.
        """
        now = self._now()
        waits = (
            self._coalescer.queued(task, now) - question.queued
            for task, question in self._pending.items()
            if question.archive in self._current
        )
        return min(waits, default=0.0)

    async def _take_place(self, archives: Sequence[str]) -> None:
        """Take a place before the first question to a remote archive."""
        places = self._context.places
        if places is not None and not self._placed and any(map(places.is_remote, archives)):
            self._placed = await places.enter()

    def _may_wait_for(self, archive: str, places: Places) -> bool:
        return places.begin(archive) if self._placed else not places.is_remote(archive)

    def _waited_for(self, archive: str) -> None:
        if self._placed and self._context.places is not None:
            self._context.places.end(archive)

    def _give_places_back(self) -> None:
        places = self._context.places
        if places is not None and self._placed:
            for question in self._pending.values():
                self._waited_for(question.archive)
            places.leave()

    async def _ask_named_for_variants(self) -> None:
        """Ask the named archive for URL variants as soon as it lacks the URL itself (S-7)."""
        if self._query.archive is None:
            return
        named = [archive for archive in self._absent() if archive == self._query.archive]
        await self._recall_variants(named)
        holding = {attempt.archive for attempt, _ in found(self._attempts)}
        await self._start_variants([archive for archive in named if archive not in holding])

    async def _ask_all_for_variants(self) -> bool:
        """Ask for URL variants if no archive holds the URL itself; False if none are left."""
        if self._has_memento():
            return False
        absent = self._absent()
        await self._recall_variants(absent)
        return not self._has_memento() and await self._start_variants(absent)

    async def _start_variants(self, archives: Sequence[str]) -> bool:
        questions = self._variants.take(archives)
        await self._take_place([archive for archive, _ in questions])
        for archive, variant in questions:
            self._start([archive], variant)
        return bool(questions)

    async def _recall_variants(self, archives: Sequence[str]) -> None:
        """Use cached answers for URL variants, which cost no requests."""
        new = [archive for archive in archives if archive not in self._looked_up]
        self._looked_up.update(new)
        by_variant: dict[UrlVariant, list[str]] = {}
        for archive, variant in () if self._preferences.no_cache else self._variants.left(new):
            by_variant.setdefault(variant, []).append(archive)
        for variant, names in by_variant.items():
            cached = await self._memory.recall_all(
                names, variant.url, self._query.at, self._context.redis_time
            )
            self._variants.note((name, variant.url) for name in self._use(cached, variant))

    def _use(self, cached: Mapping[str, CachedAnswer], variant: UrlVariant) -> list[str]:
        """Take cached answers for *variant*; return the archives that gave them."""
        query = replace(self._query, original=variant.url)
        attempts = fresh(query, self._preferences, cached)
        for attempt in attempts:
            self._take(structs.replace(attempt, variant=variant.rule))
        return [attempt.archive for attempt in attempts]

    def _absent(self) -> list[str]:
        """Return the archives that do not hold the URL itself, the most promising first."""
        absent = {a.archive for a in self._attempts if a.outcome is None and a.variant is None}
        return [archive for archive in self._plan.order if archive in absent]

    def _start(self, archives: Sequence[str], variant: UrlVariant | None = None) -> None:
        url = self._query.original if variant is None else variant.url
        rule = None if variant is None else variant.rule
        now = self._now()
        places = self._context.places
        for archive in archives:
            if places is not None and not self._may_wait_for(archive, places):
                self._take(Attempt(archive, busy(archive, url), 0.0, url, rule))
                continue
            task = self._coalescer.ask(
                archive,
                url,
                self._query.at,
                self._context,
                direction=self._preferences.direction,
                variant=rule,
                at_replay_address=self._selection.verifies and archive == self._query.archive,
            )
            if task not in self._pending:
                task.add_done_callback(self._note_arrival)
            queued = self._coalescer.queued(task, now)
            self._pending[task] = _Question(archive, variant, now, queued)

    async def _wait(self, give_up: float) -> None:
        now, until = self._now(), give_up
        if self._groups:
            # A question that is still in our queue moves this on, so it is looked at again.
            start = max(self._next_start + self._queued(), now + _SHORTEST_WAIT)
            until = min(give_up, start)
        if not self._has_news:
            await self._next_news(until)
        self._has_news = False
        for task in self._cancelled:
            task.result()

    async def _next_news(self, until: float) -> None:
        """Wait for an answer that changes what to do: most answers of ten archives do not."""
        if self._timer is None or self._timer_due != until:
            self._set_timer(until)
        self._woken = self._loop.create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_due = self._loop.call_at(when, self._time_out), when

    def _time_out(self) -> None:
        # It may come a little early: then the next wait sets it again.
        self._timer = None
        self._wake()

    def _note_arrival(self, task: asyncio.Task[Attempt]) -> None:
        """Take an answer as soon as it is there."""
        if self._is_over:
            return
        if task.cancelled():
            # The search ends in the same way.
            self._cancelled.append(task)
            self._has_news = True
        else:
            attempt = self._take_answer(task)
            self._has_news = self._has_news or self._is_news(attempt)
        if self._has_news:
            self._wake()

    def _take_answer(self, task: asyncio.Task[Attempt]) -> Attempt:
        question = self._pending.pop(task)
        self._waited_for(question.archive)
        rule = None if question.variant is None else question.variant.rule
        attempt = task.result()
        # The question may have been started by a search in which the URL is a variant.
        if attempt.variant != rule:
            attempt = structs.replace(attempt, variant=rule)
        return self._take(attempt)

    def _is_news(self, attempt: Attempt) -> bool:
        """Whether there is anything to do but to wait for the other archives."""
        return (
            self._ended
            or not self._pending
            or bool(self._groups)
            or self._query.archive is not None
            or self._selection.verifies
            or (not self._holds and self._selection.names_memento(attempt))
        )

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _take(self, attempt: Attempt) -> Attempt:
        attempt = self._selection.narrowed(attempt)
        self._attempts.append(attempt)
        self._ended = self._ended or self._selection.ends_search(attempt)
        return attempt

    def _silent(self) -> list[str]:
        """Return the archives that have not answered for the URL itself, or were not asked."""
        pending = [q.archive for q in self._pending.values() if q.variant is None]
        return [*pending, *(archive for group in self._groups for archive in group)]

    def _overdue_variants(self) -> Iterator[Attempt]:
        """Yield the questions for URL variants without an answer, as failed attempts."""
        for question in () if self._ended else self._pending.values():
            variant = question.variant
            if variant is not None:
                error = Unreachable(question.archive, variant.url, "no answer in time")
                waited = self._now() - question.began
                yield Attempt(question.archive, error, waited, variant.url, variant.rule)

    def _now(self) -> float:
        return self._loop.time()
