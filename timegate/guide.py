"""Whom to ask, given all that is known: brings routing together with what was observed."""

from collections.abc import Mapping, Sequence

from archives.model import ArchiveEntry
from timegate.resolution import Attempt, Policy, Query
from timegate.resolver import Plan
from timegate.upstream.breaker import Breakers


class Guide:
    """Plans each search."""

    def __init__(self, entries: Sequence[ArchiveEntry], breakers: Breakers) -> None:
        self._entries = entries
        self._breakers = breakers

    def plan(self, query: Query, policy: Policy) -> Plan:
        """Return whom to ask first, and whom then."""
        names = [
            entry.id
            for entry in self._entries
            if entry.id not in policy.exclude
            and (policy.archives is None or entry.id in policy.archives)
        ]
        first = tuple(name for name in names if name == query.archive)
        return Plan(first, tuple(name for name in names if name not in first))

    def note(self, attempt: Attempt) -> None:
        """Learn from what an archive answered."""

    def state(self, archive: str) -> Mapping[str, object]:
        """Return what is known of an archive's health."""
        return {}
