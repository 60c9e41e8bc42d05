"""What every archive has to say: for people, who want to see the others as well.

The resolver stops at a copy that cannot be bettered. So it is asked again for those of whom
nothing is known yet, until time is up. Most of them were asked the first time already and have
only not been waited for.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.ranking import ranked
from timegate.resolution.resolver import Router
from timegate.responses.answers import Answers

_PATIENCE: Final = 5.0


class ExhaustiveResolver:
    """Asks all archives, one question at a time as far as they are concerned."""

    def __init__(self, answers: Answers, route: Router, patience: float = _PATIENCE) -> None:
        self._answers = answers
        self._route = route
        self._patience = patience

    def asked(self, query: Query, preferences: Preferences) -> tuple[str, ...]:
        """Return who will be asked."""
        return self._route(query, preferences).order

    async def resolve(self, query: Query, preferences: Preferences) -> Resolution:
        """Return what every archive has to say, as far as time allows."""
        order = self.asked(query, preferences)
        now = asyncio.get_running_loop().time
        until = now() + (preferences.wait or self._patience)
        attempts: list[Attempt] = []
        left = frozenset(order)
        while left and (seconds := until - now()) > 0:
            wishes = replace(preferences, archives=left, wait=seconds)
            found = (await self._answers.resolve(query, wishes)).attempts
            if not found:
                break
            attempts += found
            left -= {attempt.archive for attempt in found}
        silent = () if preferences.only_if_cached else tuple(a for a in order if a in left)
        best, *others = _one_for_each(query, attempts, order) or [None]
        alternatives = tuple(filter(None, others))
        return Resolution(query, preferences, best, alternatives, tuple(attempts), silent)


def _one_for_each(
    query: Query, attempts: Sequence[Attempt], order: Sequence[str]
) -> list[Attempt | None]:
    copies: dict[str, Attempt] = {}
    for attempt in ranked(query, attempts, order):
        copies.setdefault(attempt.archive, attempt)
    return [*copies.values()]
