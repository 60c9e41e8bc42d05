"""Verdict: how an answer differs from the question, as in ``Memento-Precision`` (X-1 to X-9).

Every member is decided by itself; `match` is the worst of them. What is not known is reported
as unknown, never as exact.
"""

from functools import lru_cache
from typing import Final

from archives.model import Closest
from archives.registry import Registry
from timegate.resolution.model import Resolution, Syntax
from timegate.verdict.header import (
    Member,
    Verdict,
    around_time,
    header,
    matched,
    plain,
    satisfies,
    written,
)
from timegate.verdict.members import (
    archive_member,
    asked_time,
    content,
    coverage,
    delivers_raw,
    granularity,
    header_safe,
    negotiation,
    raw_address,
    sources,
    uri_member,
    view,
)
from timegate.verdict.words import in_words

__all__ = [
    "Member",
    "Verdict",
    "around_time",
    "asked_time",
    "delivers_raw",
    "header",
    "header_safe",
    "in_words",
    "location",
    "raw_address",
    "satisfies",
    "verdict",
    "written",
]


_LONGEST_DOUBT: Final = 300


def location(resolution: Resolution, registry: Registry) -> str | None:
    """Return the target of the redirect: the raw bytes for a part (V-1), otherwise replay.

    The verdict is about that address. It is safe in ``Location``: ASCII without blanks and
    controls. None where nothing was found.
    """
    memento = resolution.memento
    if memento is None:
        return None
    entry = registry.by_id(memento.archive)
    return header_safe(view(resolution.query, memento, entry).uri)


def verdict(resolution: Resolution, registry: Registry) -> Verdict:
    """Return how the answer of *resolution* differs from its query."""
    query, best = resolution.query, resolution.best
    syntax = _syntax(query.syntax, query.diagnostics)
    if best is None or not isinstance(best.outcome, Closest):
        return Verdict(plain("none"), sources=sources(resolution), syntax=syntax)
    memento = best.outcome.memento
    entry = registry.by_id(memento.archive)
    archive = archive_member(query, memento, registry)
    time = asked_time(query, memento, entry)
    grain = granularity(query.at, memento.stamp, entry)
    uri = uri_member(query, best, memento)
    shown = view(query, memento, entry)
    extent = coverage(query.precision, shown, archive)
    match = matched(archive, time, grain, extent, uri)
    doubts = "; ".join(best.outcome.doubts)
    if doubts:
        # A doubtful time proves nothing: never exact.
        match = plain("approximate") if match.value in ("exact", "within") else match
        time = Member(time.value, {**time.params, "doubt": doubts[:_LONGEST_DOUBT]})
    return Verdict(
        match=match,
        archive=archive,
        time=time,
        granularity=grain,
        coverage=extent,
        uri=uri,
        content=content(shown, memento.status),
        sources=sources(resolution),
        negotiation=negotiation(query, best.outcome),
        syntax=syntax,
    )


@lru_cache(maxsize=256)
def _syntax(value: Syntax, diagnostics: tuple[str, ...]) -> Member:
    return Member(value, {"diag": " ".join(dict.fromkeys(diagnostics))})
