"""Parts while they are filled: rows are held, written in pieces, then published at once."""

from typing import Final

from archives.collection.folder import FileSeen
from archives.collection.summary import IndexSummary
from archives.collection.writing import Filled, IndexWriter
from archives.warc.capture import Capture

_ENOUGH: Final = 10_000
"""Rows held before they are written; some 5 MB. Sorted runs of that length go in quickly."""


class Filling:
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

    def part(self, file: FileSeen, member: str = "") -> int:
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
        if len(self._rows) >= _ENOUGH:
            self._write()

    def complain(self, part: int, file: str, offset: int, why: str) -> None:
        """Count what cannot be used."""
        self._complaints[part] += 1
        self._summary.complain(file, offset, why)

    def publish(
        self, replaced: tuple[int, ...], grown: FileSeen | None = None, upto: int = 0
    ) -> None:
        """Let all of it be seen, instead of the parts it replaces."""
        self._write()
        filled = [
            Filled(part, max(self._upto[part], upto), captures, self._complaints[part])
            for part, captures in self._captures.items()
        ]
        self._writer.publish(filled, replaced, grown)

    def give_up(self, replaced: tuple[int, ...]) -> None:
        """Let none of it be seen, nor what it was to replace: that file is no more."""
        self._rows.clear()
        self._writer.bury((*self._captures, *replaced))
        self._summary.captures -= sum(self._captures.values())

    def _write(self) -> None:
        if self._rows:
            self._writer.add(self._rows)
            self._rows.clear()
