"""A `Store` that all replicas share, with a memory of the last seconds in front.

What is read is checked: its length, its version, its checksum, and whether it lies under the
key for which it was written. Whoever can write to Redis can still invent values with a right
checksum; those are checked again by who decodes them, as with any store (SE-17).
"""

import asyncio
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from cachetools import TTLCache

from timegate.cache.store import LONGEST, Clock, Kept, Stored, Unavailable
from timegate.redis.client import RedisClient, RedisUnavailable, Spoiled
from timegate.redis.connections import Down
from timegate.resolution.context import TimeBudget

_PREFIX: Final = "timegate:1:cache:"
_HEAD: Final = struct.Struct("<BIddd")
"""The version, CRC-32 of key and all that follows it, when it was said, until when it is fresh,
and until when it is of any worth."""
_VERSION: Final = 1
LARGEST: Final = 1 << 20
"""Octets of a value; reliability: Redis value."""
FRONT: Final = 8 << 20
"""Octets that this process keeps."""
RECENT: Final = 2.0
"""Seconds for which what was seen is not looked up again. As long may others still see what
was deleted."""
_AT_ONCE: Final = 100
_PURGING: Final = 30.0
"""Seconds until a purge is given up; half a million keys a second are looked at on loopback."""


class RedisStore:
    """A store in Redis or Valkey."""

    def __init__(
        self,
        client: RedisClient,
        *,
        clock: Clock = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        recent: float = RECENT,
    ) -> None:
        self.rejected = 0
        """Values that were none of ours."""
        self._client = client
        self._clock = clock
        self._asked: dict[str, asyncio.Task[Kept | None]] = {}
        self._front: TTLCache[str, Kept] = TTLCache(FRONT, recent, monotonic, _weight)

    @property
    def trouble(self) -> str | None:
        return self._client.trouble

    async def get(self, key: str, budget: TimeBudget | None = None) -> Stored | None:
        kept = self._front.get(key)
        if kept is None and not self._client.is_away(_PREFIX + key):
            kept = await asyncio.shield(self._asked.get(key) or self._look_up(key, budget))
        return None if kept is None else kept.seen(self._clock())

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        kept = Kept.of(value, self._clock(), lifetime, stale_for)
        milliseconds = int((kept.until - kept.said) * 1000)
        if len(value) > LARGEST or milliseconds <= 0:
            return
        self._asked.pop(key, None)
        self._front[key] = kept
        name = _PREFIX + key
        packed = _packed(name, kept)
        try:
            await self._client.write(
                name, "SET", name, packed, "PX", milliseconds, budget=budget
            )
        except (RedisUnavailable, Spoiled):
            return

    async def delete(self, key: str) -> None:
        self._asked.pop(key, None)
        self._front.pop(key, None)
        name = _PREFIX + key
        try:
            await self._client.write(name, "UNLINK", name)
        except (RedisUnavailable, Spoiled) as error:
            raise self._unavailable() from error

    async def purge(self, prefix: str) -> int:
        for key in [key for key in (*self._front, *self._asked) if key.startswith(prefix)]:
            self._asked.pop(key, None)
            self._front.pop(key, None)
        try:
            async with asyncio.timeout(_PURGING):
                return await self._purged(_PREFIX + _literally(prefix) + "*")
        except (RedisUnavailable, Spoiled, Down, TimeoutError) as error:
            raise self._unavailable() from error

    async def close(self) -> None:
        self._front.clear()

    def _look_up(self, key: str, budget: TimeBudget | None) -> "asyncio.Task[Kept | None]":
        """Look up a key once for all concurrent requests, in the time of the first."""
        task = asyncio.get_running_loop().create_task(self._looked_up(key, budget))
        self._asked[key] = task
        task.add_done_callback(lambda done: self._found(key, done))
        return task

    async def _looked_up(self, key: str, budget: TimeBudget | None) -> Kept | None:
        name = _PREFIX + key
        try:
            # Not more than a value can have, whatever lies there.
            most = LARGEST + _HEAD.size
            value = await self._client.read(name, "GETRANGE", name, 0, most, budget=budget)
        except RedisUnavailable:
            return None
        except Spoiled:
            self.rejected += 1
            return None
        if value == b"":
            return None
        kept = _unpacked(name, value)
        if kept is None:
            self.rejected += 1
        return kept

    def _found(self, key: str, task: "asyncio.Task[Kept | None]") -> None:
        """Keep what was found, unless the key was changed here meanwhile."""
        if self._asked.get(key) is not task:
            return
        del self._asked[key]
        kept = None if task.cancelled() else task.result()
        if kept is not None:
            self._front[key] = kept

    async def _purged(self, pattern: str) -> int:
        removed = 0
        async with aclosing(self._client.scan(pattern)) as portions:
            async for names in portions:
                keys = list({name.decode(errors="replace") for name in names})
                for first in range(0, len(keys), _AT_ONCE):
                    removed += await self._unlinked(keys[first : first + _AT_ONCE])
        return removed

    async def _unlinked(self, names: list[str]) -> int:
        """Remove some keys, each by a command: in a Cluster they lie in different slots."""
        told = await asyncio.gather(
            *(self._client.write(name, "UNLINK", name) for name in names)
        )
        return sum(answer == 1 for answer in told)

    def _unavailable(self) -> Unavailable:
        return Unavailable(self.trouble or "the shared memory did not answer in time")


def _weight(kept: Kept) -> int:
    return len(kept.value) + 400


def _literally(prefix: str) -> str:
    """Return *prefix* as a pattern that matches itself."""
    return "".join(f"\\{letter}" if letter in "\\*?[]^-" else letter for letter in prefix)


def _packed(name: str, kept: Kept) -> bytes:
    times = struct.pack("<ddd", kept.said, kept.fresh_until, kept.until)
    checksum = zlib.crc32(kept.value, zlib.crc32(times, zlib.crc32(name.encode())))
    return bytes((_VERSION,)) + checksum.to_bytes(4, "little") + times + kept.value


def _unpacked(name: str, packed: object) -> Kept | None:
    """Return what was kept under *name*; None if that is not what we have written."""
    if not isinstance(packed, bytes) or not _HEAD.size <= len(packed) <= LARGEST + _HEAD.size:
        return None
    version, checksum, said, fresh, until = _HEAD.unpack_from(packed)
    found = zlib.crc32(memoryview(packed)[5:], zlib.crc32(name.encode()))
    if version != _VERSION or checksum != found:
        return None
    if not said <= fresh <= until <= said + LONGEST:
        return None
    return Kept(packed[_HEAD.size :], said, fresh, until)
