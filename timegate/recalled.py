"""What archives said before, as an answer to the question of now."""

from collections.abc import Mapping

from timegate.ranking import in_direction
from timegate.resolution import Attempt, Preferences, Query, Remembered


def fresh(
    query: Query, policy: Preferences, remembered: Mapping[str, Remembered]
) -> list[Attempt]:
    """Return what was said lately and answers the question."""
    return [
        attempt_of(query, policy, archive, known)
        for archive, known in remembered.items()
        if known.fresh and tells(query, policy, known)
    ]


def tells(query: Query, policy: Preferences, known: Remembered) -> bool:
    """Whether *known* answers the question.

    The closest copy may lie on the side that is not wanted. Whether there is one on the other
    side the archive was not asked.
    """
    outcome = known.outcome
    return outcome is None or in_direction(outcome, query.at, policy.direction) is not None


def stale(
    query: Query, policy: Preferences, remembered: Mapping[str, Remembered]
) -> list[Attempt]:
    """Return the copies that were told of once, for when nothing better is to be had."""
    return [
        attempt_of(query, policy, a, r)
        for a, r in remembered.items()
        if not r.fresh and r.outcome is not None
    ]


def attempt_of(query: Query, policy: Preferences, archive: str, known: Remembered) -> Attempt:
    """Return *known* as if *archive* had just said it, with its age."""
    outcome = known.outcome
    if outcome is not None:
        outcome = in_direction(outcome, query.at, policy.direction)
    return Attempt(archive, outcome, 0.0, query.original, None, known.age)
