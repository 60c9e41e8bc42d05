"""The entries of a SQLite file, read and written by one thread that may wait.

Nothing here raises for trouble with the file: it is noted in `reading` or `writing`, and the
caller gets nothing. A file that turns out damaged is set aside, and the next call begins anew.

As in memory, who was asked for again, or comes back, stands higher than a newcomer. Newcomers
go first while they are more than a fifth: a crawler that asks a million URLs once each does not
take away what everybody asks for. The column ``used`` tells them apart: a newcomer has its time
less `_NEWCOMER`, which is before all times. Releases that did not know this read such a file,
and drop newcomers as too old.
"""

import math
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from timegate.cache.sqlite_file import (
    LOG_SHARE,
    NewerCacheFile,
    condemn,
    inode_of,
    is_damage,
    number,
    open_database,
)
from timegate.cache.store import LONGEST, Clock, GhostList, Kept, StoreTrouble

_TOUCH: Final = 60
"""Seconds: how exactly the last use is known. Finer would make every read a write."""
_BATCH: Final = 64
_NEWCOMER: Final = 1 << 40
_NEWCOMERS_SHARE: Final = 5
"""One in so many stays a newcomer."""
_COUNT_AGAIN: Final = 16
"""After this share of all entries was evicted they are counted again. That takes some 40 ms for
a million: less than a microsecond for each that goes."""
_AT_ONCE: Final = 1024
"""Entries that one write evicts, if it brings fewer. There are more to evict only where the
limit was lowered: 145,000 took 4 s in which nobody could read."""

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
    """An entry as it lies in the file."""

    kept: Kept
    untouched: bool
    """Whether its last use should be noted."""


class Entries:
    """A connection that is opened when needed, and again when the file is another one."""

    def __init__(
        self, path: Path, limit: int, clock: Clock, reading: StoreTrouble, writing: StoreTrouble
    ) -> None:
        self.largest = limit // 64
        """Bytes of a value; a larger one is none of ours."""
        self.rejected = 0
        """Rows that were no entries of ours."""
        self.lost = 0
        """Entries that could not be written."""
        self._path = path
        self._limit = limit
        self._room = limit - limit // LOG_SHARE
        self._clock = clock
        self._reading = reading
        self._writing = writing
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._departed = GhostList()
        self._newcomers_go = True
        self._until_count = 0

    def read(self, keys: Iterable[str]) -> dict[str, Found]:
        """Look up several entries; those that are missing are left out."""
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

    def write(self, batch: Mapping[str, Kept], touched: Iterable[str]) -> None:
        """Commit *batch* as a whole, and note the use of *touched*."""
        now = int(self._clock())
        try:
            connection = self._connected()
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(_MARK, [(now, key) for key in touched])
                connection.executemany(
                    _INSERT, [(k, *kept, self._standing(k, now)) for k, kept in batch.items()]
                )
                self._make_room(connection, now, max(_AT_ONCE, 2 * len(batch)))
        except _FAILURES as error:
            self.lost += len(batch)
            self._failed(self._writing, error)
        else:
            self._writing.over()

    def remove(self, first: str, end: str) -> int | None:
        """Delete the keys from *first* up to *end*; None if that failed."""
        try:
            connection = self._connected()
            removed = connection.execute(_REMOVE, (first, end)).rowcount
            # The log still holds what the database does not.
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
        """Return what a row of ours holds; others may write to the file as well (SE-17)."""
        match row:
            case (bytes(value), float(said), float(fresh), float(until), int(used)) if (
                said <= fresh <= until <= said + LONGEST < math.inf
            ):
                stale_use = used < self._clock() - _TOUCH
                return Found(Kept(value, said, fresh, until), stale_use)
        self.rejected += 1
        return None

    def _make_room(self, connection: sqlite3.Connection, now: int, most: int) -> None:
        """Drop what nobody can ask for any more, then what was not asked for the longest.

        *most* are evicted, or little more; the next write does the rest.
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
        """Delete some newcomers, or some others where newcomers are few."""
        if self._until_count <= 0:
            newcomers, everybody = connection.execute(_COUNTS).fetchone()
            self._newcomers_go = newcomers * _NEWCOMERS_SHARE > everybody
            self._until_count = everybody // _COUNT_AGAIN + 1
        first, end = (-math.inf, 0.0) if self._newcomers_go else (0.0, math.inf)
        some = min(_BATCH, self._until_count)
        evicted = self._delete(connection, first, end, some)
        if not evicted:
            evicted = self._delete(connection, -math.inf, math.inf, some)
        self._until_count -= some
        return evicted

    def _delete(
        self, connection: sqlite3.Connection, first: float, end: float, most: int
    ) -> int:
        """Delete those that were used the longest ago, from *first* to before *end*."""
        rows = connection.execute(_OLDEST, (first, end, most)).fetchall()
        connection.executemany(_DELETE, [(row[0],) for row in rows])
        for _, key in rows:
            self._departed.note(_text(key))
        return len(rows)

    def _standing(self, key: str, now: int) -> int:
        return now if self._departed.knows(key) else now - _NEWCOMER

    def _connected(self) -> sqlite3.Connection:
        """Return the connection to what lies at the path now: files get deleted, replaced."""
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
            condemn(self._path, self._inode)
        except OSError as hindrance:
            trouble.happened(f"{error}; it cannot be set aside: {hindrance}")


def _text(key: object) -> str:
    """Return a key as it was put; others may write to the file as well (SE-17)."""
    return bytes(key).decode(errors="replace") if isinstance(key, bytes) else str(key)
