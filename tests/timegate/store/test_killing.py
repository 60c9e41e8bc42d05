"""A process that is killed at any moment loses nothing that it acknowledged."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.timegate.store.killing import (
    PLACES,
    Acknowledged,
    KillingDisk,
    Where,
    killed_while_writing,
    reopened,
)
from tests.timegate.store.stores import Clock, a_revision, open_store, put
from timegate.store import Revision


def revisions(start: int, count: int = 12) -> list[Revision]:
    """Return revisions of few pages: new bytes, equal bytes, and asserted times."""
    return [
        a_revision(
            f"body {number // 3}" * (1 + number % 5 * 200),
            f"http://example.org/{number % 7}",
            at=f"2019{number // 86400 + 101:04}{number // 3600 % 24:02}{number // 60 % 60:02}"
            f"{number % 60:02}"
            if number % 4 == 0
            else None,
        )
        for number in range(start, start + count)
    ]


@pytest.mark.parametrize("where", PLACES)
def test_a_kill_at_any_operation_loses_nothing(tmp_path: Path, where: Where) -> None:
    acknowledged: list[Acknowledged] = []
    kills = 0
    clock = Clock()
    for at in (*range(3, 14), 17, 21, 26, 30, 35):
        clock.now += 10**9
        found, killed = killed_while_writing(
            tmp_path, revisions(at * 12), KillingDisk(at, where), clock
        )
        acknowledged += found
        kills += killed
        seen = reopened(tmp_path, acknowledged)
        assert (seen.lost, seen.damaged) == (0, 0), f"{where} operation {at}"

    assert kills > 10
    assert len(acknowledged) > 10
    checked = subprocess.run(  # noqa: S603 -- warcio of this environment
        [sys.executable, "-m", "warcio.cli", "check", *map(str, tmp_path.glob("*.warc.gz"))],
        check=False,
        capture_output=True,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_torn_tail_is_moved_out_of_the_file_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one"))
    (file,) = tmp_path.glob("*.warc.gz")
    whole = file.read_bytes()
    torn = whole[300:400]
    file.write_bytes(whole + torn)

    with open_store(tmp_path) as store:
        put(store, a_revision("two"))

    assert file.read_bytes() == whole
    (kept,) = (tmp_path / ".timegate/torn").iterdir()
    assert kept.read_bytes() == torn
    assert f"100 octets after {len(whole)}" in caplog.text


def test_a_tail_of_zeros_is_cut(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one"))
    (file,) = tmp_path.glob("*.warc.gz")
    whole = file.read_bytes()
    file.write_bytes(whole + bytes(5000))

    with open_store(tmp_path):
        assert file.read_bytes() == whole


def test_damage_before_whole_records_is_not_cut(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one"))
        put(store, a_revision("two"))
    (file,) = tmp_path.glob("*.warc.gz")
    octets = bytearray(file.read_bytes())
    octets[400:410] = bytes(10)
    file.write_bytes(octets)
    (tmp_path / ".timegate/index.sqlite").unlink()

    with open_store(tmp_path):
        assert file.read_bytes() == octets


def test_files_of_another_process_are_left_alone(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one"))
        (file,) = tmp_path.glob("*.warc.gz")
        with file.open("ab") as stream:
            stream.write(b"half a record")
        with open_store(tmp_path):
            assert file.read_bytes().endswith(b"half a record")


def test_a_file_that_was_only_begun_is_removed(tmp_path: Path) -> None:
    begun = tmp_path / ".notes.20200101000000-aa.warc.gz.part"
    begun.write_bytes(b"half")

    with open_store(tmp_path):
        assert not begun.exists()


def test_an_index_that_is_lost_is_built_again(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        written = put(store, a_revision("one"))
    for file in (tmp_path / ".timegate").iterdir():
        file.unlink()

    seen = reopened(tmp_path, [Acknowledged("http://example.org/page", written.stamp, b"one")])

    assert (seen.lost, seen.captures) == (0, 1)
