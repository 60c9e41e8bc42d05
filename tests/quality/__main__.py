"""``make quality``: figures of both halves of the corpus, beside a baseline and a rival."""

import argparse

from tests.quality.corpus import HALVES
from tests.quality.measure import (
    baseline,
    classified,
    decided,
    lines,
    ours,
    same_page,
    same_words,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors", action="store_true", help="list what went wrong")
    given = parser.parse_args()
    for half in HALVES:
        print(f"== {half} ==")
        outcomes = {
            "classes": classified(half, given.rounds, given.seed, ours),
            "classes, baseline": classified(half, given.rounds, given.seed, baseline),
            "pairs": decided(half, given.rounds, given.seed, same_page),
            "pairs, baseline": decided(half, given.rounds, given.seed, same_words),
        }
        for title, outcome in outcomes.items():
            print("\n".join(lines(f"{title} ({half})", outcome)))
            if given.errors and "baseline" not in title:
                for what, number in outcome.errors.most_common(20):
                    print(f"    {number:4} {what}")


if __name__ == "__main__":
    main()
