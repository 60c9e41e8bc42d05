"""What can be wrong, as ``application/problem+json`` (RFC 9457). Statuses are only here."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError, Refused, Resting, Unreachable
from archives.model import ArchiveEntry
from timegate.identifiers import KINDS
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.model import Attempt, Preferences, Resolution
from timegate.resolution.query import NotNegotiable
from timegate.responses.model import Response
from timegate.responses.report import unasked, unheard
from timegate.text import escaped

_REFUSALS = {"too-long": 414, "not-negotiable": 422}


def status_of_refusal(complaint: Malformed) -> int:
    """Return the status for text that could not be read."""
    return _REFUSALS.get(complaint.code, 400)


def status_of_reading(reading: ParsedIdentifier) -> int | None:
    """Return the status where an identifier cannot be negotiated; None where it can be asked.

    A ``tdb`` names a thing, not a document: 303 to the document (D-8). Whether an opaque PDI
    can be answered depends on the resolvers that are configured, not on its text.
    """
    if reading.identifier.document is not None:
        return 303
    kind = reading.kind
    if not kind.is_reference or kind.resolver or reading.identifier.negotiable:
        return None
    return 422


PROBLEM_TYPE: Final = "application/problem+json"
_FOR_RESOLVE: Final = tuple(prefix for kind in KINDS for prefix in kind.prefixes)
"""How the identifiers begin that a TimeGate cannot take: their time stands in them (M-41)."""
_TYPE: Final = "https://timegate.example/problems/"
_TITLES: Final = {
    "bad-identifier": "The identifier cannot be read",
    "bad-accept-datetime": "Accept-Datetime cannot be read",
    "bad-request": "The request cannot be read",
    "bad-parameter": "A parameter cannot be used",
    "too-long": "The identifier is too long",
    "not-negotiable": "The identifier cannot be negotiated in time",
    "unknown-archive": "The archive is not known here",
    "no-memento": "No archive that was asked holds a copy",
    "restricted-archive": "Only an archive with restricted access may hold a copy",
    "read-on-site": "The collection is read on site only",
    "precision-unmet": "No copy is as precise as was asked for",
    "upstream-incomplete": "Not every archive answered",
    "not-cached": "The answer is not in the cache",
    "method": "The method is not allowed here",
    "not-found": "There is nothing at this address",
    "not-acceptable": "There is no answer in a form that the client takes",
    "too-large": "The request is too large",
    "too-busy": "Too many requests at once",
    "timeout": "The request did not arrive in time",
    "internal": "An internal error happened",
    "damaged-record": "The copy is here, but its record cannot be read",
}
_RETRY: Final = 60


def problem(
    status: int,
    kind: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    **members: object,
) -> Response:
    """Write a problem. *detail* tells the user what to do."""
    body = {
        "type": _TYPE + kind,
        "title": _TITLES[kind],
        "status": status,
        "detail": printable(detail),
        **members,
    }
    fixed = {"Content-Type": PROBLEM_TYPE, "Cache-Control": _caching(status)}
    return Response(status, {**fixed, **(headers or {})}, json.dumps(body).encode())


def _caching(status: int) -> str:
    """404s heal quickly, failures are nobody's to keep (E-5)."""
    return "max-age=60" if status == 404 else "no-store"


def printable(text: str) -> str:
    """Return *text* without controls, and not longer than a person reads (E-1)."""
    shown = escaped(text[:1000])
    return shown if len(text) <= 1000 else shown + " ..."


def internal(error: Exception) -> Response:
    """Say that our own code failed, without the words of *error*, which may quote a URL."""
    why = f"an internal error happened ({type(error).__name__}); the server's log says where"
    return problem(500, "internal", why)


def unreadable(complaint: Malformed, text: str) -> Response:
    """Say that an identifier does not parse."""
    status = status_of_refusal(complaint)
    kinds = {414: "too-long", 422: "not-negotiable"}
    detail = f"{complaint.why}, at character {complaint.position + 1}"
    if status == 422 and text[complaint.position :].lower().startswith(_FOR_RESOLVE):
        detail += "; write it behind /resolve/, which takes more than URLs"
    return problem(
        status,
        kinds.get(status, "bad-identifier"),
        detail,
        identifier=printable(text[:200]),
        error=complaint.code,
        position=complaint.position,
    )


def not_negotiable(error: NotNegotiable) -> Response:
    """Say that an identifier names nothing that archives can be asked for."""
    status = 404 if error.code == "unknown-archive" else 422
    return problem(status, error.code, str(error))


def bad_accept_datetime(complaint: Malformed, headers: Mapping[str, str]) -> Response:
    """Say that a TimeGate was asked for a time that is none (M-12)."""
    detail = f"{complaint.why}; write it like Thu, 31 May 2007 20:35:00 GMT"
    return problem(
        400,
        "bad-accept-datetime",
        detail,
        headers=headers,
        error=complaint.code,
        position=complaint.position,
    )


def nothing_found(
    resolution: Resolution, named: ArchiveEntry | None, headers: Mapping[str, str]
) -> Response:
    """Say why there is no copy: nobody has one, somebody is silent, or it is locked up."""
    if resolution.preferences.only_if_cached:
        return problem(504, "not-cached", "ask again without only-if-cached", headers=headers)
    trail = _trail(resolution)
    if not resolution.complete:
        return _incomplete(resolution, headers, trail)
    if not resolution.attempts and _chosen(resolution.preferences):
        # A 404 would say that archives were asked, and said no.
        why = "no archive is left to ask: look at archives= and exclude=, and at /archives"
        return problem(400, "bad-parameter", why, headers=headers, archives=trail)
    missing = unheard(resolution, named)
    if missing is not None and named is not None and named.access != "open":
        return _restricted(named, missing, headers, trail)
    # Copies on the other side are none that was asked for.
    side = resolution.preferences.direction
    of_which = "" if side == "closest" else f" {side} the time asked for"
    detail = f"every archive that was asked answered that it has none{of_which}"
    if not resolution.attempts:
        detail = "no archive could be asked: /archives tells why"
    told: dict[str, object] = {"archives": trail}
    if resolution.unasked:
        spared = ", ".join(one.url for one in resolution.unasked)
        detail += f" of this URL; not every one was asked for {spared}"
        told["unasked"] = [*unasked(resolution)]
    if missing is not None:
        detail += f"; {missing}"
    return problem(404, "no-memento", detail, headers=headers, **told)


def _chosen(preferences: Preferences) -> bool:
    """Whether the client said whom to ask."""
    return preferences.archives is not None or bool(preferences.exclude)


def precision_unmet(
    resolution: Resolution, best: str, found: Sequence[object], headers: Mapping[str, str]
) -> Response:
    """Say that the *best* copy will not do; while somebody is silent, a better one may exist.

    A 404 would be kept and believed (E-3).
    """
    if not resolution.complete:
        sofar = f"the best copy so far is {best}; "
        trail = _trail(resolution)
        return _incomplete(resolution, headers, trail, sofar, alternatives=found)
    detail = f"the best copy is {best}; ask again with less precision"
    return problem(404, "precision-unmet", detail, headers=headers, alternatives=found)


def _incomplete(
    resolution: Resolution,
    headers: Mapping[str, str],
    trail: Sequence[object],
    sofar: str = "no copy was found, but ",
    **members: object,
) -> Response:
    failures = [a.outcome for a in resolution.attempts if isinstance(a.outcome, ArchiveError)]
    silent = all(isinstance(failure, Unreachable) for failure in failures)
    waits = [
        f.retry_after for f in failures if isinstance(f, Refused | Resting) and f.retry_after
    ]
    retry = max(1, min(int(min(waits)), 3600)) if waits else _RETRY
    silence = f"{', '.join(resolution.failed)} did not say; try again in {retry} seconds"
    return problem(
        504 if silent else 502,
        "upstream-incomplete",
        sofar + silence,
        headers={**headers, "Retry-After": str(retry)},
        archives=trail,
        **members,
    )


def _restricted(
    named: ArchiveEntry, missing: str, headers: Mapping[str, str], trail: Sequence[object]
) -> Response:
    others = "no other archive has a copy" if trail else "no other archive was asked"
    link = headers.get("Link", "")
    # The names of an archive that nobody may ask are those of who to turn to (P-43).
    homes = (*named.hosts, *(name for name in named.pwid if not name.startswith("~")))
    if homes:
        link = ", ".join(filter(None, (link, f'<https://{homes[0]}/>; rel="help"')))
    more = {**headers, "Link": link} if link else headers
    detail = f"{missing}; {others}"
    return problem(404, "restricted-archive", detail, headers=more, archives=trail)


def read_on_site(entry: ArchiveEntry) -> Response:
    """Say that a collection is not served, and whom to ask (P-43, H-3)."""
    note = " ".join(filter(None, (entry.access_note, entry.apply)))
    return problem(403, "read-on-site", f"{entry.name} is read on site only. {note}".rstrip())


def _outcome(attempt: Attempt) -> str:
    if attempt.outcome is None:
        return "absent"
    return "unknown" if isinstance(attempt.outcome, ArchiveError) else "found"


def _trail(resolution: Resolution) -> list[dict[str, object]]:
    told: list[dict[str, object]] = [
        {
            "archive": attempt.archive,
            "outcome": _outcome(attempt),
            "reason": printable(attempt.outcome.why)
            if isinstance(attempt.outcome, ArchiveError)
            else None,
        }
        for attempt in resolution.attempts
        # That it has no copy under one more spelling is no news.
        if attempt.variant is None or isinstance(attempt.outcome, ArchiveError)
    ]
    silent: list[dict[str, object]] = [
        {"archive": archive, "outcome": "unknown", "reason": "no answer in time"}
        for archive in resolution.unanswered
    ]
    return [*told, *silent]
