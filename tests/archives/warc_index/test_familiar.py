"""Pages that are asked for again and again: found as before, but in memory."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from archives.moment import Moment
from archives.surt import surt
from archives.warc_index.building import index_collection
from archives.warc_index.familiar import BATCH, LONGEST, Familiar
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import IndexRow, LocalFiles
from tests.archives.warc_index.folders import a_capture, a_warc, an_index

PAGE = "http://example.com/"
SPELLINGS = (PAGE, PAGE, PAGE, "https://www.example.com/")
STAMPS = some.integers(0, 99).map(lambda second: f"201301010000{second % 60:02}")


def rows(count: int, url: str = PAGE) -> list[IndexRow]:
    return [
        IndexRow(f"2013{n // 60:010}", url, None, 200, None, n, 1, surt(url), "/a", "a")
        for n in range(count)
    ]


class Reading:
    """A page of an index that counts how often it was read."""

    def __init__(self, page: Sequence[IndexRow]) -> None:
        self.page = page
        self.times = 0

    def __call__(self, last: IndexRow | None) -> Sequence[IndexRow]:
        self.times += last is None
        begin = 0 if last is None else last.offset + 1
        return self.page[begin : begin + BATCH]


def asked(familiar: Familiar, key: str, reading: Reading, times: int, version: int = 1) -> None:
    for _ in range(times):
        familiar.placed(key, "2013", (version,), reading)


def lookup_of(folder: Path, familiar: Familiar | None) -> Lookup:
    place = LocalFiles.of(folder)
    return Lookup(place.index, place.root, 5.0, familiar)


def test_a_page_with_a_very_long_address_is_never_familiar() -> None:
    familiar, reading = Familiar(), Reading(rows(10))

    asked(familiar, "a" * 501, reading, 50)

    assert reading.times == 0


def test_a_page_is_read_once_when_it_is_asked_for_often() -> None:
    familiar, reading = Familiar(), Reading(rows(10))

    asked(familiar, "a", reading, 2)
    assert reading.times == 0
    asked(familiar, "a", reading, 50)
    assert reading.times == 1


def test_a_page_of_many_captures_is_read_piece_by_piece() -> None:
    page = rows(3 * BATCH)
    familiar, reading = Familiar(), Reading(page)

    asked(familiar, "a", reading, 4)
    assert familiar.placed("a", "2013", (1,), reading) == ()
    found = familiar.placed("a", "2013", (1,), reading)
    assert found == (page[0], page[0], page[1], page[-1])
    assert reading.times == 1


def test_a_page_is_read_anew_when_the_index_has_changed() -> None:
    familiar, reading = Familiar(), Reading(rows(10))

    asked(familiar, "a", reading, 5)
    asked(familiar, "a", reading, 5, version=2)

    assert reading.times == 2


def test_a_page_with_too_many_captures_is_left_to_the_index() -> None:
    familiar, reading = Familiar(), Reading(rows(LONGEST + 1))

    asked(familiar, "a", reading, 50)

    assert familiar.placed("a", "2013", (1,), reading) == ()
    assert reading.times == 1


def test_the_page_that_was_asked_for_longest_ago_makes_room() -> None:
    familiar, old, new = Familiar(most=150), Reading(rows(100)), Reading(rows(100))

    asked(familiar, "old", old, 5)
    asked(familiar, "new", new, 5)
    asked(familiar, "old", old, 5)

    assert (old.times, new.times) == (2, 1)


@given(
    some.lists(some.tuples(some.sampled_from(SPELLINGS), STAMPS), max_size=12),
    some.lists(STAMPS, min_size=1, max_size=6),
)
def test_what_is_familiar_is_placed_as_the_index_places_it(
    known: list[tuple[str, str]], instants: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        an_index(folder, [a_capture(u, s, offset) for offset, (u, s) in enumerate(known)])
        with (
            closing(lookup_of(folder, None)) as plain,
            closing(lookup_of(folder, Familiar())) as familiar,
        ):
            for instant in instants * 4:
                at = Moment(instant)
                assert familiar.placed(PAGE, at) == plain.placed(PAGE, at)


def test_what_another_process_makes_visible_is_seen_at_once(tmp_path: Path) -> None:
    a_warc(tmp_path, "one.warc.gz", (PAGE, "20130101000000"))
    index_collection(tmp_path)
    with closing(lookup_of(tmp_path, Familiar())) as lookup:
        before = [lookup.placed(PAGE, Moment("2014"))[0].stamp for _ in range(5)]
        a_warc(tmp_path, "two.warc.gz", (PAGE, "20140101000000"))
        index_collection(tmp_path)
        after = lookup.placed(PAGE, Moment("2014"))[0].stamp

    assert before == ["20130101000000"] * 5
    assert after == "20140101000000"
