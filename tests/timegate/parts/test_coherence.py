"""Coherence of a part, against an oracle that enumerates every history of the part."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from timegate.parts.coherence import MOST_CAPTURES, Coherence, PartCapture, coherence

LAST = 6
"""The last second of the histories: 877 histories of seven seconds."""
History = tuple[int, ...]
"""The state of the part in each second; only whether two are equal matters."""


@cache
def histories() -> Sequence[History]:
    def grown(history: History) -> Iterator[History]:
        if len(history) == LAST + 1:
            yield history
            return
        for state in range(max(history, default=-1) + 2):
            yield from grown((*history, state))

    return [*grown(())]


def agrees(history: History, captures: Sequence[PartCapture]) -> bool:
    """Whether captures have equal digests exactly if the states are equal."""
    known = [capture for capture in captures if capture.digest is not None]
    return all(
        (a.digest == b.digest) == (history[a.at] == history[b.at]) for a in known for b in known
    )


def returns(history: History) -> bool:
    """Whether a state comes back after another one."""
    changes = [s for n, s in enumerate(history) if n == 0 or s != history[n - 1]]
    return len(changes) != len(set(changes))


def unchanged(history: History, captures: Sequence[PartCapture]) -> bool:
    """Whether no state changed between Last-Modified and the capture."""
    return all(
        len(set(history[c.last_modified : c.at + 1])) == 1
        for c in captures
        if c.last_modified is not None
    )


def began(history: History, captures: Sequence[PartCapture]) -> bool:
    """Whether each Last-Modified is the second in which a state began."""
    return all(
        history[c.last_modified - 1] != history[c.last_modified]
        for c in captures
        if c.last_modified
    )


Rule = Callable[[History, Sequence[PartCapture]], bool]
LEVELS: Sequence[Rule] = (
    lambda h, c: unchanged(h, c) and began(h, c) and not returns(h),
    lambda h, c: unchanged(h, c) and not returns(h),
    unchanged,
    lambda h, _: not returns(h),
    lambda _h, _c: True,
)
"""Which histories are possible, from the strongest assumptions to none."""


def truth(root: int, captures: Sequence[PartCapture]) -> set[bool]:
    """Return whether the first capture was the state at *root*, in all possible histories."""
    agreeing = [history for history in histories() if agrees(history, captures)]
    for rule in LEVELS:
        possible = [history for history in agreeing if rule(history, captures)]
        if possible:
            return {history[captures[0].at] == history[root] for history in possible}
    return set()


def expected(root: int, captures: Sequence[PartCapture]) -> Coherence:
    found = truth(root, captures)
    if len(found) == 1:
        return Coherence.COHERENT if found == {True} else Coherence.VIOLATIVE
    if not found:
        return Coherence.UNDEFINED
    is_before = captures[0].at <= root
    return Coherence.POSSIBLE if is_before else Coherence.PROBABLY_VIOLATIVE


@st.composite
def part_captures(draw: st.DrawFn) -> PartCapture:
    at = draw(st.integers(0, LAST))
    digest = draw(st.sampled_from((None, "a", "b", "c")))
    modified = draw(st.none() | st.integers(0, at - 1)) if at else None
    return PartCapture(at, digest, modified)


@st.composite
def real_captures(draw: st.DrawFn) -> list[PartCapture]:
    """Captures of a real history, with what archives and servers leave out or get wrong."""
    history = draw(st.sampled_from(histories()))
    times = draw(st.lists(st.integers(0, LAST), min_size=1, max_size=5))
    captures = []
    for at in times:
        first = at
        while first and history[first - 1] == history[at]:
            first -= 1
        digest = draw(st.sampled_from((None, str(history[at]))))
        modified = draw(st.sampled_from((None, first))) if first < at else None
        captures.append(PartCapture(at, digest, modified))
    return captures


@given(st.integers(0, LAST), st.lists(part_captures(), min_size=1, max_size=5))
@example(3, [PartCapture(5, "a"), PartCapture(1, "a"), PartCapture(4, "b")])
@settings(max_examples=400, deadline=None)
def test_the_class_is_what_all_possible_histories_say(
    root: int, captures: list[PartCapture]
) -> None:
    assert coherence(root, captures[0], captures[1:]) is expected(root, captures)


@given(st.integers(0, LAST), real_captures())
@settings(max_examples=400, deadline=None)
def test_the_class_of_a_part_with_a_real_history(
    root: int, captures: list[PartCapture]
) -> None:
    assert coherence(root, captures[0], captures[1:]) is expected(root, captures)


@given(st.integers(0, LAST), real_captures(), st.randoms())
def test_the_order_of_the_other_captures_does_not_matter(
    root: int, captures: list[PartCapture], random: "object"
) -> None:
    chosen, *others = captures
    mixed = sorted(others, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert coherence(root, chosen, mixed) is coherence(root, chosen, others)


PATTERNS = {
    "in the same second": ("prima-facie-coherent", PartCapture(100), []),
    "before the page": ("possibly-coherent", PartCapture(90), []),
    "before the page, modified even earlier": (
        "possibly-coherent",
        PartCapture(90, None, 50),
        [],
    ),
    "after the page, without Last-Modified": ("probably-violative", PartCapture(110), []),
    "after the page, not modified since": (
        "prima-facie-coherent",
        PartCapture(110, None, 50),
        [],
    ),
    "after the page, modified since": (
        "prima-facie-violative",
        PartCapture(110, None, 105),
        [],
    ),
    "the same octets on both sides": (
        "prima-facie-coherent",
        PartCapture(110, "a"),
        [PartCapture(90, "a")],
    ),
    "other octets on the other side": (
        "possibly-coherent",
        PartCapture(90, "a"),
        [PartCapture(110, "b")],
    ),
    "before, and replaced before the page": (
        "prima-facie-violative",
        PartCapture(90, "a"),
        [PartCapture(110, "b", 95)],
    ),
    "before, and the next capture was not modified since": (
        "prima-facie-coherent",
        PartCapture(90),
        [PartCapture(110, None, 80)],
    ),
    "the same octets, written again after the page": (
        "prima-facie-coherent",
        PartCapture(110, "a", 105),
        [PartCapture(90, "a")],
    ),
    "octets that were seen to come back": (
        "probably-violative",
        PartCapture(110, "a"),
        [PartCapture(90, "a"), PartCapture(105, "b")],
    ),
    "Last-Modified of the response itself": (
        "probably-violative",
        PartCapture(110, None, 110),
        [],
    ),
    "two states in one second": ("undefined", PartCapture(90, "a"), [PartCapture(90, "b")]),
}


@pytest.mark.parametrize(("found", "chosen", "others"), PATTERNS.values(), ids=PATTERNS)
def test_each_pattern_of_the_framework_has_its_class(
    found: str, chosen: PartCapture, others: list[PartCapture]
) -> None:
    assert coherence(100, chosen, others) == found


def test_only_the_nearest_captures_are_compared() -> None:
    far = [PartCapture(-second, "a") for second in range(100)]

    assert coherence(100, PartCapture(110, "a"), far) is Coherence.COHERENT
    others = [PartCapture(100 - second, None) for second in range(1, 1 + MOST_CAPTURES)]
    assert coherence(100, PartCapture(110, "a"), [*others, *far]) is not Coherence.COHERENT
