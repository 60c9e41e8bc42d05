"""When to ask: seldom, and never everybody at once.

The place of a question in its interval follows from its name, so that it is the same after
every start and in every replica. Pure: the time is passed in.
"""

from hashlib import blake2b
from typing import Final

from timegate.canaries.history import CanaryRecord
from timegate.canaries.questions import CanaryQuestion

QUIET: Final = 60.0
"""Seconds after a start in which nobody is asked: who is started again and again asks
nobody."""
SPREAD: Final = 900.0
"""Seconds over which the first questions after a start are spread."""
DRIFT: Final = 0.1
"""By which part of it intervals differ, so that questions do not come to fall together."""
AGAIN: Final = 600.0
"""Seconds after which what is wrong for the first time is looked at once more."""
_TICK: Final = 60.0
_SKEW: Final = 60.0
"""Seconds by which the clocks of two replicas may differ."""


def tick(every: float) -> float:
    """Return how often to look whether anything is due."""
    return min(_TICK, every / 10)


def is_due(
    question: CanaryQuestion, record: CanaryRecord, every: float, *, started: float, now: float
) -> bool:
    """Whether it is time for *question*, with *every* seconds between two of its kind."""
    share = _share(question)
    if now < started + min(every, QUIET + share * SPREAD):
        return False
    if record.asked is None:
        return True
    waited = now - record.asked
    # What was asked in the future was asked under a clock that has been put right since.
    return waited >= _interval(record, every, share) or waited < -_SKEW


def _interval(record: CanaryRecord, every: float, share: float) -> float:
    return min(AGAIN, every) if record.is_doubtful else every * (1 + DRIFT * share)


def _share(question: CanaryQuestion) -> float:
    """Return a number from 0 to 1 that is as good as drawn by lot, and always the same."""
    name = f"{question.archive} {question.side}".encode()
    return int.from_bytes(blake2b(name, digest_size=4).digest()) / 2**32
