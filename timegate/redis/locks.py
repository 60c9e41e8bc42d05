"""Locks on questions under way, so that all replicas together query an archive once.

The first replica holds the lock and renews it; the others wait until it is released, and then
look for the answer in the cache. A lock that is not renewed expires after 1.5 s: its holder has
died, and each of the others queries the archive itself.
"""

import asyncio
import random
from collections.abc import Collection
from hashlib import blake2b
from secrets import token_hex
from typing import Final

from archives.moment import Moment
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.resolution.context import RequestContext, TimeBudget
from timegate.resolution.model import Direction

LEASE: Final = 1.5
"""Seconds. A quarter of the soft deadline is left after waiting for a replica that died."""
_RENEWAL: Final = 0.5
_LONGEST: Final = 15.0
"""Seconds: the longest time that a question can be under way."""
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.1
_MOST_HELD: Final = 10_000

_RELEASE: Final = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
""")
_RENEW: Final = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
""")

Question = tuple[str, str, Moment | None, Direction]


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
        self._held: dict[Question, tuple[str, str]] = {}

    async def wait(self, question: Question, context: RequestContext) -> float | None:
        """Wait while another replica has *question* under way; return for how many seconds.

        0 means that this replica now holds the lock, None that there is no lock: the archive is
        restricted, the answer would not be cached, or Redis is unavailable. In any case `done`
        must follow.
        """
        archive, _, _, direction = question
        # Answers for other directions are not cached, so waiting would be useless.
        alone = archive in self._restricted or direction != "closest"
        if alone or len(self._held) >= _MOST_HELD:
            return None
        name, token = self._name(question), token_hex(8)
        lease, budget = int(LEASE * 1000), context.redis_time
        try:
            got = await self._client.write(
                name, "SET", name, token, "NX", "PX", lease, budget=budget
            )
        except (RedisUnavailable, Spoiled):
            return None
        if got is None:
            return await self._wait_for_release(name, budget)
        self._held[question] = name, token
        return 0.0

    def done(self, question: Question) -> None:
        """Release the lock; the answer must be in the cache by now."""
        held = self._held.pop(question, None)
        if held is not None:
            self._client.in_background(self._run_script(_RELEASE, *held))

    async def keep_renewing(self) -> None:
        """Renew the locks that are held, for ever."""
        while True:
            await asyncio.sleep(_RENEWAL)
            for name, token in list(self._held.values()):
                await self._run_script(_RENEW, name, token, int(LEASE * 1000))

    async def _wait_for_release(self, name: str, budget: TimeBudget | None) -> float:
        clock = asyncio.get_running_loop().time
        began = clock()
        pause = _FIRST_PAUSE
        while clock() - began < _LONGEST and await self._is_held(name):
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 -- a spread
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        # The wait was for an archive, not for Redis. Without time for the lookup that follows,
        # the archive would be queried again.
        if budget is not None:
            budget.renew()
        return max(clock() - began, 1e-6)

    async def _is_held(self, name: str) -> bool:
        """Whether the lock exists; a key without expiry, or with a longer one, is no lock."""
        try:
            left = await self._client.read(name, "PTTL", name)
        except (RedisUnavailable, Spoiled):
            return False
        return isinstance(left, int) and 0 <= left <= LEASE * 1000

    async def _run_script(self, script: Script, name: str, *words: str | float) -> None:
        try:
            await self._client.script(script, [name], *words)
        except (RedisUnavailable, Spoiled):
            return

    def _name(self, question: Question) -> str:
        archive, original, at, _ = question
        moment = "latest" if at is None else at.digits
        text = f"{self._version} {archive} {moment} {original}"
        return f"timegate:1:lock:{blake2b(text.encode(), digest_size=16).hexdigest()}"
