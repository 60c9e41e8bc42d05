"""Ranking mementos: direction, and when a search ends."""

from dataclasses import replace

import pytest

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from timegate.resolution.model import Attempt, Direction, Query
from timegate.resolution.ranking import ends_search, in_direction, ranked

AT = Moment("20160122112029")


def copy(stamp: str) -> Memento:
    return Memento(stamp, f"http://a/{stamp}/http://x.org/", "http://x.org/", "a")


@pytest.mark.parametrize(
    ("direction", "chosen", "bound"),
    [("before", "20160122112030", "first"), ("after", "20160122112028", "last")],
)
def test_first_and_last_are_not_taken_for_the_next_in_a_direction(
    direction: Direction, chosen: str, bound: Relation
) -> None:
    linked = {"first": copy("19990101000000"), "last": copy("20250101000000")}
    closest = Closest(copy(chosen), "timegate", neighbours={bound: linked[bound]})

    assert in_direction(closest, AT, direction) is None


def test_the_neighbour_in_the_wanted_direction_is_the_answer() -> None:
    around: dict[Relation, Memento] = {
        "first": copy("19990101000000"),
        "prev": copy("20150101000000"),
    }
    closest = Closest(copy("20160122112030"), "timegate", neighbours=around)

    found = in_direction(closest, AT, "before")

    assert found is not None
    assert found.memento.stamp == "20150101000000"


def test_an_archived_error_does_not_end_the_search_for_a_page_that_any_archive_may_have() -> (
    None
):
    error = Closest(copy(AT.digits)._replace(status=404), "timegate")
    attempt = Attempt("a", error, 0.0, "http://x.org/")
    anywhere = Query("http://x.org/", AT)

    assert not ends_search(anywhere, attempt)
    assert ends_search(replace(anywhere, precision="part"), attempt)
    assert not ends_search(replace(anywhere, archive="a", archive_id="a.example"), attempt)


FINE = Moment("20160122112029250")


def attempt(archive: str, stamp: str) -> Attempt:
    return Attempt(archive, Closest(copy(stamp), "cdx"), 0.0, "http://x.org/")


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
def test_of_captures_of_one_second_the_nearest_fraction_is_the_best(
    order: tuple[str, ...],
) -> None:
    attempts = [
        attempt("a", f"{AT.digits}100"),
        attempt("b", f"{AT.digits}250"),
        attempt("c", f"{AT.digits}900"),
    ]

    best = ranked(Query("http://x.org/", FINE), attempts, order)

    assert [each.archive for each in best] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("stamp", "archives"), [(FINE.digits, 1), (f"{AT.digits}100", 2), (AT.digits, 2)]
)
def test_another_fraction_does_not_end_the_search_if_any_archive_may_answer(
    stamp: str, archives: int
) -> None:
    anywhere = Query("http://x.org/", FINE)

    assert ends_search(anywhere, attempt("a", stamp)) is (archives == 1)
    assert ends_search(replace(anywhere, archive="a", archive_id="a"), attempt("a", stamp))


@pytest.mark.parametrize(("direction", "found"), [("before", "100"), ("after", "900")])
def test_a_direction_counts_fractions(direction: Direction, found: str) -> None:
    around: dict[Relation, Memento] = {
        "prev": copy(f"{AT.digits}100"),
        "next": copy(f"{AT.digits}900"),
    }
    wrong = {"before": "300", "after": "200"}[direction]
    closest = Closest(copy(f"{AT.digits}{wrong}"), "cdx", neighbours=around)

    fitting = in_direction(closest, FINE, direction)

    assert fitting is not None
    assert fitting.memento.stamp == f"{AT.digits}{found}"


def test_the_neighbours_of_a_memento_in_a_direction_are_its_own() -> None:
    prev, chosen, following = map(copy, ("20150101000000", "20160122112030", "20170101000000"))
    around: dict[Relation, Memento] = {"prev": prev, "next": following, "last": following}

    found = in_direction(Closest(chosen, "timegate", neighbours=around), AT, "before")

    assert found is not None
    assert found.memento == prev
    assert found.neighbours == {"next": chosen, "last": following}
