"""Captures in WARC files: listed for an index, and opened again for replay.

Listing picks the same records and fields as cdxj-indexer, and so pywb, since all may be used on
the same files. A record that is opened for replay is checked against its index row, its length
and its digests while it is read (R-29). Functions that read files block, so run in threads.
"""

import hashlib
import re
from base64 import b32encode
from collections.abc import Callable, Iterator
from io import BytesIO
from threading import Lock
from typing import BinaryIO, Final, NamedTuple, Protocol

from archives.regex_compat import compiled
from archives.surt import surt
from archives.warc.decompression import inflated
from archives.warc.files import READ_SIZE, Damage, Damaged
from archives.warc.http import (
    Block,
    Headers,
    HttpHead,
    length_fault,
    payload_of,
    plain_head_end,
    read_http,
    read_plain_http,
)
from archives.warc.records import (
    QuickRecord,
    Record,
    contained,
    open_record,
    read_records,
    stamp_of,
    url_of,
)

_CAPTURES: Final = frozenset({"response", "revisit"})
_HTTP_KINDS: Final = ("response", "revisit")
_HTTP_SCHEMES: Final = ("http:", "https:")
# Notes of a crawler about its own work: outlinks, fetch times.
_CRAWLER_NOTES: Final = "application/warc-fields"
_MOST_HASHED: Final = 256 * 1024**2
"""Octets of a payload whose digest is computed for the index; less than a second of CPU."""
REVISIT: Final = "warc/revisit"
_MIME: Final = compiled(r"[!-:<-~]{1,255}")
_DIGEST: Final = compiled(r"(?:sha1:)?+([!-~]{1,200})", re.IGNORECASE)


_VERSIONS: Final = ("WARC/1.0", "WARC/1.1")
_NO_CAPTURES: Final = ("request", "warcinfo")
_WEB: Final = ("http:", "https:")
_STATUS: Final = compiled(rb"HTTP/[0-9.]{1,8}+ ([0-9]{3})[ \r]")
_CONTENT_TYPE: Final = compiled(
    rb"\ncontent-type[ \t]*+:[ \t]*+(?:([!-:<-~]{1,255})|)", re.IGNORECASE
)


class Capture(NamedTuple):
    """One capture: the URL, the time, and the position of its record in the file."""

    surt: str
    stamp: str
    """UTC digits as precise as the WARC-Date, 14 to 23 of them (T-9)."""
    url: str
    """The record's target URI, without angle brackets and fragment."""
    mime: str | None
    """Media type of the archived response; ``warc/revisit`` for a revisit record."""
    status: int | None
    """None if the record holds no HTTP response (resource records)."""
    digest: str | None
    """Payload digest: base32 SHA-1 as in CDX files, others with their ``name:``."""
    offset: int
    """Where the record begins in the stored file."""
    length: int
    """Stored length of the record, compressed if the file is."""


def captures_in(
    file: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[Capture | Damage]:
    """Yield the captures and the damages from *start* to *end*, in the order of the file."""
    for record in read_records(file, start, end, _read_quickly):
        if isinstance(record, Damage | Capture):
            yield record
        elif _is_capture(record) and (found := _contained(record)):
            yield found


def _read_quickly(
    octets: bytes, end: int, offset: int, length: int
) -> QuickRecord[Capture] | None:
    """Read a record in the form in which nearly all are written, in half of the time.

    It has all that its capture needs, and nothing is unusual about it. For all other records
    the result is None: they are read with all checks.
    """
    if octets[-4:] != b"\r\n\r\n":
        return None
    first, headers = Headers.read(octets[:end])
    if first not in _VERSIONS or headers.get("content-length") != str(len(octets) - end - 4):
        return None
    kind, stated = headers.get("warc-type"), headers.get("warc-payload-digest")
    if kind in _NO_CAPTURES:
        return QuickRecord(first[5:], None, offset + length)
    url, stamp = url_of(headers.get("warc-target-uri")), stamp_of(headers.get("warc-date"))
    digest = _DIGEST.fullmatch(stated or "")
    if kind != "response" or not url or not stamp or not digest:
        return None
    head_end = plain_head_end(octets, end) if url.startswith(_WEB) else None
    status = None if head_end is None else _STATUS.match(octets, end, head_end)
    if status is None:
        return None
    found = _CONTENT_TYPE.search(octets, end, head_end or 0)
    mime = found and found[1].decode("latin-1")
    capture = Capture(
        surt(url), stamp, url, mime or None, int(status[1]), digest[1], offset, length
    )
    return QuickRecord(first[5:], capture, offset + length)


def _contained(record: Record) -> Capture | Damage | None:
    """Return the capture, or a damage if reading it raises what no code foresees."""
    try:
        return contained(record.offset, _captured, record)
    except Damaged as damaged:
        return Damage(damaged.offset, damaged.why)


def _is_capture(record: Record) -> bool:
    kind = record.kind
    if kind not in ("resource", "metadata"):
        return kind in _CAPTURES
    if record.headers.get("content-type") == _CRAWLER_NOTES:
        return False
    # A metadata record with the URL of a page is a note about it, whatever its type: Heritrix
    # writes text/anvl. One with a URL of its own (metadata://) is an archived document.
    return kind == "resource" or not (record.url or "").startswith(_HTTP_SCHEMES)


def _captured(record: Record) -> Capture | Damage | None:
    """Return the capture; None if the record is damaged, which `records_in` reports."""
    url, stamp = record.url, record.stamp
    if url is None:
        return Damage(record.offset, "invalid WARC-Target-URI")
    if stamp is None:
        return Damage(record.offset, "invalid WARC-Date")
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
    has_head = record.kind in _HTTP_KINDS and url[:6].lower().startswith(_HTTP_SCHEMES)
    return read_http(record.block) if has_head else None


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
    """Return the payload digest that the record states, or else compute it.

    The computed digest includes chunk sizes, as that of cdxj-indexer and most crawlers does. It
    is not computed for huge records, which may be holes of a sparse file.
    """
    if stated := _DIGEST.fullmatch(record.headers.get("warc-payload-digest") or ""):
        return stated[1]
    if record.kind == "revisit" or record.block.left > _MOST_HASHED:
        return None
    hasher = hashlib.sha1(usedforsecurity=False)
    while octets := record.block.read(READ_SIZE):
        hasher.update(octets)
    return b32encode(hasher.digest()).decode()


_SIZES: Final = {"sha1": 20, "sha256": 32, "sha512": 64, "md5": 16}
_ALGORITHMS: Final = {name: name for name in _SIZES} | {
    "sha-1": "sha1",
    "sha-256": "sha256",
    "sha-512": "sha512",
}
# int() reads base 32 with the digits 0-9 and a-v: b32decode takes 30 times longer.
_AS_DIGITS: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHIJKLMNOPQRSTUV", "="
)
_BASE32: Final = compiled(r"[A-Za-z2-7]{1,110}={0,6}")


class Digest(NamedTuple):
    """A stated digest with a known algorithm."""

    algorithm: str
    octets: bytes

    def is_of(self, octets: bytes) -> bool:
        """Whether *octets* have this digest."""
        hasher = hashlib.new(self.algorithm, octets, usedforsecurity=False)
        return hasher.digest() == self.octets


class DigestCheck:
    """Hashes bytes and compares them with the stated digest."""

    __slots__ = ("_hasher", "_stated")

    def __init__(self, stated: Digest) -> None:
        self._hasher = hashlib.new(stated.algorithm, usedforsecurity=False)
        self._stated = stated.octets

    def add(self, octets: bytes) -> None:
        """Hash *octets* too."""
        self._hasher.update(octets)

    def matches(self) -> bool:
        """Whether the bytes so far have the stated digest."""
        return self._hasher.digest() == self._stated


def read_digest(text: str | None) -> Digest | None:
    """Parse a digest field; None if there is none, or none that can be checked."""
    name, colon, value = (text or "").strip().partition(":")
    algorithm = _ALGORITHMS.get(name.lower())
    if algorithm is None or not colon:
        return None
    octets = _octets(value.strip(), _SIZES[algorithm])
    return None if octets is None else Digest(algorithm, octets)


def _octets(value: str, size: int) -> bytes | None:
    """Decode Base32 (Heritrix, wget, warcio) or hex (Browsertrix: sha256, 64 digits)."""
    if len(value) == 2 * size:
        try:
            return bytes.fromhex(value)
        except ValueError:
            return None
    if not _BASE32.fullmatch(value):
        return None
    digits = value.upper().translate(_AS_DIGITS)
    # RFC 4648 6: with five bits per digit, the unused bits at the end are zero.
    left_over = 5 * len(digits) - 8 * size
    if not 0 <= left_over < 5:
        return None
    return (int(digits, 32) >> left_over).to_bytes(size, "big")


_OK: Final = 200
_TOKEN: Final = compiled(r"[a-z]{1,20}")
_UNTYPED: Final = "application/octet-stream"


class RecordLocation(Protocol):
    """Where the record of a capture is, according to an index."""

    @property
    def url(self) -> str: ...
    @property
    def stamp(self) -> str: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def file(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...


FileOpener = Callable[[RecordLocation], BinaryIO]
"""Opens the file of a capture. Raises OSError."""


def open_local(location: RecordLocation) -> BinaryIO:
    """Open a file on the local disk; its name is never treated as a URL (R-32)."""
    return open(location.file, "rb")  # noqa: PTH123 -- Path takes longer


def read_response(location: RecordLocation, stored: bytes) -> tuple[HttpHead, bytes] | None:
    """Read a small compressed response as a whole, in a third of the time of `RecordReader`.

    All that `RecordReader` checks is checked here: identity, lengths, checksum and digest. What
    is wrong, or not in the form in which nearly all records are written, is None: it is for
    `RecordReader` to read it, or to say what is wrong.
    """
    octets = inflated(stored)
    end = None if octets is None else plain_head_end(octets)
    if octets is None or end is None or octets[-4:] != b"\r\n\r\n":
        return None
    first, headers = Headers.read(octets[:end])
    stop = len(octets) - 4
    if (
        first not in _VERSIONS
        or headers.get("content-length") != str(stop - end)
        or headers.get("warc-type") != "response"
        or not _is_of(location, url_of(headers.get("warc-target-uri")), headers)
    ):
        return None
    http = read_plain_http(octets, end, stop)
    if http is None or http[0].get("transfer-encoding") is not None:
        return None
    head, begin = http
    payload = octets[begin:stop]
    if length_fault(head, len(payload), chunked=False) is not None:
        return None
    stated = read_digest(headers.get("warc-block-digest"))
    covered = payload if stated is None else octets[end:stop]
    stated = stated or read_digest(headers.get("warc-payload-digest"))
    return (head, payload) if stated is None or stated.is_of(covered) else None


def _is_of(location: RecordLocation, url: str | None, headers: Headers) -> bool:
    stamp = stamp_of(headers.get("warc-date"))
    return url == location.url and stamp is not None and stamp.startswith(location.stamp)


class RecordReader:
    """An open record. `read` returns its payload with transfer coding removed.

    Raises Damaged if the file does not match the index or the record's own statements, at the
    latest where `read` would return the empty bytes that mean the end.
    """

    def __init__(
        self,
        location: RecordLocation,
        octets: bytes | None = None,
        opener: FileOpener = open_local,
    ) -> None:
        """Read from *octets*, the stored record, or else open the file."""
        self._file: BinaryIO = opener(location) if octets is None else BytesIO(octets)
        offset = location.offset if octets is None else 0
        self._busy = Lock()
        self._closing = False
        try:
            self.record: Final = open_record(self._file, offset, location.length or None)
            _check_identity(self.record, location)
            self._begin(self.record)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, record: Record) -> None:
        has_http = record.kind in _HTTP_KINDS
        block_digest = read_digest(record.headers.get("warc-block-digest"))
        # The payload digest of a revisit is that of another record.
        has_payload_digest = block_digest is None and record.kind != "revisit"
        payload_digest = record.headers.get("warc-payload-digest")
        stated = read_digest(payload_digest) if has_payload_digest else None
        self._digesting = _DigestingSource(record.block)
        if block_digest is not None:
            self._digesting.start(block_digest)
            block = self._digesting.block()
            self.response_head = read_http(block) if has_http else None
        else:
            self.response_head = read_http(record.block) if has_http else None
            self._digesting.start(stated)
            block = self._digesting.block()
        self.stored = block.left
        """Bytes of the payload, transfer coding included."""
        self._payload = payload_of(block, self.response_head)
        self._block = block
        self._decoded_check = (
            None if stated is None or self._payload is block else DigestCheck(stated)
        )
        self.size = block.left if self._payload is block else None
        """Bytes that `read` will return in total; None if only reading can tell."""

    @property
    def head(self) -> HttpHead:
        """The archived HTTP head; a made-up 200 if the record holds no HTTP response."""
        if self.response_head is not None:
            return self.response_head
        kind = self.record.headers.get("content-type") or _UNTYPED
        return HttpHead(_OK, "OK", (("Content-Type", kind),))

    @property
    def diagnosis(self) -> str | None:
        """What is wrong with the Content-Length of the archived response, if anything is."""
        if self.response_head is None:
            return None
        chunked = self._payload is not self._block
        fault = length_fault(self.response_head, self.stored, chunked=chunked)
        # WARC 1.1, 5.13: the crawler has cut the payload.
        cut = self.record.headers.get("warc-truncated") or ""
        return f"{fault};truncated={cut}" if fault and _TOKEN.fullmatch(cut) else fault

    def read(self, limit: int) -> bytes:
        """Return up to *limit* bytes, and none only at the end, when all checks have passed."""
        try:
            with self._busy:
                return self._read(limit)
        finally:
            if self._closing:
                self.close()

    def close(self) -> None:
        """Close the file: now, or when the thread that reads from it is done."""
        self._closing = True
        if self._busy.acquire(blocking=False):
            try:
                self._file.close()
            finally:
                self._busy.release()

    def _read(self, limit: int) -> bytes:
        piece = self._payload.read(limit)
        if self._decoded_check is not None:
            self._decoded_check.add(piece)
        if not piece:
            self._block.finish()
            self._verify()
        return piece

    def _verify(self) -> None:
        if self._digesting.matches():
            return
        # A payload excludes transfer coding (WARC 1.1, 6.3.2), but wget, wpull, warcio and
        # Heritrix with HTTP/1.1 have hashed it with chunk sizes included (warcio issue 74,
        # wpull 424, heritrix3 769). Both are in millions of files, so either is accepted.
        if self._decoded_check is None or not self._decoded_check.matches():
            raise Damaged(self.record.offset, "the data does not match the stated digest")


class _DigestingSource:
    """A `ByteSource` over the rest of a block that hashes what is read."""

    def __init__(self, block: Block) -> None:
        self.offset = self.position = block.offset
        self._block = block
        self._check: DigestCheck | None = None

    def start(self, stated: Digest | None) -> None:
        """Hash from here on."""
        self._check = None if stated is None else DigestCheck(stated)

    def block(self) -> Block:
        """Return the rest of the block, to be read through this source."""
        return Block(self, b"", 0, self._block.left)

    def matches(self) -> bool:
        """Whether the digest is right, or none is stated."""
        return self._check is None or self._check.matches()

    def read(self, limit: int) -> bytes:
        octets = self._block.read(limit)
        if self._check is not None:
            self._check.add(octets)
        return octets

    def skip(self, limit: int) -> int:
        """Read and discard: digests cover all bytes."""
        return len(self.read(limit))

    def close(self, rest: bytes) -> None:  # noqa: ARG002 -- the block checks its own end
        self._block.finish()


def _check_identity(record: Record, location: RecordLocation) -> None:
    # A CDX file has whole seconds, the record perhaps fractions.
    same_time = (record.stamp or "").startswith(location.stamp)
    if record.url != location.url or not same_time:
        why = f"this is not the record of {location.url} in the index: has the file changed?"
        raise Damaged(location.offset, why)
