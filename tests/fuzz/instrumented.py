"""``python -m tests.fuzz.instrumented TARGET OPTION...``: atheris on one target."""

import sys

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["archives", "timegate"]):
    from tests.fuzz.targets import TARGETS


def main(name: str, options: list[str]) -> None:
    """Fuzz *name* with options of libFuzzer; it ends the process."""
    target = TARGETS[name]

    def once(octets: bytes) -> None:
        try:
            target.run(octets)
        except target.raises:
            return

    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
