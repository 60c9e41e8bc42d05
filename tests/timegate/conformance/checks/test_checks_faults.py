"""For each fault of the misbehaving archive, exactly the checks that name it find it."""

import pytest

from tests.timegate.conformance.archive import FAULTS, QUICK, Manner, an_archive
from tests.timegate.conformance.checking import broken, checked, unknown
from tests.timegate.conformance.faults_and_checks import (
    BROKEN,
    MANNERS,
    NEVER_BROKEN,
    RIGHT,
    UNKNOWN,
)
from timegate.conformance.checks import CHECKS
from timegate.conformance.subject import DEFAULT_SAMPLE


def test_the_table_has_every_fault() -> None:
    assert BROKEN.keys() | UNKNOWN.keys() | RIGHT == FAULTS.keys()
    assert not (BROKEN.keys() | UNKNOWN.keys()) & RIGHT


def test_every_check_is_broken_by_some_fault() -> None:
    named = set().union(*BROKEN.values())

    assert named == CHECKS.keys() - NEVER_BROKEN


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_exactly_the_checks_that_name_a_fault_find_it(fault: str) -> None:
    async with an_archive(fault, manner=MANNERS.get(fault, QUICK)) as archive:
        report = await checked(archive)

    assert broken(report) == BROKEN.get(fault, set())
    assert unknown(report) >= UNKNOWN.get(fault, set())
    assert bool(unknown(report)) == (fault in UNKNOWN)


@pytest.mark.parametrize(
    "manner",
    [
        Manner(timegate="200"),
        Manner(timemap="pages", page_size=2),
        Manner(timemap="index", page_size=2),
    ],
)
async def test_other_manners_of_right_archives_are_right(manner: Manner) -> None:
    async with an_archive(manner=manner) as archive:
        report = await checked(archive)

    assert broken(report) == set()
    assert unknown(report) == set()


@pytest.mark.parametrize("fault", ["archived-301", "archived-404", "archived-429"])
async def test_archived_errors_are_right_in_the_200_style(fault: str) -> None:
    async with an_archive(fault, manner=Manner(timegate="200")) as archive:
        report = await checked(archive)

    assert broken(report) == set()


async def test_a_page_that_was_named_and_is_not_held_breaks_the_check_that_says_so() -> None:
    async with an_archive(manner=QUICK) as archive:
        report = await checked(archive, ("http://elsewhere.example/",))

    assert broken(report) == {"timegate-leads-to-a-memento"}
    assert unknown(report) == set()


async def test_of_a_page_that_was_guessed_and_is_not_held_nothing_is_known() -> None:
    async with an_archive(manner=QUICK) as archive:
        report = await checked(archive, (DEFAULT_SAMPLE,))

    assert broken(report) == set()
    assert unknown(report) == {"timegate-leads-to-a-memento"}


async def test_the_number_of_requests_is_what_was_announced() -> None:
    async with an_archive() as archive:
        report = await checked(archive, ("http://example.org/", "http://www.example.org/"))

        assert report.requests == archive.journal.asked_in_all
        assert report.requests <= 31 + 6 + 21 + 5
