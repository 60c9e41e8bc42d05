"""Records of WARC and ARC files, plain or gzip, in sequence or by offset.

Files are not trusted: a record counts as whole only once its end has been read. A damage is
reported with its offset, and reading continues at the next record that can be found.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import BinaryIO, Final, Generic, NamedTuple, TypeVar, TypeVarTuple

from archives.diagnostics import Malformed
from archives.errors import UnforeseenLog, place_of
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.warc.decompression import MAGIC, GzipMember
from archives.warc.files import (
    READ_SIZE,
    WINDOW,
    ByteSource,
    Damage,
    Damaged,
    FileSection,
    Plain,
)
from archives.warc.http import Block, Fields, Headers, Oversized, decode_text, head_end

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_AFTER_URL: Final = compiled(
    rb"[0-9A-Fa-f.:]{1,45}+ [0-9]{4,14}+ [^ \r\n]{1,255}+ [0-9]{1,19}+"
)
_SCHEME: Final = compiled(rb"[A-Za-z][A-Za-z0-9+.-]*+:")
MAX_LINE: Final = 16 * 1024
UNFORESEEN_RECORDS: Final = UnforeseenLog("record-internal-error")


def arc_fields(line: bytes) -> Fields | None:
    """Return the ARC header *line* as WARC fields, or None if it begins no ARC record.

    Some URLs contain spaces, so the other four fields are counted from the end of the line.
    """
    parts = line.rstrip(b"\r\n").rsplit(b" ", 4)
    if not _SCHEME.match(parts[0]) or not _AFTER_URL.fullmatch(b" ".join(parts[1:])):
        return None
    url, address, date, mime, length = map(decode_text, parts)
    return (
        ("WARC-Type", "warcinfo" if url.startswith("filedesc:") else "response"),
        ("WARC-Target-URI", url),
        ("WARC-IP-Address", address),
        ("WARC-Date", date),
        ("Content-Type", mime),
        ("Content-Length", length),
    )


# Each begins with a literal, which is fast to search for.
_GZIP_START: Final = compiled(rb"\x1f\x8b\x08[\x00-\x1f]")
_WARC_START: Final = compiled(rb"\nWARC/[01]\.")
_ARC_START: Final = compiled(
    rb"\n(?:https?+|ftp|dns):[^ \r\n]{1,4000}+ [0-9A-Fa-f.:]{1,45}+ [0-9]{14} "
    rb"[^ \r\n]{1,200}+ [0-9]{1,19}+\r?+\n"
)
_RECORD_STARTS: Final = (_GZIP_START, _WARC_START, _ARC_START)
_MAX_MATCH: Final = 4400
"""Bytes; more than any of these can match."""
MAX_TRIALS: Final = 1000
"""Failed attempts to read a gzip member. Its first bytes occur by chance once in 128 MB."""


class RecordSearch:
    """Finds the next record after a damage, by the format of the records before it."""

    def __init__(self, stored: FileSection) -> None:
        self._stored = stored
        self._starts: tuple[re.Pattern[bytes], ...] = _RECORD_STARTS
        self.trials = 0
        self.empty = 0
        """Gzip members without content so far."""
        self._known = False
        # Bytes that may be searched again after they were read. Without this limit, members
        # that overlap each other would make reading quadratic.
        self._credit = stored.end - stored.start

    def learn_format(self, version: str, *, compressed: bool) -> None:
        """Take the format of the first record for that of all others."""
        if not self._known:
            plain = _ARC_START if version == "arc" else _WARC_START
            self._starts = (_GZIP_START,) if compressed else (plain,)
            self._known = True

    def next_after(self, damaged: Damaged) -> int | None:
        """Return where the next record begins; None if there is none, or the search gave up."""
        if damaged.following is not None:
            return damaged.following
        at = damaged.offset + 1
        if (again := damaged.reached - at) > self._credit:
            at, again = damaged.reached, 0
        self._credit -= again
        while (found := self._next(at)) is not None and self.trials < MAX_TRIALS:
            if self._begins_record(found):
                return found
            at = found + 1
        return None

    def _next(self, at: int) -> int | None:
        at -= 1  # the newline before
        while len(octets := self._stored.peek(at, WINDOW)) > 1:
            if positions := list(self._positions(octets)):
                return at + min(positions)
            at += len(octets) - (_MAX_MATCH if len(octets) == WINDOW else 0)
            if not octets.strip(b"\0"):
                at = self._stored.after_hole(at)
        return None

    def _positions(self, octets: bytes) -> Iterator[int]:
        for start_pattern in self._starts:
            # The first byte is only there to match a newline before the record.
            if found := start_pattern.search(octets, int(start_pattern is _GZIP_START)):
                yield found.start() + (start_pattern is not _GZIP_START)

    def _begins_record(self, at: int) -> bool:
        if not self._stored.read_at(at, 2).startswith(b"\x1f\x8b"):
            return True
        self.trials += 1
        try:
            octets = GzipMember(self._stored, at).read(_MAX_MATCH)
        except Damaged:
            return False
        line = octets.partition(b"\n")[0]
        return octets.startswith(b"WARC/") or arc_fields(line) is not None


_DATE: Final = compiled(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]++))?+)?+)?+)?+)?+(?:Z|\+00:00)?+"
)
_USUAL_DATE: Final = compiled(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])Z"
)
_ARC_DATE: Final = compiled(r"[0-9]{4,14}+")
_EARLIEST_DIGITS: Final = "00000101000000"
_MAX_STAMP: Final = 23
_UNPRINTABLE: Final = compiled(r"[\x00-\x1f\x7f]")


def stamp_of(date: str | None) -> str | None:
    """Return the digits of a WARC-Date or of an ARC date, 14 to 23 of them, or None.

    WARC 1.1 allows dates as coarse as a year, and nine digits of fraction (T-9). Fractions are
    kept. A date coarser than a second becomes its first second, since index rows need at least
    fourteen digits.
    """
    if usual := _USUAL_DATE.fullmatch(date or ""):
        day, hour, minute, second = usual.groups()
        digits_of_day = _day(day)
        return digits_of_day and f"{digits_of_day}{hour}{minute}{second}"
    if found := _DATE.fullmatch(date or ""):
        digits = "".join(part for part in found.groups() if part)
    elif _ARC_DATE.fullmatch(date or ""):
        digits = date or ""
    else:
        return None
    return _checked(digits[:_MAX_STAMP])


@lru_cache(maxsize=64)
def _day(day: str) -> str | None:
    """Return the digits of a valid day; cached, since most records of a file share few days."""
    digits = day.replace("-", "")
    return digits if _checked(digits) else None


def _checked(digits: str) -> str | None:
    try:
        Moment(digits)
    except Malformed:
        return None
    return digits + _EARLIEST_DIGITS[len(digits) :]


def url_of(target: str | None) -> str | None:
    """Return the URL in a WARC-Target-URI, or None if an index line could not hold it."""
    if not target or _UNPRINTABLE.search(target):
        return None
    if target[0] == "<" and target[-1] == ">":
        target = target[1:-1]  # wget 1.14 to 1.19 wrote <http://example.com/>
    # warcio also encodes spaces, which would end the URL in a CDX line.
    return target.partition("#")[0].replace(" ", "%20") or None


MAX_DAMAGES: Final = 1000
"""After so many damages the rest of a file is not read."""
MAX_EMPTY: Final = 200_000
"""Gzip members without content, which some writers leave; so many take two seconds."""
MAX_RECORD_SIZE: Final = 4 * 1024**3
"""Bytes of one record's block."""
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_VERSION: Final = compiled(r"WARC/[01]\.[0-9]{1,3}")
_COUNT: Final = compiled(r"[0-9]{1,19}")


class EmptyMember(Damaged):
    """A gzip member without content."""


class Record:
    """One record: its parsed head, and its block to be read."""

    __slots__ = ("_source", "block", "headers", "kind", "offset", "version")

    def __init__(
        self, source: ByteSource, version: str, headers: Headers, block: Block
    ) -> None:
        self.offset = source.offset
        self.version = version
        """``1.0`` or ``1.1``; ``arc`` for a record of an ARC file."""
        self.headers = headers
        self.kind = (headers.get("warc-type") or "").lower()
        self.block = block
        self._source = source

    @property
    def url(self) -> str | None:
        """The target URI without angle brackets and fragment; None if it cannot be used."""
        return url_of(self.headers.get("warc-target-uri"))

    @property
    def stamp(self) -> str | None:
        """The date as 14 to 23 digits of UTC; None if it is invalid."""
        return stamp_of(self.headers.get("warc-date"))

    @property
    def compressed(self) -> bool:
        """Whether the record is a gzip member."""
        return isinstance(self._source, GzipMember)

    @property
    def broken(self) -> bool:
        """Whether reading has found damage in the stored record."""
        return self.block.broken

    @property
    def length(self) -> int:
        """Stored (perhaps compressed) length; reads to the end of the record to find it."""
        self.block.finish()
        return self._source.position - self.offset


def open_record(file: BinaryIO, offset: int, length: int | None = None) -> Record:
    """Return the record at *offset*; reading stays within *length* if that is known."""
    if offset < 0:
        raise Damaged(offset, "the offset is negative")
    stored = FileSection(file, offset, None if length is None else offset + length)
    if offset >= stored.end:
        raise Damaged(offset, "the file ends before this offset")
    return _open(stored, offset)


class QuickRecord(NamedTuple, Generic[T]):
    """What was read from a small record, without opening it."""

    version: str
    found: T | None
    """None if the record is of no interest."""
    end: int
    """Where the record ends in the file."""


QuickReader = Callable[[bytes, int, int, int], QuickRecord[T] | None]
"""Reads the bytes of a whole record; None if it must be read with all checks.

The numbers are the end of its head, its offset in the file and its stored length.
"""


def records_in(
    file: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[Record | Damage]:
    """Yield the records from *start* to *end*, and the damages between them.

    A record is readable until the next one is requested. Damage inside a record is raised when
    its block is read, and then also yielded here.
    """
    return read_records(file, start, end, _never)


def read_records(
    file: BinaryIO, start: int, end: int | None, quickly: QuickReader[T]
) -> Iterator[Record | Damage | T]:
    """Yield records as `records_in` does, or what *quickly* finds in those that it reads."""
    stored = FileSection(file, start, end)
    search = RecordSearch(stored)
    at: int = stored.start
    if not stored.end:
        yield Damage(0, "the file is empty")
    for _ in range(MAX_DAMAGES):
        try:
            yield from _whole_records(stored, search, at, quickly)
        except Damaged as damaged:
            yield Damage(damaged.offset, damaged.why)
            found = search.next_after(damaged)
        else:
            return
        if found is None:
            if search.trials < MAX_TRIALS:
                return
            break
        at = found
    yield Damage(at, "too many damages: the rest of the file is not read")


def contained(offset: int, read: Callable[[*Ts], T], *values: *Ts) -> T:
    """Return `read(*values)`; an unforeseen exception is damage of the record at *offset*."""
    try:
        return read(*values)
    except (Damaged, OSError):
        raise
    except Exception as error:
        UNFORESEEN_RECORDS(error)
        raise Damaged(offset, f"cannot be read: {place_of(error)}") from error


def _whole_records(
    stored: FileSection, search: RecordSearch, at: int, quickly: QuickReader[T]
) -> Iterator[Record | T]:
    while True:
        try:
            record = contained(at, _record_from, stored, at, quickly)
        except EmptyMember as member:
            search.empty += 1
            if search.empty > MAX_EMPTY:
                raise
            at = member.reached
            continue
        if record is None:
            return
        if isinstance(record, QuickRecord):
            search.learn_format(record.version, compressed=True)
            if record.found is not None:
                yield record.found
            at = record.end
            continue
        search.learn_format(record.version, compressed=record.compressed)
        yield record
        at = record.offset + contained(at, _length_of, record)


def _never(_octets: bytes, _head: int, _offset: int, _length: int) -> None:
    return None


def _record_from(
    stored: FileSection, at: int, quickly: QuickReader[T]
) -> Record | QuickRecord[T] | None:
    """Return the record that begins at *at* or after newlines there; None at the end."""
    at = stored.skip_newlines(at)
    if at >= stored.end:
        return None
    source = _source_at(stored, at)
    octets, end = _head(source)
    if isinstance(source, GzipMember) and source.ended:
        quick = quickly(octets, end, at, source.position - at)
        if quick is not None:
            return quick
    return _opened(stored, source, octets, end)


def _length_of(record: Record) -> int:
    return record.length


def _open(stored: FileSection, offset: int) -> Record:
    source = _source_at(stored, offset)
    return _opened(stored, source, *_head(source))


def _source_at(stored: FileSection, offset: int) -> GzipMember | Plain:
    first = stored.read_at(offset, len(_ZSTANDARD))
    if first == _ZSTANDARD:
        raise Damaged(offset, "compressed with Zstandard, which is not supported: use gzip")
    return GzipMember(stored, offset) if first.startswith(MAGIC) else Plain(stored, offset)


def _opened(stored: FileSection, source: ByteSource, octets: bytes, end: int) -> Record:
    """Return the record whose first bytes are *octets*, and whose head ends at *end*."""
    offset = source.offset
    version, headers = _parsed(octets[:end], offset)
    length = _content_length(headers, offset)
    is_plain = isinstance(source, Plain)
    if length > MAX_RECORD_SIZE:
        raise _oversized(stored, offset, length, offset + end + length if is_plain else None)
    if is_plain:
        _check_end(stored, offset, offset + end + length)
    return Record(source, version, headers, Block(source, octets, end, length))


def _head(source: ByteSource) -> tuple[bytes, int]:
    """Return the first bytes of a record, and where in them its head ends."""
    octets = b""
    while more := source.read(READ_SIZE):
        octets += more
        try:
            end = head_end(octets) if octets.startswith(b"WARC/") else _line_end(octets)
        except Oversized as oversized:
            raise Damaged(source.offset, str(oversized), source.position) from None
        if end is not None:
            return octets, end
    if not octets and isinstance(source, GzipMember):
        raise EmptyMember(source.offset, "an empty gzip member", source.position)
    raise Damaged(source.offset, "the data ends within the head of a record", source.position)


def _line_end(octets: bytes) -> int | None:
    end = octets.find(b"\n", 0, MAX_LINE) + 1
    if not end and len(octets) >= MAX_LINE:
        raise Oversized("neither WARC nor ARC")
    return end or None


def _parsed(head: bytes, offset: int) -> tuple[str, Headers]:
    if head.startswith(b"WARC/"):
        first, headers = Headers.read(head)
        if _VERSION.fullmatch(first):
            return first[5:], headers
        raise Damaged(offset, f"unknown WARC version: {first[:20]!r}")
    if (arc := arc_fields(head)) is None:
        raise Damaged(offset, "neither WARC nor ARC")
    return "arc", Headers(arc)


def _content_length(headers: Headers, offset: int) -> int:
    stated = headers.get("content-length") or ""
    if not _COUNT.fullmatch(stated):
        raise Damaged(offset, f"no valid Content-Length: {stated[:20]!r}")
    return int(stated)


def _oversized(stored: FileSection, offset: int, length: int, end: int | None) -> Damaged:
    """Return the damage of a record that is too long; it is skipped if its *end* is right."""
    why = f"a record of {length} octets, more than {MAX_RECORD_SIZE}"
    if end is not None:
        try:
            _check_end(stored, offset, end)
        except Damaged:
            end = None
    return Damaged(offset, why, following=end)


def _check_end(stored: FileSection, offset: int, end: int) -> None:
    """Raise Damaged if an uncompressed record cannot end at *end*.

    This is checked before the block is read: heads that all claim the rest of the file would
    otherwise make reading quadratic.
    """
    if end > stored.end:
        raise Damaged(offset, f"the record ends {end - stored.end} octets early")
    following = stored.peek(end, 5)
    # A file may be truncated between CR and LF after a complete record.
    if following not in {b"", b"\r"} and not following.startswith((b"\r\n", b"\n", b"WARC/")):
        raise Damaged(offset, "the record does not end where Content-Length says")
