import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.timegate.following.pages import PAGE, capture, claim
from timegate.following import FollowedArchive, ListVersion
from timegate.following.change_file import HISTORY, BadChangeFile, ChangeFile


def test_the_first_list_is_history_and_later_captures_are_changes(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        file.claim(PAGE, "a", 0.0, 1.0)
        first = file.note(claim(), [capture("20200101000000")], None, 2.0)
        listed = [capture("20200101000000"), capture("20210101000000")]
        second = file.note(claim(), listed, None, 3.0)
        third = file.note(claim(), listed, None, 4.0)
        latest = file.latest(PAGE, 10)
        after = file.after(PAGE, 0, 10)

    assert (first, third) == ([], [])
    assert [change.memento.stamp for change in second] == ["20210101000000"]
    assert second == after
    assert [change.memento.stamp for change in latest] == ["20210101000000", "20200101000000"]


def test_of_a_long_first_list_the_latest_are_shown(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        file.claim(PAGE, "a", 0.0, 1.0)
        file.note(claim(), [capture(f"2020010100{n:04}") for n in range(60)], None, 2.0)

        shown = file.latest(PAGE, 100)
        state = file.archives_of(PAGE)

    assert len(shown) == HISTORY
    assert shown[0].memento.stamp == "20200101000059"
    assert state == [FollowedArchive("a", 2.0, "", 60)]


def test_changes_have_the_same_numbers_after_the_file_was_opened_again(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        file.claim(PAGE, "a", 0.0, 1.0)
        file.note(claim(), [], None, 2.0)
        (change,) = file.note(claim(), [capture("20200101000000", "sha1:A")], None, 3.0)
        name = file.name
    with ChangeFile(tmp_path / "c") as file:
        assert file.name == name
        assert file.after(PAGE, change.number - 1, 9) == [change]
        assert file.after(PAGE, change.number, 9) == []
        assert file.last_number(PAGE) == change.number
        assert file.last_until(PAGE, "20191231000000") == 0
        assert file.last_until(PAGE, "20200101000000") == change.number


def test_an_archive_is_claimed_once_in_an_interval_by_one_process(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file, ChangeFile(tmp_path / "c") as other:
        file.follow(PAGE, 1.0)
        assert file.claim("http://other/", "a", 0.0, 1.0) is None
        assert file.claim(PAGE, "a", 0.0, 1.0) is not None
        assert other.claim(PAGE, "a", 0.0, 2.0) is None
        assert other.claim(PAGE, "b", 0.0, 2.0) is not None
        assert other.claim(PAGE, "a", 1.0, 3.0) is not None
        # The clock was set back: the last claim is in the future.
        assert file.claim(PAGE, "a", -9.0, 2.0) is not None


def test_a_claim_has_the_version_of_the_last_list(tmp_path: Path) -> None:
    version = ListVersion("http://a/list", '"1"', "")
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        first = file.claim(PAGE, "a", 0.0, 1.0)
        assert first is not None
        file.note(first, [], version, 2.0)
        second = file.claim(PAGE, "a", 5.0, 6.0)
        file.note_trouble(first, "down")
        trouble = file.archives_of(PAGE)
        file.note_unchanged(first, 7.0)

        assert first.version is None
        assert second is not None
        assert second.version == version
        assert trouble == [FollowedArchive("a", 2.0, "down", 0)]
        assert file.archives_of(PAGE) == [FollowedArchive("a", 7.0, "", 0)]


def test_pages_that_were_requested_longest_ago_are_dropped(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c", most_pages=2) as file:
        for second, name in enumerate(("one", "two", "one", "three")):
            file.follow(f"http://{name}/", float(second))
        claims = [
            file.claim(f"http://{name}/", "a", 0.0, 9.0) for name in ("one", "two", "three")
        ]

    assert [found is not None for found in claims] == [True, False, True]


def test_changes_of_hidden_archives_are_left_out(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        for archive in ("a", "b"):
            file.claim(PAGE, archive, 0.0, 1.0)
            file.note(claim(archive), [], None, 2.0)
            file.note(claim(archive), [capture("20200101000000", None, archive)], None, 3.0)

        seen = file.after(PAGE, 0, 9, frozenset({"a"}))
        latest = file.latest(PAGE, 9, frozenset({"b"}))

    assert [change.memento.archive for change in seen] == ["b"]
    assert [change.memento.archive for change in latest] == ["a"]


def test_changes_are_unreported_until_they_are_marked(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c", reports=True) as file:
        file.follow(PAGE, 1.0)
        file.claim(PAGE, "a", 0.0, 1.0)
        file.note(claim(), [capture("20190101000000")], None, 2.0)
        file.note(claim(), [capture("20200101000000"), capture("20210101000000")], None, 3.0)
    with ChangeFile(tmp_path / "c", reports=True) as file:
        first, second = file.unreported()
        file.end_report(first.number, reported=True)
        assert file.unreported() == [second]


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    assert modes == {0o600}


def test_text_that_is_no_unicode_is_replaced(tmp_path: Path) -> None:
    odd = capture("20200101000000")._replace(uri="http://a/\udcff")
    with ChangeFile(tmp_path / "c") as file:
        file.follow(PAGE, 1.0)
        file.claim(PAGE, "a", 0.0, 1.0)
        file.note(claim(), [], None, 2.0)
        file.note(claim(), [odd], None, 2.0)

        assert file.after(PAGE, 0, 9)[0].memento.uri == "http://a/?"


@pytest.mark.parametrize("kind", ["another program", "newer", "no database", "a folder"])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "c"
    if kind == "a folder":
        path.mkdir()
    elif kind == "no database":
        path.write_text("these are notes, and no database at all " * 100)
    else:
        connection = sqlite3.connect(path)
        if kind == "newer":
            connection.execute("PRAGMA application_id = 0x54474348")
            connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE precious (text)")
        connection.commit()
        connection.close()
    before = path.read_bytes() if path.is_file() else b""

    with pytest.raises(BadChangeFile, match="choose another file"), ChangeFile(path):
        pass

    assert (path.read_bytes() if path.is_file() else b"") == before


KILLED = """
import os, sys
from pathlib import Path
from tests.timegate.following.pages import PAGE, capture, claim
from timegate.following.change_file import ChangeFile
with ChangeFile(Path(sys.argv[1]), reports=True) as file:
    file.follow(PAGE, 1.0)
    file.claim(PAGE, "a", 0.0, 1.0)
    file.note(claim(), [], None, 2.0)
    listed = []
    for n in range(int(sys.argv[2])):
        listed.append(capture(f"2020010100{n:04}"))
        file.note(claim(), listed, None, 3.0 + n)
    os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_and_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c"
    subprocess.run([sys.executable, "-c", KILLED, str(path), "7"], check=False)  # noqa: S603 -- this interpreter

    with ChangeFile(path, reports=True) as file:
        listed = [capture(f"2020010100{n:04}") for n in range(8)]
        later = file.note(claim(), listed, None, 50.0)
        changes = file.unreported()

    assert [change.memento.stamp for change in later] == ["20200101000007"]
    assert [change.memento for change in changes] == listed


def test_closing_waits_for_threads_that_use_the_file(tmp_path: Path) -> None:
    for _ in range(20):
        file = ChangeFile(tmp_path / "c")
        file.__enter__()
        file.follow(PAGE, 1.0)
        with ThreadPoolExecutor(4) as threads:
            reads = [threads.submit(file.latest, PAGE, 9) for _ in range(50)]
            file.__exit__(None, None, None)
        errors = {type(read.exception()) for read in reads}
        assert errors <= {type(None), sqlite3.ProgrammingError}
