"""Properties and examples of `archives.moment` (T-1 to T-11)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from archives.moment import MAX, Moment

SECOND = timedelta(seconds=1)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    instant = draw(st.datetimes(timezones=st.just(UTC)))
    stated = draw(st.sampled_from([4, 6, 8, 10, 12, 14, 14]))
    fraction = draw(st.text("0123456789", max_size=12)) if stated == 14 else ""
    return Moment(Moment.of(instant).digits[:stated] + fraction)


@pytest.mark.parametrize(
    ("digits", "start", "end", "granularity"),
    [
        ("2012", "2012-01-01T00:00:00Z", "2013-01-01T00:00:00Z", "year"),
        ("200012", "2000-12-01T00:00:00Z", "2001-01-01T00:00:00Z", "month"),
        ("20160229", "2016-02-29T00:00:00Z", "2016-03-01T00:00:00Z", "day"),
        ("2016012211", "2016-01-22T11:00:00Z", "2016-01-22T12:00:00Z", "hour"),
        ("201601222359", "2016-01-22T23:59:00Z", "2016-01-23T00:00:00Z", "minute"),
        ("20160122112029", "2016-01-22T11:20:29Z", "2016-01-22T11:20:30Z", "second"),
        ("201601221120295", "2016-01-22T11:20:29.5Z", "2016-01-22T11:20:29.6Z", "fraction1"),
        (
            "20160122112029789",
            "2016-01-22T11:20:29.789Z",
            "2016-01-22T11:20:29.79Z",
            "fraction3",
        ),
        ("2016012211202999", "2016-01-22T11:20:29.99Z", "2016-01-22T11:20:30Z", "fraction2"),
        ("20161231235959", "2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "second"),
        ("20161231235960", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", "second"),
        ("201612312359609", "2016-12-31T23:59:60.9Z", "2017-01-01T00:00:00Z", "fraction1"),
        ("201612312359599", "2016-12-31T23:59:59.9Z", "2016-12-31T23:59:60Z", "fraction1"),
        ("9999", "9999-01-01T00:00:00Z", MAX, "year"),
        ("99991231235959", "9999-12-31T23:59:59Z", MAX, "second"),
    ],
)
def test_a_moment_is_the_half_open_interval_of_what_was_stated(
    digits: str, start: str, end: str, granularity: str
) -> None:
    moment = Moment(digits)

    assert (moment.start, moment.end, moment.granularity) == (start, end, granularity)


@pytest.mark.parametrize(
    ("digits", "code", "position"),
    [
        ("", "bad-time-syntax", 0),
        ("201", "bad-time-syntax", 0),
        ("20160", "bad-time-syntax", 0),
        ("٢٠١٦", "bad-time-syntax", 0),
        ("0000", "bad-year", 0),
        ("201613", "bad-date", 4),
        ("20150229", "bad-date", 6),
        ("2016012224", "bad-time", 8),
        ("201601221160", "bad-time", 10),
        ("20160122112061", "bad-time", 12),
        ("20160630235960", "bad-leap-second", 12),
        ("20161231225960", "bad-leap-second", 12),
    ],
)
def test_a_time_that_does_not_exist_is_malformed_at_its_digit(
    digits: str, code: str, position: int
) -> None:
    with pytest.raises(Malformed) as caught:
        Moment(digits)

    assert (caught.value.code, caught.value.position) == (code, position)


def test_a_leap_second_after_the_table_ends_is_possible_but_unconfirmed() -> None:
    assert Moment("20300630235960").leap_second_unconfirmed
    assert not Moment("20161231235960").leap_second_unconfirmed


@given(moments())
def test_start_comes_before_end_as_text_without_z(moment: Moment) -> None:
    assert moment.start.rstrip("Z") < moment.end.rstrip("Z")


@given(moments())
def test_the_negotiated_second_lies_inside(moment: Moment) -> None:
    first, last = moment.window

    assert first <= moment.negotiated <= last
    assert moment.distance(moment.negotiated) == timedelta(0)


@given(moments(), st.datetimes(timezones=st.just(UTC)))
def test_distance_is_zero_inside_and_counts_from_the_nearest_edge(
    moment: Moment, captured: datetime
) -> None:
    captured = captured.replace(microsecond=0)
    first, last = moment.window

    distance = moment.distance(captured)

    assert (distance == timedelta(0)) == (first <= captured <= last)
    if distance < timedelta(0):
        assert captured - distance == first
    if distance > timedelta(0):
        assert captured - distance == last


@given(moments(), st.datetimes(timezones=st.just(UTC)))
def test_a_capture_inside_is_never_farther_from_the_negotiated_second_than_one_outside(
    moment: Moment, outside: datetime
) -> None:
    first, last = moment.window
    outside = outside.replace(microsecond=0)
    if moment.end == MAX or first <= outside <= last:
        return

    farthest_inside = max(moment.negotiated - first, last - moment.negotiated)

    assert abs(moment.negotiated - outside) >= farthest_inside


def test_nothing_is_padded() -> None:
    assert Moment("2016") != Moment("20160101")
    assert Moment("201601221120295") != Moment("20160122112029500")


def test_a_fraction_of_thousands_of_digits_has_an_end() -> None:
    moment = Moment("20160122112029" + "9" * 8000)

    assert moment.end == "2016-01-22T11:20:30Z"


@pytest.mark.parametrize(
    ("digits", "text"),
    [
        ("2016", "2016"),
        ("201601", "2016-01"),
        ("20160122", "2016-01-22"),
        ("201601221120", "2016-01-22T11:20Z"),
        ("20160122112029500", "2016-01-22T11:20:29.500Z"),
    ],
)
def test_a_moment_is_written_as_stated(digits: str, text: str) -> None:
    assert str(Moment(digits)) == text


def test_an_error_has_its_position_in_the_punctuated_text() -> None:
    with pytest.raises(Malformed) as caught:
        Moment.stated("20160230", "on 2016-02-30.", 3)

    assert caught.value.position == 11
