"""The SQLite file: opening it, judging whether it is ours and whole, setting it aside if not.

A cache file is worth nothing but speed, so doubt is settled against it: what is damaged, or
was made by something else, is renamed and a new one begun. Only a file of a *newer* release is
left alone, because that release is probably running beside us.
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
"""``PRAGMA application_id``, the letters TGCA: says whose file it is."""
LAYOUT: Final = 1
"""``PRAGMA user_version``."""
LOG_SHARE: Final = 32
"""One octet in so many is for the log that lies beside the file."""
BUSY: Final = 0.05
"""Seconds to wait for another process: a cache never delays an answer."""

# The value comes last: to reach a column behind it, SQLite walks all the pages of the value.
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
    """The file is a database, but not one of ours."""


class NewerCacheFile(Exception):
    """The file was written by a later release."""


def open_database(path: Path, limit: int) -> tuple[sqlite3.Connection, int | None]:
    """Open or create the cache at *path*; return it, and which file it is (`inode_of`).

    Raises OSError, sqlite3.Error or Newer where no cache can be had for now.
    """
    with _alone(path):
        try:
            return _opened(path, limit), inode_of(path)
        except ForeignCacheFile:
            _set_aside(path)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            _set_aside(path)
        return _opened(path, limit), inode_of(path)


def is_damage(error: BaseException) -> bool:
    """Whether *error* speaks of the file itself, rather than of locks, rights or space."""
    if not isinstance(error, sqlite3.Error):
        return False
    # Errors that the module itself raises (not SQLite) have no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return code & 0xFF in _DAMAGE


def condemn(path: Path, inode: int) -> None:
    """Set the file aside, unless somebody else has replaced it already. Raises OSError."""
    with _alone(path):
        if inode_of(path) == inode:
            _set_aside(path)


def inode_of(path: Path) -> int | None:
    """Say which file lies at *path*; None if there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _opened(path: Path, limit: int) -> sqlite3.Connection:
    _create_private(path)
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    try:
        # Text that is no UTF-8 would otherwise raise while a row is fetched.
        connection.text_factory = bytes
        _guard(connection)
        # Before anything is changed: it may be somebody else's, or a later release's.
        _judge(connection)
        _configure(connection, limit)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private(path: Path) -> None:
    """Create the file for its owner alone; SQLite gives its companions the same rights."""
    # Only if it is new: closing a descriptor drops the POSIX locks that this process holds on
    # the file through other connections (sqlite.org/howtocorrupt.html 2.2).
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    # Of a database that was deleted while somebody used it: they are not ours.
    for companion in _COMPANIONS:
        path.with_name(path.name + companion).unlink(missing_ok=True)


def _guard(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _configure(connection: sqlite3.Connection, limit: int) -> None:
    # What is deleted is overwritten: forgetting a URL leaves no bytes of it behind (PP-03).
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {limit // LOG_SHARE}")


def _judge(connection: sqlite3.Connection) -> None:
    objects = _objects(connection)
    application = number(connection, "PRAGMA application_id")
    if not objects and application == 0:
        _furnish(connection)
        return
    layout = number(connection, "PRAGMA user_version")
    if application == APPLICATION and layout > LAYOUT:
        raise NewerCacheFile(f"written by a later release (layout {layout}, known is {LAYOUT})")
    if application != APPLICATION or layout != LAYOUT or objects != set(_TABLES):
        raise ForeignCacheFile


def _furnish(connection: sqlite3.Connection) -> None:
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


def _set_aside(path: Path) -> None:
    """Rename the file and its companions; at most two are kept, or a bad disk would fill up."""
    first = path.with_name(path.name + ".set-aside")
    aside = path.with_name(path.name + ".set-aside-2") if first.exists() else first
    # The log goes with its database: it would be played into the new one, and be missed in
    # the old, should that be somebody's.
    for part in ("", *_COMPANIONS):
        with suppress(FileNotFoundError):
            path.with_name(path.name + part).replace(aside.with_name(aside.name + part))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from judging and renaming at the same time. Raises OSError."""
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
