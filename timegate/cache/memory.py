"""`Store` in the memory of this process, bounded by bytes: a segmented LRU cache.

A new entry is on probation. It becomes protected when it is looked up again, or when it is
stored again after an eviction. Entries on probation are evicted first, so a crawler that asks
for a million URLs once each flushes a fifth of the store, and not the popular entries. With
plain LRU such a scan evicts everything.
"""

import time
from collections import OrderedDict
from sys import getsizeof
from typing import Final

from timegate.cache.store import CacheEntry, Clock, GhostList, Stored
from timegate.resolution.context import TimeBudget

LIMIT: Final = 64 << 20
"""Bytes."""

OVERHEAD: Final = 300
"""Bytes of an entry beside key and value: its tuple, three floats, its place in an ordered
dictionary. tracemalloc shows 215 to 240; the rest is for the table while it is resized."""

_PROTECTED_SHARE: Final = 0.8
_LARGEST_SHARE: Final = 0.125


class MemoryStore:
    """A store in memory, which ends with the process."""

    trouble: None = None

    def __init__(self, *, limit: int = LIMIT, clock: Clock = time.time) -> None:
        self._clock = clock
        self._limit = limit
        self._protected_limit = int(limit * _PROTECTED_SHARE)
        self._largest = int(limit * _LARGEST_SHARE)
        self._probation: OrderedDict[str, CacheEntry] = OrderedDict()
        self._protected: OrderedDict[str, CacheEntry] = OrderedDict()
        self._probation_size = 0
        self._protected_size = 0
        self._ghosts = GhostList()

    @property
    def size(self) -> int:
        """Bytes of all entries, keys and overhead included."""
        return self._probation_size + self._protected_size

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)

    def get_now(self, key: str) -> Stored | None:
        """Return the value of *key*, without awaiting."""
        entry = self._protected.get(key)
        if entry is not None:
            self._protected.move_to_end(key)
            return entry.seen(self._clock())
        entry = self._probation.get(key)
        if entry is None:
            return None
        self._protect(key, entry)
        return entry.seen(self._clock())

    async def get(self, key: str, budget: TimeBudget | None = None) -> Stored | None:
        del budget
        return self.get_now(key)

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        del budget
        self.put_now(key, value, lifetime, stale_for)

    def put_now(
        self, key: str, value: bytes, lifetime: float, stale_for: float, *, age: float = 0.0
    ) -> None:
        """Store *value*, which is *age* seconds old."""
        entry = CacheEntry.of(value, self._clock() - age, lifetime, stale_for)
        is_known = key in self._protected or self._ghosts.knows(key)
        self._drop(key)
        if _cost(key, entry) > self._largest:
            return
        self._probation[key] = entry
        self._probation_size += _cost(key, entry)
        if is_known:
            self._protect(key, entry)
        self._make_room()

    async def delete(self, key: str) -> None:
        self._drop(key)

    async def purge(self, prefix: str) -> int:
        matching = [k for half in (self._probation, self._protected) for k in half]
        matching = [key for key in matching if key.startswith(prefix)]
        for key in matching:
            self._drop(key)
        return len(matching)

    async def close(self) -> None:
        """Delete all entries."""
        self._probation.clear()
        self._protected.clear()
        self._probation_size = self._protected_size = 0

    def _protect(self, key: str, entry: CacheEntry) -> None:
        cost = _cost(key, entry)
        del self._probation[key]
        self._probation_size -= cost
        self._protected[key] = entry
        self._protected_size += cost
        while self._protected_size > self._protected_limit:
            demoted, entry = self._protected.popitem(last=False)
            cost = _cost(demoted, entry)
            self._protected_size -= cost
            self._probation[demoted] = entry
            self._probation_size += cost

    def _make_room(self) -> None:
        while self.size > self._limit:
            key, entry = self._probation.popitem(last=False)
            self._probation_size -= _cost(key, entry)
            self._ghosts.note(key)

    def _drop(self, key: str) -> None:
        entry = self._protected.pop(key, None)
        if entry is not None:
            self._protected_size -= _cost(key, entry)
            return
        entry = self._probation.pop(key, None)
        if entry is not None:
            self._probation_size -= _cost(key, entry)


def _cost(key: str, entry: CacheEntry) -> int:
    return getsizeof(key) + getsizeof(entry.value) + OVERHEAD
