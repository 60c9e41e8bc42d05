"""Dates in headers and link attributes: valid ones, and the position of errors."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import (
    http_date,
    read_http_date,
    read_instant,
    stamp_from_http_date,
)

RFC_EXAMPLE = "Thu, 31 May 2007 20:35:00 GMT"


def test_the_example_of_the_rfc_is_read() -> None:
    assert stamp_from_http_date(RFC_EXAMPLE) == "20070531203500"


def test_a_written_date_has_the_right_weekday() -> None:
    stamp = stamp_from_http_date("Tue, 15 Sep 2000 11:28:26 GMT")

    assert http_date(stamp) == "Fri, 15 Sep 2000 11:28:26 GMT"


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("20161231235960", "Sat, 31 Dec 2016 23:59:59 GMT"),
        ("20160122112029123", "Fri, 22 Jan 2016 11:20:29 GMT"),
        ("00010101000000", "Mon, 01 Jan 0001 00:00:00 GMT"),
    ],
)
def test_fractions_and_leap_seconds_become_whole_seconds(stamp: str, expected: str) -> None:
    assert http_date(stamp) == expected


def test_a_year_is_not_padded_to_a_date() -> None:
    with pytest.raises(Malformed):
        http_date("2013")


@given(st.datetimes(min_value=datetime(1, 1, 1)))  # noqa: DTZ001 (hypothesis adds the zone)
def test_every_second_is_read_as_it_was_written(instant: datetime) -> None:
    stamp = f"{instant.year:04}{instant.replace(tzinfo=UTC):%m%d%H%M%S}"

    assert stamp_from_http_date(http_date(stamp)) == stamp


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("", "bad-accept-datetime", 0),
        ("   ", "bad-accept-datetime", 3),
        ("Th", "bad-accept-datetime", 2),
        ("thu, 31 May 2007 20:35:00 GMT", "bad-accept-datetime", 0),
        ("Thursday, 31-May-07 20:35:00 GMT", "bad-accept-datetime", 3),
        ("Thu May 31 20:35:00 2007", "bad-accept-datetime", 3),
        ("2007-05-31T20:35:00Z", "bad-accept-datetime", 0),
        ("Thu, 1 May 2007 20:35:00 GMT", "bad-accept-datetime", 6),
        ("Thu, 31 may 2007 20:35:00 GMT", "bad-accept-datetime", 8),
        ("Thu, 31 May 07 20:35:00 GMT", "bad-accept-datetime", 14),
        ("Thu, 31 May 2007 24:00:00 GMT", "bad-accept-datetime", 18),
        ("Thu, 31 May 2007 20:60:00 GMT", "bad-accept-datetime", 20),
        ("Thu, 31 May 2007 20:35 GMT", "bad-accept-datetime", 22),
        ("Sat, 31 Dec 2016 23:59:60 GMT", "bad-accept-datetime", 23),
        ("Thu, 31 May 2007 20:35:00.5 GMT", "bad-accept-datetime", 25),
        ("Thu, 31 May 2007 20:35:00 UTC", "bad-accept-datetime", 26),
        ("Thu, 31 May 2007 20:35:00 +0000", "bad-accept-datetime", 26),
        ("Thu, 31 May 2007 20:35:00", "bad-accept-datetime", 25),
        (f"{RFC_EXAMPLE}, {RFC_EXAMPLE}", "bad-accept-datetime", 29),
        (f"{RFC_EXAMPLE}; -P3DT5H;+P2DT6H", "bad-accept-datetime", 29),
        (f"\n{RFC_EXAMPLE}", "bad-accept-datetime", 0),
        ("Thu, 3\u0661 May 2007 20:35:00 GMT", "bad-accept-datetime", 6),
        ("Thu, 31 Feb 2007 20:35:00 GMT", "bad-date", 5),
        ("Thu, 00 Feb 2007 20:35:00 GMT", "bad-date", 5),
        ("Thu, 29 Feb 1900 20:35:00 GMT", "bad-date", 5),
        ("Thu, 01 Jan 0000 00:00:00 GMT", "bad-date", 12),
        (" \tThu, 31 Feb 2007 20:35:00 GMT", "bad-date", 7),
    ],
)
def test_text_that_is_no_rfc1123_date_is_malformed_at_its_first_wrong_character(
    text: str, code: str, position: int
) -> None:
    with pytest.raises(Malformed) as error:
        read_http_date(text, Diagnosis())

    assert (error.value.code, error.value.position) == (code, position)


def test_blanks_and_tabs_around_the_value_are_ignored() -> None:
    diagnosis = Diagnosis()

    moment = read_http_date(f"  {RFC_EXAMPLE}\t", diagnosis)

    assert moment.digits == "20070531203500"
    assert not diagnosis.diagnostics


def test_a_wrong_weekday_is_noted_and_still_conforms() -> None:
    diagnosis = Diagnosis(strict=True)

    moment = read_http_date(" Tue, 15 Sep 2000 11:28:26 GMT", diagnosis)

    assert moment.digits == "20000915112826"
    assert [(note.token, note.position) for note in diagnosis.diagnostics] == [
        ("weekday-mismatch", 1)
    ]


@given(st.text(max_size=40) | st.text(alphabet="Thu, 31May20075:GM", max_size=40))
def test_any_text_is_a_date_or_malformed_inside_the_text(text: str) -> None:
    assert 0 <= _wrong_at(text) <= len(text)


def _wrong_at(text: str) -> int:
    try:
        read_http_date(text, Diagnosis())
    except Malformed as error:
        return error.position
    return 0


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("2026-11-17T20:35:00Z", "20261117203500"),
        ("2026-11-17t20:35:00.123456789z", "20261117203500123456789"),
        ("2026-01-01T00:30:00.50+01:00", "2025123123300050"),
        ("2024-02-28T23:45:10-00:30", "20240229001510"),
        ("2017-01-01T05:29:60+05:30", "20161231235960"),
    ],
)
def test_an_instant_is_read_in_utc(text: str, digits: str) -> None:
    instant = read_instant(text)

    assert instant is not None
    assert instant.digits == digits


@pytest.mark.parametrize(
    "text",
    ["2026-11-17", "2026-11-17T20:35Z", "2026-11-17T20:35:00", "2026-11-17T20:35:00+1:00"],
)
def test_another_form_is_no_instant(text: str) -> None:
    assert read_instant(text) is None


@pytest.mark.parametrize("text", ["2026-02-30T00:00:00+01:00", "9999-12-31T23:30:00-01:00"])
def test_an_instant_is_in_the_calendar(text: str) -> None:
    with pytest.raises(Malformed):
        read_instant(text)
