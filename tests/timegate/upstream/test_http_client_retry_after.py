from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.upstream.http_client import seconds_to_wait


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("120", 120), (" 7 ", 7), ("0", 1), ("3601", 3600), ("9" * 5000, 3600)],
)
def test_seconds_are_honoured_from_a_second_to_an_hour(stated: str, seconds: float) -> None:
    assert seconds_to_wait(503, {"retry-after": stated}) == seconds


def test_a_date_counts_from_the_archives_own_clock() -> None:
    headers = {
        "date": "Wed, 04 Dec 2013 00:00:00 GMT",
        "retry-after": "Wed, 04 Dec 2013 00:02:00 GMT",
    }

    assert seconds_to_wait(503, headers) == 120


def test_a_date_counts_from_our_clock_if_the_archive_sends_none() -> None:
    far = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)

    assert seconds_to_wait(429, {"retry-after": far}) == 3600
    assert seconds_to_wait(429, {"retry-after": "Wed, 04 Dec 2013 00:00:00 GMT"}) == 1


@pytest.mark.parametrize(
    "stated",
    [
        *("", "soon", "-5", "1.5", "٣", "Wed, 99 Dec 2013"),
        "Thu, 31 May 2007 20:353535353535:00 GMT",
        "Thu, 31 May 20072007200720072007 20:35:00 GMT",
        "Thu, 31 May 2007 20:35:00 +99999999999999",
    ],
)
def test_only_a_429_has_a_default(stated: str) -> None:
    assert seconds_to_wait(429, {"retry-after": stated}) == 60
    assert seconds_to_wait(503, {"retry-after": stated}) is None


_LIKE_DATES = st.from_regex(
    r"[A-Z][a-z]{2}, [0-9]{1,20} May [0-9]{1,20} [0-9]{1,12}(:[0-9]{1,12}){0,3} [+-]?[0-9A-Z]*",
    fullmatch=True,
)


@given(st.text(max_size=80) | _LIKE_DATES, st.text(max_size=80) | _LIKE_DATES)
def test_any_text_gives_a_bounded_time_or_none(stated: str, date: str) -> None:
    wait = seconds_to_wait(503, {"retry-after": stated, "date": date})

    assert wait is None or 1 <= wait <= 3600
