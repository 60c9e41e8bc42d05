"""The schedule of canaries: rarely, spread, and not right after a start."""

from hypothesis import given
from hypothesis import strategies as st

from archives.model import NEVER_ARCHIVED
from timegate.observability.canaries import AGAIN, DRIFT, QUIET, SPREAD, is_due
from timegate.observability.canary_history import CanaryQuestion, CanaryRecord, CanarySpan

HOUR = 3600.0
EVERY = 6 * HOUR
LONG_AGO = -1e6
ids = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1)


def question(archive: str) -> CanaryQuestion:
    return CanaryQuestion(archive, "lacks", NEVER_ARCHIVED)


def first_due(archive: str, record: CanaryRecord, started: float) -> float:
    """Return the first full second at which it is due."""
    return next(
        second
        for second in range(int(started), int(started + 10 * EVERY))
        if is_due(question(archive), record, EVERY, started=started, now=float(second))
    )


def test_first_questions_are_spread_and_always_in_the_same_way() -> None:
    archives = [f"archive-{number}" for number in range(30)]

    due = [first_due(name, CanaryRecord(), 1_000_000.0) - 1_000_000.0 for name in archives]

    assert len(set(due)) > 25
    assert min(due) >= QUIET
    assert max(due) <= QUIET + SPREAD + 1
    assert due == [
        first_due(name, CanaryRecord(), 1_000_000.0) - 1_000_000.0 for name in archives
    ]


@given(ids, st.floats(0, EVERY - 1))
def test_no_archive_is_asked_twice_in_an_interval(archive: str, waited: float) -> None:
    record = CanaryRecord(asked=1e6)

    assert not is_due(question(archive), record, EVERY, started=LONG_AGO, now=1e6 + waited)


@given(ids, st.floats(EVERY * (1 + DRIFT), 1e9))
def test_every_archive_is_asked_after_the_interval(archive: str, waited: float) -> None:
    record = CanaryRecord(asked=1e6)

    assert is_due(question(archive), record, EVERY, started=LONG_AGO, now=1e6 + waited)


@given(ids, st.floats(0, QUIET - 1))
def test_no_archive_is_asked_right_after_a_start_even_if_overdue(
    archive: str, since: float
) -> None:
    overdue = CanaryRecord(asked=1.0)

    assert not is_due(question(archive), overdue, EVERY, started=1e9, now=1e9 + since)


def test_a_first_failure_is_checked_again_soon() -> None:
    once = CanaryRecord(1e6, (CanarySpan("lost", "why", 1e6, 1e6),))
    twice = CanaryRecord(1e6, (CanarySpan("lost", "why", 1e6, 1e6, 2),))

    def due(record: CanaryRecord) -> bool:
        now = 1e6 + AGAIN
        return is_due(question("a"), record, EVERY, started=LONG_AGO, now=now)

    assert due(once)
    assert not due(twice)


def test_a_clock_that_was_set_back_does_not_stop_the_canaries() -> None:
    tomorrow = CanaryRecord(asked=1e6 + 24 * HOUR)
    in_a_moment = CanaryRecord(asked=1e6 + 5)

    assert is_due(question("a"), tomorrow, EVERY, started=LONG_AGO, now=1e6)
    assert not is_due(question("a"), in_a_moment, EVERY, started=LONG_AGO, now=1e6)
