"""The index file: SQLite, one writer at a time, any number of readers meanwhile.

A *part* is a run of captures that becomes visible at once: what one pass read of one WARC. Its
rows are written in small transactions under a number nobody looks for yet, then its state is
changed in one. So kill -9 leaves rows that nobody sees, and the next run sweeps them away.

Everything in the file can be had again from the WARCs, so what is damaged is set aside and
built anew. Only a file of a newer release is left alone.

Damage does not always show: of an index that is copied while it is written, old pages and new
ones come together, and captures are missing without complaint (3 of 63 copies). So an index is
checked page by page before it is written the first time in its place; the lock beside it holds
which file that was.
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
"""``PRAGMA application_id``, the letters TGIX: says whose file it is."""
LAYOUT: Final = 1
"""``PRAGMA user_version``."""
BUILDING, LIVE, DEAD = 0, 1, 2
"""States of a part: being written, visible, to be swept away."""

# A look-up is a range of the primary key; WITHOUT ROWID, the row lies there and not elsewhere.
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
# A CDX file may name a capture twice, which is one row: how many it told of is no measure.
_MISSING: Final = """SELECT 1 FROM part LEFT JOIN
    (SELECT part AS id, count(*) AS rows FROM capture GROUP BY part) USING (id)
    WHERE state = 1 AND via = '' AND captures != coalesce(rows, 0) LIMIT 1"""
_DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR}
)
_UNREADABLE: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_COMPANIONS: Final = ("-wal", "-shm")
_BUSY: Final = 5.0
_WRITER_CACHE: Final = 64 * 1024
"""Kilobytes: rows come in the order of the crawl, and go into the order of the web."""


class ForeignIndex(Exception):
    """The file is a database, but somebody else's: it is left alone."""


class OutdatedIndex(Exception):
    """The file is an index of ours with other tables than these."""


class TornIndex(Exception):
    """The file is an index of ours that is not whole: a copy made while it was written."""


class NewerIndex(Exception):
    """The file was written by a later release."""


class IndexInUse(Exception):
    """Another process is building this index."""


def open_writer(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open or create the index; return it, and whether a damaged one was set aside.

    Only for who is `alone`. Raises OSError, sqlite3.Error, Newer or Foreign.
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


def open_reader(path: Path, patience: float) -> sqlite3.Connection:
    """Open the index to look things up. Raises sqlite3.Error, Foreign, Outdated or Newer.

    Where the folder may not be written, SQLite cannot make the shared memory of its log; then
    the file is read as one that never changes, if no log lies beside it.
    """
    address = f"file:{quote(str(path))}?mode=ro"
    try:
        return _reader(address, patience)
    except sqlite3.OperationalError as error:
        if _code(error) not in _UNREADABLE or _has_log(path):
            raise
    return _reader(f"{address}&immutable=1", patience)


def is_damage(error: BaseException) -> bool:
    """Whether *error* speaks of the file itself, rather than of locks, rights or space."""
    return isinstance(error, sqlite3.Error) and _code(error) in _DAMAGE


def rename_damaged(path: Path) -> None:
    """Rename the file and its companions; the last one set aside gives way."""
    for part in ("", *_COMPANIONS):
        with suppress(FileNotFoundError):
            path.with_name(path.name + part).replace(
                path.with_name(f"{path.name}.set-aside{part}")
            )


@contextmanager
def exclusive_lock(path: Path, purpose: str = "lock") -> Iterator[None]:
    """Be the only process that does this. Raises Occupied, or OSError.

    The lock is the kernel's: it ends with the process, however that ends.
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
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
    try:
        _guard(connection)
        if _objects(connection):
            # Before anything is changed: it may be somebody else's.
            _judge(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        # Power loss may cost the last parts, which are then read again; never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE}")
        if not _objects(connection):
            _furnish(connection)
        if _known(path) != _identity(path):
            _check(connection)
            _lock(path).write_text(_identity(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _identity(path: Path) -> str:
    """Return what tells this file from a copy of it."""
    found = path.stat()
    return f"{found.st_dev}:{found.st_ino}"


def _known(path: Path) -> str:
    try:
        return _lock(path).read_text(errors="replace")
    except FileNotFoundError:
        return ""


def _lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _check(connection: sqlite3.Connection) -> None:
    """Raise Torn unless every page is where it should be, and every row there is."""
    with closing(connection.execute("PRAGMA quick_check(1)")) as told:
        found = str(told.fetchone()[0])
    if found != "ok":
        raise TornIndex(found)
    with closing(connection.execute(_MISSING)) as missing:
        if missing.fetchone() is not None:
            raise TornIndex("captures are missing")


def _reader(address: str, patience: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, timeout=patience, isolation_level=None, uri=True, check_same_thread=False
    )
    try:
        _guard(connection)
        _judge(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _guard(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _judge(connection: sqlite3.Connection) -> None:
    application = _number(connection, "PRAGMA application_id")
    layout = _number(connection, "PRAGMA user_version")
    if application != APPLICATION:
        raise ForeignIndex("a database, but not an index of ours")
    if layout > LAYOUT:
        raise NewerIndex(f"written by a later release (layout {layout}, known is {LAYOUT})")
    if layout != LAYOUT or _objects(connection) != set(_TABLES):
        raise OutdatedIndex("an index of another layout")


def _furnish(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(table)
        connection.execute("INSERT INTO pass VALUES (0)")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _objects(connection: sqlite3.Connection) -> set[str]:
    # SQLite's own table counts the parts; it is not one of ours.
    query = (
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' "
        "LIMIT 9"
    )
    with closing(connection.execute(query)) as rows:
        return {str(sql) for (sql,) in rows}


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _code(error: sqlite3.Error) -> int:
    # Errors that the module itself raises (not SQLite) have no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE)
    return code & 0xFF


def _has_log(path: Path) -> bool:
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
