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

from timegate.cache.store import (
    LONGEST,
    RECENT,
    CacheEntry,
    Clock,
    Merge,
    Stored,
    Unavailable,
    recent_entries,
)
from timegate.redis.client import RedisClient, RedisUnavailable, Script, Spoiled
from timegate.redis.connections import Down
from timegate.resolution.context import TimeBudget

_PREFIX: Final = "timegate:1:cache:"
_HEAD: Final = struct.Struct("<BIddd")
"""The version, the CRC-32 of the key and of what follows, then three times: when the entry was
written, until when it is fresh, and until when it is kept."""
_VERSION: Final = 1
LARGEST: Final = 1 << 20
"""Bytes of a value."""
MERGE_TIME: Final = 5.0
"""Seconds for one merge. After a slow reply Redis is not used for a while: what is to be
written meanwhile waits, and is not lost."""
_PAUSE: Final = 0.1
_MOST_TRIES: Final = 8
"""Attempts at one merge. Each attempt after the first means that another replica has merged
its answers meanwhile."""

# ARGV: the head of the value that was seen, "" for none; the new value; its milliseconds; the
# last octet of a head, and that of the largest value. Returns 1, or the value that is there.
_REPLACE: Final = Script("""
if redis.call('GETRANGE', KEYS[1], 0, ARGV[4]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1
end
return redis.call('GETRANGE', KEYS[1], 0, ARGV[5])
""")
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
        merge_time: float = MERGE_TIME,
    ) -> None:
        self.rejected = 0
        """Number of values that were damaged or not written by this program."""
        self.dropped = 0
        """Number of values that were not written, because Redis was unavailable or too slow."""
        self._client = client
        self._clock = clock
        self._merge_time = merge_time
        self._lookups: dict[str, asyncio.Task[CacheEntry | None]] = {}
        self._recent = recent_entries(recent, monotonic)

    @property
    def trouble(self) -> str | None:
        return self._client.trouble

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        entry = self._recent.get(key) if recent else None
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
        # Writing has a time limit of its own: with that of the request, values were lost.
        del budget
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
                name, "SET", name, packed, "PX", milliseconds, patient=True
            )
        except (RedisUnavailable, Spoiled):
            self.dropped += 1

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        """Merge by compare and swap: one round trip if the stored value is known here."""
        monotonic = asyncio.get_running_loop().time
        until = monotonic() + self._merge_time
        while True:
            try:
                return await self._merged(key, value, merge, lifetime)
            except RedisUnavailable:
                if monotonic() >= until:
                    return False
                await asyncio.sleep(_PAUSE)

    async def _merged(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        name, known = _PREFIX + key, self._recent.get(key)
        for _ in range(_MOST_TRIES):
            stored = None if known is None else known.seen(self._clock())
            merged = merge(key, stored and stored.value, value)
            if len(merged) > LARGEST:
                return False
            entry = CacheEntry.of(merged, self._clock(), lifetime, 0.0)
            try:
                found = await self._replaced(name, known, entry)
                if found == 1:
                    self._lookups.pop(key, None)
                    self._recent[key] = entry
                    return True
                known = _unpacked(name, found)
                if known is None and found != b"":
                    await self._reject(name)
            except Spoiled:
                known = None
                await self._reject(name)
        return False

    async def _reject(self, name: str) -> None:
        """Remove a value that this program has not written."""
        self.rejected += 1
        try:
            await self._client.write(name, "UNLINK", name, patient=True)
        except (RedisUnavailable, Spoiled):
            return

    async def _replaced(self, name: str, known: CacheEntry | None, entry: CacheEntry) -> object:
        """Replace what was known by *entry*; return 1, or what is there instead."""
        seen = b"" if known is None else _packed(name, known)[: _HEAD.size]
        milliseconds = int((entry.until - entry.written_at) * 1000)
        packed = _packed(name, entry)
        ends = (_HEAD.size - 1, LARGEST + _HEAD.size)
        return await self._client.script(
            _REPLACE, [name], seen, packed, milliseconds, *ends, patient=True
        )

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
