from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from tests.timegate.endpoints.stored import PAGE, StoreClient
from tests.timegate.replication.stores import copying, index_of, served, sync_into
from timegate.store import Revision, RevisionWriter, StoreSettings, StoreUnwritable, Written


def at(time: str) -> tuple[str, str]:
    return "Timegate-Datetime", time


async def write_some(store: StoreClient, text: str) -> None:
    await store.put(f"{text} now")
    await store.put(f"{text} then", at("2020-01-01T00:00:00.125Z"), page=f"{PAGE}/{text}")
    await store.put(f"{text} auf deutsch", ("Content-Language", "de"), page=f"{PAGE}/de")
    await store.put(f"{text} now")  # a revisit


async def test_two_stores_that_copy_from_each_other_come_to_hold_the_same(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "one", "two") as (one, two):
        await write_some(one, "a")
        await write_some(two, "b")
        first = await sync_into(tmp_path / "one", two)
        second = await sync_into(tmp_path / "two", one)
        third = await sync_into(tmp_path / "one", two)
        fourth = await sync_into(tmp_path / "two", one)
        lists = await index_of(one), await index_of(two)

    assert (first.written, first.here) == (4, 0)
    assert (second.written, second.here) == (4, 4)
    assert (third.written, fourth.written) == (0, 0)
    assert (third.here, fourth.here) == (8, 8)
    assert not any(report.unverified or report.failures for report in (first, second))
    assert lists[0] == lists[1]
    assert len(lists[0]) == 9  # with the end
    assert sum(bool(row.get("asserted")) for row in lists[0]) == 2


async def test_copies_of_copies_end(tmp_path: Path) -> None:
    async with served(tmp_path, "one", "two", "three") as (one, two, three):
        await write_some(one, "a")
        written = [
            (await sync_into(tmp_path / "two", one)).written,
            (await sync_into(tmp_path / "three", two)).written,
            (await sync_into(tmp_path / "one", three)).written,
        ]
        lists = [await index_of(store) for store in (one, two, three)]

    assert written == [4, 4, 0]
    assert lists[0] == lists[1] == lists[2]


async def test_a_copy_has_the_time_the_type_and_the_verdict_of_the_first(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "one", "two") as (one, two):
        kind = ("Content-Type", "text/plain; charset=utf-8")
        await one.put("asserted", at("2020-01-01T00:00:00.125Z"), kind)
        await sync_into(tmp_path / "two", one)
        target = f"/collections/notes/20200101000000125/{PAGE}"
        original, copy = await one.get(target), await two.get(target)
        wanted = ("Accept-Datetime", "Wed, 01 Jan 2020 00:00:00 GMT")
        found = await two.get(f"/timegate/{PAGE}", wanted)

    assert copy.body == original.body == b"asserted"
    assert copy.headers["Content-Type"] == original.headers["Content-Type"]
    assert copy.headers["ETag"] == original.headers["ETag"]
    assert "basis=asserted" in found.headers["Memento-Precision"]


async def test_the_provenance_of_a_copy_is_kept(tmp_path: Path) -> None:
    async with served(tmp_path, "one", "two") as (one, _):
        await one.put("text")
        await sync_into(tmp_path / "two", one)
        (file,) = (tmp_path / "two" / "notes").glob("notes.kept.*")
        with file.open("rb") as stream:
            records = [
                record.content_stream().read().decode()
                for record in ArchiveIterator(stream)
                if record.rec_type == "metadata"
            ]

    assert f'source: "{one.site.url}/collections/notes"' in records[0]
    assert f"{one.site.url}/collections/notes/2" in records[0]
    assert "time-basis: captured" in records[0]


async def test_an_instant_with_other_bytes_is_a_conflict_and_stays(tmp_path: Path) -> None:
    async with served(tmp_path, "one", "two") as (one, two):
        for store, text in ((one, "left"), (two, "right")):
            await store.put(text, at("2020-01-01T00:00:00Z"))
        report = await sync_into(tmp_path / "two", one)
        kept = await two.get(f"/store/notes/{PAGE}")

    assert (report.written, len(report.conflicts)) == (0, 1)
    assert kept.body == b"right"


class Dying:
    """A writer that fails after some revisions, as a killed process does."""

    def __init__(self, writer: RevisionWriter, left: int) -> None:
        self._writer = writer
        self._left = left

    @property
    def settings(self) -> StoreSettings:
        return self._writer.settings

    async def write(self, revision: Revision) -> Written:
        self._left -= 1
        if self._left < 0:
            raise StoreUnwritable("the disk fails")
        return await self._writer.write(revision)


async def test_a_store_that_fails_ends_the_run_and_the_next_continues(tmp_path: Path) -> None:
    async with served(tmp_path, "one", "two") as (one, _):
        for number in range(6):
            await one.put(str(number), page=f"{PAGE}/{number}")
        async with copying(one, tmp_path / "two") as (synchronizer, offers):
            synchronizer._writer = Dying(synchronizer._writer, 2)  # noqa: SLF001 -- at the seam
            with pytest.raises(BaseExceptionGroup):
                await synchronizer.copy_all(offers)
        report = await sync_into(tmp_path / "two", one)

    assert report.written + report.here == 6
    assert report.written >= 4


async def test_times_in_the_future_are_not_copied(tmp_path: Path) -> None:
    async with served(tmp_path, "one", "two") as (one, _):
        await one.put("text")
        async with copying(one, tmp_path / "two") as (synchronizer, offers):
            synchronizer._now = lambda: 0  # noqa: SLF001 -- the clock
            await synchronizer.copy_all(offers)
            report = synchronizer.report

    assert list(report.failures.values()) == ["its time is in the future"]
