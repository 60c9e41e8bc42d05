"""The rule for clients that take a response slowly, or not at all."""

import pytest

from timegate.server.connection_limit import Progress

KILOBYTE = 1024


def seconds_until_ended(octets: int, every: float, *, rated: bool = True) -> float | None:
    """Return when a client is ended that takes *octets* every so many seconds; None for never.

    The server looks at it every second, for an hour.
    """
    progress: Progress[str] = Progress()
    for now in range(3600):
        taken = octets * int(now / every)
        if progress.fails("client", taken, float(now), rated=rated):
            return float(now)
    return None


@pytest.mark.parametrize(
    ("octets", "every"), [(200, 1.0), (1460, 6.0), (64 * KILOBYTE, 19.0), (KILOBYTE, 1.0)]
)
def test_two_hundred_octets_a_second_are_enough(octets: int, every: float) -> None:
    assert seconds_until_ended(octets, every) is None


def test_a_client_that_takes_nothing_for_twenty_seconds_is_ended() -> None:
    assert seconds_until_ended(0, 1.0) == 20


def test_a_client_that_takes_a_hundred_octets_a_second_is_ended_after_a_minute() -> None:
    assert seconds_until_ended(100, 1.0) == 60


def test_a_fast_client_that_becomes_slow_is_ended() -> None:
    progress: Progress[str] = Progress()
    taken = 0
    for now in range(600):
        taken += 100_000 if now < 300 else 10
        if progress.fails("client", taken, float(now)):
            break

    assert 360 <= now <= 420


def test_event_streams_need_only_some_progress() -> None:
    assert seconds_until_ended(10, 15.0, rated=False) is None
    assert seconds_until_ended(0, 15.0, rated=False) == 20


def test_the_time_starts_again_when_everything_was_taken() -> None:
    progress: Progress[str] = Progress()

    ended = []
    for now in range(0, 100, 10):
        ended.append(progress.fails("client", 0, float(now)))
        progress.forget("client")

    assert not any(ended)
    assert len(progress) == 0


def test_room_is_made_by_the_counted_response_without_progress_for_longest() -> None:
    progress: Progress[str] = Progress()
    progress.fails("short", 0, 0.0, counted=False)
    progress.fails("first", 0, 1.0)
    progress.fails("second", 0, 1.0)
    progress.fails("first", 10, 2.0)

    assert progress.most_stalled(2.5) is None
    assert progress.most_stalled(3.0) == "second"
    progress.forget("second")
    assert progress.most_stalled(3.5) is None
    assert progress.most_stalled(4.0) == "first"
