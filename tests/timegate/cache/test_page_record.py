import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from archives.nearest import nearest, nearest_candidate, remoteness
from tests.timegate.cache.samples import NOW, capture, records
from timegate.cache.encoding import lifetime
from timegate.cache.page_record import (
    MOST_ANSWERS,
    MOST_CHECKS,
    ArchiveRecord,
    KnownAnswer,
    KnownCheck,
    WantedTime,
    merged,
)

DAY = 86_400.0


def linked(stamp: str, **around: str) -> Closest:
    """Return an answer that links captures by their relation."""
    relations: tuple[Relation, ...] = ("first", "prev", "next", "last")
    neighbours = {name: capture(around[name]) for name in relations if name in around}
    return Closest(capture(stamp), "timegate", (), neighbours)


def found_in(record: ArchiveRecord, at: str | None, now: float = NOW) -> Memento | str | None:
    """Return the nearest memento that is named, "no", or None if the archive is to be asked."""
    moment = None if at is None else Moment(at)
    answer = record.answer(WantedTime.of(moment), now, lifetime, 3 * DAY)
    if answer is None or not answer.fresh:
        return None
    closest = answer.answer.outcome
    return "no" if closest is None else nearest_candidate(closest, moment)


def said(
    outcome: Closest | None, asked: str = "20150601000000", given_at: float = NOW
) -> ArchiveRecord:
    return ArchiveRecord([KnownAnswer(given_at, asked, outcome)])


MIDDLE = {"prev": "20140101000000", "next": "20160101000000"}


@pytest.mark.parametrize(
    ("around", "at", "stamp"),
    [
        # Inside, up to but not including the seconds of prev and next.
        (MIDDLE, "20150101000000", "20150101000000"),
        (MIDDLE, "20150101000001", "20150101000000"),
        (MIDDLE, "20140101000001", "20140101000000"),
        (MIDDLE, "20151231235959", "20160101000000"),
        (MIDDLE, "20140101000000", None),
        (MIDDLE, "20160101000000", None),
        (MIDDLE, "20130101000000", None),
        (MIDDLE, "2015", "20150101000000"),
        (MIDDLE, "20150101000000500", "20150101000000"),
        (MIDDLE, None, None),
        # One side alone.
        ({"prev": "20140101000000"}, "20140601000000", "20140101000000"),
        ({"prev": "20140101000000"}, "20150101000001", None),
        ({"next": "20160101000000"}, "20151231000000", "20160101000000"),
        ({"next": "20160101000000"}, "20141231235959", None),
        # First and last have nothing beyond them; others that are linked say nothing.
        ({"first": "20150101000000"}, "19990101000000", "20150101000000"),
        ({"first": "20140101000000"}, "20141231235959", None),
        ({"last": "20150101000000"}, "20200101000000", "20150101000000"),
        ({"last": "20150101000000"}, None, "20150101000000"),
        ({"last": "20160101000000"}, "20150101000001", None),
        # Nothing is linked: its own second, and the question itself.
        ({}, "20150101000000", "20150101000000"),
        ({}, "20150601000000", "20150101000000"),
        ({}, "20150601000001", None),
        # A twin within the second.
        ({"next": "20150101000000500"}, "20150101000000", None),
    ],
)
def test_an_answer_covers_the_times_between_the_captures_that_it_links(
    around: dict[str, str], at: str | None, stamp: str | None
) -> None:
    seen = found_in(said(linked("20150101000000", **around)), at)

    assert (seen.stamp if isinstance(seen, Memento) else seen) == stamp


def test_an_answer_that_contradicts_itself_covers_its_question_alone() -> None:
    doubtful = Closest(capture("20150101000000"), "timegate", ("doubt",), {})
    record = said(doubtful)

    assert found_in(record, "20150601000000") == capture("20150101000000")
    assert found_in(record, "20150101000000") is None


def test_a_no_covers_all_times_for_ten_minutes() -> None:
    record = said(None)

    assert found_in(record, "19990101000000") == found_in(record, None) == "no"
    assert found_in(record, "19990101000000", NOW + 600) is None


def test_a_later_no_outweighs_an_earlier_answer_until_it_is_stale() -> None:
    record = merged(said(linked("20150101000000", **MIDDLE)), said(None, given_at=NOW + 1))

    assert found_in(record, "20150201000000", NOW + 2) == "no"
    assert found_in(record, "20150201000000", NOW + 700) == capture("20150101000000")


def test_an_earlier_no_does_not_outweigh_a_later_answer() -> None:
    later = said(linked("20150101000000", **MIDDLE), given_at=NOW + 1)

    record = merged(said(None), later)

    assert found_in(record, "20150201000000", NOW + 2) == capture("20150101000000")


def test_a_later_answer_that_names_a_capture_between_ends_the_interval() -> None:
    record = merged(
        said(linked("20150101000000", **MIDDLE)),
        said(linked("20150301000000"), "20150302000000", NOW + 1),
    )

    assert found_in(record, "20150201000000", NOW + 2) is None
    assert found_in(record, "20150601000000", NOW + 2) == capture("20150101000000")


def test_of_two_intervals_the_answer_with_the_nearer_memento_is_used() -> None:
    one = linked("20140101000000", prev="20130101000000", next="20150101000000")
    other = linked("20150101000000", prev="20140101000000", next="20160101000000")
    record = merged(said(one, "20140101000000"), said(other, "20150101000000", NOW + 1))

    answer = record.answer(WantedTime.of(Moment("20140201000000")), NOW + 2, lifetime, DAY)

    assert answer is not None
    assert answer.answer.outcome == one


def test_times_of_the_last_thirty_days_are_asked_again_after_an_hour() -> None:
    record = said(linked("20261101000000", prev="20150101000000", last="20261101000000"))

    assert found_in(record, "20261110000000", NOW + 3599) is not None
    assert found_in(record, "20261110000000", NOW + 3600) is None


def test_an_answer_from_the_future_is_ignored() -> None:
    record = said(linked("20150101000000", **MIDDLE), given_at=NOW + 3600)

    assert found_in(record, "20150201000000", NOW) is None


seconds = st.integers(0, 99).map(lambda n: f"2015010100{n // 60:02}{n % 60:02}")


@given(st.sets(seconds, min_size=1, max_size=6), seconds, seconds, st.booleans())
def test_what_an_interval_answers_is_what_asking_again_would_answer(
    held: set[str],
    asked: str,
    again: str,
    looks_back: bool,  # noqa: FBT001
) -> None:
    """For a nearest archive, and for one that only looks back."""
    captures = sorted(map(capture, held))

    def ask(at: str) -> Closest:
        before = [each for each in captures if each.stamp <= at]
        chosen = nearest(before if looks_back and before else captures, Moment(at))
        assert chosen is not None
        place = captures.index(chosen)
        around: dict[Relation, Memento] = {"first": captures[0], "last": captures[-1]}
        if place:
            around["prev"] = captures[place - 1]
        if place + 1 < len(captures):
            around["next"] = captures[place + 1]
        return Closest(chosen, "timegate", (), around)

    seen = found_in(said(ask(asked), asked), again)

    if seen is not None:
        assert isinstance(seen, Memento)
        # Of two at the same distance, the one that the archive chose for its question.
        expected = nearest_candidate(ask(again), Moment(again))
        assert remoteness(Moment(again))(seen)[:2] == remoteness(Moment(again))(expected)[:2]


@given(records, records)
def test_merging_is_commutative(one: ArchiveRecord, other: ArchiveRecord) -> None:
    assert merged(one, other) == merged(other, one)


@given(records, records, records)
def test_merging_is_associative(
    one: ArchiveRecord, other: ArchiveRecord, third: ArchiveRecord
) -> None:
    assert merged(merged(one, other), third) == merged(one, merged(other, third))


@given(records, records)
def test_merging_again_changes_nothing(one: ArchiveRecord, other: ArchiveRecord) -> None:
    both = merged(one, other)

    assert merged(both, other) == merged(one, both) == merged(both, both) == both


def test_the_oldest_answers_and_checks_are_dropped() -> None:
    record = ArchiveRecord()
    for number in range(MOST_CHECKS + 8):
        answer = KnownAnswer(NOW + number, f"{2000 + number}", linked("20150101000000"))
        checks = {f"https://a/{number}": KnownCheck(NOW + number, None)}
        record = merged(record, ArchiveRecord([answer], checks))

    last = MOST_CHECKS + 7
    assert [a.given_at - NOW for a in record.answers] == [last - n for n in range(MOST_ANSWERS)]
    assert len(record.checks) == MOST_CHECKS
    assert f"https://a/{last}" in record.checks
    assert "https://a/7" not in record.checks
