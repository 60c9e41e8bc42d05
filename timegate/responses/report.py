"""The report of a resolution in JSON, and the links of its response (RFC 8288)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.formats.httpdate import http_date
from archives.model import Closest, Memento, Relation, is_beside, stamps_of
from archives.moment import Moment, second_of
from archives.registry import Registry
from archives.uri import WEB
from timegate.citations import cited
from timegate.identifiers.duri import Duri
from timegate.identifiers.pwid import minted
from timegate.resolution.model import Attempt, Query, Resolution
from timegate.responses.quotes import quote_json
from timegate.responses.referral import Referral, referral
from timegate.text import masked
from timegate.verdict import (
    Member,
    Verdict,
    delivers_raw,
    header_safe,
    in_words,
    quoted_location,
    raw_address,
)
from timegate.verdict.header import OF_PARTS
from timegate.verdict.words import grade

Json = dict[str, object]
_LONGEST_REASON: Final = 300


def summary(resolution: Resolution, verdict: Verdict, registry: Registry) -> Json:
    """Return the verdict and the memento in plain JSON types: the body of a redirect (X-1).

    A URL with a time has no identifier here: an answer of a TimeGate may be that of many.
    """
    return {
        "identifier": resolution.query.identifier,
        "original": resolution.query.original,
        **_members(verdict),
        "memento": _memento(resolution, registry),
        "referral": _referral(resolution, registry),
        **live_member(resolution),
        **_quote(resolution, registry),
    }


def report(resolution: Resolution, verdict: Verdict, registry: Registry, base_url: str) -> Json:
    """Return the whole report on a resolution, in plain JSON types."""
    query = resolution.query
    return {
        "identifier": identifier_of(query),
        "original": query.original,
        **_members(verdict),
        "memento": _memento(resolution, registry),
        "referral": _referral(resolution, registry),
        "cite": cited(resolution, registry),
        "alternatives": [*_alternatives(resolution)],
        "attempts": [*_attempts(resolution)],
        "checks": [*_checks(resolution)],
        "unasked": [*unasked(resolution)],
        "timemap": _own("timemap/link", resolution, base_url),
        **live_member(resolution),
        **_quote(resolution, registry),
        "headline": grade(verdict, resolution.preferences.status).headline,
        "words": in_words(verdict),
    }


def identifier_of(query: Query) -> str:
    """Return the identifier of *query*: that of a URL with a time is a duri."""
    return query.identifier or dated(query)


def dated(query: Query) -> str:
    """Return the URL and the time of *query* as an identifier; a duri, if there is a time."""
    if query.at is None:
        return query.original
    return Duri(query.at, query.original).canonical or query.original


def _members(verdict: Verdict) -> Json:
    """Return all members; those on parts only if the parts were looked for."""
    return {
        name: member_json(member)
        for name, member in verdict.members()
        if member is not None or name not in OF_PARTS
    }


def member_json(member: Member | None) -> Json | None:
    """Return a member of a verdict, for JSON."""
    if member is None:
        return None
    value = int(member.value) if member.value.isdecimal() else member.value
    return {"value": value, **member.params}


def _memento(resolution: Resolution, registry: Registry) -> Json | None:
    memento = resolution.memento
    if memento is None:
        return None
    return {
        "uri": memento.uri,
        "raw": (
            raw_address(memento, registry.by_id(memento.archive))
            if resolution.extent is None
            else memento.uri
        ),
        "datetime": str(memento.captured),
        "archive": memento.archive,
        "status": memento.status,
    }


def live_member(resolution: Resolution) -> Json:
    """Return the member ``live``, only if the original itself was requested."""
    live = resolution.live
    if live is None:
        return {}
    return {
        "live": {
            "url": live.url,
            "requested": str(live.requested),
            "status": live.status,
            "answers": live.answers,
            "reason": _printable(live.why) or None,
        }
    }


def _quote(resolution: Resolution, registry: Registry) -> Json:
    """Return the member ``quote``, only if a quotation was looked for."""
    found = resolution.quote
    if found is None:
        return {}
    return {"quote": quote_json(found, quoted_location(resolution, registry))}


def _alternatives(resolution: Resolution) -> Iterator[Json]:
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            memento = attempt.outcome.memento
            yield {
                "archive": memento.archive,
                "uri": memento.uri,
                "datetime": str(memento.captured),
                "delta": _delta(memento, resolution.query.at),
                "evidence": attempt.outcome.evidence,
                "status": memento.status,
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


def _checks(resolution: Resolution) -> Iterator[Json]:
    """Yield the mementos that were requested to verify them, with each hop of the way."""
    for check in resolution.checks:
        yield {
            "archive": check.archive,
            "uri": check.uri,
            **_checked(check.outcome),
            "cached": check.age is not None,
        }


def _checked(outcome: Closest | ArchiveError | None) -> Json:
    if outcome is None:
        return {"outcome": "gone", "reason": None, "hops": []}
    if isinstance(outcome, ArchiveError):
        return {"outcome": "unknown", "reason": _printable(outcome.why), "hops": []}
    return {"outcome": outcome.evidence, "reason": None, "hops": _hops(outcome)}


def _hops(outcome: Closest) -> list[Json]:
    return [
        {
            "url": hop.url,
            "status": hop.status,
            "datetime": None if hop.stamp is None else str(Moment(hop.stamp)),
        }
        for hop in outcome.hops
    ]


def unasked(resolution: Resolution) -> Iterator[Json]:
    """Yield the URL variants for which some archives were not asked (S-7)."""
    for variant in resolution.unasked:
        yield {
            "variant": variant.variant,
            "url": variant.url,
            "archives": [*variant.archives],
        }


def referred(resolution: Resolution, registry: Registry) -> Referral | None:
    """Return the referral to the archive that the reference names; most name none."""
    return None if resolution.query.archive is None else referral(resolution, registry)


def _referral(resolution: Resolution, registry: Registry) -> Json | None:
    found = referred(resolution, registry)
    return None if found is None else found.as_json()


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
        "evidence": outcome.evidence,
        "hops": _hops(outcome),
        "unchecked": _printable(attempt.unchecked) or None,
        "doubts": [_printable(doubt) for doubt in outcome.doubts],
    }


def _printable(text: str) -> str:
    """Return *text*, which may quote an archive, without control characters (E-1)."""
    return masked(text[:_LONGEST_REASON])


def _own(path: str, resolution: Resolution, base_url: str) -> str:
    return f"{base_url.rstrip('/')}/{path}/{header_safe(resolution.query.original)}"


LONGEST_LINKS: Final = 8000
"""Octets. Clients on aiohttp reject a field of more than 8190."""


def links(
    resolution: Resolution,
    base_url: str,
    registry: Registry | None = None,
    unchecked: Referral | None = None,
    address: Callable[[Memento], str] | None = None,
) -> str:
    """Return the value of ``Link``: the original, mementos, TimeMap, TimeGate, PWID.

    The PWID (``cite-as``) is included if *registry* has the archive-id, and the *unchecked*
    link to the named archive if there is one. Mementos are linked at their *address*, in their
    archive unless that is given. The original is always included (M-6); if the
    field gets too long, the last links are left out.
    """
    original = header_safe(resolution.query.original)
    base = base_url.rstrip("/")
    all_links = [
        f'<{original}>; rel="original"',
        *_mementos(resolution, address),
        *([unchecked.link] if unchecked is not None and unchecked.link else []),
    ]
    if not resolution.query.original.startswith("~"):
        # The id of a list has no captures.
        all_links += [
            f'<{base}/timemap/link/{original}>; rel="timemap"; type="application/link-format"',
            f'<{base}/timegate/{original}>; rel="timegate"',
        ]
    pwid = None if registry is None else _pwid(resolution, registry)
    if pwid is not None:
        all_links.append(f'<{header_safe(pwid)}>; rel="cite-as"')
    return ", ".join(_fitting(all_links))


def _fitting(all_links: Sequence[str]) -> Iterable[str]:
    if sum(map(len, all_links)) + 2 * len(all_links) <= LONGEST_LINKS:
        return all_links
    return _cut(all_links)


def _cut(all_links: Iterable[str]) -> Iterator[str]:
    left = LONGEST_LINKS
    for number, link in enumerate(all_links):
        if number == 0 or len(link) + 2 <= left:
            left -= len(link) + 2
            yield link


def _mementos(
    resolution: Resolution, address: Callable[[Memento], str] | None
) -> tuple[str, ...]:
    chosen = resolution.memento
    if chosen is None:
        return ()
    around = neighbours(resolution, chosen)
    if address is not None:
        chosen = chosen._replace(uri=address(chosen))
        around = {name: each._replace(uri=address(each)) for name, each in around.items()}
    return _memento_links(chosen, around)


def _memento_links(chosen: Memento, around: Mapping[Relation, Memento]) -> tuple[str, ...]:
    """Return links to the chosen memento, then to its neighbours; one for each target (M-8)."""
    rels: dict[str, list[str]] = {chosen.uri: []}
    dates = {chosen.uri: chosen.stamp}
    for relation, memento in around.items():
        if dates.setdefault(memento.uri, memento.stamp) == memento.stamp:
            rels.setdefault(memento.uri, []).append(relation)
    return tuple(
        f'<{header_safe(uri)}>; rel="{" ".join([*names, "memento"])}"; '
        f'datetime="{http_date(dates[uri])}"'
        for uri, names in rels.items()
        if uri.startswith(WEB)
    )


def neighbours(resolution: Resolution, chosen: Memento) -> Mapping[Relation, Memento]:
    """Return the neighbours that the archive states, or nearer ones of other archives.

    A neighbour that the archive does not state is left out, because there may be one that is
    unknown. If archives were skipped, all are left out.
    """
    stated = _stated(resolution)
    named = _named(resolution) if stated else []
    best: dict[Relation, Memento] = {}
    for relation in stated:
        found = _NEAREST[relation](named, chosen.stamp)
        if found is not None:
            best[relation] = _memento_of(found)
    return best


_Named = tuple[str, Closest, Relation | None]
"""A stamp that the answer of an archive names, the answer, and the relation to the memento that
the archive chose; None for that one."""


def _named(resolution: Resolution) -> list[_Named]:
    """Return all stamps that the answers of the archives name, the best answer first."""
    named: list[_Named] = []
    for attempt in (resolution.best, *resolution.alternatives):
        if attempt is not None and isinstance(attempt.outcome, Closest):
            answer = attempt.outcome
            named.append((answer.memento.stamp, answer, None))
            for relation, stamp in stamps_of(answer.neighbours).items():
                named.append((stamp, answer, relation))
    return named


def _memento_of(named: _Named) -> Memento:
    _, answer, relation = named
    return answer.memento if relation is None else answer.neighbours[relation]


def known_mementos(resolution: Resolution) -> list[Memento]:
    """Return every memento that the answers of the archives name."""
    return [_memento_of(each) for each in _named(resolution)]


def _stated(resolution: Resolution) -> tuple[Relation, ...]:
    best = resolution.best
    if best is None or not isinstance(best.outcome, Closest) or resolution.skipped:
        return ()
    chosen, around = best.outcome.memento, best.outcome.neighbours
    stamps = stamps_of(around)
    return tuple(name for name in stamps if is_beside(name, stamps[name], chosen.stamp))


def _first(known: Sequence[_Named], _: str) -> _Named | None:
    return min(known, key=itemgetter(0), default=None)


def _last(known: Sequence[_Named], _: str) -> _Named | None:
    return max(known, key=itemgetter(0), default=None)


def _prev(known: Sequence[_Named], stamp: str) -> _Named | None:
    return _last([each for each in known if each[0] < stamp], stamp)


def _next(known: Sequence[_Named], stamp: str) -> _Named | None:
    return _first([each for each in known if each[0] > stamp], stamp)


_NEAREST: Final[Mapping[Relation, Callable[[Sequence[_Named], str], _Named | None]]] = {
    "first": _first,
    "prev": _prev,
    "next": _next,
    "last": _last,
}


def _pwid(resolution: Resolution, registry: Registry) -> str | None:
    """Return the PWID of the memento that was found; None if it cannot be named."""
    memento = resolution.memento
    entry = None if memento is None else registry.by_id(memento.archive)
    if memento is None or entry is None or not entry.pwid or resolution.extent is not None:
        return None
    is_raw = delivers_raw(resolution.query, memento, entry)
    try:
        return minted(memento.original, memento.captured, entry.pwid[0], raw=is_raw).canonical
    except Malformed:
        return None
