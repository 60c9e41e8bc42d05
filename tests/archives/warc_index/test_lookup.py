"""Looking up captures in the index: the nearest with its neighbours, from the current rows."""

import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from archives.moment import Moment
from archives.source import WantedCaptures
from archives.warc_index.building import index_collection
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import LocalFiles
from tests.archives.warc_index.folders import a_capture, a_warc, an_index

PAGE = "http://example.com/"
SPELLINGS = (PAGE, PAGE, PAGE, "https://www.example.com/")
STAMPS = some.integers(0, 99).map(lambda second: f"201301010000{second % 60:02}")


def lookup_of(folder: Path) -> Lookup:
    place = LocalFiles.of(folder)
    return Lookup(place.index, place.root, 5.0)


@given(
    some.lists(some.tuples(some.sampled_from(SPELLINGS), STAMPS), max_size=12),
    some.lists(STAMPS, min_size=1, max_size=6),
)
def test_the_neighbours_of_the_nearest_are_those_of_the_whole_list(
    captures: list[tuple[str, str]], instants: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        an_index(folder, [a_capture(u, s, offset) for offset, (u, s) in enumerate(captures)])
        with closing(lookup_of(folder)) as lookup:
            stamps = [row.stamp for row in lookup.captures_of(PAGE, None)]
            for at in map(Moment, instants):
                rows = lookup.nearest_with_neighbours(PAGE, at)
                nearest = lookup.nearest(PAGE, at)
                assert rows[:1] == ([] if nearest is None else [nearest])
                before = [stamp for stamp in stamps if nearest and stamp < nearest.stamp]
                after = [stamp for stamp in stamps if nearest and stamp > nearest.stamp]
                expected = [*stamps[:1], *before[-1:], *after[:1], *stamps[-1:]]
                assert [row.stamp for row in rows[1:]] == expected


def test_rows_that_another_process_publishes_are_seen_at_once(tmp_path: Path) -> None:
    a_warc(tmp_path, "one.warc.gz", (PAGE, "20130101000000"))
    index_collection(tmp_path)
    with closing(lookup_of(tmp_path)) as lookup:
        before = [
            lookup.nearest_with_neighbours(PAGE, Moment("2014"))[0].stamp for _ in range(5)
        ]
        a_warc(tmp_path, "two.warc.gz", (PAGE, "20140101000000"))
        index_collection(tmp_path)
        after = lookup.nearest_with_neighbours(PAGE, Moment("2014"))[0].stamp

    assert before == ["20130101000000"] * 5
    assert after == "20140101000000"


@given(
    some.lists(some.tuples(some.sampled_from(SPELLINGS), STAMPS), max_size=30),
    some.sampled_from(["oldest", "newest", "nearest"]),
    STAMPS,
    some.integers(1, 8),
    some.sampled_from([("", ""), ("20130101000020", ""), ("", "20130101000040")]),
)
def test_an_excerpt_has_the_first_captures_of_the_whole_list(
    captures: list[tuple[str, str]], order: str, near: str, most: int, span: tuple[str, str]
) -> None:
    since, until = span
    at = Moment(near) if order == "nearest" else None
    wanted = WantedCaptures(since, until, order, at, most)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        an_index(folder, [a_capture(u, s, offset) for offset, (u, s) in enumerate(captures)])
        with closing(lookup_of(folder)) as lookup:
            rows = lookup.captures_of(PAGE, None, wanted)
            excerpt = lookup.excerpt(PAGE, wanted)

    stamps = [row.stamp for row in rows]
    everything = [s for _, s in captures if since <= s < (until or "9") + ":"]
    assert stamps == sorted(everything)
    if excerpt is not None:
        assert excerpt == [row for row in rows if row in excerpt]
        assert len(excerpt) <= 2 * (most + 8)
        ranks = sorted(wanted.ranks(stamps))
        assert sorted(wanted.ranks([row.stamp for row in excerpt]))[:most] == ranks[:most]


def test_the_newest_of_a_spelling_is_found_behind_many_of_its_variants(tmp_path: Path) -> None:
    first = "http://example.com:80"
    stamps = [f"20140101{n // 60:02}{n % 60:02}00" for n in range(1440)]
    variants = [a_capture("https://www.example.com/", s, n) for n, s in enumerate(stamps)]
    an_index(tmp_path, [a_capture(first, "20130101000000", 10_000), *variants])
    with closing(lookup_of(tmp_path)) as lookup:
        found = lookup.newest_spelled(PAGE)
        absent = lookup.newest_spelled("http://www.example.com/")

    assert (found is None or found.url, absent) == (first, None)
