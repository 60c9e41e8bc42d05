"""The checks by name: each a function of facts, with its rule and how much it weighs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from timegate.conformance.facts import Facts
from timegate.conformance.finding import Finding, Level, NotApplicable, Unanswered

Judge = Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement."""

    name: str
    rule: str
    """Its number in our rules; empty where it has none."""
    level: Level
    section: str
    """Where it is written."""
    sentence: str
    """What has to hold, for people."""
    judge: Judge

    def __call__(self, facts: Facts) -> Finding:
        """Judge *facts*; a broken recommendation is a warning."""
        try:
            finding = self.judge(facts)
        except NotApplicable as reason:
            return Finding("skip", str(reason))
        except Unanswered as reason:
            return Finding("unknown", str(reason), "", reason.evidence)
        if finding.verdict == "fail" and self.level != "must":
            return replace(finding, verdict="warn")
        return finding


CHECKS: Final[dict[str, Check]] = {}
"""In the order in which they are reported; `timegate.conformance.checks` fills it."""


def check(rule: str, level: Level, section: str) -> Callable[[Judge], Judge]:
    """Enter a function into `CHECKS` under its own name, explained by its docstring."""

    def entered(judge: Judge) -> Judge:
        name = getattr(judge, "__name__", "").replace("_", "-")
        if name in CHECKS:
            raise ValueError(f"there are two checks {name!r}")
        sentence = (judge.__doc__ or "").partition("\n")[0]
        CHECKS[name] = Check(name, rule, level, section, sentence, judge)
        return judge

    return entered
