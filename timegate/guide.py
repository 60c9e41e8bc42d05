"""Whom to ask, given all that is known: brings routing together with what was observed."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cachetools import LRUCache

from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest
from archives.uri import host_of
from timegate.resolution import Attempt, Preferences, Query
from timegate.resolver import Plan
from timegate.routing import CombinedKnowledge, Outcome, order

_HOLDS: Final = 1.0


class Planner:
    """Plans each search, and learns from what archives answer."""

    def __init__(
        self,
        entries: Sequence[ArchiveEntry],
        known: CombinedKnowledge,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries = entries
        self._known = known
        self._clock = clock
        self._folding = frozenset(entry.id for entry in entries if entry.folds_spellings)
        # Maps and patterns with paths look at more than the host.
        paths = any("/" in domain for entry in entries for domain in entry.domains)
        self._by_host_alone = not known.maps and not paths
        self._plans: LRUCache[tuple[object, ...], tuple[float, Plan]] = LRUCache(1024)

    def plan(self, query: Query, policy: Preferences) -> Plan:
        """Return whom to ask: our own, the archive that is named, the others.

        Where the named one is our own, it alone comes first. A plan for pages of the same host
        holds for a moment.
        """
        if not self._by_host_alone:
            return self._planned(query, policy)
        key = (host_of(query.original), query.archive, policy.archives, policy.exclude)
        until, plan = self._plans.get(key, (0.0, None))
        now = self._clock()
        if plan is None or now >= until:
            plan = self._planned(query, policy)
            self._plans[key] = (now + _HOLDS, plan)
        return plan

    def _planned(self, query: Query, policy: Preferences) -> Plan:
        routed = order(query, policy, self._entries, self._known)
        ours = self._known.local | self._known.private
        names = [step.archive for step in (*routed.first, *routed.then)]
        named = [name for name in names if name == query.archive]
        own = [name for name in names if name in ours and name not in named]
        others = [name for name in names if name not in ours and name not in named]
        groups = (named, own, others) if query.archive in ours else (own, named, others)
        return Plan(tuple(tuple(group) for group in groups if group), self._folding)

    def note(self, attempt: Attempt) -> None:
        """Learn from what an archive answered."""
        host = host_of(attempt.original)
        self._known.observations.note(attempt.archive, host, _outcome(attempt), attempt.seconds)

    def state(self, archive: str) -> Mapping[str, object]:
        """Return what is known of an archive's health."""
        if archive not in {entry.id for entry in self._entries}:
            return {"asked": False}
        observed = self._known.observations
        latency = observed.latency(archive)
        return {
            "asked": True,
            "breaker": self._known.standing(archive),
            "median_seconds": latency.median,
            "p95_seconds": latency.p95,
            "last_success": observed.last_success(archive),
            "last_failure": observed.last_failure(archive),
            "recent": [
                {"seconds": round(one.seconds, 3), "answered": one.answered}
                for one in observed.recent(archive)
            ],
        }


def _outcome(attempt: Attempt) -> Outcome:
    if isinstance(attempt.outcome, ArchiveError):
        return "failed"
    return "found" if isinstance(attempt.outcome, Closest) else "absent"
