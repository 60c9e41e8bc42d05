"""The nearest capture, and the sorting of lists."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.errors import ArchiveError, Misbehaved, Unreachable
from archives.model import Memento, Relation
from archives.moment import Moment, second_of
from archives.nearest import (
    MOST_UNSORTED,
    nearest,
    neighbours_of,
    oldest_first,
    true_neighbours,
)


def capture(stamp: str, status: int | None = None, uri: str = "") -> Memento:
    return Memento(stamp, uri or f"http://a/{stamp}/", "http://e/", "test", status)


# The nearest


@pytest.mark.parametrize(
    ("at", "stamps", "expected"),
    [
        ("20130615083000", ["20130615082959", "20130615083002"], "20130615082959"),
        ("20130615083000", ["20130615082958", "20130615083001"], "20130615083001"),
        ("20130615083000", ["20130615083005", "20130615082955"], "20130615082955"),
        ("2013", ["20121231235959", "20130101000000"], "20130101000000"),
        ("2013", ["20120201000000", "20150101000000"], "20120201000000"),
        ("20130615083000", ["20130615083000500", "20130615083001"], "20130615083000500"),
        ("20150630235960", ["20150630235960", "20150701000000"], "20150630235960"),
        (
            "20130615083000250",
            [f"20130615083000{f}" for f in ("100", "250", "900")],
            "20130615083000250",
        ),
        (
            "2013061508300025",
            [f"20130615083000{f}" for f in ("100", "900")],
            "20130615083000100",
        ),
        ("20130615083000900", ["20130615083000", "20130615083000800"], "20130615083000800"),
        ("20130615083000900", ["20130615082959900", "20130615083001000"], "20130615083001000"),
        (
            "20130615083000" + "9" * 5000,
            ["20130615083000", "20130615083000900"],
            "20130615083000900",
        ),
        ("20161231235960", ["20161231235959", "20161231235960"], "20161231235960"),
        ("9999", ["99991231235959", "99980101000000"], "99991231235959"),
        (None, ["20130101000000", "20150101000000", "20140101000000"], "20150101000000"),
    ],
)
def test_the_nearest_capture_is_chosen(
    at: str | None, stamps: Sequence[str], expected: str
) -> None:
    found = nearest(map(capture, stamps), None if at is None else Moment(at))

    assert found is not None
    assert found.stamp == expected


@pytest.mark.parametrize("at", [None, Moment("2013")])
def test_without_captures_there_is_no_nearest(at: Moment | None) -> None:
    assert nearest([], at) is None


@pytest.mark.parametrize("at", [None, Moment("20130615083000"), Moment("2013")])
@pytest.mark.parametrize("other", [301, 404, 503])
def test_in_the_same_second_a_page_is_preferred(at: Moment | None, other: int) -> None:
    page = capture("20130615083000", 200, "http://a/z")

    found = nearest([capture("20130615083000", other, "http://a/a"), page], at)

    assert found is page


def test_at_equal_distance_a_page_is_preferred_even_if_it_is_later() -> None:
    page = capture("20130615083005", 200)

    assert nearest([capture("20130615082955", 404), page], Moment("20130615083000")) is page


def test_a_nearer_error_is_preferred_to_a_page() -> None:
    error = capture("20130615083001", 404)

    assert nearest([capture("20130615083002", 200), error], Moment("20130615083000")) is error


def test_a_capture_of_unknown_status_counts_as_a_page() -> None:
    unknown = capture("20130615083000", None, "http://a/a")

    found = nearest([capture("20130615083000", 200, "http://a/b"), unknown], Moment("2013"))

    assert found is unknown


def test_captures_that_differ_only_in_address_are_ordered_by_it() -> None:
    one, other = capture("20130615083000", 200, "u:a"), capture("20130615083000", 200, "u:b")

    assert nearest([other, one], Moment("2013")) is one
    assert nearest([one, other], Moment("2013")) is one


@pytest.mark.parametrize(
    ("stamp", "second"),
    [
        ("20150630235960", "235959"),
        ("20150630235959123", "235959"),
        ("00010101000000", "000000"),
    ],
)
def test_a_capture_belongs_to_a_second(stamp: str, second: str) -> None:
    assert f"{second_of(stamp):%H%M%S}" == second


# In order


class List:
    """Batches as an archive sends them, and whether they were closed."""

    def __init__(self, *batches: Sequence[str], error: ArchiveError | None = None) -> None:
        self.batches = batches
        self.error = error
        self.sent = 0
        self.closed = False

    async def __call__(self) -> AsyncGenerator[list[Memento], None]:
        try:
            for batch in self.batches:
                self.sent += 1
                yield [capture(stamp) for stamp in batch]
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


def misbehaved(why: str) -> Misbehaved:
    return Misbehaved("test", "", why)


def ordered(sent: List, *, goes_back: bool = False) -> AsyncGenerator[Sequence[Memento], None]:
    return oldest_first(sent(), lambda _stamp: goes_back, misbehaved)


async def stamps(batches: AsyncGenerator[Sequence[Memento], None]) -> list[list[str]]:
    return [[memento.stamp for memento in batch] async for batch in batches]


def numbered(numbers: Iterable[int]) -> list[str]:
    """Return a stamp for each number of seconds in 2013."""
    start = datetime(2013, 1, 1, tzinfo=UTC)
    return [f"{start + timedelta(seconds=number):%Y%m%d%H%M%S}" for number in numbers]


ENOUGH: Final = range(600)
"""More captures than are examined for the order of a list."""
MORE: Final = range(600, 700)


@given(some.lists(some.lists(some.integers(0, 59), max_size=5), max_size=8))
async def test_captures_are_yielded_in_order_and_once(batches: list[list[int]]) -> None:
    sent = List(*map(numbered, batches))

    received = await stamps(ordered(sent))

    everything = {number for batch in batches for number in batch}
    assert [stamp for batch in received for stamp in batch] == numbered(sorted(everything))
    assert all(received)


async def test_captures_in_order_are_passed_on_immediately() -> None:
    sent = List(numbered(ENOUGH), numbered(MORE), [], numbered([700]))
    received = ordered(sent)

    await anext(received)

    assert sent.sent == 1
    assert await stamps(received) == [numbered(MORE), numbered([700])]


async def test_a_list_that_begins_out_of_order_is_sorted_completely() -> None:
    sent = List(numbered(reversed(MORE)), numbered(reversed(ENOUGH)))

    assert await stamps(ordered(sent)) == [numbered(range(700))]


async def test_a_list_that_may_go_back_is_sorted_completely() -> None:
    sent = List(numbered(range(100, 700)), numbered(range(100)))

    assert await stamps(ordered(sent, goes_back=True)) == [numbered(range(700))]


async def test_a_long_list_that_may_go_back_and_is_in_order_is_passed_on() -> None:
    many = numbered(range(MOST_UNSORTED + 1))
    later = numbered([MOST_UNSORTED + 1])

    received = await stamps(ordered(List(many, later), goes_back=True))

    assert [len(batch) for batch in received] == [MOST_UNSORTED + 1, 1]


async def test_too_many_captures_out_of_order_are_rejected() -> None:
    sent = List(numbered(range(MOST_UNSORTED + 1, 0, -1)))

    with pytest.raises(Misbehaved, match="more than 250000 captures out of order"):
        await stamps(ordered(sent))
    assert sent.closed


@pytest.mark.parametrize("late", [[3], [702, 701]])
async def test_a_later_capture_out_of_order_raises_after_the_captures_before_it(
    late: list[int],
) -> None:
    received = ordered(List(numbered(range(700)), numbered(late)))

    assert len(await anext(received)) == 700
    with pytest.raises(Misbehaved, match="out of the order it began with"):
        await anext(received)


async def test_repetitions_are_dropped_within_and_between_batches() -> None:
    sent = List(numbered([0, *ENOUGH]), numbered([599]), numbered([599, 600, 600]))

    assert await stamps(ordered(sent)) == [numbered(ENOUGH), numbered([600])]


async def test_different_captures_of_one_second_are_all_yielded() -> None:
    async def batches() -> AsyncGenerator[list[Memento], None]:
        yield [capture("20130101000000", 301), capture("20130101000000", 200)]

    received = oldest_first(batches(), lambda _: False, misbehaved)

    assert [m.status for batch in [b async for b in received] for m in batch] == [301, 200]


@pytest.mark.parametrize("batches", [[], [[1]], [[2, 1], [3]], [range(600), [600]]])
async def test_captures_before_an_error_are_yielded_before_it_is_raised(
    batches: list[Iterable[int]],
) -> None:
    error = Unreachable("test", "", "fell silent")
    sent = List(*map(numbered, batches), error=error)

    received, caught = await read(ordered(sent))

    assert caught is error
    assert received == sorted(stamp for batch in sent.batches for stamp in batch)


async def read(
    batches: AsyncGenerator[Sequence[Memento], None],
) -> tuple[list[str], ArchiveError | None]:
    """Return the stamps that were yielded, and the error after them."""
    received: list[str] = []
    try:
        async for batch in batches:
            received += [memento.stamp for memento in batch]
    except ArchiveError as error:
        return received, error
    return received, None


async def test_a_list_is_closed_when_reading_stops() -> None:
    sent = List(numbered([1]), numbered([2]))
    received = ordered(sent)

    await anext(received)
    await received.aclose()

    assert sent.closed


# Sides and neighbours


@pytest.mark.parametrize(
    ("at", "stamp", "side"),
    [
        ("20130615083000", "20130615082959", -1),
        ("20130615083000", "20130615083000900", 0),
        ("2013", "20140101000000", 1),
        ("20130615083000250", "20130615083000900", 1),
        ("20130615083000250", "20130615083000100", -1),
        ("20130615083000250", "20130615083000", 0),
        ("20161231235960", "20161231235959", 0),
        ("20161231235960", "20170101000000", 1),
    ],
)
def test_the_side_of_a_capture_counts_fractions(at: str, stamp: str, side: int) -> None:
    assert Moment(at).side_of(stamp) == side


def test_a_neighbour_that_is_chosen_instead_has_the_choice_as_its_own_neighbour() -> None:
    first, prev, chosen, following = map(
        capture, ("20100101000000", "20110101000000", "20120101000000", "20130101000000")
    )
    around: dict[Relation, Memento] = {"first": first, "prev": prev, "next": following}

    assert neighbours_of(chosen, chosen, around) == around
    assert neighbours_of(prev, chosen, around) == {"first": first, "next": chosen}
    assert neighbours_of(following, chosen, around) == {"first": first, "prev": chosen}
    assert neighbours_of(first, chosen, around) == {"first": first}


def test_a_twin_is_neither_previous_nor_next() -> None:
    chosen = capture("20120101000000")
    twin = capture("20120101000000", uri="http://a/twin")

    around = true_neighbours(chosen, {"first": twin, "prev": twin, "next": twin, "last": twin})

    assert around == {"first": twin, "last": twin}


def test_a_memento_of_another_archive_is_no_neighbour() -> None:
    chosen, other = capture("20120101000000"), capture("20100101000000", uri="http://b/2010")

    assert true_neighbours(chosen, {"first": other, "prev": other}) == {}
