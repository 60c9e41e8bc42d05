"""Exhaustive resolution: the answers of all archives, for pages that list every copy.

The resolver stops at a memento that cannot be improved on. So the query is resolved again for
the archives without an answer, until the time is up. Most of them were queried the first time
already, but the resolver did not wait for their answers.
"""

import asyncio
from dataclasses import replace
from typing import Final

from timegate.resolution.context import RequestContext
from timegate.resolution.model import (
    AsksOriginals,
    Attempt,
    LooksAtCopies,
    Preferences,
    Query,
    Resolution,
    Resolves,
    Router,
    live_resolution,
)
from timegate.resolution.selection import Selections

PATIENCE: Final = 5.0
"""Seconds to wait for the archives, if a person does not say."""
LOOKING: Final = 10.0
"""Seconds more for looking at the content of copies."""
_CHECK_TIME: Final = 2.0
"""Seconds for requesting the best memento, if no more are left."""


def patient(preferences: Preferences) -> Preferences:
    """Return *preferences* with the time that pages wait, if the client states none.

    What is linked on a page is of the copy shown there, also if its archive is slow.
    """
    return preferences if preferences.wait else replace(preferences, wait=PATIENCE)


class ExhaustiveResolver:
    """Queries all archives of the plan."""

    def __init__(  # noqa: PLR0913, PLR0917 -- its parts
        self,
        resolver: Resolves,
        route: Router,
        patience: float = PATIENCE,
        selections: Selections | None = None,
        originals: AsksOriginals | None = None,
        contents: LooksAtCopies | None = None,
    ) -> None:
        self._resolver = resolver
        self._route = route
        self._patience = patience
        self._selections = selections or Selections()
        self._originals = originals
        self._contents = contents

    def archives(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> tuple[str, ...]:
        """Return the archives that will be queried."""
        return self._route(query, preferences, context).order

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the answers of all archives, as far as time allows.

        For an empty date, the original is the answer where it answers.
        """
        if self._originals is None or not (preferences.live and query.is_undated):
            return await self._resolved(query, preferences, context)
        live = await self._originals(query, preferences, context)
        found = live_resolution(query, preferences, live)
        if found is None:
            found = replace(await self._resolved(query, preferences, context), live=live)
        return found

    async def looked_at(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the same with a comparison of the copy that is found, if it is asked for."""
        found = await self.resolve(query, preferences, context)
        if self._contents is None or preferences.verify != "content":
            return found
        # Again, the same copy needs as much time to be found, beside that to look at it.
        wait = (preferences.wait or self._patience) + LOOKING
        found = replace(found, preferences=replace(found.preferences, wait=wait))
        return await self._contents.of(found, context)

    async def _resolved(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        plan = self._route(query, preferences, context)
        order = plan.order
        now = asyncio.get_running_loop().time
        wait = preferences.wait or self._patience
        # The result states how long was waited, so that the same query gets the same answer.
        preferences = replace(preferences, wait=wait)
        until = now() + wait
        attempts: list[Attempt] = []
        left = frozenset(order)
        while left and (seconds := until - now()) > 0:
            remaining = replace(
                preferences, archives=left, wait=seconds, verify="none", live=False
            )
            found = await self._resolver.resolve(query, remaining, context)
            if not found.attempts:
                # Without any: the archives that are left are not acceptable (S-8).
                left = left if found.unanswered else frozenset()
                break
            attempts += found.attempts
            left -= {attempt.archive for attempt in found.attempts}
        unanswered = () if preferences.only_if_cached else tuple(a for a in order if a in left)
        selection = self._selections.of(query, preferences, order, context)
        checks_until = max(until, now() + _CHECK_TIME)
        while await selection.check_best(attempts, checks_until):
            pass
        selected = selection.select(attempts)
        return Resolution(
            query,
            preferences,
            selected.best,
            selected.alternatives,
            selected.attempts,
            unanswered,
            checks=tuple(selection.checks),
            named_skip=plan.named_skip,
            refused=plan.refused,
            outside=plan.outside,
        )
