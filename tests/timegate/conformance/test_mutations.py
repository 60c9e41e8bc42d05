"""The table of mutations: each check is red with a fault and green with a valid variation."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import NOW, checked_as, verdicts
from tests.timegate.conformance.mutations import GREEN, RECORDED, RED, Trial, published
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import ParsedResponse
from timegate.conformance.probes import memento
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import Subject
from timegate.misbehave import FAULTS

DATA = Path(__file__).parents[3] / "docs/conformance/mutations.json"


async def verdict(check: str, trial: Trial) -> str:
    async with an_archive(trial.fault, options=trial.options) as archive:
        return verdicts(await checked_as(archive, trial.path, trial.role))[check]


def test_every_check_is_in_the_table() -> None:
    assert {name for name, trials in RED.items() if trials} == CHECKS.keys() - RECORDED
    assert GREEN.keys() == CHECKS.keys() - RECORDED


def test_every_variation_is_valid_but_for_other_checks() -> None:
    """A check may be left green by what another check finds: a lenient date is no nonsense."""
    wrong = {t.fault for t in GREEN.values() if not FAULTS[t.fault].is_valid}

    assert wrong <= {"lenient-dates"}


@pytest.mark.parametrize("check", sorted(GREEN))
async def test_a_planted_fault_turns_a_check_red(check: str) -> None:
    """All other faults of the table are walked through in checks/test_checks_faults.py."""
    assert await verdict(check, RED[check][0]) in ("fail", "warn")


@pytest.mark.parametrize("check", sorted(GREEN))
async def test_a_valid_variation_leaves_a_check_green(check: str) -> None:
    trial = GREEN[check]
    green = "skip" if trial.fault == "page-excluded" else "pass"

    assert await verdict(check, trial) in {green, "pass"}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://archive.example.org/timegate/", "warn"),
        ("https://archive.example.org/timegate/", "pass"),
        ("http://192.168.0.7/timegate/", "skip"),
    ],
)
def test_a_public_archive_has_an_https_address(url: str, found: str) -> None:
    facts = Facts(Subject("a", "A", "timegate", url), "http://example.org/", NOW)

    assert CHECKS["https-is-spoken"](facts).verdict == found


@pytest.mark.parametrize(("seconds", "found"), [(11.0, "warn"), (9.0, "pass")])
def test_slow_responses_are_reported(seconds: float, found: str) -> None:
    url = "https://archive.example.org/timegate/"
    exchange = RecordedExchange(memento(url), 200, seconds=seconds)
    facts = Facts(Subject("a", "A", "timegate", url), "http://example.org/", NOW)
    facts = replace(facts, responses=(ParsedResponse(exchange),))

    assert CHECKS["latency-is-told"](facts).verdict == found


def test_the_published_table_is_that_of_the_tests() -> None:
    command = "python -m tests.timegate.conformance.mutations > docs/conformance/mutations.json"

    assert DATA.read_text() == published(), command
