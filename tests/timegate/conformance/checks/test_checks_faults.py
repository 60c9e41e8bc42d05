"""Each fault of the misbehaving archive is found by exactly the checks in the table."""

from dataclasses import replace

import pytest

from tests.timegate.conformance.archive import FAULTS, PAGE, QUICK, ArchiveOptions, an_archive
from tests.timegate.conformance.checking import broken, checked, checked_as, unknown
from tests.timegate.conformance.faults_and_checks import (
    BROKEN,
    FAULT_OPTIONS,
    NEVER_BROKEN,
    ON_FIXED,
    ON_PAGES,
    RIGHT,
    UNKNOWN,
    WITHOUT_TIMEMAP,
)
from timegate.conformance.checks import CHECKS
from timegate.conformance.subject import DEFAULT_SAMPLE


def test_the_table_has_every_fault() -> None:
    assert BROKEN.keys() | UNKNOWN.keys() | RIGHT == FAULTS.keys()
    assert not (BROKEN.keys() | UNKNOWN.keys()) & RIGHT


def test_every_check_is_broken_by_some_fault() -> None:
    tables = (BROKEN, ON_PAGES, ON_FIXED, WITHOUT_TIMEMAP)
    named = set().union(*(checks for table in tables for checks in table.values()))

    assert named == CHECKS.keys() - NEVER_BROKEN


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_fault_is_found_by_exactly_the_checks_in_the_table(fault: str) -> None:
    async with an_archive(fault, options=FAULT_OPTIONS.get(fault, QUICK)) as archive:
        report = await checked(archive)

    assert broken(report) == BROKEN.get(fault, set())
    assert unknown(report) >= UNKNOWN.get(fault, set())
    assert bool(unknown(report)) == (fault in UNKNOWN)


@pytest.mark.parametrize("fault", sorted(WITHOUT_TIMEMAP))
async def test_a_fault_is_found_without_a_timemap(fault: str) -> None:
    async with an_archive(fault) as archive:
        report = await checked(archive)

    assert broken(report) == WITHOUT_TIMEMAP[fault]
    assert unknown(report) == set()


@pytest.mark.parametrize(
    ("path", "fault", "checks"),
    [
        *(("/page/", fault, checks) for fault, checks in ON_PAGES.items()),
        *(("/fixed/", fault, checks) for fault, checks in ON_FIXED.items()),
    ],
)
async def test_a_fault_of_an_original_is_found(path: str, fault: str, checks: set[str]) -> None:
    async with an_archive(fault) as archive:
        report = await checked_as(archive, path, "original")

    assert broken(report) == checks


@pytest.mark.parametrize(
    ("fault", "checks"),
    [("none", set()), ("list-misses-one", {"linked-mementos-are-listed"})],
)
async def test_a_memento_that_its_timemap_does_not_list_is_found(
    fault: str, checks: set[str]
) -> None:
    """Pattern 4: no TimeGate, and a memento without links to other mementos."""
    options = replace(QUICK, timegate="none")
    async with an_archive(fault, options=options) as archive:
        report = await checked_as(archive, f"/web/20200202020202/{PAGE}", "memento")

    assert broken(report) >= checks
    assert "linked-mementos-are-listed" in broken(report) or not checks


@pytest.mark.parametrize(
    "options",
    [
        ArchiveOptions(timegate="200"),
        ArchiveOptions(timemap="pages", page_size=2),
        ArchiveOptions(timemap="index", page_size=2),
    ],
)
async def test_other_options_of_a_conforming_archive_pass(options: ArchiveOptions) -> None:
    async with an_archive(options=options) as archive:
        report = await checked(archive)

    assert broken(report) == set()
    assert unknown(report) == set()


@pytest.mark.parametrize("fault", ["archived-301", "archived-404", "archived-429"])
async def test_archived_errors_pass_in_the_200_style(fault: str) -> None:
    async with an_archive(fault, options=ArchiveOptions(timegate="200")) as archive:
        report = await checked(archive)

    assert broken(report) == set()


async def test_a_named_page_that_is_not_held_is_a_failure() -> None:
    async with an_archive(options=QUICK) as archive:
        report = await checked(archive, ("http://elsewhere.example/",))

    assert broken(report) == {"timegate-leads-to-a-memento"}
    assert unknown(report) == set()


async def test_the_default_page_that_is_not_held_is_unknown() -> None:
    async with an_archive(options=QUICK) as archive:
        report = await checked(archive, (DEFAULT_SAMPLE,))

    assert broken(report) == set()
    assert unknown(report) == {"timegate-leads-to-a-memento"}


async def test_the_number_of_requests_is_within_the_estimate() -> None:
    async with an_archive() as archive:
        report = await checked(archive, ("http://example.org/", "http://www.example.org/"))

        assert report.requests == archive.journal.request_count
        assert report.requests <= 34 + 6 + 24 + 5
