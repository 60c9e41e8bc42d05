"""Captures in columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.columns import CaptureColumns, Details, in_order
from archives.model import Memento

MEMENTOS = some.builds(
    Memento,
    some.integers(0, 9).map(lambda n: f"2013010100000{n}"),
    some.sampled_from(["http://a/1", "http://a/2", "http://b/1"]),
    some.just("http://example.org/"),
    some.sampled_from(["a", "b"]),
    some.sampled_from([None, 200, 404]),
)
LISTS = some.lists(MEMENTOS, max_size=12)


@given(LISTS)
def test_columns_hold_the_mementos(mementos: list[Memento]) -> None:
    captures = CaptureColumns.of(mementos)

    assert [*captures] == mementos
    assert captures == mementos
    assert [captures[n] for n in range(len(captures))] == mementos
    assert captures.stamps == [memento.stamp for memento in mementos]


@given(LISTS, some.integers(0, 12))
def test_a_slice_is_of_columns_too(mementos: list[Memento], at: int) -> None:
    captures = CaptureColumns.of(mementos)

    assert isinstance(captures[at:], CaptureColumns)
    assert [*captures[at:]] == mementos[at:]
    assert [*captures.pop_first(at), *captures] == mementos


@given(some.lists(LISTS, max_size=4))
def test_parts_are_sorted_by_stamp_and_address(parts: list[list[Memento]]) -> None:
    expected = sorted((m for part in parts for m in part), key=lambda m: m[:2])

    assert in_order(map(CaptureColumns.of, parts)) == expected


@given(LISTS)
def test_each_capture_comes_once(mementos: list[Memento]) -> None:
    assert CaptureColumns.of(mementos).each_once() == [*dict.fromkeys(mementos)]


@given(LISTS)
def test_the_order_of_stamps_is_known(mementos: list[Memento]) -> None:
    captures, stamps = CaptureColumns.of(mementos), [memento.stamp for memento in mementos]

    assert captures.ascends == (stamps == sorted(stamps))
    assert captures.has_distinct_stamps == (stamps == sorted({*stamps}))


@given(LISTS)
def test_captures_are_chosen_by_flags(mementos: list[Memento]) -> None:
    flags = [memento.status == 200 for memento in mementos]

    assert CaptureColumns.of(mementos).chosen(flags) == [m for m in mementos if m.status == 200]


def test_captures_of_one_list_share_their_details() -> None:
    details = Details("http://example.org/", "a")
    stamps = ["20130101000000", "20140101000000"]
    captures = CaptureColumns(stamps, ["http://a/1", "http://a/2"], details)

    assert captures.details[0] is captures.details[1]
    assert captures[1] == Memento("20140101000000", "http://a/2", "http://example.org/", "a")
    with pytest.raises(TypeError):
        hash(captures)
