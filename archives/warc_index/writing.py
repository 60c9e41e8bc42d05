"""Writing the index: planning what to read, filling parts, and publishing them.

Rows arrive in crawl order and are stored in SURT order. Inserted as they arrive, nearly each
row writes its own page twice: 5 million rows wrote 51 GB for an index of 1 GB. So rows wait in
a temporary SQLite table and are inserted sorted, a million at a time. If the process ends
before that, their parts were never visible, and their files are read again.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

from archives.warc.captures import Capture
from archives.warc_index.database import BUILDING, LIVE, RETIRED
from archives.warc_index.model import FileInfo, FolderContents, IndexSummary

_ROWS_PER_FLUSH: Final = 1_000_000
"""Rows that wait before they are inserted: some 200 MB of temporary files, twice that while
they are sorted."""
_ROWS_PER_INSERT: Final = 50_000
"""Sorted rows inserted in one transaction, which limits the size of the log."""
_WAITING_TABLE: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS waiting (surt TEXT, stamp TEXT, part INTEGER, "
    "offset INTEGER, length INTEGER, url TEXT, mime TEXT, status INTEGER, digest TEXT)"
)
_ROWS_PER_DELETE: Final = 20_000
"""Rows deleted in one transaction, which limits its duration and the size of the log."""


class IndexPart(NamedTuple):
    """A visible part: of a file, of one WARC in a WACZ, or of what was appended to a file."""

    id: int
    path: str
    member: str
    size: int
    mtime: int
    upto: int
    """Where the last capture ends; a file that has grown is read from there."""
    head: bytes
    """Digest of the first bytes, to tell whether a longer file is the same file."""
    via: str
    """The CDX file that listed the captures; empty if the file itself was read."""


class FilledPart(NamedTuple):
    """A part that is ready to become visible."""

    id: int
    upto: int
    captures: int
    complaints: int


class _Publication(NamedTuple):
    """Parts to show and to hide once the waiting rows are inserted."""

    filled: Sequence[FilledPart]
    replaced: tuple[int, ...]
    grown: FileInfo | None


class IndexWriter:
    """Writes parts and rows to the index; the only writer."""

    def __init__(
        self, connection: sqlite3.Connection, rows_per_flush: int = _ROWS_PER_FLUSH
    ) -> None:
        self._connection = connection
        self._rows_per_flush = rows_per_flush
        self._rows = 0
        self._publications: list[_Publication] = []
        # Temporary tables end with the process, so they need no journal.
        connection.execute("PRAGMA temp.journal_mode = OFF")
        connection.execute(_WAITING_TABLE)

    def parts(self) -> list[IndexPart]:
        """Return the visible parts."""
        query = (
            "SELECT id, path, member, size, mtime, upto, head, via FROM part WHERE state = 1 "
            "ORDER BY id"
        )
        with closing(self._connection.execute(query)) as rows:
            return [IndexPart._make(row) for row in rows]

    def begin(self, file: FileInfo, member: str, head: bytes, via: str) -> int:
        """Begin an invisible part; return its id."""
        values = (file.path, member, file.size, file.mtime, 0, head, via, BUILDING)
        with closing(
            self._connection.execute(
                "INSERT INTO part (path, member, size, mtime, upto, head, via, state, "
                "captures, complaints) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
                values,
            )
        ) as cursor:
            return int(cursor.lastrowid or 0)

    def add(self, captures: Iterable[tuple[int, Capture]]) -> None:
        """Add rows to invisible parts."""
        rows = [
            (c.surt, c.stamp, part, c.offset, c.length, c.url, c.mime, c.status, c.digest)
            for part, c in captures
        ]
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO waiting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
        )
        self._connection.execute("COMMIT")
        self._rows += len(rows)
        if self._rows >= self._rows_per_flush:
            self.flush()

    def publish(
        self,
        filled: Sequence[FilledPart],
        replaced: Iterable[int],
        grown: FileInfo | None = None,
    ) -> None:
        """Show parts and hide those they replace, in one transaction of the next `flush`.

        *grown* is a file that was appended to: its earlier parts stay, with its new size.
        """
        self._publications.append(_Publication(filled, tuple(replaced), grown))

    def flush(self) -> None:
        """Insert the waiting rows, then publish the completed parts."""
        self._move_waiting_rows()
        with self.transaction():
            for publication in self._publications:
                self._publish(*publication)
        self._publications.clear()

    def retire(self, parts: Iterable[int]) -> None:
        """Hide parts; `delete_retired` deletes their rows."""
        with self.transaction():
            self._retire(parts)

    def retire_unfinished(self) -> None:
        """Retire the unfinished parts of an interrupted run."""
        self._connection.execute(f"UPDATE part SET state = {RETIRED} WHERE state = {BUILDING}")  # noqa: S608

    def delete_retired(self) -> None:
        """Delete retired parts and their rows, in several transactions."""
        self.flush()
        with closing(self._connection.execute("SELECT id FROM part WHERE state = 2")) as rows:
            retired = [int(row[0]) for row in rows]
        if not retired:
            return
        after: tuple[str, str, int, int] | None = ("", "", 0, 0)
        while after is not None:
            after = self._delete_slice(after)
        with self.transaction():
            self._connection.executemany(
                "DELETE FROM part WHERE id = ?", [(number,) for number in retired]
            )

    def finish(self, *, complete: bool) -> None:
        """Record whether all files have been read, and truncate the log."""
        self.flush()
        if complete:
            self._connection.execute("UPDATE pass SET complete = 1")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the block, or roll it back on an exception."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _move_waiting_rows(self) -> None:
        """Insert the waiting rows in the order of the table's primary key."""
        query = "SELECT * FROM waiting ORDER BY surt, stamp, part, offset"
        with closing(self._connection.execute(query)) as waiting:
            while rows := waiting.fetchmany(_ROWS_PER_INSERT):
                with self.transaction():
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO capture VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        rows,
                    )
        self._connection.execute("DELETE FROM waiting")
        self._rows = 0

    def _publish(
        self, filled: Sequence[FilledPart], replaced: tuple[int, ...], grown: FileInfo | None
    ) -> None:
        self._connection.executemany(
            f"UPDATE part SET state = {LIVE}, upto = ?, captures = ?, complaints = ? "  # noqa: S608
            "WHERE id = ?",
            [(part.upto, part.captures, part.complaints, part.id) for part in filled],
        )
        self._retire(replaced)
        if grown is not None:
            self._connection.execute(
                "UPDATE part SET size = ?, mtime = ? WHERE path = ? AND state = 1",
                (grown.size, grown.mtime, grown.path),
            )

    def _retire(self, parts: Iterable[int]) -> None:
        self._connection.executemany(
            f"UPDATE part SET state = {RETIRED} WHERE id = ?",  # noqa: S608 -- a constant
            [(part,) for part in parts],
        )

    def _delete_slice(
        self, after: tuple[str, str, int, int]
    ) -> tuple[str, str, int, int] | None:
        query = (
            "SELECT c.surt, c.stamp, c.part, c.offset, p.state FROM capture c CROSS JOIN "
            "part p ON p.id = c.part WHERE (c.surt, c.stamp, c.part, c.offset) > (?, ?, ?, ?) "
            "ORDER BY c.surt, c.stamp, c.part, c.offset LIMIT ?"
        )
        with closing(self._connection.execute(query, (*after, _ROWS_PER_DELETE))) as cursor:
            rows = cursor.fetchall()
        keys = [row[:4] for row in rows if row[4] == RETIRED]
        if keys:
            with self.transaction():
                self._connection.executemany(
                    "DELETE FROM capture WHERE surt = ? AND stamp = ? AND part = ? "
                    "AND offset = ?",
                    keys,
                )
        return rows[-1][:4] if len(rows) == _ROWS_PER_DELETE else None


_ROWS_PER_WRITE: Final = 10_000
"""Rows held in memory before they are added to the writer; some 5 MB."""


class PartFiller:
    """Fills the parts of one file, or of all files that one CDX file lists."""

    def __init__(
        self, writer: IndexWriter, summary: IndexSummary, *, head: bytes = b"", via: str = ""
    ) -> None:
        self._writer = writer
        self._summary = summary
        self._head = head
        self._via = via
        self._parts: dict[tuple[str, str], int] = {}
        self._upto: dict[int, int] = {}
        self._captures: dict[int, int] = {}
        self._complaints: dict[int, int] = {}
        self._rows: list[tuple[int, Capture]] = []

    def part(self, file: FileInfo, member: str = "") -> int:
        """Return the part of *member* of *file*, which is begun if it is new."""
        part = self._parts.get((file.path, member))
        if part is None:
            part = self._writer.begin(file, member, self._head, self._via)
            self._parts[file.path, member] = part
            self._upto[part] = self._captures[part] = self._complaints[part] = 0
        return part

    def add(self, part: int, captures: list[Capture]) -> None:
        """Add rows to a part."""
        if not captures:
            return
        self._rows += [(part, capture) for capture in captures]
        self._captures[part] += len(captures)
        self._summary.captures += len(captures)
        last = captures[-1]
        self._upto[part] = max(self._upto[part], last.offset + last.length)
        if len(self._rows) >= _ROWS_PER_WRITE:
            self._write()

    def complain(self, part: int, file: str, offset: int, why: str) -> None:
        """Record a problem of a part."""
        self._complaints[part] += 1
        self._summary.complain(file, offset, why)

    def publish(
        self, replaced: tuple[int, ...], grown: FileInfo | None = None, upto: int = 0
    ) -> None:
        """Publish the parts in place of those they replace."""
        self._write()
        filled = [
            FilledPart(part, max(self._upto[part], upto), captures, self._complaints[part])
            for part, captures in self._captures.items()
        ]
        self._writer.publish(filled, replaced, grown)

    def abandon(self, replaced: tuple[int, ...]) -> None:
        """Retire the parts, and those they were to replace, which are outdated."""
        self._rows.clear()
        self._writer.retire((*self._captures, *replaced))
        self._summary.captures -= sum(self._captures.values())

    def _write(self) -> None:
        if self._rows:
            self._writer.add(self._rows)
            self._rows.clear()


class IndexJob(NamedTuple):
    """A file to read, from which offset, and the parts that it replaces."""

    file: FileInfo
    start: int = 0
    replaces: tuple[int, ...] = ()


class IndexPlan(NamedTuple):
    """The work of an indexing run."""

    read: dict[str, IndexJob]
    """WARCs and WACZs, by path."""
    cdx_files: list[IndexJob]
    """New and changed CDX files, the newest first."""
    removed: list[IndexPart]
    unchanged: int


HasGrown = Callable[[FileInfo, IndexPart], bool]
"""Whether a file was appended to: it is longer, and begins with the same bytes."""


def plan(
    listing: FolderContents, parts: Iterable[IndexPart], has_grown: HasGrown, *, read_all: bool
) -> IndexPlan:
    """Compare the files with the index; *read_all* reads every file, and no CDX files."""
    by_path: dict[str, list[IndexPart]] = defaultdict(list)
    for part in parts:
        by_path[part.path].append(part)
    cdx_files = [f for f in listing.files.values() if f.kind == "cdx" and not read_all]
    current = {f.path for f in cdx_files if _is_current(f, by_path[f.path])}
    changed = [f for f in cdx_files if f.path not in current]
    files = [f for f in listing.files.values() if f.kind != "cdx"]
    outdated = [f for f in files if read_all or not _is_valid(f, by_path[f.path], current)]
    may_continue = _never if read_all else has_grown
    return IndexPlan(
        {f.path: _job(f, by_path[f.path], may_continue) for f in outdated},
        [
            IndexJob(f, replaces=_part_ids(by_path[f.path]))
            for f in sorted(changed, key=lambda file: file.mtime, reverse=True)
        ],
        [
            part
            for path, parts in by_path.items()
            if path not in listing.files and not listing.is_unreadable(path)
            for part in parts
        ],
        len(files) - len(outdated),
    )


def _never(_file: FileInfo, _part: IndexPart) -> bool:
    return False


def _is_current(file: FileInfo, parts: list[IndexPart]) -> bool:
    return bool(parts) and all((p.size, p.mtime) == (file.size, file.mtime) for p in parts)


def _is_valid(file: FileInfo, parts: list[IndexPart], current_cdx: set[str]) -> bool:
    """Whether the parts match the file, and those from a CDX file match that file too."""
    return _is_current(file, parts) and all(not p.via or p.via in current_cdx for p in parts)


def _job(file: FileInfo, parts: list[IndexPart], has_grown: HasGrown) -> IndexJob:
    was_read = parts and file.kind == "warc" and not any(part.via for part in parts)
    if was_read and has_grown(file, parts[0]):
        return IndexJob(file, start=max(part.upto for part in parts))
    return IndexJob(file, replaces=_part_ids(parts))


def _part_ids(parts: list[IndexPart]) -> tuple[int, ...]:
    return tuple(part.id for part in parts)
