"""The thread that writes the log, over real pipes: read, unread, and broken."""

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
        writer = LogWriter(writing)
        for number in range(5):
            writer.write(f"line {number} \ud800\n")
        writer.flush(PATIENCE)
        writer.end()

        assert os.read(reading, 4096).decode().splitlines() == [
            f"line {number} \\ud800" for number in range(5)
        ]
        os.close(reading)


def test_logging_does_not_wait_for_a_stopped_reader() -> None:
    with pipe() as (reading, writing):
        writer = LogWriter(writing, most=10)
        for _ in range(100):
            writer.write("x" * 65536)
        writer.end()

        # One is being written, or one and a part of the next fit into the pipe.
        assert 85 <= writer.take_lost() <= 90
        os.close(reading)
        # Not before it has given up may the number be another file's.
        writer.flush(PATIENCE)


def test_queued_lines_are_written_after_the_end() -> None:
    with pipe() as (reading, writing):
        writer = LogWriter(writing)
        writer.write("x" * 200_000)
        writer.write("last\n")
        writer.end()

        read = b""
        while not read.endswith(b"last\n"):
            read += os.read(reading, 65536)
        assert len(read) == 200_005
        os.close(reading)


def test_lines_that_cannot_be_written_are_counted() -> None:
    with Path("/dev/full").open("w") as full:
        writer = LogWriter(full.fileno())
        writer.write("one\n")
        writer.write("two\n")
        writer.flush(PATIENCE)
        writer.end()

        assert writer.take_lost() == 2


def test_dropped_lines_that_a_lost_line_reported_are_counted_again() -> None:
    with Path("/dev/full").open("w") as full:
        writer = LogWriter(full.fileno())
        writer.write("one\n", reporting=7)
        writer.flush(PATIENCE)
        writer.end()

        assert writer.take_lost() == 8
        assert writer.take_lost() == 0


def test_a_process_ends_normally_although_its_log_is_not_read() -> None:
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
