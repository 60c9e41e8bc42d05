"""An index built from a CDX file only, for files that cannot be listed."""

import os
from pathlib import Path

import pytest

from archives.warc_index.building import index_inventory
from archives.warc_index.model import RemoteFiles
from tests.archives.warc_index.folders import rows_of, stored_rows

FIRST = (
    'com,example)/ 20200101000000 {"url": "http://example.com/", "mime": "text/html", '
    '"status": "200", "digest": "A", "length": "10", "offset": "5", '
    '"filename": "x/a.warc.gz"}\n'
)
SECOND = FIRST.replace("a.warc", "b.warc").replace("2020", "2021")


@pytest.fixture
def address(tmp_path: Path) -> RemoteFiles:
    return RemoteFiles("https://files.example/warcs/", tmp_path / "there" / "index.sqlite")


def write_cdx(folder: Path, text: str, mtime: int = 1) -> Path:
    path = folder / "all.cdxj"
    path.write_text(text)
    os.utime(path, (mtime, mtime))
    return path


def indexed(tmp_path: Path, address: RemoteFiles) -> list[tuple[str, str]]:
    return [(row.stamp, row.name) for row in rows_of(tmp_path, address.index)]


def test_the_captures_of_the_cdx_file_are_indexed(tmp_path: Path, address: RemoteFiles) -> None:
    summary = index_inventory(address, write_cdx(tmp_path, FIRST + SECOND))

    assert (summary.files, summary.from_cdx, summary.captures) == (2, 2, 2)
    assert indexed(tmp_path, address) == [
        ("20200101000000", "a.warc.gz"),
        ("20210101000000", "b.warc.gz"),
    ]


def test_an_unchanged_cdx_file_is_not_read_again(tmp_path: Path, address: RemoteFiles) -> None:
    inventory = write_cdx(tmp_path, FIRST)
    index_inventory(address, inventory)

    again = index_inventory(address, inventory)

    assert (again.captures, again.unchanged) == (0, 1)
    assert indexed(tmp_path, address) == [("20200101000000", "a.warc.gz")]


def test_a_changed_cdx_file_replaces_all_captures(tmp_path: Path, address: RemoteFiles) -> None:
    index_inventory(address, write_cdx(tmp_path, FIRST))

    index_inventory(address, write_cdx(tmp_path, SECOND, mtime=2))

    assert indexed(tmp_path, address) == [("20210101000000", "b.warc.gz")]
    assert stored_rows(address.index) == 1


def test_an_unreadable_line_is_left_out(tmp_path: Path, address: RemoteFiles) -> None:
    summary = index_inventory(address, write_cdx(tmp_path, f"what is this\n{SECOND}"))

    assert summary.complaints == 1
    assert indexed(tmp_path, address) == [("20210101000000", "b.warc.gz")]


def test_a_damaged_index_is_rebuilt(tmp_path: Path, address: RemoteFiles) -> None:
    address.index.parent.mkdir()
    address.index.write_bytes(b"no database" * 1000)

    summary = index_inventory(address, write_cdx(tmp_path, FIRST))

    assert summary.rebuilt
    assert indexed(tmp_path, address) == [("20200101000000", "a.warc.gz")]
