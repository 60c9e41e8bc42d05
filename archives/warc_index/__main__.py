"""``python -m archives.warc_index PATH INDEX``: the process that indexes for a server."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from archives.diagnostics import escaped
from archives.warc_index.building import NotWritable, index_collection
from archives.warc_index.database import ForeignIndex, IndexInUse, NewerIndex
from archives.warc_index.model import RemoteFiles, is_remote_path
from archives.warc_index.s3 import S3NotInstalled

_NICENESS = 10
"""Lower priority than the processes that answer requests."""


def main(path: str, index: str) -> int:
    """Index once; problems go to standard error. Return the exit code."""
    with suppress(PermissionError):
        # A service may not be allowed to (systemd: SystemCallFilter=~@resources).
        os.nice(_NICENESS)
    try:
        place = RemoteFiles(path, Path(index)) if is_remote_path(path) else Path(path)
        summary = index_collection(place, Path(index))
    except IndexInUse:
        return 0
    except (
        NotWritable,
        S3NotInstalled,
        ValueError,
        OSError,
        ForeignIndex,
        NewerIndex,
    ) as error:
        _print(str(error))
        return 2
    for problem in summary.shown:
        _print(str(problem))
    if summary.complaints > len(summary.shown):
        more = summary.complaints - len(summary.shown)
        _print(f"and {more} more")
    return 1 if summary.complaints else 0


def _print(text: str) -> None:
    print(escaped(text), file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
