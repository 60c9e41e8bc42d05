"""Verification: requests the memento before it is recommended, to check that it exists.

Only if the client asks for it (``verify=head``): it costs one more request.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from archives.errors import ArchiveError, Misbehaved
from archives.model import ArchiveEntry, Closest, Memento
from archives.negotiation import Clock, Negotiator, Question
from archives.source import Fetcher
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution, Resolves

_MOST: Final = 3
"""Mementos that are requested: the best, and two more if it does not exist."""


class MementoProbe(Protocol):
    """Requests a memento from its archive; None if it does not exist. Raises ArchiveError."""

    async def __call__(self, memento: Memento) -> Closest | None: ...


def memento_probes(
    entries: Iterable[ArchiveEntry],
    fetchers: Mapping[str, Fetcher],
    containment: Containment,
    clock: Clock,
) -> Mapping[str, MementoProbe]:
    """Return the probe of each archive."""

    def probe(entry: ArchiveEntry) -> MementoProbe:
        negotiator, fetch = Negotiator(entry, clock), fetchers[entry.id]

        async def requested(memento: Memento) -> Closest | None:
            question = Question(
                memento.uri, memento.original, memento.captured, "template", {}, None
            )
            with containment.around(entry.id, memento.uri):
                return await negotiator.closest(fetch, question)

        return requested

    return {entry.id: probe(entry) for entry in entries}


class Verifier:
    """Resolves to a memento that was requested and exists."""

    def __init__(
        self, resolver: Resolves, probes: Mapping[str, MementoProbe], seconds: float
    ) -> None:
        self._resolver = resolver
        self._probes = probes
        self._seconds = seconds

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the best memento that exists; those that do not exist count as failures."""
        lost: list[Attempt] = []
        while True:
            unverified = replace(preferences, verify="none")
            resolution = await self._resolver.resolve(query, unverified, context)
            best = resolution.best
            if best is None or not isinstance(best.outcome, Closest) or len(lost) == _MOST:
                break
            verified = await self._verified(best, best.outcome)
            if isinstance(verified.outcome, Closest):
                others = [a for a in resolution.attempts if a is not best]
                resolution = replace(resolution, best=verified, attempts=(verified, *others))
                break
            lost.append(verified)
            exclude = preferences.exclude | {verified.archive}
            preferences = replace(preferences, exclude=exclude)
        attempts = (*resolution.attempts, *lost)
        return replace(resolution, preferences=preferences, attempts=attempts)

    async def _verified(self, attempt: Attempt, closest: Closest) -> Attempt:
        promised = closest.memento
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._probes[attempt.archive](promised)
        except ArchiveError as error:
            return replace(attempt, outcome=error)
        except TimeoutError:
            why = f"did not deliver its memento within {self._seconds:g} s"
            return replace(attempt, outcome=Misbehaved(attempt.archive, promised.uri, why))
        if found is None or found.memento.stamp[:14] != promised.stamp[:14]:
            why = "delivers another memento than it promised"
            return replace(attempt, outcome=Misbehaved(attempt.archive, promised.uri, why))
        verified = promised._replace(status=found.memento.status)
        return replace(attempt, outcome=replace(closest, memento=verified))
