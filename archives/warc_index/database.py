"""The index file: SQLite, with one writer at a time and any number of readers.

A *part* is a set of captures that becomes visible at once: those that one run read from one
WARC. Its rows are written in small transactions while its state hides them; then one
transaction changes the state. So kill -9 leaves only invisible rows, and the next run deletes
them.

The index can always be rebuilt from the WARCs, so a damaged one is renamed and built again.
Only a file of a newer release is left alone.

Damage is not always visible: a copy made while the index is written mixes old and new pages,
and captures are then missing without an error (3 of 63 copies). So the pages of an index are
checked before the first write at its current location; the lock file beside it records the
file that was checked.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

APPLICATION: Final = 0x54474958
"""``PRAGMA application_id``, the letters TGIX: identifies our index files."""
LAYOUT: Final = 1
"""``PRAGMA user_version``."""
BUILDING, LIVE, RETIRED = 0, 1, 2
"""States of a part: being written, visible, to be deleted."""

# A query is a range of the primary key; WITHOUT ROWID, the rows are stored in that order.
_TABLES: Final = (
    """CREATE TABLE part (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL,
    member TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, upto INTEGER NOT NULL,
    head BLOB NOT NULL, via TEXT NOT NULL, state INTEGER NOT NULL, captures INTEGER NOT NULL,
    complaints INTEGER NOT NULL)""",
    """CREATE TABLE capture (surt TEXT NOT NULL, stamp TEXT NOT NULL, part INTEGER NOT NULL,
    offset INTEGER NOT NULL, length INTEGER NOT NULL, url TEXT NOT NULL, mime TEXT,
    status INTEGER, digest TEXT, PRIMARY KEY (surt, stamp, part, offset)) WITHOUT ROWID""",
    "CREATE TABLE pass (complete INTEGER NOT NULL)",
)
# Parts from CDX files are not counted: a CDX file may list a capture twice, which is one row.
_MISSING: Final = """SELECT 1 FROM part LEFT JOIN
    (SELECT part AS id, count(*) AS rows FROM capture GROUP BY part) USING (id)
    WHERE state = 1 AND via = '' AND captures != coalesce(rows, 0) LIMIT 1"""
_DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)
_UNREADABLE: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_SIDE_FILES: Final = ("-wal", "-shm")
_BUSY_TIMEOUT: Final = 5.0
_WRITER_CACHE: Final = 64 * 1024
"""Kilobytes; large, since rows arrive in crawl order and are stored in SURT order."""


class ForeignIndex(Exception):
    """The file is a database of another program, which is left alone."""


class OutdatedIndex(Exception):
    """The file is an index with another table layout."""


class TornIndex(Exception):
    """The file is an incomplete index: a copy made while it was written."""


class NewerIndex(Exception):
    """The file was written by a later release."""


class IndexInUse(Exception):
    """Another process is building this index."""


def open_writer(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open or create the index; return it, and whether a damaged one was replaced.

    The caller must hold the `exclusive_lock`. Raises OSError, sqlite3.Error, NewerIndex or
    ForeignIndex.
    """
    try:
        return _writer(path), False
    except (OutdatedIndex, TornIndex):
        rename_damaged(path)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        rename_damaged(path)
    return _writer(path), True


def open_reader(path: Path, busy_timeout: float) -> sqlite3.Connection:
    """Open the index for queries.

    In a folder without write permission, SQLite cannot create the shared memory of its log; the
    file is then opened as immutable, unless it has a log. Raises sqlite3.Error, ForeignIndex,
    OutdatedIndex or NewerIndex.
    """
    address = f"file:{quote(str(path))}?mode=ro"
    try:
        return _reader(address, busy_timeout)
    except sqlite3.OperationalError as error:
        if _error_code(error) not in _UNREADABLE or _has_wal(path):
            raise
    return _reader(f"{address}&immutable=1", busy_timeout)


def is_damage(error: BaseException) -> bool:
    """Whether *error* means a damaged file, rather than locks, permissions or disk space."""
    return isinstance(error, sqlite3.Error) and _error_code(error) in _DAMAGE


def rename_damaged(path: Path) -> None:
    """Rename the file and its side files, replacing an earlier damaged one."""
    for part in ("", *_SIDE_FILES):
        with suppress(FileNotFoundError):
            path.with_name(path.name + part).replace(
                path.with_name(f"{path.name}.set-aside{part}")
            )


@contextmanager
def exclusive_lock(path: Path, purpose: str = "lock") -> Iterator[None]:
    """Hold the lock *purpose* of the index at *path*. Raises IndexInUse or OSError.

    The kernel releases the lock when the process ends, for whatever reason.
    """
    descriptor = os.open(
        path.with_name(f"{path.name}.{purpose}"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644
    )
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexInUse(str(path)) from None
        yield
    finally:
        os.close(descriptor)


def _writer(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT, isolation_level=None)
    try:
        _harden(connection)
        if _table_definitions(connection):
            # Before anything is changed: the file may belong to another program.
            _check_layout(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        # A power loss may cost the last parts, which are then read again, but not the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE}")
        if not _table_definitions(connection):
            _create_tables(connection)
        if _checked_file(path) != _identity(path):
            _check_integrity(connection)
            _lock(path).write_text(_identity(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _identity(path: Path) -> str:
    """Return a value that differs between this file and a copy of it."""
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}"


def _checked_file(path: Path) -> str:
    try:
        return _lock(path).read_text(errors="replace")
    except FileNotFoundError:
        return ""


def _lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _check_integrity(connection: sqlite3.Connection) -> None:
    """Raise TornIndex unless all pages are consistent and all rows exist."""
    with closing(connection.execute("PRAGMA quick_check(1)")) as rows:
        status = str(rows.fetchone()[0])
    if status != "ok":
        raise TornIndex(status)
    with closing(connection.execute(_MISSING)) as missing:
        if missing.fetchone() is not None:
            raise TornIndex("captures are missing")


def _reader(address: str, busy_timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, timeout=busy_timeout, isolation_level=None, uri=True, check_same_thread=False
    )
    try:
        _harden(connection)
        _check_layout(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _harden(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _check_layout(connection: sqlite3.Connection) -> None:
    application = _number(connection, "PRAGMA application_id")
    layout = _number(connection, "PRAGMA user_version")
    if application != APPLICATION:
        raise ForeignIndex("a database, but not an index of this program")
    if layout > LAYOUT:
        raise NewerIndex(f"written by a later release (layout {layout}, known is {LAYOUT})")
    if layout != LAYOUT or _table_definitions(connection) != set(_TABLES):
        raise OutdatedIndex("an index with another layout")


def _create_tables(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(table)
        connection.execute("INSERT INTO pass VALUES (0)")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _table_definitions(connection: sqlite3.Connection) -> set[str]:
    # Excludes SQLite's own table for AUTOINCREMENT.
    query = (
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' "
        "LIMIT 9"
    )
    with closing(connection.execute(query)) as rows:
        return {str(sql) for (sql,) in rows}


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _error_code(error: sqlite3.Error) -> int:
    # Errors raised by the Python module rather than by SQLite have no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return code & 0xFF


def _has_wal(path: Path) -> bool:
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
