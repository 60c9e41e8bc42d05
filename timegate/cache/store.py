"""Stores: the protocol of key-value stores, what all of them share, and the one in memory.

`get` and `put` never raise and never wait long: a failure is a miss. Only `delete` and `purge`,
on which an operator relies, raise when they fail.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from sys import getsizeof
from typing import Final, NamedTuple, Protocol, runtime_checkable

from cachetools import TTLCache

from timegate.resolution.context import TimeBudget

Clock = Callable[[], float]
"""Seconds since 1970; entries outlive the process, so it is no monotonic clock."""

LONGEST: Final = 8 * 86_400.0
"""Seconds. The longest lifetime of an entry, fresh and stale together: a day, and the cap of a
week that RFC 8767 sets for stale answers. Unbound's issue 1175 shows the harm without a cap."""

SKEW: Final = 60.0
"""Seconds by which clocks of several machines may differ. An entry from further in the future
was written before the clock was corrected, and its age is unknown."""


class Unavailable(Exception):
    """An entry could not be deleted and may still exist; the message is the reason."""


class Stored(NamedTuple):
    """What a store returns for a key."""

    value: bytes
    age: float
    """Seconds since it was written."""
    fresh: bool


class CacheEntry(NamedTuple):
    """An entry of a store: the value, and when it was written, gets stale and expires."""

    value: bytes
    written_at: float
    fresh_until: float
    until: float

    @classmethod
    def of(
        cls, value: bytes, written_at: float, lifetime: float, stale_for: float
    ) -> "CacheEntry":
        """Return an entry for *value*, whose lifetimes are cut to `LONGEST`."""
        lifetime = min(lifetime, LONGEST)
        until = written_at + min(lifetime + stale_for, LONGEST)
        return cls(value, written_at, written_at + lifetime, until)

    def seen(self, now: float) -> Stored | None:
        """Return the value with its age at *now*; None if it has expired."""
        value, written_at, fresh_until, until = self
        if not written_at - SKEW <= now < until:
            return None
        return Stored(value, max(now - written_at, 0.0), now < fresh_until)


Merge = Callable[[str, bytes | None, bytes], bytes]
"""Returns the value for a key: of the stored value, None if there is none, and a new one."""


class Store(Protocol):
    """A key-value store whose entries expire."""

    @property
    def trouble(self) -> str | None:
        """Why the store does not work at the moment, for /readyz; None if all is well."""
        ...

    @property
    def dropped(self) -> int:
        """Number of values given to `put` that were not written, although they fit."""
        ...

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        """Return the value of *key*. *budget* limits the time spent waiting for Redis.

        It may be a *recent* value, of the last seconds, if others share the store.
        """
        ...

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        """Store *value*: fresh for *lifetime* seconds, then stale for *stale_for* seconds."""
        ...

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        """Merge *value* into the entry of *key*, also if others do so at the same time.

        It may take longer than `put`. Returns False if the value is not stored.
        """
        ...

    async def delete(self, key: str) -> None:
        """Delete one entry. Raises Unavailable."""
        ...

    async def purge(self, prefix: str) -> int:
        """Delete the keys that begin with *prefix*, return how many. Raises Unavailable."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Immediate(Protocol):
    """A store that can be used without awaiting."""

    def get_now(self, key: str) -> Stored | None: ...

    def put_now(
        self, key: str, value: bytes, lifetime: float, stale_for: float, *, age: float = 0.0
    ) -> None: ...

    def merge_now(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool: ...


_LOG: Final = logging.getLogger(__name__)

REST: Final = 1.0
"""Seconds in which a store is not used after a failure, so that not every question pays for
it."""
SILENCE: Final = 60.0
"""Seconds between two warnings."""


RECENT: Final = 2.0
"""Seconds for which an entry of a shared store is not looked up again. So long a process may
still return an entry that another one has deleted."""
FRONT: Final = 8 << 20
"""Bytes of recent entries in this process."""


def recent_entries(
    seconds: float, monotonic: Callable[[], float]
) -> "TTLCache[str, CacheEntry]":
    """Return a cache for the entries that were read or written in the last seconds."""
    return TTLCache(FRONT, seconds, monotonic, lambda entry: len(entry.value) + 400)


class StoreTrouble:
    """Failures of reading, or of writing, in one store."""

    __slots__ = ("_doing", "_monotonic", "_quiet_until", "_rests_until", "why")

    def __init__(self, doing: str, monotonic: Callable[[], float]) -> None:
        self._doing = doing
        self._monotonic = monotonic
        self._rests_until = self._quiet_until = float("-inf")
        self.why: str | None = None
        """The reason, for people; None if all is well."""

    @property
    def resting(self) -> bool:
        """Whether the last failure was less than `REST` seconds ago."""
        return self.why is not None and self._monotonic() < self._rests_until

    def happened(self, why: str) -> None:
        """Note a failure."""
        now = self._monotonic()
        self.why = f"{self._doing}: {why}"
        self._rests_until = now + REST
        if now >= self._quiet_until:
            self._quiet_until = now + SILENCE
            _LOG.warning("the cache is not used: %s", self.why)

    def over(self) -> None:
        """Note a success."""
        self.why = None


_SLOTS: Final = 1 << 17
"""Bytes. Keys in the same slot overwrite each other, so old ones are forgotten."""
_FINGERPRINTS: Final = 255
"""One new key in so many is taken for one that was evicted."""


class GhostList:
    """Ghost list: recently evicted keys skip probation on return.

    Each key takes one byte. It works within one process: hashes differ in the next.
    """

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes = bytearray(_SLOTS)

    def note(self, key: str) -> None:
        """Note that *key* was evicted."""
        self._notes[hash(key) % _SLOTS] = _fingerprint(key)

    def knows(self, key: str) -> bool:
        """Whether *key* was evicted recently, or has the fingerprint of such a key."""
        return self._notes[hash(key) % _SLOTS] == _fingerprint(key)


def _fingerprint(key: str) -> int:
    return hash(key) // _SLOTS % _FINGERPRINTS + 1


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
    dropped: int = 0

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

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        del budget, recent
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

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        return self.merge_now(key, value, merge, lifetime)

    def merge_now(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        """Merge *value* into the entry of *key*; return False if it is not stored."""
        # Not `get_now`, which would end the probation of a page that was asked for once.
        entry = self._protected.get(key) or self._probation.get(key)
        stored = None if entry is None else entry.seen(self._clock())
        self.put_now(key, merge(key, stored and stored.value, value), lifetime, 0.0)
        return key in self._probation or key in self._protected

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
