"""Captures of WARC files, counted by pywb's indexer and by ours.

`python -m tests.end_to_end.sample_counts FOLDER...` prints the table of docs/collections.md:
pywb's samples are in its package, those of ipwb in the folder samples/warcs of its repository.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from archives.warc.captures import Capture, captures_in
from tests.end_to_end.pywb import ENVIRONMENT

PYWB_SAMPLES: Final = ENVIRONMENT / "sample_archive/warcs"


class Counts(NamedTuple):
    """The captures in one file."""

    pywb: int
    ours: int
    damages: int
    """Records that our indexer reports, with their offset and the reason."""


def counted(file: Path) -> Counts:
    """Index *file* with both."""
    command = [str(ENVIRONMENT / "bin/cdx-indexer"), "-s", "-j", str(file)]
    lines = subprocess.run(  # noqa: S603 -- our own words
        command, check=False, capture_output=True, text=True, timeout=120
    ).stdout.splitlines()
    with file.open("rb") as opened:
        found = list(captures_in(opened))
    ours = sum(isinstance(each, Capture) for each in found)
    theirs = sum(bool(line.strip()) and not line.startswith(" CDX") for line in lines)
    return Counts(theirs, ours, len(found) - ours)


def main() -> None:
    """Print a row for each file."""
    for folder in map(Path, sys.argv[1:] or [str(PYWB_SAMPLES)]):
        for file in sorted(each for each in folder.iterdir() if each.is_file()):
            counts = counted(file)
            mark = "" if counts.pywb == counts.ours else " *"
            print(f"| {file.name} | {counts.pywb} | {counts.ours}{mark} | {counts.damages} |")  # noqa: T201


if __name__ == "__main__":
    main()
