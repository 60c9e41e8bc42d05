"""The members on the parts of a page, ``parts``, ``spread`` and ``coherence``, and their words.

They are there only if the parts were looked for, and never change ``match``.
"""

from collections.abc import Iterator
from typing import Final, Literal

from timegate.parts.composite import PartsSummary
from timegate.text import duration
from timegate.verdict.header import Member, Parameter, Verdict

Tone = Literal["good", "fair", "poor"]
Explanation = tuple[Tone, str] | None
_LONGEST_REASON: Final = 300
_PHRASES: Final = {
    "prima-facie-coherent": "as when the page was captured",
    "possibly-coherent": "perhaps changed before the page was captured",
    "probably-violative": "captured later and probably changed",
    "prima-facie-violative": "not as when the page was captured",
    "undefined": "not dated well enough to compare them with the page",
}


def part_members(found: PartsSummary) -> dict[str, Member]:
    """Return the members by name."""
    if found.failure:
        return {"parts": Member("unknown", {"failed": found.failure[:_LONGEST_REASON]})}
    counts: dict[str, Parameter] = {
        "found": found.found,
        "missing": found.missing or "",
        "unknown": found.unknown or "",
        "not-looked": found.not_looked or "",
        "read": "partial" if found.partial else "",
    }
    members = {"parts": Member(str(found.parts), counts)}
    if found.spread and found.earliest is not None and found.latest is not None:
        offsets = {"from": found.earliest, "to": found.latest}
        members["spread"] = Member(found.spread, offsets)
    if found.found:
        classes = {str(name): count for name, count in found.classes.items()}
        members["coherence"] = Member(str(found.coherence), classes)
    return members


def remarks_on_parts(verdict: Verdict) -> Iterator[str]:
    """Yield what a sentence says of the parts."""
    if verdict.parts:
        yield _remark(verdict.parts)
    if verdict.coherence:
        yield _classes(verdict.coherence)


def _remark(parts: Member) -> str:
    if parts["failed"]:
        return "the parts of the page are not known: it could not be read"
    if parts.value == "0":
        as_read = ", as far as it was read" if parts["read"] else ""
        return f"nothing is embedded in it{as_read}"
    lacking = {
        "missing": parts["missing"],
        "unknown": parts["unknown"],
        "not looked for": parts["not-looked"],
    }
    counts = "".join(f", {count} {word}" for word, count in lacking.items() if count)
    more = ", and perhaps more" if parts["read"] else ""
    return f"{parts['found'] or 0} of {parts.value} parts found{counts}{more}"


def explain_parts(parts: Member) -> Explanation:
    """Return how many parts were found."""
    if parts["failed"]:
        return "poor", f"The page could not be read to find its parts: {parts['failed']}."
    whole = str(parts["found"] or 0) == parts.value and not parts["read"]
    return ("good" if whole else "fair"), f"{_capital(_remark(parts))}."


def explain_spread(spread: Member) -> Explanation:
    """Return how far the parts are from the page in time."""
    earliest, latest = int(spread["from"] or 0), int(spread["to"] or 0)
    tone: Tone = "good" if earliest == latest == 0 else "fair"
    if earliest == latest:
        return tone, f"The parts were captured {beside_page(earliest)}."
    times = f"from {beside_page(earliest)} to {beside_page(latest)}"
    return tone, f"The parts were captured {times}."


def beside_page(offset: int) -> str:
    """Return how far a part is from the page, in words."""
    if not offset:
        return "in the same second as the page"
    return f"{duration(abs(offset))} {'before' if offset < 0 else 'after'} the page"


def explain_coherence(coherence: Member) -> Explanation:
    """Return whether the parts were the same when the page was captured, and how many."""
    tone: Tone = "good" if coherence.value == "prima-facie-coherent" else "fair"
    return tone, f"{_capital(_classes(coherence))}."


def _classes(coherence: Member) -> str:
    """Return how many parts have each class."""
    return ", ".join(f"{count} {_PHRASES[name]}" for name, count in coherence.params.items())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
