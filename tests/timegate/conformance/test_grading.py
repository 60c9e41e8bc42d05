"""Exit codes by profile, the baseline of known failures, and archives that do not answer."""

import json
from pathlib import Path

import pytest

from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import checked
from timegate.conformance.grading import (
    PROFILES,
    BadBaseline,
    Grading,
    KnownFailure,
    Profile,
    read_baseline,
)
from timegate.conformance.report import Report


async def report_on(fault: str) -> Report:
    async with an_archive(fault) as archive:
        return await checked(archive)


@pytest.mark.parametrize(
    ("fault", "profile", "code"),
    [
        ("none", "practice", 0),
        ("vary-missing", "rfc-must", 1),
        ("redirect-307", "rfc-must", 0),
        ("redirect-307", "rfc-strict", 1),
        ("lenient-dates", "rfc-must", 0),
        ("lenient-dates", "rfc-strict", 1),
        ("no-cors", "rfc-strict", 0),
        ("no-cors", "practice", 1),
        ("memento-429", "rfc-must", 4),
        ("tls-expired", "rfc-must", 1),
    ],
)
async def test_the_profile_decides_what_fails(fault: str, profile: Profile, code: int) -> None:
    report = await report_on(fault)

    assert Grading(profile).exit_code([report]) == code


@pytest.mark.parametrize(
    "fault",
    [
        *("server-error", "forbidden", "unavailable", "too-many-seconds", "hang", "reset"),
        *("redirect-file", "redirect-metadata", "redirect-private", "redirect-elsewhere"),
        *("bot-challenge", "holds-nothing", "memento-to-live"),
    ],
)
async def test_an_archive_that_leads_to_no_memento_fails(fault: str) -> None:
    report = await report_on(fault)

    assert Grading().exit_code([report]) == 1


async def test_a_known_failure_does_not_fail_the_run() -> None:
    report = await report_on("vary-missing")
    known = KnownFailure("vary-names-accept-datetime")
    elsewhere = KnownFailure("vary-names-accept-datetime", "another-archive")

    assert Grading("rfc-must", (known,)).exit_code([report]) == 0
    assert Grading("rfc-must", (elsewhere,)).exit_code([report]) == 1


async def test_a_written_baseline_allows_what_it_was_written_for(tmp_path: Path) -> None:
    report, path = await report_on("vary-missing"), tmp_path / "baseline.json"
    path.write_bytes(Grading("practice").baseline([report]))

    known = read_baseline(path)

    assert {each.check for each in known} == {
        "refusals-are-a-timegates",
        "vary-names-accept-datetime",
    }
    assert Grading("practice", known).exit_code([report]) == 0


async def test_a_new_failure_beside_known_ones_fails(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(Grading().baseline([await report_on("vary-missing")]))
    worse = await report_on("vary-missing+no-original")

    assert Grading("rfc-must", read_baseline(path)).exit_code([worse]) == 1


async def test_what_is_repaired_is_named() -> None:
    report = await report_on("none")
    grading = Grading("rfc-must", (KnownFailure("redirects-end"),))

    assert grading.repaired([report]) == ["redirects-end"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("[]", "Expected `object`"),
        (json.dumps({"known": [{"check": "no-such-check"}]}), "there is no check"),
        (json.dumps({"known": [], "format": 9}), "format 9"),
        (json.dumps({"known": [], "extra": 1}), "unknown field"),
    ],
)
def test_a_bad_baseline_is_rejected_with_its_reason(
    text: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)

    with pytest.raises(BadBaseline, match=why):
        read_baseline(path)


def test_a_missing_baseline_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadBaseline, match=r"none\.json"):
        read_baseline(tmp_path / "none.json")


def test_each_profile_contains_the_one_before() -> None:
    levels = list(PROFILES.values())

    assert levels == sorted(levels, key=len)
    assert levels[0] < levels[1] < levels[2]
