"""A resolution for programs: the report in JSON."""

from collections.abc import Iterator
from typing import Final

from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.nearest import second_of
from archives.registry import Registry
from timegate.citations import cited
from timegate.resolution.model import Attempt, Resolution
from timegate.text import masked
from timegate.verdict import Member, Verdict, header_safe, in_words, raw_address

Json = dict[str, object]
_LONGEST_REASON: Final = 300


def summary(resolution: Resolution, verdict: Verdict, registry: Registry) -> Json:
    """Return the verdict and the copy in plain JSON types: the body of a redirect (X-1)."""
    members = {name: _member(member) for name, member in verdict.members()}
    return {
        "identifier": resolution.query.identifier,
        "original": resolution.query.original,
        **members,
        "memento": _memento(resolution, registry),
    }


def report(resolution: Resolution, verdict: Verdict, registry: Registry, base_url: str) -> Json:
    """Return all that is known of the answer, in plain JSON types."""
    query = resolution.query
    members = {name: _member(member) for name, member in verdict.members()}
    return {
        "identifier": query.identifier,
        "original": query.original,
        **members,
        "memento": _memento(resolution, registry),
        "cite": cited(resolution, registry),
        "alternatives": [*_alternatives(resolution)],
        "attempts": [*_attempts(resolution)],
        "unasked": [*unasked(resolution)],
        "timemap": _own("timemap/link", resolution, base_url),
        "words": in_words(verdict),
    }


def _member(member: Member | None) -> Json | None:
    return None if member is None else {"value": member.value, **member.params}


def _memento(resolution: Resolution, registry: Registry) -> Json | None:
    memento = resolution.memento
    if memento is None:
        return None
    return {
        "uri": memento.uri,
        "raw": raw_address(memento, registry.by_id(memento.archive)),
        "datetime": str(memento.captured),
        "archive": memento.archive,
        "status": memento.status,
    }


def _alternatives(resolution: Resolution) -> Iterator[Json]:
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            memento = attempt.outcome.memento
            yield {
                "archive": memento.archive,
                "uri": memento.uri,
                "datetime": str(memento.captured),
                "delta": _delta(memento, resolution.query.at),
            }


def _delta(memento: Memento, at: Moment | None) -> int | None:
    if at is None:
        return None
    return int(at.distance(second_of(memento.stamp)).total_seconds())


def _attempts(resolution: Resolution) -> Iterator[Json]:
    for attempt in resolution.attempts:
        yield {
            "archive": attempt.archive,
            **_outcome(attempt),
            "milliseconds": round(attempt.seconds * 1000),
            "cached": attempt.age is not None,
            "age": attempt.age,
            "url": attempt.original,
            "variant": attempt.variant,
        }
    answered = {attempt.archive for attempt in resolution.attempts}
    for archive in resolution.unanswered:
        if archive not in answered:
            yield {
                "archive": archive,
                "outcome": "unknown",
                "reason": "no answer in time",
                "milliseconds": None,
                "cached": False,
                "age": None,
                "url": resolution.query.original,
                "variant": None,
            }


def unasked(resolution: Resolution) -> Iterator[Json]:
    """Yield the spellings of the URL for which some archives were not asked (S-7)."""
    for one in resolution.unasked:
        yield {"variant": one.variant, "url": one.url, "archives": [*one.archives]}


def unheard(resolution: Resolution, named: ArchiveEntry | None) -> str | None:
    """Say why *named*, which the reference names, did not say no itself; None where it did.

    A 404 over the others is no word of the one that is most likely to have the copy.
    """
    written = resolution.query.archive_id
    if written is None:
        return None
    if named is None:
        return f"nobody here knows the archive that is named, {written}"
    asked = any(attempt.archive == named.id for attempt in resolution.attempts)
    note = named.apply or named.access_note or named.access
    if named.access != "open":
        could = "has none that programs may see" if asked else "cannot be asked by programs"
        return f"{named.name} {could} ({note})"
    return None if asked else f"{named.name}, which is named, was not asked"


def _outcome(attempt: Attempt) -> Json:
    outcome = attempt.outcome
    if outcome is None:
        return {"outcome": "absent", "reason": None}
    if isinstance(outcome, ArchiveError):
        return {"outcome": "unknown", "reason": _printable(outcome.why)}
    return {
        "outcome": "found",
        "reason": None,
        "via": outcome.via,
        "doubts": [_printable(doubt) for doubt in outcome.doubts],
    }


def _printable(text: str) -> str:
    """Return *text*, part of which an archive may have written, without controls (E-1)."""
    return masked(text[:_LONGEST_REASON])


def _own(path: str, resolution: Resolution, base_url: str) -> str:
    return f"{base_url.rstrip('/')}/{path}/{header_safe(resolution.query.original)}"
