"""The estimated duration of a list, and what each lane allows."""

from archives.model import Limits, Rate
from tests.fakes import an_entry
from timegate.batch.dispatch import EVERY
from timegate.batch.run import allowances, estimate, estimate_checked, rates_of

SLOW = Rate(requests=2, seconds=60, burst=1)
FAST = Rate(requests=8, seconds=1, burst=8)
ENTRIES = [
    an_entry("memento", id="fast", limits=Limits(FAST, SLOW, 8, "test")),
    an_entry("cdx", id="index", limits=Limits(FAST, SLOW, 8, "test")),
    an_entry("memento", id="lodger", hosted_by="fast"),
]


def test_the_slowest_archive_determines_the_estimate() -> None:
    rates = rates_of(ENTRIES)
    expected = estimate(101, rates)

    assert rates == {"fast": FAST, "index": SLOW, "lodger": FAST}
    assert expected is not None
    assert (expected.seconds, expected.archive) == (3000.0, "index")
    assert estimate(5, {}) is None


def test_requests_for_copies_are_estimated_beside_those_for_questions() -> None:
    """An index has another rate limit for them; another archive has one for both."""
    assert estimate_checked(101, ENTRIES[:1]) == (2 * 101 - 8) / 8
    assert estimate_checked(101, ENTRIES[1:2]) == 3000.0
    assert estimate_checked(101, [*ENTRIES[:1], ENTRIES[2]]) == (2 * 101 - 8) / 8
    assert estimate_checked(101, []) == 0
    assert allowances(ENTRIES)["index memento"] == 8.0


def test_references_for_all_archives_are_as_slow_as_the_slowest_host() -> None:
    hosted = [ENTRIES[0], ENTRIES[2]]

    assert allowances(ENTRIES)[EVERY] == 2 / 60
    assert allowances(hosted) == {"fast": 8.0, "lodger": 8.0, EVERY: 4.0}
    assert allowances([]) == {}
