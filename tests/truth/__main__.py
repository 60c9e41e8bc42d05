"""``python -m tests.truth [--seed N] [--rounds N] [--round K]``: the truth test, for people.

With ``--round``, all that one round showed is printed; else a summary, with some examples of
each kind (``--examples``).
"""

import argparse
import logging
import sys
import time

from tests.truth.rounds import Tally, run


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=2000)
    options.add_argument("--round", type=int, help="only this one, with all of its exchanges")
    options.add_argument("--examples", type=int, default=0, help="shown of each kind")
    options.add_argument("--kind", help="show examples of this kind only")
    options.add_argument("--honest", action="store_true", help="no archive lies")
    given = options.parse_args()
    logging.getLogger("timegate.events").setLevel(logging.ERROR)
    began = time.perf_counter()
    if given.round is not None:
        tally = run(given.seed, [given.round], honest=given.honest)
        _show(tally, 1000, given.kind)
    else:
        tally = run(given.seed, range(given.rounds), honest=given.honest)
        _show(tally, given.examples, given.kind)
    print(tally.summary())
    print(f"seed {given.seed}, {time.perf_counter() - began:.0f} s")
    return 1 if tally.claims else 0


def _show(tally: Tally, examples: int, kind: str | None) -> None:
    shown = dict.fromkeys(tally.kinds, 0)
    for claim in tally.claims:
        name = claim.violation.kind
        if (kind is None or kind == name) and shown[name] < examples:
            shown[name] += 1
            print(claim, end="\n\n")
    if kind in (None, "missed"):
        for drawn, answer, miss in tally.misses[:examples]:
            print(f"--- missed: {miss.kind} {miss.copy}")
            print(f"python -m tests.truth --seed {drawn.seed} --round {drawn.number}")
            print(drawn.world.described(), drawn.reference, dict(drawn.preferences), sep="\n")
            print(answer.way, answer.shown, sep="\n")
            for each in answer.exchanges:
                print(f"  {each.method} {each.url}: {str(each.outcome)[:400]}")
            print()


sys.exit(main())
