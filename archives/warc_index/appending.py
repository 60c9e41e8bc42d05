"""Adding captures to an index while their records are written, without reading the files.

A store appends a record to a WARC and its row to the index under one lock, which is also that
of indexing runs. After a crash the file may be ahead of the index; the next indexing run then
reads what the index lacks.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from archives.warc.captures import Capture
from archives.warc_index.database import LIVE, IndexInUse, exclusive_lock, open_writer
from archives.warc_index.model import LocalFiles

_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02
_SIZE: Final = "SELECT coalesce(sum(size), 0) FROM part WHERE state = 1"


class AppendedFile(NamedTuple):
    """A file of the collection after captures were appended to it."""

    path: str
    """Relative to the collection."""
    size: int
    mtime: int
    """In nanoseconds."""
    head: bytes
    """Its first bytes, at most `HEAD_SIZE`."""


@contextmanager
def index_lock(
    place: LocalFiles, seconds: float, pause: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Hold the lock of the index; wait for others up to *seconds*. Raises IndexInUse, OSError.

    It blocks, so it is for threads.
    """
    waited, wait = 0.0, _FIRST_PAUSE
    while True:
        lock = exclusive_lock(place.index)
        try:
            lock.__enter__()
        except IndexInUse:
            if waited >= seconds:
                raise
        else:
            break
        pause(wait)
        waited += wait
        wait = min(wait * 2, _LONGEST_PAUSE)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


class IndexAppender:
    """Appends captures. All methods need the `index_lock`, and one thread at a time."""

    def __init__(self, place: LocalFiles) -> None:
        self._index = place.index
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._parts: dict[str, int] = {}

    def close(self) -> None:
        """Close the index."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def size(self) -> int:
        """Return the octets of all files in the index."""
        with closing(self._opened().execute(_SIZE)) as rows:
            return int(rows.fetchone()[0])

    def append(self, file: AppendedFile, captures: Sequence[Capture]) -> None:
        """Add *captures* at the end of *file*, in one durable transaction."""
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        try:
            part = self._part(connection, file)
            connection.execute(
                "UPDATE part SET upto = ?, head = ?, captures = captures + ? WHERE id = ?",
                (file.size, _digest(file.head), len(captures), part),
            )
            connection.execute(
                "UPDATE part SET size = ?, mtime = ? WHERE path = ? AND state = 1",
                (file.size, file.mtime, file.path),
            )
            connection.executemany(
                "INSERT INTO capture VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        c.surt,
                        c.stamp,
                        part,
                        c.offset,
                        c.length,
                        c.url,
                        c.mime,
                        c.status,
                        c.digest,
                    )
                    for c in captures
                ],
            )
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _part(self, connection: sqlite3.Connection, file: AppendedFile) -> int:
        """Return the part of *file*, which is begun if it is new."""
        known = self._parts.get(file.path)
        query = "SELECT id FROM part WHERE id = ? AND path = ? AND state = 1"
        if known is not None:
            with closing(connection.execute(query, (known, file.path))) as rows:
                if rows.fetchone() is not None:
                    return known
        query = "SELECT max(id) FROM part WHERE path = ? AND state = 1"
        with closing(connection.execute(query, (file.path,))) as rows:
            (found,) = rows.fetchone()
        part = self._begun(connection, file) if found is None else int(found)
        self._parts[file.path] = part
        return part

    def _begun(self, connection: sqlite3.Connection, file: AppendedFile) -> int:
        with closing(
            connection.execute(
                "INSERT INTO part (path, member, size, mtime, upto, head, via, state, "
                "captures, complaints) VALUES (?, '', 0, 0, 0, x'', '', ?, 0, 0)",
                (file.path, LIVE),
            )
        ) as cursor:
            return int(cursor.lastrowid or 0)

    def _opened(self) -> sqlite3.Connection:
        """Return the connection, opened again if the index was replaced."""
        if self._connection is not None and self._identity == _identity(self._index):
            return self._connection
        self.close()
        self._parts.clear()
        connection, _ = open_writer(self._index)
        # The store acknowledges a capture once it is in the index.
        connection.execute("PRAGMA synchronous = FULL")
        self._connection, self._identity = connection, _identity(self._index)
        return connection


def _identity(index: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(index)  # noqa: PTH116 -- for each write; Path would double the time
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _digest(head: bytes) -> bytes:
    return blake2b(head, digest_size=16).digest()
