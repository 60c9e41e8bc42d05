"""Records of WARC and ARC files, plain or gzip, one after another or one by its offset.

The one thing to know: a file is not believed. A record counts as whole only once its end has
been seen, and what is damaged is told with its offset, after which reading goes on at the
next record that can be found.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from archives.warc.arc import LONGEST_LINE, arc_fields
from archives.warc.block import AT_ONCE, Block
from archives.warc.capture import Damage
from archives.warc.head import Headers, Oversized, head_end
from archives.warc.members import MAGIC, GzipMember
from archives.warc.search import MOST_TRIALS, RecordSearch
from archives.warc.stored import ByteSource, Damaged, FileSection, Plain
from archives.warc.target import stamp_of, url_of

MOST_DAMAGES: Final = 1000
"""After so many a file is given up: it was made, or went, wrong from end to end."""
MOST_OCTETS: Final = 4 * 1024**3
"""Of one record."""
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_VERSION: Final = re.compile(r"WARC/[01]\.[0-9]{1,3}")
_COUNT: Final = re.compile(r"[0-9]{1,19}")


class Record:
    """One record: its head, and its block to be read."""

    __slots__ = ("_source", "block", "headers", "kind", "offset", "version")

    def __init__(
        self, source: ByteSource, version: str, headers: Headers, block: Block
    ) -> None:
        self.offset = source.offset
        self.version = version
        """``1.0``; ``arc`` for what stands in an ARC file."""
        self.headers = headers
        self.kind = (headers.get("warc-type") or "").lower()
        self.block = block
        self._source = source

    @property
    def url(self) -> str | None:
        """The target, without angle brackets and fragment; None where none can be used."""
        return url_of(self.headers.get("warc-target-uri"))

    @property
    def stamp(self) -> str | None:
        """14 to 23 digits of UTC; None where the date is none."""
        return stamp_of(self.headers.get("warc-date"))

    @property
    def compressed(self) -> bool:
        """Whether the record is a gzip member."""
        return isinstance(self._source, GzipMember)

    @property
    def broken(self) -> bool:
        """Whether reading came upon damage in the record as it is stored."""
        return self.block.broken

    @property
    def length(self) -> int:
        """As it is stored, compressed where the file is; reads on to the end to know."""
        self.block.finish()
        return self._source.position - self.offset


def open_record(file: BinaryIO, offset: int, length: int | None = None) -> Record:
    """Return the record at *offset*; *length*, where known, keeps reading inside it."""
    if offset < 0:
        raise Damaged(offset, "no such place")
    stored = FileSection(file, offset, None if length is None else offset + length)
    if offset >= stored.end:
        raise Damaged(offset, "the file ends before")
    return _open(stored, offset)


def records_in(
    file: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[Record | Damage]:
    """Yield the records of the region, and damages where they lie between.

    A record can be read until the next one is asked for. Damage inside it is raised to whoever
    reads its block, and then told here.
    """
    stored = FileSection(file, start, end)
    search = RecordSearch(stored)
    at: int = stored.start
    if not stored.end:
        yield Damage(0, "the file is empty")
    for _ in range(MOST_DAMAGES):
        try:
            yield from _whole_records(stored, search, at)
        except Damaged as damaged:
            yield Damage(damaged.offset, damaged.why)
            found = search.behind(damaged)
        else:
            return
        if found is None:
            if search.trials < MOST_TRIALS:
                return
            break
        at = found
    yield Damage(at, "too much is damaged: not read any further")


def _whole_records(stored: FileSection, search: RecordSearch, at: int) -> Iterator[Record]:
    while (at := stored.behind_newlines(at)) < stored.end:
        record = _open(stored, at)
        search.seen(record.version, compressed=record.compressed)
        yield record
        at += record.length


def _open(stored: FileSection, offset: int) -> Record:
    first = stored.beginning(offset, len(_ZSTANDARD))
    if first == _ZSTANDARD:
        raise Damaged(offset, "compressed with Zstandard, which is not supported: use gzip")
    source = GzipMember(stored, offset) if first.startswith(MAGIC) else Plain(stored, offset)
    octets, end = _head(source)
    version, headers = _parsed(octets[:end], offset)
    length = _content_length(headers, offset)
    if isinstance(source, Plain):
        _check_end(stored, offset, offset + end + length)
    return Record(source, version, headers, Block(source, octets, end, length))


def _head(source: ByteSource) -> tuple[bytes, int]:
    """Return the first octets of a record, and where in them its head ends."""
    octets = b""
    while more := source.read(AT_ONCE):
        octets += more
        try:
            end = head_end(octets) if octets.startswith(b"WARC/") else _line_end(octets)
        except Oversized as oversized:
            raise Damaged(source.offset, str(oversized), source.position) from None
        if end is not None:
            return octets, end
    raise Damaged(source.offset, "ends within the head of a record", source.position)


def _line_end(octets: bytes) -> int | None:
    end = octets.find(b"\n", 0, LONGEST_LINE) + 1
    if not end and len(octets) >= LONGEST_LINE:
        raise Oversized("neither WARC nor ARC")
    return end or None


def _parsed(head: bytes, offset: int) -> tuple[str, Headers]:
    if head.startswith(b"WARC/"):
        first, headers = Headers.read(head)
        if _VERSION.fullmatch(first):
            return first[5:], headers
        raise Damaged(offset, f"no version of WARC that is known: {first[:20]!r}")
    if (arc := arc_fields(head)) is None:
        raise Damaged(offset, "neither WARC nor ARC")
    return "arc", Headers(arc)


def _content_length(headers: Headers, offset: int) -> int:
    stated = headers.get("content-length") or ""
    if not _COUNT.fullmatch(stated):
        raise Damaged(offset, f"no Content-Length: {stated[:20]!r}")
    length = int(stated)
    if length > MOST_OCTETS:
        raise Damaged(offset, f"a record of {length} octets, more than {MOST_OCTETS}")
    return length


def _check_end(stored: FileSection, offset: int, end: int) -> None:
    """Raise where a record that is not compressed cannot end at *end*.

    Before anybody reads it: heads that all claim the rest of the file for themselves would
    make reading quadratic.
    """
    if end > stored.end:
        raise Damaged(offset, f"the record ends {end - stored.end} octets early")
    behind = stored.glimpse(end, 5)
    # A file may be cut off between the CR and the LF, and the record before is whole.
    if behind not in {b"", b"\r"} and not behind.startswith((b"\r\n", b"\n", b"WARC/")):
        raise Damaged(offset, "the record does not end where Content-Length says")
