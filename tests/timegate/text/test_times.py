"""Times as people type them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timegate.text.times import read_time


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2016", "2016"),
        ("20160122112029", "2016-01-22T11:20:29Z"),
        ("2016-01", "2016-01"),
        ("2016-01-22T11:20:29.5Z", "2016-01-22T11:20:29.5Z"),
        ("2016-01-22 11:20:29+01:00", "2016-01-22T10:20:29Z"),
        ("Fri, 22 Jan 2016 11:20:29 GMT", "2016-01-22T11:20:29Z"),
        ("March 2016", "2016-03"),
        ("February 2015", "2015-02"),
        ("22 January 2016", "2016-01-22"),
        ("Jan 22 2016, 11:20", "2016-01-22T11:20Z"),
        ("2010-11-05 10:15", "2010-11-05T10:15Z"),
        ("2010-11-05 10:15:00", "2010-11-05T10:15:00Z"),
        ("2010-11-05 10:15:00 UTC", "2010-11-05T10:15:00Z"),
        ("2010-11-05 10:15 UTC-5", "2010-11-05T15:15Z"),
        ("5 Nov 2010 10:15 GMT+2", "2010-11-05T08:15Z"),
        ("2010/11/05", "2010-11-05"),
    ],
)
def test_only_the_stated_parts_count(typed: str, meant: str) -> None:
    assert str(read_time(typed)) == meant


@pytest.mark.parametrize("typed", ["latest", "now", ""])
def test_no_time_means_the_newest(typed: str) -> None:
    assert read_time(typed) is None


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("01/02/2016", "ambiguous"),
        ("yesterday", "not a time"),
        ("22 January", "has no year"),
        ("20161301", "no month 13"),
        ("20160", "4, 6, 8"),
        ("201", "has no year"),
        ("2015-02-29", "2015-02 has the days 01 to 28"),
        ("2015-13", "no month 13"),
        ("2015-02-28T25:00:00Z", "25"),
        ("05.11.2010", "ambiguous"),
        ("20160122112010122112016012211201601:21" + "1" * 28, "not a time"),
        ("1" * 29 + "h", "not a time"),
        ("2016-01-22 " * 100_000, "too long"),
    ],
)
def test_ambiguous_and_incomplete_times_are_rejected(typed: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_time(typed)


@given(
    st.one_of(
        st.text(max_size=64),
        st.text("0123456789 :.,-/+TZampJunFebGMT", max_size=64),
    )
)
@example("1e999 June")
@example("0000")
@example("12:99")
def test_any_text_is_a_time_or_rejected_with_a_message(typed: str) -> None:
    try:
        read_time(typed)
    except ValueError as refusal:
        assert str(refusal)
