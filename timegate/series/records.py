"""WARC records of a series.

Bytes are a ``resource`` record of the fully qualified PDI. A binding to a URI and an assertion
are ``metadata`` records; each line of their block is a name and a value in JSON.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from io import BytesIO
from typing import Any, Final, NamedTuple

from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from archives.moment import Moment
from archives.surt import surt
from archives.warc.captures import Capture, RecordReader
from archives.warc.files import Damaged
from archives.warc.records import Record
from timegate.series import Content, Location

_VERSION: Final = "WARC/1.1"
_FIELDS: Final = "application/warc-fields"
_MINTER: Final = "Timegate-Minter"
_MOST_METADATA: Final = 64 * 1024
_PIECE: Final = 256 * 1024
_DIGEST: Final = "sha256:"


class RecordOctets(NamedTuple):
    """A record, and its capture if it has one."""

    octets: bytes
    capture: Capture | None = None


class ReadRecord(NamedTuple):
    """What a record of a series says."""

    url: str
    stamp: str
    media_type: str
    minter: str
    digest: str | None
    size: int | None
    fields: Mapping[str, str]
    """Of a ``metadata`` record; empty for bytes."""


def content_record(pdi: str, content: Content, stamp: str, minter: str) -> RecordOctets:
    """Return the record of the bytes of *content*."""
    head = {"WARC-Date": str(Moment(stamp)), "WARC-Payload-Digest": content.digest or ""}
    if minter:
        head[_MINTER] = minter
    record = _writer().create_warc_record(
        pdi,
        "resource",
        payload=BytesIO(content.body),
        length=len(content.body),
        warc_content_type=content.media_type,
        warc_headers_dict=head,
    )
    octets = _written(record)
    mime = content.media_type.partition(";")[0].strip() or None
    capture = Capture(surt(pdi), stamp, pdi, mime, None, content.digest, 0, len(octets))
    return RecordOctets(octets, capture)


def metadata_record(pdi: str, fields: Mapping[str, str], stamp: str) -> RecordOctets:
    """Return a ``metadata`` record about *pdi*, a name without a fragment."""
    block = "".join(f"{name}: {json.dumps(text)}\r\n" for name, text in fields.items()).encode()
    head = {"WARC-Date": str(Moment(stamp)), "Content-Type": _FIELDS}
    record = _writer().create_warc_record(
        pdi, "metadata", payload=BytesIO(block), length=len(block), warc_headers_dict=head
    )
    return RecordOctets(_written(record))


def read_record(record: Record) -> ReadRecord | None:
    """Return what *record* says; None if it is none of a series. Raises Damaged."""
    url, stamp, kind = record.url, record.stamp, record.kind
    if url is None or stamp is None or not url.startswith("pdi://"):
        return None
    if kind not in ("resource", "metadata"):
        return None
    minter = record.headers.get(_MINTER.lower()) or ""
    media_type = record.headers.get("content-type") or ""
    digest = record.headers.get("warc-payload-digest")
    size = record.block.left
    fields: dict[str, str] = {}
    if kind == "metadata":
        fields = _fields(_block(record))
        if not fields:
            return None
    if digest is not None and not digest.startswith(_DIGEST):
        digest = None
    return ReadRecord(url, stamp, media_type, minter, digest, size, fields)


def _block(record: Record) -> bytes:
    pieces, left = [], _MOST_METADATA
    while left and (piece := record.block.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _fields(block: bytes) -> dict[str, str]:
    fields = {}
    for line in block.decode(errors="replace").split("\r\n"):
        name, colon, text = line.partition(": ")
        if not colon:
            continue
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, str):
            fields[name] = value
    return fields


def body_of(location: Location) -> bytes:
    """Return the bytes of a representation, checked by their digest. Raises OSError, Damaged.

    It reads a file, so it is for threads.
    """
    with closing(RecordReader(location)) as reader:
        body = b"".join(iter(lambda: reader.read(_PIECE), b""))
        stated = reader.record.headers.get("warc-payload-digest")
        if location.digest is not None and stated != location.digest:
            raise Damaged(location.offset, "the record is another one than in the catalogue")
        return body


def _writer() -> Any:
    return WARCWriter(BytesIO(), gzip=True, warc_version=_VERSION)


def _written(record: Any) -> bytes:
    writer = _writer()
    writer.write_record(record)
    return bytes(writer.out.getvalue())
