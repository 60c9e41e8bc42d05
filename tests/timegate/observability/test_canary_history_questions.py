"""Canary questions, and how their answers are judged."""

from dataclasses import replace

import pytest

from archives.model import NEVER_ARCHIVED, Canary, Closest, Memento
from archives.moment import Moment
from tests.scenario import entry
from timegate.observability.canary_history import CanaryQuestion, judged, questions_of

PAGE = "http://example.org/"


def copy(stamp: str) -> Closest:
    return Closest(Memento(stamp, f"http://a/{stamp}/{PAGE}", PAGE, "a"), "timegate")


def test_every_archive_is_asked_for_a_page_that_cannot_exist() -> None:
    assert list(questions_of([entry("a"), entry("b")])) == [
        CanaryQuestion("a", "lacks", NEVER_ARCHIVED),
        CanaryQuestion("b", "lacks", NEVER_ARCHIVED),
    ]


def test_an_archive_is_asked_for_a_page_it_must_hold_if_one_is_known() -> None:
    known = replace(entry("a"), canary=Canary(PAGE, "2016", "http://other.invalid/"))

    has, lacks = questions_of([known])

    assert has == CanaryQuestion("a", "has", PAGE, Moment("2016"))
    assert lacks == CanaryQuestion("a", "lacks", "http://other.invalid/", Moment("2016"))


@pytest.mark.parametrize(
    ("at", "found", "verdict"),
    [
        (None, copy("20160122112029"), "kept"),
        ("2016", copy("20160122112029"), "kept"),
        ("20160122112029", copy("20160122112029"), "kept"),
        ("20160122112029", copy("20160122112030"), "lost"),
        ("2015", copy("20160122112029"), "lost"),
        ("2016", None, "lost"),
        (None, None, "lost"),
    ],
)
def test_the_page_it_must_hold_must_be_there_with_the_right_time(
    at: str | None, found: Closest | None, verdict: str
) -> None:
    question = CanaryQuestion("a", "has", PAGE, None if at is None else Moment(at))

    assert judged(question, found).verdict == verdict


def test_a_memento_of_a_page_that_cannot_exist_is_a_false_claim() -> None:
    question = CanaryQuestion("a", "lacks", NEVER_ARCHIVED)

    assert judged(question, None).verdict == "kept"
    assert judged(question, copy("20160122112029")) == (
        "claims",
        "it gives a copy of 2016-01-22T11:20:29Z",
    )
