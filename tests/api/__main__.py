"""Run Schemathesis against the demo, with a fixed number of requests: `make api`."""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.server import serving

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".venv-api/bin/schemathesis"


def main() -> int:
    """Return the exit code of Schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10, help="for each operation")
    parser.add_argument("--phases", default="examples,fuzzing")
    chosen, more = parser.parse_known_args()
    with serving("--demo") as server:
        words = [
            *(str(PROGRAM), "--config-file", "tests/api/schemathesis.toml"),
            *("run", f"{server.url}/openapi.json", "--url", server.url),
            *("--mode", "positive", "--phases", chosen.phases, "--seed", "7089"),
            *("--max-examples", str(chosen.examples), "--continue-on-failure", *more),
        ]
        return subprocess.run(words, cwd=ROOT, check=False).returncode  # noqa: S603 -- ours


if __name__ == "__main__":
    sys.exit(main())
