"""Rows wait until there are enough of them; what is seen is whole files all the same."""

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
def writing(index: Path, enough: int = 1000) -> Iterator[IndexWriter]:
    connection, _ = open_writer(index)
    with closing(connection):
        yield IndexWriter(connection, enough)


def begun(writer: IndexWriter, name: str) -> int:
    return writer.begin(FileInfo(name, "warc", 100, 1), "", b"", "")


def seen_in(index: Path) -> list[str]:
    with closing(Lookup(index, index.parent, 5.0)) as lookup:
        return [row.name for row in lookup.captures_between("", "\U0010ffff", None)]


def test_what_is_published_is_seen_with_the_next_flush(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index) as writer:
        part = begun(writer, "a.warc")
        writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(part, 0, 1, 0)], ())
        before = seen_in(index)
        writer.flush()

        assert before == []
        assert seen_in(index) == ["a.warc"]


def test_where_there_are_enough_rows_they_go_over_by_themselves(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index, enough=2) as writer:
        first, second = begun(writer, "a.warc"), begun(writer, "b.warc")
        writer.add([(first, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(first, 0, 1, 0)], ())
        writer.add([(second, a_capture("http://b.example/", "20200101000000"))])

        # Rows of the second are there, but it was not read to its end.
        assert stored_rows(index) == 2
        assert seen_in(index) == ["a.warc"]


@pytest.mark.parametrize("enough", [1, 1000])
def test_what_is_replaced_goes_in_the_moment_its_successor_comes(
    tmp_path: Path, enough: int
) -> None:
    index = tmp_path / "index.sqlite"

    with writing(index, enough) as writer:
        for _ in range(3):
            replaced = [part.id for part in writer.parts()]
            part = begun(writer, "a.warc")
            writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
            writer.publish([FilledPart(part, 0, 1, 0)], replaced)
            writer.flush()

            assert seen_in(index) == ["a.warc"]
        writer.delete_retired()
        writer.finish(complete=True)

    assert stored_rows(index) == 1


def test_whoever_ends_without_flushing_leaves_nothing_that_is_seen(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    with writing(index) as writer:
        part = begun(writer, "a.warc")
        writer.add([(part, a_capture("http://a.example/", "20200101000000"))])
        writer.publish([FilledPart(part, 0, 1, 0)], ())

    with writing(index) as writer:
        writer.retire_unfinished()
        writer.delete_retired()

        assert writer.parts() == []

    assert seen_in(index) == []


ENDLESS = """
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from archives.warc_index.database import open_writer
from tests.archives.warc_index.folders import a_capture
from tests.archives.warc_index.test_writing import begun
from archives.warc_index.writing import FilledPart, IndexWriter

connection, _ = open_writer(Path(sys.argv[1]))
with closing(connection):
    writer = IndexWriter(connection, enough=35)
    writer.retire_unfinished()
    for number in count():
        part = begun(writer, f"{number}.warc")
        urls = [f"http://a.example/{i}" for i in range(10)]
        writer.add((part, a_capture(url, "20200101000000", number)) for url in urls)
        writer.publish([FilledPart(part, 0, 10, 0)], ())
"""


def rows_seen(index: Path) -> int:
    query = "SELECT count(*) FROM capture c JOIN part p ON p.id = c.part WHERE p.state = 1"
    with closing(sqlite3.connect(index, timeout=5)) as connection:
        return int(connection.execute(query).fetchone()[0])


def test_killed_while_rows_go_over_files_are_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    with writing(index):
        pass
    for enough in (0, 100, 300, 600):
        command = [sys.executable, "-c", ENDLESS, str(index)]
        with subprocess.Popen(command, cwd=ROOT) as process:  # noqa: S603 -- ourselves
            while rows_seen(index) <= enough and process.poll() is None:
                pass
            process.send_signal(signal.SIGKILL)

        assert process.returncode == -signal.SIGKILL
        assert rows_seen(index) % 10 == 0

    with writing(index) as writer:
        writer.retire_unfinished()
        writer.delete_retired()

    assert stored_rows(index) == rows_seen(index) > 600
