"""A response that holds for a range of times is the one that a new search would give."""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.formats.httpdate import http_date
from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from archives.registry import Registry
from tests.clock import Clock, in_virtual_time
from tests.scenario import FakeArchive, World, entry
from timegate.cache import AnswerCache, MemoryStore
from timegate.resolution.coalescing import Coalescer, fixed
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Resolution
from timegate.resolution.query import query_for_url
from timegate.resolution.resolver import Resolver
from timegate.resolution.settled import Steady, TimeRange, same_order
from timegate.responses.answers import Answers
from timegate.responses.model import Response

PAGE: Final = "http://example.org/"
NOW: Final = datetime(2026, 11, 1, tzinfo=UTC)
START: Final = datetime(2026, 9, 1, tzinfo=UTC)
"""A month before what counts as recent: answers around it live for a day, or for an hour."""
ARCHIVES: Final = ("a", "b", "c")
VARY: Final = "accept-datetime, accept-datetime-precise, prefer"


def stamp(seconds: int) -> str:
    return Moment.of(START + timedelta(seconds=seconds)).digits


class Given(NamedTuple):
    """An answer of an archive: the captures that it names, in any relation, and its age."""

    archive: str
    asked: int
    captures: tuple[tuple[int, int | None], ...]
    """Seconds and status; the first is the one that it chose."""
    relations: tuple[Relation, ...]
    doubts: tuple[str, ...]
    age: float

    @property
    def outcome(self) -> Closest | None:
        if not self.captures:
            return None
        chosen, *others = (self._memento(*each) for each in self.captures)
        around = dict(zip(self.relations, others, strict=False))
        return Closest(chosen, "timegate", self.doubts, around)

    def _memento(self, seconds: int, status: int | None) -> Memento:
        uri = f"http://{self.archive}.example/{stamp(seconds)}/{PAGE}"
        return Memento(stamp(seconds), uri, PAGE, self.archive, status)


class Served(NamedTuple):
    resolution: Resolution
    response: Response


async def served(given: list[Given], *times: int) -> list[Served]:
    """Return what is answered for each of *times*, from a cache that was given the answers."""
    clock = Clock(NOW.timestamp())
    cache = AnswerCache(MemoryStore(clock=clock), clock, "1")
    names = sorted({each.archive for each in given})
    down = {name: FakeArchive(name, 0.0, error=True) for name in names}
    world = World(*down.values())
    for each in sorted(given, key=lambda one: -one.age):
        clock.now = NOW.timestamp() - each.age
        at = Moment(stamp(each.asked))
        await cache.remember(each.archive, PAGE, at, each.outcome)
    clock.now = NOW.timestamp()
    await cache.written(PAGE)
    async with Coalescer(fixed(down), cache) as coalescer:
        resolver = Resolver(coalescer, cache, world.route)
        registry = Registry(entry(name) for name in names)
        answers = Answers(resolver, registry, "https://timegate.example")
        found = []
        for seconds in times:
            query = query_for_url(PAGE, Moment(stamp(seconds)))
            resolution = await answers.resolve(query, Preferences(), UNLIMITED)
            found.append(Served(resolution, answers.negotiated(resolution, vary=VARY)))
        return found


UNITS: Final = (1, 60, 86_400, 20 * 86_400)
"""Seconds. Captures and times are few multiples of these, so that many distances are equal."""


def _around(captures: list[tuple[int, int | None]]) -> tuple[tuple[int, int | None], ...]:
    prev, chosen, following = sorted(captures, key=lambda each: each[0])
    return chosen, prev, following


@st.composite
def given_answers(draw: st.DrawFn) -> tuple[list[Given], int, int]:
    unit = draw(st.sampled_from(UNITS))
    seconds = st.integers(0, 24).map(lambda number: number * unit)
    captures = st.tuples(seconds, st.sampled_from((None, None, 200, 404)))
    neighbours = st.builds(
        Given,
        st.sampled_from(ARCHIVES),
        seconds,
        st.lists(captures, min_size=3, max_size=3, unique_by=lambda each: each[0]).map(_around),
        st.just(("prev", "next")),
        st.just(()),
        st.sampled_from((0.0, 5.0)),
    )
    any_answer = st.builds(
        Given,
        st.sampled_from(ARCHIVES),
        seconds,
        st.lists(captures, max_size=4).map(tuple),
        st.permutations(("prev", "next", "first", "last")).map(tuple),
        st.sampled_from(((), (), (), ("doubtful",))),
        st.sampled_from((0.0, 5.0, 500.0, 3_000.0, 80_000.0, -100.0)),
    )
    usual = st.lists(neighbours, min_size=1, max_size=3, unique_by=lambda each: each.archive)
    some = draw(usual) + draw(st.just([]) | st.lists(any_answer, max_size=3))
    near = st.integers(-1, 1)
    one = draw(seconds) + draw(near)
    other = draw(seconds | st.integers(-2, 2).map(lambda number: one + number * unit))
    return some, one, other + draw(near)


@settings(max_examples=200, deadline=None)
@given(given_answers())
def test_a_settled_response_is_the_one_of_a_new_search(
    case: tuple[list[Given], int, int],
) -> None:
    answers, one, other = case
    first, second = in_virtual_time(served(answers, one, other))

    settled = first.response.settled
    again = None if settled is None else settled.at(Moment(stamp(other)))

    if again is not None:
        assert again.headers == second.response.headers
        assert again.body == second.response.body
        assert again.status == second.response.status


@settings(max_examples=200, deadline=None)
@given(given_answers())
def test_resolutions_in_the_range_differ_in_the_time_of_the_query_alone(
    case: tuple[list[Given], int, int],
) -> None:
    answers, one, other = case
    first, second = in_virtual_time(served(answers, one, other))

    steady = first.resolution.settled
    if isinstance(steady, Steady) and _holds(steady.times, other):
        assert second.resolution.best == first.resolution.best
        assert second.resolution.alternatives == first.resolution.alternatives
        assert second.resolution.attempts == first.resolution.attempts


def _holds(times: TimeRange, seconds: int) -> bool:
    after, before = times.bounds
    return after < stamp(seconds) < before


DAY: Final = 86_400
TWO: Final = [
    Given("a", 5 * DAY, ((0, None), (10 * DAY, None)), ("next",), (), 5.0),
    Given("b", 5 * DAY, ((DAY, None), (13 * DAY, None)), ("next",), (), 5.0),
]


def moment(seconds: int) -> Moment:
    return Moment(stamp(seconds))


def date(seconds: int) -> str:
    return http_date(stamp(seconds))


def test_a_response_holds_until_another_capture_is_the_nearest() -> None:
    (first,) = in_virtual_time(served(TWO, 2 * DAY))
    settled = first.response.settled
    assert settled is not None

    held = settled.at(moment(3 * DAY))

    assert held is not None
    assert held.headers["Location"] == first.response.headers["Location"]
    assert "delta=-172800" in held.headers["Memento-Precision"]
    assert b'"delta":-172800' in held.body
    assert settled.at(moment(6 * DAY)) is None
    assert settled.at(moment(DAY)) is None


def between(archive: str, prev: int, chosen: int, following: int, status: int) -> Given:
    """Return an answer with both neighbours, in days."""
    captures = tuple((days * DAY, each) for days, each in ((chosen, status), (prev, 200)))
    captures = (*captures, (following * DAY, 200))
    return Given(archive, chosen * DAY, captures, ("prev", "next"), (), 5.0)


@pytest.mark.parametrize(
    ("answers", "one", "other"),
    [
        pytest.param(
            [between("a", 0, 10, 30, 200), between("b", 2, 14, 40, 200)],
            *(11, 13),
            id="another archive is nearer",
        ),
        pytest.param(
            [between("a", -100, -40, 40, 404), between("b", -90, -5, 50, 200)],
            *(-36, -34),
            id="a page is no longer near enough to be preferred to an error",
        ),
    ],
)
def test_a_response_does_not_hold_where_another_memento_is_chosen(
    answers: list[Given], one: int, other: int
) -> None:
    first, second = in_virtual_time(served(answers, one * DAY, other * DAY))

    assert first.response.headers["Location"] != second.response.headers["Location"]
    assert first.response.settled is not None
    assert first.response.settled.at(moment(one * DAY + 1)) is not None
    assert first.response.settled.at(moment(other * DAY)) is None


def test_no_response_is_given_for_a_fraction_of_a_second() -> None:
    (first,) = in_virtual_time(served(TWO, 2 * DAY))

    assert first.response.settled is not None
    assert first.response.settled.at(Moment(f"{stamp(2 * DAY)}5")) is None


def test_a_response_holds_no_longer_than_the_answers_are_fresh() -> None:
    nearly = [each._replace(age=86_400.0 - 20) for each in TWO]
    (first,) = in_virtual_time(served(nearly, 2 * DAY))

    assert first.response.settled is not None
    assert first.response.settled.keep == pytest.approx(20)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([TWO[0], TWO[1]._replace(age=100_000.0)], id="one is stale"),
        pytest.param([TWO[0], TWO[1]._replace(relations=())], id="one has no neighbours"),
        pytest.param([TWO[0], TWO[1]._replace(doubts=("x",))], id="one is doubtful"),
    ],
)
def test_nothing_is_settled_unless_all_archives_are_known(answers: list[Given]) -> None:
    (first,) = in_virtual_time(served(answers, 2 * DAY))

    assert first.resolution.settled is None
    assert first.response.settled is None


def test_the_order_of_captures_changes_in_the_middle_of_two() -> None:
    assert same_order([0, 10, 100], 20) == TimeRange(20, 100)
    assert same_order([0, 10], 7) == TimeRange(10, 20)
    assert same_order([0, 10], 11) == TimeRange(20)
    assert same_order([], 7) == TimeRange()


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 60), st.integers(0, 60))
def test_captures_are_in_one_order_inside_a_range(
    captures: list[int], one: int, other: int
) -> None:
    times = same_order(captures, one)

    if times.after < 2 * one < times.before and times.after < 2 * other < times.before:
        assert _order(captures, one) == _order(captures, other)


def _order(captures: list[int], at: int) -> list[tuple[int, bool]]:
    ordered = sorted(set(captures), key=lambda second: abs(second - at))
    return [(second, second < at) for second in ordered]
