"""A verdict in words for people: as one sentence, and as one point for each member."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from timegate.resolution.model import WantedStatus
from timegate.text import duration
from timegate.verdict.comparison import (
    CLASS_PHRASES,
    explain_comparison,
    is_dated,
    remarks_on_comparison,
)
from timegate.verdict.header import Member, Verdict
from timegate.verdict.parts import (
    Explanation,
    Tone,
    explain_coherence,
    explain_parts,
    explain_spread,
    remarks_on_parts,
)

__all__ = [
    "GRADES",
    "Grade",
    "Point",
    "Tone",
    "archived_status",
    "duration",
    "explained",
    "grade",
    "in_words",
    "is_beyond_doubt",
    "remarks",
]

_EMPTY_TIME: Final = "ext-empty-timestamp"
"""The diagnostic of ``duri::URL``, an extension of the notation (D-7)."""
_TIME_PHRASES: Final = {
    "exact": "at exactly the requested time",
    "within": "within the requested time",
    "latest": "the newest copy",
    "current": "the original itself as it is now, no copy",
    "unknown": "captured at an unknown time",
}
_FOUND_LATEST: Final = "the newest copy that was found"
_ARCHIVE_PHRASES: Final = {
    "same": "in the requested archive",
    "alias": "in the requested archive, under another of its names",
    "other": "in another archive",
    "unknown": "in another archive: the requested one is unknown",
}
_URL_PHRASES: Final = {
    "same": "same URL",
    "normalized": "same URL",
    "redirected": "redirected to another URL",
    "unknown": "of a URL that the archive does not state",
}
_RULE_PHRASES: Final = {
    "scheme": "http instead of https or the reverse",
    "www": "with or without www",
    "slash": "with or without the last slash",
    "percent": "with other percent-encoding",
    "case": "in other capitals",
    "query-order": "with its query in another order",
    "fragment": "without its fragment",
    "userinfo": "without the user name",
    "fuzzy": "with another query or spelling",
    "also": "an equivalent URL that was given with it",
}
_GRAIN_PHRASES: Final = {
    "truncated": "dated to the second only",
    "coarser": "dated less precisely than requested",
    "padded": "the last digits of its date may be padding zeros",
}


def in_words(verdict: Verdict) -> str:
    """Return one sentence: "3 days later, in another archive, same URL; ..."."""
    facts = ", ".join(filter(None, _facts(verdict))) or "no copy found"
    return "; ".join(filter(None, (facts, remarks(verdict))))


def remarks(verdict: Verdict) -> str:
    """Return what is to be said of a copy beside its time, archive and URL; mostly empty."""
    return "; ".join(filter(None, _remarks(verdict)))


def _facts(verdict: Verdict) -> Iterator[str]:
    if verdict.time:
        yield _FOUND_LATEST if _may_be_older(verdict) else _time(verdict.time)
    if verdict.archive:
        yield _ARCHIVE_PHRASES.get(verdict.archive.value, "")
    if verdict.uri:
        yield _URL_PHRASES.get(verdict.uri.value) or _variant(verdict.uri)


def _may_be_older(verdict: Verdict) -> bool:
    """Whether it is the newest copy of some archives only: the others did not answer."""
    is_latest = verdict.time is not None and verdict.time.value == "latest"
    sources = verdict.sources
    return is_latest and sources is not None and bool(sources["failed"] or sources["unasked"])


def _time(time: Member) -> str:
    if time.value in _TIME_PHRASES:
        return _TIME_PHRASES[time.value]
    return _away(time)


def _away(time: Member) -> str:
    """Return how far a capture is before or after the requested time."""
    side = "earlier" if time.value == "before" else "later"
    distance = abs(int(time["delta"] or 0))
    return f"{duration(distance) if distance else 'less than a second'} {side}"


def _variant(uri: Member) -> str:
    return f"a variant of the URL: {_RULE_PHRASES.get(str(uri['rule']), 'differs')}"


def _remarks(verdict: Verdict) -> Iterator[str]:
    if verdict.granularity:
        yield _GRAIN_PHRASES.get(verdict.granularity.value, "")
    if verdict.time:
        yield from _remarks_on_time(verdict.time)
    if verdict.evidence and verdict.evidence.value == "promised":
        yield _remark_on_promise(verdict.evidence)
    if verdict.coverage and verdict.coverage.value in ("degraded", "ignored"):
        yield _extent(verdict.coverage)
    if verdict.content and verdict.content["status"]:
        yield f"the archived response has status {verdict.content['status']}"
    yield from remarks_on_parts(verdict)
    yield from remarks_on_comparison(verdict)
    if verdict.sources:
        yield from _remarks_on_sources(verdict.sources)
    if verdict.syntax and _is_malformed(verdict.syntax):
        yield _REPAIRED.get(str(verdict.syntax["diag"]), _MALFORMED)


_MALFORMED: Final = "the reference was malformed and was repaired"
_REPAIRED: Final = {"scheme-assumed": "http:// was added to the URL, which has no scheme"}
"""What is said of a reference with one diagnostic alone."""


def _is_malformed(syntax: Member) -> bool:
    """Whether it was repaired; an empty time is an extension, and no error (D-7)."""
    return syntax.value == "repaired" and syntax["diag"] != _EMPTY_TIME


def _remark_on_promise(evidence: Member) -> str:
    if evidence["failed"]:
        return f"promised by the archive, but the copy was not delivered: {evidence['failed']}"
    return "promised by the archive, not checked"


def _extent(coverage: Member) -> str:
    asked, got = coverage["req"], coverage["got"]
    if _is_selection(coverage):
        return f"{asked} not applied: this is the whole {got}"
    return f"a {got} instead of a {asked}"


def _is_selection(coverage: Member) -> bool:
    """Whether parts of a PDI were requested; the extent of a PWID is one word (P-6)."""
    return not str(coverage["req"]).isalpha()


def _remarks_on_time(time: Member) -> Iterator[str]:
    if time["doubt"]:
        yield f"doubtful: {time['doubt']}"
    if time["basis"] == "minted":
        yield "the time is only the day on which the identifier was minted"
    if time["basis"] == "asserted":
        yield "the time of the copy is what its writer asserted"
    if time["live"] == "no-answer":
        yield "the original itself did not answer"
    if time["live"] == "answered":
        yield f"it answered at {time['got']}"


def _remarks_on_sources(sources: Member) -> Iterator[str]:
    asked, failed = sources["asked"], sources["failed"]
    if not asked:
        yield "no archive was queried"
    elif failed:
        yield f"{failed} of {asked} archives did not answer"
    if sources["unasked"]:
        yield "the requested archive was not queried"
    if sources["variants"]:
        yield "not every archive was queried for variants of the URL"


class Point(NamedTuple):
    """One member of a verdict."""

    topic: str
    tone: Tone
    sentence: str


class Grade(NamedTuple):
    """The quality of an answer, and what follows from it."""

    tone: Tone
    headline: str
    redirects: bool = False
    """Whether a browser is redirected to the copy at once; otherwise the page is shown."""
    meets: bool = False
    """Whether the copy is what was requested: the command line exits with 0, otherwise 1."""


Distance = Literal["none", "second", "day", "days", "weeks", "months", "years", "unknown"]
_DISTANCES: Final[tuple[tuple[int, Distance], ...]] = (
    (0, "none"),
    (1, "second"),
    (86_400, "day"),
    (14 * 86_400, "days"),
    (60 * 86_400, "weeks"),
    (365 * 86_400, "months"),
)
_ELSEWHERE: Final = "A substitute from another archive"
GRADES: Final[Mapping[tuple[str, Distance], Grade]] = {
    ("exact", "none"): Grade("good", "Exactly as requested", redirects=True, meets=True),
    ("within", "none"): Grade("good", "As requested", redirects=True, meets=True),
    ("promised", "none"): Grade("fair", "Promised by the archive, not checked"),
    ("approximate", "none"): Grade("fair", "Close, but not exactly as requested"),
    ("approximate", "second"): Grade("fair", "Close: one second away"),
    ("approximate", "day"): Grade("fair", "Close: less than a day away"),
    ("approximate", "days"): Grade("fair", "Near: some days away"),
    ("approximate", "weeks"): Grade("fair", "Some weeks away"),
    ("approximate", "months"): Grade("poor", "Months away: the page may have changed"),
    ("approximate", "years"): Grade("poor", "More than a year away: probably another page"),
    ("approximate", "unknown"): Grade("poor", "A copy of unknown time"),
    ("substitute", "none"): Grade("fair", _ELSEWHERE, meets=True),
    ("substitute", "second"): Grade("fair", f"{_ELSEWHERE}, one second away"),
    ("substitute", "day"): Grade("fair", f"{_ELSEWHERE}, less than a day away"),
    ("substitute", "days"): Grade("fair", f"{_ELSEWHERE}, some days away"),
    ("substitute", "weeks"): Grade("fair", f"{_ELSEWHERE}, some weeks away"),
    ("substitute", "months"): Grade("poor", f"{_ELSEWHERE}, months away"),
    ("substitute", "years"): Grade(
        "poor", f"{_ELSEWHERE}, more than a year away: probably another page"
    ),
    ("substitute", "unknown"): Grade("poor", f"{_ELSEWHERE}, of unknown time"),
    ("live", "none"): Grade(
        "good", "The original itself, as it is now", redirects=True, meets=True
    ),
    ("none", "none"): Grade("poor", "No copy was found"),
}
"""The grade of each value of ``match``, by the distance from the requested time. The page, the
command line and the report take their words from here."""


def grade(verdict: Verdict, status: WantedStatus = "2xx") -> Grade:
    """Return the grade of the answer, for a client that wants archived responses of *status*.

    An archived error or redirect of a page is not what was requested, nor is a substitute that
    differs in more than its archive, or that is only promised.
    """
    row = GRADES[_graded_match(verdict), _distance(verdict)]
    if row.tone == "good" and _may_be_older(verdict):
        headline = f"{_FOUND_LATEST[0].upper()}{_FOUND_LATEST[1:]}"
        row = row._replace(tone="fair", headline=headline)
    code = archived_status(verdict)
    if code is not None:
        row = _with_status(row, code)
        if status == "2xx" and not _is_part(verdict):
            return row._replace(redirects=False, meets=False)
    row = _with_comparison(row, verdict)
    return row if not row.meets or is_beyond_doubt(verdict) else row._replace(meets=False)


DOUBTED: Final = "Found, but another date may be meant"
"""The headline of a copy for a text that leaves a doubt about the date."""
DOUBTED_LINK: Final = "Found, but another link may be meant"
"""The headline of a copy for a text whose link is mistyped, if its date is certain."""
_NEAR: Final = "Identical on both sides of the time asked for"
_NEARLY_EXACT: Final = frozenset({"second", "day", "days", "weeks", "months"})


def _with_comparison(row: Grade, verdict: Verdict) -> Grade:
    """Return *row* for a copy whose content was compared.

    One that is identical on both sides of the time is graded nearly as an exact one; it does
    not meet the request, because nothing is known of the time between. One that is not the page
    at all is never good, whatever its time.
    """
    found = verdict.comparison
    if found is None:
        return row
    if found["class"]:
        what = f"The copy seems to be {CLASS_PHRASES[str(found['class'])]}"
        return Grade("poor", what)
    if found.value == "changed" and row.tone == "good":
        # Another copy of the requested time may have another text.
        return row._replace(
            tone="fair", headline=f"{row.headline}, but the text changed between two copies"
        )
    is_near = verdict.match.value in ("approximate", "substitute") and (
        _distance(verdict) in _NEARLY_EXACT
    )
    if found.value != "same-around" or not is_near or not is_beyond_doubt(verdict):
        return row
    if verdict.match.value == "substitute":
        return row._replace(
            tone="good", headline=f"{_ELSEWHERE}: {_NEAR[0].lower()}{_NEAR[1:]}"
        )
    return row._replace(tone="good", headline=_NEAR, redirects=True)


def _with_status(row: Grade, code: int) -> Grade:
    """Return *row* for a copy of an error or a redirect, which is never called as requested."""
    what = f"A copy of {'a redirect' if 300 <= code <= 399 else 'an error'} ({code})"
    if row.tone == "good":
        return row._replace(tone="fair", headline=what)
    return row._replace(headline=f"{row.headline}; {what[0].lower()}{what[1:]}")


def _graded_match(verdict: Verdict) -> str:
    """Return ``match``; a promise is no more than a promise, also from a TimeGate."""
    match, evidence = verdict.match.value, verdict.evidence
    is_promised = evidence is not None and evidence.value == "promised"
    return "promised" if match in ("exact", "within") and is_promised else match


def archived_status(verdict: Verdict) -> int | None:
    """Return the archived status if it is known, and not that of a page."""
    status = None if verdict.content is None else verdict.content["status"]
    return None if status is None or 200 <= int(status) <= 299 else int(status)


def _is_part(verdict: Verdict) -> bool:
    return verdict.coverage is not None and verdict.coverage["req"] == "part"


def is_beyond_doubt(verdict: Verdict) -> bool:
    """Whether the copy is of the same page and extent, and neither doubtful nor promised."""
    uri, coverage, time = verdict.uri, verdict.coverage, verdict.time
    if uri is None or coverage is None or time is None or time["doubt"] is not None:
        return False
    is_same = uri.value in ("same", "normalized") and (
        coverage.value in ("as-requested", "upgraded")
    )
    return is_same and not (verdict.evidence and verdict.evidence.value == "promised")


_WITHOUT_DISTANCE: Final = ("exact", "within", "promised", "live", "none")


def _distance(verdict: Verdict) -> Distance:
    """Return how far from the requested time the copy is, in words of the table."""
    time = verdict.time
    if time is None or verdict.match.value in _WITHOUT_DISTANCE:
        return "none"
    if time.value == "unknown":
        return "unknown"
    away = abs(int(time["delta"] or 0))
    return next((name for most, name in _DISTANCES if away <= most), "years")


def explained(verdict: Verdict) -> Iterator[Point]:
    """Yield a point for each member that has something to say, the most important first."""
    for name, (topic, explain) in _EXPLANATIONS.items():
        member: Member | None = getattr(verdict, name)
        explanation = None if member is None else explain(member)
        if member is not None and name == "comparison":
            explanation = explain_comparison(member, is_dated=is_dated(verdict))
        if explanation is not None:
            yield Point(topic, *explanation)


def _explain_time(time: Member) -> Explanation:
    if time.value == "current":
        asked = "An empty time means now"
        return "good", f"{asked}: the original itself answered at {time['got']}. It is no copy."
    is_asserted = time["basis"] == "asserted"
    event = "is, as its writer asserted, of" if is_asserted else "was captured"
    got = f"The copy {event} {time['got']}"
    doubt = f" The date is doubtful: {time['doubt']}." if time["doubt"] else ""
    good: Tone = "fair" if doubt or is_asserted else "good"
    if time.value == "latest":
        basis = "; no time was requested, so this is the newest copy found"
        if time["live"] == "no-answer":
            basis = "; the original itself did not answer, so this is the newest copy found"
        return good, f"{got}{basis}.{doubt}"
    until = f" until {time['until']}" if time["until"] else ""
    asked = f"{time['req']}{until}"
    if time.value in ("exact", "within"):
        return good, f"Requested: {asked}. {got}.{doubt}"
    if time.value == "unknown":
        return "poor", f"Requested: {asked}. It is not known when the copy was captured.{doubt}"
    return "fair", f"Requested: {asked}. {got}, {_away(time)}.{doubt}"


def _explain_archive(archive: Member) -> Explanation:
    asked, got = archive["req"], archive["got"]
    sentences: Mapping[str, Explanation] = {
        "any": ("good", f"No archive was requested. Found in {got}."),
        "same": ("good", f"Found in the requested archive, {asked}."),
        "alias": ("good", f"Found in the requested archive, {asked}, which is {got}."),
        "other": ("fair", f"Requested: {asked}. Found in {got} instead."),
        "unknown": ("fair", f"The requested archive, {asked}, is unknown. Found in {got}."),
    }
    return sentences.get(archive.value)


_RULE_SENTENCES: Final = {
    "scheme": "http and https differ",
    "www": "www. differs",
    "slash": "the last slash differs",
    "percent": "its percent-encoding differs",
    "case": "capitals differ",
    "query-order": "its query is in another order",
    "fragment": "archives ignore fragments",
    "userinfo": "user names and passwords are not sent to archives",
    "fuzzy": "its query or spelling differs",
    "also": "it was given as equivalent",
    "port": "the default port is given or omitted",
}


def _explain_uri(uri: Member) -> Explanation:
    rule = _RULE_SENTENCES.get(str(uri["rule"]), "")
    got = f" The copy is of {uri['got']}." if uri["got"] else ""
    sentences: Mapping[str, Explanation] = {
        "same": ("good", "The URL is the requested one."),
        "normalized": ("good", f"The URL is the requested one in another spelling: {rule}."),
        "variant": ("fair", f"The URL is a variant of the requested one: {rule}.{got}"),
        "redirected": ("fair", f"The archive leads to another URL.{got}"),
        "unknown": ("poor", "The archive does not state the URL of the copy."),
    }
    return sentences.get(uri.value)


def _explain_granularity(grain: Member) -> Explanation:
    asked, got = grain["req"], grain["got"]
    sentences: Mapping[str, Explanation] = {
        "truncated": ("fair", f"Requested to the {asked}, but dated only to the {got}."),
        "coarser": ("fair", f"Requested to the {asked}, but dated only to the {got}."),
        "padded": ("fair", f"Dated to the {got}; the zeros after it may be padding."),
    }
    return sentences.get(grain.value)


def _explain_coverage(coverage: Member) -> Explanation:
    if coverage.value not in ("degraded", "ignored"):
        return None
    if _is_selection(coverage):
        sentence = f"Not applied: {coverage['req']}. This is the whole {coverage['got']}."
        return "fair", sentence
    return "fair", f"A {coverage['req']} was requested, but this is a {coverage['got']}."


def _explain_content(content: Member) -> Explanation:
    if content["status"]:
        return "fair", f"The archived response has status {content['status']}."
    sentences: Mapping[str, Explanation] = {
        "raw": ("good", "The bytes are delivered as they were archived."),
        "rewritten": ("good", "The archive replays the page with rewritten links."),
    }
    return sentences.get(content.value)


def _explain_sources(sources: Member) -> Explanation:
    asked, failed = sources["asked"], int(sources["failed"] or 0)
    unasked = " The requested archive was not queried." if sources["unasked"] else ""
    if not asked:
        return "poor", f"No archive was queried.{unasked}"
    if failed:
        sentence = f"{failed} of {asked} archives did not answer: a better copy may exist."
    else:
        sentence = f"All archives that were queried have answered ({asked})."
    if sources["variants"]:
        sentence += " Not every archive was queried for variants of the URL."
    good = not (failed or unasked or sources["variants"])
    return ("good" if good else "fair"), f"{sentence}{unasked}"


def _explain_syntax(syntax: Member) -> Explanation:
    if syntax.value == "strict":
        return None
    if syntax.value == "legacy":
        return "good", "The reference is in an old notation."
    if not _is_malformed(syntax):
        return "good", "The time of the reference is empty, which means now."
    said = _REPAIRED.get(str(syntax["diag"]), _MALFORMED)
    tone: Tone = "fair" if said == _MALFORMED else "good"
    return tone, f"{said[0].upper() if said == _MALFORMED else said[0]}{said[1:]}."


def _explain_evidence(evidence: Member) -> Explanation:
    if evidence["failed"]:
        why = f"The copy was not delivered when this was checked: {evidence['failed']}."
        return "poor", f"The archive names this copy. {why}"
    view = " in its raw view" if evidence["view"] == "raw" else ""
    sentences: Mapping[str, Explanation] = {
        "promised": ("fair", "The archive names this copy; it was not checked."),
        "delivered": ("good", f"The archive delivered this copy{view} when it was checked."),
        "held": ("good", "The copy was read from a collection of this server."),
        "original": ("good", "The original was requested; a later request may get another."),
    }
    return sentences.get(evidence.value)


_EXPLANATIONS: Final[Mapping[str, tuple[str, Callable[[Member], Explanation]]]] = {
    "time": ("Time", _explain_time),
    "archive": ("Archive", _explain_archive),
    "uri": ("URL", _explain_uri),
    "granularity": ("Date", _explain_granularity),
    "coverage": ("Extent", _explain_coverage),
    "content": ("Archived response", _explain_content),
    "evidence": ("Evidence", _explain_evidence),
    "comparison": ("Same page", explain_comparison),
    "parts": ("Parts", explain_parts),
    "spread": ("Times of the parts", explain_spread),
    "coherence": ("Coherence", explain_coherence),
    "sources": ("Sources", _explain_sources),
    "syntax": ("Reference", _explain_syntax),
}
