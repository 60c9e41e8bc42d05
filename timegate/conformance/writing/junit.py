"""A report for build servers: JUnit's XML, a suite for each archive and page.

A warning is a passed test with words in ``system-out``, unless *strict* counts it. What could
not be judged is skipped: a build must not break because somebody's network did.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from timegate.conformance.report import CheckResult, Report
from timegate.conformance.writing.trace import got, printable, sent


def as_junit(reports: Sequence[Report], *, strict: bool) -> bytes:
    """Write *reports* as one XML document."""
    root = Element("testsuites", name="timegate check")
    for report in reports:
        for sample in report.subject.samples:
            results = [result for result in report.results if result.sample == sample]
            root.append(_suite(report, sample, results, strict=strict))
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _suite(report: Report, sample: str, results: list[CheckResult], *, strict: bool) -> Element:
    wrong = [result for result in results if _fails(result, strict=strict)]
    skipped = [result for result in results if result.finding.verdict in ("skip", "unknown")]
    suite = Element(
        "testsuite",
        name=printable(f"{report.subject.id} {sample}"),
        tests=str(len(results)),
        failures=str(len(wrong)),
        skipped=str(len(skipped)),
        errors="0",
    )
    for result in results:
        suite.append(_case(report, result, strict=strict))
    return suite


def _fails(result: CheckResult, *, strict: bool) -> bool:
    slack = result.finding.verdict == "warn" and result.check.level == "should"
    return result.finding.verdict == "fail" or (strict and slack)


def _case(report: Report, result: CheckResult, *, strict: bool) -> Element:
    check, finding = result.check, result.finding
    case = Element("testcase", classname=printable(report.subject.id), name=check.name)
    why = printable(finding.why)
    if _fails(result, strict=strict):
        failure = SubElement(case, "failure", type=check.level, message=why)
        failure.text = _trace(result)
    elif finding.verdict in ("skip", "unknown"):
        SubElement(case, "skipped", message=f"{finding.verdict}: {why}")
    elif finding.verdict == "warn":
        SubElement(case, "system-out").text = f"warning: {why}\n{_trace(result)}"
    return case


def _trace(result: CheckResult) -> str:
    lines = [f"{result.check.sentence} ({result.check.rule} {result.check.section})"]
    for exchange in result.finding.evidence:
        lines += [f"> {line}" for line in sent(exchange)]
        lines += [f"< {line}" for line in got(exchange)]
    return "\n".join([*lines, f"expected: {printable(result.finding.expected)}"])
