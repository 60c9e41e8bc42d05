"""Temporal coherence: whether a part was the same when the page was captured.

After Ainsworth, Nelson and Van de Sompel, "A Framework for Evaluation of Composite Memento
Temporal Coherence" (2014). Each capture of a part shows its state in one second. What follows
for the second of the page rests on assumptions, which `docs/whole-pages.md` states: a state
that was replaced does not come back, and Last-Modified is when a state began. Captures that
contradict an assumption disprove it; then less is claimed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

MOST_CAPTURES: Final = 16
"""Captures that are compared: those nearest to the page. Others rarely change the class."""


class Coherence(StrEnum):
    """How a part relates to the page, in the words of the framework."""

    COHERENT = "prima-facie-coherent"
    """It was in this state when the page was captured."""
    POSSIBLE = "possibly-coherent"
    """It was in this state before, and may have been."""
    PROBABLY_VIOLATIVE = "probably-violative"
    """It was in this state later, and nothing shows that it was before."""
    VIOLATIVE = "prima-facie-violative"
    """It was in another state."""
    UNDEFINED = "undefined"
    """Nothing is known, or the captures contradict each other."""


class PartCapture(NamedTuple):
    """One capture of a part; times are seconds of any epoch."""

    at: int
    digest: str | None = None
    """Captures with equal digests have the same octets; None if it is not known."""
    last_modified: int | None = None
    """Last-Modified of the archived response; None if it states none, or not an earlier time.

    A server that writes the time of the response itself says nothing about the state.
    """


def coherence(root: int, chosen: PartCapture, others: Iterable[PartCapture] = ()) -> Coherence:
    """Return the class of *chosen* in a page that was captured at *root*.

    *others* are further captures of the same part.
    """
    near = sorted(others, key=lambda capture: abs(capture.at - root))[:MOST_CAPTURES]
    captures = [chosen, *near]
    for assumed in _ASSUMPTIONS:
        states = _states(captures, assumed)
        if states is not None:
            return _class(root, chosen.at, states, once=assumed.once)
    return Coherence.UNDEFINED


class _Assumed(NamedTuple):
    """What is taken for granted."""

    modified: bool
    """Whether the state has not changed since Last-Modified."""
    began: bool
    """Whether it began then."""
    once: bool
    """Whether a state that was replaced does not come back."""


_ASSUMPTIONS: Final = (
    _Assumed(modified=True, began=True, once=True),
    # A file that was written again without a change has a later Last-Modified.
    _Assumed(modified=True, began=False, once=True),
    # A state that did come back, such as a banner that alternates.
    _Assumed(modified=True, began=False, once=False),
    # Last-Modified that does not agree with what was captured.
    _Assumed(modified=False, began=False, once=True),
    _Assumed(modified=False, began=False, once=False),
)
"""From the strongest; the first that the captures do not contradict counts."""


@dataclass(slots=True)
class _State:
    """An interval in which the part was in one state, both ends included."""

    first: int
    last: int
    digest: str | None
    begins: frozenset[int] = frozenset()
    """When the state began, as its captures state it."""
    is_chosen: bool = False

    def touches(self, other: "_State", *, once: bool) -> bool:
        """Whether both must be the same state."""
        if once and self.digest is not None and self.digest == other.digest:
            return True
        if once and self.is_chosen and other.is_chosen:
            return True
        return self.first <= other.last and other.first <= self.last

    def joined(self, other: "_State") -> "_State":
        return _State(
            min(self.first, other.first),
            max(self.last, other.last),
            self.digest or other.digest,
            self.begins | other.begins,
            self.is_chosen or other.is_chosen,
        )


def _states(captures: Sequence[PartCapture], assumed: _Assumed) -> list[_State] | None:
    """Return the states that *captures* show, the first is chosen; None if they differ."""
    intervals = [_interval(capture, assumed) for capture in captures]
    intervals[0].is_chosen = True
    return _joined(intervals, once=assumed.once)


def _joined(intervals: Iterable[_State], *, once: bool) -> list[_State] | None:
    """Return *intervals*, those of one state joined; None if they contradict each other."""
    found: list[_State] = []
    for interval in intervals:
        state = interval
        # Joining may make it touch states that it did not touch before.
        while touched := [one for one in found if state.touches(one, once=once)]:
            for one in touched:
                if None not in (one.digest, state.digest) and one.digest != state.digest:
                    return None
                state = state.joined(one)
                found.remove(one)
        found.append(state)
    return found if all(state.begins <= {state.first} for state in found) else None


def _interval(capture: PartCapture, assumed: _Assumed) -> _State:
    since = capture.last_modified
    if since is None or since >= capture.at or not assumed.modified:
        return _State(capture.at, capture.at, capture.digest)
    begins = frozenset({since}) if assumed.began else frozenset[int]()
    return _State(since, capture.at, capture.digest, begins)


def _class(root: int, at: int, states: Sequence[_State], *, once: bool) -> Coherence:
    """Return the class of a part of *states* that was captured *at*."""
    chosen = next(state for state in states if state.is_chosen)
    for state in states:
        is_same = state.is_chosen or state.digest == chosen.digest is not None
        if is_same and state.first <= root <= state.last:
            return Coherence.COHERENT
    same_then = _State(root, root, chosen.digest, is_chosen=True)
    if _joined([*states, same_then], once=once) is None:
        return Coherence.VIOLATIVE
    return Coherence.POSSIBLE if at <= root else Coherence.PROBABLY_VIOLATIVE
