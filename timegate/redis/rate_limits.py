"""`RateLimiter` in Redis: the limit of an archive holds for the sum of all replicas.

One script for each request reads, decides and notes atomically, by the clock of the server, so
that the clocks of the replicas do not matter. Every request has a name. A server that was
restarted empty is recognised by its epoch, and each replica reports to it what it had sent; so
does a replica that could not reach the server and used its own share.

While Redis is unavailable, the limit of an archive is divided by the number of replicas
(`LocalFallback`). Earlier requests count, so that losing Redis grants no second allowance.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex
from typing import Final, NamedTuple

from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Purpose
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.time_budget import REDIS_TIME
from timegate.resolution.context import TimeBudget
from timegate.upstream.rate_limit import MOST_REMEMBERED, Window

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
        """Return the requests sent after *moment*."""
        return [sent for sent in self._sent if sent.moment > moment]

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


LONGEST_REST: Final = 3600.0
"""Seconds; the longest Retry-After that is honoured. No value in Redis pauses an archive
longer."""
_MICRO: Final = 1_000_000
_MOST_REPORTED: Final = 500
"""Requests that are reported to one script at once."""
_LOST: Final = -1

# KEYS: requests by time, the bucket, the end of the pause. The epoch is stored among the
# requests with an infinite time: whatever loses them (a restart, FLUSHALL, eviction) loses it
# as well.
# ARGV: 1 to take or 0 to look, number of requests ahead, most in a window (0: no window), its
# length, the interval of the bucket, its burst, the epoch we know or "", a new epoch if there
# is none, the name of this request, then name and age of the requests to report.
# All times are in microseconds. Times later than a window from now were written before the
# clock was corrected.
_TAKE: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local function number(key)
  local value = tonumber(redis.call('GET', key) or '') or 0
  return value == value and value or 0
end
local function whole(value) return string.format('%.0f', value) end
local take, ahead = ARGV[1] == '1', tonumber(ARGV[2])
local most, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local interval, burst = tonumber(ARGV[5]), tonumber(ARGV[6])

local rest = math.min(math.max(number(KEYS[3]) - now, 0), 3600000000)
local epoch = ''
local laps = 0
if most > 0 then
  epoch = redis.call('ZRANGEBYSCORE', KEYS[1], 'inf', 'inf', 'LIMIT', 0, 1)[1]
  if not epoch or not string.match(epoch, '^%x+$') or #epoch ~= #ARGV[8] then
    redis.call('DEL', KEYS[1])
    epoch = ARGV[8]
    redis.call('ZADD', KEYS[1], 'inf', epoch)
  end
  redis.call('PEXPIRE', KEYS[1], 86400000)
  if ARGV[7] ~= '' and ARGV[7] ~= epoch then return {epoch, -1, whole(rest), '0'} end
  for i = 10, #ARGV, 2 do
    redis.call('ZADD', KEYS[1], 'NX', whole(now - ARGV[i + 1]), ARGV[i])
  end
  laps = math.floor(ahead / most)
  ahead = ahead % most
end
local tat = math.min(math.max(number(KEYS[2]), now), now + burst * interval)
local wait = math.max(tat + ahead * interval - (burst - 1) * interval - now, 0)
local left = 0
if most > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now - window))
  redis.call('ZREMRANGEBYSCORE', KEYS[1], whole(now + window), '(inf')
  left = math.max(most - redis.call('ZCARD', KEYS[1]) + 1, 0)
  local place = redis.call('ZCARD', KEYS[1]) - 1 - most + ahead
  if place >= 0 then
    local entry = redis.call('ZRANGE', KEYS[1], place, place, 'WITHSCORES')
    wait = math.max(wait, math.min(tonumber(entry[2]) + window - now, window))
  end
end
wait = math.max(wait + laps * window, rest)
if take and wait <= 0 then
  redis.call('SET', KEYS[2], whole(tat + interval), 'PX', whole(burst * interval / 1000 + 1000))
  if most > 0 then redis.call('ZADD', KEYS[1], 'NX', whole(now), ARGV[9]) end
  left = math.max(left - 1, 0)
end
return {epoch, whole(wait), whole(rest), whole(left)}
""")

_REST: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local known = tonumber(redis.call('GET', KEYS[1]) or '') or 0
local wanted = now + ARGV[1]
-- Not "wanted > known": a manipulated value may be no number at all.
if known - now > 3600000000 or not (wanted <= known) then
  redis.call('SET', KEYS[1], string.format('%.0f', wanted), 'PX', ARGV[2])
end
return 1
""")


@dataclass(frozen=True, slots=True)
class RedisRateLimiters:
    """The rate limiters of all archives."""

    client: RedisClient
    replicas: Callable[[], int]
    """Number of replicas that share each limit."""
    clock: Callable[[], float] = time.monotonic
    name: str = field(default_factory=lambda: token_hex(8))
    """The name of this replica among all."""

    def of(self, entry: ArchiveEntry) -> "RedisRateLimiter":
        """Return the rate limiter of *entry*."""
        return RedisRateLimiter(self, entry.id, entry.limits)


class RedisRateLimiter:
    """The rate limiter of one archive."""

    def __init__(self, limiters: RedisRateLimiters, archive: str, limits: Limits) -> None:
        self._client = limiters.client
        self._clock = limiters.clock
        self._replicas = limiters.replicas
        self._rest_key = f"timegate:1:{{{archive}}}:rest"
        self._rests_until = self._reported_rest_until = self._clock()
        names = (f"{limiters.name}:{number}" for number in count())
        self._states: dict[Purpose, _PurposeState] = {
            "memento": _PurposeState(archive, "memento", limits.memento, names.__next__),
            "index": _PurposeState(archive, "index", limits.index, names.__next__),
        }

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        return await self._wait(self._states[purpose], "", ahead, budget)

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        state = self._states[purpose]
        name = state.next_name()
        return await self._wait(state, name, 0, budget)

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        seconds = min(seconds, LONGEST_REST)
        self._rests_until = max(self._rests_until, self._clock() + seconds)
        await self._report_rest(budget)

    async def resting(self) -> float:
        """Return the pause this replica knows of; `take` learns those of the others."""
        return max(0.0, self._rests_until - self._clock())

    async def _wait(
        self, state: "_PurposeState", name: str, ahead: int, budget: TimeBudget | None
    ) -> float:
        """Return the seconds to wait; if there are none and *name* is given, take a token."""
        if self._rests_until > self._reported_rest_until:
            await self._report_rest(budget)
        try:
            wait = await self._shared_wait(state, name, ahead, budget)
        except (RedisUnavailable, Spoiled):
            return self._local_wait(state, name, ahead)
        if name and wait == 0.0:
            state.note(Sent(name, self._clock()), reported=True)
        return wait

    async def _shared_wait(
        self, state: "_PurposeState", name: str, ahead: int, budget: TimeBudget | None
    ) -> float:
        for _ in range(2):
            reports = state.unreported(self._clock())
            arguments = state.arguments(name, ahead, reports, self._clock())
            keys = [*state.keys, self._rest_key]
            try:
                reply = await self._client.script(_TAKE, keys, *arguments, budget=budget)
            except Spoiled:
                await self._client.write(keys[0], "UNLINK", *keys, budget=budget)
                raise
            epoch, wait, rest, left = _checked(reply)
            self._learn_rest(rest)
            if state.note_reply(epoch, reports, self._clock(), lost=wait == _LOST):
                state.left = Left(self._clock(), left)
                return wait
        raise RedisUnavailable

    def _local_wait(self, state: "_PurposeState", name: str, ahead: int) -> float:
        """Decide without Redis."""
        now, replicas = self._clock(), self._replicas()
        wait = max(
            state.fallback.wait(now, replicas, ahead),
            state.left_wait(now, replicas),
            self._rests_until - now,
        )
        if name and wait <= 0.0:
            state.note(Sent(name, now), reported=False)
        return max(wait, 0.0)

    def _learn_rest(self, seconds: float) -> None:
        if seconds > 0:
            until = self._clock() + seconds
            # A pause learned from Redis is not reported to it again; the second allows for the
            # round trip.
            if until > self._rests_until + 1.0:
                self._reported_rest_until = self._rests_until = until

    async def _report_rest(self, budget: TimeBudget | None) -> None:
        until = self._rests_until
        seconds = until - self._clock()
        if seconds > 0:
            arguments = (int(seconds * _MICRO), int(LONGEST_REST * 1000))
            try:
                await self._client.script(_REST, [self._rest_key], *arguments, budget=budget)
            except (RedisUnavailable, Spoiled):
                return
        self._reported_rest_until = until


class Left(NamedTuple):
    """How many requests all replicas together could still send at the last reply of Redis."""

    moment: float
    number: int


class _PurposeState:
    """The state of one replica for one purpose at one archive."""

    def __init__(
        self, archive: str, purpose: Purpose, rate: Rate, next_name: Callable[[], str]
    ) -> None:
        place = f"timegate:1:{{{archive}}}:{purpose}"
        self.keys = [f"{place}:sent", f"{place}:bucket"]
        self.fallback = LocalFallback(rate)
        self.next_name = next_name
        most, span = Window.of(rate)
        # A request may be sent `REDIS_TIME` after Redis counted it; the next must not follow
        # too soon.
        self._window = Window(most, span + REDIS_TIME)
        self._interval = int(rate.seconds / rate.requests * _MICRO)
        self._burst = rate.burst
        self._epoch = ""
        self._unreported: dict[str, float] = {}
        self.left: Left | None = None

    def note(self, sent: Sent, *, reported: bool) -> None:
        """Note a request that is sent now; *reported*: Redis knows it."""
        self.fallback.note(sent)
        if not reported and self._window.most:
            self._unreported[sent.name] = sent.moment

    def left_wait(self, now: float, replicas: int) -> float:
        """Return how long to wait once our share of what all replicas had left is used up.

        Redis may merely be slow: it replied a moment ago how much was left, and the other
        replicas may still reach it. The rest is theirs until the window has passed.
        """
        if self.left is None or not self._window.most:
            return 0.0
        since = len(self.fallback.since(self.left.moment))
        if since < self.left.number // replicas:
            return 0.0
        return max(0.0, self.left.moment + self._window.span - now)

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
        self, name: str, ahead: int, reports: list[Sent], now: float
    ) -> list[str | float]:
        """Return the arguments of the script."""
        most, span = self._window
        ages = [word for s in reports for word in (s.name, int((now - s.moment) * _MICRO))]
        taking = 1 if name else 0
        rate = [most, int(span * _MICRO), self._interval, self._burst]
        return [taking, ahead, *rate, self._epoch, token_hex(8), name, *ages]

    def note_reply(self, epoch: str, reports: list[Sent], now: float, *, lost: bool) -> bool:
        """Note a reply; return False if Redis has lost its state and must be asked again."""
        self._epoch = epoch
        if lost:
            recent = self.fallback.since(now - self._window.span) if self._window.most else []
            self._unreported.update({sent.name: sent.moment for sent in recent})
            return False
        for sent in reports:
            self._unreported.pop(sent.name, None)
        return True


def _checked(reply: object) -> tuple[str, float, float, int]:
    """Return the epoch, the wait and the pause in seconds, and how many requests are left.

    Raises RedisUnavailable for anything else.
    """
    match reply:
        case [bytes(epoch), bytes() | int() as wait, bytes(rest), bytes(left)] if (
            epoch.isalnum() or not epoch
        ):
            try:
                waited, rested, number = int(wait), int(rest), int(left)
            except ValueError as error:
                raise RedisUnavailable from error
            known = epoch.decode()
            if waited == _LOST:
                return known, _LOST, rested / _MICRO, 0
            return known, max(waited, 0) / _MICRO, max(rested, 0) / _MICRO, max(number, 0)
    raise RedisUnavailable
