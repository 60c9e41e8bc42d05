"""What a run found, as values: results by check, counts, and the code to exit with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from timegate.conformance.catalogue import Check
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts
from timegate.conformance.finding import Finding, Verdict
from timegate.conformance.subject import Subject


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
