"""The forecast of the end of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clock import Clock
from timegate.batch.forecast import LaneLoad, LaneMeter, forecast


def test_the_slowest_lane_determines_the_end() -> None:
    lanes = {"a": LaneLoad(100, 2.0), "b": LaneLoad(10, 0.1), "c": LaneLoad(0, None)}

    assert forecast(lanes, {}) == pytest.approx(100.0)


def test_the_allowance_is_used_until_a_lane_was_measured() -> None:
    assert forecast({"a": LaneLoad(80, None)}, {"a": 8.0}) == pytest.approx(10.0)
    assert forecast({"a": LaneLoad(80, None)}, {}) is None


def test_an_unmeasured_lane_is_not_expected_to_be_faster_than_so_far() -> None:
    clock = Clock(0.0)
    meter = LaneMeter(clock)
    for _ in range(7):
        meter.done("", {})
    clock.now = 12.0
    lanes = {"": meter.load("", 33)}

    assert forecast(lanes, {"": 2000.0}) == pytest.approx(33 / (7 / 12))


def test_an_allowance_for_almost_anything_forecasts_nothing() -> None:
    assert forecast({"": LaneLoad(33, None)}, {"": 2000.0}) is None
    assert forecast({"": LaneLoad(0, None)}, {"": 2000.0}) == pytest.approx(0.0)


def test_what_a_lane_used_of_an_archive_is_used_by_others_when_it_is_empty() -> None:
    lanes = {"": LaneLoad(10, 1.0, {"a": 1.0}), "a": LaneLoad(150, 7.0, {"a": 1.0})}

    # 10 s at 7 a second, then 80 left at 8 a second.
    assert forecast(lanes, {"a": 8.0}, {"a": 8.0}) == pytest.approx(20.0)


def test_a_lane_that_is_slow_though_its_archive_is_not_busy_goes_on_like_that() -> None:
    lanes = {"a": LaneLoad(150, 3.0, {"a": 1.0})}

    assert forecast(lanes, {"a": 8.0}, {"a": 3.0}) == pytest.approx(50.0)


def test_items_that_wait_elsewhere_count_like_those_that_did() -> None:
    meter = LaneMeter(Clock(0.0))
    for _ in range(90):
        meter.done("a", {"a": 1})
    meter.done("a", {"a": 1, "b": 1})

    load = meter.load("a", 909, elsewhere=9)

    # Of 100 references that were begun, 10 need the other archive.
    assert load.need("b") == pytest.approx(99.0)
    assert load.need("a") == pytest.approx(909.0)


def test_what_items_cost_elsewhere_is_learned_from_other_lanes() -> None:
    meter = LaneMeter(Clock(0.0))
    meter.done("a", {"a": 1})
    meter.done("b", {"b": 1, "c": 2})

    assert meter.load("a", 9, elsewhere=1).need("c") == pytest.approx(10.0)


def test_an_archive_may_be_busy_with_references_that_others_do_not_hold() -> None:
    lanes = {"a": LaneLoad(800, 8.0, {"a": 1.0, "b": 0.5}), "b": LaneLoad(0, None)}

    assert forecast(lanes, {"a": 8.0, "b": 1.0}) == pytest.approx(400.0)


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.builds(
            LaneLoad,
            st.integers(0, 10**6),
            st.floats(0.01, 1e3),
            st.dictionaries(st.sampled_from("abc"), st.floats(0.0, 20.0)),
        ),
    ),
    st.dictionaries(st.sampled_from("abc"), st.floats(0.01, 1e3)),
)
def test_the_end_lies_between_what_is_measured_and_what_is_allowed(
    lanes: dict[str, LaneLoad], allowances: dict[str, float]
) -> None:
    seconds = forecast(lanes, allowances)

    latest = max((load.left / (load.rate or 1) for load in lanes.values()), default=0.0)
    requests = {a: sum(x.left * x.asks.get(a, 0) for x in lanes.values()) for a in allowances}
    busiest = max((requests[a] / allowances[a] for a in allowances), default=0.0)
    assert seconds is not None
    assert busiest <= seconds * 1.000001
    assert seconds <= max(latest, busiest) * 1.000001


@pytest.mark.parametrize(("burst", "rate"), [(8, 8.0), (5, 1.0)])
def test_after_a_minute_the_forecast_is_right(burst: int, rate: float) -> None:
    clock = Clock(0.0)
    meter = LaneMeter(clock)
    for _ in range(burst):
        meter.done("a", {})
    while clock.now < 60:
        clock.advance(1 / rate)
        meter.done("a", {"a": 1})

    load = meter.load("a", int(1000 * rate))

    assert forecast({"a": load}, {"a": rate}) == pytest.approx(1000, rel=0.05)


def test_a_lane_that_just_began_is_not_measured() -> None:
    clock = Clock(0.0)
    meter = LaneMeter(clock)
    for _ in range(30):
        clock.advance(1)
        meter.done("a", {})

    assert meter.load("a", 5).rate is None
