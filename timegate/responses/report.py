"""The report of a resolution in JSON, and the links of its response (RFC 8288)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.evidence import WEB
from archives.formats.httpdate import http_date
from archives.model import ArchiveEntry, Closest, Memento, Relation
from archives.moment import Moment
from archives.nearest import second_of
from archives.registry import Registry
from timegate.citations import cited
from timegate.identifiers.pwid import minted
from timegate.resolution.model import Attempt, Resolution
from timegate.text import masked
from timegate.verdict import Member, Verdict, delivers_raw, header_safe, in_words, raw_address

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


LONGEST_LINKS: Final = 8000
"""Octets. Clients on aiohttp refuse a field of more than 8190."""
_LONGEST_KEPT: Final = 16 * 1024
"""Octets of addresses, about; what has more is written anew each time. With six archives and
addresses of 1.8 kB, what is kept here was 42 MB; with 35 and 8 kB it would be a gigabyte."""


def links(resolution: Resolution, base_url: str, registry: Registry | None = None) -> str:
    """Return the value of ``Link``: the original, our own resources, the copy and its likes.

    The PWID (``cite-as``) is given where *registry* knows how the archive is called in one. The
    original is always there (M-6); others, the least important first, are left out where the
    field would grow too long.
    """
    original = header_safe(resolution.query.original)
    base = base_url.rstrip("/")
    written = [
        f'<{original}>; rel="original"',
        *_mementos(resolution),
        f'<{base}/timemap/link/{original}>; rel="timemap"; type="application/link-format"',
        f'<{base}/timegate/{original}>; rel="timegate"',
    ]
    pwid = None if registry is None else _pwid(resolution, registry)
    if pwid is not None:
        written.append(f'<{header_safe(pwid)}>; rel="cite-as"')
    return ", ".join(_fitting(written))


def _fitting(written: Sequence[str]) -> Iterable[str]:
    if sum(map(len, written)) + 2 * len(written) <= LONGEST_LINKS:
        return written
    return _cut(written)


def _cut(written: Iterable[str]) -> Iterator[str]:
    room = LONGEST_LINKS
    for number, link in enumerate(written):
        if number == 0 or len(link) + 2 <= room:
            room -= len(link) + 2
            yield link


def _mementos(resolution: Resolution) -> tuple[str, ...]:
    chosen = resolution.memento
    if chosen is None:
        return ()
    stated, copies = _stated(resolution), (*known_copies(resolution),)
    if len(chosen.uri) * len(copies) > _LONGEST_KEPT:
        return _written(chosen, stated, copies)
    return _written_before(chosen, stated, copies)


def _written(
    chosen: Memento, stated: tuple[Relation, ...], copies: tuple[Memento, ...]
) -> tuple[str, ...]:
    """Write the copy chosen, then its neighbours; one target, one link (M-8)."""
    rels: dict[str, list[str]] = {chosen.uri: []}
    dates = {chosen.uri: chosen.stamp}
    for relation, memento in _nearest(chosen, stated, copies).items():
        if dates.setdefault(memento.uri, memento.stamp) == memento.stamp:
            rels.setdefault(memento.uri, []).append(relation)
    return tuple(
        f'<{header_safe(uri)}>; rel="{" ".join([*names, "memento"])}"; '
        f'datetime="{http_date(dates[uri])}"'
        for uri, names in rels.items()
        if uri.startswith(WEB)
    )


# A page that many ask for is found again and again, with the same neighbours.
_written_before: Final = lru_cache(maxsize=1024)(_written)


def neighbours(resolution: Resolution, chosen: Memento) -> Mapping[Relation, Memento]:
    """Return the neighbours that the archive states, or better ones that others hold.

    Where it states none there may be one that nobody knows, and so there may where others were
    not heard because the copy is exact: then none is claimed.
    """
    return _nearest(chosen, _stated(resolution), (*known_copies(resolution),))


def _nearest(
    chosen: Memento, stated: Iterable[Relation], copies: Sequence[Memento]
) -> dict[Relation, Memento]:
    best: dict[Relation, Memento] = {}
    for relation in stated:
        found = _NEAREST[relation](copies, chosen.stamp)
        if found is not None:
            best[relation] = found
    return best


def known_copies(resolution: Resolution) -> Iterator[Memento]:
    """Yield every copy that the answers of the archives name."""
    for attempt in filter(None, (resolution.best, *resolution.alternatives)):
        if isinstance(attempt.outcome, Closest):
            yield attempt.outcome.memento
            yield from attempt.outcome.neighbours.values()


def _stated(resolution: Resolution) -> tuple[Relation, ...]:
    best = resolution.best
    if best is None or not isinstance(best.outcome, Closest) or resolution.skipped:
        return ()
    return (*best.outcome.neighbours,)


def _first(known: Sequence[Memento], _: str) -> Memento | None:
    return min(known, key=_age, default=None)


def _last(known: Sequence[Memento], _: str) -> Memento | None:
    return max(known, key=_age, default=None)


def _prev(known: Sequence[Memento], stamp: str) -> Memento | None:
    return _last([memento for memento in known if memento.stamp < stamp], stamp)


def _next(known: Sequence[Memento], stamp: str) -> Memento | None:
    return _first([memento for memento in known if memento.stamp > stamp], stamp)


def _age(memento: Memento) -> str:
    return memento.stamp


_NEAREST: Final[Mapping[Relation, Callable[[Sequence[Memento], str], Memento | None]]] = {
    "first": _first,
    "prev": _prev,
    "next": _next,
    "last": _last,
}


def _pwid(resolution: Resolution, registry: Registry) -> str | None:
    """Return the PWID of the memento that was found; None if it cannot be named."""
    memento = resolution.memento
    entry = None if memento is None else registry.by_id(memento.archive)
    if memento is None or entry is None or not entry.pwid:
        return None
    is_raw = delivers_raw(resolution.query, memento, entry)
    try:
        return minted(memento.original, memento.captured, entry.pwid[0], raw=is_raw).canonical
    except Malformed:
        return None
