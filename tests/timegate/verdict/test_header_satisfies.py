"""Whether a resolution satisfies the preferences of the client."""

from datetime import timedelta

import pytest

from tests.timegate.resolution.resolutions import (
    REGISTRY,
    absent,
    asking,
    found,
    memento,
    resolved,
)
from timegate.resolution.model import Direction, Preferences, Strictness
from timegate.verdict import satisfies, verdict

SECOND = "20160122112029"


@pytest.mark.parametrize(
    ("precision", "stamp", "archive", "satisfied"),
    [
        ("any", "19980101000000", "arquivo-pt", True),
        ("exact", SECOND, "internet-archive", True),
        ("exact", SECOND, "arquivo-pt", False),
        ("exact", "20160122112030", "internet-archive", False),
        ("archive", "19980101000000", "internet-archive", True),
        ("archive", SECOND, "arquivo-pt", False),
        ("day", "20160122000000", "arquivo-pt", True),
        ("day", "20160122235959", "arquivo-pt", True),
        ("day", "20160123000000", "arquivo-pt", False),
        ("day", "20160121235959", "arquivo-pt", False),
    ],
)
def test_whether_an_answer_is_as_precise_as_wanted(
    precision: Strictness, stamp: str, archive: str, *, satisfied: bool
) -> None:
    preferences = Preferences(precision=precision)
    resolution = resolved(
        asking(SECOND), found(memento(stamp, archive)), preferences=preferences
    )

    assert satisfies(resolution, verdict(resolution, REGISTRY)) == satisfied


@pytest.mark.parametrize(
    ("at", "stamp", "satisfied"),
    [
        ("20160122", "20160122200000", True),
        ("20160122", "20160123000000", False),
        ("201601", "20160131235959", True),
        ("201601", "20160201000000", False),
        ("2016", "20161231235959", True),
        ("2016", "20170101000000", False),
        ("2016012211", "20160122000000", True),
        ("20160122112029250", "20160122235959", True),
        ("20161231235960", "20161231000000", True),
    ],
)
def test_a_day_is_that_of_the_requested_time_or_any_in_a_longer_interval(
    at: str, stamp: str, *, satisfied: bool
) -> None:
    preferences = Preferences(precision="day")
    resolution = resolved(asking(at), found(memento(stamp)), preferences=preferences)

    assert satisfies(resolution, verdict(resolution, REGISTRY)) == satisfied


@pytest.mark.parametrize(
    ("preferences", "stamp", "satisfied"),
    [
        (Preferences(tolerance=timedelta(seconds=2)), "20160122112031", True),
        (Preferences(tolerance=timedelta(seconds=2)), "20160122112032", False),
        (Preferences(tolerance=timedelta(0)), SECOND, True),
        (Preferences(tolerance=timedelta(days=9), precision="day"), "20160125000000", False),
        (Preferences(direction="before"), "20160122112028", True),
        (Preferences(direction="before"), "20160122112030", False),
        (Preferences(direction="after"), "20160122112028", False),
        (Preferences(direction="after"), SECOND, True),
    ],
)
def test_whether_an_answer_is_within_the_tolerance_and_in_the_direction(
    preferences: Preferences, stamp: str, *, satisfied: bool
) -> None:
    resolution = resolved(asking(SECOND), found(memento(stamp)), preferences=preferences)

    assert satisfies(resolution, verdict(resolution, REGISTRY)) == satisfied


@pytest.mark.parametrize("direction", ["closest", "before", "after"])
def test_without_a_time_the_newest_memento_satisfies(direction: Direction) -> None:
    preferences = Preferences(direction=direction, tolerance=timedelta(0), precision="day")
    resolution = resolved(asking(None, None), found(memento(SECOND)), preferences=preferences)

    assert satisfies(resolution, verdict(resolution, REGISTRY))


def test_without_a_named_archive_any_archive_satisfies() -> None:
    preferences = Preferences(precision="archive")
    resolution = resolved(asking(SECOND, None), found(memento(SECOND)), preferences=preferences)

    assert satisfies(resolution, verdict(resolution, REGISTRY))


def test_a_resolution_without_a_memento_never_satisfies() -> None:
    resolution = resolved(asking(SECOND), None, absent("internet-archive"))

    assert not satisfies(resolution, verdict(resolution, REGISTRY))
