"""Judges copies that were looked at: which of them are the same page, and which is the best.

Pure. `timegate.extract.content_looks` reads the copies.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from archives.model import Memento
from archives.moment import Moment, second_of
from archives.warc.captures import Digest
from timegate.content.bracketing import is_same_time
from timegate.content.classes import Judgement
from timegate.content.comparison import Comparison, Value
from timegate.content.main_text import PageText
from timegate.content.similarity import SAME_PAGE, common_text

_SAME_TEXT: Final = 95
"""Percent of a main text in common, for archives that corroborate each other."""
_SEVERAL: Final = 2
"""Archives that agree, so that another one dissents."""


class LookedCopy(NamedTuple):
    """A copy that was looked at."""

    memento: Memento
    page: PageText | None = None
    """None if it could not be read; then `failure` says why."""
    digest: Digest | None = None
    """Of the octets that were read, if they were all."""
    judgement: Judgement = Judgement()
    failure: str = ""
    address: str = ""
    """Where the octets were read."""

    @property
    def is_page(self) -> bool:
        """Whether it was read, and is not known to be something else than a page."""
        return self.page is not None and self.judgement.page_class is None


def percent(one: LookedCopy, other: LookedCopy) -> int | None:
    """Return how much of their text two copies have in common; None if that is not known."""
    if one.digest is not None and one.digest == other.digest:
        return 100
    if one.page is None or other.page is None:
        return None
    return common_text(one.page, other.page)


def better_copy(
    chosen: LookedCopy, others: Iterable[LookedCopy], at: Moment | None
) -> LookedCopy | None:
    """Return the copy to recommend instead of *chosen*; None if that is the best.

    Only if *chosen* is no page, and another one is: the nearest of those.
    """
    if chosen.judgement.page_class is None:
        return None
    pages = [other for other in others if other.is_page]
    if at is None:
        return max(pages, key=lambda copy: copy.memento.stamp, default=None)
    return min(
        pages, key=lambda copy: abs(at.distance(second_of(copy.memento.stamp))), default=None
    )


def compared_copies(
    chosen: LookedCopy,
    others: Sequence[LookedCopy],
    at: Moment | None,
    known: Comparison | None = None,
) -> Comparison:
    """Return how *chosen* compares with *others*; *known* is what digests have shown before."""
    copies = [chosen, *others]
    read = [copy for copy in copies if copy.page is not None]
    found = _around(chosen, copies, at, known)
    page = chosen.page
    failures = dict.fromkeys(copy.failure for copy in copies if copy.failure)
    return Comparison(
        value=found.value,
        basis=found.basis,
        before=found.before,
        after=found.after,
        similarity=found.similarity,
        before_class=found.before_class,
        after_class=found.after_class,
        page_class=chosen.judgement.page_class,
        evidence=chosen.judgement.evidence,
        corroborated=_corroborating(chosen, read, known),
        dissent=dissenting(read),
        title="" if page is None else page.title,
        language="" if page is None else page.language or page.declared_language,
        looked=tuple(copy.address for copy in read),
        failure="; ".join([*failures][:3]),
    )


def _around(
    chosen: LookedCopy,
    copies: Sequence[LookedCopy],
    at: Moment | None,
    known: Comparison | None,
) -> Comparison:
    """Return how the copies on both sides of *at* compare, as far as they were read."""
    if known is not None and known.value == "same-around":
        return known
    if chosen.page is None:
        return Comparison("not-looked")
    before, after = _page_sides(chosen, copies, at)
    pairs = [
        pair
        for pair in ((before, chosen), (chosen, after), (before, after))
        if None not in pair
    ]
    shares = [
        share
        for one, other in pairs
        if one is not None
        and other is not None
        and one is not other
        and (share := percent(one, other)) is not None
    ]
    if before is None or after is None or before is after or not shares:
        return Comparison("alone")
    least = min(shares)
    ends = (before.memento, after.memento)
    digests = {copy.digest for copy in (before, chosen, after)}
    classes = (before.judgement.page_class, after.judgement.page_class)
    # A copy between the two, or of the same second as one of them, that was not read or has
    # other octets: then only the text is stated.
    others = [copy for copy in copies if copy not in (before, chosen, after)]
    unknown = [
        copy for copy in others if copy.digest not in digests and _is_between(copy, *ends)
    ]
    if len(digests) == 1 and None not in digests and not unknown:
        return Comparison("same-around", "digest", *ends, 100, *classes)
    value: Value = "similar-around" if least >= SAME_PAGE else "changed"
    return Comparison(value, "text", *ends, least, *classes)


def _page_sides(
    chosen: LookedCopy, copies: Sequence[LookedCopy], at: Moment | None
) -> tuple[LookedCopy | None, LookedCopy | None]:
    """Return the nearest copies on both sides; of a page, those that are pages.

    An error page between two copies of a text says nothing of the text. Where a side has
    nothing but such copies, the nearest of them is its copy.
    """
    nearest = _sides(chosen, [copy for copy in copies if copy.page is not None], at)
    if not chosen.is_page:
        return nearest
    before, after = _sides(chosen, [copy for copy in copies if copy.is_page], at)
    # Its own side is the copy itself only where no other one was read.
    is_alone = before is chosen, after is chosen
    return (
        nearest[0] if before is None or is_alone[0] else before,
        nearest[1] if after is None or is_alone[1] else after,
    )


def _is_between(copy: LookedCopy, before: Memento, after: Memento) -> bool:
    return before.stamp <= copy.memento.stamp <= after.stamp


def _sides(
    chosen: LookedCopy, read: Sequence[LookedCopy], at: Moment | None
) -> tuple[LookedCopy | None, LookedCopy | None]:
    """Return the nearest copies before and after *at*.

    A copy inside *at* is its own side where there is no other.
    """
    stamp = chosen.memento.stamp
    side = 0 if at is None else at.side_of(stamp)
    start = stamp if at is None or not side else at.digits
    earlier = [c for c in read if _side(c, at, start) < 0]
    later = [c for c in read if _side(c, at, start) > 0]
    before = max(earlier, key=lambda copy: copy.memento.stamp, default=None)
    after = min(later, key=lambda copy: copy.memento.stamp, default=None)
    if side == 0:
        return before or chosen, after or chosen
    return before, after


def _side(copy: LookedCopy, at: Moment | None, start: str) -> int:
    stamp = copy.memento.stamp
    if at is not None and at.digits == start:
        return at.side_of(stamp)
    return (stamp > start) - (stamp < start)


def _corroborating(
    chosen: LookedCopy, read: Iterable[LookedCopy], known: Comparison | None
) -> tuple[str, ...]:
    """Return the other archives with the same octets or main text at the same time."""
    agreeing = dict.fromkeys(() if known is None else known.corroborated)
    for copy in read:
        share = percent(chosen, copy)
        if (
            copy.memento.archive != chosen.memento.archive
            and is_same_time(copy.memento, chosen.memento)
            and share is not None
            and share >= _SAME_TEXT
        ):
            agreeing[copy.memento.archive] = None
    return tuple(agreeing)


def dissenting(read: Sequence[LookedCopy]) -> tuple[str, ...]:
    """Return the archive whose text differs from that of several others at the same time."""
    agreed: dict[str, set[str]] = {}
    differs: dict[str, set[str]] = {}
    for one, other in combinations(read, 2):
        first, second = one.memento.archive, other.memento.archive
        share = percent(one, other)
        if first == second or share is None or not is_same_time(one.memento, other.memento):
            continue
        found = agreed if share >= SAME_PAGE else differs
        found.setdefault(first, set()).add(second)
        found.setdefault(second, set()).add(first)
    return tuple(
        archive
        for archive, others in differs.items()
        if archive not in agreed
        and len(others) >= _SEVERAL
        and all(others - {each} <= agreed.get(each, set()) for each in others)
    )
