"""Copies from archives that are not trusted."""

import pytest

from archives.registry import load_known
from tests.timegate.resolution.resolutions import asking, found, memento
from timegate.batch.model import trusted
from timegate.resolution.model import Preferences, Resolution

TODAY = "https://archive.today/20160122112029/http://www.dr.dk/"
IA = "https://web.archive.org/web/20160122112029/http://www.dr.dk/"
LED_ASTRAY = found(memento("20160122112029", "aggregator", uri=TODAY))
THERE = found(memento("20160125000000", "internet-archive", uri=IA))
OWN = found(memento("20160122112029", "own", uri="http://archive.example/1"))


@pytest.mark.parametrize(
    ("preferences", "best"),
    [
        (Preferences(), LED_ASTRAY),
        (Preferences(exclude=frozenset({"archive-today"})), THERE),
        (Preferences(exclude=frozenset({"arquivo-pt"})), LED_ASTRAY),
        (Preferences(archives=frozenset({"aggregator", "internet-archive"})), THERE),
    ],
)
def test_the_best_trusted_copy_is_used(preferences: Preferences, best: object) -> None:
    attempts = (LED_ASTRAY, THERE)
    resolution = Resolution(asking("2016"), preferences, LED_ASTRAY, (THERE,), attempts)

    assert trusted(resolution, load_known()).best is best


def test_without_a_trusted_copy_there_is_no_memento() -> None:
    preferences = Preferences(exclude=frozenset({"archive-today"}))
    resolution = Resolution(asking("2016"), preferences, LED_ASTRAY, (), (LED_ASTRAY,))

    assert trusted(resolution, load_known()).memento is None


def test_a_copy_at_an_unknown_host_belongs_to_the_queried_archive() -> None:
    preferences = Preferences(archives=frozenset({"own"}))
    resolution = Resolution(asking("2016"), preferences, OWN, (), (OWN,))

    assert trusted(resolution, load_known()).best is OWN
