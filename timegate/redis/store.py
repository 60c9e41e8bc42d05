"""`Store` in Redis, which all replicas share, with a small cache of the last seconds in front.

Values are checked: length, version, checksum, and whether they were written for this key. A
client that can write to Redis can still forge values with a right checksum; the decoder checks
values again, as with any store (SE-17).
"""

import asyncio
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from cachetools import TTLCache

from timegate.cache.store import LONGEST, CacheEntry, Clock, Stored, Unavailable
from timegate.redis.client import RedisClient, RedisUnavailable, Spoiled
from timegate.redis.connections import Down
from timegate.resolution.context import TimeBudget

_PREFIX: Final = "timegate:1:cache:"
_HEAD: Final = struct.Struct("<BIddd")
"""The version, the CRC-32 of the key and of what follows, then three times: when the entry was
written, until when it is fresh, and until when it is kept."""
_VERSION: Final = 1
LARGEST: Final = 1 << 20
"""Bytes of a value."""
FRONT: Final = 8 << 20
"""Bytes of the cache in this process."""
RECENT: Final = 2.0
"""Seconds for which an entry is not looked up again. So long other replicas may still return an
entry that was deleted."""
_UNLINKED_AT_ONCE: Final = 100
_PURGE_TIMEOUT: Final = 30.0
"""Seconds. On loopback half a million keys are scanned in a second."""


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
        """Number of values that were damaged or not written by this program."""
        self._client = client
        self._clock = clock
        self._lookups: dict[str, asyncio.Task[CacheEntry | None]] = {}
        self._recent: TTLCache[str, CacheEntry] = TTLCache(FRONT, recent, monotonic, _weight)

    @property
    def trouble(self) -> str | None:
        return self._client.trouble

    async def get(self, key: str, budget: TimeBudget | None = None) -> Stored | None:
        entry = self._recent.get(key)
        if entry is None and not self._client.is_unavailable(_PREFIX + key):
            entry = await asyncio.shield(self._lookups.get(key) or self._look_up(key, budget))
        return None if entry is None else entry.seen(self._clock())

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        entry = CacheEntry.of(value, self._clock(), lifetime, stale_for)
        milliseconds = int((entry.until - entry.written_at) * 1000)
        if len(value) > LARGEST or milliseconds <= 0:
            return
        self._lookups.pop(key, None)
        self._recent[key] = entry
        name = _PREFIX + key
        packed = _packed(name, entry)
        try:
            await self._client.write(
                name, "SET", name, packed, "PX", milliseconds, budget=budget
            )
        except (RedisUnavailable, Spoiled):
            return

    async def delete(self, key: str) -> None:
        self._lookups.pop(key, None)
        self._recent.pop(key, None)
        name = _PREFIX + key
        try:
            await self._client.write(name, "UNLINK", name)
        except (RedisUnavailable, Spoiled) as error:
            raise self._unavailable() from error

    async def purge(self, prefix: str) -> int:
        for key in [key for key in (*self._recent, *self._lookups) if key.startswith(prefix)]:
            self._lookups.pop(key, None)
            self._recent.pop(key, None)
        try:
            async with asyncio.timeout(_PURGE_TIMEOUT):
                return await self._purged(_PREFIX + _literally(prefix) + "*")
        except (RedisUnavailable, Spoiled, Down, TimeoutError) as error:
            raise self._unavailable() from error

    async def close(self) -> None:
        self._recent.clear()

    def _look_up(
        self, key: str, budget: TimeBudget | None
    ) -> "asyncio.Task[CacheEntry | None]":
        """Look up a key once for all concurrent requests, in the time of the first."""
        task = asyncio.get_running_loop().create_task(self._looked_up(key, budget))
        self._lookups[key] = task
        task.add_done_callback(lambda done: self._lookup_ended(key, done))
        return task

    async def _looked_up(self, key: str, budget: TimeBudget | None) -> CacheEntry | None:
        name = _PREFIX + key
        try:
            # Read no more than a valid value can have.
            most = LARGEST + _HEAD.size
            value = await self._client.read(name, "GETRANGE", name, 0, most, budget=budget)
        except RedisUnavailable:
            return None
        except Spoiled:
            self.rejected += 1
            return None
        if value == b"":
            return None
        entry = _unpacked(name, value)
        if entry is None:
            self.rejected += 1
        return entry

    def _lookup_ended(self, key: str, task: "asyncio.Task[CacheEntry | None]") -> None:
        """Cache the entry, unless the key was changed here meanwhile."""
        if self._lookups.get(key) is not task:
            return
        del self._lookups[key]
        entry = None if task.cancelled() else task.result()
        if entry is not None:
            self._recent[key] = entry

    async def _purged(self, pattern: str) -> int:
        removed = 0
        async with aclosing(self._client.scan(pattern)) as portions:
            async for names in portions:
                keys = list({name.decode(errors="replace") for name in names})
                for first in range(0, len(keys), _UNLINKED_AT_ONCE):
                    removed += await self._unlinked(keys[first : first + _UNLINKED_AT_ONCE])
        return removed

    async def _unlinked(self, names: list[str]) -> int:
        """Remove keys, each with a command of its own: in a Cluster their slots differ."""
        replies = await asyncio.gather(
            *(self._client.write(name, "UNLINK", name) for name in names)
        )
        return sum(reply == 1 for reply in replies)

    def _unavailable(self) -> Unavailable:
        return Unavailable(self.trouble or "Redis did not answer in time")


def _weight(entry: CacheEntry) -> int:
    return len(entry.value) + 400


def _literally(prefix: str) -> str:
    """Return a pattern that matches *prefix* literally."""
    return "".join(f"\\{letter}" if letter in "\\*?[]^-" else letter for letter in prefix)


def _packed(name: str, entry: CacheEntry) -> bytes:
    times = struct.pack("<ddd", entry.written_at, entry.fresh_until, entry.until)
    checksum = zlib.crc32(entry.value, zlib.crc32(times, zlib.crc32(name.encode())))
    return bytes((_VERSION,)) + checksum.to_bytes(4, "little") + times + entry.value


def _unpacked(name: str, packed: object) -> CacheEntry | None:
    """Return the entry stored under *name*; None if it is invalid."""
    if not isinstance(packed, bytes) or not _HEAD.size <= len(packed) <= LARGEST + _HEAD.size:
        return None
    version, checksum, written_at, fresh, until = _HEAD.unpack_from(packed)
    found = zlib.crc32(memoryview(packed)[5:], zlib.crc32(name.encode()))
    if version != _VERSION or checksum != found:
        return None
    if not written_at <= fresh <= until <= written_at + LONGEST:
        return None
    return CacheEntry(packed[_HEAD.size :], written_at, fresh, until)
