"""Lines that are written aside, over real pipes: read, not read, and broken."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from timegate.observability.logs import LogWriter

PATIENCE = 10.0


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(writing)


def test_lines_are_written_in_order() -> None:
    with pipe() as (reading, writing):
        scribe = LogWriter(writing)
        for number in range(5):
            scribe.write(f"line {number} \ud800\n")
        scribe.flush(PATIENCE)
        scribe.end()

        assert os.read(reading, 4096).decode().splitlines() == [
            f"line {number} \\ud800" for number in range(5)
        ]
        os.close(reading)


def test_who_writes_does_not_wait_for_a_reader_that_stands_still() -> None:
    with pipe() as (reading, writing):
        scribe = LogWriter(writing, most=10)
        for _ in range(100):
            scribe.write("x" * 65536)
        scribe.end()

        # One is being written, or one and a part of the next fit into the pipe.
        assert 85 <= scribe.take_lost() <= 90
        os.close(reading)
        # Not before it has given up may the number be another file's.
        scribe.flush(PATIENCE)


def test_what_waits_is_still_written_after_the_end() -> None:
    with pipe() as (reading, writing):
        scribe = LogWriter(writing)
        scribe.write("x" * 200_000)
        scribe.write("last\n")
        scribe.end()

        read = b""
        while not read.endswith(b"last\n"):
            read += os.read(reading, 65536)
        assert len(read) == 200_005
        os.close(reading)


def test_lines_that_cannot_be_written_are_counted() -> None:
    with Path("/dev/full").open("w") as full:
        scribe = LogWriter(full.fileno())
        scribe.write("one\n")
        scribe.write("two\n")
        scribe.flush(PATIENCE)
        scribe.end()

        assert scribe.take_lost() == 2


def test_what_a_lost_line_told_is_told_again() -> None:
    with Path("/dev/full").open("w") as full:
        scribe = LogWriter(full.fileno())
        scribe.write("one\n", telling=7)
        scribe.flush(PATIENCE)
        scribe.end()

        assert scribe.take_lost() == 8
        assert scribe.take_lost() == 0


def test_a_process_ends_as_ever_although_nobody_reads_what_it_logged() -> None:
    program = (
        "import logging, timegate.observability.logs, timegate.config.schema\n"
        "timegate.observability.logs.set_up(timegate.config.schema.LogSection(lines_per_second=100_000))\n"
        "for n in range(3000):\n"
        "    timegate.observability.logs.event('x' * 1000)\n"
        "print('done', flush=True)\n"
    )
    with pipe() as (reading, writing):
        ended = subprocess.run(  # noqa: S603 -- ourselves
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=writing,
            check=False,
            timeout=60,
        )
        os.close(reading)

    assert (ended.returncode, ended.stdout) == (0, b"done\n")
