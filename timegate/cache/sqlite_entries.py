"""The entries of a SQLite cache file, read and written by one thread, which may block.

Nothing here raises for a fault of the file: the fault is noted in `reading` or `writing`, and
the caller gets nothing. A file that turns out to be damaged is renamed, and the next call
creates a new one.

As in memory, a new entry is on probation ("newcomer") until it is looked up again or stored
again after an eviction. Newcomers are evicted first while they are more than a fifth of all
entries: a crawler that asks for a million URLs once each does not evict the popular entries.
The column ``used`` tells them apart: that of a newcomer is its time less `_NEWCOMER`, which is
before all times. Releases that did not know this can read such a file, and drop newcomers as
too old.
"""

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from timegate.cache.sqlite_file import (
    LOG_SHARE,
    NewerCacheFile,
    inode_of,
    is_damage,
    number,
    open_database,
    set_aside,
)
from timegate.cache.store import (
    LONGEST,
    CacheEntry,
    Clock,
    GhostList,
    Merge,
    StoreTrouble,
)

_TOUCH: Final = 60
"""Seconds. The accuracy of the last use; a finer one would make every read a write."""
_BATCH: Final = 64
_NEWCOMER: Final = 1 << 40
_NEWCOMERS_SHARE: Final = 5
"""Newcomers are evicted first while they are more than one in so many."""
_COUNT_AGAIN: Final = 16
"""Entries are counted again after one in so many was evicted. Counting a million takes some
40 ms: less than a microsecond for each evicted entry."""
_AT_ONCE: Final = 1024
"""The most entries that one write evicts, unless it adds more. More must be evicted only after
the limit was lowered: 145,000 at once took 4 s, in which nothing could be read."""

_LOOK: Final = """SELECT CASE WHEN length(value) <= ? THEN value END, said, fresh, until, used
    FROM entry WHERE key = ?"""
_INSERT: Final = """INSERT INTO entry (key, value, said, fresh, until, used)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value,
    said = excluded.said, fresh = excluded.fresh, until = excluded.until,
    used = max(used, excluded.used)"""
_MARK: Final = "UPDATE entry SET used = ? WHERE key = ?"
_OLDEST: Final = """SELECT id, key FROM entry WHERE used >= ? AND used < ?
    ORDER BY used, id LIMIT ?"""
_DELETE: Final = "DELETE FROM entry WHERE id = ?"
_COUNTS: Final = "SELECT count(*) FILTER (WHERE used < 0), count(*) FROM entry"
_REMOVE: Final = "DELETE FROM entry WHERE key >= ? AND key < ?"
_FAILURES: Final = (sqlite3.Error, OSError, NewerCacheFile)


class Found(NamedTuple):
    """An entry that was found in the file."""

    entry: CacheEntry
    untouched: bool
    """Whether the column ``used`` should be updated."""


class Merging(NamedTuple):
    """A value that is to be merged into the entry of a key."""

    key: str
    entry: CacheEntry
    merge: Merge


class Entries:
    """The table of entries; the file is opened when needed, and again when it was replaced."""

    def __init__(
        self, path: Path, limit: int, clock: Clock, reading: StoreTrouble, writing: StoreTrouble
    ) -> None:
        self.largest = limit // 64
        """Bytes of a value; larger ones are neither written nor read."""
        self.rejected = 0
        """Number of rows that were damaged or not written by this program."""
        self.lost = 0
        """Number of entries that could not be written."""
        self._path = path
        self._limit = limit
        self._room = limit - limit // LOG_SHARE
        self._clock = clock
        self._reading = reading
        self._writing = writing
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._ghosts = GhostList()
        self._evict_newcomers = True
        self._until_recount = 0

    def read(self, keys: Iterable[str]) -> dict[str, Found]:
        """Look up several entries; missing ones are left out."""
        found: dict[str, Found] = {}
        try:
            connection = self._connected()
            for key in keys:
                row = connection.execute(_LOOK, (self.largest, key)).fetchone()
                entry = None if row is None else self._checked(row)
                if entry is not None:
                    found[key] = entry
        except _FAILURES as error:
            self._failed(self._reading, error)
        else:
            self._reading.over()
        return found

    def write(
        self,
        batch: Mapping[str, CacheEntry],
        touched: Iterable[str],
        merging: Sequence[Merging] = (),
    ) -> bool:
        """Commit *batch* and *merging* in one transaction; update the last use of *touched*.

        Returns whether that succeeded.
        """
        now = int(self._clock())
        try:
            connection = self._connected()
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_MARK, [(now, key) for key in touched])
                connection.executemany(
                    _INSERT, [(k, *entry, self._rank(k, now)) for k, entry in batch.items()]
                )
                for each in merging:
                    self._merge(connection, each, now)
                added = len(batch) + len(merging)
                self._make_room(connection, now, max(_AT_ONCE, 2 * added))
        except _FAILURES as error:
            self.lost += len(batch)
            self._failed(self._writing, error)
            return False
        self._writing.over()
        return True

    def _merge(self, connection: sqlite3.Connection, new: Merging, now: int) -> None:
        row = connection.execute(_LOOK, (self.largest, new.key)).fetchone()
        found = None if row is None else self._checked(row)
        stored = None if found is None else found.entry.seen(self._clock())
        value = new.merge(new.key, stored and stored.value, new.entry.value)
        entry = new.entry._replace(value=value)
        connection.execute(_INSERT, (new.key, *entry, self._rank(new.key, now)))

    def remove(self, first: str, end: str) -> int | None:
        """Delete the keys from *first* up to *end*, return how many; None if that failed."""
        try:
            connection = self._connected()
            removed = connection.execute(_REMOVE, (first, end)).rowcount
            # The write-ahead log still holds what was deleted.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except _FAILURES as error:
            self._failed(self._writing, error)
            return None
        return removed

    def close(self) -> None:
        """Close the file; the next call would open it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _checked(self, row: tuple[object, ...]) -> Found | None:
        """Return the entry in *row*, None if invalid: others may write to the file (SE-17)."""
        match row:
            case (bytes(value), float(written_at), float(fresh), float(until), int(used)) if (
                written_at <= fresh <= until <= written_at + LONGEST < math.inf
            ):
                stale_use = used < self._clock() - _TOUCH
                return Found(CacheEntry(value, written_at, fresh, until), stale_use)
        self.rejected += 1
        return None

    def _make_room(self, connection: sqlite3.Connection, now: int, most: int) -> None:
        """Delete expired entries, then evict those that were used longest ago.

        About *most* are evicted; the next write evicts more.
        """
        oldest = now - LONGEST
        self._delete(connection, -math.inf, oldest - _NEWCOMER, _BATCH)
        self._delete(connection, 0, oldest, _BATCH)
        page = number(connection, "PRAGMA page_size")
        evicted = 1
        while evicted and most > 0:
            pages = number(connection, "PRAGMA page_count")
            free = number(connection, "PRAGMA freelist_count")
            if (pages - free) * page <= self._room:
                return
            evicted = self._evict(connection)
            most -= evicted

    def _evict(self, connection: sqlite3.Connection) -> int:
        """Evict a batch of newcomers, or of other entries where newcomers are few."""
        if self._until_recount <= 0:
            newcomers, total = connection.execute(_COUNTS).fetchone()
            self._evict_newcomers = newcomers * _NEWCOMERS_SHARE > total
            self._until_recount = total // _COUNT_AGAIN + 1
        first, end = (-math.inf, 0.0) if self._evict_newcomers else (0.0, math.inf)
        batch = min(_BATCH, self._until_recount)
        evicted = self._delete(connection, first, end, batch)
        if not evicted:
            evicted = self._delete(connection, -math.inf, math.inf, batch)
        self._until_recount -= batch
        return evicted

    def _delete(
        self, connection: sqlite3.Connection, first: float, end: float, most: int
    ) -> int:
        """Delete the entries used longest ago, with ``used`` from *first* to before *end*."""
        rows = connection.execute(_OLDEST, (first, end, most)).fetchall()
        connection.executemany(_DELETE, [(row[0],) for row in rows])
        for _, key in rows:
            self._ghosts.note(_text(key))
        return len(rows)

    def _rank(self, key: str, now: int) -> int:
        return now if self._ghosts.knows(key) else now - _NEWCOMER

    def _connected(self) -> sqlite3.Connection:
        """Return a connection to the file at the path, which may have been replaced."""
        if self._connection is not None and inode_of(self._path) != self._inode:
            self.close()
        if self._connection is None:
            self._connection, self._inode = open_database(self._path, self._limit)
        return self._connection

    def _failed(self, trouble: StoreTrouble, error: Exception) -> None:
        trouble.happened(str(error))
        if self._connection is None or self._inode is None or not is_damage(error):
            return
        self.close()
        try:
            set_aside(self._path, self._inode)
        except OSError as failure:
            trouble.happened(f"{error}; the file cannot be renamed: {failure}")


def _text(key: object) -> str:
    """Return a key as text, whatever its type: others may write to the file (SE-17)."""
    return bytes(key).decode(errors="replace") if isinstance(key, bytes) else str(key)
