"""The captures in a file: what cdxj-indexer would list, with every damage told.

Which records count, and what is said of each, is cdxj-indexer's and so pywb's choice, since
both may be pointed at the same files.
"""

import hashlib
import re
from base64 import b32encode
from collections.abc import Iterator
from typing import BinaryIO, Final

from archives.possessive import compiled
from archives.surt import surt
from archives.warc.block import AT_ONCE
from archives.warc.capture import Capture, Damage
from archives.warc.http import HttpHead, read_http
from archives.warc.records import Record, records_in
from archives.warc.stored import Damaged

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
