"""The figures of a page with its parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from timegate.parts.coherence import Coherence
from timegate.parts.composite import CompositeMemento, Outcome, Part, iso_duration
from timegate.resolution.preferences import duration

ROOT = Memento("20081129011916", "http://a.example/1", "http://shop.example/", "a")


def a_part(
    outcome: Outcome = "found",
    offset: int | None = 0,
    coherence: Coherence = Coherence.COHERENT,
    *,
    is_variant: bool = False,
) -> Part:
    return Part(
        "http://shop.example/x",
        "image",
        "img src",
        ROOT.original,
        outcome,
        is_variant=is_variant,
        offset=offset,
        coherence=coherence,
    )


def test_the_spread_is_from_the_earliest_to_the_latest_part() -> None:
    parts = (a_part(offset=-3 * 86_400), a_part(offset=41 * 86_400), a_part(offset=None))

    summary = CompositeMemento(ROOT, parts).summary

    assert (summary.parts, summary.found) == (3, 3)
    assert summary.spread == "-P3D/P41D"


def test_parts_without_known_times_have_no_spread() -> None:
    assert CompositeMemento(ROOT, (a_part("missing", None),)).summary.spread is None


def test_each_outcome_is_counted_and_variants_are_not() -> None:
    parts = (
        a_part(),
        a_part("missing", None),
        a_part("unknown", None),
        a_part("not-looked", None),
        a_part("variant", None, is_variant=True),
        a_part("found", 5_000_000, Coherence.VIOLATIVE, is_variant=True),
    )

    summary = CompositeMemento(ROOT, parts).summary

    counted = (summary.found, summary.missing, summary.unknown, summary.not_looked)
    assert (summary.parts, *counted) == (4, 1, 1, 1, 1)
    assert summary.spread == "PT0S/PT0S"
    assert summary.classes == {Coherence.COHERENT: 1}


COHERENT, POSSIBLE, UNDEFINED = Coherence.COHERENT, Coherence.POSSIBLE, Coherence.UNDEFINED
PROBABLY, VIOLATIVE = Coherence.PROBABLY_VIOLATIVE, Coherence.VIOLATIVE


@pytest.mark.parametrize(
    ("classes", "overall"),
    [
        ((COHERENT, COHERENT), COHERENT),
        ((COHERENT, POSSIBLE), POSSIBLE),
        ((COHERENT, UNDEFINED, POSSIBLE), UNDEFINED),
        ((PROBABLY, UNDEFINED), PROBABLY),
        ((COHERENT, VIOLATIVE, PROBABLY), VIOLATIVE),
        ((), UNDEFINED),
    ],
)
def test_a_page_is_as_coherent_as_its_worst_part(
    classes: tuple[Coherence, ...], overall: Coherence
) -> None:
    parts = tuple(a_part(coherence=each) for each in classes)

    assert CompositeMemento(ROOT, parts).summary.coherence is overall


@pytest.mark.parametrize("outcome", ["unknown", "not-looked"])
def test_a_page_with_parts_that_are_not_known_is_not_called_coherent(outcome: Outcome) -> None:
    parts = (a_part(), a_part(outcome, None))

    assert CompositeMemento(ROOT, parts).summary.coherence is UNDEFINED
    assert CompositeMemento(ROOT, (a_part(),), ("a frame",)).summary.coherence is UNDEFINED


@given(st.integers(-(10**10), 10**10))
def test_durations_are_read_back(seconds: int) -> None:
    written = iso_duration(seconds)
    read = duration(written.removeprefix("-"))

    assert read is not None
    assert read.total_seconds() == abs(seconds)
    assert written.startswith("-") == (seconds < 0)
