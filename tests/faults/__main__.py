"""``python -m tests.faults``: faults at every octet of every kind of exchange.

Without options, the whole walk; ``--cases N`` draws some. Ends with 1 if an answer is a 500,
wrong, late, or without that of a healthy archive.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from tests.faults.kinds import KINDS, Case, cases, drawn_cases
from tests.faults.walk import Tally, Trouble, run


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    options.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="only these")
    options.add_argument("--cases", type=int, help="draw this many, instead of walking")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--every", type=int, default=1, help="every so many cases of the walk")
    options.add_argument("--first", type=int, default=0, help="the first of them")
    options.add_argument("--case", help="one again: KIND|FRAMING|WAY|FAULT|POSITION")
    options.add_argument("--examples", type=int, default=2, help="shown of each trouble")
    given = options.parse_args()
    logging.getLogger("timegate").addHandler(logging.NullHandler())
    began, tally = time.perf_counter(), Tally()
    if given.case:
        kind, framing, way, fault, position = given.case.split("|")
        some = iter([Case(kind, framing, way, fault, int(position))])
    elif given.cases:
        some = iter(drawn_cases(given.seed, given.cases))
    else:
        some = islice(cases(given.kinds or KINDS), given.first, None, given.every)
    shown = Counter[tuple[str, str, str]]()
    for case in some:
        before = len(tally.troubles)
        run([case], tally)
        _show(tally.troubles[before:], shown, given.examples)
        if tally.exchanges % 500 == 0:
            seconds = time.perf_counter() - began
            troubles = f"{len(tally.troubles)} troubles"
            print(f"{tally.exchanges:,} in {seconds:.0f} s: {troubles}", flush=True)
    for key, number in shown.most_common():
        print(f"{number:6} {' | '.join(key)}")
    print(tally.summary())
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if tally.troubles else 0


def _show(found: Sequence[Trouble], shown: Counter[tuple[str, str, str]], most: int) -> None:
    """Print the first troubles of each kind."""
    for each in found:
        key = (each.kind, each.case.kind, each.detail.split(":")[0][:40])
        shown[key] += 1
        if shown[key] <= most:
            print(f"--- {each.kind}: {each.detail}\n--case '{'|'.join(map(str, each.case))}'")
            print(each.shown, end="\n\n", flush=True)


sys.exit(main())
