"""Stored bytes of WARC files: plain sections, and the WARCs inside a WACZ (ZIP) file.

Files are untrusted input, perhaps hostile. So every reader has limits, and the memory it needs
does not grow with the file.
"""

import errno
import os
import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, Protocol

PIECE: Final = 16 * 1024
READ_SIZE: Final = 64 * 1024
WINDOW: Final = 64 * 1024
_NEWLINES: Final = (b"\r", b"\n", b"")
_NOT_NEWLINE: Final = re.compile(rb"[^\r\n]")


class Damage(NamedTuple):
    """A damaged place in a file; reading continues after it."""

    offset: int
    why: str


class Damaged(Exception):
    """Raised for damage at *offset*; *reached* is how far the file had been read.

    *following* is where the next record begins, if that is known.
    """

    def __init__(
        self, offset: int, why: str, reached: int | None = None, following: int | None = None
    ) -> None:
        super().__init__(f"at {offset}: {why}")
        self.offset = offset
        self.why = why
        self.reached = offset + 1 if reached is None else max(reached, offset + 1)
        self.following = following

    def again(self) -> "Damaged":
        """Return a copy: an exception that was raised keeps its traceback's frames alive."""
        return Damaged(self.offset, self.why, self.reached, self.following)


class ByteSource(Protocol):
    """A sequential reader of one record's bytes."""

    offset: int
    """Where the record begins in the file."""
    position: int
    """How far the file has been consumed."""

    def read(self, limit: int) -> bytes:
        """Return up to *limit* bytes, and none only at the end."""
        ...

    def skip(self, octets: int) -> int:
        """Skip bytes without reading them; return how many were skipped."""
        ...

    def close(self, rest: bytes) -> None:
        """Check what follows the record; *rest* was read already. Raises Damaged."""
        ...


class FileSection:
    """The part of a file from *start* to *end*, with random access."""

    def __init__(self, file: BinaryIO, start: int = 0, end: int | None = None) -> None:
        size = file.seek(0, 2)
        self.start = max(start, 0)
        self.end = size if end is None else min(end, size)
        self.inflated = 0
        """Total of bytes inflated from its gzip members so far, useful or not."""
        self._file = file
        self._window = b""
        self._base = 0

    def piece(self, at: int, limit: int = PIECE) -> bytes:
        """Return up to *limit* bytes at *at*, at least one before the end."""
        within = at - self._base
        if not 0 <= within < len(self._window):
            self._move_to(at)
            within = 0
        return self._window[within : within + limit]

    def read_at(self, at: int, octets: int) -> bytes:
        """Return exactly *octets* bytes at *at*, and fewer only at the end."""
        piece = self.piece(at, octets)
        if len(piece) < octets and self._base < at:
            self._move_to(at)
            piece = self._window[:octets]
        return piece

    def _move_to(self, at: int) -> None:
        self._file.seek(at)
        self._window = self._file.read(max(min(WINDOW, self.end - at), 0))
        self._base = at

    def peek(self, at: int, limit: int) -> bytes:
        """Return up to *limit* bytes at *at* without moving the window that is being read."""
        self._file.seek(at)
        return self._file.read(max(min(limit, self.end - at), 0))

    def after_hole(self, at: int) -> int:
        """Return *at*, or where the next data is if *at* is in a hole of a sparse file."""
        try:
            number = self._file.fileno()
            # The file object relies on the position of its descriptor.
            before = os.lseek(number, 0, os.SEEK_CUR)
            try:
                return min(os.lseek(number, at, os.SEEK_DATA), self.end)
            except OSError as error:
                return self.end if error.errno == errno.ENXIO else at
            finally:
                os.lseek(number, before, os.SEEK_SET)
        except OSError:
            # It is no file of the operating system.
            return at

    def skip_newlines(self, at: int) -> int:
        """Return the position of the first byte from *at* on that is not a newline."""
        if self.piece(at, 1) not in _NEWLINES:
            return at
        while piece := self.piece(at):
            if other := _NOT_NEWLINE.search(piece):
                return at + other.start()
            at += len(piece)
        return at


class Plain:
    """A record that is stored uncompressed."""

    def __init__(self, stored: FileSection, offset: int) -> None:
        self.offset = self.position = offset
        self._stored = stored

    def read(self, limit: int) -> bytes:
        piece = self._stored.piece(self.position, limit)
        self.position += len(piece)
        return piece

    def skip(self, octets: int) -> int:
        self.position += octets
        return octets

    def close(self, rest: bytes) -> None:
        """Give back the bytes that were read too far: they belong to the next record."""
        self.position -= len(rest)


SUFFIXES: Final = (".warc", ".warc.gz", ".arc", ".arc.gz")
_MAX_DIRECTORY: Final = 1024 * 1024
"""Bytes of the ZIP directory: some ten thousand files."""
_MAX_WACZ_DAMAGES: Final = 1000

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
    """A WARC inside a WACZ: its name, and where its bytes begin and end in the ZIP file."""

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
    """Raised with the reason why the ZIP file, or a file in it, cannot be used."""


def wacz_members(file: BinaryIO) -> list[WaczMember | Damage]:
    """Return the WARCs in an open WACZ by position, and its damages up to a limit."""
    return list(_bounded(iter_wacz_members(file)))


def _bounded(items: Iterator[WaczMember | Damage]) -> Iterator[WaczMember | Damage]:
    damages = 0
    for item in items:
        yield item
        damages += isinstance(item, Damage)
        if damages >= _MAX_WACZ_DAMAGES:
            return


def iter_wacz_members(file: BinaryIO) -> Iterator[WaczMember | Damage]:
    """Yield the WARCs in an open WACZ by position, and a damage for each unusable one."""
    size = file.seek(0, 2)
    try:
        start, length = _directory(file, size)
    except _Unusable as why:
        yield Damage(0, str(why))
        return
    entries = _entries(_at(file, start, length))
    previous_end = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if not entry.name.lower().endswith(tuple(suffix.encode() for suffix in SUFFIXES)):
            continue
        try:
            member = _member(file, entry, previous_end, start)
        except _Unusable as why:
            name = entry.name[-80:].decode("utf-8", "replace")
            yield Damage(entry.offset, f"{name!r} in the ZIP file: {why}")
        else:
            previous_end = member.end
            yield member


def _at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _directory(file: BinaryIO, size: int) -> tuple[int, int]:
    """Return the start and the length of the central directory."""
    base = max(size - _END.size - _LONGEST_COMMENT, 0)
    tail = _at(file, base, size - base)
    found = tail.rfind(b"PK\x05\x06")
    if found < 0 or found + _END.size > len(tail):
        raise _Unusable("not a ZIP file, or its end is missing")
    _, length, start, _ = _END.unpack_from(tail, found)
    if _SEE_EXTRA in (start, length):
        start, length = _directory_64(file, base + found)
    if length > _MAX_DIRECTORY:
        raise _Unusable(f"the ZIP directory has more than {_MAX_DIRECTORY} octets")
    if start + length > size:
        raise _Unusable("the ZIP directory lies outside the file")
    return start, length


def _directory_64(file: BinaryIO, end: int) -> tuple[int, int]:
    locator = _at(file, max(end - _LOCATOR.size, 0), _LOCATOR.size)
    if len(locator) == _LOCATOR.size and locator.startswith(b"PK\x06\x07"):
        (_, at) = _LOCATOR.unpack(locator)
        record = _at(file, at, _END_64.size) if at < end else b""
        if len(record) == _END_64.size and record.startswith(b"PK\x06\x06"):
            _, length, start = _END_64.unpack(record)
            return start, length
    raise _Unusable("no ZIP directory where the end of the ZIP file says")


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
    """Replace numbers that do not fit 32 bits by those of the ZIP64 field (4.5.3)."""
    wide = _extra_64(extra)
    return [next(wide, number) if number == _SEE_EXTRA else number for number in numbers]


def _extra_64(extra: bytes) -> Iterator[int]:
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            whole = field[: len(field) // 8 * 8]
            return (number for (number,) in struct.iter_unpack("<Q", whole))
        at += 4 + length
    return iter(())


def _member(file: BinaryIO, entry: _Entry, previous_end: int, directory: int) -> WaczMember:
    name = _safe_name(entry.name)
    if entry.flags & _ENCRYPTED:
        raise _Unusable("it is encrypted")
    if entry.method or entry.stored != entry.size:
        raise _Unusable("compressed by ZIP; a WACZ must store WARCs uncompressed")
    local = _at(file, entry.offset, _LOCAL.size) if entry.offset < directory else b""
    if len(local) < _LOCAL.size or not local.startswith(b"PK\x03\x04"):
        raise _Unusable("it is not where the ZIP directory says")
    _, name_length, extra_length = _LOCAL.unpack(local)
    start = entry.offset + _LOCAL.size + name_length + extra_length
    if start < previous_end:
        raise _Unusable("it overlaps another file")
    if start + entry.size > directory:
        raise _Unusable("it is longer than the ZIP file has room for")
    return WaczMember(name, start, start + entry.size)


def _safe_name(octets: bytes) -> str:
    """Return the name if it can be displayed, and used as a path below a folder, safely."""
    name = octets.decode("utf-8", "replace")
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or {"", ".", ".."}.intersection(parts):
        raise _Unusable("its name is not a plain relative path")
    return name
