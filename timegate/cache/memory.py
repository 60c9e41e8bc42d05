"""Keeps entries in this process, bounded by bytes, in two halves of unequal standing.

What is put enters on probation; what is asked for again is protected, and so is what comes back
after it had to go. Eviction takes from probation first, so a crawler that asks a million URLs
once each flushes a fifth of the store and not what everybody asks for. (Segmented LRU; with
plain LRU such a scan evicts everything.)
"""

import time
from collections import OrderedDict
from sys import getsizeof
from typing import Final

from timegate.cache.store import Clock, GhostList, Kept, Stored
from timegate.resolution.context import TimeBudget

LIMIT: Final = 64 << 20
"""Bytes; reliability: memory cache."""

OVERHEAD: Final = 300
"""Bytes an entry costs beside key and value: its tuple, three floats, its place in an ordered
dictionary. With tracemalloc 215 to 240; the rest is for the table while it is doubled."""

_PROTECTED_SHARE: Final = 0.8
_LARGEST_SHARE: Final = 0.125


class MemoryStore:
    """A store that dies with the process."""

    trouble: None = None

    def __init__(self, *, limit: int = LIMIT, clock: Clock = time.time) -> None:
        self._clock = clock
        self._limit = limit
        self._protected_limit = int(limit * _PROTECTED_SHARE)
        self._largest = int(limit * _LARGEST_SHARE)
        self._probation: OrderedDict[str, Kept] = OrderedDict()
        self._protected: OrderedDict[str, Kept] = OrderedDict()
        self._probation_size = 0
        self._protected_size = 0
        self._departed = GhostList()

    @property
    def size(self) -> int:
        """Bytes, keys and overhead included."""
        return self._probation_size + self._protected_size

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)

    def get_now(self, key: str) -> Stored | None:
        """Look up without waiting."""
        kept = self._protected.get(key)
        if kept is not None:
            self._protected.move_to_end(key)
            return kept.seen(self._clock())
        kept = self._probation.get(key)
        if kept is None:
            return None
        self._protect(key, kept)
        return kept.seen(self._clock())

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
        """Keep *value*, which was said *age* seconds ago."""
        kept = Kept.of(value, self._clock() - age, lifetime, stale_for)
        is_known = key in self._protected or self._departed.knows(key)
        self._drop(key)
        if _cost(key, kept) > self._largest:
            return
        self._probation[key] = kept
        self._probation_size += _cost(key, kept)
        if is_known:
            self._protect(key, kept)
        self._make_room()

    async def delete(self, key: str) -> None:
        self._drop(key)

    async def purge(self, prefix: str) -> int:
        doomed = [k for half in (self._probation, self._protected) for k in half]
        doomed = [key for key in doomed if key.startswith(prefix)]
        for key in doomed:
            self._drop(key)
        return len(doomed)

    async def close(self) -> None:
        """Forget everything."""
        self._probation.clear()
        self._protected.clear()
        self._probation_size = self._protected_size = 0

    def _protect(self, key: str, kept: Kept) -> None:
        cost = _cost(key, kept)
        del self._probation[key]
        self._probation_size -= cost
        self._protected[key] = kept
        self._protected_size += cost
        while self._protected_size > self._protected_limit:
            demoted, entry = self._protected.popitem(last=False)
            cost = _cost(demoted, entry)
            self._protected_size -= cost
            self._probation[demoted] = entry
            self._probation_size += cost

    def _make_room(self) -> None:
        while self.size > self._limit:
            key, kept = self._probation.popitem(last=False)
            self._probation_size -= _cost(key, kept)
            self._departed.note(key)

    def _drop(self, key: str) -> None:
        kept = self._protected.pop(key, None)
        if kept is not None:
            self._protected_size -= _cost(key, kept)
            return
        kept = self._probation.pop(key, None)
        if kept is not None:
            self._probation_size -= _cost(key, kept)


def _cost(key: str, kept: Kept) -> int:
    return getsizeof(key) + getsizeof(kept.value) + OVERHEAD
