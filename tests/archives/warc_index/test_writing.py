"""Writing the index: rows are flushed in batches, and only whole files become visible."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from archives.warc_index.database import open_writer
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import FileInfo
from archives.warc_index.writing import FilledPart, IndexWriter
from tests.archives.warc_index.folders import a_capture, stored_rows

ROOT = Path(__file__).parents[3]


@contextmanager
def writing(index: Path, rows_per_flush: int = 1000) -> Iterator[IndexWriter]:
    connection, _ = open_writer(index)
    with closing(connection):
        yield IndexWriter(connection, rows_per_flush)


def begin(writer: IndexWriter, name: str) -> int:
    return writer.begin(FileInfo(name, "warc", 100, 1), "", b"", "")


def visible_files(index: Path) -> list[str]:
    with closing(Lookup(index, index.parent, 5.0)) as lookup:
        return [row.name for row in lookup.captures_between("", "\U0010ffff", None)]


def test_a_published_part_is_visible_after_the_next_flush(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index) as writer:
        part = begin(writer, "a.warc")
        writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(part, 0, 1, 0)], ())
        before = visible_files(index)
        writer.flush()

        assert before == []
        assert visible_files(index) == ["a.warc"]


def test_enough_rows_are_flushed_automatically(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index, rows_per_flush=2) as writer:
        first, second = begin(writer, "a.warc"), begin(writer, "b.warc")
        writer.add([(first, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(first, 0, 1, 0)], ())
        writer.add([(second, a_capture("http://b.example/", "20200101000000"))])

        # The rows of the second file are stored, but it was not read to its end.
        assert stored_rows(index) == 2
        assert visible_files(index) == ["a.warc"]


@pytest.mark.parametrize("rows_per_flush", [1, 1000])
def test_a_part_is_hidden_when_its_replacement_becomes_visible(
    tmp_path: Path, rows_per_flush: int
) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index, rows_per_flush) as writer:
        for _ in range(3):
            replaced = [part.id for part in writer.parts()]
            part = begin(writer, "a.warc")
            writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
            writer.publish([FilledPart(part, 0, 1, 0)], replaced)
            writer.flush()

            assert visible_files(index) == ["a.warc"]
        writer.delete_retired()
        writer.finish(complete=True)

    assert stored_rows(index) == 1


def test_parts_that_were_not_flushed_are_not_visible(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    with writing(index) as writer:
        part = begin(writer, "a.warc")
        writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(part, 0, 1, 0)], ())

    with writing(index) as writer:
        writer.retire_unfinished()
        writer.delete_retired()

        assert writer.parts() == []

    assert visible_files(index) == []


ENDLESS = """
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from archives.warc_index.database import open_writer
from tests.archives.warc_index.folders import a_capture
from tests.archives.warc_index.test_writing import begin
from archives.warc_index.writing import FilledPart, IndexWriter

connection, _ = open_writer(Path(sys.argv[1]))
with closing(connection):
    writer = IndexWriter(connection, rows_per_flush=35)
    writer.retire_unfinished()
    for number in count():
        part = begin(writer, f"{number}.warc")
        urls = [f"http://a.example/{i}" for i in range(10)]
        writer.add((part, a_capture(url, "20200101000000", number)) for url in urls)
        writer.publish([FilledPart(part, 0, 10, 0)], ())
"""


def visible_rows(index: Path) -> int:
    query = "SELECT count(*) FROM capture c JOIN part p ON p.id = c.part WHERE p.state = 1"
    with closing(sqlite3.connect(index, timeout=5)) as connection:
        return int(connection.execute(query).fetchone()[0])


def test_a_killed_writer_leaves_whole_files_visible_or_none(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    with writing(index):
        pass
    for rows_per_flush in (0, 100, 300, 600):
        command = [sys.executable, "-c", ENDLESS, str(index)]
        with subprocess.Popen(command, cwd=ROOT) as process:  # noqa: S603 -- ourselves
            while visible_rows(index) <= rows_per_flush and process.poll() is None:
                pass
            process.send_signal(signal.SIGKILL)

        assert process.returncode == -signal.SIGKILL
        assert visible_rows(index) % 10 == 0

    with writing(index) as writer:
        writer.retire_unfinished()
        writer.delete_retired()

    assert stored_rows(index) == visible_rows(index) > 600
