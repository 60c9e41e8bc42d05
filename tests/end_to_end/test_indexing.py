"""Killed indexing: visible captures stay visible, and the next run does the rest."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from archives.moment import Moment
from archives.warc_index.collection import Collection
from tests.archives.warc_index.folders import a_warc, rows_of

PAGE = "http://example.com/"
FILES = 50
RECORDS = 40
DEADLINE = 30.0


def fill(folder: Path) -> None:
    for number in range(FILES):
        captures = [
            (f"{PAGE}{page}", f"2015{number % 12 + 1:02}{number % 28 + 1:02}{page % 24:02}0000")
            for page in range(RECORDS)
        ]
        a_warc(folder, f"{number:03}.warc.gz", *captures)


def indexing(folder: Path, index: Path, workers: int) -> "subprocess.Popen[bytes]":
    program = (
        "import sys; from pathlib import Path\n"
        "from archives.warc_index.building import index_collection\n"
        "index_collection(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", program, str(folder), str(index), str(workers)]
    return subprocess.Popen(command)  # noqa: S603 -- ourselves


def visible(index: Path) -> int:
    """Return how many captures can be seen."""
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        query = "SELECT count(*) FROM capture c JOIN part p ON p.id = c.part AND p.state = 1"
        return int(connection.execute(query).fetchone()[0])


async def old_page(folder: Path, index: Path) -> str | None:
    async with Collection("own", folder, index) as collection:
        row = await collection.nearest("http://old.example/", Moment("2010"))
    return row and row.stamp


@pytest.mark.parametrize("workers", [1, 2])
def test_indexing_that_is_killed_at_any_moment_loses_nothing_and_resumes(
    tmp_path: Path, workers: int
) -> None:
    folder, index, whole = tmp_path / "warcs", tmp_path / "i.sqlite", tmp_path / "whole.sqlite"
    a_warc(folder, "old.warc.gz", ("http://old.example/", "20100101000000"))
    assert indexing(folder, index, 1).wait() == 0
    fill(folder)

    deaths = 0
    for enough in (1, RECORDS, RECORDS * 8, RECORDS * 20, RECORDS * 40):
        process = indexing(folder, index, workers)
        give_up = time.monotonic() + DEADLINE
        while visible(index) <= enough and process.poll() is None:
            assert time.monotonic() < give_up
        process.send_signal(signal.SIGKILL)
        deaths += process.wait() == -signal.SIGKILL

        assert asyncio.run(old_page(folder, index)) == "20100101000000"
        assert visible(index) % RECORDS == 1, "a file is visible whole or not at all"

    assert indexing(folder, index, workers).wait() == 0
    assert indexing(folder, whole, 1).wait() == 0

    assert deaths > 0
    assert rows_of(folder, index) == rows_of(folder, whole)
    assert len(rows_of(folder, index)) == FILES * RECORDS + 1
