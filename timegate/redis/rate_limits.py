"""`RateLimiter` in Redis: the limit of an archive holds for the sum of all replicas.

One script reads, decides and notes atomically, by the clock of the server, so that the clocks
of the replicas do not matter. Every request has a name. A server that was restarted empty is
recognised by its epoch, and each replica reports to it what it had sent; so does a replica that
could not reach the server and used its own share.

The requests of a replica that want a token at the same time ask for it together. At an archive
that allows many, a replica leases as many more as it will probably need in the next moment. A
token counts until it can no longer be used, and then for the whole window; so what is leased is
never sent in addition to the limit, and what is not used is lost.

While Redis is unavailable, the limit of an archive is divided by the number of replicas
(`LocalFallback`). Earlier requests count, so that losing Redis grants no second allowance.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count, zip_longest
from secrets import token_hex
from typing import Final

from archives.model import ArchiveEntry, Limits
from archives.source import Purpose
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.rate_state import MOST_LEASED, Grant, PurposeState, Sent
from timegate.resolution.context import TimeBudget

LONGEST_REST: Final = 3600.0
"""Seconds; the longest Retry-After that is honoured. No value in Redis pauses an archive
longer."""
_MICRO: Final = 1_000_000
_LOST: Final = -1
_SOON: Final = 0.001
"""Seconds: the shortest wait that is returned for a token that was not granted."""

# KEYS: requests by time, the bucket, the end of the pause. The epoch is stored among the
# requests with an infinite time: whatever loses them (a restart, FLUSHALL, eviction) loses it
# as well. The time of a request is the latest at which it can be sent.
# ARGV: tokens that are wanted now, tokens to lease, number of requests ahead, most in a window
# (0: no window), its length, the interval of the bucket, its burst, for how long a token is
# valid that is wanted now, and one that is leased; the epoch we know or "", a new epoch if
# there is none, the name of these tokens, then name and age of the requests to report.
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
local wanted, extra, ahead = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local most, window = tonumber(ARGV[4]), tonumber(ARGV[5])
local interval, burst = tonumber(ARGV[6]), tonumber(ARGV[7])
local hold, lease = tonumber(ARGV[8]), tonumber(ARGV[9])

local rest = math.min(math.max(number(KEYS[3]) - now, 0), 3600000000)
local epoch = ''
local sent = 0
if most > 0 then
  epoch = redis.call('ZRANGEBYSCORE', KEYS[1], 'inf', 'inf', 'LIMIT', 0, 1)[1]
  if not epoch or not string.match(epoch, '^%x+$') or #epoch ~= #ARGV[11] then
    redis.call('DEL', KEYS[1])
    epoch = ARGV[11]
    redis.call('ZADD', KEYS[1], 'inf', epoch)
  end
  redis.call('PEXPIRE', KEYS[1], 86400000)
  if ARGV[10] ~= '' and ARGV[10] ~= epoch then
    return {epoch, -1, whole(rest), '0', 0, 0}
  end
  for i = 13, #ARGV, 2 do
    redis.call('ZADD', KEYS[1], 'NX', whole(now - ARGV[i + 1]), ARGV[i])
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now - window))
  redis.call('ZREMRANGEBYSCORE', KEYS[1], whole(now + window + lease), '(inf')
  sent = redis.call('ZCARD', KEYS[1]) - 1
end
local latest = now + burst * interval + lease
local tat = math.min(math.max(number(KEYS[2]), now), latest)

local free = math.max(math.floor((now + burst * interval - tat) / interval), 0)
if most > 0 then free = math.min(free, math.max(most - sent, 0)) end
if rest > 0 then free = 0 end
local taken = math.min(wanted, free)
-- Three quarters of what is free stay for the other replicas.
local leased = taken == wanted and math.min(extra, math.floor((free - taken) / 4)) or 0
if taken + leased > 0 then
  tat = tat + taken * interval
  -- A leased token may be sent late, and the bucket is not full again before.
  if leased > 0 then tat = math.max(tat, now + lease) + leased * interval end
  local kept = whole((tat - now) / 1000 + 1000)
  redis.call('SET', KEYS[2], whole(tat), 'PX', kept)
  if most > 0 then
    for i = 1, taken + leased do
      local till = now + (i > taken and lease or hold)
      redis.call('ZADD', KEYS[1], 'NX', whole(till), ARGV[12] .. ':' .. i)
    end
    sent = sent + taken + leased
  end
end

local wait = 0
if wanted == 0 or taken < wanted then
  local laps = 0
  if most > 0 then
    laps = math.floor(ahead / most)
    ahead = ahead % most
  end
  wait = math.max(tat + ahead * interval - (burst - 1) * interval - now, 0)
  local place = sent - most + ahead
  if most > 0 and place >= 0 then
    local entry = redis.call('ZRANGE', KEYS[1], place, place, 'WITHSCORES')
    wait = math.max(wait, math.min(tonumber(entry[2]) + window - now, window + lease))
  end
  wait = math.max(wait + laps * window, rest)
end
return {epoch, whole(wait), whole(rest), whole(math.max(most - sent, 0)), taken, leased}
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


Taker = asyncio.Future[float]
"""One that wants a token: 0 when it has one, or the seconds to wait."""


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
        self._states: dict[Purpose, PurposeState] = {
            "memento": PurposeState(archive, "memento", limits.memento, names.__next__),
            "index": PurposeState(archive, "index", limits.index, names.__next__),
        }
        self._takers: dict[Purpose, list[Taker]] = {"memento": [], "index": []}
        self._asking: set[Purpose] = set()
        """Purposes for which tokens are being asked for."""

    def take_now(self, purpose: Purpose) -> bool:
        """Use a leased token, if there is one; the next lease is asked for in time."""
        now, state = self._clock(), self._states[purpose]
        if now < self._rests_until or not state.use_leased(now):
            return False
        if state.runs_low:
            self._start_asking(purpose)
        return True

    async def outlook(
        self, purpose: Purpose, ahead: int, budget: TimeBudget | None = None
    ) -> float:
        state, now = self._states[purpose], self._clock()
        if now >= self._rests_until and state.leased(now) > ahead:
            return 0.0
        try:
            granted = await self._granted(state, 0, ahead, budget)
        except (RedisUnavailable, Spoiled):
            return self._local_wait(state, ahead)
        return granted.wait

    async def take(self, purpose: Purpose, budget: TimeBudget | None = None) -> float:
        if self.take_now(purpose):
            return 0.0
        taker: Taker = asyncio.get_running_loop().create_future()
        self._takers[purpose].append(taker)
        self._start_asking(purpose)
        try:
            return await self._client.within(budget, taker)
        except RedisUnavailable:
            return self._taken_alone(self._states[purpose])

    async def rest(self, seconds: float, budget: TimeBudget | None = None) -> None:
        seconds = min(seconds, LONGEST_REST)
        self._rests_until = max(self._rests_until, self._clock() + seconds)
        await self._report_rest(budget)

    async def resting(self) -> float:
        """Return the pause this replica knows of; `take` learns those of the others."""
        return max(0.0, self._rests_until - self._clock())

    def _start_asking(self, purpose: Purpose) -> None:
        if purpose not in self._asking:
            self._asking.add(purpose)
            self._client.in_background(self._ask(purpose))

    async def _ask(self, purpose: Purpose) -> None:
        """Ask for tokens while any are wanted: once for all that want one at a time."""
        takers: list[Taker] = []
        try:
            while True:
                takers, self._takers[purpose] = self._takers[purpose], []
                takers = [taker for taker in takers if not taker.done()]
                await self._serve(self._states[purpose], takers)
                if not self._takers[purpose]:
                    return
        finally:
            self._asking.discard(purpose)
            for taker in (*takers, *self._takers[purpose]):
                if not taker.done():
                    taker.set_result(self._taken_alone(self._states[purpose]))

    async def _serve(self, state: PurposeState, takers: "list[Taker]") -> None:
        granted: Grant | None = None
        with suppress(RedisUnavailable, Spoiled):
            granted = await self._granted(state, len(takers), 0, leasing=True)
        names = [] if granted is None else [*map(granted.name_of, range(granted.taken))]
        # A token for one that has given up meanwhile is lost.
        for taker, name in zip_longest(takers, names):
            if taker.done():
                continue
            if name is not None:
                state.note(Sent(name, self._clock()), reported=True)
                taker.set_result(0.0)
            elif granted is None:
                taker.set_result(self._taken_alone(state))
            else:
                taker.set_result(max(granted.wait, _SOON))

    async def _granted(
        self,
        state: PurposeState,
        wanted: int,
        ahead: int,
        budget: TimeBudget | None = None,
        *,
        leasing: bool = False,
    ) -> Grant:
        """Take as many tokens as are *wanted*, or fewer; *leasing*: or more."""
        if self._rests_until > self._reported_rest_until:
            await self._report_rest(budget)
        for _ in range(2):
            asked_at = self._clock()
            reports = state.unreported(asked_at)
            name = state.next_name()
            need = state.probable_need(asked_at) if leasing else 0
            arguments = state.arguments(name, (wanted, need, ahead), reports, asked_at)
            keys = [*state.keys, self._rest_key]
            try:
                reply = await self._client.script(_TAKE, keys, *arguments, budget=budget)
            except Spoiled:
                await self._client.write(keys[0], "UNLINK", *keys, budget=budget)
                raise
            grant = _checked(reply, name, wanted)
            self._learn_rest(grant.rest)
            if state.note_reply(grant, reports, asked_at, self._clock()):
                return grant
        raise RedisUnavailable

    def _taken_alone(self, state: PurposeState) -> float:
        """Take a token without Redis, and return 0; or return the seconds to wait."""
        wait = self._local_wait(state, 0)
        if wait <= 0.0:
            state.note(Sent(state.next_name(), self._clock()), reported=False)
        return wait

    def _local_wait(self, state: PurposeState, ahead: int) -> float:
        """Return the seconds to wait, without Redis."""
        now, replicas = self._clock(), self._replicas()
        wait = max(
            state.fallback.wait(now, replicas, ahead),
            state.left_wait(now, replicas),
            self._rests_until - now,
        )
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


def _checked(reply: object, name: str, wanted: int) -> Grant:
    """Return the reply to a request for tokens. Raises RedisUnavailable for anything else."""
    match reply:
        case [bytes(epoch), bytes() | int() as wait, bytes(rest), bytes(left), int(t), int(e)]:
            pass
        case _:
            raise RedisUnavailable
    try:
        numbers = int(wait), int(rest), int(left)
    except ValueError as error:
        raise RedisUnavailable from error
    if not (epoch.isalnum() or not epoch) or not (0 <= t <= wanted and 0 <= e <= MOST_LEASED):
        raise RedisUnavailable
    waited, rested, free = (max(number, 0) for number in numbers)
    lost = numbers[0] == _LOST
    return Grant(name, epoch.decode(), waited / _MICRO, rested / _MICRO, free, t, e, lost=lost)
