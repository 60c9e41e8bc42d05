"""Ranking mementos: direction, and when a search ends."""

from dataclasses import replace

import pytest

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from timegate.resolution.model import Attempt, Direction, Query
from timegate.resolution.ranking import ends_search, in_direction

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
