"""Locks on questions under way, so that all replicas together query an archive once.

The first replica holds the lock and renews it; the others wait until it is released, and then
look for the answer in the cache. A lock that is not renewed expires after 1.5 s: its holder has
died, and each of the others queries the archive itself.

The locks of one page at one time are one hash, so that a request to many archives takes all of
its locks with one command, and releases them with few. A lock that is released leaves a note
for 2 s: a replica that finds no note needs not look into the cache once more.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_hex
from typing import Final

from archives.moment import Moment
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.connections import Word
from timegate.resolution.context import RequestContext, TimeBudget
from timegate.resolution.model import Direction

LEASE: Final = 1.5
"""Seconds. A quarter of the soft deadline is left after waiting for a replica that died."""
NOTED: Final = 2.0
"""Seconds for which it is noted that a question was answered."""
_RENEWAL: Final = 0.5
_LONGEST: Final = 15.0
"""Seconds: the longest time that a question can be under way."""
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.1
_MOST_HELD: Final = 10_000
_FREE: Final = 0
_HELD: Final = 1
_ANSWERED: Final = 2

# A field is an archive; its value is the token of the holder, "-" when it was released, and
# until when that counts, in milliseconds. What is later than any lock can last was written by
# another program, or before the clock was corrected.
_CLOCK: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function standing(field)
  local value = redis.call('HGET', KEYS[1], field) or ''
  local token, till = string.match(value, '^(%S+) (%d+)$')
  local left = (tonumber(till or '') or 0) - now
  if left <= 0 or left > 2000 then return '', 0 end
  return token, token == '-' and 2 or 1
end
local function keep(field, token, milliseconds)
  redis.call('HSET', KEYS[1], field, token .. ' ' .. string.format('%.0f', now + milliseconds))
  if redis.call('PTTL', KEYS[1]) < tonumber(milliseconds) then
    redis.call('PEXPIRE', KEYS[1], milliseconds)
  end
end
"""
# ARGV: milliseconds, token, fields. Returns for each field 1 if another holds its lock; if not,
# the lock is taken, and 2 means that the question was answered a moment ago.
_LOCK: Final = Script(
    _CLOCK
    + """
local found = {}
for i = 3, #ARGV do
  local _, kind = standing(ARGV[i])
  if kind ~= 1 then keep(ARGV[i], ARGV[2], ARGV[1]) end
  found[#found + 1] = kind
end
return found
"""
)
_LOOK: Final = Script(_CLOCK + "local _, kind = standing(ARGV[1]) return kind")
# ARGV: milliseconds, the token that is expected, the token that takes its place, fields.
_REPLACE: Final = Script(
    _CLOCK
    + """
for i = 4, #ARGV do
  if standing(ARGV[i]) == ARGV[2] then keep(ARGV[i], ARGV[3], ARGV[1]) end
end
return 1
"""
)

Question = tuple[str, str, Moment | None, Direction]


async def _at_once(_: str) -> None: ...


@dataclass(slots=True)
class _PageLocks:
    """The locks of one page at one time that are wanted together."""

    name: str
    original: str
    budget: TimeBudget | None
    """In which they are asked for: that of the first question. All are charged."""
    wanted: dict[str, "asyncio.Future[object]"] = field(default_factory=dict)
    others: list[TimeBudget] = field(default_factory=list)

    def want(
        self, archive: str, budget: TimeBudget | None, now: float
    ) -> "asyncio.Future[object]":
        """Return the future of what is found there; of None if Redis is unavailable."""
        if budget is not None and budget is not self.budget:
            budget.begin(now)
            self.others.append(budget)
        reply = self.wanted[archive] = asyncio.get_running_loop().create_future()
        return reply

    def settle(self, found: object, now: float) -> list[str]:
        """Distribute a reply; return the archives whose lock is held and no longer wanted."""
        for budget in self.others:
            budget.end(now)
        number = len(self.wanted)
        codes = found if isinstance(found, list) and len(found) == number else [None] * number
        unwanted = []
        for (archive, reply), code in zip(self.wanted.items(), codes, strict=True):
            if not reply.done():
                reply.set_result(code)
            elif code in (_FREE, _ANSWERED):
                unwanted.append(archive)
        return unwanted


class Locks:
    """The locks of one set of archives.

    *version* names the set of archives, as in the keys of the cache. Archives in *restricted*
    are queried by each replica for itself: an authorised question never joins an anonymous one
    (R-13).
    """

    def __init__(
        self, client: RedisClient, version: str, *, restricted: Collection[str] = ()
    ) -> None:
        self._client = client
        self._version = version
        self._restricted = frozenset(restricted)
        self._token = token_hex(8)
        self._held: dict[Question, str] = {}
        """The name of the hash that has the lock of a question."""
        self._batches: dict[str, _PageLocks] = {}
        self._releasing: dict[str, list[str]] = {}
        self.written: Callable[[str], Awaitable[None]] = _at_once
        """Waits until the answers about a URL are in the cache of all replicas."""

    async def wait(self, question: Question, context: RequestContext) -> float | None:
        """Wait while another replica has *question* under way; return for how many seconds.

        0 means that this replica now holds the lock, and that another had an answer a moment
        ago; None that no answer can be expected: no other replica asked, the archive is
        restricted, the answer would not be cached, or Redis is unavailable. In any case `done`
        must follow.
        """
        archive, original, _, direction = question
        # Answers for other directions are not cached, so waiting would be useless.
        alone = archive in self._restricted or direction != "closest"
        if alone or len(self._held) >= _MOST_HELD:
            return None
        name, budget = self._name(question), context.redis_time
        batch = self._batches.get(name)
        if batch is None or archive in batch.wanted:
            batch = self._batches[name] = _PageLocks(name, original, budget)
            asyncio.get_running_loop().call_soon(self._send, batch)
        found = await batch.want(archive, budget, self._client.now())
        if found == _HELD:
            return await self._wait_for_release(name, archive, budget)
        if found in (_FREE, _ANSWERED):
            self._held[question] = name
        return 0.0 if found == _ANSWERED else None

    def done(self, question: Question) -> None:
        """Release the lock as soon as the answer is in the cache."""
        name = self._held.pop(question, None)
        if name is not None:
            self._release(name, question[0], question[1])

    async def keep_renewing(self) -> None:
        """Renew the locks that are held, for ever."""
        while True:
            await asyncio.sleep(_RENEWAL)
            held: dict[str, list[str]] = {}
            for (archive, *_), name in self._held.items():
                held.setdefault(name, []).append(archive)
            for name, archives in held.items():
                await self._replace(name, self._token, LEASE, archives)

    def _send(self, batch: _PageLocks) -> None:
        if self._batches.get(batch.name) is batch:
            del self._batches[batch.name]
        self._client.in_background(self._lock(batch))

    async def _lock(self, batch: _PageLocks) -> None:
        words: list[Word] = [int(LEASE * 1000), self._token, *batch.wanted]
        found: object = None
        try:
            found = await self._client.script(_LOCK, [batch.name], *words, budget=batch.budget)
        except RedisUnavailable:
            pass
        except Spoiled:
            await self._forget(batch.name)
        finally:
            for archive in batch.settle(found, self._client.now()):
                self._release(batch.name, archive, batch.original)

    def _release(self, name: str, archive: str, original: str) -> None:
        """Release a lock, together with others of the same page."""
        waiting = self._releasing.get(name)
        if waiting is None:
            self._releasing[name] = [archive]
            self._client.in_background(self._released(name, original))
        else:
            waiting.append(archive)

    async def _released(self, name: str, original: str) -> None:
        try:
            await self.written(original)
        finally:
            archives = self._releasing.pop(name)
        await self._replace(name, "-", NOTED, archives)

    async def _wait_for_release(
        self, name: str, archive: str, budget: TimeBudget | None
    ) -> float:
        clock = asyncio.get_running_loop().time
        began = clock()
        pause = _FIRST_PAUSE
        while clock() - began < _LONGEST and await self._is_held(name, archive):
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 -- a spread
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        # The wait was for an archive, not for Redis. Without time for the lookup that follows,
        # the archive would be queried again.
        if budget is not None:
            budget.renew()
        return max(clock() - began, 1e-6)

    async def _is_held(self, name: str, archive: str) -> bool:
        try:
            return await self._client.script(_LOOK, [name], archive) == _HELD
        except (RedisUnavailable, Spoiled):
            return False

    async def _replace(
        self, name: str, token: str, seconds: float, archives: Collection[str]
    ) -> None:
        words: list[Word] = [int(seconds * 1000), self._token, token, *archives]
        try:
            await self._client.script(_REPLACE, [name], *words)
        except (RedisUnavailable, Spoiled):
            return

    async def _forget(self, name: str) -> None:
        """Remove what another program has written in place of the locks."""
        try:
            await self._client.write(name, "UNLINK", name)
        except (RedisUnavailable, Spoiled):
            return

    def _name(self, question: Question) -> str:
        _, original, at, _ = question
        moment = "latest" if at is None else at.digits
        text = f"{self._version} {moment} {original}"
        return f"timegate:1:lock:{blake2b(text.encode(), digest_size=16).hexdigest()}"
