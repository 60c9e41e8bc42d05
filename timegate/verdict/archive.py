"""Who answered, beside who was named; who did not; and how the copy was found."""

from functools import lru_cache

from archives.model import Closest, Memento
from archives.registry import Registry
from timegate.resolution.model import Query, Resolution
from timegate.verdict.model import Member, plain


def archive_member(query: Query, memento: Memento, registry: Registry) -> Member:
    """Return whether the archive that was named answered.

    ``alias``: it did, under another of its names than the one that we write. ``unknown``: no
    registry knows the name, so nobody can say who was meant.
    """
    entry = registry.by_id(memento.archive)
    written = entry.pwid[0] if entry and entry.pwid else memento.archive
    if query.archive_id is None:
        return Member("any", {"got": written})
    params = {"req": query.archive_id, "got": written}
    named = query.archive or _named(query.archive_id, registry)
    if named is None:
        return Member("unknown", params)
    if named != memento.archive:
        return Member("other", params)
    return Member("same" if query.archive_id.lower() == written else "alias", params)


def _named(archive_id: str, registry: Registry) -> str | None:
    entry = registry.by_pwid(archive_id)
    return None if entry is None else entry.id


def sources(resolution: Resolution) -> Member:
    """Return whether all who were asked answered: closest is only closest among them.

    Where nobody was asked, nothing is complete.
    """
    asked = {*(attempt.archive for attempt in resolution.attempts), *resolution.unanswered}
    if asked and resolution.complete:
        return _sources("complete", len(asked), 0, len(resolution.unasked))
    return _sources("partial", len(asked), len(resolution.failed), len(resolution.unasked))


@lru_cache(maxsize=256)
def _sources(value: str, asked: int, failed: int, unasked: int) -> Member:
    return Member(value, {"asked": asked, "failed": failed, "unasked": unasked or ""})


def negotiation(query: Query, found: Closest) -> Member:
    """Return how the copy was found; a time in the reference overrides all others (D-10)."""
    is_reference = query.identifier is not None or query.archive_id is not None
    return plain("identifier" if query.at and is_reference else found.via)
