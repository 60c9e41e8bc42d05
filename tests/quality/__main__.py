"""``make quality``: figures of each half of the corpus, beside a baseline and a rival."""

import argparse
from typing import Final

from tests.quality.corpus import HALVES
from tests.quality.measure import (
    Outcome,
    baseline,
    classified,
    decided,
    lines,
    ours,
    same_page,
    same_words,
)
from tests.quality.quotes import baseline_figures, quote_figures, quote_lines

WILD: Final = "wild"
_QUOTES: Final = 12
"""Pages with quotations in a round: 1,200 absent ones show a share of false finds of 0.001."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true", help="list what went wrong")
    given = parser.parse_args()
    number, seed = given.rounds, given.seed
    pairs = {half: decided(half, number, seed, same_page) for half in HALVES}
    baselines = {half: decided(half, number, seed, same_words) for half in HALVES}
    for half in (*HALVES, WILD):
        outcomes: dict[str, Outcome] = {
            "classes": classified(half, number, seed, ours),
            "classes, baseline": classified(half, number, seed, baseline),
        }
        if half != WILD:
            outcomes["pairs"] = pairs[half]
            outcomes["pairs, baseline"] = baselines[half]
        for title, outcome in outcomes.items():
            print("\n".join(lines(f"{title} ({half})", outcome)))
            if given.errors and "baseline" not in title:
                for what, number in outcome.errors.most_common(30):
                    print(f"    {number:4} {what}")
    rounds = _QUOTES * given.rounds
    print("\n".join(quote_lines("quotations", quote_figures(rounds, seed))))
    print("\n".join(quote_lines("quotations, baseline", baseline_figures(rounds // 10, seed))))


if __name__ == "__main__":
    main()
