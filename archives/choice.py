"""Which of several captures is the best for a moment: the same choice everywhere (S-1, S-2)."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from archives.model import Memento
from archives.moment import Moment


def second_of(stamp: str) -> datetime:
    """Return the second in which a capture was made; a leap second is the one before it."""
    return Moment(stamp[:14]).window[0]


def nearest(captures: Iterable[Memento], at: Moment | None) -> Memento | None:
    """Return the capture nearest to *at*; the newest where no time is asked.

    Inside an interval, the one nearest to the instant that TimeGates are asked for. Of two that
    are as near, the earlier: the state at a time is the last capture not after it.
    """
    if at is None:
        return max(captures, key=lambda capture: capture.stamp, default=None)
    return min(captures, key=lambda capture: _remoteness(capture, at), default=None)


def _remoteness(capture: Memento, at: Moment) -> tuple[timedelta, timedelta, str, str]:
    captured = second_of(capture.stamp)
    from_instant = abs(captured - at.negotiated)
    return abs(at.distance(captured)), from_instant, capture.stamp, capture.uri
