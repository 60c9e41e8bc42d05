"""What one replica knows of the limit of an archive: its tokens, its share without Redis."""

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from secrets import token_hex
from typing import Final, NamedTuple

from archives.model import Rate
from archives.source import Purpose
from timegate.redis.time_budget import REDIS_TIME
from timegate.upstream.rate_limit import MOST_REMEMBERED, Window

LONGEST_LEASE: Final = 0.5
"""Seconds. A pause that another replica learned of is not known while a lease lasts."""
MOST_LEASED: Final = 64
_LEAST: Final = 4
_MICRO: Final = 1_000_000
_MOST_REPORTED: Final = 500
"""Requests that are reported to one script at once."""
_SHORTEST: Final = 0.001
"""Seconds in which requests are counted, to tell how fast they come."""
_EPSILON: Final = 1e-6


class Sent(NamedTuple):
    """One request: its name among all replicas, and when it was sent."""

    name: str
    moment: float


class LocalFallback:
    """Rate limit of this replica alone, for one purpose at one archive. Time is passed in.

    Stricter than a token bucket on purpose: at most the share of this replica in any span, and
    at most its share of the burst in the time in which so many tokens are added.
    """

    __slots__ = ("_rate", "_sent")

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        most = max(int(rate.requests), rate.burst, 1)
        self._sent: deque[Sent] = deque(maxlen=min(most, MOST_REMEMBERED))

    def note(self, sent: Sent) -> None:
        """Count a request, whether Redis or this limit allowed it."""
        self._sent.append(sent)

    def since(self, moment: float) -> list[Sent]:
        """Return the requests sent after *moment*, the latest first."""
        return [*takewhile(lambda sent: sent.moment > moment, reversed(self._sent))]

    def wait(self, now: float, replicas: int, ahead: int = 0) -> float:
        """Return the seconds until this replica, one of *replicas*, may send one more."""
        interval = self._rate.seconds / self._rate.requests * replicas
        part = self._part(int(self._rate.requests) // replicas)
        burst = min(self._part(self._rate.burst // replicas), part)
        wait = max(
            self._until(now, part, self._rate.seconds, ahead),
            self._until(now, burst, burst * interval, ahead),
        )
        return wait if wait > _EPSILON else 0.0

    def _part(self, number: int) -> int:
        return max(1, min(number, self._sent.maxlen or 1))

    def _until(self, now: float, most: int, span: float, ahead: int) -> float:
        """Return the seconds until fewer than *most* requests were sent in *span*."""
        laps, ahead = divmod(ahead, most)
        entry = len(self._sent) - most + ahead
        left = self._sent[entry].moment + span - now if entry >= 0 else 0.0
        return laps * span + max(0.0, min(left, span))


class Grant(NamedTuple):
    """A reply of Redis."""

    name: str
    """Of the tokens: each has a number, too."""
    epoch: str
    wait: float
    rest: float
    left: int
    taken: int
    leased: int
    lost: bool = False

    def name_of(self, number: int) -> str:
        """Return the name of a token; the leased ones are the last."""
        return f"{self.name}:{number + 1}"


class Leased(NamedTuple):
    """A token, and until when it may be used."""

    name: str
    until: float


class Left(NamedTuple):
    """How many requests all replicas together could still send at the last reply of Redis."""

    moment: float
    number: int


class PurposeState:
    """The state of one replica for one purpose at one archive."""

    def __init__(
        self, archive: str, purpose: Purpose, rate: Rate, next_name: Callable[[], str]
    ) -> None:
        place = f"timegate:1:{{{archive}}}:{purpose}"
        self.keys = [f"{place}:sent", f"{place}:bucket"]
        self.fallback = LocalFallback(rate)
        self.next_name = next_name
        self._window = Window.of(rate)
        interval = rate.seconds / rate.requests
        self._interval = max(int(interval * _MICRO), 1)
        self._burst = rate.burst
        spans = [LONGEST_LEASE, rate.burst * interval / 4]
        self._lease = min([*spans, self._window.span / 4] if self._window.most else spans)
        most_leased = int(self._lease / interval / 2)
        # The archives of the registry allow less: there nothing is leased.
        self._most_leased = min(MOST_LEASED, most_leased) if most_leased >= _LEAST else 0
        self._leased: deque[Leased] = deque()
        self._asked_at = float("-inf")
        self._used = 0
        """Tokens that were used since Redis was asked."""
        self._epoch = ""
        self._unreported: dict[str, float] = {}
        self._left: Left | None = None
        self._sent_alone = 0
        """Requests that were sent since `_left` was known, and that are not in it."""

    def note(self, sent: Sent, *, reported: bool) -> None:
        """Note a request that is sent now; *reported*: Redis knows it."""
        self._used += 1
        self._sent_alone += not reported
        self.fallback.note(sent)
        if not reported and self._window.most:
            self._unreported[sent.name] = sent.moment

    def leased(self, now: float) -> int:
        """Return how many leased tokens there are."""
        while self._leased and self._leased[0].until <= now:
            self._leased.popleft()
        return len(self._leased)

    @property
    def runs_low(self) -> bool:
        """Whether more should be leased: there are few left of as many as may be leased."""
        return 4 * len(self._leased) < self._most_leased

    def use_leased(self, now: float) -> bool:
        """Use a leased token; return False if there is none."""
        if not self.leased(now):
            return False
        self.note(Sent(self._leased.popleft().name, now), reported=True)
        return True

    def left_wait(self, now: float, replicas: int) -> float:
        """Return how long to wait once our share of what all replicas had left is used up.

        Redis may merely be slow: it replied a moment ago how much was left, and the other
        replicas may still reach it. The rest is theirs until the window has passed.
        """
        if self._left is None or not self._window.most:
            return 0.0
        if self._sent_alone < self._left.number // replicas:
            return 0.0
        return max(0.0, self._left.moment + self._window.span - now)

    def unreported(self, now: float) -> list[Sent]:
        """Return the requests that Redis does not know and that still count."""
        if not self._unreported:
            return []
        first = now - self._window.span
        self._unreported = {
            n: moment for n, moment in self._unreported.items() if moment > first
        }
        return [Sent(*item) for item in list(self._unreported.items())[-_MOST_REPORTED:]]

    def arguments(
        self, name: str, tokens: tuple[int, int, int], reports: list[Sent], now: float
    ) -> list[str | float]:
        """Return the arguments of the script.

        *tokens* are the number wanted now, the number to lease, and how many are ahead.
        """
        most, span = self._window
        ages = [word for s in reports for word in (s.name, int((now - s.moment) * _MICRO))]
        rate = [most, int(span * _MICRO), self._interval, self._burst]
        # A request may be sent `REDIS_TIME` after Redis counted it.
        valid = [int(REDIS_TIME * _MICRO), int(self._lease * _MICRO)]
        return [*tokens, *rate, *valid, self._epoch, token_hex(8), name, *ages]

    def probable_need(self, now: float) -> int:
        """Return how many tokens a lease would be used for, at the speed of this moment."""
        elapsed = max(now - self._asked_at, _SHORTEST)
        return min(int(self._used / elapsed * self._lease), self._most_leased)

    def note_reply(
        self, grant: Grant, reports: list[Sent], asked_at: float, now: float
    ) -> bool:
        """Note a reply; return False if Redis has lost its state and must be asked again."""
        self._epoch = grant.epoch
        if grant.lost:
            self._leased.clear()
            recent = self.fallback.since(now - self._window.span) if self._window.most else []
            self._unreported.update({sent.name: sent.moment for sent in recent})
            return False
        for sent in reports:
            self._unreported.pop(sent.name, None)
        self._left, self._sent_alone = Left(now, grant.left), 0
        if grant.taken or grant.leased:
            self._asked_at, self._used = asked_at, 0
        last = grant.taken + grant.leased
        until = asked_at + self._lease
        self._leased += [Leased(grant.name_of(n), until) for n in range(grant.taken, last)]
        return True
