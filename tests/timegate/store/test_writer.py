"""Writing revisions: what is acknowledged is on disk, and what is refused leaves nothing."""

import errno
import subprocess
import sys
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path

import pytest

from archives.moment import Moment
from archives.warc.captures import RecordReader, captures_in
from archives.warc.files import Damage
from archives.warc_index.building import index_collection
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import IndexRow, LocalFiles
from tests.timegate.store.stores import (
    NOON,
    URL,
    Clock,
    FaultyDisk,
    a_revision,
    open_store,
    put,
)
from timegate.store import (
    InstantTaken,
    StoreBusy,
    StoreFull,
    StoreUnwritable,
    Superseded,
)
from timegate.store.writer import clock_stamp


def rows(path: Path, url: str = URL) -> list[IndexRow]:
    place = LocalFiles.of(path)
    lookup = Lookup(place.index, place.root, 1.0)
    try:
        return lookup.captures_of(url, None)
    finally:
        lookup.close()


def body_of(row: IndexRow) -> bytes:
    reader = RecordReader(row)
    try:
        return b"".join(iter(lambda: reader.read(65536), b""))
    finally:
        reader.close()


def files(path: Path) -> list[Path]:
    return sorted(path.glob("*.warc.gz"))


def test_a_revision_is_in_the_index_when_it_is_acknowledged(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        written = put(store, a_revision("one"))

        (row,) = rows(tmp_path)
        assert (row.stamp, row.url, row.mime) == (written.stamp, URL, "text/plain")
        assert body_of(row) == b"one"


def test_the_index_equals_one_that_is_built_from_the_files(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for number in range(5):
            put(store, a_revision(f"body {number % 2}", at=f"2020010100000{number}"))
            put(store, a_revision(f"body {number % 3}", f"{URL}/{number}"))
        put(store, a_revision("in French", fields=(("Content-Language", "fr"),)))
    written = [row[:-1] for row in rows(tmp_path)]
    summary = index_collection(tmp_path)
    assert (summary.unchanged, summary.read) == (2, 0)

    index_collection(tmp_path, read_all=True)

    assert [row[:-1] for row in rows(tmp_path)] == written


def test_records_are_synced_before_they_are_indexed(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        disk.log.clear()
        put(store, a_revision("one"))
        put(store, a_revision("two"))

    created = ["write", "sync", "rename", "sync"]
    assert disk.log == [*created, "write", "sync", "indexed", "write", "sync", "indexed"]


def test_revisions_that_wait_together_are_synced_together(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        futures = [store.submit(a_revision(f"{n}", f"{URL}/{n}")) for n in range(200)]
        wait(futures)

    assert all(future.result().is_new for future in futures)
    assert disk.log.count("sync") < 100


def test_waiting_revisions_of_one_page_keep_their_order(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        futures = [store.submit(a_revision(f"{n}")) for n in range(50)]
        stamps = [future.result(30).stamp for future in futures]

    assert stamps == sorted(set(stamps))
    assert [body_of(row) for row in rows(tmp_path)] == [f"{n}".encode() for n in range(50)]


def test_equal_bytes_make_a_revisit(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        first = put(store, a_revision("same"))
        second = put(store, a_revision("same"))
        third = put(store, a_revision("same", content_type="text/html"))
        other = put(store, a_revision("same", "http://example.org/other"))

    assert [w.is_revisit for w in (first, second, third, other)] == [False, True, False, False]
    assert [row.mime for row in rows(tmp_path)] == ["text/plain", "warc/revisit", "text/html"]


def test_bytes_whose_record_is_damaged_are_written_again(tmp_path: Path) -> None:
    body = bytes(range(256)) * 40
    with open_store(tmp_path) as store:
        put(store, a_revision(body))
        (file,) = files(tmp_path)
        octets = bytearray(file.read_bytes())
        octets[-40:-30] = bytes(10)
        file.write_bytes(octets)
        again = put(store, a_revision(body))

    assert not again.is_revisit
    assert body_of(rows(tmp_path)[-1]) == body


def test_an_asserted_time_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one", at="20200101000000123456789"))
        put(store, a_revision("two"))

    assert [".asserted." in row.name for row in rows(tmp_path)] == [True, False]


@pytest.mark.parametrize("stamp", ["20200101000000", "202001010000000", "20200101000000000"])
def test_an_instant_that_holds_other_bytes_is_taken(tmp_path: Path, stamp: str) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one", at="20200101000000"))

        with pytest.raises(InstantTaken):
            put(store, a_revision("two", at=stamp))
        again = put(store, a_revision("one", at=stamp))

    assert (again.is_new, again.stamp) == (False, "20200101000000")
    assert len(rows(tmp_path)) == 1


def test_a_fraction_of_the_same_second_is_another_instant(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(store, a_revision("one", at="20200101000000"))
        put(store, a_revision("two", at="202001010000001"))

    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize(("count", "step"), [(1000, 10**6), (2000, 10**9)])
def test_many_revisions_of_one_page_are_told_apart(
    tmp_path: Path, count: int, step: int
) -> None:
    first = 1_577_836_800 * 10**9
    stamps = [clock_stamp(first + number * step) for number in range(count)]
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        for start in range(0, count, 500):
            some = stamps[start : start + 500]
            wait([store.submit(a_revision(stamp, at=stamp)) for stamp in some])

    place = LocalFiles.of(tmp_path)
    with closing(Lookup(place.index, place.root, 1.0)) as lookup:
        for number in range(0, count, 97):
            just_after = clock_stamp(first + number * step + step // 3)
            row = lookup.nearest(URL, Moment(just_after))
            assert row is not None
            assert row.stamp == stamps[number]
            assert body_of(row) == stamps[number].encode()
    assert disk.log.count("indexed") < count // 5


def test_preconditions_compare_the_current_revision(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with pytest.raises(Superseded):
            put(store, a_revision("one", match="*"))
        put(store, a_revision("one", none_match="*"))
        with pytest.raises(Superseded):
            put(store, a_revision("two", none_match="*"))
        with pytest.raises(Superseded):
            put(
                store,
                a_revision("two", none_match=f'W/"sha256-{a_revision("one").digest.hex()}"'),
            )
        tag = f'"sha256-{a_revision("one").digest.hex()}"'
        put(store, a_revision("two", match=f'"x", {tag}'))
        with pytest.raises(Superseded) as lost:
            put(store, a_revision("three", match=tag))

    assert lost.value.current is not None
    assert body_of(lost.value.current) == b"two"


def test_of_two_writers_with_one_precondition_one_wins(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        races = [store.submit(a_revision(f"{n}", none_match="*")) for n in range(20)]
        wait(races)

    assert sum(race.exception() is None for race in races) == 1
    assert len(rows(tmp_path)) == 1


def test_two_processes_write_to_files_of_their_own(tmp_path: Path) -> None:
    with open_store(tmp_path) as one, open_store(tmp_path, clock=Clock(NOON + 500)) as two:
        put(one, a_revision("one"))
        put(two, a_revision("two"))
        races = [
            store.submit(a_revision(f"{n}", f"{URL}/{n}", none_match="*"))
            for n in range(50)
            for store in (one, two)
        ]
        wait(races)

    assert sum(race.exception() is None for race in races) == 50
    assert len(files(tmp_path)) == 2
    assert sum(len(rows(tmp_path, f"{URL}/{n}")) for n in range(50)) == 50


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_no_half_record(tmp_path: Path, error: int) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        put(store, a_revision("one"))
        before = files(tmp_path)[0].read_bytes()
        disk.fail("short", 1)
        disk.fail("write", error)
        with pytest.raises(StoreFull):
            put(store, a_revision("two"))
        assert files(tmp_path)[0].read_bytes() == before
        put(store, a_revision("three"))

    assert [body_of(row) for row in rows(tmp_path)] == [b"one", b"three"]
    assert _is_clean(tmp_path)


def test_a_file_that_cannot_be_cut_back_is_used_no_more(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        put(store, a_revision("one"))
        disk.fail("short", 1)
        disk.fail("write", errno.ENOSPC)
        disk.fail("truncate", errno.EIO)
        with pytest.raises(StoreFull):
            put(store, a_revision("two"))
        put(store, a_revision("three"))
        assert len(files(tmp_path)) == 2

    with open_store(tmp_path):
        assert [body_of(row) for row in rows(tmp_path)] == [b"one", b"three"]
    assert _is_clean(tmp_path)


def test_a_sync_that_fails_once_acknowledges_nothing_and_ends_the_file(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        put(store, a_revision("one"))
        disk.fail("sync", errno.EIO)
        with pytest.raises(StoreUnwritable):
            put(store, a_revision("two"))
        put(store, a_revision("three"))

    assert [body_of(row) for row in rows(tmp_path)] == [b"one", b"three"]
    assert len(files(tmp_path)) == 2


def test_a_short_write_is_continued(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        disk.fail("short", 1, 1, 1)
        put(store, a_revision("one"))

    assert [body_of(row) for row in rows(tmp_path)] == [b"one"]


def test_a_read_only_disk_refuses_writes_and_serves_on(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with open_store(tmp_path, disk) as store:
        put(store, a_revision("one"))
        disk.fail("write", errno.EROFS)
        with pytest.raises(StoreUnwritable):
            put(store, a_revision("two"))
        assert [body_of(row) for row in rows(tmp_path)] == [b"one"]


def test_the_quota_counts_all_files(tmp_path: Path) -> None:
    with open_store(tmp_path, quota=2000) as store:
        with pytest.raises(StoreFull):
            put(store, a_revision(b"x" * 2001))
        put(store, a_revision("one"))
        with pytest.raises(StoreFull):
            put(store, a_revision(b"x" * 1990))


def test_the_disk_keeps_some_space_free(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.octets_free = 4
    with open_store(tmp_path, disk) as store:
        with pytest.raises(StoreFull):
            put(store, a_revision("hello"))
        disk.octets_free = 1000
        put(store, a_revision("hello"))


def test_a_large_file_is_followed_by_another(tmp_path: Path) -> None:
    with open_store(tmp_path, file_size=1000) as store:
        for number in range(6):
            put(store, a_revision(f"{number}"))

    assert len(files(tmp_path)) > 1
    assert len(rows(tmp_path)) == 6
    assert _is_clean(tmp_path)


def test_after_the_clock_went_back_times_are_those_of_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    with open_store(tmp_path, clock=clock, file_size=1) as store:
        later = put(store, a_revision("one"))
        clock.now -= 3600 * 10**9
        earlier = put(store, a_revision("two"))

    assert earlier.stamp < later.stamp
    assert [body_of(row) for row in rows(tmp_path)] == [b"two", b"one"]
    assert len({file.name for file in files(tmp_path)}) == 2


def test_a_clock_that_stands_still_gives_no_time_twice(tmp_path: Path) -> None:
    class Standing(Clock):
        def __call__(self) -> int:
            return self.now

    clock = Standing()
    with open_store(tmp_path, clock=clock) as store:
        put(store, a_revision("one"))
        with pytest.raises(StoreBusy):
            put(store, a_revision("two"))
        put(store, a_revision("two", "http://example.org/another"))


def test_an_unforeseen_exception_costs_one_group_of_revisions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Surprising(FaultyDisk):
        def free(self, folder: Path) -> int:
            if not self.log:
                self.log.append("surprise")
                raise RuntimeError("unforeseen")
            return super().free(folder)

    disk = Surprising()
    with open_store(tmp_path, disk) as store:
        disk.log.clear()
        with pytest.raises(StoreUnwritable, match="RuntimeError"):
            put(store, a_revision("one"))
        put(store, a_revision("two"))

    assert "unforeseen" in caplog.text


def test_a_client_that_left_before_its_turn_writes_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path, most_in_group=1) as store:
        futures = [store.submit(a_revision(f"{n}")) for n in range(100)]
        left = [n for n, future in enumerate(futures) if future.cancel()]
        wait(futures)

    assert len(rows(tmp_path)) == 100 - len(left)


def _is_clean(path: Path) -> bool:
    found = []
    for file in files(path):
        with file.open("rb") as stream:
            found += [item for item in captures_in(stream) if isinstance(item, Damage)]
    checked = subprocess.run(  # noqa: S603 -- warcio of this environment
        [sys.executable, "-m", "warcio.cli", "check", *map(str, files(path))],
        check=False,
        capture_output=True,
    )
    return not found and checked.returncode == 0
