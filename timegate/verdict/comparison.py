"""The member ``comparison``: whether the copy is the page that was cited, and its words.

It never changes ``match``, which is about archive, time and URL.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from timegate.content.comparison import SAME, Comparison
from timegate.verdict.header import Member, Parameter, Verdict
from timegate.verdict.parts import Explanation, Tone

_LONGEST_REASON: Final = 300
CLASS_PHRASES: Final[Mapping[str, str]] = {
    "soft-404": "an error page that was sent as a page",
    "parked": "a page for a domain without a site",
    "consent-wall": "a question for consent in front of the page",
    "login-wall": "a login in front of the page",
    "redirect-to-root": "the front page of the site instead of the page",
    "nearly-empty": "nearly empty",
}
_IDENTICAL: Final = "identical on both sides of the time asked for"
_LONGEST_DAY: Final = len("2016-01-22")


def comparison_member(found: Comparison) -> Member:
    """Return the member."""
    params: dict[str, Parameter] = {
        "class": found.page_class or "",
        "similarity": "" if found.similarity is None else found.similarity,
        "basis": found.basis or "",
        "from": "" if found.before is None else str(found.before.captured),
        "to": "" if found.after is None else str(found.after.captured),
        "from-class": found.before_class or "",
        "to-class": found.after_class or "",
        "corroborated": " ".join(found.corroborated),
        "dissent": " ".join(found.dissent),
        "evidence": "; ".join(found.evidence)[:_LONGEST_REASON],
        "instead": "" if found.instead is None else found.instead.uri,
        "instead-of": found.instead_of or "",
        "failed": found.failure[:_LONGEST_REASON],
    }
    return Member(found.value, params)


def remarks_on_comparison(verdict: Verdict) -> Iterator[str]:
    """Yield what a sentence says of the comparison."""
    member = verdict.comparison
    if member is None:
        return
    compared = _compared(member, is_dated=is_dated(verdict))
    yield from filter(None, (_classified(member), compared, _agreed(member)))
    if member["instead-of"]:
        what = CLASS_PHRASES[str(member["instead-of"])]
        yield f"chosen instead of the nearest copy, which is {what}"


def is_dated(verdict: Verdict) -> bool:
    """Whether a time was asked for, which may lie between two copies."""
    return verdict.time is None or verdict.time["req"] is not None


def _classified(member: Member) -> str:
    name = member["class"]
    return f"the copy seems to be {CLASS_PHRASES[str(name)]}" if name else ""


def _compared(member: Member, *, is_dated: bool) -> str:
    if member.value in SAME:
        return _same(member, is_dated=is_dated)
    if member.value == "changed":
        classes = " and ".join(_other_sides(member))
        changed = f"{_changed(member)} ({member['similarity']} % the same)"
        return f"{changed}: {classes}" if classes else changed
    if member.value == "not-looked":
        return f"the content was not looked at: {member['failed'] or 'unknown'}"
    return "" if member["corroborated"] else _alone(is_dated=is_dated)


def _same(member: Member, *, is_dated: bool) -> str:
    is_identical = member.value == "same-around"
    share = "" if is_identical else f" ({member['similarity']} %)"
    if not is_dated:
        what = "identical with" if is_identical else "nearly the same text as"
        return f"{what} the copy next to it in time{share}"
    if is_identical:
        return _IDENTICAL
    return f"the same text on both sides of the time asked for{share}"


def _alone(*, is_dated: bool) -> str:
    """Return that nothing was compared: copies of one side alone are no evidence."""
    if not is_dated:
        return "no second copy to compare it with"
    sides = "copies from before and after the time asked for"
    return f"not compared: that takes {sides}, which were not both read"


def _changed(member: Member) -> str:
    """Return between which copies the text changed: they may be years apart."""
    days = [str(member[name] or "")[:_LONGEST_DAY] for name in ("from", "to")]
    between = f" between the copies of {days[0]} and {days[1]}" if all(days) else ""
    return f"the text changed{between}"


def _other_sides(member: Member) -> Iterator[str]:
    """Yield what the copies on both sides are, if they are no pages."""
    if member["from-class"] and member["from-class"] == member["to-class"]:
        yield f"each copy around it is {CLASS_PHRASES[str(member['from-class'])]}"
        return
    for name, place in (("from-class", "before"), ("to-class", "after")):
        if member[name]:
            yield f"the copy {place} it is {CLASS_PHRASES[str(member[name])]}"


def _agreed(member: Member) -> str:
    agreed = (
        f"corroborated by {_listed(member['corroborated'])}" if member["corroborated"] else ""
    )
    differs = ""
    if member["dissent"]:
        differs = f"{_listed(member['dissent'])} has another text for the same time"
    return "; ".join(filter(None, (agreed, differs)))


def _listed(archives: Parameter | None) -> str:
    return ", ".join(str(archives).split())


def explain_comparison(member: Member, *, is_dated: bool = True) -> Explanation:
    """Return whether it is the same page, and on what that rests."""
    sides = _sides(member, is_dated=is_dated)
    sentences = [_sentence(text) for text in (_classified(member), *sides)]
    if member["evidence"]:
        sentences.append(f"Because: {member['evidence']}.")
    if member["instead-of"]:
        what = CLASS_PHRASES[str(member["instead-of"])]
        sentences.append(f"The nearest copy, {member['instead']}, seems to be {what}.")
    if member["failed"] and member.value != "not-looked":
        sentences.append(f"Not everything was looked at: {member['failed']}.")
    return tone_of(member), " ".join(filter(None, sentences))


def _sides(member: Member, *, is_dated: bool) -> Iterator[str]:
    between = f" (copies of {member['from']} and {member['to']})" if member["from"] else ""
    compared = _compared(member, is_dated=is_dated)
    yield f"{compared}{between}" if compared and member.value != "changed" else compared
    if member.value in SAME:
        yield "nothing is known of the time between"
    yield _agreed(member)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def tone_of(member: Member) -> Tone:
    """Return how good the news is."""
    if member["class"] or member["dissent"] or member.value == "changed":
        return "poor"
    return "good" if member.value in SAME or member["corroborated"] else "fair"
