"""A report for people: one line for each check, and the trace behind what is wrong."""

from collections.abc import Iterator
from typing import Final

from timegate.conformance.finding import VERDICTS, Verdict
from timegate.conformance.report import Report, Result
from timegate.conformance.writing.trace import got, printable, sent

Lines = Iterator[tuple[str, Verdict | None]]
"""Each with the verdict it is about, for who can colour it."""
_WRONG: Final = ("fail", "warn")


def summary(report: Report) -> str:
    """Count the verdicts in one line."""
    counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
    return f"{report.subject.id}: {counts} ({report.requests} requests)"


def lines(report: Report, *, verbose: bool) -> Lines:
    """Write *report*; *verbose*: also what does not apply."""
    subject = report.subject
    yield f"{subject.id}: {subject.role} {subject.url}", None
    for sample in subject.samples:
        yield f"  with {printable(sample)}", None
        for result in report.results:
            if result.sample == sample and (verbose or result.finding.verdict != "skip"):
                yield from _result(result)
    yield summary(report), None


def _result(result: Result) -> Lines:
    check, finding = result.check, result.finding
    name = f"{finding.verdict:<8}{check.rule:<5}{check.level:<9}{check.name}"
    yield f"  {name}: {printable(finding.why)}", finding.verdict
    if finding.verdict in _WRONG:
        yield f"          {check.sentence} ({check.section})", None
        yield from ((f"          {line}", None) for line in _trace(result))


def _trace(result: Result) -> Iterator[str]:
    for exchange in result.finding.evidence:
        yield from (f"> {line}" for line in sent(exchange))
        yield from (f"< {line}" for line in got(exchange))
    if result.finding.expected:
        yield f"expected: {printable(result.finding.expected)}"
