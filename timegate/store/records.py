"""WARC records of revisions, as the bytes that are appended to a file.

What is pushed is a ``resource`` record: no server answered with it. With a language, which a
``resource`` cannot state, it is a ``response``. What an earlier revision of the same page has
too, bytes and type, is a ``revisit`` of that. If the writer asserts the time, a ``metadata``
record states that, and when the revision was received. A copy that was kept is a ``response``
with the captured status and headers, if they are known; a ``metadata`` record states where it
comes from, and a ``request`` record what was sent to the server of a live page.
"""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from archives.moment import Moment
from archives.surt import surt
from archives.warc.captures import REVISIT, Capture, RecordReader
from archives.warc_index.model import IndexRow
from timegate.store import Revision

_VERSION: Final = "WARC/1.1"
_WARC_FIELDS: Final = "application/warc-fields"
_HTTP_REQUEST: Final = "application/http; msgtype=request"
_OK: Final = 200
_PIECE: Final = 64 * 1024


class RecordBytes(NamedTuple):
    """The records of one revision, and its capture, whose offset is that in *octets*."""

    octets: bytes
    capture: Capture


def payload_digest(digest: bytes) -> str:
    """Return the digest of a payload as it is in WARC files and in the index."""
    return f"sha256:{digest.hex()}"


def info_record(name: str, software: str, description: str) -> bytes:
    """Return the first record of the file *name*."""
    info = {
        "software": software,
        "format": "WARC File Format 1.1",
        "description": description,
    }
    return _written(_writer().create_warcinfo_record(name, info))


def is_same(original: IndexRow, revision: Revision) -> bool:
    """Whether the record *original* holds the type, language and bytes of *revision*.

    All of it is read: a revisit of a record that cannot be read would be lost as well. Raises
    OSError or Damaged.
    """
    reader = RecordReader(original)
    try:
        stated = {name.lower(): value for name, value in reader.head.headers}
        expected = {name.lower(): value for name, value in _fields(revision)}
        # A revisit of a captured response has its own head.
        if revision.status is None and stated != expected:
            return False
        return b"".join(iter(lambda: reader.read(_PIECE), b"")) == revision.body
    finally:
        reader.close()


def revision_records(
    revision: Revision, stamp: str, original: IndexRow | None, received: str
) -> RecordBytes:
    """Return the records of *revision* at *stamp*; *original* is a record of the same bytes."""
    record = _capture_record(revision, stamp, original)
    octets = _written(record)
    capture = Capture(
        surt(revision.url),
        stamp,
        revision.url,
        REVISIT if original is not None else _media_type(revision.content_type),
        _status(revision),
        payload_digest(revision.digest),
        0,
        len(octets),
    )
    if revision.request:
        octets += _written(_request(record, revision.request))
    if revision.instant is not None:
        octets += _written(_metadata(record, _about(revision, stamp, received), received))
    return RecordBytes(octets, capture)


def _capture_record(revision: Revision, stamp: str, original: IndexRow | None) -> Any:
    head = {"WARC-Date": str(Moment(stamp))}
    http, status = None, _status(revision)
    if status is not None:
        # The reason phrase of a captured response is not known (RFC 9112, section 4).
        reason = "200 OK" if revision.status is None else f"{status} "
        http = StatusAndHeaders(reason, _fields(revision), protocol="HTTP/1.1")
    digest = payload_digest(revision.digest)
    if original is not None:
        return _writer().create_revisit_record(
            revision.url,
            digest,
            original.url,
            str(Moment(original.stamp)),
            http_headers=http,
            warc_headers_dict=head,
        )
    return _writer().create_warc_record(
        revision.url,
        "resource" if http is None else "response",
        payload=BytesIO(revision.body),
        length=len(revision.body),
        warc_content_type=revision.content_type if http is None else "",
        http_headers=http,
        warc_headers_dict={**head, "WARC-Payload-Digest": digest},
    )


def _status(revision: Revision) -> int | None:
    """Return the status of the record; None if it is no response."""
    if revision.status is not None:
        return revision.status
    return _OK if revision.fields else None


def _fields(revision: Revision) -> list[tuple[str, str]]:
    stated = [("Content-Type", revision.content_type)] if revision.content_type else []
    return [*stated, *revision.fields]


def _about(revision: Revision, stamp: str, received: str) -> Mapping[str, str]:
    """Return what the metadata record of a revision states."""
    # ASCII JSON has no line breaks, whatever an archive or a reference contains.
    members = {name: json.dumps(value) for name, value in revision.about.items()}
    if revision.asserted is not None:
        return {
            "time-basis": "asserted",
            "asserted": str(Moment(stamp)),
            **members,
            "received": str(Moment(received)),
        }
    return {"time-basis": "captured", **members, "received": str(Moment(received))}


def _metadata(record: Any, members: Mapping[str, str], received: str) -> Any:
    block = "".join(f"{name}: {value}\r\n" for name, value in members.items()).encode()
    head = {"WARC-Date": str(Moment(received)), "Content-Type": _WARC_FIELDS}
    return _beside(record, "metadata", block, head)


def _request(record: Any, request: str) -> Any:
    head = {
        "WARC-Date": record.rec_headers.get_header("WARC-Date"),
        "Content-Type": _HTTP_REQUEST,
    }
    return _beside(record, "request", request.encode("ascii"), head)


def _beside(record: Any, kind: str, block: bytes, head: Mapping[str, str]) -> Any:
    """Return a record that belongs to *record*."""
    beside = {
        **head,
        "WARC-Concurrent-To": record.rec_headers.get_header("WARC-Record-ID"),
    }
    url = record.rec_headers.get_header("WARC-Target-URI")
    return _writer().create_warc_record(
        url, kind, payload=BytesIO(block), length=len(block), warc_headers_dict=beside
    )


def _writer() -> Any:
    return WARCWriter(BytesIO(), gzip=True, warc_version=_VERSION)


def _written(record: Any) -> bytes:
    writer = _writer()
    writer.write_record(record)
    return bytes(writer.out.getvalue())


def _media_type(content_type: str) -> str | None:
    return content_type.partition(";")[0].strip() or None
