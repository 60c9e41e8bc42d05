"""Reports for other programs: JUnit, SARIF 2.1.0, and badges."""

import json
from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from timegate.conformance.checks import CHECKS
from timegate.conformance.grading import Grading
from timegate.conformance.report import CheckResult, Report, printable, trace


def as_junit(reports: Sequence[Report], grading: Grading) -> bytes:
    """Return *reports* as JUnit XML for build servers."""
    root = Element("testsuites", name="timegate check")
    for report in reports:
        for sample in report.subject.samples:
            results = [result for result in report.results if result.sample == sample]
            root.append(_suite(report, sample, results, grading))
        if report.is_mostly_unknown:
            root.append(_silence(report))
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _suite(
    report: Report, sample: str, results: list[CheckResult], grading: Grading
) -> Element:
    wrong = [result for result in results if grading.is_red(report, result)]
    skipped = [result for result in results if _is_skipped(report, result, grading)]
    suite = Element(
        "testsuite",
        name=printable(f"{report.subject.id} {sample}"),
        tests=str(len(results)),
        failures=str(len(wrong)),
        skipped=str(len(skipped)),
        errors="0",
    )
    for result in results:
        suite.append(_case(report, result, grading))
    return suite


def _silence(report: Report) -> Element:
    """Return a suite that fails because most requirements could not be judged."""
    suite = Element(
        "testsuite", name=printable(f"{report.subject.id} responses"), tests="1", failures="1"
    )
    case = SubElement(
        suite, "testcase", classname=printable(report.subject.id), name="responds"
    )
    SubElement(case, "failure", type="unknown", message=MOSTLY_UNKNOWN)
    return suite


MOSTLY_UNKNOWN: Final = "most requirements could not be judged"


def _is_skipped(report: Report, result: CheckResult, grading: Grading) -> bool:
    known = grading.counts(result) and grading.is_known(report, result)
    return known or result.finding.verdict in ("skip", "unknown")


def _case(report: Report, result: CheckResult, grading: Grading) -> Element:
    check, finding = result.check, result.finding
    case = Element("testcase", classname=printable(report.subject.id), name=check.name)
    why = printable(finding.why)
    if grading.is_red(report, result):
        failure = SubElement(case, "failure", type=check.level, message=why)
        failure.text = _failure_text(result)
    elif _is_skipped(report, result, grading):
        what = "known" if grading.is_known(report, result) else finding.verdict
        SubElement(case, "skipped", message=f"{what}: {why}")
    elif finding.verdict in ("fail", "warn"):
        SubElement(case, "system-out").text = f"warning: {why}\n{_failure_text(result)}"
    return case


def _failure_text(result: CheckResult) -> str:
    requirement = f"{result.check.sentence} ({result.check.rule} {result.check.section})"
    return "\n".join([requirement, *trace(result)])


SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS: Final = {"must": "error", "should": "warning", "practice": "note"}


def as_sarif(reports: Sequence[Report], grading: Grading, version: str) -> str:
    """Return violations and unknown results as SARIF 2.1.0, for code scanning."""
    order = {name: number for number, name in enumerate(CHECKS)}
    results = [
        _sarif_result(report, result, grading, order)
        for report in reports
        for result in report.results
        if result.finding.verdict in ("fail", "warn", "unknown")
    ]
    driver = {"name": "timegate check", "version": version, "rules": _sarif_rules()}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _sarif_rules() -> list[dict[str, object]]:
    return [
        {
            "id": check.name,
            "shortDescription": {"text": check.sentence},
            "help": {"text": f"{check.sentence} {check.section}"},
            "defaultConfiguration": {"level": _SARIF_LEVELS[check.level]},
            "properties": {"level": check.level, "rule": check.rule, "section": check.section},
        }
        for check in CHECKS.values()
    ]


def _sarif_result(
    report: Report, result: CheckResult, grading: Grading, order: dict[str, int]
) -> dict[str, object]:
    check, finding = result.check, result.finding
    evidence = finding.evidence[0].url if finding.evidence else report.subject.url
    is_unknown = finding.verdict == "unknown"
    document: dict[str, object] = {
        "ruleId": check.name,
        "ruleIndex": order[check.name],
        "kind": "open" if is_unknown else "fail",
        "level": "none" if is_unknown else _SARIF_LEVELS[check.level],
        "message": {"text": printable(f"{finding.why} (with {result.sample})")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(printable(evidence), safe=_SAFE)}
                }
            }
        ],
        "partialFingerprints": {
            "check/v1": f"{report.subject.id} {result.sample} {check.name}"
        },
    }
    if grading.is_known(report, result):
        document["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return document


_SAFE: Final = ":/?#[]@!$&'()*+,;=%~"
_COLOURS: Final = {"passes": "brightgreen", "fails": "red", "unknown": "lightgrey"}
_HEX: Final = {"passes": "#2e7d32", "fails": "#b71c1c", "unknown": "#616161"}
BADGE_LABEL: Final = "RFC 7089"


def badge_text(reports: Sequence[Report], grading: Grading) -> tuple[str, str]:
    """Return the state of a badge, and its message."""
    code = grading.exit_code(reports)
    red = sum(len(grading.red(report)) for report in reports)
    passing = sum(report.counts["pass"] for report in reports)
    if red:
        return "fails", f"{red} of {red + passing} fail ({grading.profile})"
    if code:
        return "unknown", "could not be judged"
    known = sum(
        grading.counts(result) and grading.is_known(report, result)
        for report in reports
        for result in report.results
    )
    excepted = f", {known} known to fail" if known else ""
    return "passes", f"{passing} checks pass{excepted} ({grading.profile})"


def as_badge_json(reports: Sequence[Report], grading: Grading) -> str:
    """Return the badge as JSON for an endpoint of shields.io."""
    state, message = badge_text(reports, grading)
    return json.dumps(
        {
            "schemaVersion": 1,
            "label": BADGE_LABEL,
            "message": message,
            "color": _COLOURS[state],
        }
    )


def as_badge_svg(reports: Sequence[Report], grading: Grading) -> str:
    """Return the badge as an SVG image, which loads nothing."""
    state, message = badge_text(reports, grading)
    left, right = _width(BADGE_LABEL), _width(message)
    label, text = escape(BADGE_LABEL), escape(message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
        f'role="img" aria-label="{label}: {text}"><title>{label}: {text}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="{_HEX[state]}"/>'
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        f'text-anchor="middle"><text x="{left / 2:g}" y="14">{label}</text>'
        f'<text x="{left + right / 2:g}" y="14">{text}</text></g></svg>\n'
    )


def _width(text: str) -> int:
    """Return the width of *text* at 11 pixels, which is about 7 a character, with margins."""
    return 7 * len(text) + 12
