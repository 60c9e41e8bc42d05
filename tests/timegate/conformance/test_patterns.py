"""Every pattern of RFC 7089 4 is recognised by asking, and passes."""

from dataclasses import replace
from typing import Any, Final

import pytest

from tests.timegate.conformance.archive import PAGE, QUICK, an_archive
from tests.timegate.conformance.checking import broken, checked_at, unknown, verdicts
from timegate.misbehave import FAULTS

GATE: Final = f"/timegate/{PAGE}"
PATTERNS: Final[list[tuple[str, str, str, dict[str, Any]]]] = [
    ("1.1", "original", "/page/", {"own": True}),
    ("1.2", "original", "/page/", {"own": True, "timegate": "200"}),
    ("1.3", "original", "/page/", {"own": True, "timegate": "200-bare"}),
    ("2.1", "original", "/page/", {}),
    ("2.1", "timegate", GATE, {}),
    ("2.2", "original", "/page/", {"timegate": "200"}),
    ("2.2", "timegate", GATE, {"timegate": "200"}),
    ("2.3", "original", "/page/", {"timegate": "200-bare"}),
    ("2.3", "timegate", GATE, {"timegate": "200-bare"}),
    ("3", "original", "/fixed/report", {}),
    ("4", "memento", f"/web/20130615083000/{PAGE}", {"timegate": "none"}),
]


@pytest.mark.parametrize(("pattern", "role", "path", "options"), PATTERNS)
async def test_a_pattern_is_recognised_and_passes(
    pattern: str, role: str, path: str, options: dict[str, Any]
) -> None:
    async with an_archive(options=replace(QUICK, **options)) as archive:
        found, report = await checked_at(archive, path)

    assert (found, report.patterns) == (role, (pattern,))
    assert broken(report) == set()
    assert unknown(report) == set()


@pytest.mark.parametrize("fault", ["archived-301", "archived-404", "archived-429"])
@pytest.mark.parametrize("style", ["302", "200", "200-bare"])
@pytest.mark.parametrize("own", [True, False])
async def test_archived_errors_pass_in_every_pattern(
    fault: str, style: Any, *, own: bool
) -> None:
    options = replace(QUICK, timegate=style, own=own)
    async with an_archive(fault, options=options) as archive:
        _, report = await checked_at(archive, "/page/" if own else GATE)

    assert broken(report) == set()


async def test_a_lenient_timegate_may_answer_a_bad_date_with_an_archived_404() -> None:
    options = replace(QUICK, timegate="200")
    async with an_archive("archived-404+bad-date-ignored", options=options) as archive:
        _, report = await checked_at(archive, GATE)

    assert verdicts(report)["own-errors-are-no-mementos"] == "pass"
    assert verdicts(report)["nonsense-for-a-date-is-a-400"] == "fail"


async def test_a_timegate_whose_mementos_have_no_addresses_need_not_name_them() -> None:
    options = replace(QUICK, timegate="200-bare")
    async with an_archive(options=options) as archive:
        _, report = await checked_at(archive, GATE)

    assert verdicts(report)["answer-names-its-memento"] == "skip"


@pytest.mark.parametrize("fault", sorted(n for n, f in FAULTS.items() if f.is_valid))
@pytest.mark.parametrize("style", ["302", "200"])
async def test_what_is_unusual_and_valid_raises_no_alarm(fault: str, style: Any) -> None:
    async with an_archive(fault, options=replace(QUICK, timegate=style)) as archive:
        _, report = await checked_at(archive, GATE)

    assert broken(report) == set()
    assert unknown(report) == set()


@pytest.mark.parametrize("fault", ["page-gone", "page-forbidden", "page-unavailable"])
async def test_an_original_that_is_gone_still_leads_to_its_timegate(fault: str) -> None:
    async with an_archive(fault) as archive:
        found, report = await checked_at(archive, "/page/")

        assert report.requests == archive.journal.request_count

    assert (found, broken(report), unknown(report)) == ("original", set(), set())


@pytest.mark.parametrize("fault", ["linked-in-html", "page-excluded"])
async def test_valid_originals_raise_no_alarm(fault: str) -> None:
    async with an_archive(fault) as archive:
        found, report = await checked_at(archive, "/page/")

    assert found == ("original" if fault == "linked-in-html" else "timegate")
    assert not broken(report) or fault == "page-excluded"
