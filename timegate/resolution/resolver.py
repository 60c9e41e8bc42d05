"""Resolver: from a query to the best memento that any archive holds, within the deadlines.

The cache may answer at once; otherwise a `Search` queries archives in the order of a plan. No
I/O here: archives are behind the `Coalescer`, and time is that of the event loop.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from msgspec import structs

from archives.model import Closest
from timegate.resolution.coalescing import AnswerMemory, Coalescer
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import (
    AsksOriginals,
    CachedAnswer,
    Deadlines,
    LooksAtCopies,
    Plan,
    Preferences,
    Query,
    Resolution,
    Resolves,
    Router,
    live_resolution,
)
from timegate.resolution.ranking import ends_search, found
from timegate.resolution.search import Search, fresh, stale
from timegate.resolution.selection import Selections
from timegate.resolution.settled import PageMemory, may_be_settled, settle

_CHECK_TIME: Final = 1.0
"""Seconds of the time that a client waits, for requesting the best memento."""


class Resolver:
    """Resolves queries, querying as few archives as the answer needs."""

    def __init__(  # noqa: PLR0913 -- its parts
        self,
        coalescer: Coalescer,
        memory: AnswerMemory,
        route: Router,
        deadlines: Deadlines | None = None,
        *,
        public: frozenset[str] = frozenset(),
        observe: Callable[[Resolution], None] = lambda _: None,
        selections: Selections | None = None,
    ) -> None:
        """Charge questions to the archives in *public* to the quota of the client."""
        self._coalescer = coalescer
        self._memory = memory
        self._pages = memory if isinstance(memory, PageMemory) else None
        self._route = route
        self._deadlines = deadlines or Deadlines()
        self._public = public
        self._observe = observe
        self._selections = selections or Selections()
        self.equivalents: Resolves | None = None
        """Resolves queries whose preferences have equivalent URLs."""
        self.whole_pages: Resolves | None = None
        """Resolves queries for pages with their parts."""
        self.contents: LooksAtCopies | None = None
        """Resolves queries whose copies are to be looked at."""
        self.quotes: Resolves | None = None
        """Resolves queries with a quotation."""
        self.originals: AsksOriginals | None = None
        """Requests originals for queries with an empty date; None if the operator does not
        allow it."""

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the best memento that is found in time. Failures of archives never raise.

        For an empty date, it is the original itself where that answers.
        """
        if self.originals is None or not (preferences.live and query.is_undated):
            return await self._resolved(query, preferences, context)
        live = await self.originals(query, preferences, context)
        found = live_resolution(query, preferences, live)
        if found is None:
            found = replace(await self._resolved(query, preferences, context), live=live)
        return found

    async def _resolved(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        if self.quotes is not None and _is_quoted(query, preferences):
            return await self.quotes.resolve(query, preferences, context)
        if preferences.verify == "page" and self.whole_pages is not None:
            return await self.whole_pages.resolve(query, preferences, context)
        if preferences.verify == "content" and self.contents is not None:
            return await self.contents.resolve(query, preferences, context)
        if preferences.also and self.equivalents is not None:
            return await self.equivalents.resolve(query, preferences, context)
        plan = self._route(query, preferences, context)
        resolution = await self._within_quota(query, preferences, plan, context)
        if plan.named_skip is not None or plan.refused or plan.outside:
            resolution = replace(
                resolution,
                named_skip=plan.named_skip,
                refused=plan.refused,
                outside=plan.outside,
            )
        self._observe(resolution)
        return resolution

    async def _within_quota(
        self, query: Query, preferences: Preferences, plan: Plan, context: RequestContext
    ) -> Resolution:
        """Charge the client for public archives; beyond the quota, resolve without them."""
        free = self._public.isdisjoint(plan.order) or preferences.only_if_cached
        if context.quota is None or free:
            return await self._searched(query, preferences, plan, context)
        charge = await context.quota.charge(query.original)
        if not charge.granted:
            return await self._without_public(query, preferences, plan, context)
        try:
            context = structs.replace(context, charge=charge)
            return await self._searched(query, preferences, plan, context)
        finally:
            charge.settle()

    async def _searched(
        self, query: Query, preferences: Preferences, plan: Plan, context: RequestContext
    ) -> Resolution:
        """Answer from the cache, or search."""
        plan = _narrowed(plan, query, preferences)
        if preferences.no_cache:
            return await self._search(query, preferences, plan, context, {})
        memory = self._pages
        if memory is None:
            cached = await self._memory.recall_all(
                plan.order, query.original, query.at, context.redis_time
            )
            return await self._search(query, preferences, plan, context, cached)
        page = await memory.page(query.original, context.redis_time)
        cached = await memory.recall_from(
            page, plan.order, query.original, query.at, context.redis_time
        )
        resolution = await self._search(query, preferences, plan, context, cached)
        if len(cached) == len(plan.order) and may_be_settled(query, preferences):
            settle(resolution, plan, page, memory)
        return resolution

    async def _search(
        self,
        query: Query,
        preferences: Preferences,
        plan: Plan,
        context: RequestContext,
        cached: dict[str, CachedAnswer],
    ) -> Resolution:
        """Search, with the answers in *cached*."""
        context = structs.replace(context, budget=context.budget or Budget())
        # In the order of the plan, which breaks ties.
        cached = {archive: cached[archive] for archive in plan.order if archive in cached}
        selection = self._selections.of(query, preferences, plan.order, context)
        search = Search(
            query,
            preferences,
            plan,
            context,
            self._coalescer,
            self._memory,
            fresh(query, preferences, cached),
            selection,
        )
        old = stale(query, preferences, cached)
        if not preferences.only_if_cached:
            deadlines = self._timed(preferences, checks=selection.verifies)
            await search.run(deadlines, old=bool(found(old)))
        resolution = search.conclusion(old)
        await self._remember_delivered(resolution, context)
        return resolution

    async def _remember_delivered(
        self, resolution: Resolution, context: RequestContext
    ) -> None:
        """Cache the memento that was delivered as the answer of its archive."""
        best, query = resolution.best, resolution.query
        requested = any(check.age is None for check in resolution.checks)
        if best is None or not requested or not isinstance(best.outcome, Closest):
            return
        if best.outcome.evidence == "promised" or resolution.preferences.direction != "closest":
            return
        await self._memory.remember(
            best.archive, best.original, query.at, best.outcome, context.redis_time
        )

    async def _without_public(
        self, query: Query, preferences: Preferences, plan: Plan, context: RequestContext
    ) -> Resolution:
        """Answer from the cache, else from the operator's own archives."""
        cached = replace(preferences, only_if_cached=True, no_cache=False)
        resolution = await self._searched(query, cached, plan, context)
        if resolution.memento is None:
            own = replace(preferences, exclude=preferences.exclude | self._public)
            own_plan = self._route(query, own, context)
            resolution = await self._searched(query, own, own_plan, context)
        if any(ends_search(query, attempt) for attempt in resolution.attempts):
            return replace(resolution, preferences=preferences)
        answered = {attempt.archive for attempt in resolution.attempts}
        missing = tuple(archive for archive in plan.order if archive not in answered)
        return replace(resolution, preferences=preferences, unanswered=missing)

    def _timed(self, preferences: Preferences, *, checks: bool) -> Deadlines:
        """Return the deadlines; with *checks*, time is left to request the best memento."""
        wait = preferences.wait
        if wait is None:
            return self._deadlines
        # A client that states how long it waits wants the best result by then.
        return Deadlines(wait - min(wait / 4, _CHECK_TIME) if checks else wait, wait)


def _is_quoted(query: Query, preferences: Preferences) -> bool:
    """Whether a quotation is to be looked for; one in a URL only if the memento is verified."""
    if preferences.quote is not None:
        return True
    return query.quote is not None and preferences.verify != "none"


def _narrowed(plan: Plan, query: Query, preferences: Preferences) -> Plan:
    """Return only the named archive where no other is acceptable (S-8)."""
    if preferences.precision not in ("exact", "archive") or query.archive_id is None:
        return plan
    # The named archive is unknown and no other is acceptable: empty plan.
    named = ((query.archive,),) if query.archive in plan.order else ()
    return Plan(named, plan.folding)
