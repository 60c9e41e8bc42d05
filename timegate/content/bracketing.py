"""Bracketing: whether the captures on both sides of a time have the same octets.

It costs no request where archives state digests. The claim is about the two captures that are
named, and nothing is claimed about the time between them.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from archives.model import Memento
from archives.moment import Moment
from archives.warc.captures import Digest
from timegate.content.digests import payload_digest

_SECOND: Final = 14
_SAME_TIME: Final = 86_400
"""Seconds: captures of two archives that are no farther apart are of the same time."""


class DatedCapture(NamedTuple):
    """A capture, and how many digits of its stamp are proven."""

    memento: Memento
    digits: int = _SECOND
    """Fewer than 14 if the archive pads times that it does not know."""
    digest: Digest | None = None

    @classmethod
    def of(cls, memento: Memento, digits: int = _SECOND) -> "DatedCapture":
        """Return *memento* with the digest that its archive states."""
        return cls(memento, min(digits, len(memento.stamp)), payload_digest(memento.digest))

    @property
    def moment(self) -> Moment:
        """When it was captured, as far as that is proven."""
        return Moment(self.memento.stamp[: self.digits])


class Bracket(NamedTuple):
    """The captures next to a time, before and after it, which have the same octets."""

    before: Memento
    after: Memento


def bracket(captures: Iterable[DatedCapture], at: Moment) -> Bracket | None:
    """Return the nearest captures before and after *at*, if they have the same octets.

    None if one side is not known, if a capture of a side has no digest or another one of the
    same algorithm, or if a capture may lie inside *at* itself: then that one is the answer.
    """
    sides = identical_sides(captures, at)
    return None if sides is None else Bracket(sides[0][0], sides[1][0])


Side = tuple[Memento, ...]
"""The nearest captures on one side of a time: several if they may be as near."""


def identical_sides(captures: Iterable[DatedCapture], at: Moment) -> tuple[Side, Side] | None:
    """Return the nearest captures before and after *at* if all of them have the same octets.

    None as for `bracket`.
    """
    before: list[DatedCapture] = []
    after: list[DatedCapture] = []
    for capture in captures:
        side = _side(capture, at)
        if side == 0:
            return None
        (before if side < 0 else after).append(capture)
    last = _nearest(before, latest=True)
    first = _nearest(after, latest=False)
    digest = _common_digest([*last, *first])
    if not last or not first or digest is None:
        return None
    return tuple(each.memento for each in last), tuple(each.memento for each in first)


def described_best(mementos: Iterable[Memento]) -> list[Memento]:
    """Return each of *mementos* once: a capture that is also named with a digest, with it.

    A link names a capture without the digest that an index states for the same address.
    """
    named = dict.fromkeys(mementos)
    stated = {_address(each) for each in named if each.digest}
    return [each for each in named if each.digest or _address(each) not in stated]


def is_same_capture(one: Memento, other: Memento) -> bool:
    """Whether both are the same capture, whatever else is known of it."""
    return _address(one) == _address(other)


def _address(memento: Memento) -> tuple[str, str, str]:
    return memento.archive, memento.uri, memento.stamp


def _side(capture: DatedCapture, at: Moment) -> int:
    """Return -1 for a capture before *at*, 1 after it; 0 if neither is proven."""
    if capture.memento.is_asserted:
        return 0
    captured = capture.moment
    first, last = captured.window
    start, end = at.window
    if last < start:
        return -1
    return 1 if first > end else 0


def _nearest(captures: Sequence[DatedCapture], *, latest: bool) -> list[DatedCapture]:
    """Return the nearest capture of a side, and those that may be as near."""
    if not captures:
        return []
    windows = [capture.moment.window for capture in captures]
    if latest:
        edge = max(first for first, _ in windows)
        return [c for c, (_, last) in zip(captures, windows, strict=True) if last >= edge]
    edge = min(last for _, last in windows)
    return [c for c, (first, _) in zip(captures, windows, strict=True) if first <= edge]


def _common_digest(captures: Sequence[DatedCapture]) -> Digest | None:
    """Return the digest of all *captures*; None unless all are pages with the same one."""
    digests = {capture.digest for capture in captures}
    pages = all(_may_be_page(capture.memento) for capture in captures)
    return digests.pop() if len(digests) == 1 and pages else None


def _may_be_page(memento: Memento) -> bool:
    return memento.status is None or 200 <= memento.status <= 299


def corroborating(chosen: DatedCapture, captures: Iterable[DatedCapture]) -> tuple[str, ...]:
    """Return the other archives with the octets of *chosen* at the same time."""
    if chosen.digest is None or chosen.memento.is_asserted:
        return ()
    found = {
        each.memento.archive: None
        for each in captures
        if each.digest == chosen.digest
        and each.memento.archive != chosen.memento.archive
        and is_same_time(chosen.memento, each.memento)
    }
    return tuple(found)


def is_same_time(one: Memento, other: Memento) -> bool:
    """Whether two captures are of the same time: no more than a day apart."""
    if one.is_asserted or other.is_asserted:
        return False
    apart = one.captured.negotiated - other.captured.negotiated
    return abs(apart.total_seconds()) <= _SAME_TIME
