"""The file of changes: which captures are known, and what was new, in order.

It is an SQLite file for its owner alone. New captures and what is known from then on are one
transaction, so a crash neither loses a change nor repeats it. Several processes may use it.
"""

import os
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from archives.model import Memento
from timegate.following import Change, FollowedArchive, ListVersion
from timegate.following.difference import KnownCaptures, NewCapture, difference

Row = tuple[Any, ...]
"""Columns as SQLite returns them."""
_APPLICATION: Final = 0x54474348
"""``PRAGMA application_id``, the letters TGCH."""
_LAYOUT: Final = 1
_BUSY: Final = 10.0
_MOST_CHANGES: Final = 10_000
"""Changes of one page; older ones are dropped."""
HISTORY: Final = 20
"""Captures that an archive has when it is first queried, which feeds show: its latest."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS file (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, requested REAL NOT NULL);
CREATE TABLE IF NOT EXISTS source (
    page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE, archive TEXT NOT NULL,
    claimed REAL, checked REAL, trouble TEXT NOT NULL DEFAULT '', known BLOB, since TEXT
    NOT NULL DEFAULT '', list TEXT NOT NULL DEFAULT '', etag TEXT NOT NULL DEFAULT '',
    modified TEXT NOT NULL DEFAULT '', PRIMARY KEY (page, archive));
CREATE TABLE IF NOT EXISTS change (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE, archive TEXT NOT NULL,
    stamp TEXT NOT NULL, uri TEXT NOT NULL, original TEXT NOT NULL, status INTEGER, mime TEXT,
    digest TEXT, asserted INTEGER NOT NULL, changed INTEGER, noticed REAL NOT NULL,
    history INTEGER NOT NULL, reported INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS change_of_page ON change (page, number);
DROP INDEX IF EXISTS change_unreported;
CREATE INDEX IF NOT EXISTS change_to_report ON change (number) WHERE reported <= 0;
"""
_COLUMNS: Final = (
    "c.number, p.url, c.stamp, c.uri, c.original, c.archive, c.status, c.mime, c.digest, "
    "c.asserted, c.changed, c.noticed, c.reported"
)
_BEGUN: Final = -1
"""The value of ``reported`` while a change is being reported."""
_SELECT: Final = f"SELECT {_COLUMNS} FROM change c JOIN page p ON p.id = c.page"  # noqa: S608 -- constants


class BadChangeFile(Exception):
    """The file cannot be used; the message says why, and what to do."""


class Claim(NamedTuple):
    """The right to query one archive about one page now."""

    page: str
    archive: str
    version: ListVersion | None
    """The version that is known; None if the list has to be read."""


class ChangeFile:
    """The file of changes, from any thread. Use it as a context manager.

    Methods raise sqlite3.Error if the disk fails.
    """

    def __init__(
        self, path: Path, most_pages: int = 1_000_000, *, reports: bool = False
    ) -> None:
        """Follow at most *most_pages*; those requested longest ago are dropped.

        With *reports*, changes are `unreported` until `end_report` is called.
        """
        self._path = path
        self._reports = reports
        self._most_pages = most_pages
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.name = ""
        """Differs from file to file: numbers of one mean nothing in another."""

    def __enter__(self) -> Self:
        """Open or create the file. Raises BadChangeFile."""
        try:
            self._connection = _opened(self._path)
            with self._transaction() as connection:
                (kept,) = _one(connection, "SELECT max(name) FROM file") or (None,)
                self.name = str(kept or secrets.token_hex(4))
                if kept is None:
                    connection.execute("INSERT INTO file VALUES (?)", (self.name,))
        except (OSError, sqlite3.Error) as error:
            self.__exit__(None, None, None)
            why = f"{self._path} cannot be used as a file of changes: {error}"
            raise BadChangeFile(f"{why}; choose another file, or remove it") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A thread whose task was cancelled may still be reading.
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def follow(self, page: str, now: float) -> None:
        """Follow *page* from now on, or note that it was requested."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO page (url, requested) VALUES (?, ?) "
                "ON CONFLICT (url) DO UPDATE SET requested = excluded.requested",
                (page, now),
            )
            connection.execute(
                "DELETE FROM page WHERE id IN "
                "(SELECT id FROM page ORDER BY requested DESC, id DESC LIMIT -1 OFFSET ?)",
                (self._most_pages,),
            )

    def claim(self, page: str, archive: str, before: float, now: float) -> Claim | None:
        """Claim the query of *archive*; None if one was claimed after *before*.

        Only one process gets it, and it counts over restarts.
        """
        with self._transaction() as connection:
            found = _one(connection, "SELECT id FROM page WHERE url = ?", page)
            if found is None:
                return None
            source = _one(
                connection,
                "SELECT claimed, list, etag, modified FROM source "
                "WHERE page = ? AND archive = ?",
                *(found[0], archive),
            )
            # A clock that was set back must not stop the queries.
            if source is not None and source[0] is not None and before < source[0] <= now:
                return None
            connection.execute(
                "INSERT INTO source (page, archive, claimed) VALUES (?, ?, ?) "
                "ON CONFLICT (page, archive) DO UPDATE SET claimed = excluded.claimed",
                (found[0], archive, now),
            )
        version = None if source is None or not source[1] else ListVersion(*source[1:])
        return Claim(page, archive, version)

    def note(
        self,
        claim: Claim,
        captures: Sequence[Memento],
        version: ListVersion | None,
        now: float,
    ) -> list[Change]:
        """Write what is new in *captures*, the whole list; return it.

        The first list of an archive has nothing new; its latest captures are history.
        """
        with self._transaction() as connection:
            page = _one(connection, "SELECT id FROM page WHERE url = ?", claim.page)
            if page is None:
                return []
            known, is_first = _known(connection, page[0], claim.archive)
            new, known = difference(captures, known)
            if is_first:
                new = new[-HISTORY:]
            flags = (is_first, is_first or not self._reports)
            numbers = [_insert(connection, page[0], each, now, *flags) for each in new]
            connection.execute(
                "UPDATE source SET checked = ?, trouble = '', known = ?, since = ?, list = ?, "
                "etag = ?, modified = ? WHERE page = ? AND archive = ?",
                (
                    now,
                    known.written(),
                    known.since,
                    *(version or ListVersion("")),
                    page[0],
                    claim.archive,
                ),
            )
            connection.execute(
                "DELETE FROM change WHERE page = ? AND reported = 1 AND number <= "
                "(SELECT max(number) FROM change WHERE page = ?) - ?",
                (page[0], page[0], _MOST_CHANGES),
            )
        if is_first:
            return []
        return [
            Change(number, claim.page, each.memento, each.changed, now)
            for number, each in zip(numbers, new, strict=True)
        ]

    def note_unchanged(self, claim: Claim, now: float) -> None:
        """Note that the list has not changed."""
        self._note_answer(claim, now, "")

    def note_trouble(self, claim: Claim, why: str) -> None:
        """Note that the archive did not answer."""
        self._note_answer(claim, None, why[:300])

    def _note_answer(self, claim: Claim, now: float | None, trouble: str) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE source SET checked = coalesce(?, checked), trouble = ? "
                "WHERE archive = ? AND page = (SELECT id FROM page WHERE url = ?)",
                (now, trouble, claim.archive, claim.page),
            )

    def archives_of(self, page: str) -> list[FollowedArchive]:
        """Return the state of *page* in each archive that was queried."""
        rows = self._read(
            "SELECT s.archive, s.checked, s.trouble, coalesce(length(s.known) / 8, 0) "
            "FROM source s JOIN page p ON p.id = s.page WHERE p.url = ? ORDER BY s.archive",
            page,
        )
        return [FollowedArchive(*row) for row in rows]

    def latest(self, page: str, most: int, hidden: Collection[str] = ()) -> list[Change]:
        """Return the latest changes of *page*, the newest first."""
        rows = self._read(
            f"{_SELECT} WHERE p.url = ? {_without(hidden)} ORDER BY c.number DESC LIMIT ?",
            *(page, *hidden, most),
        )
        return [_change(row) for row in rows]

    def after(
        self, page: str, number: int, most: int, hidden: Collection[str] = ()
    ) -> list[Change]:
        """Return the changes of *page* after *number*, in order, without history."""
        rows = self._read(
            f"{_SELECT} WHERE p.url = ? {_without(hidden)} AND c.number > ? "
            "AND c.history = 0 ORDER BY c.number LIMIT ?",
            *(page, *hidden, number, most),
        )
        return [_change(row) for row in rows]

    def last_number(self, page: str) -> int:
        """Return the number of the last change of *page*; 0 if there is none."""
        query = (
            "SELECT max(c.number) FROM change c JOIN page p ON p.id = c.page WHERE p.url = ?"
        )
        ((number,),) = self._read(query, page)
        return int(number or 0)

    def last_until(self, page: str, stamp: str) -> int:
        """Return the number of the last change whose capture is not after *stamp*.

        It is where a reader of another file goes on, whose numbers mean nothing here.
        """
        query = (
            "SELECT max(c.number) FROM change c JOIN page p ON p.id = c.page "
            "WHERE p.url = ? AND c.stamp <= ?"
        )
        ((number,),) = self._read(query, page, stamp)
        return int(number or 0)

    def unreported(self, most: int = 1000) -> list[Change]:
        """Return the changes that were not reported, in order."""
        return [
            _change(row)
            for row in self._read(
                f"{_SELECT} WHERE c.reported <= 0 ORDER BY c.number LIMIT ?", most
            )
        ]

    def begin_report(self, number: int) -> None:
        """Note that a change is being reported: if the process is killed, the next knows."""
        self._mark(_BEGUN, number)

    def end_report(self, number: int, *, reported: bool) -> None:
        """Note that a report has ended."""
        self._mark(int(reported), number)

    def _mark(self, value: int, number: int) -> None:
        with self._transaction() as connection:
            connection.execute(
                "UPDATE change SET reported = ? WHERE number = ?", (value, number)
            )

    def _read(self, query: str, *values: object) -> list[Row]:
        with self._lock, closing(self._opened().execute(query, values)) as rows:
            return rows.fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the file of changes is closed")
        return self._connection


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # SQLite gives its companions the same mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(
        path, timeout=_BUSY, isolation_level=None, check_same_thread=False
    )
    try:
        is_new = _check_layout(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        # A change that was sent must not get its number again after a power failure.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if is_new:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        connection.executescript(_TABLES)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_layout(connection: sqlite3.Connection) -> bool:
    """Return whether the file is new. Raises DatabaseError if it is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION:
        raise sqlite3.DatabaseError("it is a database of another program")
    if layout > _LAYOUT:
        raise sqlite3.DatabaseError("a newer release wrote it")
    return not tables


def _one(connection: sqlite3.Connection, query: str, *values: object) -> Row | None:
    with closing(connection.execute(query, values)) as rows:
        row: Row | None = rows.fetchone()
        return row


def _known(
    connection: sqlite3.Connection, page: object, archive: str
) -> tuple[KnownCaptures, bool]:
    """Return what is known, and whether that is nothing because no list was ever read."""
    query = "SELECT known, since FROM source WHERE page = ? AND archive = ?"
    row = _one(connection, query, page, archive)
    if row is None or row[0] is None:
        return KnownCaptures(), True
    return KnownCaptures.read(*row), False


def _insert(
    connection: sqlite3.Connection, page: object, new: NewCapture, now: float, *flags: bool
) -> int:
    memento = new.memento
    values = (
        page,
        memento.archive,
        memento.stamp,
        _text(memento.uri),
        _text(memento.original),
        memento.status,
        None if memento.mime is None else _text(memento.mime),
        None if memento.digest is None else _text(memento.digest),
        memento.is_asserted,
        new.changed,
        now,
        *flags,
    )
    with closing(
        connection.execute(
            "INSERT INTO change (page, archive, stamp, uri, original, status, mime, digest, "
            "asserted, changed, noticed, history, reported) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
    ) as cursor:
        return int(cursor.lastrowid or 0)


def _text(text: str) -> str:
    """Return *text* without lone surrogates, which SQLite does not take."""
    return text.encode("utf-8", "replace").decode()


def _without(hidden: Collection[str]) -> str:
    return f"AND c.archive NOT IN ({', '.join('?' * len(hidden))})" if hidden else ""


def _change(row: Row) -> Change:
    number, page, *memento, asserted, changed, noticed, reported = row
    stamp, uri, original, archive, status, mime, digest = memento
    found = Memento(stamp, uri, original, archive, status, mime, digest, bool(asserted))
    differs = None if changed is None else bool(changed)
    return Change(number, page, found, differs, noticed, reported == _BEGUN)
