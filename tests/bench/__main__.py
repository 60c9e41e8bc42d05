"""``make bench``: every benchmark, or those named. Ratios within one run, and CPU seconds."""

import sys
from importlib import import_module

BENCHES = ("identifiers", "linkformat")


def main(names: list[str]) -> None:
    for name in names or BENCHES:
        if name not in BENCHES:
            sys.exit(f"no benchmark {name}; there are {', '.join(BENCHES)}")
        print(f"\n# {name}")
        import_module(f"tests.bench.{name}").main()


main(sys.argv[1:])
