"""Writing the index: parts that are filled unseen and become visible at once.

Rows come in the order of the crawl and go into the order of the web. Put in as they come,
nearly each costs a page of its own, twice: 5 million rows wrote 51 GB for an index of 1 GB. So
they wait in a table that SQLite keeps in a temporary file, and go over sorted, a million at a
time. That file ends with the process, and nobody has seen its parts: they are read again.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

from archives.warc.captures import Capture
from archives.warc_index.database import BUILDING, DEAD, LIVE
from archives.warc_index.model import FileInfo, FolderContents, IndexSummary

_ENOUGH: Final = 1_000_000
"""Rows that wait before they go over: some 200 MB of temporary files, twice while sorted."""
_RUN: Final = 50_000
"""Sorted rows that go over in one transaction: the log is not to grow with the index."""
_WAITING: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS waiting (surt TEXT, stamp TEXT, part INTEGER, "
    "offset INTEGER, length INTEGER, url TEXT, mime TEXT, status INTEGER, digest TEXT)"
)
_SLICE: Final = 20_000
"""Rows that are swept away in one transaction: readers and the log are not to wait long."""


class IndexPart(NamedTuple):
    """What is visible of one file, or of one WARC in a WACZ, or of a file since it grew."""

    id: int
    path: str
    member: str
    size: int
    mtime: int
    upto: int
    """Where the last capture ends; a file that grew is read from there."""
    head: bytes
    """Digest of the first octets: whether a longer file is the same file."""
    via: str
    """The CDX file that told of it; empty where the file itself was read."""


class FilledPart(NamedTuple):
    """A part that is ready to be seen."""

    id: int
    upto: int
    captures: int
    complaints: int


class _Publication(NamedTuple):
    """What is to be seen, and no more to be seen, as soon as the rows have gone over."""

    filled: Sequence[FilledPart]
    replaced: tuple[int, ...]
    grown: FileInfo | None


class IndexWriter:
    """The one connection that writes."""

    def __init__(self, connection: sqlite3.Connection, enough: int = _ENOUGH) -> None:
        self._connection = connection
        self._enough = enough
        self._rows = 0
        self._publications: list[_Publication] = []
        # Nothing in it outlives the process, so nothing in it can be lost.
        connection.execute("PRAGMA temp.journal_mode = OFF")
        connection.execute(_WAITING)

    def parts(self) -> list[IndexPart]:
        """Return what is visible."""
        query = (
            "SELECT id, path, member, size, mtime, upto, head, via FROM part WHERE state = 1 "
            "ORDER BY id"
        )
        with closing(self._connection.execute(query)) as rows:
            return [IndexPart._make(row) for row in rows]

    def begin(self, file: FileInfo, member: str, head: bytes, via: str) -> int:
        """Begin a part that nobody sees yet; return its number."""
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
        """Take rows of parts that nobody sees yet."""
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
        if self._rows >= self._enough:
            self.flush()

    def publish(
        self,
        filled: Sequence[FilledPart],
        replaced: Iterable[int],
        grown: FileInfo | None = None,
    ) -> None:
        """Make parts visible, and those they replace invisible, at once: with the next `flush`.

        *grown*: the file whose earlier parts stay, and are now those of a longer file.
        """
        self._publications.append(_Publication(filled, tuple(replaced), grown))

    def flush(self) -> None:
        """Let all rows go over, then let be seen what is complete."""
        self._go_over()
        with self.transaction():
            for publication in self._publications:
                self._publish(*publication)
        self._publications.clear()

    def retire(self, parts: Iterable[int]) -> None:
        """Make parts invisible; `sweep` takes their rows away."""
        with self.transaction():
            self._retire(parts)

    def retire_unfinished(self) -> None:
        """Give up what a run that was ended in the middle left behind."""
        self._connection.execute(f"UPDATE part SET state = {DEAD} WHERE state = {BUILDING}")  # noqa: S608

    def delete_retired(self) -> None:
        """Remove the rows of parts that nobody sees, a slice at a time."""
        self.flush()
        with closing(self._connection.execute("SELECT id FROM part WHERE state = 2")) as rows:
            dead = [int(row[0]) for row in rows]
        if not dead:
            return
        place: tuple[str, str, int, int] | None = ("", "", 0, 0)
        while place is not None:
            place = self._delete_slice(place)
        with self.transaction():
            self._connection.executemany(
                "DELETE FROM part WHERE id = ?", [(number,) for number in dead]
            )

    def finish(self, *, complete: bool) -> None:
        """Say whether everything has been looked at by now, and leave no log behind."""
        self.flush()
        if complete:
            self._connection.execute("UPDATE pass SET complete = 1")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of it or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _go_over(self) -> None:
        """Move what waits into the table, in the order of the table."""
        query = "SELECT * FROM waiting ORDER BY surt, stamp, part, offset"
        with closing(self._connection.execute(query)) as waiting:
            while rows := waiting.fetchmany(_RUN):
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
            f"UPDATE part SET state = {DEAD} WHERE id = ?",  # noqa: S608 -- a constant of ours
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
        with closing(self._connection.execute(query, (*after, _SLICE))) as cursor:
            rows = cursor.fetchall()
        gone = [row[:4] for row in rows if row[4] == DEAD]
        if gone:
            with self.transaction():
                self._connection.executemany(
                    "DELETE FROM capture WHERE surt = ? AND stamp = ? AND part = ? "
                    "AND offset = ?",
                    gone,
                )
        return rows[-1][:4] if len(rows) == _SLICE else None


_FILLING_ENOUGH: Final = 10_000
"""Rows held before they are written; some 5 MB. Sorted runs of that length go in quickly."""


class PartFiller:
    """The parts of one file, or of all the files that one CDX file tells of."""

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
        """Return the part for *member* of *file*, begun if there is none yet."""
        part = self._parts.get((file.path, member))
        if part is None:
            part = self._writer.begin(file, member, self._head, self._via)
            self._parts[file.path, member] = part
            self._upto[part] = self._captures[part] = self._complaints[part] = 0
        return part

    def add(self, part: int, captures: list[Capture]) -> None:
        """Take rows; write them if there are enough."""
        if not captures:
            return
        self._rows += [(part, capture) for capture in captures]
        self._captures[part] += len(captures)
        self._summary.captures += len(captures)
        last = captures[-1]
        self._upto[part] = max(self._upto[part], last.offset + last.length)
        if len(self._rows) >= _FILLING_ENOUGH:
            self._write()

    def complain(self, part: int, file: str, offset: int, why: str) -> None:
        """Count what cannot be used."""
        self._complaints[part] += 1
        self._summary.complain(file, offset, why)

    def publish(
        self, replaced: tuple[int, ...], grown: FileInfo | None = None, upto: int = 0
    ) -> None:
        """Let all of it be seen, instead of the parts it replaces."""
        self._write()
        filled = [
            FilledPart(part, max(self._upto[part], upto), captures, self._complaints[part])
            for part, captures in self._captures.items()
        ]
        self._writer.publish(filled, replaced, grown)

    def give_up(self, replaced: tuple[int, ...]) -> None:
        """Let none of it be seen, nor what it was to replace: that file is no more."""
        self._rows.clear()
        self._writer.retire((*self._captures, *replaced))
        self._summary.captures -= sum(self._captures.values())

    def _write(self) -> None:
        if self._rows:
            self._writer.add(self._rows)
            self._rows.clear()


class IndexJob(NamedTuple):
    """A file to read, from where, and which parts that makes obsolete."""

    file: FileInfo
    start: int = 0
    replaces: tuple[int, ...] = ()


class IndexPlan(NamedTuple):
    """What a run has to do."""

    read: dict[str, IndexJob]
    """WARCs and WACZs, by path."""
    lists: list[IndexJob]
    """CDX files that are new or have changed, the newest first."""
    gone: list[IndexPart]
    unchanged: int


HasGrown = Callable[[FileInfo, IndexPart], bool]
"""Whether a file that is longer than it was still begins with the same octets."""


def plan(
    listing: FolderContents, parts: Iterable[IndexPart], grew: HasGrown, *, read_all: bool
) -> IndexPlan:
    """Compare what is there with what is known; *read_all*: believe neither."""
    found = listing.files
    known: dict[str, list[IndexPart]] = defaultdict(list)
    for part in parts:
        known[part.path].append(part)
    lists = {path: file for path, file in found.items() if file.kind == "cdx" and not read_all}
    fresh = {path for path, file in lists.items() if _is_current(file, known.get(path, []))}
    files = [file for file in found.values() if file.kind != "cdx"]
    read = {
        file.path: _job(
            file, known.get(file.path, []), (lambda *_: False) if read_all else grew
        )
        for file in files
        if read_all or not _stands(file, known.get(file.path, []), fresh)
    }
    return IndexPlan(
        read,
        [
            IndexJob(file, replaces=_numbers(known.get(file.path, [])))
            for file in sorted(lists.values(), key=lambda file: file.mtime, reverse=True)
            if file.path not in fresh
        ],
        [
            part
            for path, parts in known.items()
            if path not in found and not listing.is_unreadable(path)
            for part in parts
        ],
        len(files) - len(read),
    )


def _is_current(file: FileInfo, parts: list[IndexPart]) -> bool:
    return bool(parts) and all((p.size, p.mtime) == (file.size, file.mtime) for p in parts)


def _stands(file: FileInfo, parts: list[IndexPart], fresh: set[str]) -> bool:
    """Whether its parts still tell the truth; those of a CDX file while that is the same."""
    return _is_current(file, parts) and all(not p.via or p.via in fresh for p in parts)


def _job(file: FileInfo, parts: list[IndexPart], grew: HasGrown) -> IndexJob:
    whole = parts and file.kind == "warc" and not any(part.via for part in parts)
    if whole and grew(file, parts[0]):
        return IndexJob(file, start=max(part.upto for part in parts))
    return IndexJob(file, replaces=_numbers(parts))


def _numbers(parts: list[IndexPart]) -> tuple[int, ...]:
    return tuple(part.id for part in parts)
