"""Run Schemathesis against a server of its own, with a fixed number of requests: `make api`.

The server has the archives of the demo, all of which answer at once, a store and a series, so
that every operation of the description is tried: also those that write.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import timegate.demo
from tests.end_to_end.server import serving

ROOT: Final = Path(__file__).parents[2]
PROGRAM: Final = ROOT / ".venv-api/bin/schemathesis"
DEMO: Final = Path(timegate.demo.__file__).parent
TOKEN: Final = "correct horse battery"  # noqa: S105 -- of a server that lives for minutes
DIGEST: Final = "9028ea0d15decaa35b2da21c0290af3b1a5ba0a30a591906f89b5074e209ea72"
WRITABLE: Final = f"""
[[store]]
id = "notes"
path = "notes"
tokens = ["sha256:{DIGEST}"]
writes_per_minute = 1000000
pwid = ["notes.example"]

[[series]]
name = "reports.example.us"
store = "notes"
tokens = ["alice sha256:{DIGEST}"]
"""


def configured(folder: Path) -> Path:
    """Write the configuration of the server, and its archives, to *folder*."""
    for name in ("harbour", "lantern", "vault"):
        shutil.copytree(DEMO / name, folder / name)
    config = folder / "timegate.toml"
    config.write_text((DEMO / "demo.toml").read_text() + WRITABLE)
    return config


def main() -> int:
    """Return the exit code of Schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10, help="for each operation")
    parser.add_argument("--phases", default="examples,fuzzing")
    chosen, more = parser.parse_known_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("--config", str(configured(Path(folder)))) as server,
    ):
        words = [
            *(str(PROGRAM), "--config-file", "tests/api/schemathesis.toml"),
            *("run", f"{server.url}/openapi.json", "--url", server.url),
            *("--mode", "positive", "--phases", chosen.phases, "--seed", "7089"),
            *("--header", f"Authorization: Bearer {TOKEN}"),
            *("--max-examples", str(chosen.examples), "--continue-on-failure", *more),
        ]
        return subprocess.run(words, cwd=ROOT, check=False).returncode  # noqa: S603 -- ours


if __name__ == "__main__":
    sys.exit(main())
