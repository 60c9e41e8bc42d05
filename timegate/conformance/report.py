"""What a run found, as values: results by check, counts, and the code to exit with."""

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
    """What one check found with one page."""

    check: Check
    sample: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one archive."""

    subject: Subject
    results: tuple[CheckResult, ...]
    requests: int
    """How many questions it took, those answered from a recording included."""

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(result.finding.verdict for result in self.results)

    @property
    def unanswered(self) -> bool:
        """Whether some MUST could not be judged because the archive did not answer."""
        musts = (result for result in self.results if result.check.level == "must")
        return any(result.finding.verdict == "unknown" for result in musts)

    def worst(self, check: Check) -> CheckResult:
        """Return the worst result of *check* over all pages, for a table with one cell."""
        order: Sequence[Verdict] = ("fail", "warn", "unknown", "pass", "skip")
        mine = [result for result in self.results if result.check is check]
        return min(mine, key=lambda result: order.index(result.finding.verdict))


def judged(facts: Facts) -> tuple[CheckResult, ...]:
    """Run every check on *facts*."""
    return tuple(CheckResult(each, facts.sample, each(facts)) for each in CHECKS.values())


def exit_code(reports: Sequence[Report], *, strict: bool) -> int:
    """0: every MUST holds. 1: one does not (*strict*: also a SHOULD). 4: one is unknown."""
    findings = [result for report in reports for result in report.results]
    failed = any(result.finding.verdict == "fail" for result in findings)
    slack = any(r.finding.verdict == "warn" and r.check.level == "should" for r in findings)
    if failed or (strict and slack):
        return 1
    return 4 if any(report.unanswered for report in reports) else 0


_SHOWN: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "content-type"),
    *("access-control-allow-origin", "access-control-allow-headers", "retry-after"),
)
_LONGEST: Final = 600
"""A Link header of a paging TimeMap may be as long as a page of this report."""


def sent(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the lines that went out."""
    yield f"{exchange.request.method} {printable(exchange.request.url)}"
    for name, value in exchange.request.headers.items():
        yield f"{name.title()}: {printable(value)}"


def got(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the lines that came back, as far as Memento looks at them."""
    if exchange.status is not None:
        yield str(exchange.status)
    for name in _SHOWN:
        if name in exchange.headers:
            yield f"{name.title()}: {printable(exchange.headers[name])}"
    if exchange.trouble is not None:
        yield f"({exchange.trouble.kind}: {printable(exchange.trouble.why)})"


def printable(text: str) -> str:
    """Return *text* with what a terminal or XML would act upon written out, within bounds."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escaped(shown)


_WRONG: Final = ("fail", "warn")


def summary(report: Report) -> str:
    """Count the verdicts in one line."""
    counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
    return f"{report.subject.id}: {counts} ({report.requests} requests)"


def lines(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write *report*; *verbose*: also what does not apply."""
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
    """Yield what was sent, got and expected."""
    for exchange in result.finding.evidence:
        yield from (f"> {line}" for line in sent(exchange))
        yield from (f"< {line}" for line in got(exchange))
    if result.finding.expected:
        yield f"expected: {printable(result.finding.expected)}"


def as_json(reports: Sequence[Report], now: str, code: int) -> str:
    """Write *reports* as one JSON object."""
    document = {
        "checked": now,
        "exit_code": code,
        "archives": [_report(report) for report in reports],
    }
    return json.dumps(document, indent=1)


def _report(report: Report) -> dict[str, object]:
    subject = report.subject
    return {
        "id": subject.id,
        "name": subject.name,
        "kind": subject.role,
        "url": subject.url,
        "samples": list(subject.samples),
        "requests": report.requests,
        "counts": dict(report.counts),
        "results": [_json_result(result) for result in report.results],
    }


def _json_result(result: CheckResult) -> dict[str, object]:
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
        "trace": [_exchange(exchange) for exchange in finding.evidence],
    }


def _exchange(exchange: RecordedExchange) -> dict[str, object]:
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
