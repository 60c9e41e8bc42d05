"""First, previous, next and last: what lies around a copy, where its archive did not say.

Many archives link only the copy they chose. Clients of Memento like to step on from there. The
list of captures has it all, but costs a request that archives allow seldom; so it is asked for
only at archives of the operator's own, or taken from the cache. It is one archive's list: where
others that may hold the page were not heard, nothing is filled in.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

from archives.errors import ArchiveError
from archives.model import Closest, Memento, Relation
from archives.source import Source
from timegate.resolution.model import Resolution

_PATIENCE: Final = 1.0
_MOST: Final = 20_000


class CaptureLists(Protocol):
    """Lists of captures that were read before."""

    async def recall_timemap(
        self, archive: str, original: str, /
    ) -> tuple[Sequence[Memento], float] | None: ...

    async def remember_timemap(
        self, archive: str, original: str, captures: Sequence[Memento], /
    ) -> None: ...


class Neighbours:
    """Fills in what lies around a copy."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        lists: CaptureLists,
        ours: frozenset[str],
        patience: float = _PATIENCE,
    ) -> None:
        self._sources = sources
        self._lists = lists
        self._ours = ours
        self._patience = patience
        self._under_way: dict[tuple[str, str], asyncio.Future[Sequence[Memento]]] = {}

    async def filled_in(self, resolution: Resolution) -> Resolution:
        """Return *resolution* with the neighbours of its copy, where they can be had."""
        best = resolution.best
        if best is None or not isinstance(best.outcome, Closest) or best.outcome.neighbours:
            return resolution
        if resolution.skipped:
            # Whoever was not heard may hold a nearer one.
            return resolution
        captures = await self._captures(best.archive, best.original)
        if not captures:
            return resolution
        around = neighbours(best.outcome.memento, captures)
        found = replace(best, outcome=replace(best.outcome, neighbours=around))
        return replace(resolution, best=found)

    async def _captures(self, archive: str, original: str) -> Sequence[Memento]:
        known = await self._lists.recall_timemap(archive, original)
        if known is not None:
            return known[0]
        if archive not in self._ours:
            return ()
        try:
            async with asyncio.timeout(self._patience):
                return await self._once(archive, original)
        except (ArchiveError, TimeoutError):
            # The copy is found; what lies around it is not worth an error.
            return ()

    async def _once(self, archive: str, original: str) -> Sequence[Memento]:
        """Ask for a list that others wait for already only once."""
        key = (archive, original)
        awaited = self._under_way.get(key)
        if awaited is not None:
            return await asyncio.shield(awaited)
        awaited = self._under_way[key] = asyncio.get_running_loop().create_future()
        captures: Sequence[Memento] = ()
        try:
            captures = await self._listed(archive, original)
            if captures:
                await self._lists.remember_timemap(archive, original, captures)
        finally:
            del self._under_way[key]
            awaited.set_result(captures)
        return captures

    async def _listed(self, archive: str, original: str) -> list[Memento]:
        captures: list[Memento] = []
        async with aclosing(self._sources[archive].mementos(original)) as batches:
            async for batch in batches:
                captures += batch
                if len(captures) > _MOST:
                    return []
        return captures


def neighbours(chosen: Memento, captures: Sequence[Memento]) -> dict[Relation, Memento]:
    """Return what lies around *chosen* in *captures*, which are in order of time."""
    around: dict[Relation, Memento] = {"first": captures[0], "last": captures[-1]}
    before = [capture for capture in captures if capture.stamp < chosen.stamp]
    after = [capture for capture in captures if capture.stamp > chosen.stamp]
    if before:
        around["prev"] = before[-1]
    if after:
        around["next"] = after[0]
    return around
