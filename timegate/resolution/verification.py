"""Looks at a copy before it is recommended: whether it is there, and the one promised.

Only where the client asks for it (``verify=head``): it costs a request more.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from archives.errors import ArchiveError, Misbehaved
from archives.model import Closest, Memento
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution, Resolves

_MOST: Final = 3
"""Copies that are looked at: the best, and two more if that is not there."""


class MementoProbe(Protocol):
    """Requests a memento from its archive. None: it is not there. Raises ArchiveError."""

    async def __call__(self, memento: Memento) -> Closest | None: ...


class Verifier:
    """Resolves to a memento that was requested and is there."""

    def __init__(
        self, resolver: Resolves, probes: Mapping[str, MementoProbe], seconds: float
    ) -> None:
        self._resolver = resolver
        self._probes = probes
        self._seconds = seconds

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the best memento that is really there; the others count as failures.

        Where the client wants no verification, nothing is requested.
        """
        if preferences.verify == "none":
            return await self._resolver.resolve(query, preferences, context)
        lost: list[Attempt] = []
        while True:
            resolution = await self._resolver.resolve(query, preferences, context)
            best = resolution.best
            if best is None or not isinstance(best.outcome, Closest) or len(lost) == _MOST:
                break
            seen = await self._seen(best, best.outcome)
            if isinstance(seen.outcome, Closest):
                kept = [a for a in resolution.attempts if a is not best]
                resolution = replace(resolution, best=seen, attempts=(seen, *kept))
                break
            lost.append(seen)
            preferences = replace(preferences, exclude=preferences.exclude | {seen.archive})
        return replace(resolution, attempts=(*resolution.attempts, *lost))

    async def _seen(self, attempt: Attempt, closest: Closest) -> Attempt:
        promised = closest.memento
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._probes[attempt.archive](promised)
        except ArchiveError as error:
            return replace(attempt, outcome=error)
        except TimeoutError:
            why = f"its copy did not appear within {self._seconds:g} s"
            return replace(attempt, outcome=Misbehaved(attempt.archive, promised.uri, why))
        if found is None or found.memento.stamp[:14] != promised.stamp[:14]:
            why = "its copy is not the one that it promised"
            return replace(attempt, outcome=Misbehaved(attempt.archive, promised.uri, why))
        there = promised._replace(status=found.memento.status)
        return replace(attempt, outcome=replace(closest, memento=there))
