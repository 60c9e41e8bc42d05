"""Histories of canaries: spans of equal results, and flips."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from timegate.observability.canary_history import (
    MOST_SPANS,
    CanaryOutcome,
    CanaryRecord,
    Verdict,
    has_flipped,
    noted,
)

VERDICTS: tuple[Verdict, ...] = ("kept", "lost", "claims", "unknown")
verdicts = st.lists(st.sampled_from(VERDICTS), max_size=3 * MOST_SPANS)


def after(*seen: Verdict) -> CanaryRecord:
    """Return the record after these outcomes, one each second from 1 on."""
    record = CanaryRecord()
    for number, verdict in enumerate(seen, start=1):
        record = noted(record, CanaryOutcome(verdict, "why"), float(number))
    return record


def test_equal_outcomes_make_one_span() -> None:
    (span,) = after("kept", "kept", "kept").spans

    assert (span.first, span.last, span.times) == (1.0, 3.0, 3)


def test_an_unknown_outcome_is_recorded_and_changes_no_state() -> None:
    record = after("lost", "unknown", "unknown", "lost", "unknown")

    assert record.standing == "lost"
    assert record.since == 1.0
    assert [span.verdict for span in record.spans] == ["lost", "unknown", "lost", "unknown"]


def test_since_is_the_begin_of_the_current_state() -> None:
    assert after("kept", "lost", "unknown", "kept", "kept").since == 4.0
    assert after("unknown").since is None
    assert CanaryRecord().standing == "unknown"


def test_a_failure_is_doubtful_until_it_was_seen_twice() -> None:
    assert after("kept", "lost").is_doubtful
    assert not after("kept", "lost", "lost").is_doubtful
    assert not after("lost", "kept").is_doubtful
    assert not CanaryRecord().is_doubtful


def flips(seen: Sequence[Verdict]) -> list[tuple[Verdict, Verdict]]:
    records = [after(*seen[:number]) for number in range(len(seen) + 1)]
    return [
        (was.standing, now.standing) for was, now in pairwise(records) if has_flipped(was, now)
    ]


def test_only_failures_and_recoveries_are_flips() -> None:
    assert flips(["kept", "unknown", "kept"]) == []
    assert flips(["kept", "lost", "unknown", "lost", "kept"]) == [
        ("kept", "lost"),
        ("lost", "kept"),
    ]


def test_a_failure_of_the_first_canary_is_a_flip() -> None:
    assert flips(["unknown", "claims"]) == [("unknown", "claims")]


@given(verdicts)
def test_a_history_is_bounded_and_no_two_neighbours_are_alike(seen: list[Verdict]) -> None:
    spans = after(*seen).spans

    assert len(spans) <= MOST_SPANS
    assert all(a.verdict != b.verdict for a, b in pairwise(spans))
    assert sum(span.times for span in spans) <= len(seen)


@given(verdicts)
def test_the_state_is_that_of_the_last_answer(seen: list[Verdict]) -> None:
    answers = [verdict for verdict in seen if verdict != "unknown"]

    assert after(*seen).standing == (answers[-1] if answers else "unknown")


@given(verdicts)
def test_each_flip_leads_from_one_state_to_the_next(seen: list[Verdict]) -> None:
    changes = flips(seen)

    assert all(now not in (was, "unknown") for was, now in changes)
    assert all(a[1] == b[0] for a, b in pairwise(changes))
