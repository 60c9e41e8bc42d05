"""Every promise of docs/promises.md is kept by tests that exist."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PROMISES: Final = (ROOT / "docs/promises.md").read_text()


def test_every_test_that_keeps_a_promise_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PROMISES)

    assert len(named) > 80
    missing = [f"{file}::{test}" for file, test in named if not _has(ROOT / file, test)]
    assert missing == []


def _has(file: Path, test: str) -> bool:
    return file.is_file() and f"def {test}(" in file.read_text()


def test_every_promise_names_a_test() -> None:
    rows = [line for line in PROMISES.splitlines() if line.startswith("| ")]
    heads = ("| input |", "| promise |", "| what happened |")

    assert len(rows) > 40
    assert [row for row in rows if "`tests/" not in row and not row.startswith(heads)] == []
