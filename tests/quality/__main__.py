"""``make quality``: figures of each half of the corpus, beside a baseline and a rival."""

import argparse
from pathlib import Path
from typing import Final

from tests.quality.corpus import HALVES
from tests.quality.measure import (
    MORE,
    Outcome,
    baseline,
    classified,
    decided,
    lines,
    ours,
    same_page,
    same_words,
)
from tests.quality.outside import report
from tests.quality.quotes import baseline_figures, quote_figures, quote_lines

_QUOTES: Final = 12
"""Pages with quotations in a round: 1,200 absent ones show a share of false finds of 0.001."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true", help="list what went wrong")
    parser.add_argument("--corpus", type=Path, help="a folder with a manifest.jsonl")
    parser.add_argument("--part", choices=("even", "odd"), default="", help="half a corpus")
    given = parser.parse_args()
    if given.corpus is not None:
        for line in report(given.corpus, given.part, errors=given.errors):
            print(line)
        return
    number, seed = given.rounds, given.seed
    pairs = {half: decided(half, number, seed, same_page) for half in HALVES}
    baselines = {half: decided(half, number, seed, same_words) for half in HALVES}
    for half in (*HALVES, *MORE):
        outcomes: dict[str, Outcome] = {
            "classes": classified(half, number, seed, ours),
            "classes, baseline": classified(half, number, seed, baseline),
        }
        if half not in MORE:
            outcomes["pairs"] = pairs[half]
            outcomes["pairs, baseline"] = baselines[half]
        for title, outcome in outcomes.items():
            print("\n".join(lines(f"{title} ({half})", outcome)))
            if given.errors and "baseline" not in title:
                for what, times in outcome.errors.most_common(30):
                    print(f"    {times:4} {what}")
    rounds = _QUOTES * given.rounds
    print("\n".join(quote_lines("quotations", quote_figures(rounds, seed))))
    print("\n".join(quote_lines("quotations, baseline", baseline_figures(rounds // 10, seed))))


if __name__ == "__main__":
    main()
