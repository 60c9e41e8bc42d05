"""A verdict for people who judge it: each member in a line, what was asked and what was got.

Tones are words, so that a page can say them without colour: ``good``, ``fair``, ``poor``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from timegate.verdict.member import Member, Verdict
from timegate.verdict.words import duration

Tone = Literal["good", "fair", "poor"]


class Point(NamedTuple):
    """One member of a verdict."""

    topic: str
    tone: Tone
    sentence: str


_HEADLINES: Final[Mapping[str, tuple[Tone, str]]] = {
    "exact": ("good", "Exactly what was asked for"),
    "within": ("good", "As asked for"),
    "approximate": ("fair", "Close, but not quite what was asked for"),
    "substitute": ("fair", "A substitute from another archive"),
    "none": ("poor", "No copy was found"),
}


def headline(verdict: Verdict) -> tuple[Tone, str]:
    """Return how good the answer is, in a few words."""
    return _HEADLINES.get(verdict.match.value, ("poor", verdict.match.value))


def explained(verdict: Verdict) -> Iterator[Point]:
    """Yield what there is to say of each member, the weightiest first."""
    for name, (topic, explain) in _EXPLANATIONS.items():
        member: Member | None = getattr(verdict, name)
        told = None if member is None else explain(member)
        if told is not None:
            yield Point(topic, *told)


_Told = tuple[Tone, str] | None


def _time(time: Member) -> _Told:
    got = f"The copy was captured {time['got']}"
    doubt = f" There is a doubt: {time['doubt']}." if time["doubt"] else ""
    good: Tone = "fair" if doubt else "good"
    if time.value == "latest":
        basis = "; no time was asked for, so this is the newest known"
        return good, f"{got}{basis}.{doubt}"
    until = f" to before {time['until']}" if time["until"] else ""
    asked = f"{time['req']}{until}"
    if time.value in ("exact", "within"):
        return good, f"Asked for {asked}. {got}.{doubt}"
    if time.value == "unknown":
        return "poor", f"Asked for {asked}. When the copy was captured is not known.{doubt}"
    away = duration(abs(int(time["delta"] or 0)))
    side = "earlier" if time.value == "before" else "later"
    return "fair", f"Asked for {asked}. {got}, {away} {side}.{doubt}"


def _archive(archive: Member) -> _Told:
    asked, got = archive["req"], archive["got"]
    told: Mapping[str, _Told] = {
        "any": ("good", f"Any archive would do. Found in {got}."),
        "same": ("good", f"Asked for {asked}, and found there."),
        "alias": ("good", f"Asked for {asked}, which is {got}, and found there."),
        "other": ("fair", f"Asked for {asked}. Found in {got} instead."),
        "unknown": ("fair", f"Nobody here knows the archive {asked}. Found in {got}."),
    }
    return told.get(archive.value)


_RULES: Final = {
    "scheme": "http and https differ",
    "www": "www. differs",
    "slash": "the last slash differs",
    "percent": "its percent signs are read differently",
    "case": "capital and small letters differ",
    "query-order": "its query is in another order",
    "fragment": "archives do not know fragments",
    "userinfo": "archives are not told of users and passwords",
    "fuzzy": "its query differs, or it is written in another way",
    "port": "the usual port is written or not",
}


def _uri(uri: Member) -> _Told:
    rule = _RULES.get(str(uri["rule"]), "")
    got = f" The copy is of {uri['got']}." if uri["got"] else ""
    told: Mapping[str, _Told] = {
        "same": ("good", "The URL is the one asked for."),
        "normalized": ("good", f"The URL is the one asked for in another spelling: {rule}."),
        "variant": ("fair", f"The URL is a variant of the one asked for: {rule}.{got}"),
        "redirected": ("fair", f"The archive leads to another URL.{got}"),
        "unknown": ("poor", "The archive does not say of which URL the copy is."),
    }
    return told.get(uri.value)


def _granularity(grain: Member) -> _Told:
    asked, got = grain["req"], grain["got"]
    told: Mapping[str, _Told] = {
        "truncated": ("fair", f"Asked for to the {asked}, dated to the {got} only."),
        "coarser": ("fair", f"Asked for to the {asked}, dated to the {got} only."),
        "padded": ("fair", f"Dated to the {got}; the zeros behind were measured by nobody."),
    }
    return told.get(grain.value)


def _coverage(coverage: Member) -> _Told:
    if coverage.value not in ("degraded", "ignored"):
        return None
    return "fair", f"A {coverage['req']} was meant. This is a {coverage['got']}."


def _content(content: Member) -> _Told:
    if content["status"]:
        return "fair", f"The copy is one of an answer with status {content['status']}."
    told: Mapping[str, _Told] = {
        "raw": ("good", "The bytes are as they were harvested."),
        "rewritten": ("good", "The page is as the archive replays it, its links rewritten."),
    }
    return told.get(content.value)


def _sources(sources: Member) -> _Told:
    asked, failed = sources["asked"], int(sources["failed"] or 0)
    if not asked:
        return "poor", "No archive was asked."
    if failed:
        told = f"{failed} of {asked} archives did not answer: a better copy may exist."
    else:
        told = f"All archives that were asked have answered ({asked})."
    if sources["unasked"]:
        told += " Not every one was asked for other spellings of the URL."
    return ("fair" if failed or sources["unasked"] else "good"), told


def _syntax(syntax: Member) -> _Told:
    if syntax.value == "strict":
        return None
    told = f" ({syntax['diag']})" if syntax["diag"] else ""
    if syntax.value == "legacy":
        return "good", f"The reference is in an old notation{told}."
    return "fair", f"The reference was not well written and was repaired{told}."


_EXPLANATIONS: Final[Mapping[str, tuple[str, Callable[[Member], _Told]]]] = {
    "time": ("Time", _time),
    "archive": ("Archive", _archive),
    "uri": ("URL", _uri),
    "granularity": ("Date", _granularity),
    "coverage": ("Extent", _coverage),
    "content": ("Content", _content),
    "sources": ("Sources", _sources),
    "syntax": ("Reference", _syntax),
}
