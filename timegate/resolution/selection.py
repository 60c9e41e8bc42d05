"""Selection: chooses the memento of a resolution, and verifies that its archive delivers it.

An archive names several mementos: the one it chose, and those that it links or lists. The best
of all is requested. If it turns out to be gone, gated, or of another time or page, it is ranked
as what it is, and the next best one is requested (X-6, S-5, S-6).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from archives.errors import ArchiveError, Misbehaved, Queued, Resting, Unreachable
from archives.model import Closest, Memento
from timegate.resolution.context import QueueTime, RequestContext, waiting_for
from timegate.resolution.model import Attempt, MementoCheck, Preferences, Query
from timegate.resolution.ranking import (
    ProvenDigits,
    Wanted,
    best_per_archive,
    ends_search,
    identical_first,
    is_no_page,
    nearest_candidates,
    nearest_named,
    on_day_first,
    ranked,
)
from timegate.resolution.verification import Verifier

_MOST_CHECKS: Final = 8
"""Mementos that are requested for one resolution."""
_MOST_FOR_PAGE: Final = 3
"""Of these, further ones after an archived error, in search of a page (S-5)."""
_PATIENCE: Final = 3.0
"""Seconds for one memento; then the next best one is requested. The time in our own queue for
the archive does not count."""
_SHORTEST_WAIT: Final = 0.05
"""Seconds until the time in our queue is looked at again."""

AddressOf = Callable[[Query, Memento], str]
"""Returns the address at which a memento is requested to verify it."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen memento, the best one of each other archive, and all attempts."""

    best: Attempt | None
    alternatives: tuple[Attempt, ...]
    attempts: tuple[Attempt, ...]


class MementoSelection:
    """The selection of one resolution, from attempts that it has `narrowed`."""

    def __init__(  # noqa: PLR0913 -- the request, and the archives
        self,
        query: Query,
        preferences: Preferences,
        order: Sequence[str],
        context: RequestContext,
        *,
        verifier: Verifier | None = None,
        address_of: AddressOf | None = None,
        proven: ProvenDigits | None = None,
    ) -> None:
        """Without *verifier* the nearest memento is taken as promised."""
        self.checks: list[MementoCheck] = []
        self._query = query
        self._preferences = preferences
        self._order = order
        self._context = context
        self._verifier = verifier
        self._address_of = address_of
        self._proven = proven
        self._wanted = Wanted.of(preferences)
        self._outcomes: dict[tuple[str, str], Closest | ArchiveError | None] = {}
        self._silent: dict[str, ArchiveError] = {}
        """Archives that did not answer a request for a memento: no other is requested."""
        self._checks_for_page = 0

    @property
    def verifies(self) -> bool:
        """Whether mementos are requested."""
        return self._verifier is not None

    def narrowed(self, attempt: Attempt) -> Attempt:
        """Return *attempt* with the nearest memento that it names, where none is verified."""
        closest = attempt.outcome
        if self._verifier is not None or not isinstance(closest, Closest):
            return attempt
        direction = self._preferences.direction
        if closest.evidence == "delivered":
            closest = self._as_addressed(closest)
        nearest = nearest_named(closest, self._query.at, direction)
        return (
            attempt if nearest is attempt.outcome else structs.replace(attempt, outcome=nearest)
        )

    def ends_search(self, attempt: Attempt) -> bool:
        """Whether no better memento can come than one that *attempt* names."""
        if self._verifier is None:
            return ends_search(self._query, attempt)
        return any(ends_search(self._query, each) for each in self._candidates(attempt))

    def names_memento(self, attempt: Attempt) -> bool:
        """Whether *attempt* names a memento that can be had, as far as known."""
        return any(not each.unchecked for each in self._candidates(attempt))

    def has_more_to_check(self, attempts: Iterable[Attempt]) -> bool:
        """Whether `check_best` has a memento to request."""
        return self._verifier is not None and self._next_to_check(attempts) is not None

    async def check_best(self, attempts: Iterable[Attempt], until: float) -> bool:
        """Request the best memento if it is only promised; False if nothing is to be checked.

        *until* is the time of the event loop at which the resolution ends.
        """
        verifier, now = self._verifier, asyncio.get_running_loop().time()
        if verifier is None or now >= until or len(self.checks) >= _MOST_CHECKS:
            return False
        memento = self._next_to_check(attempts)
        if memento is None:
            return False
        seeks_page = any(self._is_error(each) for each in self._ranked(attempts))
        address = self._address(memento)
        known = None
        if not self._preferences.no_cache:
            known = await verifier.recall(memento, address, self._context)
        self._note(known or await self._waited_for(verifier, memento, address, until))
        self._checks_for_page += seeks_page
        if self._checks_for_page >= _MOST_FOR_PAGE:
            # No page was found nearby, so the nearest memento is the answer.
            self._wanted = self._wanted._replace(pages=False)
        return True

    async def _waited_for(
        self, verifier: Verifier, memento: Memento, address: str, until: float
    ) -> MementoCheck:
        """Request *memento*, or join the request for it, in a place of this resolution."""
        queue_time = QueueTime()
        context = structs.replace(self._context, queue_time=queue_time)
        try:
            async with waiting_for(memento.archive, address, context.places):
                task = verifier.check(memento, address, context, cached=False)
                is_done = await _done_in_time(task, queue_time, until)
        except Queued as error:
            return MementoCheck(memento.archive, address, error)
        return task.result() if is_done else _overdue(memento, address)

    def select(self, attempts: Sequence[Attempt]) -> Selected:
        """Return the best memento of all *attempts*, as far as they were checked."""
        mementos = self._ranked(attempts)
        best = mementos[0] if mementos else None
        others = [
            each
            for each in mementos[1:]
            if best is None or each.archive != best.archive or self._replaces(each, best)
        ]
        alternatives = best_per_archive(others)
        shown = attempts if self._verifier is None else map(self._shown, attempts)
        return Selected(best, tuple(alternatives), tuple(shown))

    def _ranked(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        # Without verification, each names one; `ranked` leaves out those that name none.
        candidates = [*attempts]
        if self._verifier is not None:
            candidates = [each for one in candidates for each in self._candidates(one)]
        in_order = ranked(self._query, candidates, self._order, self._wanted)
        if self._preferences.direction == "closest":
            in_order = identical_first(self._query, in_order, self._proven)
        return on_day_first(self._query, self._preferences, in_order)

    def _candidates(self, attempt: Attempt) -> list[Attempt]:
        """Return one attempt for each memento that *attempt* names, as far as it exists."""
        if not isinstance(attempt.outcome, Closest):
            return []
        if self._verifier is None:
            return [attempt]
        closest = self._as_addressed(attempt.outcome)
        query, direction = self._query, self._preferences.direction
        candidates: dict[str, Attempt | None] = {}
        statements = [closest]
        while statements:
            for each in nearest_candidates(statements.pop(), query.at, direction):
                uri = each.memento.uri
                if uri in candidates:
                    continue
                checked = candidates[uri] = self._checked(attempt, each)
                if checked is not None and checked.outcome is not each:
                    statements += self._statement(checked)
        return [attempt for attempt in candidates.values() if attempt is not None]

    def _as_addressed(self, closest: Closest) -> Closest:
        """Return *closest*; only promised if another view answered than the one to verify."""
        if closest.evidence != "delivered" or not closest.hops:
            return closest
        if closest.hops[-1].url == self._address(closest.memento):
            return closest
        return structs.replace(closest, evidence="promised", hops=())

    @staticmethod
    def _statement(checked: Attempt) -> Iterator[Closest]:
        """Yield what a memento that was delivered states: it may link nearer ones."""
        if isinstance(checked.outcome, Closest) and not checked.unchecked:
            yield checked.outcome

    def _checked(self, attempt: Attempt, closest: Closest) -> Attempt | None:
        """Return *attempt* with *closest* as it turned out to be; None if it is gone."""
        key = (attempt.archive, self._address(closest.memento))
        silent = self._silent.get(attempt.archive)
        if closest.evidence != "promised" or (key not in self._outcomes and silent is None):
            return (
                attempt
                if closest is attempt.outcome
                else structs.replace(attempt, outcome=closest)
            )
        outcome = self._outcomes.get(key, silent)
        if outcome is None:
            return None
        if isinstance(outcome, ArchiveError):
            return structs.replace(attempt, outcome=closest, unchecked=outcome.why)
        is_same = outcome.memento.stamp[:14] == closest.memento.stamp[:14]
        # An index states more about a capture than a link to it.
        neighbours = {**outcome.neighbours, **(closest.neighbours if is_same else {})}
        outcome = structs.replace(outcome, via=closest.via, neighbours=neighbours)
        return structs.replace(attempt, outcome=outcome)

    def _next_to_check(self, attempts: Iterable[Attempt]) -> Memento | None:
        """Return the best memento if it is only promised; else one that may be a page.

        If the best one is an archived error, a page nearby is offered as an alternative.
        """
        mementos = self._ranked(attempts)
        if not mementos:
            return None
        best, *others = mementos
        if self._is_open(best):
            return _memento(best)
        if not self._is_error(best) or any(self._is_verified_page(each) for each in others):
            return None
        if not self._wanted.pages or self._checks_for_page >= _MOST_FOR_PAGE:
            return None
        return next((_memento(each) for each in others if self._is_open(each)), None)

    def _note(self, check: MementoCheck) -> None:
        self.checks.append(check)
        self._outcomes[check.archive, check.uri] = check.outcome
        if isinstance(check.outcome, Unreachable | Resting):
            self._silent[check.archive] = check.outcome

    def _is_open(self, attempt: Attempt) -> bool:
        """Whether the memento is only promised, and can be requested."""
        closest, verifier = attempt.outcome, self._verifier
        return (
            isinstance(closest, Closest)
            and closest.evidence == "promised"
            and not attempt.unchecked
            and verifier is not None
            and verifier.can_check(attempt.archive)
        )

    def _is_error(self, attempt: Attempt) -> bool:
        return self._is_archived_error(attempt.outcome)

    def _is_archived_error(self, outcome: Closest | ArchiveError | None) -> bool:
        return isinstance(outcome, Closest) and is_no_page(self._query, outcome.memento)

    def _is_verified_page(self, attempt: Attempt) -> bool:
        closest = attempt.outcome
        return (
            isinstance(closest, Closest)
            and closest.evidence != "promised"
            and not is_no_page(self._query, closest.memento)
        )

    def _replaces(self, attempt: Attempt, best: Attempt) -> bool:
        """Whether *attempt* is a page where *best* is an error."""
        return self._is_error(best) and self._is_verified_page(attempt)

    def _shown(self, attempt: Attempt) -> Attempt:
        """Return *attempt* with its best memento; as failed if none of them exists."""
        closest = attempt.outcome
        if not isinstance(closest, Closest):
            return attempt
        candidates = self._candidates(attempt)
        if len(candidates) == 1:
            return candidates[0]
        mementos = ranked(self._query, candidates, self._order, self._wanted)
        if mementos:
            return mementos[0]
        why = "names a memento that does not exist"
        return structs.replace(
            attempt, outcome=Misbehaved(attempt.archive, closest.memento.uri, why)
        )

    def _address(self, memento: Memento) -> str:
        if self._address_of is None:
            return memento.uri
        return self._address_of(self._query, memento)


async def _done_in_time(
    task: "asyncio.Task[MementoCheck]", queue_time: QueueTime, until: float
) -> bool:
    """Wait for a request, whose time in our own queue does not count; False if it is late."""
    clock = asyncio.get_running_loop().time
    ends = clock() + _PATIENCE
    while not task.done():
        now = clock()
        overdue = ends + queue_time.total(now)
        if now >= min(overdue, until):
            return False
        timeout = min(max(overdue - now, _SHORTEST_WAIT), until - now)
        await asyncio.wait([task], timeout=timeout)
    return True


def _memento(attempt: Attempt) -> Memento | None:
    return attempt.outcome.memento if isinstance(attempt.outcome, Closest) else None


def _overdue(memento: Memento, address: str) -> MementoCheck:
    why = "did not deliver the memento in time"
    return MementoCheck(memento.archive, address, Unreachable(memento.archive, address, why))


class Selections:
    """Makes the selection of each resolution."""

    def __init__(
        self,
        verifier: Verifier | None = None,
        address_of: AddressOf | None = None,
        proven: ProvenDigits | None = None,
    ) -> None:
        self._verifier = verifier
        self._address_of = address_of
        self._proven = proven

    def of(
        self,
        query: Query,
        preferences: Preferences,
        order: Sequence[str],
        context: RequestContext,
    ) -> MementoSelection:
        """Return the selection for *query*, which verifies if the preferences ask for that."""
        return MementoSelection(
            query,
            preferences,
            order,
            context,
            verifier=self._verifier if _verifies(query, preferences) else None,
            address_of=self._address_of,
            proven=self._proven,
        )


def _verifies(query: Query, preferences: Preferences) -> bool:
    """Whether the memento itself is to be requested: by default for identifiers."""
    if preferences.only_if_cached:
        return False
    if preferences.verify is None:
        return query.identifier is not None
    return preferences.verify != "none"
