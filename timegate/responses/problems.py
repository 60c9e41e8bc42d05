"""Problems as ``application/problem+json`` (RFC 9457): their statuses, titles and details."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.errors import ArchiveError, Refused, Resting, Unreachable
from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.identifiers import KINDS
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.model import Attempt, Preferences, Resolution
from timegate.resolution.query import NotNegotiable
from timegate.responses.model import Response
from timegate.responses.referral import missing_named_archive, named_archive
from timegate.responses.report import identifier_of, live_member, referred, unasked
from timegate.text import escaped, sentence

PROBLEM_TYPE: Final = "application/problem+json"
_TYPE: Final = "https://timegate.example/problems/"
_TITLES: Final = {
    "bad-identifier": "The identifier is not valid",
    "bad-accept-datetime": "Accept-Datetime is not valid",
    "bad-request": "The request is not valid",
    "bad-list": "The list cannot be read",
    "bad-parameter": "A parameter is not valid",
    "too-long": "The identifier is too long",
    "not-negotiable": "Archives cannot be queried for this identifier",
    "unknown-archive": "The archive is not registered",
    "no-memento": "No archive that was queried holds a copy",
    "archive-not-asked": "The archive that the reference names was not queried",
    "restricted-archive": "Only an archive with restricted access may hold a copy",
    "read-on-site": "The collection can only be read on site",
    "precision-unmet": "No copy is as precise as requested",
    "upstream-incomplete": "Not every archive answered",
    "no-network": "This server seems to have no network",
    "unjudged": "The filter cannot judge the captures",
    "loop": "The request has come back to this server",
    "no-index": "Not every archive lists captures of many URLs",
    "not-cached": "The answer is not in the cache",
    "method": "The method is not allowed here",
    "not-found": "There is nothing at this address",
    "not-acceptable": "The response is not available in an accepted format",
    "too-large": "The request is too large",
    "too-busy": "Too many requests at once",
    "timeout": "The request did not arrive in time",
    "internal": "An internal error occurred",
    "damaged-record": "The record of the copy is damaged",
    "token-required": "A token of the store is required",
    "not-writable": "The store accepts no writes",
    "instant-taken": "The instant holds another revision",
    "precondition-failed": "The current revision is another one",
    "name-taken": "The name is that of another document",
    "digest-mismatch": "The body does not have the stated digest",
    "store-full": "The store is full",
    "store-failed": "The store could not write the revision",
}
_NEXT_STEPS: Final[Mapping[str, str]] = {
    "bad-identifier": "Correct it below and search again.",
    "too-long": "Shorten it, or enter the URL and a date below.",
    "not-negotiable": "Enter an http or https URL below.",
    "unknown-archive": "Enter the URL and a date below: another archive may have a copy.",
    "no-memento": "Try another spelling of the URL, or another address of the page.",
    "read-on-site": "Contact the institution that keeps the collection.",
    "restricted-archive": "Contact the archive, or try another spelling of the URL.",
    "precision-unmet": "Use one of the copies below, or accept a less precise one.",
    "upstream-incomplete": "Wait a moment and try again.",
    "no-network": "Check the network connection, the name server and the firewall of this "
    "server, then try again.",
    "not-cached": "Reload this page.",
    "too-busy": "Wait a moment and reload this page.",
}
_STATUSES: Final = {"too-long": 414, "not-negotiable": 422}
"""Statuses of identifiers that cannot be read, other than 400, by the code of the complaint."""
_FOR_RESOLVE: Final = tuple(prefix for kind in KINDS for prefix in kind.prefixes)
"""Prefixes of identifiers that state their time, which a TimeGate does not accept (M-41)."""
_RETRY_AFTER: Final = 60
"""Seconds until the next attempt, if no archive has stated a time."""


def status_of_refusal(complaint: Malformed) -> int:
    """Return the status for a text that cannot be read."""
    return _STATUSES.get(complaint.code, 400)


def status_of_reading(reading: ParsedIdentifier) -> int | None:
    """Return the status for an identifier that archives cannot be queried for; None otherwise.

    A ``tdb`` names a thing, not a document: 303 to the document (D-8). Whether an opaque PDI
    can be resolved depends on the configured resolvers, not on its text.
    """
    if reading.identifier.document is not None:
        return 303
    kind = reading.kind
    if not kind.is_reference or kind.resolver or reading.identifier.negotiable:
        return None
    return 422


def problem(
    status: int,
    kind: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    **members: object,
) -> Response:
    """Return a problem. *detail* tells the user what is wrong and what to do."""
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
    """Return the Cache-Control: a minute for 404, nothing for failures (E-5)."""
    return "max-age=60" if status == 404 else "no-store"


def printable(text: str) -> str:
    """Return *text* without control characters, shortened to a readable length (E-1)."""
    shown = escaped(text[:1000])
    return shown if len(text) <= 1000 else shown + " ..."


def internal(error: Exception) -> Response:
    """Return the problem for an unforeseen error; its own message may quote a URL."""
    detail = f"an internal error occurred ({type(error).__name__}); see the log of the server"
    return problem(500, "internal", detail)


def unreadable(complaint: Malformed, text: str) -> Response:
    """Return the problem for an identifier that cannot be read."""
    status = status_of_refusal(complaint)
    kinds = {414: "too-long", 422: "not-negotiable"}
    detail = f"{complaint.why}, at character {complaint.position + 1}"
    if status == 422 and text[complaint.position :].lower().startswith(_FOR_RESOLVE):
        detail += "; use /resolve/, which accepts other identifiers than URLs"
    return problem(
        status,
        kinds.get(status, "bad-identifier"),
        detail,
        identifier=printable(text[:200]),
        error=complaint.code,
        position=complaint.position,
    )


def not_negotiable(error: NotNegotiable) -> Response:
    """Return the problem for a valid identifier that archives cannot be queried for."""
    status = 404 if error.code == "unknown-archive" else 422
    return problem(status, error.code, str(error))


def bad_accept_datetime(complaint: Malformed, headers: Mapping[str, str]) -> Response:
    """Return the problem for a bad Accept-Datetime (M-12)."""
    detail = f"{complaint.why}; write it as in Thu, 31 May 2007 20:35:00 GMT"
    return problem(
        400,
        "bad-accept-datetime",
        detail,
        headers=headers,
        error=complaint.code,
        position=complaint.position,
    )


def unjudged_captures(
    count: int, fields: Sequence[str], headers: Mapping[str, str]
) -> Response:
    """Return the problem for captures that a filter cannot judge, if it accepts no other.

    It is not an empty list, which would mean that no capture fits, and not 502 or 504, which
    clients repeat: the archives will not state these fields later either.
    """
    names = " and ".join(fields)
    detail = (
        f"captures were found ({count}), but their archives do not state {names}, so filter "
        f"cannot judge them; repeat the request without a filter on {names}"
    )
    return problem(422, "unjudged", detail, headers=headers, unjudged=count)


def unlisted_archives(archives: Sequence[str], headers: Mapping[str, str]) -> Response:
    """Return the problem for a range of URLs of which no archive with an index has captures.

    It is not an empty list: the other archives may have some, and cannot be asked.
    """
    detail = (
        "no archive with an index of many URLs has captures there, and "
        f"{len(archives)} have no such index; ask for single URLs, or limit the archives "
        "by archives="
    )
    return problem(422, "no-index", detail, headers=headers, archives=[*archives])


def next_step(problem: Mapping[str, object]) -> str:
    """Return what the user can do about *problem*; empty if nothing helps."""
    return _NEXT_STEPS.get(str(problem["type"]).rpartition("/")[2], "")


class Failure(NamedTuple):
    """Why there is no memento, for people."""

    kind: str
    title: str
    detail: str
    next_step: str


def no_network(detail: str) -> Failure:
    """Return the failure of a machine without network."""
    kind = "no-network"
    return Failure(kind, _TITLES[kind], detail, _NEXT_STEPS[kind])


def failure(resolution: Resolution, registry: Registry) -> Failure:
    """Return why *resolution* has no memento, in the words of the problem."""
    return failure_in(json.loads(nothing_found(resolution, registry, {}).body))


def failure_in(problem: Mapping[str, object]) -> Failure:
    """Return what *problem* says; the advice of a referral is the next step."""
    referral = problem.get("referral")
    advice = str(referral["advice"]) if isinstance(referral, dict) else ""
    detail = str(problem["detail"]).removesuffix(f"; {advice}")
    step = sentence(advice) if advice else next_step(problem)
    kind = str(problem["type"]).rpartition("/")[2]
    return Failure(kind, str(problem["title"]), detail, step)


def nothing_found(
    resolution: Resolution,
    registry: Registry | None,
    headers: Mapping[str, str],
    names: Registry | None = None,
) -> Response:
    """Return the problem for a resolution without memento.

    Either all archives lack the page, or some did not answer, or the archive that the reference
    names was not queried, or access is restricted. *registry* is None if none is named; then
    *names* has the names of the archives.
    """
    unchecked = _unchecked(resolution, registry)
    if resolution.preferences.only_if_cached:
        detail = "no cached answer has a copy; repeat the request without only-if-cached"
        return problem(504, "not-cached", detail, headers=headers, **unchecked)
    missing = None if registry is None else missing_named_archive(resolution, registry)
    members = {
        "archives": _attempts(resolution),
        "identifier": identifier_of(resolution.query),
        **({"wait": wait} if (wait := resolution.preferences.wait) else {}),
        **unchecked,
        **live_member(resolution),
    }
    if not resolution.complete:
        unqueried = missing if resolution.unqueried is not None else None
        names = registry or names
        if names is not None and _is_offline(resolution, names):
            return _offline(resolution, headers, members)
        return _incomplete(resolution, headers, members, missing=unqueried, names=names)
    if not resolution.attempts and _chooses_archives(resolution.preferences):
        # A 404 would mean that archives were queried and lack the page.
        advice = "check archives= and exclude= against /archives"
        detail = "; ".join(("no archive is left to query", *_refusals(resolution), advice))
        return problem(400, "bad-parameter", detail, headers=headers, **members)
    if resolution.unasked:
        members["unasked"] = [*unasked(resolution)]
    named = None if registry is None else named_archive(resolution, registry)
    if named is None or missing is None:
        said = (_absence(resolution), *_refusals(resolution), missing or "")
        detail = "; ".join(filter(None, said))
        return problem(404, "no-memento", detail, headers=headers, **members)
    return _without_named(resolution, named, missing, headers, members)


def _without_named(
    resolution: Resolution,
    named: ArchiveEntry,
    missing: str,
    headers: Mapping[str, str],
    members: Mapping[str, object],
) -> Response:
    """Return the problem for a *named* archive that may hold the copy nevertheless (E-2).

    Either it shows programs nothing, also if it has answered, or it was not queried.
    """
    skip = resolution.unqueried
    if skip is None or skip.cause == "on-site":
        return _restricted(named, missing, headers, members)
    found = members.get("referral")
    advice = found["advice"] if isinstance(found, dict) else ""
    detail = "; ".join(filter(None, (missing, _others(members), advice)))
    return problem(404, "archive-not-asked", detail, headers=headers, **members)


def _unchecked(resolution: Resolution, registry: Registry | None) -> dict[str, object]:
    """Return the member ``referral`` where there is one."""
    found = None if registry is None else referred(resolution, registry)
    return {} if found is None else {"referral": found.as_json()}


def _others(members: Mapping[str, object]) -> str:
    if members["archives"]:
        return "no other archive that was queried has a copy"
    return "no other archive was queried"


def _absence(resolution: Resolution) -> str:
    if not resolution.attempts:
        return "no archive could be queried; /archives shows why"
    direction = resolution.preferences.direction
    limit = "" if direction == "closest" else f" {direction} the requested time"
    detail = f"every archive that was queried answered that it holds no copy{limit}"
    if resolution.unasked:
        urls = ", ".join(variant.url for variant in resolution.unasked)
        detail += f"; not every one was queried for {urls}"
    return detail


def _refusals(resolution: Resolution) -> Iterator[str]:
    """Yield what was not queried because it must not be."""
    for archive, _, reason in resolution.refused:
        yield f"{archive} was not queried: {reason}"


def _chooses_archives(preferences: Preferences) -> bool:
    return preferences.archives is not None or bool(preferences.exclude)


def precision_unmet(
    resolution: Resolution,
    best: str,
    found: Sequence[object],
    headers: Mapping[str, str],
    registry: Registry | None = None,
) -> Response:
    """Return the problem for a memento that is less precise than requested.

    While an archive has not answered, a better one may exist, and a 404 would be cached and
    believed (E-3). *best* describes the memento.
    """
    members = {"alternatives": found, **_unchecked(resolution, registry)}
    if not resolution.complete:
        result = f"the best copy so far is {best}; "
        members["archives"] = _attempts(resolution)
        return _incomplete(resolution, headers, members, result, names=registry)
    detail = f"the best copy is {best}; request less precision to get it"
    return problem(404, "precision-unmet", detail, headers=headers, **members)


def _is_offline(resolution: Resolution, registry: Registry) -> bool:
    """Whether all archives on the network failed, and some because there is no way to them."""
    remote = [a for a in resolution.attempts if not _is_local(a.archive, registry)]
    outcomes = [attempt.outcome for attempt in remote]
    lost = [o for o in outcomes if isinstance(o, Unreachable | Resting) and o.no_network]
    paused = [o for o in outcomes if isinstance(o, Resting) and not o.no_network]
    failed = {error.archive for error in (*lost, *paused)}
    return bool(lost) and len(lost) + len(paused) == len(outcomes) and len(failed) > 1


def _why_lost(resolution: Resolution) -> str:
    """Return why there is no way to an archive, also where a pause follows from that."""
    for attempt in resolution.attempts:
        outcome = attempt.outcome
        if isinstance(outcome, Unreachable) and outcome.no_network:
            return outcome.why
        if isinstance(outcome, Resting) and outcome.no_network:
            return outcome.no_network
    return ""


def _is_local(archive: str, registry: Registry) -> bool:
    entry = registry.by_id(archive)
    return entry is not None and entry.kind.is_local


def _offline(
    resolution: Resolution, headers: Mapping[str, str], members: Mapping[str, object]
) -> Response:
    reason = _why_lost(resolution).partition(";")[0]
    reason = reason.replace("its name cannot", "their names cannot", 1)
    asked = " that were asked" if resolution.outside else ""
    detail = f"none of the {len(resolution.failed)} archives{asked} could be reached ({reason})"
    return problem(
        504,
        "no-network",
        detail,
        headers={**headers, "Retry-After": str(_RETRY_AFTER)},
        **members,
    )


def _incomplete(  # noqa: PLR0913 -- the parts of a problem
    resolution: Resolution,
    headers: Mapping[str, str],
    members: Mapping[str, object],
    result: str = "no copy was found, but ",
    *,
    missing: str | None = None,
    names: Registry | None = None,
) -> Response:
    failures = [a.outcome for a in resolution.attempts if isinstance(a.outcome, ArchiveError)]
    unreachable = all(isinstance(failure, Unreachable) for failure in failures)
    waits = [
        f.retry_after for f in failures if isinstance(f, Refused | Resting) and f.retry_after
    ]
    retry = max(1, min(int(min(waits)), 3600)) if waits else _RETRY_AFTER
    silent = ", ".join(_name(archive, names) for archive in resolution.failed)
    silent += f" did not answer; try again in {retry} seconds"
    return problem(
        504 if unreachable else 502,
        "upstream-incomplete",
        "; ".join(filter(None, (result + silent, missing))),
        headers={**headers, "Retry-After": str(retry)},
        **members,
    )


def _name(archive: str, registry: Registry | None) -> str:
    entry = None if registry is None else registry.by_id(archive)
    return archive if entry is None else entry.name


def _restricted(
    named: ArchiveEntry,
    missing: str,
    headers: Mapping[str, str],
    members: Mapping[str, object],
) -> Response:
    link = headers.get("Link", "")
    # The website of the archive tells people whom to contact (P-43).
    sites = (*named.hosts, *(name for name in named.pwid if not name.startswith("~")))
    if sites:
        link = ", ".join(filter(None, (link, f'<https://{sites[0]}/>; rel="help"')))
    more = {**headers, "Link": link} if link else headers
    detail = f"{missing}; {_others(members)}"
    return problem(404, "restricted-archive", detail, headers=more, **members)


def read_on_site(entry: ArchiveEntry) -> Response:
    """Return the problem for a collection that is not served online (P-43, H-3)."""
    note = " ".join(filter(None, (entry.access_note, entry.apply)))
    detail = f"{entry.name} can only be read on site. {note}".rstrip()
    return problem(403, "read-on-site", detail)


def _outcome(attempt: Attempt) -> str:
    if attempt.outcome is None:
        return "absent"
    return "unknown" if isinstance(attempt.outcome, ArchiveError) else "found"


def _attempts(resolution: Resolution) -> list[dict[str, object]]:
    answered: list[dict[str, object]] = [
        {
            "archive": attempt.archive,
            "outcome": _outcome(attempt),
            "reason": printable(attempt.outcome.why)
            if isinstance(attempt.outcome, ArchiveError)
            else None,
        }
        for attempt in resolution.attempts
        # That an archive lacks a URL variant too is left out.
        if attempt.variant is None or isinstance(attempt.outcome, ArchiveError)
    ]
    unanswered: list[dict[str, object]] = [
        {"archive": archive, "outcome": "unknown", "reason": "no answer in time"}
        for archive in resolution.unanswered
    ]
    return [*answered, *unanswered]
