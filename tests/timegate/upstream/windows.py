"""How many requests an archive sees in the worst span of time."""

from archives.model import Rate

DUST = 1e-5
"""Seconds. Less than any clock at an archive can tell."""


def most_beyond_the_bucket(sent: list[float], rate: Rate) -> float:
    """Return by how many the worst window exceeds ``burst + rate * length``."""
    return max(
        (last - first + 1)
        - rate.burst
        - (sent[last] - sent[first]) * rate.requests / rate.seconds
        for first in range(len(sent))
        for last in range(first, len(sent))
    )


def most_in_any_span(sent: list[float], seconds: float) -> int:
    """Return how many are in the fullest span of so many seconds, its end not included."""
    return max(
        sum(first <= moment < first + seconds - DUST for moment in sent) for first in sent
    )
