"""Neighbours of a memento: first, previous, next and last, where its archive did not link them.

Many archives link only the memento they chose, and Memento clients step on from there. The list
of captures has all four, but costs a request that archives allow rarely; so it is requested
only from the operator's own archives, or taken from the cache. It is the list of one archive:
where other archives that may hold the page were not queried, nothing is filled in.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

from msgspec import structs

from archives.errors import ArchiveError
from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from archives.nearest import nearest, true_neighbours
from timegate.resolution.coalescing import SourceFor
from timegate.resolution.context import RequestContext, TimeBudget
from timegate.resolution.model import Resolution

_PATIENCE: Final = 1.0
"""Seconds for the list of an archive."""
_MOST: Final = 20_000
"""Captures in a list; longer lists are not used."""


class CaptureLists(Protocol):
    """Cached lists of captures; *detailed* are those of CDX servers, apart from TimeMaps.

    *budget* limits the time spent waiting for Redis.
    """

    async def recall_timemap(
        self,
        archive: str,
        original: str,
        budget: TimeBudget | None = None,
        /,
        *,
        detailed: bool = False,
    ) -> tuple[Sequence[Memento], float] | None: ...

    async def remember_timemap(
        self,
        archive: str,
        original: str,
        captures: Sequence[Memento],
        budget: TimeBudget | None = None,
        /,
        *,
        detailed: bool = False,
    ) -> None: ...


class Neighbours:
    """Fills in the neighbours of the chosen memento."""

    def __init__(
        self,
        source_for: SourceFor,
        lists: CaptureLists,
        own: frozenset[str],
        patience: float = _PATIENCE,
    ) -> None:
        """Request lists from the archives in *own*, and from no others."""
        self._source_for = source_for
        self._lists = lists
        self._own = own
        self._patience = patience
        self._in_progress: dict[tuple[str, str], asyncio.Future[Sequence[Memento]]] = {}

    async def filled_in(self, resolution: Resolution, context: RequestContext) -> Resolution:
        """Return *resolution* with the neighbours of its memento, where they are known."""
        best = resolution.best
        if best is None or not isinstance(best.outcome, Closest):
            return resolution
        if not resolution.lacks_neighbours:
            return resolution
        captures = await self._captures(best.archive, best.original, context)
        if not captures:
            return resolution
        closest = _nearest_listed(best.outcome, captures, resolution.query.at)
        around = neighbours(closest.memento, captures)
        found = structs.replace(best, outcome=structs.replace(closest, neighbours=around))
        return replace(resolution, best=found)

    async def _captures(
        self, archive: str, original: str, context: RequestContext
    ) -> Sequence[Memento]:
        cached = await self._lists.recall_timemap(archive, original, context.redis_time)
        if cached is not None:
            return cached[0]
        if archive not in self._own:
            return ()
        try:
            async with asyncio.timeout(self._patience):
                return await self._shared_request(archive, original, context)
        except (ArchiveError, TimeoutError):
            # The memento is found; missing neighbours are no reason to fail.
            return ()

    async def _shared_request(
        self, archive: str, original: str, context: RequestContext
    ) -> Sequence[Memento]:
        """Request a list once for all concurrent requests."""
        key = (archive, original)
        shared = self._in_progress.get(key)
        if shared is not None:
            return await asyncio.shield(shared)
        shared = self._in_progress[key] = asyncio.get_running_loop().create_future()
        captures: Sequence[Memento] = ()
        try:
            captures = await self._request(archive, original, context)
            if captures:
                budget = context.redis_time
                await self._lists.remember_timemap(archive, original, captures, budget)
        finally:
            del self._in_progress[key]
            shared.set_result(captures)
        return captures

    async def _request(
        self, archive: str, original: str, context: RequestContext
    ) -> list[Memento]:
        captures: list[Memento] = []
        source = self._source_for(archive, context)
        async with aclosing(source.mementos(original)) as batches:
            async for batch in batches:
                captures += batch
                if len(captures) > _MOST:
                    return []
        return captures


def _nearest_listed(
    closest: Closest, captures: Sequence[Memento], at: Moment | None
) -> Closest:
    """Return *closest*, or the listed capture that is nearer than the choice of the archive."""
    best = nearest([closest.memento, *captures], at)
    if best is None or best.stamp[:14] == closest.memento.stamp[:14]:
        return closest
    return Closest(best, "timemap", closest.doubts)


def neighbours(chosen: Memento, captures: Sequence[Memento]) -> dict[Relation, Memento]:
    """Return the neighbours of *chosen* in *captures*, which are in order of time."""
    around: dict[Relation, Memento] = {"first": captures[0], "last": captures[-1]}
    before = [capture for capture in captures if capture.stamp < chosen.stamp]
    after = [capture for capture in captures if capture.stamp > chosen.stamp]
    if before:
        around["prev"] = before[-1]
    if after:
        around["next"] = after[0]
    return true_neighbours(chosen, around)
