"""JUnit, SARIF and badges; nothing that an archive sends can break them."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import checked
from tests.timegate.conformance.test_report import an_evil_report
from timegate.conformance.checks import CHECKS
from timegate.conformance.exports import (
    as_badge_json,
    as_badge_svg,
    as_junit,
    as_sarif,
)
from timegate.conformance.grading import Grading, KnownFailure
from timegate.conformance.report import Report

MUST = Grading()
VARY = "vary-names-accept-datetime"


async def report_on(fault: str) -> Report:
    async with an_archive(fault) as archive:
        return await checked(archive)


async def test_junit_counts_failures_and_skips_unknown_results() -> None:
    suites = ET.fromstring(  # noqa: S314 -- our own
        as_junit([await report_on("vary-missing"), await report_on("forbidden")], MUST)
    )

    broken, silent, responses = suites.findall("testsuite")
    assert broken.get("failures") == "1"
    assert [c.get("name") for c in broken.findall("testcase[failure]")] == [VARY]
    assert silent.get("failures") == "0"
    assert int(silent.get("skipped", "0")) > 40
    assert responses.get("failures") == "1"


async def test_strict_junit_counts_a_broken_should() -> None:
    report = await report_on("redirect-307")

    strict = ET.fromstring(as_junit([report], Grading("rfc-strict")))  # noqa: S314 -- our own

    assert [f.get("type") for f in strict.iter("failure")] == ["should"]


async def test_junit_skips_a_known_failure() -> None:
    report = await report_on("vary-missing")
    grading = Grading("rfc-must", (KnownFailure(VARY),))

    suites = ET.fromstring(as_junit([report], grading))  # noqa: S314 -- our own

    assert not list(suites.iter("failure"))
    messages = [skipped.get("message", "") for skipped in suites.iter("skipped")]
    assert sum(message.startswith("known: ") for message in messages) == 1


async def test_sarif_has_a_rule_for_each_check_and_a_result_for_each_violation() -> None:
    report = await report_on("vary-missing")
    grading = Grading("rfc-must", (KnownFailure("refusals-are-a-timegates"),))

    document = json.loads(as_sarif([report], grading, "1.0"))

    [run] = document["runs"]
    assert document["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == list(CHECKS)
    results = {result["ruleId"]: result for result in run["results"]}
    assert results.keys() == {VARY, "refusals-are-a-timegates"}
    assert results[VARY]["level"] == "error"
    assert rules[results[VARY]["ruleIndex"]] == VARY
    [location] = results[VARY]["locations"]
    assert "/timegate/" in location["physicalLocation"]["artifactLocation"]["uri"]
    assert "suppressions" not in results[VARY]
    assert results["refusals-are-a-timegates"]["suppressions"][0]["status"] == "accepted"


async def test_unknown_results_are_open_in_sarif() -> None:
    document = json.loads(as_sarif([await report_on("forbidden")], MUST, "1.0"))

    kinds = {result["kind"] for result in document["runs"][0]["results"]}
    assert kinds == {"open"}


@pytest.mark.parametrize(
    ("fault", "colour", "message"),
    [
        ("none", "brightgreen", "checks pass (rfc-must)"),
        ("vary-missing", "red", "fail (rfc-must)"),
        ("forbidden", "lightgrey", "could not be judged"),
    ],
)
async def test_a_badge_says_whether_the_archive_passes(
    fault: str, colour: str, message: str
) -> None:
    report = await report_on(fault)

    badge, image = json.loads(as_badge_json([report], MUST)), as_badge_svg([report], MUST)

    assert badge["schemaVersion"] == 1
    assert badge["color"] == colour
    assert badge["message"].endswith(message)
    assert badge["message"] in image
    assert ET.fromstring(image).tag.endswith("svg")  # noqa: S314 -- our own


async def test_a_badge_states_the_failures_that_the_baseline_allows() -> None:
    report = await report_on("vary-missing")
    grading = Grading("rfc-must", (KnownFailure(VARY),))

    badge = json.loads(as_badge_json([report], grading))

    assert badge["color"] == "brightgreen"
    assert badge["message"].endswith("checks pass, 1 known to fail (rfc-must)")


def test_hostile_text_breaks_no_export() -> None:
    report = an_evil_report()

    xml = as_junit([report], Grading("practice"))
    sarif = as_sarif([report], MUST, "1.0")

    ET.fromstring(xml)  # noqa: S314 -- our own
    ET.fromstring(as_badge_svg([report], MUST))  # noqa: S314 -- our own
    json.loads(sarif)
    sarif.encode()
