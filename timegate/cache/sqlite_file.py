"""The SQLite cache file: opens it, checks that it is ours and intact, and renames it if not.

A cache file serves speed alone, so a damaged file, or one that another program made, is
renamed, and a new one is created. Only a file of a *newer* release is not touched, because that
release is probably running on the same machine.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

APPLICATION: Final = 0x54474341
"""``PRAGMA application_id``, the letters TGCA: identifies our files."""
LAYOUT: Final = 1
"""``PRAGMA user_version``."""
LOG_SHARE: Final = 32
"""One byte in so many is for the write-ahead log beside the file."""
BUSY: Final = 0.05
"""Seconds to wait for the lock of another process; the cache must not delay an answer."""

# The value is the last column: to read one behind it, SQLite walks all pages of the value.
_TABLES: Final = (
    """CREATE TABLE entry (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    said REAL NOT NULL, fresh REAL NOT NULL, until REAL NOT NULL, used INTEGER NOT NULL,
    value BLOB NOT NULL)""",
    "CREATE INDEX entry_used ON entry (used)",
)
_DAMAGE: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,  # "no such table": our statements are right, so the file is not
    }
)
_COMPANIONS: Final = ("-wal", "-shm")
_LOCK_TRIES: Final = 5
_LOCK_PAUSE: Final = 0.01


class ForeignCacheFile(Exception):
    """The file is a database of another program."""


class NewerCacheFile(Exception):
    """The file was written by a later release."""


def open_database(path: Path, limit: int) -> tuple[sqlite3.Connection, int | None]:
    """Open or create the cache at *path*; return the connection and the inode of the file.

    Raises OSError, sqlite3.Error or NewerCacheFile where no cache can be opened for now.
    """
    with _exclusive(path):
        try:
            return _opened(path, limit), inode_of(path)
        except ForeignCacheFile:
            _rename(path)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            _rename(path)
        return _opened(path, limit), inode_of(path)


def is_damage(error: BaseException) -> bool:
    """Whether *error* is about the file itself, not about locks, permissions or space."""
    if not isinstance(error, sqlite3.Error):
        return False
    # Errors raised by the Python module, not by SQLite, have no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return code & 0xFF in _DAMAGE


def set_aside(path: Path, inode: int) -> None:
    """Rename the damaged file, unless another process has replaced it. Raises OSError."""
    with _exclusive(path):
        if inode_of(path) == inode:
            _rename(path)


def inode_of(path: Path) -> int | None:
    """Return the inode of the file at *path*; None if there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _opened(path: Path, limit: int) -> sqlite3.Connection:
    _create_private(path)
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    try:
        # Text that is not UTF-8 would otherwise raise while a row is fetched.
        connection.text_factory = bytes
        _harden(connection)
        # Before anything is changed: the file may be one of another program or release.
        _check_layout(connection)
        _configure(connection, limit)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private(path: Path) -> None:
    """Create the file for its owner alone; SQLite gives its companions the same mode."""
    # Only a new file is opened: closing a descriptor drops the POSIX locks that this process
    # holds on the file through other connections (sqlite.org/howtocorrupt.html 2.2).
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    # Companions of a database that was deleted while it was in use do not belong to this one.
    for companion in _COMPANIONS:
        path.with_name(path.name + companion).unlink(missing_ok=True)


def _harden(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _configure(connection: sqlite3.Connection, limit: int) -> None:
    # Deleted entries are overwritten: no bytes of a purged URL remain in the file (PP-03).
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {limit // LOG_SHARE}")


def _check_layout(connection: sqlite3.Connection) -> None:
    objects = _objects(connection)
    application = number(connection, "PRAGMA application_id")
    if not objects and application == 0:
        _create_tables(connection)
        return
    layout = number(connection, "PRAGMA user_version")
    if application == APPLICATION and layout > LAYOUT:
        raise NewerCacheFile(f"written by a later release (layout {layout}, known is {LAYOUT})")
    if application != APPLICATION or layout != LAYOUT or objects != set(_TABLES):
        raise ForeignCacheFile


def _create_tables(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _objects(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 9")
    return {bytes(sql).decode(errors="replace") for (sql,) in rows}


def number(connection: sqlite3.Connection, query: str) -> int:
    """Return the one number that *query* yields."""
    return int(connection.execute(query).fetchone()[0])


def _rename(path: Path) -> None:
    """Rename the file and its companions. At most two are kept, so that no disk fills up."""
    first = path.with_name(path.name + ".set-aside")
    target = path.with_name(path.name + ".set-aside-2") if first.exists() else first
    # The log is renamed with its database: otherwise it would be replayed into the new one, and
    # be missing in the old, which may belong to another program.
    for part in ("", *_COMPANIONS):
        with suppress(FileNotFoundError):
            path.with_name(path.name + part).replace(target.with_name(target.name + part))


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Lock out other processes while the file is checked or renamed. Raises OSError."""
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        for left in reversed(range(_LOCK_TRIES)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise
                time.sleep(_LOCK_PAUSE)
        yield
    finally:
        os.close(descriptor)
