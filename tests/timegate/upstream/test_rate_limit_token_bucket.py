"""Token buckets and windows: how much may be sent in any span of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import Rate
from tests.timegate.upstream.windows import most_beyond_the_bucket, most_in_any_span
from timegate.upstream.rate_limit import MOST_REMEMBERED, TokenBucket, Window, cells_of, full

rates = st.builds(Rate, st.floats(0.1, 50), st.floats(0.1, 100), st.integers(1, 20))
pauses = st.lists(st.floats(0, 30), min_size=1, max_size=60)


def bucket_of(rate: Rate, now: float) -> TokenBucket:
    return TokenBucket(rate, full(rate, now))


def taken(rate: Rate, pauses: list[float]) -> list[float]:
    """Take all tokens after every pause, and return the times."""
    now = 1000.0
    bucket = bucket_of(rate, now)
    sent = []
    for pause in pauses:
        now += pause
        while bucket.take(now) == 0:
            sent.append(now)
    return sent


@given(rates, pauses)
def test_a_bucket_gives_no_more_than_its_burst_and_its_rate(
    rate: Rate, pauses: list[float]
) -> None:
    assert most_beyond_the_bucket(taken(rate, pauses), rate) <= 1e-6


@given(rates.filter(lambda rate: rate.burst <= rate.requests), pauses)
def test_no_span_of_time_exceeds_the_limit(rate: Rate, pauses: list[float]) -> None:
    assert most_in_any_span(taken(rate, pauses), rate.seconds) <= rate.requests


def test_a_request_may_take_longer_to_arrive_than_the_one_after_it() -> None:
    bucket = bucket_of(Rate(24, 60, 5), 0.0)
    now = 0.0
    sent: list[float] = []

    while len(sent) < 100:
        wait = bucket.take(now)
        if wait == 0:
            sent.append(now)
        now += wait

    late = [moment + (0.4 if number % 24 == 0 else 0.0) for number, moment in enumerate(sent)]
    assert most_in_any_span(sorted(late), 60) <= 24


@pytest.mark.parametrize(
    "rate", [Rate(24, 60, 5), Rate(8, 1, 8), Rate(320, 60, 10), Rate(2, 60, 1)]
)
def test_taking_all_tokens_gives_the_whole_rate_and_no_more(rate: Rate) -> None:
    bucket = bucket_of(rate, 0.0)
    now, sent = 0.0, []

    while now < 5 * rate.seconds:
        wait = bucket.take(now)
        if wait == 0:
            sent.append(now)
        now += wait

    assert most_in_any_span(sent, rate.seconds) == rate.requests
    # All but what is left to requests that take longer to arrive than others.
    assert 0.98 * 5 * rate.requests <= len(sent) <= 5 * rate.requests


@given(rates, st.integers(0, 30))
def test_the_predicted_wait_is_the_actual_wait(rate: Rate, ahead: int) -> None:
    bucket = bucket_of(rate, 0.0)
    predicted = bucket.wait(0.0, ahead)
    now = 0.0

    for _ in range(ahead + 1):
        while (wait := bucket.take(now)) > 0:
            now += wait + 1e-9

    assert now == pytest.approx(predicted, abs=1e-3)


def test_a_bucket_does_not_fill_beyond_its_burst() -> None:
    bucket = bucket_of(Rate(1, 1, burst=2), 0.0)

    assert [bucket.take(1_000_000.0) for _ in range(3)] == [0, 0, 1]


def test_a_clock_that_goes_back_gives_no_tokens() -> None:
    bucket = bucket_of(Rate(1, 1), 100.0)
    bucket.take(100.0)

    assert bucket.take(50.0) == pytest.approx(1.02)


def test_a_burst_above_the_rate_is_a_bucket_and_nothing_else() -> None:
    assert Window.of(Rate(1, 1, burst=5)).most == 0


@given(st.floats(1, 1e7), st.floats(0.1, 1e4))
def test_a_fast_rate_is_cut_into_parts_that_keep_it(requests: float, seconds: float) -> None:
    rate = Rate(requests, seconds)

    window = Window.of(rate)
    parts = round(seconds / window.span)

    assert cells_of(rate) <= MOST_REMEMBERED + 3
    assert window.most * parts <= requests
