"""The heart: a reference comes in, the best copy that any archive holds goes out, in time.

What is remembered may answer at once; otherwise a `Search` asks archives, in the order of a
plan. No I/O in here: archives are behind the desk, time is the event loop's.
"""

from timegate.resolution.budget import Budget, spending
from timegate.resolution.coalescing import AnswerMemory, Coalescer
from timegate.resolution.model import (
    Deadlines,
    Plan,
    Preferences,
    Query,
    Remembered,
    Resolution,
    Router,
)
from timegate.resolution.ranking import found
from timegate.resolution.search import Search, fresh, stale

__all__ = ["Deadlines", "Plan", "Resolver", "Router"]


class Resolver:
    """Answers queries from as many archives as it takes."""

    def __init__(
        self,
        desk: Coalescer,
        memory: AnswerMemory,
        route: Router,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._desk = desk
        self._memory = memory
        self._route = route
        self._deadlines = deadlines or Deadlines()

    async def resolve(self, query: Query, preferences: Preferences | None = None) -> Resolution:
        """Return the best answer in time. Never raises for what archives do."""
        wishes = preferences or Preferences()
        plan = self._narrowed(self._route(query, wishes), query, wishes)
        remembered = {} if wishes.no_cache else await self._recalled(query, plan)
        known = fresh(query, wishes, remembered)
        search = Search(query, wishes, plan, self._desk, self._memory, known)
        old = stale(query, wishes, remembered)
        if not wishes.only_if_cached:
            with spending(Budget()):
                await search.run(self._timed(wishes), old=bool(found(old)))
        return search.conclusion(old)

    def _narrowed(self, plan: Plan, query: Query, preferences: Preferences) -> Plan:
        """Leave out the others where only the named archive will do (S-8)."""
        if preferences.precision not in ("exact", "archive") or query.archive_id is None:
            return plan
        # One that nobody knows cannot be asked, and nobody else will do.
        named = ((query.archive,),) if query.archive in plan.order else ()
        return Plan(named, plan.folding)

    async def _recalled(self, query: Query, plan: Plan) -> dict[str, Remembered]:
        known = await self._memory.recall_all(plan.order, query.original, query.at)
        # In the order of the plan, which decides between equals.
        return {archive: known[archive] for archive in plan.order if archive in known}

    def _timed(self, preferences: Preferences) -> Deadlines:
        if preferences.wait is None:
            return self._deadlines
        # Who says how long it may take wants what is known by then, not what was quick.
        return Deadlines(preferences.wait, preferences.wait)
