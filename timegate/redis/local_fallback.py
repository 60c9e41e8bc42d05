"""What this replica alone has sent, and what it may send while it cannot ask the others.

Without the shared memory the limit of an archive is divided by the number of replicas. What was
sent before counts, so that losing the memory gives no second allowance to who has used the
first. Stricter than a bucket on purpose: at most its part in any span, and at most its part of
the burst in the time in which that many drip in.
"""

from collections import deque
from typing import Final, NamedTuple

from archives.model import Rate
from timegate.upstream.rate_limit import MOST_REMEMBERED

_DUST: Final = 1e-6


class Sent(NamedTuple):
    """One request: its name among all replicas, and when it left."""

    name: str
    moment: float


class LocalFallback:
    """The requests of this replica for one purpose at one archive. Pure: time is passed in."""

    __slots__ = ("_rate", "_sent")

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        most = max(int(rate.requests), rate.burst, 1)
        self._sent: deque[Sent] = deque(maxlen=min(most, MOST_REMEMBERED))

    def note(self, sent: Sent) -> None:
        """Remember a request, whoever allowed it."""
        self._sent.append(sent)

    def since(self, moment: float) -> list[Sent]:
        """Return what was sent after *moment*."""
        return [sent for sent in self._sent if sent.moment > moment]

    def wait(self, now: float, replicas: int, ahead: int = 0) -> float:
        """Return the seconds until this replica, one of so many, may send one more."""
        interval = self._rate.seconds / self._rate.requests * replicas
        part = self._part(int(self._rate.requests) // replicas)
        burst = min(self._part(self._rate.burst // replicas), part)
        wait = max(
            self._until(now, part, self._rate.seconds, ahead),
            self._until(now, burst, burst * interval, ahead),
        )
        return wait if wait > _DUST else 0.0

    def _part(self, number: int) -> int:
        return max(1, min(number, self._sent.maxlen or 1))

    def _until(self, now: float, most: int, span: float, ahead: int) -> float:
        """Return how long it takes until less than *most* were sent in *span*."""
        laps, ahead = divmod(ahead, most)
        entry = len(self._sent) - most + ahead
        left = self._sent[entry].moment + span - now if entry >= 0 else 0.0
        return laps * span + max(0.0, min(left, span))
