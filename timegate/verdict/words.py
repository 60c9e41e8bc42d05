"""A verdict in words for people: as one sentence, and as one point for each member."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from timegate.verdict.header import Member, Verdict

_UNITS: Final = (("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60))
_TIME_PHRASES: Final = {
    "exact": "exactly the time asked for",
    "within": "inside the time asked for",
    "latest": "the newest copy",
    "unknown": "captured at an unknown time",
}
_ARCHIVE_PHRASES: Final = {
    "same": "in the archive named",
    "alias": "in the archive named, under another of its names",
    "other": "in another archive",
    "unknown": "in another archive: the one named is unknown",
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
    "percent": "percent signs read differently",
    "case": "capitals instead of small letters or the reverse",
    "query-order": "its query in another order",
    "fragment": "without its fragment",
    "userinfo": "without the user name",
    "fuzzy": "with another query, or written otherwise",
}
_GRAIN_PHRASES: Final = {
    "truncated": "dated to the second only",
    "coarser": "dated less finely than asked",
    "padded": "the last digits of its date may be padding zeros",
}


def in_words(verdict: Verdict) -> str:
    """Return one sentence: "3 days later, in another archive, same URL; ..."."""
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
        yield _ARCHIVE_PHRASES.get(verdict.archive.value, "")
    if verdict.uri:
        yield _URL_PHRASES.get(verdict.uri.value) or _variant(verdict.uri)


def _time(time: Member) -> str:
    if time.value in _TIME_PHRASES:
        return _TIME_PHRASES[time.value]
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
    """Return the quality of the answer, as a tone and in a few words."""
    return _HEADLINES.get(verdict.match.value, ("poor", verdict.match.value))


def explained(verdict: Verdict) -> Iterator[Point]:
    """Yield a point for each member that has something to say, the most important first."""
    for name, (topic, explain) in _EXPLANATIONS.items():
        member: Member | None = getattr(verdict, name)
        explanation = None if member is None else explain(member)
        if explanation is not None:
            yield Point(topic, *explanation)


_Explanation = tuple[Tone, str] | None


def _explain_time(time: Member) -> _Explanation:
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


def _explain_archive(archive: Member) -> _Explanation:
    asked, got = archive["req"], archive["got"]
    sentences: Mapping[str, _Explanation] = {
        "any": ("good", f"Any archive would do. Found in {got}."),
        "same": ("good", f"Asked for {asked}, and found there."),
        "alias": ("good", f"Asked for {asked}, which is {got}, and found there."),
        "other": ("fair", f"Asked for {asked}. Found in {got} instead."),
        "unknown": ("fair", f"The archive {asked} is not known here. Found in {got}."),
    }
    return sentences.get(archive.value)


_RULE_SENTENCES: Final = {
    "scheme": "http and https differ",
    "www": "www. differs",
    "slash": "the last slash differs",
    "percent": "its percent signs are read differently",
    "case": "capital and small letters differ",
    "query-order": "its query is in another order",
    "fragment": "archives do not know fragments",
    "userinfo": "user names and passwords are not sent to archives",
    "fuzzy": "its query differs, or it is written in another way",
    "port": "the usual port is written or not",
}


def _explain_uri(uri: Member) -> _Explanation:
    rule = _RULE_SENTENCES.get(str(uri["rule"]), "")
    got = f" The copy is of {uri['got']}." if uri["got"] else ""
    sentences: Mapping[str, _Explanation] = {
        "same": ("good", "The URL is the one asked for."),
        "normalized": ("good", f"The URL is the one asked for in another spelling: {rule}."),
        "variant": ("fair", f"The URL is a variant of the one asked for: {rule}.{got}"),
        "redirected": ("fair", f"The archive leads to another URL.{got}"),
        "unknown": ("poor", "The archive does not say of which URL the copy is."),
    }
    return sentences.get(uri.value)


def _explain_granularity(grain: Member) -> _Explanation:
    asked, got = grain["req"], grain["got"]
    sentences: Mapping[str, _Explanation] = {
        "truncated": ("fair", f"Asked for to the {asked}, dated to the {got} only."),
        "coarser": ("fair", f"Asked for to the {asked}, dated to the {got} only."),
        "padded": ("fair", f"Dated to the {got}; the zeros after it may be padding."),
    }
    return sentences.get(grain.value)


def _explain_coverage(coverage: Member) -> _Explanation:
    if coverage.value not in ("degraded", "ignored"):
        return None
    return "fair", f"A {coverage['req']} was meant. This is a {coverage['got']}."


def _explain_content(content: Member) -> _Explanation:
    if content["status"]:
        return "fair", f"The copy is one of an answer with status {content['status']}."
    sentences: Mapping[str, _Explanation] = {
        "raw": ("good", "The bytes are as they were harvested."),
        "rewritten": ("good", "The page is as the archive replays it, its links rewritten."),
    }
    return sentences.get(content.value)


def _explain_sources(sources: Member) -> _Explanation:
    asked, failed = sources["asked"], int(sources["failed"] or 0)
    if not asked:
        return "poor", "No archive was asked."
    if failed:
        sentence = f"{failed} of {asked} archives did not answer: a better copy may exist."
    else:
        sentence = f"All archives that were asked have answered ({asked})."
    if sources["unasked"]:
        sentence += " Not every one was asked for other spellings of the URL."
    return ("fair" if failed or sources["unasked"] else "good"), sentence


def _explain_syntax(syntax: Member) -> _Explanation:
    if syntax.value == "strict":
        return None
    diagnostics = f" ({syntax['diag']})" if syntax["diag"] else ""
    if syntax.value == "legacy":
        return "good", f"The reference is in an old notation{diagnostics}."
    return "fair", f"The reference was not well written and was repaired{diagnostics}."


_EXPLANATIONS: Final[Mapping[str, tuple[str, Callable[[Member], _Explanation]]]] = {
    "time": ("Time", _explain_time),
    "archive": ("Archive", _explain_archive),
    "uri": ("URL", _explain_uri),
    "granularity": ("Date", _explain_granularity),
    "coverage": ("Extent", _explain_coverage),
    "content": ("Content", _explain_content),
    "sources": ("Sources", _explain_sources),
    "syntax": ("Reference", _explain_syntax),
}
