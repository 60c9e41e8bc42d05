"""Building an index: which files are read, and which rows become visible."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from archives.warc_index.building import NotWritable, index_collection
from archives.warc_index.database import ForeignIndex, IndexInUse, NewerIndex, exclusive_lock
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import MAX_SHOWN, IndexProgress, LocalFiles
from tests import warcs
from tests.archives.warc_index.folders import (
    LONG_AGO,
    a_warc,
    put,
    responses,
    rows_of,
    stamps_of,
    stored_rows,
)

PAGE = "http://example.com/"


def test_every_capture_of_every_file_is_found(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"), (f"{PAGE}b", "20200102000000"))
    a_warc(tmp_path, "deep/er/b.warc.gz", (PAGE, "20210101000000"))

    summary = index_collection(tmp_path)

    rows = rows_of(tmp_path)
    assert [(row.stamp, row.url, row.name) for row in rows] == [
        ("20200101000000", PAGE, "a.warc.gz"),
        ("20200102000000", f"{PAGE}b", "a.warc.gz"),
        ("20210101000000", PAGE, "b.warc.gz"),
    ]
    assert rows[2].file == str(tmp_path / "deep/er/b.warc.gz")
    assert (summary.files, summary.read, summary.captures, summary.complaints) == (2, 2, 3, 0)


@pytest.mark.parametrize("name", warcs.every_kind())
@pytest.mark.parametrize("pack", [warcs.plain, warcs.gzipped])
def test_every_kind_of_record_can_be_indexed(tmp_path: Path, name: str, pack: object) -> None:
    assert callable(pack)
    put(tmp_path, "x.warc", pack(*warcs.every_kind()[name]))

    assert index_collection(tmp_path).complaints == 0


def test_several_workers_find_the_same_as_one(tmp_path: Path) -> None:
    for number in range(6):
        day = f"2020010{number + 1}"
        captures = [(f"{PAGE}{page}", f"{day}00{page:02}00") for page in range(20)]
        a_warc(tmp_path, f"{number}.warc.gz", *captures)
    put(tmp_path, "torn.warc.gz", warcs.gzipped(*responses((PAGE, "20200101000000")))[:-20])
    single_index, shared_index = tmp_path / "one.sqlite", tmp_path / "two.sqlite"

    one = index_collection(tmp_path, single_index)
    two = index_collection(tmp_path, shared_index, workers=2)

    assert rows_of(tmp_path, shared_index) == rows_of(tmp_path, single_index)
    assert one == two
    assert one.captures == 120
    assert one.complaints == 1


def test_a_second_run_reads_nothing_again(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)

    summary = index_collection(tmp_path)

    assert (summary.read, summary.unchanged, summary.captures) == (0, 1, 0)
    assert stamps_of(tmp_path) == ["20200101000000"]


def test_a_changed_file_replaces_its_rows(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20220101000000"), mtime=LONG_AGO + 1)

    index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["20220101000000"]
    assert stored_rows(LocalFiles.of(tmp_path).index) == 1


def test_the_rows_of_a_removed_file_are_deleted(tmp_path: Path) -> None:
    removed = a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    a_warc(tmp_path, "b.warc.gz", (PAGE, "20210101000000"))
    index_collection(tmp_path)
    removed.unlink()

    summary = index_collection(tmp_path)

    assert summary.gone == 1
    assert stamps_of(tmp_path) == ["20210101000000"]
    assert stored_rows(LocalFiles.of(tmp_path).index) == 1


@pytest.mark.parametrize("pack", [warcs.plain, warcs.gzipped])
def test_an_appended_file_is_read_from_its_former_end(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    first = pack(warcs.warcinfo(), *responses((PAGE, "20200101000000")), warcs.request())
    more = pack(*responses((PAGE, "20210101000000"), (PAGE, "20220101000000")))
    put(tmp_path, "a.warc", first)
    index_collection(tmp_path)
    put(tmp_path, "a.warc", first + more, mtime=LONG_AGO + 1)

    grown = index_collection(tmp_path)
    again = index_collection(tmp_path)

    assert (grown.read, grown.continued, grown.captures, grown.complaints) == (1, 1, 2, 0)
    assert grown.octets < len(first + more)
    assert again.unchanged == 1
    assert stamps_of(tmp_path) == ["20200101000000", "20210101000000", "20220101000000"]


def test_a_truncated_record_is_read_once_it_is_complete(tmp_path: Path) -> None:
    octets = warcs.gzipped(*responses((PAGE, "20200101000000"), (PAGE, "20210101000000")))
    put(tmp_path, "a.warc.gz", octets[:-30])
    torn = index_collection(tmp_path)
    put(tmp_path, "a.warc.gz", octets, mtime=LONG_AGO + 1)

    whole = index_collection(tmp_path)

    assert (torn.captures, torn.complaints) == (1, 1)
    assert (whole.captures, whole.complaints, whole.continued) == (1, 0, 1)
    assert stamps_of(tmp_path) == ["20200101000000", "20210101000000"]


def test_a_longer_file_with_another_beginning_is_read_again(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)
    captures = [(f"{PAGE}{page}", "20220101000000") for page in range(3)]
    put(tmp_path, "a.warc.gz", warcs.gzipped(*responses(*captures)), mtime=LONG_AGO + 1)

    summary = index_collection(tmp_path)

    assert summary.continued == 0
    assert stamps_of(tmp_path) == ["20220101000000"] * 3


def test_offsets_of_captures_in_a_wacz_are_those_of_the_wacz(tmp_path: Path) -> None:
    inside = warcs.gzipped(*responses((PAGE, "20200101000000")))
    octets = warcs.wacz({"archive/a.warc.gz": inside, "archive/b.warc.gz": inside})
    put(tmp_path, "some.wacz", octets)

    index_collection(tmp_path)

    rows = rows_of(tmp_path)
    assert sorted(row.name.rpartition("/")[2] for row in rows) == ["a.warc.gz", "b.warc.gz"]
    assert {row.file for row in rows} == {str(tmp_path / "some.wacz")}
    assert {octets[row.offset : row.offset + row.length] for row in rows} == {inside}


def test_a_single_file_is_a_collection_too(tmp_path: Path) -> None:
    path = a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    a_warc(tmp_path, "other.warc.gz", (PAGE, "20210101000000"))

    index_collection(path)

    assert (tmp_path / "a.warc.gz.timegate.sqlite").exists()
    assert stamps_of(path) == ["20200101000000"]


def test_damage_is_reported_with_its_offset_and_the_rest_is_indexed(
    tmp_path: Path,
) -> None:
    good = responses((PAGE, "20200101000000"), (PAGE, "20210101000000"))
    octets = warcs.gzipped(good[0]) + b"rubbish" + warcs.gzipped(good[1])
    put(tmp_path, "a.warc.gz", octets)

    summary = index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["20200101000000", "20210101000000"]
    complaint = summary.shown[0]
    assert str(complaint).startswith(f"a.warc.gz@{len(warcs.gzipped(good[0]))}: ")


def test_problems_are_counted_and_only_some_are_kept(tmp_path: Path) -> None:
    for number in range(MAX_SHOWN + 5):
        put(tmp_path, f"{number}.warc", b"no WARC at all")

    summary = index_collection(tmp_path)

    assert summary.complaints >= MAX_SHOWN + 5
    assert len(summary.shown) == MAX_SHOWN


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    path = a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    reports: list[IndexProgress] = []

    index_collection(tmp_path, progress=reports.append)

    size = path.stat().st_size
    assert reports[0] == IndexProgress(0, 1, 0, size, 0)
    assert reports[-1] == IndexProgress(1, 1, size, size, 1)


def test_only_one_process_indexes_at_a_time(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"

    with exclusive_lock(index), pytest.raises(IndexInUse):
        index_collection(tmp_path, index)


def test_the_error_for_an_unwritable_index_says_what_to_do(tmp_path: Path) -> None:
    put(tmp_path, "file", b"")

    with pytest.raises(NotWritable, match="set index to another place"):
        index_collection(tmp_path, tmp_path / "file" / "index.sqlite")


def test_a_missing_folder_is_an_error_and_not_an_empty_collection(tmp_path: Path) -> None:
    (tmp_path / "warcs").mkdir()
    index = tmp_path / "index.sqlite"
    a_warc(tmp_path, "warcs/a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path / "warcs", index)
    (tmp_path / "warcs").rename(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="warcs"):
        index_collection(tmp_path / "warcs", index)

    assert stamps_of(tmp_path / "warcs", index) == ["20200101000000"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_files_of_an_unreadable_folder_stay_indexed(tmp_path: Path) -> None:
    a_warc(tmp_path, "sub/a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)
    (tmp_path / "sub").chmod(0)

    summary = index_collection(tmp_path)

    (tmp_path / "sub").chmod(0o755)
    assert (summary.gone, summary.complaints) == (0, 1)
    assert stamps_of(tmp_path) == ["20200101000000"]


def test_an_unreadable_file_stays_indexed(tmp_path: Path) -> None:
    path = a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)
    path.unlink()
    path.symlink_to("a.warc.gz")

    summary = index_collection(tmp_path)

    assert (summary.gone, summary.complaints) == (0, 1)
    assert stamps_of(tmp_path) == ["20200101000000"]


def test_an_index_with_unreadable_files_is_not_complete(tmp_path: Path) -> None:
    link = tmp_path / "a.warc.gz"
    link.symlink_to("a.warc.gz")
    index_collection(tmp_path)
    before = _is_complete(tmp_path)
    link.unlink()

    index_collection(tmp_path)

    assert (before, _is_complete(tmp_path)) == (False, True)


def _is_complete(folder: Path) -> bool:
    place = LocalFiles.of(folder)
    with closing(Lookup(place.index, place.root, 5.0)) as lookup:
        return lookup.is_complete()


# The index file


@pytest.mark.parametrize(
    "octets", [b"no database" * 999, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_damaged_index_is_renamed_and_rebuilt(tmp_path: Path, octets: bytes) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index = put(tmp_path, "i.sqlite", octets)

    summary = index_collection(tmp_path, index)

    assert summary.rebuilt
    assert stamps_of(tmp_path, index) == ["20200101000000"]
    assert (tmp_path / "i.sqlite.set-aside").read_bytes() == octets


def test_an_index_with_damaged_pages_is_rebuilt(tmp_path: Path) -> None:
    captures = [(f"{PAGE}{page}", "20200101000000") for page in range(300)]
    warc = a_warc(tmp_path, "a.warc.gz", *captures)
    index = tmp_path / "i.sqlite"
    index_collection(tmp_path, index)
    octets = index.read_bytes()
    index.write_bytes(octets[:8192] + os.urandom(len(octets) - 8192))
    os.utime(warc, ns=(LONG_AGO + 1, LONG_AGO + 1))

    summary = index_collection(tmp_path, index)

    assert summary.rebuilt
    assert len(rows_of(tmp_path, index)) == 300


def test_an_index_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    index = tmp_path / "i.sqlite"
    index_collection(tmp_path, index)
    _execute(index, "PRAGMA user_version = 99")

    with pytest.raises(NewerIndex, match="layout 99"):
        index_collection(tmp_path, index)


def test_a_copy_with_missing_captures_is_rebuilt(tmp_path: Path) -> None:
    """Such a copy results from copying an index while it is written."""
    captures = [(f"{PAGE}{page}", "20200101000000") for page in range(300)]
    a_warc(tmp_path, "a.warc.gz", *captures)
    index, copy = tmp_path / "i.sqlite", tmp_path / "copy.sqlite"
    index_collection(tmp_path, index)
    shutil.copy(index, copy)
    _execute(copy, "DELETE FROM capture WHERE surt LIKE '%7'")

    summary = index_collection(tmp_path, copy)

    assert summary.rebuilt
    assert len(rows_of(tmp_path, copy)) == 300


def test_an_intact_copy_is_used(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index, copy = tmp_path / "i.sqlite", tmp_path / "copy.sqlite"
    index_collection(tmp_path, index)
    shutil.copy(index, copy)

    summary = index_collection(tmp_path, copy)

    assert (summary.rebuilt, summary.unchanged, summary.read) == (False, 1, 0)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    index = tmp_path / "i.sqlite"
    _execute(index, "CREATE TABLE theirs (a)")
    before = index.read_bytes()

    with pytest.raises(ForeignIndex):
        index_collection(tmp_path, index)

    assert not (tmp_path / "i.sqlite.set-aside").exists()
    assert index.read_bytes() == before


def test_an_index_with_other_tables_is_rebuilt(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index = tmp_path / "i.sqlite"
    index_collection(tmp_path, index)
    _execute(index, "DROP TABLE capture")

    assert index_collection(tmp_path, index).rebuilt

    assert stamps_of(tmp_path, index) == ["20200101000000"]


def test_unfinished_parts_of_an_interrupted_run_are_deleted(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index = LocalFiles.of(tmp_path).index
    index_collection(tmp_path)
    _execute(index, "UPDATE part SET state = 0")

    assert stamps_of(tmp_path) == []
    index_collection(tmp_path)

    assert stamps_of(tmp_path) == ["20200101000000"]
    assert stored_rows(index) == 1


def _execute(index: Path, statement: str) -> None:
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute(statement)
