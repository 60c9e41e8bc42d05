"""The report of a run, its exit code, and its text, JSON and JUnit forms.

What an archive sent is escaped and shortened before it is printed.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from timegate.conformance.catalogue import VERDICTS, Check, Finding, Verdict
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import Subject
from timegate.text import escaped


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The finding of one check with one sample page."""

    check: Check
    sample: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one archive."""

    subject: Subject
    results: tuple[CheckResult, ...]
    requests: int
    """Number of requests, including those answered from a recording."""

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(result.finding.verdict for result in self.results)

    @property
    def unanswered(self) -> bool:
        """Whether a MUST could not be judged because the archive did not answer."""
        musts = (result for result in self.results if result.check.level == "must")
        return any(result.finding.verdict == "unknown" for result in musts)

    def worst(self, check: Check) -> CheckResult:
        """Return the worst result of *check* over all pages, for a table with one cell."""
        order: Sequence[Verdict] = ("fail", "warn", "unknown", "pass", "skip")
        mine = [result for result in self.results if result.check is check]
        return min(mine, key=lambda result: order.index(result.finding.verdict))


def judged(facts: Facts) -> tuple[CheckResult, ...]:
    """Run every check on *facts*."""
    return tuple(CheckResult(check, facts.sample, check(facts)) for check in CHECKS.values())


def exit_code(reports: Sequence[Report], *, strict: bool) -> int:
    """0: every MUST holds. 1: one is violated (*strict*: also a SHOULD). 4: one is unknown."""
    findings = [result for report in reports for result in report.results]
    failed = any(result.finding.verdict == "fail" for result in findings)
    slack = any(r.finding.verdict == "warn" and r.check.level == "should" for r in findings)
    if failed or (strict and slack):
        return 1
    return 4 if any(report.unanswered for report in reports) else 0


_SHOWN_HEADERS: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "content-type"),
    *("access-control-allow-origin", "access-control-allow-headers", "retry-after"),
)
_LONGEST_TEXT: Final = 600
"""Characters; the Link header of a paged TimeMap may be as long as this report."""


def request_lines(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the method, the address and the header fields of the request."""
    yield f"{exchange.request.method} {printable(exchange.request.url)}"
    for name, value in exchange.request.headers.items():
        yield f"{name.title()}: {printable(value)}"


def response_lines(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the status and the header fields of the response that concern Memento."""
    if exchange.status is not None:
        yield str(exchange.status)
    for name in _SHOWN_HEADERS:
        if name in exchange.headers:
            yield f"{name.title()}: {printable(exchange.headers[name])}"
    if exchange.trouble is not None:
        yield f"({exchange.trouble.kind}: {printable(exchange.trouble.why)})"


def printable(text: str) -> str:
    """Return *text*, shortened, with what terminals or XML would interpret escaped."""
    shown = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return escaped(shown)


_WRONG: Final = ("fail", "warn")


def summary(report: Report) -> str:
    """Return the number of each verdict in one line."""
    counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
    return f"{report.subject.id}: {counts} ({report.requests} requests)"


def lines(report: Report, *, verbose: bool) -> Iterator[str]:
    """Yield *report* as text; *verbose*: with the checks that do not apply."""
    subject = report.subject
    yield f"{subject.id}: {subject.role} {subject.url}"
    for sample in subject.samples:
        yield f"  with {printable(sample)}"
        for result in report.results:
            if result.sample == sample and (verbose or result.finding.verdict != "skip"):
                yield from _result(result)
    yield summary(report)


def _result(result: CheckResult) -> Iterator[str]:
    check, finding = result.check, result.finding
    name = f"{finding.verdict:<8}{check.rule:<5}{check.level:<9}{check.name}"
    yield f"  {name}: {printable(finding.why)}"
    if finding.verdict in _WRONG:
        yield f"          {check.sentence} ({check.section})"
        yield from (f"          {line}" for line in trace(result))


def trace(result: CheckResult) -> Iterator[str]:
    """Yield the exchanges behind a finding, and what was expected."""
    for exchange in result.finding.evidence:
        yield from (f"> {line}" for line in request_lines(exchange))
        yield from (f"< {line}" for line in response_lines(exchange))
    if result.finding.expected:
        yield f"expected: {printable(result.finding.expected)}"


def as_json(reports: Sequence[Report], now: str, code: int) -> str:
    """Return *reports* as one JSON object."""
    document = {
        "checked": now,
        "exit_code": code,
        "archives": [_report_json(report) for report in reports],
    }
    return json.dumps(document, indent=1)


def _report_json(report: Report) -> dict[str, object]:
    subject = report.subject
    return {
        "id": subject.id,
        "name": subject.name,
        "kind": subject.role,
        "url": subject.url,
        "samples": list(subject.samples),
        "requests": report.requests,
        "counts": dict(report.counts),
        "results": [_result_json(result) for result in report.results],
    }


def _result_json(result: CheckResult) -> dict[str, object]:
    check, finding = result.check, result.finding
    return {
        "check": check.name,
        "rule": check.rule or None,
        "level": check.level,
        "section": check.section,
        "sentence": check.sentence,
        "sample": result.sample,
        "verdict": finding.verdict,
        "why": finding.why,
        "expected": finding.expected or None,
        "trace": [_exchange_json(exchange) for exchange in finding.evidence],
    }


def _exchange_json(exchange: RecordedExchange) -> dict[str, object]:
    request, trouble = exchange.request, exchange.trouble
    return {
        "method": request.method,
        "url": request.url,
        "sent": dict(request.headers),
        "status": exchange.status,
        "got": dict(exchange.headers),
        "trouble": None if trouble is None else {"kind": trouble.kind, "why": trouble.why},
        "seconds": round(exchange.seconds, 3),
    }


def as_junit(reports: Sequence[Report], *, strict: bool) -> bytes:
    """Return *reports* as JUnit XML for build servers."""
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
        failure.text = _failure_text(result)
    elif finding.verdict in ("skip", "unknown"):
        SubElement(case, "skipped", message=f"{finding.verdict}: {why}")
    elif finding.verdict == "warn":
        SubElement(case, "system-out").text = f"warning: {why}\n{_failure_text(result)}"
    return case


def _failure_text(result: CheckResult) -> str:
    requirement = f"{result.check.sentence} ({result.check.rule} {result.check.section})"
    return "\n".join([requirement, *trace(result)])
