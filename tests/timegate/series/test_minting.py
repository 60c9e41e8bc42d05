"""Names under the lock: unique over processes and kills, in order of time."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.timegate.series.minters import SERIES, minted_by_processes
from tests.timegate.store.stores import Clock, FaultyDisk
from timegate.series import Minted, MintRequest, NameTaken
from timegate.series.catalogue import Catalogue, Listing
from timegate.series.minting import SeriesJournal
from timegate.series.requests import content_of
from timegate.store import StoreError, StoreSettings
from timegate.store.files import Disk
from timegate.store.writer import StoreWriter


@contextmanager
def writing(
    folder: Path, clock: Clock | None = None, disk: Disk | None = None
) -> Iterator[StoreWriter]:
    journal = SeriesJournal(folder)
    settings = StoreSettings("papers", folder, free=0)
    with StoreWriter(settings, disk, clock or Clock(), journal=journal) as writer:
        yield writer


def mint(writer: StoreWriter, body: bytes = b"x", unique_id: str | None = None) -> str:
    content = content_of({"format": "text"}, None, body)
    request = MintRequest(SERIES, content, "me", unique_id)
    result = writer.submit_request(request, len(body)).result()
    assert isinstance(result, Minted)
    return result.representation.pdi


def names_in(folder: Path) -> list[str]:
    page = Catalogue(folder).listed(Listing(SERIES, ("*", "*", "*")), 1000)
    return [each.pdi.rpartition("/")[2] for each in page.representations]


def test_four_processes_that_are_killed_give_each_number_once(tmp_path: Path) -> None:
    found = minted_by_processes(tmp_path, 160, kill_every=40)

    assert len(found.acknowledged) >= 160
    assert found.kills > 0
    assert (found.twice, found.lost, found.out_of_order) == (0, 0, 0)


def test_a_record_that_only_the_disk_has_keeps_its_number(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        mint(writer, b"known")
    folder = tmp_path / ".timegate"
    before = {path: path.read_bytes() for path in folder.glob("series.sqlite*")}
    with writing(tmp_path) as writer:
        mint(writer, b"on disk, and nothing knows of it")
    for path in folder.glob("series.sqlite*"):
        path.unlink()
    for path, octets in before.items():
        path.write_bytes(octets)
    with writing(tmp_path) as writer:
        third = mint(writer, b"the next")

    assert third.endswith("/3.text.1")
    assert names_in(tmp_path) == ["1.text.1", "2.text.1", "3.text.1"]


def test_a_running_process_sees_what_a_killed_one_left(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with writing(other) as writer:
        mint(writer, b"of the killed process")
    with writing(tmp_path / "papers") as writer:
        for file in other.glob("*.warc.gz"):
            shutil.copy(file, tmp_path / "papers")
        assert mint(writer).endswith("/2.text.1")


def test_a_torn_record_at_the_end_is_no_document(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        mint(writer)
        mint(writer, os.urandom(500).hex().encode())
    [file] = tmp_path.glob("*.series.*.warc.gz")
    file.write_bytes(file.read_bytes()[:-40])
    for path in (tmp_path / ".timegate").glob("series.sqlite*"):
        path.unlink()
    with writing(tmp_path) as writer:
        assert mint(writer).endswith("/2.text.1")


def test_if_the_clock_is_set_back_the_order_stays(tmp_path: Path) -> None:
    clock = Clock()
    with writing(tmp_path, clock) as writer:
        mint(writer)
        clock.now -= 3600 * 10**9
        mint(writer)
    page = Catalogue(tmp_path).listed(Listing(SERIES, ("*", "*", "*")), 10)
    stamps = [each.stamp for each in page.representations]

    assert stamps == sorted(stamps)
    assert len(set(stamps)) == 2


def test_each_day_begins_with_1(tmp_path: Path) -> None:
    clock = Clock()
    with writing(tmp_path, clock) as writer:
        mint(writer)
        mint(writer)
        clock.now += 86_400 * 10**9
        assert mint(writer).endswith("/1.text.1")


def test_a_given_number_counts_for_the_next(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        mint(writer, unique_id="41")
        assert mint(writer).endswith("/42.text.1")
        with pytest.raises(NameTaken):
            mint(writer, unique_id="41")


def test_a_full_disk_takes_no_number(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with writing(tmp_path, disk=disk) as writer:
        mint(writer)
        disk.fail("sync", 28)
        with pytest.raises(StoreError):
            mint(writer)
        assert mint(writer).endswith("/2.text.1")
    assert names_in(tmp_path) == ["1.text.1", "2.text.1"]
