"""Runs rounds: each reference is asked in several ways, twice each, and the oracle judges."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.truth.asking import Answer, in_virtual_time, product_over
from tests.truth.drawing import Round, drawn_round
from tests.truth.oracle import Missed, Oracle, Violation, missed, violations, violations_again

_DEFAULT: tuple[str, ...] = (
    "resolve",
    "root",
    "json",
    "html",
    "batch",
    "library",
    "verify-head",
)
"""Ways that look at the memento; the first of a round shows what was missed."""


class Fault(NamedTuple):
    """A violation, with all that is needed to see it again."""

    drawn: Round
    answer: Answer
    asked_before: int
    """How often the same was asked before."""
    violation: Violation

    def __str__(self) -> str:
        drawn = self.drawn
        return "\n".join(
            [
                f"--- {self.violation.kind}: {self.violation.detail}",
                f"python -m tests.truth --seed {drawn.seed} --round {drawn.number}",
                drawn.world.described(),
                f"{drawn.reference} {dict(drawn.preferences)} {drawn.ways}",
                f"{self.answer.way}, asked {self.asked_before} times before",
                self.answer.shown,
                *(
                    f"  {each.method} {each.url}: {_short(each.outcome)}"
                    for each in self.answer.exchanges
                ),
            ]
        )


def _short(outcome: object) -> str:
    return str(outcome)[:400]


@dataclass
class Tally:
    """What some rounds showed."""

    rounds: int = 0
    answers: int = 0
    faults: list[Fault] = field(default_factory=list)
    referenced: int = 0
    """References for which a good copy exists."""
    misses: list[tuple[Round, Answer, Missed]] = field(default_factory=list)
    evidence: Counter[str] = field(default_factory=Counter)

    @property
    def kinds(self) -> Counter[str]:
        return Counter(fault.violation.kind for fault in self.faults)

    @property
    def share_missed(self) -> float:
        return len(self.misses) / self.referenced if self.referenced else 0.0

    def summary(self) -> str:
        """Return the result in a few lines."""
        rounds = {(fault.drawn.seed, fault.drawn.number) for fault in self.faults}
        kinds = Counter(miss.kind for _, _, miss in self.misses)
        lines = [
            f"{self.rounds} rounds, {self.answers} answers: {dict(self.evidence)}",
            f"over-claims: {len(self.faults)} in {len(rounds)} rounds",
            *(f"  {count:6} {kind}" for kind, count in self.kinds.most_common()),
            f"good copy missed: {len(self.misses)} of {self.referenced}",
        ]
        return "\n".join(lines) + f" ({100 * self.share_missed:.2f} %) {dict(kinds)}"


def run(seed: int, numbers: Iterable[int]) -> Tally:
    """Run some rounds of *seed*."""
    tally = Tally()
    for number in numbers:
        in_virtual_time(_run_round(drawn_round(seed, number), tally))
    return tally


async def _run_round(drawn: Round, tally: Tally) -> None:
    world, preferences, oracle = drawn.world, drawn.preferences, Oracle(drawn.world)
    tally.rounds += 1
    async with product_over(world) as product:
        for number, way in enumerate(drawn.ways):
            first = await product.ask(drawn, way)
            found = await violations(first, world, oracle, preferences)
            tally.faults += [Fault(drawn, first, 0, each) for each in found]
            if way in _DEFAULT and number == 0:
                exists, miss = await missed(first, world, oracle, preferences)
                tally.referenced += exists
                tally.misses += [(drawn, first, miss)] if miss else []
            again = await product.ask(drawn, way)
            found = await violations(again, world, oracle, preferences)
            found += violations_again(first, again)
            tally.faults += [Fault(drawn, again, 1, each) for each in found]
            for answer in (first, again):
                tally.answers += 1
                tally.evidence[f"{answer.status} {answer.value('evidence')}".strip()] += 1
