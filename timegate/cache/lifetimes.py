"""How long an answer stays as good as new.

What an archive holds of a time long past hardly changes; what it holds of now changes with its
next crawl; a no is soon overtaken. A day is what LANL's TimeGate has always used; a public
instance can afford no less, since the Internet Archive takes 24 TimeMaps a minute from it.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from archives.choice import second_of
from archives.model import Closest
from archives.moment import Moment

SETTLED: Final = 86_400.0
RECENT: Final = 3_600.0
NEGATIVE: Final = 600.0
TIMEMAP: Final = 86_400.0
STALE: Final = 3 * 86_400.0
LONGEST_STALE: Final = 7 * 86_400.0
"""RFC 8767 5: serve stale for one to three days, and no more than seven."""

_RECENT_DAYS: Final = timedelta(days=30)


@lru_cache(maxsize=8)
def _settled_before(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC) - _RECENT_DAYS


def lifetime(at: Moment | None, outcome: Closest | None, said: float) -> float:
    """Return for how many seconds the answer *outcome*, given at *said*, may be used as new."""
    if outcome is None:
        return NEGATIVE
    if at is None:
        return RECENT
    settled_before = _settled_before(int(said) // 60)
    _, asked_until = at.window
    # Also where the question reaches into the present: a capture made today would be nearer.
    if max(asked_until, second_of(outcome.memento.stamp)) > settled_before:
        return RECENT
    return SETTLED
