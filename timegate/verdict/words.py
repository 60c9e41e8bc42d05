"""A verdict in one sentence for people."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from timegate.verdict.header import Member, Verdict

_UNITS: Final = (("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60))
_TIMES: Final = {
    "exact": "exactly the time asked for",
    "within": "inside the time asked for",
    "latest": "the newest copy",
    "unknown": "captured nobody knows when",
}
_ARCHIVES: Final = {
    "same": "in the archive named",
    "alias": "in the archive named, under another of its names",
    "other": "in another archive",
    "unknown": "in another archive: nobody knows the one named",
}
_URLS: Final = {
    "same": "same URL",
    "normalized": "same URL",
    "redirected": "redirected to another URL",
    "unknown": "of a URL that the archive does not tell",
}
_RULES: Final = {
    "scheme": "http instead of https or the reverse",
    "www": "with or without www",
    "slash": "with or without the last slash",
    "percent": "percent signs read differently",
    "case": "capitals instead of small letters or the reverse",
    "query-order": "its query in another order",
    "fragment": "without its fragment",
    "userinfo": "without the name of a user",
    "fuzzy": "with another query, or written otherwise",
}
_GRAINS: Final = {
    "truncated": "dated to the second only",
    "coarser": "dated less finely than asked",
    "padded": "the end of its date may be made of zeros that nobody measured",
}


def in_words(verdict: Verdict) -> str:
    """Return what differs: "3 days later, in another archive, same URL; ..."."""
    facts = ", ".join(filter(None, _facts(verdict))) or "no copy found"
    return "; ".join(filter(None, (facts, *_remarks(verdict))))


def duration(seconds: int) -> str:
    """Return *seconds*, rounded to the largest unit of which there are at least two."""
    for name, unit in _UNITS:
        if seconds >= 2 * unit:
            return f"{round(seconds / unit)} {name}s"
    return "1 second" if seconds == 1 else f"{seconds} seconds"


def _facts(verdict: Verdict) -> Iterator[str]:
    if verdict.time:
        yield _time(verdict.time)
    if verdict.archive:
        yield _ARCHIVES.get(verdict.archive.value, "")
    if verdict.uri:
        yield _URLS.get(verdict.uri.value) or _variant(verdict.uri)


def _time(time: Member) -> str:
    if time.value in _TIMES:
        return _TIMES[time.value]
    side = "earlier" if time.value == "before" else "later"
    distance = abs(int(time["delta"] or 0))
    return f"{duration(distance) if distance else 'less than a second'} {side}"


def _variant(uri: Member) -> str:
    return f"a variant of the URL: {_RULES.get(str(uri['rule']), 'differs')}"


def _remarks(verdict: Verdict) -> Iterator[str]:
    if verdict.granularity:
        yield _GRAINS.get(verdict.granularity.value, "")
    if verdict.time:
        yield from _remarks_on_time(verdict.time)
    if verdict.coverage and verdict.coverage.value in ("degraded", "ignored"):
        yield f"a {verdict.coverage['got']} where a {verdict.coverage['req']} was meant"
    if verdict.content and verdict.content["status"]:
        yield f"a copy of an answer with status {verdict.content['status']}"
    if verdict.sources:
        yield from _remarks_on_sources(verdict.sources)
    if verdict.syntax and verdict.syntax.value == "repaired":
        yield "the reference was not well written and had to be repaired"


def _remarks_on_time(time: Member) -> Iterator[str]:
    if time["doubt"]:
        yield f"in doubt: {time['doubt']}"
    if time["basis"] == "minted":
        yield "the time is only the day on which the identifier was made"


def _remarks_on_sources(sources: Member) -> Iterator[str]:
    asked, failed = sources["asked"], sources["failed"]
    if not asked:
        yield "no archive was asked"
    elif sources.value == "partial":
        yield f"{failed} of {asked} archives did not answer"
    if sources["unasked"]:
        yield "not every archive was asked for other spellings of the URL"


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


def _explanation_time(time: Member) -> _Told:
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


_EXPLANATION_RULES: Final = {
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
    rule = _EXPLANATION_RULES.get(str(uri["rule"]), "")
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
    "time": ("Time", _explanation_time),
    "archive": ("Archive", _archive),
    "uri": ("URL", _uri),
    "granularity": ("Date", _granularity),
    "coverage": ("Extent", _coverage),
    "content": ("Content", _content),
    "sources": ("Sources", _sources),
    "syntax": ("Reference", _syntax),
}
