"""Exhaustive resolution: the answers of all archives, for pages that list every copy.

The resolver stops at a memento that cannot be improved on. So the query is resolved again for
the archives without an answer, until the time is up. Most of them were queried the first time
already, and their answers were only not waited for.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from timegate.resolution.context import RequestContext
from timegate.resolution.model import (
    Attempt,
    Preferences,
    Query,
    Resolution,
    Resolves,
    Router,
)
from timegate.resolution.ranking import ranked

_PATIENCE: Final = 5.0


class ExhaustiveResolver:
    """Queries all archives of the plan."""

    def __init__(self, resolver: Resolves, route: Router, patience: float = _PATIENCE) -> None:
        self._resolver = resolver
        self._route = route
        self._patience = patience

    def archives(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> tuple[str, ...]:
        """Return the archives that will be queried."""
        return self._route(query, preferences, context).order

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the answers of all archives, as far as time allows."""
        order = self.archives(query, preferences, context)
        now = asyncio.get_running_loop().time
        until = now() + (preferences.wait or self._patience)
        attempts: list[Attempt] = []
        left = frozenset(order)
        while left and (seconds := until - now()) > 0:
            wishes = replace(preferences, archives=left, wait=seconds)
            found = (await self._resolver.resolve(query, wishes, context)).attempts
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
