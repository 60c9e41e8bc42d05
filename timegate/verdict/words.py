"""A verdict in one sentence for people."""

from collections.abc import Iterator
from typing import Final

from timegate.verdict.member import Member, Verdict

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
