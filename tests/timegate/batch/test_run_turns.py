"""Turns for busy archives, and the estimated duration of a list."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import ArchiveError, Queued, Refused, Resting, Unreachable
from archives.model import Limits, Rate
from archives.source import Request
from tests.clock import in_virtual_time
from tests.fakes import an_entry
from tests.timegate.resolution.resolutions import absent, asking, failed
from timegate.batch.run import ArchiveQueue, estimate, queued, rates_of
from timegate.resolution.model import Preferences, Resolution
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue

SLOW = Rate(requests=2, seconds=60, burst=1)
FAST = Rate(requests=8, seconds=1, burst=8)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_turns_are_a_period_apart(waits: list[float]) -> None:
    turns = ArchiveQueue({"slow": SLOW})

    times = [turns.next("slow", 1000.0, wait) for wait in waits]

    assert all(later - earlier >= 30 for earlier, later in pairwise(times))
    assert all(time >= 1000 for time in times)


def test_turns_of_different_archives_are_independent() -> None:
    turns = ArchiveQueue({"slow": SLOW, "fast": FAST})
    for _ in range(10):
        turns.next("slow", 0.0, 30.0)

    assert turns.next("fast", 0.0, 0.1) < 1


def queues_of_a_door(at_once: int) -> list[ArchiveError]:
    """Return the errors of a real rate limiter for requests that would wait too long."""

    async def story() -> list[ArchiveError]:
        clock = asyncio.get_running_loop().time
        fast = Rate(1000, 1, 1000)
        door = RequestQueue(
            LocalRateLimiter(Limits(SLOW, fast, at_once, "test"), clock), at_once
        )
        request = Request("HEAD", "http://a/", "memento" if at_once > 1 else "index")
        errors: list[ArchiveError] = []
        await door.enter("a", request, 2.0)
        try:
            await door.enter("a", request, 2.0)
        except ArchiveError as error:
            errors.append(error)
        return errors

    return in_virtual_time(story())


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_full_queue_is_distinguished_from_a_failure(at_once: int) -> None:
    (error,) = queues_of_a_door(at_once)

    assert isinstance(error, Queued)


@pytest.mark.parametrize(
    "error",
    [
        Resting("a", "http://a/", "it asked us to wait", 60.0),
        Refused("a", "http://a/", 429, 60.0),
        Unreachable("a", "http://a/", "timed out"),
    ],
)
def test_a_failing_archive_is_not_queued(error: ArchiveError) -> None:
    resolution = Resolution(asking("2016"), Preferences(), None, (), (failed("a", error),))

    assert queued(resolution) == {}


def test_only_archives_with_a_full_queue_are_waited_for() -> None:
    own = Queued("slow", "http://a/", "our rate limit for it is used up", 12.0)
    attempts = (absent("fast"), failed("dead"), failed("slow", own))
    resolution = Resolution(asking("2016"), Preferences(), None, (), attempts)

    assert queued(resolution) == {"slow": 12.0}


def test_the_slowest_archive_determines_the_estimate() -> None:
    entries = [
        an_entry("memento", id="fast", limits=Limits(FAST, SLOW, 8, "test")),
        an_entry("cdx", id="index", limits=Limits(FAST, SLOW, 8, "test")),
        an_entry("memento", id="lodger", hosted_by="fast"),
    ]

    rates = rates_of(entries)
    expected = estimate(101, rates)

    assert rates == {"fast": FAST, "index": SLOW, "lodger": FAST}
    assert expected is not None
    assert (expected.seconds, expected.archive) == (3000.0, "index")
    assert estimate(5, {}) is None
