"""Which copies are read to learn when a page had a quotation."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from timegate.content.quote_history import next_to_read


def read_all(
    has_it: list[bool], first: int, unreadable: frozenset[int] = frozenset()
) -> dict[int, bool | None]:
    """Read as `next_to_read` says, until it says no more."""
    read: dict[int, bool | None] = {}
    at: int | None = first
    while at is not None:
        assert at not in read
        read[at] = None if at in unreadable else has_it[at]
        at = next_to_read(len(has_it), read)
    return read


def test_the_ends_of_one_stretch_are_found_with_few_readings() -> None:
    has_it = [400 <= n < 700 for n in range(1000)]
    read = read_all(has_it, 500)
    assert {399, 400, 699, 700} <= read.keys()
    assert len(read) < 30


def test_a_text_that_is_everywhere_needs_both_ends() -> None:
    assert read_all([True] * 100, 50).keys() == {0, 50, 99}


def test_without_any_finding_the_gaps_are_halved() -> None:
    assert [*read_all([False] * 7, 3)][:3] == [3, 1, 5]
    assert len(read_all([False] * 7, 3)) == 7


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_nothing_is_read_twice_and_every_change_seen_is_exact(
    has_it: list[bool], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(has_it) - 1))
    unreadable = data.draw(st.frozensets(st.integers(0, len(has_it) - 1)))
    read = read_all(has_it, first, unreadable)
    known = [n for n in sorted(read) if read[n] is not None]
    if any(read[n] for n in known):
        for before, after in pairwise(known):
            between = range(before + 1, after)
            assert read[before] == read[after] or all(n in read for n in between)
    elif any(has_it):
        assert len(read) == len(has_it)
