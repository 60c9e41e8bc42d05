"""What checking an archive costs it, told before it is asked."""

from dataclasses import dataclass
from typing import Final

from archives.model import Limits, Rate
from timegate.conformance.subject import Subject


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """How many questions a sample costs, pages of a TimeMap and redirects left out."""

    memento: int
    index: int


FIRST_SAMPLE: Final = RequestEstimate(memento=31, index=6)
OTHER_SAMPLE: Final = RequestEstimate(memento=21, index=5)
_SINGLE: Final = RequestEstimate(memento=3, index=0)


def estimated(subject: Subject) -> RequestEstimate:
    """Return at most how many questions checking *subject* takes, pages left out."""
    if subject.role == "timegate":
        more = len(subject.samples) - 1
        return RequestEstimate(
            FIRST_SAMPLE.memento + more * OTHER_SAMPLE.memento,
            FIRST_SAMPLE.index + more * OTHER_SAMPLE.index,
        )
    return RequestEstimate(0, FIRST_SAMPLE.index) if subject.role == "timemap" else _SINGLE


def seconds_for(subject: Subject, limits: Limits) -> float:
    """Return how long politeness makes checking *subject* take, answers themselves left out."""
    cost = estimated(subject)
    return _at_rate(cost.memento, limits.memento) + _at_rate(cost.index, limits.index)


def _at_rate(requests: int, rate: Rate) -> float:
    return max(0, requests - rate.burst) * rate.seconds / rate.requests
