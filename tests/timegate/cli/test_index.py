"""`timegate index` for people and for programs."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from archives.warc_index.database import exclusive_lock
from archives.warc_index.model import LocalFiles
from tests.archives.warc_index.folders import a_warc, put, stamps_of
from timegate.cli.index import index_command

PAGE = "http://example.com/"


def index(*arguments: str | Path) -> Result:
    return CliRunner().invoke(index_command, [str(each) for each in arguments])


def test_indexing_a_folder_prints_a_summary(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"), (PAGE, "20210101000000"))

    result = index(tmp_path)

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "1 file: 1 read (0 had grown), 0 from CDX files, 0 unchanged, 0 gone",
        "2 captures indexed",
    ]
    assert stamps_of(tmp_path) == ["20200101000000", "20210101000000"]


def test_unusable_files_are_reported_and_exit_with_1(tmp_path: Path) -> None:
    for number in range(25):
        put(tmp_path, f"{number:02}.warc", b"rubbish")

    result = index(tmp_path, "--workers", "2")

    assert result.exit_code == 1
    assert "25 problems:" in result.output
    assert "  00.warc@0: " in result.output or "  01.warc@0: " in result.output
    assert result.output.endswith("  and 5 more\n")


def test_a_program_gets_one_line_of_json(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    put(tmp_path, "b.warc", b"rubbish")

    result = index(tmp_path, "--json", "--workers", "1")

    report = json.loads(result.output)
    assert result.exit_code == 1
    assert (report["files"], report["captures"], report["complaints"]) == (2, 1, 1)
    assert report["shown"][0]["file"] == "b.warc"


def test_the_index_can_be_elsewhere(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    elsewhere = tmp_path / "deep" / "own.sqlite"

    result = index(tmp_path, "--index", elsewhere)

    assert result.exit_code == 0
    assert stamps_of(tmp_path, elsewhere) == ["20200101000000"]
    assert not (tmp_path / ".timegate").exists()


def test_a_damaged_index_is_rebuilt_with_a_message(tmp_path: Path) -> None:
    place = put(tmp_path, "i.sqlite", b"rubbish" * 999)

    result = index(tmp_path, "--index", place)

    assert result.exit_code == 0
    assert result.output.startswith("the index was damaged")


def test_a_second_indexer_is_rejected_while_the_first_runs(tmp_path: Path) -> None:
    place = LocalFiles.of(tmp_path).index
    place.parent.mkdir()

    with exclusive_lock(place):
        result = index(tmp_path)

    assert result.exit_code == 2
    assert "another process is building" in result.output


def test_a_place_that_cannot_be_written_is_bad_usage(tmp_path: Path) -> None:
    put(tmp_path, "file", b"")

    result = index(tmp_path, "--index", tmp_path / "file" / "i.sqlite")

    assert result.exit_code == 2
    assert "set index to another place" in result.output


def test_a_path_that_is_not_there_is_bad_usage(tmp_path: Path) -> None:
    assert index(tmp_path / "missing").exit_code == 2
