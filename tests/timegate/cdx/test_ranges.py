"""Merging the captures of a range of URLs."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import ArchiveError, Misbehaved
from archives.listing.ranges import RangeBatch
from archives.model import Memento
from tests.clock import in_virtual_time
from timegate.cdx.formats import Capture, FiledCapture
from timegate.cdx.query import CdxQuery, RangePosition, query_from
from timegate.cdx.ranges import RangeMerge, merged_ranges, position, without
from timegate.cdx.selection import Selection

Item = tuple[str, str]
"""A path and a stamp."""


class NoTurns:
    async def next(self) -> None:
        await asyncio.sleep(0)


def capture(archive: str, path: str, stamp: str) -> Memento:
    url = f"http://example.org/{path}"
    return Memento(stamp, f"http://{archive}.example/{stamp}/{url}", url, archive)


async def batches(
    archive: str, items: Sequence[Item], size: int = 2, error: ArchiveError | None = None
) -> AsyncGenerator[RangeBatch, None]:
    for start in range(0, len(items), size):
        part = items[start : start + size]
        yield RangeBatch(
            [f"org,example)/{path}" for path, _ in part],
            [capture(archive, path, stamp) for path, stamp in part],
        )
        yield RangeBatch((), (), f"{archive}{start}")
    if error is not None:
        raise error


async def merged(
    lists: dict[str, AsyncGenerator[RangeBatch, None]],
) -> tuple[list[FiledCapture], RangeMerge]:
    async with merged_ranges(lists, "http://example.org/", NoTurns()) as merge:
        await merge.begin(2.0, 5.0)
        rows = [row async for block in merge.blocks() for row in block]
    return rows, merge


STAMPS = ("20130101000000", "20140101000000")
ITEMS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "c"]),
        st.sampled_from(STAMPS),
    ),
    max_size=8,
    unique=True,
).map(sorted)


@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), ITEMS), st.integers(1, 4))
def test_a_merge_is_all_captures_in_order(lists: dict[str, list[Item]], size: int) -> None:
    rows, merge = in_virtual_time(
        merged({name: batches(name, items, size) for name, items in lists.items()})
    )

    expected = [
        RangePosition(f"org,example)/{path}", stamp, capture(name, path, stamp).uri)
        for name, items in lists.items()
        for path, stamp in items
    ]
    assert [position(row) for row in rows] == sorted(expected)
    assert merge.failures == {}


def test_the_failure_of_one_archive_is_noted() -> None:
    error = Misbehaved("y", "http://y.example/", "breaks off")
    lists = {
        "x": batches("x", [("a", "20130101000000")]),
        "y": batches("y", [("b", "20130101000000")], error=error),
    }

    rows, merge = in_virtual_time(merged(lists))

    assert [row.archive for row in rows] == ["x", "y"]
    assert merge.failures == {"y": error}


def test_an_archive_that_does_not_begin_is_left_out() -> None:
    async def silent() -> AsyncGenerator[RangeBatch, None]:
        await asyncio.sleep(3600)
        yield RangeBatch((), ())

    lists = {"x": batches("x", [("a", "20130101000000")]), "y": silent()}

    rows, merge = in_virtual_time(merged(lists))

    assert [row.archive for row in rows] == ["x"]
    assert list(merge.failures) == ["y"]


def test_a_list_out_of_order_is_a_failure() -> None:
    items = [("b", "20130101000000"), ("a", "20130101000000")]

    rows, merge = in_virtual_time(merged({"x": batches("x", items)}))

    assert rows == []
    assert "out of order" in merge.failures["x"].why


def test_an_archive_without_an_index_is_missing() -> None:
    async def story() -> RangeMerge:
        async with merged_ranges({}, "http://example.org/", NoTurns()) as merge:
            merge.note_unlisted(["z"])
            await merge.begin(2.0, 5.0)
        return merge

    merge = in_virtual_time(story())

    assert (merge.asked, list(merge.failures)) == (("z",), ["z"])


def test_the_resume_keys_of_archives_are_those_before_a_capture() -> None:
    items = [("a", "20130101000000"), ("b", "20130101000000"), ("c", "20130101000000")]

    rows, merge = in_virtual_time(merged({"x": batches("x", items, size=1)}))

    assert [merge.keys_before(row) for row in rows] == [{"x": "x0"}, {"x": "x1"}, {"x": "x2"}]


@given(ITEMS, ITEMS, st.integers(1, 5))
def test_pages_by_resume_key_are_the_whole_list(
    first: list[Item], second: list[Item], limit: int
) -> None:
    async def page(key: str | None) -> tuple[list[FiledCapture], str | None]:
        given_ = {"url": ["http://example.org/*"], "limit": [str(limit)]}
        given_ |= {"showResumeKey": ["true"]} | ({"resumeKey": [key]} if key else {})
        query: CdxQuery = query_from(given_, "wayback")
        lists = {"x": batches("x", first), "y": batches("y", second)}
        async with merged_ranges(lists, query.url, NoTurns()) as merge:
            await merge.begin(2.0, 5.0)
            selection = Selection(query, merge.keys_before)
            rows: list[Capture] = []
            async for block in merge.blocks():
                rows += selection.take(block)
                if selection.done:
                    break
        return [r for r in rows if isinstance(r, FiledCapture)], selection.resume_key

    whole, _ = in_virtual_time(merged({"x": batches("x", first), "y": batches("y", second)}))
    found: list[FiledCapture] = []
    key: str | None = None
    while True:
        rows, key = in_virtual_time(page(key))
        found += rows
        if key is None:
            break

    assert found == whole


async def test_blocked_urls_are_left_out() -> None:
    items = [("a", "20130101000000"), ("b", "20130101000000")]

    kept = [row async for row in without(batches("x", items), lambda url: url.endswith("a"))]

    assert [capture.original for batch in kept for capture in batch.captures] == [
        "http://example.org/b"
    ]


@pytest.mark.parametrize("key", ["x", "bm9uc2Vuc2U", "W10", "WyJhIiwiYiIsImMiLHt9XQ"])
def test_a_resume_key_that_is_not_ours_is_rejected(key: str) -> None:
    with pytest.raises(ValueError, match="resumeKey"):
        query_from({"url": ["example.org/*"], "resumeKey": [key]}, "wayback")
