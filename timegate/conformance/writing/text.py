"""A report for people: one line for each check, and the trace behind what is wrong."""

from collections.abc import Iterator
from typing import Final

from timegate.conformance.finding import VERDICTS
from timegate.conformance.report import CheckResult, Report
from timegate.conformance.writing.trace import got, printable, sent

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
