"""The captures in a file: what cdxj-indexer would list, with every damage told.

Which records count, and what is said of each, is cdxj-indexer's and so pywb's choice, since
both may be pointed at the same files.
"""

import hashlib
import re
import struct
from base64 import b32encode
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from archives.regex_compat import compiled
from archives.surt import surt
from archives.warc.files import Capture, Damage, Damaged
from archives.warc.http import AT_ONCE, HttpHead, read_http
from archives.warc.records import Record, records_in

_CAPTURES: Final = frozenset({"response", "revisit", "resource", "metadata"})
_WITH_HTTP: Final = ("http:", "https:")
# Notes of a crawler on its own work, not of the web: outlinks, fetch times.
_NOTES: Final = "application/warc-fields"
REVISIT: Final = "warc/revisit"
_MIME: Final = compiled(r"[!-:<-~]{1,255}")
_DIGEST: Final = compiled(r"(?:sha1:)?+([!-~]{1,200})", re.IGNORECASE)


def captures_in(
    file: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[Capture | Damage]:
    """Yield the captures of the region in the order of the file, and what is damaged."""
    for record in records_in(file, start, end):
        if isinstance(record, Damage):
            yield record
        elif _is_capture(record) and (found := _captured(record)):
            yield found


def _is_capture(record: Record) -> bool:
    kind = record.kind
    if kind in ("resource", "metadata"):
        return record.headers.get("content-type") != _NOTES
    return kind in _CAPTURES


def _captured(record: Record) -> Capture | Damage | None:
    """Return None where the record is damaged: then whoever reads the file says so."""
    url, stamp = record.url, record.stamp
    if url is None:
        return Damage(record.offset, "a WARC-Target-URI that cannot be used")
    if stamp is None:
        return Damage(record.offset, "a WARC-Date that is no time")
    try:
        head = _http_head(record, url)
        digest = _digest(record)
        length = record.length
    except Damaged as damaged:
        return None if record.broken else Damage(damaged.offset, damaged.why)
    status = head.status if head else None
    mime = _mime(record, head)
    return Capture(surt(url), stamp, url, mime, status, digest, record.offset, length)


def _http_head(record: Record, url: str) -> HttpHead | None:
    has_one = record.kind in ("response", "revisit") and url[:6].lower().startswith(_WITH_HTTP)
    return read_http(record.block) if has_one else None


def _mime(record: Record, head: HttpHead | None) -> str | None:
    if record.kind == "revisit":
        return REVISIT
    if record.kind == "response":
        stated = head.get("content-type") if head else None
    else:
        stated = record.headers.get("content-type")
    mime = _MIME.match(stated or "")
    return mime[0] if mime else None


def _digest(record: Record) -> str | None:
    """Return the payload's digest as it is stated, or else made of the octets that are left.

    Those of a chunked payload with its chunks: as cdxj-indexer and most crawlers do it.
    """
    if stated := _DIGEST.fullmatch(record.headers.get("warc-payload-digest") or ""):
        return stated[1]
    if record.kind == "revisit":
        return None
    made = hashlib.sha1(usedforsecurity=False)
    while octets := record.block.read(AT_ONCE):
        made.update(octets)
    return b32encode(made.digest()).decode()


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


def parts_of(file: BinaryIO) -> list[WaczMember | Damage]:
    """Return the WARCs in an open WACZ in the order in which they lie there."""
    return list(_bounded(parts_in(file)))


def _bounded(found: Iterator[WaczMember | Damage]) -> Iterator[WaczMember | Damage]:
    damages = 0
    for each in found:
        yield each
        damages += isinstance(each, Damage)
        if damages >= _MOST_DAMAGES:
            return


def parts_in(file: BinaryIO) -> Iterator[WaczMember | Damage]:
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
