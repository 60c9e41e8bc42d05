"""A file as it lies on the disk, read in pieces; and what is raised where it is damaged.

Nothing in a file is believed: whatever is read here was written by somebody else, perhaps to
hurt us. So every reader counts, and what it holds at a time does not grow with the file.
"""

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, Protocol

try:
    from isal import isal_zlib as deflate
except ImportError:  # pragma: no cover - the same thing, at less than half the speed
    import zlib as deflate  # type: ignore[no-redef]

PIECE: Final = 16 * 1024
WINDOW: Final = 64 * 1024
_NOT_NEWLINE: Final = re.compile(rb"[^\r\n]")


class Damage(NamedTuple):
    """Something in a file that cannot be used; reading goes on behind it."""

    offset: int
    why: str


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

    def peek(self, at: int, most: int) -> bytes:
        """Return what stands far from where is being read."""
        self._file.seek(at)
        return self._file.read(max(min(most, self.end - at), 0))

    def skip_newlines(self, at: int) -> int:
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


_DEFLATE_ERROR: Final[type[Exception]] = deflate.error  # type: ignore[assignment]
MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 31
"""The number by which zlib knows gzip with the largest window."""

# Text shrinks tenfold, long lists fiftyfold; deflate cannot do better than 1032 times, and
# only for what is always the same. One megabyte may shrink as it likes: empty pictures do.
MAX_RATIO: Final = 200
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
        if self._inflated > _FREE + MAX_RATIO * (self.position - self.offset) or (
            stored.inflated > _FREE_IN_FILE + MAX_RATIO * (self.position - stored.start)
        ):
            why = f"a gzip member that grows more than {MAX_RATIO} times when inflated"
            raise Damaged(self.offset, why, self.position)


SUFFIXES: Final = (".warc", ".warc.gz", ".arc", ".arc.gz")
_MOST_DIRECTORY: Final = 1024 * 1024
"""Octets of the directory: ten thousand files."""
_MOST_DAMAGES: Final = 1000

# APPNOTE.TXT 6.3.10: sections 4.3.16, 4.3.15, 4.3.14, 4.3.12 and 4.3.7.
_END: Final = struct.Struct("<4s8xIIH")
_LOCATOR: Final = struct.Struct("<4s4xQ4x")
_END_64: Final = struct.Struct("<4s36xQQ")
_ENTRY: Final = struct.Struct("<4s4xHH8xIIHHH8xI")
_LOCAL: Final = struct.Struct("<4s22xHH")
_LONGEST_COMMENT: Final = 0xFFFF
_SEE_EXTRA: Final = 0xFFFFFFFF
_ENCRYPTED: Final = 1


class WaczMember(NamedTuple):
    """A WARC inside: its name there, and the octets of the ZIP file that it takes."""

    name: str
    start: int
    end: int


class _Entry(NamedTuple):
    name: bytes
    flags: int
    method: int
    stored: int
    size: int
    offset: int


class _Unusable(Exception):
    """Why the ZIP file, or something in it, cannot be used."""


def wacz_members(file: BinaryIO) -> list[WaczMember | Damage]:
    """Return the WARCs in an open WACZ in the order in which they lie there."""
    return list(_bounded(iter_wacz_members(file)))


def _bounded(found: Iterator[WaczMember | Damage]) -> Iterator[WaczMember | Damage]:
    damages = 0
    for each in found:
        yield each
        damages += isinstance(each, Damage)
        if damages >= _MOST_DAMAGES:
            return


def iter_wacz_members(file: BinaryIO) -> Iterator[WaczMember | Damage]:
    """Yield the WARCs in an open WACZ, and what in it cannot be used."""
    size = file.seek(0, 2)
    try:
        start, length = _directory(file, size)
    except _Unusable as why:
        yield Damage(0, str(why))
        return
    entries = _entries(_at(file, start, length))
    taken = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if not entry.name.lower().endswith(tuple(suffix.encode() for suffix in SUFFIXES)):
            continue
        try:
            part = _part(file, entry, taken, start)
        except _Unusable as why:
            name = entry.name[-80:].decode("utf-8", "replace")
            yield Damage(entry.offset, f"{name!r} in the ZIP file: {why}")
        else:
            taken = part.end
            yield part


def _at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _directory(file: BinaryIO, size: int) -> tuple[int, int]:
    """Return where the directory is and how long."""
    base = max(size - _END.size - _LONGEST_COMMENT, 0)
    tail = _at(file, base, size - base)
    found = tail.rfind(b"PK\x05\x06")
    if found < 0 or found + _END.size > len(tail):
        raise _Unusable("no ZIP file, or one without its end")
    _, length, start, _ = _END.unpack_from(tail, found)
    if _SEE_EXTRA in (start, length):
        start, length = _directory_64(file, base + found)
    if length > _MOST_DIRECTORY:
        raise _Unusable(f"a directory of more than {_MOST_DIRECTORY} octets")
    if start + length > size:
        raise _Unusable("a directory outside of the file")
    return start, length


def _directory_64(file: BinaryIO, end: int) -> tuple[int, int]:
    locator = _at(file, max(end - _LOCATOR.size, 0), _LOCATOR.size)
    if len(locator) == _LOCATOR.size and locator.startswith(b"PK\x06\x07"):
        (_, at) = _LOCATOR.unpack(locator)
        record = _at(file, at, _END_64.size) if at < end else b""
        if len(record) == _END_64.size and record.startswith(b"PK\x06\x06"):
            _, length, start = _END_64.unpack(record)
            return start, length
    raise _Unusable("no directory where the end of the ZIP file says")


def _entries(directory: bytes) -> Iterator[_Entry]:
    at = 0
    while directory.startswith(b"PK\x01\x02", at) and at + _ENTRY.size <= len(directory):
        (_, flags, method, stored, size, *lengths, offset) = _ENTRY.unpack_from(directory, at)
        name_end = at + _ENTRY.size + lengths[0]
        name = directory[at + _ENTRY.size : name_end]
        numbers = _widened((size, stored, offset), directory[name_end : name_end + lengths[1]])
        yield _Entry(name, flags, method, numbers[1], numbers[0], numbers[2])
        at = name_end + lengths[1] + lengths[2]


def _widened(numbers: tuple[int, int, int], extra: bytes) -> list[int]:
    """Replace the numbers that did not fit by those of the ZIP64 field (4.5.3)."""
    wide = _extra_64(extra)
    return [next(wide, number) if number == _SEE_EXTRA else number for number in numbers]


def _extra_64(extra: bytes) -> Iterator[int]:
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            return (each for (each,) in struct.iter_unpack("<Q", field[: len(field) // 8 * 8]))
        at += 4 + length
    return iter(())


def _part(file: BinaryIO, entry: _Entry, taken: int, directory: int) -> WaczMember:
    name = _safe_name(entry.name)
    if entry.flags & _ENCRYPTED:
        raise _Unusable("encrypted")
    if entry.method or entry.stored != entry.size:
        raise _Unusable("compressed by ZIP; WACZ stores WARCs as they are")
    local = _at(file, entry.offset, _LOCAL.size) if entry.offset < directory else b""
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise _Unusable("not where the directory says")
    _, name_length, extra_length = _LOCAL.unpack(local)
    start = entry.offset + _LOCAL.size + name_length + extra_length
    if start < taken:
        raise _Unusable("shares its octets with another file")
    if start + entry.size > directory:
        raise _Unusable("longer than the ZIP file has room for")
    return WaczMember(name, start, start + entry.size)


def _safe_name(octets: bytes) -> str:
    """Return a name that could be shown, or used as a path below a folder, without harm."""
    name = octets.decode("utf-8", "replace")
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or {"", ".", ".."}.intersection(parts):
        raise _Unusable("a name that leads elsewhere")
    return name
