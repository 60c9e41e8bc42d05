"""How many share the limits of the archives: each says now and then that it is there."""

from typing import Final

from timegate.sharing.client import RedisClient, RedisUnavailable, Script, Spoiled

BEAT: Final = 2.0
"""Seconds between two signs of life."""
_SILENT: Final = 10.0
"""Seconds after which a replica is taken for gone. Longer than a pause in which Redis is left
alone, so that a short trouble does not make the parts of the others larger."""
_MOST: Final = 1000
_KEY: Final = "timegate:1:{replicas}"

_BEAT: Final = Script("""
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ARGV[2], '+inf')
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] * 1000))
return redis.call('ZCARD', KEYS[1])
""")


class Replicas:
    """Counts them. Without a count, *expected* there are."""

    def __init__(self, client: RedisClient, name: str, expected: int | None = None) -> None:
        self._client = client
        self._name = name
        self._expected = expected or 1
        # Who shares is not alone; the first count says by how many.
        self._seen = expected or 2

    @property
    def number(self) -> int:
        """How many there are; never fewer than expected."""
        return max(self._seen, self._expected)

    async def beat(self) -> None:
        """Say that this one is there, and count."""
        try:
            seen = await self._client.script(_BEAT, [_KEY], self._name, _SILENT, counted=False)
        except RedisUnavailable:
            return
        except Spoiled:
            await self._forget()
            return
        if isinstance(seen, int):
            self._seen = min(max(seen, 1), _MOST)

    async def leave(self) -> None:
        """Say that this one is gone."""
        try:
            await self._client.write(_KEY, "ZREM", _KEY, self._name)
        except (RedisUnavailable, Spoiled):
            return

    async def _forget(self) -> None:
        try:
            await self._client.write(_KEY, "UNLINK", _KEY)
        except (RedisUnavailable, Spoiled):
            return
