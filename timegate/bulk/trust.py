"""Copies that lie where the user does not want them from, whoever named them.

Archives that are not trusted are not asked; but an aggregator among those that are asked may
lead to one of them.
"""

from dataclasses import replace

from archives.links import read_link
from archives.model import ArchiveEntry, Closest
from archives.reading import Diagnosis, Malformed
from archives.registry import Registry
from timegate.resolution import Attempt, Preferences, Resolution


def trusted(resolution: Resolution, registry: Registry) -> Resolution:
    """Return *resolution* with the best of the copies that its policy allows."""
    policy = resolution.policy
    if resolution.best is None or (policy.archives is None and not policy.exclude):
        return resolution
    copies = [
        attempt
        for attempt in (resolution.best, *resolution.alternatives)
        if _is_allowed(attempt, policy, registry)
    ]
    best = copies[0] if copies else None
    return replace(resolution, best=best, alternatives=tuple(copies[1:]))


def _is_allowed(attempt: Attempt, policy: Preferences, registry: Registry) -> bool:
    if not isinstance(attempt.outcome, Closest):
        return False
    holder = _holder(attempt.outcome.memento.uri, registry)
    if holder is None or _is_at_home(attempt.archive, holder, registry):
        return True
    chosen = policy.archives is None or holder.id in policy.archives
    return chosen and holder.id not in policy.exclude


def _holder(uri: str, registry: Registry) -> ArchiveEntry | None:
    """Return the archive that *uri* leads into; None where nobody knows."""
    try:
        return registry.by_id(read_link(uri, registry, Diagnosis()).archive or "")
    except Malformed:
        return None


def _is_at_home(archive: str, holder: ArchiveEntry, registry: Registry) -> bool:
    """Whether *holder* is *archive* itself; at a shared host a link names the first of them."""
    entry = registry.by_id(archive)
    return entry is not None and not set(entry.hosts).isdisjoint(holder.hosts)
