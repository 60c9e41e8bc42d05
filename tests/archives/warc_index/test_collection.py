"""Queries to a collection: which capture is found, and when the index cannot answer."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from archives.errors import Unreachable
from archives.moment import Moment
from archives.warc.captures import Capture
from archives.warc_index.building import index_collection
from archives.warc_index.collection import Collection
from archives.warc_index.model import IndexRow, LocalFiles, distance_from
from tests import warcs
from tests.archives.warc_index.folders import a_capture, a_warc, an_index, put, responses
from tests.clock import Clock

PAGE = "http://example.com/"
SECURE = "https://example.com/"
WWW = "http://www.example.com/"


def captures(*known: tuple[str, str]) -> list[Capture]:
    return [a_capture(url, stamp, offset) for offset, (url, stamp) in enumerate(known)]


async def found(folder: Path, url: str, at: str | None) -> tuple[str, str] | None:
    async with Collection("own", folder) as collection:
        row = await collection.nearest(url, None if at is None else Moment(at))
    return None if row is None else (row.url, row.stamp)


async def listed(folder: Path, url: str) -> list[IndexRow]:
    async with Collection("own", folder) as collection:
        return [row async for batch in collection.captures_of(url) for row in batch]


# The nearest capture


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2013", "20130701000000"),
        ("2012", "20130101000000"),
        ("20130101000000", "20130101000000"),
        ("20140101", "20131231235959"),
        ("1996", "20130101000000"),
        ("2026", "20150101000000123456789"),
        ("20150101000000123456789", "20150101000000123456789"),
        ("201501010000001234", "20150101000000123456789"),
        ("20150101000000", "20150101000000123456789"),
        (None, "20150101000000123456789"),
    ],
)
async def test_the_capture_nearest_to_a_moment_is_found(
    tmp_path: Path, at: str | None, expected: str
) -> None:
    stamps = ["20130101000000", "20130701000000", "20131231235959", "20150101000000123456789"]
    an_index(tmp_path, captures(*((PAGE, stamp) for stamp in stamps)))

    assert await found(tmp_path, PAGE, at) == (PAGE, expected)


@pytest.mark.parametrize(
    ("url", "at", "expected"),
    [
        (PAGE, "2013", (PAGE, "20130101000000")),
        (SECURE, "2013", (SECURE, "20130615000000")),
        (WWW, "2013", (WWW, "20130808080808")),
        ("http://example.com", "2013", (SECURE, "20130615000000")),
        (PAGE, "20130614", (SECURE, "20130615000000")),
        (PAGE, "20130808080808", (WWW, "20130808080808")),
        (SECURE, "20130808080808", (SECURE, "20130808080808")),
        ("https://www.example.com/", None, (WWW, "20131231000000")),
    ],
)
async def test_the_exact_url_wins_inside_the_interval_and_time_outside(
    tmp_path: Path, url: str, at: str | None, expected: tuple[str, str]
) -> None:
    known = captures(
        (PAGE, "20130101000000"),
        (SECURE, "20130615000000"),
        (WWW, "20130808080808"),
        (SECURE, "20130808080808"),
        (WWW, "20131231000000"),
    )
    an_index(tmp_path, known)

    assert await found(tmp_path, url, at) == expected


async def test_the_fragment_of_a_url_is_ignored(tmp_path: Path) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")))

    assert await found(tmp_path, f"{PAGE}#top", "2013") == (PAGE, "20130101000000")


async def test_a_page_wins_over_a_redirect_of_the_same_second(tmp_path: Path) -> None:
    redirect = a_capture(PAGE, "20130101000000", 0, status=301)
    an_index(tmp_path, [redirect, a_capture(PAGE, "20130101000000", 500)])

    async with Collection("own", tmp_path) as collection:
        row = await collection.nearest(PAGE, Moment("2013"))

    assert row is not None
    assert row.status == 200


START = datetime(2013, 1, 1, tzinfo=UTC)
stamps = some.builds(
    lambda seconds, fraction: f"{START + timedelta(seconds=seconds):%Y%m%d%H%M%S}{fraction}",
    some.integers(0, 3 * 366 * 86400) | some.integers(0, 10),
    some.sampled_from(["", "0", "5", "500", "123456789"]),
)
moments = some.builds(
    lambda stamp, digits: Moment(stamp[:digits]),
    stamps,
    some.sampled_from([4, 6, 8, 10, 12, 14, 15, 23]),
)


@settings(max_examples=60)
@given(
    known=some.lists(
        some.tuples(some.sampled_from([PAGE, SECURE, WWW]), stamps), min_size=1, max_size=9
    ),
    url=some.sampled_from([PAGE, SECURE]),
    at=moments,
)
def test_the_nearest_of_adjacent_rows_is_the_nearest_of_all(
    known: list[tuple[str, str]], url: str, at: Moment
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        an_index(Path(folder), captures(*known))

        row = asyncio.run(_nearest(Path(folder), url, at))
        everything = asyncio.run(listed(Path(folder), url))

    measure = distance_from(url, at)
    assert row is not None
    # An instant may have two stamps (20130101000000 and 201301010000000): either is right.
    assert measure(row)[:5] == min(map(measure, everything))[:5]


async def _nearest(folder: Path, url: str, at: Moment) -> IndexRow | None:
    async with Collection("own", folder) as collection:
        return await collection.nearest(url, at)


# By stamp, and the originals of revisits


async def test_a_capture_is_found_by_its_complete_stamp_only(tmp_path: Path) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000"), (PAGE, "201301010000005")))

    async with Collection("own", tmp_path) as collection:
        exact = await collection.at(PAGE, "201301010000005")
        other = await collection.at(PAGE, "201301010000006")

    assert exact is not None
    assert exact.offset == 1
    assert other is None


async def test_the_original_of_a_revisit_is_found_by_reference_or_digest(
    tmp_path: Path,
) -> None:
    other = "http://other.example/"
    an_index(
        tmp_path,
        [
            a_capture(other, "20130101000000", 1, digest="SAME"),
            a_capture(PAGE, "20140101000000", 2, digest="SAME", mime="warc/revisit"),
            a_capture(PAGE, "20120101000000", 3, digest="SAME"),
            a_capture(PAGE, "20110101000000", 4, digest="ANOTHER"),
        ],
    )

    async with Collection("own", tmp_path) as collection:
        referred = await collection.original_of(PAGE, "SAME", (other, "2013-01-01T00:00:00Z"))
        by_digest = await collection.original_of(PAGE, "SAME", None)
        astray = await collection.original_of(PAGE, "SAME", (other, "20990101000000"))
        nowhere = await collection.original_of(PAGE, "NONE", None)
        unsaid = await collection.original_of(PAGE, None, None)

    assert [row and row.offset for row in (referred, by_digest, astray)] == [1, 3, 3]
    assert (nowhere, unsaid) == (None, None)


@pytest.mark.parametrize(
    ("date", "offset"),
    [
        ("2013-01-01T00:00:00.250Z", 2),
        ("2013-01-01T00:00:00.9Z", 3),
        ("2013-01-01T00:00:00Z", 1),
        ("2013-01-01T00:00:00.123Z", 1),
    ],
)
async def test_a_revisit_refers_to_one_of_several_records_of_a_second(
    tmp_path: Path, date: str, offset: int
) -> None:
    records = captures(*((PAGE, f"20130101000000{f}") for f in ("100", "250", "900")))
    an_index(tmp_path, records)

    async with Collection("own", tmp_path) as collection:
        found = await collection.original_of(PAGE, None, (PAGE, date))

    assert found is not None
    assert found.offset == offset - 1


# Lists


async def test_a_long_list_is_in_order_of_time_and_without_duplicates(tmp_path: Path) -> None:
    times = [f"{START + timedelta(hours=hours):%Y%m%d%H%M%S}" for hours in range(2500)]
    an_index(tmp_path, captures(*((PAGE, stamp) for stamp in reversed(times))))

    rows = await listed(tmp_path, SECURE)

    assert [row.stamp for row in rows] == times


async def test_a_range_of_keys_is_listed_and_can_be_continued(tmp_path: Path) -> None:
    urls = [PAGE, f"{PAGE}a", f"{PAGE}b", "http://example.org/"]
    an_index(tmp_path, captures(*((url, "20130101000000") for url in urls)))

    async with Collection("own", tmp_path) as collection:
        whole = [
            r
            async for rows in collection.captures_between("com,example)", "com,example*")
            for r in rows
        ]
        rest = [
            row
            async for rows in collection.captures_between(
                "com,example)", "com,example*", whole[0].key
            )
            for row in rows
        ]

    assert [row.url for row in whole] == urls[:3]
    assert rest == whole[1:]


# When the index cannot answer


async def test_the_error_for_a_missing_index_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="not indexed yet: run timegate index"):
        await found(tmp_path, PAGE, "2013")
    with pytest.raises(Unreachable, match="not indexed yet"):
        await listed(tmp_path, PAGE)


async def test_absence_is_reported_only_once_all_files_were_read(tmp_path: Path) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")), complete=False)

    assert await found(tmp_path, PAGE, "2013") == (PAGE, "20130101000000")
    with pytest.raises(Unreachable, match="first indexing is not complete"):
        await found(tmp_path, f"{PAGE}unknown", "2013")


async def test_a_list_of_an_incomplete_index_ends_with_an_error(
    tmp_path: Path,
) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")), complete=False)
    batches: list[Sequence[IndexRow]] = []

    async def read() -> None:
        async with Collection("own", tmp_path) as collection:
            async for batch in collection.captures_of(PAGE):
                batches.append(batch)  # noqa: PERF401 -- batches before the error count

    with pytest.raises(Unreachable, match="not complete"):
        await read()

    assert len(batches) == 1


@pytest.mark.parametrize(
    ("octets", "why"),
    [(b"no database" * 999, "cannot be read"), (b"", "not an index of this program")],
)
async def test_an_unreadable_index_is_an_error_and_not_absence(
    tmp_path: Path, octets: bytes, why: str
) -> None:
    put(tmp_path, ".timegate/index.sqlite", octets)

    with pytest.raises(Unreachable, match=why):
        await found(tmp_path, PAGE, "2013")


async def test_an_index_that_appears_grows_or_is_replaced_is_seen_at_once(
    tmp_path: Path,
) -> None:
    async with Collection("own", tmp_path, clock=Clock()) as collection:
        with pytest.raises(Unreachable):
            await collection.nearest(PAGE, None)
        a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
        index_collection(tmp_path)
        appeared = await collection.nearest(PAGE, None)
        a_warc(tmp_path, "b.warc.gz", (PAGE, "20210101000000"))
        index_collection(tmp_path)
        grown = await collection.nearest(PAGE, None)
        put(tmp_path, ".timegate/index.sqlite", b"rubbish" * 999)
        a_warc(tmp_path, "c.warc.gz", (PAGE, "20220101000000"))
        index_collection(tmp_path)
        replaced = await collection.nearest(PAGE, None)

    stamps = [row and row.stamp for row in (appeared, grown, replaced)]
    assert stamps == ["20200101000000", "20210101000000", "20220101000000"]


async def test_after_a_slow_query_queries_run_in_threads_for_a_while(tmp_path: Path) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")))
    readings = iter([0.0, 0.5, 1.0, 11.0, 11.0])
    waits = iter(range(10))

    async with Collection(
        "own", tmp_path, clock=lambda: next(readings), waits=lambda: next(waits)
    ) as collection:
        rows = [await collection.nearest(PAGE, None) for _ in range(3)]

    assert {row and row.stamp for row in rows} == {"20130101000000"}
    assert next(readings, None) is None


async def test_a_query_slowed_by_a_busy_processor_changes_nothing(
    tmp_path: Path,
) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")))
    readings = iter([0.0, 0.5, 0.5, 1.0])

    async with Collection(
        "own", tmp_path, clock=lambda: next(readings), waits=lambda: 7
    ) as collection:
        rows = [await collection.nearest(PAGE, None) for _ in range(2)]

    assert {row and row.stamp for row in rows} == {"20130101000000"}
    assert next(readings, None) is None


async def test_queries_are_answered_while_the_index_is_written(tmp_path: Path) -> None:
    an_index(tmp_path, captures((PAGE, "20130101000000")))
    writer = sqlite3.connect(LocalFiles.of(tmp_path).index, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM capture")

    assert await found(tmp_path, PAGE, "2013") == (PAGE, "20130101000000")

    writer.execute("ROLLBACK")
    writer.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to switch to another user")
def test_an_index_can_be_read_without_write_permission(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    index_collection(tmp_path)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and path.is_relative_to(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o555)

    assert _as_nobody(lambda: asyncio.run(found(tmp_path, PAGE, None))) == 0


def _as_nobody(act: object) -> int:
    """Call *act* in a child process without write permission; return its exit code."""
    assert callable(act)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            code = 0 if act() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def test_a_row_has_the_file_offset_and_length_of_its_record(tmp_path: Path) -> None:
    record = warcs.gzipped(*responses((PAGE, "20200101000000")))
    put(tmp_path, "a b.warc.gz", record)
    index_collection(tmp_path)

    async with Collection("own", tmp_path) as collection:
        row = await collection.nearest(PAGE, None)

    assert row is not None
    assert row.file == str(tmp_path / "a b.warc.gz")
    assert (row.offset, row.length) == (0, len(record))
