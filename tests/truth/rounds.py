"""Runs rounds: each reference is asked in several ways, twice each, and the oracle judges."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.truth.asking import Answer, Asking, in_virtual_time, product_over
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


class OverClaim(NamedTuple):
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
    claims: list[OverClaim] = field(default_factory=list)
    referenced: int = 0
    """References for which a good copy exists."""
    misses: list[tuple[Round, Answer, Missed]] = field(default_factory=list)
    evidence: Counter[str] = field(default_factory=Counter)

    def note(
        self, drawn: Round, answer: Answer, before: int, found: Iterable[Violation]
    ) -> None:
        """Note an answer, and what is wrong with it."""
        self.answers += 1
        self.evidence[f"{answer.status} {answer.value('evidence')}".strip()] += 1
        self.claims += [OverClaim(drawn, answer, before, each) for each in found]

    def note_missed(
        self,
        drawn: Round,
        answer: Answer,
        exists: bool,  # noqa: FBT001 -- a pair of `missed`
        miss: Missed | None,
    ) -> None:
        """Note whether a good copy exists, and whether it was missed."""
        self.referenced += exists
        self.misses += [(drawn, answer, miss)] if miss else []

    @property
    def kinds(self) -> Counter[str]:
        return Counter(claim.violation.kind for claim in self.claims)

    @property
    def share_missed(self) -> float:
        return len(self.misses) / self.referenced if self.referenced else 0.0

    def summary(self) -> str:
        """Return the result in a few lines."""
        rounds = {(claim.drawn.seed, claim.drawn.number) for claim in self.claims}
        kinds = Counter(miss.kind for _, _, miss in self.misses)
        lines = [
            f"{self.rounds} rounds, {self.answers} answers: {dict(self.evidence)}",
            f"over-claims: {len(self.claims)} in {len(rounds)} rounds",
            *(f"  {count:6} {kind}" for kind, count in self.kinds.most_common()),
            f"good copy missed: {len(self.misses)} of {self.referenced}",
        ]
        return "\n".join(lines) + f" ({100 * self.share_missed:.2f} %) {dict(kinds)}"


def run(seed: int, numbers: Iterable[int], *, honest: bool = False) -> Tally:
    """Run some rounds of *seed*; with *honest*, no archive lies."""
    tally = Tally()
    for number in numbers:
        in_virtual_time(_run_round(drawn_round(seed, number, honest=honest), tally))
    return tally


async def _run_round(drawn: Round, tally: Tally) -> None:
    async with product_over(drawn.world) as product:
        await judge(drawn, product, tally)


async def judge(drawn: Round, product: Asking, tally: Tally) -> None:
    """Ask in all ways of a round, twice each, and note what the oracle says."""
    world, preferences, oracle = drawn.world, drawn.preferences, Oracle(drawn.world)
    tally.rounds += 1
    for number, way in enumerate(drawn.ways):
        first = await product.ask(drawn, way)
        tally.note(drawn, first, 0, await violations(first, world, oracle, preferences))
        if number == 0 and way in _DEFAULT:
            tally.note_missed(drawn, first, *await missed(first, world, oracle, preferences))
        again = await product.ask(drawn, way)
        found = await violations(again, world, oracle, preferences)
        tally.note(drawn, again, 1, [*found, *violations_again(first, again, preferences)])
