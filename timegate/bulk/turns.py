"""Who waits for which archive, until when; and how long a list will take.

The resolver calls an archive off whose queue is longer than a reader would wait. A list has
time: such an item gets a turn of its own, one period of the archive's rate after the turn
before it, and is asked again then; what other archives said meanwhile is remembered, so that
only this one is asked. Pure: the time is passed in.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from archives.errors import Queued, Refused, Resting
from archives.model import ArchiveEntry, Rate
from timegate.resolution import Resolution

_LONGEST_REST: Final = 300.0
"""Seconds, for one archive in a whole run: as long as the breaker rests at most."""


def queued(resolution: Resolution) -> dict[str, float]:
    """Return the archives that were not asked because too many of ours wait, and how long.

    Not those that want to be left alone or seem dead: to wait for them is the second pass's.
    """
    return {
        attempt.archive: attempt.outcome.retry_after
        for attempt in resolution.attempts
        if isinstance(attempt.outcome, Queued)
    }


class ArchiveQueue:
    """The times at which items may ask again, for each archive one after the other."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._periods = {name: rate.seconds / rate.requests for name, rate in rates.items()}
        self._last: dict[str, float] = {}

    def next(self, archive: str, now: float, wait: float) -> float:
        """Return when to ask *archive* again, which will have a place in *wait* seconds."""
        period = self._periods.get(archive, 1.0)
        last = self._last.get(archive, now)
        turn = max(now + min(wait, period), last + period)
        self._last[archive] = turn
        return turn


class ArchiveRests:
    """How long the second pass waits for archives that asked us to, or seem dead.

    So long for each of them in all, not for each item: an archive that stays away costs a long
    list no more than a short one.
    """

    def __init__(self, longest: float = _LONGEST_REST) -> None:
        self._longest = longest
        self._give_up: dict[str, float] = {}

    def wait(self, resolution: Resolution, now: float) -> float:
        """Return the seconds until those who rest may be asked; 0 for nobody to wait for."""
        waits = [0.0]
        for attempt in resolution.attempts:
            error = attempt.outcome
            if not isinstance(error, Resting | Refused) or isinstance(error, Queued):
                continue
            give_up = self._give_up.setdefault(attempt.archive, now + self._longest)
            if error.retry_after is not None and now + error.retry_after <= give_up:
                waits.append(error.retry_after)
        return max(waits)


class DurationEstimate(NamedTuple):
    """How long a list takes at most, if no archive is slow to answer."""

    seconds: float
    archive: str
    """The one that has to be waited for."""
    rate: Rate


def rates_of(entries: Collection[ArchiveEntry]) -> dict[str, Rate]:
    """Return how fast each archive may be asked for a copy; archives at one host share it."""
    by_id = {entry.id: entry for entry in entries}
    rates = {}
    for entry in entries:
        limits = by_id.get(entry.hosted_by or "", entry).limits
        rates[entry.id] = limits.index if entry.kind == "cdx" else limits.memento
    return rates


def estimate(items: int, rates: Mapping[str, Rate]) -> DurationEstimate | None:
    """Return how long *items* take if each must be asked of everyone; None for nobody."""
    times = {
        name: max(items - rate.burst, 0) * rate.seconds / rate.requests
        for name, rate in rates.items()
    }
    if not times:
        return None
    slowest = max(times, key=lambda name: times[name])
    return DurationEstimate(times[slowest], slowest, rates[slowest])
