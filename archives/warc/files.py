"""A file as it lies on the disk, read in pieces; and what is raised where it is damaged.

Nothing in a file is believed: whatever is read here was written by somebody else, perhaps to
hurt us. So every reader counts, and what it holds at a time does not grow with the file.
"""

import re
from typing import BinaryIO, Final, NamedTuple, Protocol

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


try:
    from isal import isal_zlib as deflate
except ImportError:  # pragma: no cover - the same thing, at less than half the speed
    import zlib as deflate  # type: ignore[no-redef]

__all__ = ["MAGIC", "MOST_RATIO", "GzipMember", "deflate"]

_DEFLATE_ERROR: Final[type[Exception]] = deflate.error  # type: ignore[assignment]
MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 31
"""The number by which zlib knows gzip with the largest window."""

# Text shrinks tenfold, long lists fiftyfold; deflate cannot do better than 1032 times, and
# only for what is always the same. One megabyte may shrink as it likes: empty pictures do.
MOST_RATIO: Final = 200
_FREE: Final = 1024 * 1024
_AT_ONCE: Final = 64 * 1024
_FREE_IN_FILE: Final = 64 * 1024 * 1024

_SEVERAL: Final = (
    "several records in one gzip member, where none can be opened alone: "
    "`warcio recompress` writes a file with one member a record"
)
_MORE: Final = "more in the gzip member than Content-Length says"


class GzipMember:
    """The gzip member that begins at *offset*."""

    def __init__(self, stored: FileSection, offset: int) -> None:
        self.offset = self.position = offset
        self._stored = stored
        self._inflated = 0
        self._inflater = deflate.decompressobj(_GZIP)

    def read(self, most: int) -> bytes:
        while not self._inflater.eof:
            piece = self._stored.piece(self.position)
            octets = self._inflate(piece, most)
            self.position += len(piece) - self._left_over()
            if octets:
                self._count(len(octets))
                return octets
            if not piece:
                raise Damaged(self.offset, "the file ends inside a gzip member", self.position)
        return b""

    def _left_over(self) -> int:
        inflater = self._inflater
        return len(inflater.unused_data if inflater.eof else inflater.unconsumed_tail)

    def skip(self, octets: int) -> int:  # noqa: ARG002 - only by inflating is the end found
        return 0

    def close(self, rest: bytes) -> None:
        """Read to the end of the member, where its checksum is; nothing but newlines may be."""
        while rest or (rest := self.read(_AT_ONCE)):
            if other := rest.lstrip(b"\r\n"):
                why = _SEVERAL if other.startswith(b"WARC/") else _MORE
                raise Damaged(self.offset, why, self.position)
            rest = b""

    def _inflate(self, piece: bytes, most: int) -> bytes:
        try:
            return self._inflater.decompress(piece, most)
        except _DEFLATE_ERROR as error:
            why = f"no proper gzip: {error}"
            raise Damaged(self.offset, why, self.position) from None

    def _count(self, octets: int) -> None:
        stored = self._stored
        self._inflated += octets
        stored.inflated += octets
        if self._inflated > _FREE + MOST_RATIO * (self.position - self.offset) or (
            stored.inflated > _FREE_IN_FILE + MOST_RATIO * (self.position - stored.start)
        ):
            why = f"a gzip member that grows more than {MOST_RATIO} times when inflated"
            raise Damaged(self.offset, why, self.position)


class Capture(NamedTuple):
    """One capture: the page, the time, and where in its file the record lies."""

    surt: str
    stamp: str
    """UTC digits as far as the WARC-Date goes, 14 to 23 of them (T-9)."""
    url: str
    """The target as the record writes it, without angle brackets and fragment."""
    mime: str | None
    """Of the archived answer; ``warc/revisit`` for a record that refers to another."""
    status: int | None
    """None for what was no HTTP answer (resource records)."""
    digest: str | None
    """Of the payload: base32 SHA-1 as CDX files write it, others with their ``name:``."""
    offset: int
    """Where the record begins, in octets of the file as it is stored."""
    length: int
    """Of the record as it is stored: compressed where the file is."""


class Damage(NamedTuple):
    """Something in a file that cannot be used; reading goes on behind it."""

    offset: int
    why: str
