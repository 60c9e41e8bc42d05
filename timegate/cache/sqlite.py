"""`Store` in a SQLite file, which survives restarts and is shared by several processes.

One thread accesses the file, never the event loop. Writes are collected while a commit is under
way, and then committed together. A failure is a miss; it is logged once a minute, and shown in
`trouble`.

A store belongs to one process and one event loop: create it after forking.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, TypeVarTuple

from timegate.cache.sqlite_entries import Entries, Found, Merging
from timegate.cache.store import (
    FRONT,
    RECENT,
    CacheEntry,
    Clock,
    Merge,
    Stored,
    StoreTrouble,
    Unavailable,
    recent_entries,
)
from timegate.resolution.context import TimeBudget

LIMIT: Final = 1 << 30
"""Bytes that are in use in the file and in its write-ahead log."""
LOOKUP_TIMEOUT: Final = 0.1
"""Seconds after which a lookup is a miss: two waits for a lock of another process."""

_WAITING_SHARE: Final = 1 / 32
_MOST_WAITING: Final = 8 << 20

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Lookup(NamedTuple):
    keys: set[str]
    answer: "asyncio.Future[dict[str, Found]]"

    def resolve(self, done: "asyncio.Future[dict[str, Found]]") -> None:
        if done.cancelled():
            self.answer.cancel()
        else:
            self.answer.set_result(done.result())


class SqliteStore:
    """A store in a SQLite file."""

    def __init__(  # noqa: PLR0913 -- three of them for tests
        self,
        path: Path,
        *,
        limit: int = LIMIT,
        clock: Clock = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        recent: float = RECENT,
        lookup_timeout: float = LOOKUP_TIMEOUT,
    ) -> None:
        self._clock = clock
        self._lookup_timeout = lookup_timeout
        self._most_waiting = min(int(limit * _WAITING_SHARE), _MOST_WAITING)
        self._reading = StoreTrouble(f"reading {path}", monotonic)
        self._writing = StoreTrouble(f"writing {path}", monotonic)
        self._dropped = 0
        self._waiting: dict[str, CacheEntry] = {}
        self._waiting_size = 0
        self._merging: list[Merging] = []
        self._merged: asyncio.Future[bool] | None = None
        """Whether the values in `_merging` were committed."""
        self._touched: set[str] = set()
        self._recent = recent_entries(recent, monotonic)
        self._under_way: dict[str, CacheEntry] = {}
        self._lookup: _Lookup | None = None
        self._flushing: asyncio.Future[bool] | None = None
        self._entries = Entries(path, limit, clock, self._reading, self._writing)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        # Opens the file, so that a fault shows before the first question.
        self._thread.submit(self._entries.write, {}, (), ())

    @property
    def trouble(self) -> str | None:
        return self._writing.why or self._reading.why

    @property
    def rejected(self) -> int:
        """Number of rows that were damaged or not written by this program."""
        return self._entries.rejected

    @property
    def dropped(self) -> int:
        """Number of entries not written: too large, too many at once, or after a failure."""
        return self._dropped + self._entries.lost

    async def get(
        self, key: str, budget: TimeBudget | None = None, *, recent: bool = True
    ) -> Stored | None:
        del budget
        entry = self._waiting.get(key) or self._under_way.get(key)
        # A trip to the thread costs more than all the rest of an answer from the cache.
        if entry is None and recent:
            entry = self._recent.get(key)
        if entry is None:
            entry = await self._looked_up(key)
        return None if entry is None else entry.seen(self._clock())

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        del budget
        size = len(key) + len(value)
        too_many = self._waiting_size + size > self._most_waiting
        if too_many or len(value) > self._entries.largest or self._writing.resting:
            self._dropped += 1
            return
        self._recent.pop(key, None)
        self._waiting[key] = CacheEntry.of(value, self._clock(), lifetime, stale_for)
        self._waiting_size += size
        self._start_flushing()

    async def merge(self, key: str, value: bytes, merge: Merge, lifetime: float) -> bool:
        size = len(key) + len(value)
        too_many = self._waiting_size + size > self._most_waiting
        if too_many or len(value) > self._entries.largest or self._writing.resting:
            return False
        if self._merged is None:
            self._merged = asyncio.get_running_loop().create_future()
        entry = CacheEntry.of(value, self._clock(), lifetime, 0.0)
        self._merging.append(Merging(key, entry, merge))
        self._waiting_size += size
        # The future: flushing may start with it at once.
        committed = self._merged
        self._start_flushing()
        was_committed = await committed
        self._recent.pop(key, None)
        return was_committed

    async def delete(self, key: str) -> None:
        self._waiting.pop(key, None)
        self._recent.pop(key, None)
        await self._remove(key, key + "\0")

    async def purge(self, prefix: str) -> int:
        for key in [*self._waiting, *self._recent]:
            if key.startswith(prefix):
                self._waiting.pop(key, None)
                self._recent.pop(key, None)
        return await self._remove(prefix, prefix + "\U0010ffff")

    async def flush(self) -> None:
        """Wait until all entries are committed, or lost."""
        while self._flushing is not None:
            await asyncio.wait({self._flushing})
            await asyncio.sleep(0)

    async def close(self) -> None:
        await self.flush()
        await self._in_thread(self._entries.close)
        self._thread.shutdown(wait=False)

    async def _looked_up(self, key: str) -> CacheEntry | None:
        if self._reading.resting:
            return None
        try:
            async with asyncio.timeout(self._lookup_timeout):
                found = (await asyncio.shield(self._batched_lookup(key))).get(key)
        except TimeoutError:
            self._reading.happened("too slow")
            return None
        if found is None:
            return None
        if found.untouched and not self._writing.resting:
            self._touched.add(key)
            self._start_flushing()
        if len(found.entry.value) < FRONT // 8:
            self._recent[key] = found.entry
        return found.entry

    def _batched_lookup(self, key: str) -> "asyncio.Future[dict[str, Found]]":
        """Look up *key* with all others of one turn of the loop, in one trip to the thread.

        A question goes to many archives at once. On two shared cores an empty trip took 170
        microseconds, a lookup 28 alone and 15 among eight.
        """
        if self._lookup is None:
            loop = asyncio.get_running_loop()
            self._lookup = _Lookup(set(), loop.create_future())
            loop.call_soon(self._start_lookup, self._lookup)
        self._lookup.keys.add(key)
        return self._lookup.answer

    def _start_lookup(self, lookup: _Lookup) -> None:
        self._lookup = None
        read = self._in_thread(self._entries.read, lookup.keys)
        read.add_done_callback(lookup.resolve)

    def _start_flushing(self) -> None:
        """Commit the waiting entries; those that come meanwhile wait for the next commit."""
        if self._flushing is not None:
            return
        self._under_way, self._waiting, self._waiting_size = self._waiting, {}, 0
        touched, self._touched = self._touched, set()
        merging, self._merging = self._merging, []
        committed, self._merged = self._merged, None
        self._flushing = self._in_thread(self._entries.write, self._under_way, touched, merging)
        self._flushing.add_done_callback(lambda done: self._flushed(done, committed))

    def _flushed(
        self, done: "asyncio.Future[bool]", committed: "asyncio.Future[bool] | None"
    ) -> None:
        self._flushing = None
        self._under_way = {}
        if self._waiting or self._touched or self._merging:
            self._start_flushing()
        was_committed = not done.cancelled() and done.result()
        if committed is not None and not committed.done():
            committed.set_result(was_committed)

    async def _remove(self, first: str, end: str) -> int:
        removed = await self._in_thread(self._entries.remove, first, end)
        if removed is None:
            raise Unavailable(self.trouble or "the cache could not be written")
        return removed

    def _in_thread(self, function: Callable[[*Ts], T], *arguments: *Ts) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
