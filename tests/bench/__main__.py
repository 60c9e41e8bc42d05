"""``make bench``: all benchmarks or the named ones, as ratios within one run and CPU seconds.

python -m tests.bench [NAME...] [--memgator PATH]
"""

import sys
from importlib import import_module

BENCHES = (
    *("start", "identifiers", "linkformat", "upstream", "timegate", "requests", "timemap"),
    *("lists", "cache", "warc", "index", "replay", "batch", "batch_simulation", "store"),
)
# These take options.
_WITH_OPTIONS = ("timegate", "cache", "index", "replay", "batch", "batch_simulation")


def main(arguments: list[str]) -> None:
    names = [a for a in arguments if a in BENCHES]
    options = [a for a in arguments if a not in BENCHES]
    if options and not options[0].startswith("-"):
        sys.exit(f"no benchmark {options[0]}; there are {', '.join(BENCHES)}")
    for name in names or BENCHES:
        print(f"\n# {name}", flush=True)
        bench = import_module(f"tests.bench.{name}").main
        bench(options) if name in _WITH_OPTIONS else bench()


main(sys.argv[1:])
