"""A file as it lies on the disk, read in pieces; and what is raised where it is damaged.

Nothing in a file is believed: whatever is read here was written by somebody else, perhaps to
hurt us. So every reader counts, and what it holds at a time does not grow with the file.
"""

import re
from typing import BinaryIO, Final, Protocol

PIECE: Final = 16 * 1024
WINDOW: Final = 64 * 1024
_NOT_NEWLINE: Final = re.compile(rb"[^\r\n]")


class Damaged(Exception):
    """What stands at *offset* cannot be used; the file was read as far as *reached*."""

    def __init__(self, offset: int, why: str, reached: int | None = None) -> None:
        super().__init__(f"at {offset}: {why}")
        self.offset = offset
        self.why = why
        self.reached = offset + 1 if reached is None else max(reached, offset + 1)

    def again(self) -> "Damaged":
        """Return another of the same: one that was raised holds on to all that saw it."""
        return Damaged(self.offset, self.why, self.reached)


class ByteSource(Protocol):
    """Octets one after another, wherever they come from."""

    offset: int
    """Where they begin in the file."""
    position: int
    """How far the file has been used up."""

    def read(self, most: int) -> bytes:
        """Return some octets, no more than *most*, none only at the end."""
        ...

    def skip(self, octets: int) -> int:
        """Leave out octets without reading them; return how many."""
        ...

    def close(self, rest: bytes) -> None:
        """See what stands behind the record, *rest* first; raise Damaged if it may not."""
        ...


class FileSection:
    """The part of a file from *start* to *end*, from which any piece can be had."""

    def __init__(self, file: BinaryIO, start: int = 0, end: int | None = None) -> None:
        size = file.seek(0, 2)
        self.start = max(start, 0)
        self.end = size if end is None else min(end, size)
        self.inflated = 0
        """How many octets came out of its gzip members so far, useful or not."""
        self._file = file
        self._window = b""
        self._base = 0

    def piece(self, at: int, most: int = PIECE) -> bytes:
        """Return what stands at *at*, at least one octet before the end."""
        within = at - self._base
        if not 0 <= within < len(self._window):
            self._move_to(at)
            within = 0
        return self._window[within : within + most]

    def beginning(self, at: int, octets: int) -> bytes:
        """Return what stands at *at*, so many *octets*; fewer only at the end."""
        piece = self.piece(at, octets)
        if len(piece) < octets and self._base < at:
            self._move_to(at)
            piece = self._window[:octets]
        return piece

    def _move_to(self, at: int) -> None:
        self._file.seek(at)
        self._window = self._file.read(max(min(WINDOW, self.end - at), 0))
        self._base = at

    def glimpse(self, at: int, most: int) -> bytes:
        """Return what stands far from where is being read."""
        self._file.seek(at)
        return self._file.read(max(min(most, self.end - at), 0))

    def behind_newlines(self, at: int) -> int:
        """Return where the first octet from *at* on stands that ends no line."""
        while piece := self.piece(at):
            if other := _NOT_NEWLINE.search(piece):
                return at + other.start()
            at += len(piece)
        return at


class Plain:
    """What is stored as it is."""

    def __init__(self, stored: FileSection, offset: int) -> None:
        self.offset = self.position = offset
        self._stored = stored

    def read(self, most: int) -> bytes:
        piece = self._stored.piece(self.position, most)
        self.position += len(piece)
        return piece

    def skip(self, octets: int) -> int:
        self.position += octets
        return octets

    def close(self, rest: bytes) -> None:
        """Give back what was read too much: it belongs to the next record."""
        self.position -= len(rest)
