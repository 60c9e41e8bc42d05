"""The captures in a file: what cdxj-indexer would list, with every damage told.

Which records count, and what is said of each, is cdxj-indexer's and so pywb's choice, since
both may be pointed at the same files.
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
from archives.warc.files import Damage, Damaged
from archives.warc.http import READ_SIZE, Block, HttpHead, payload_of, read_http
from archives.warc.records import Record, open_record, records_in

_CAPTURES: Final = frozenset({"response", "revisit", "resource", "metadata"})
_HTTP_KINDS: Final = ("response", "revisit")
_HTTP_SCHEMES: Final = ("http:", "https:")
# Notes of a crawler on its own work, not of the web: outlinks, fetch times.
_NOTES: Final = "application/warc-fields"
REVISIT: Final = "warc/revisit"
_MIME: Final = compiled(r"[!-:<-~]{1,255}")
_DIGEST: Final = compiled(r"(?:sha1:)?+([!-~]{1,200})", re.IGNORECASE)


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
    has_one = record.kind in _HTTP_KINDS and url[:6].lower().startswith(_HTTP_SCHEMES)
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
    while octets := record.block.read(READ_SIZE):
        made.update(octets)
    return b32encode(made.digest()).decode()


_SIZES: Final = {"sha1": 20, "sha256": 32, "sha512": 64, "md5": 16}
_ALGORITHMS: Final = {name: name for name in _SIZES} | {
    "sha-1": "sha1",
    "sha-256": "sha256",
    "sha-512": "sha512",
}
# Python's own digits to the base 32 are 0 to 9 and a to v: its b32decode takes 30 times longer.
_AS_DIGITS: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHIJKLMNOPQRSTUV", "="
)
_BASE32: Final = re.compile(r"[A-Za-z2-7]{1,110}={0,6}")


class Digest(NamedTuple):
    """A stated digest whose algorithm is known."""

    algorithm: str
    octets: bytes


class DigestCheck:
    """Adds up octets, and tells whether they have the digest that was stated."""

    __slots__ = ("_hasher", "_stated")

    def __init__(self, stated: Digest) -> None:
        self._hasher = hashlib.new(stated.algorithm, usedforsecurity=False)
        self._stated = stated.octets

    def add(self, octets: bytes) -> None:
        """Go on with *octets*."""
        self._hasher.update(octets)

    def holds(self) -> bool:
        """Whether what came is what was stated."""
        return self._hasher.digest() == self._stated


def read_digest(text: str | None) -> Digest | None:
    """Return what a digest field states; None where there is none that could be checked."""
    name, colon, value = (text or "").strip().partition(":")
    algorithm = _ALGORITHMS.get(name.lower())
    if algorithm is None or not colon:
        return None
    octets = _octets(value.strip(), _SIZES[algorithm])
    return None if octets is None else Digest(algorithm, octets)


def _octets(value: str, size: int) -> bytes | None:
    """Read Base32 (Heritrix, wget, warcio) or hexadecimal (Browsertrix: sha256, 64 digits)."""
    if len(value) == 2 * size:
        try:
            return bytes.fromhex(value)
        except ValueError:
            return None
    if not _BASE32.fullmatch(value):
        return None
    digits = value.upper().translate(_AS_DIGITS)
    # RFC 4648 6: what five bits to a digit leave over at the end is zero.
    left_over = 5 * len(digits) - 8 * size
    if not 0 <= left_over < 5:
        return None
    return (int(digits, 32) >> left_over).to_bytes(size, "big")


_OK: Final = 200
_UNTYPED: Final = "application/octet-stream"


class RecordLocation(Protocol):
    """Where a capture lies, as an index knows it."""

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


def open_local(place: RecordLocation) -> BinaryIO:
    """Open a file by its name on our disk, never as anything that could be an address (R32)."""
    return open(place.file, "rb")  # noqa: PTH123 -- Path takes longer


class RecordReader:
    """An open record. `read` gives its payload, transfer coding removed.

    Raises Damaged where the file is not what the index or the record says, at the latest
    instead of the empty piece that would be the end.
    """

    def __init__(
        self,
        place: RecordLocation,
        octets: bytes | None = None,
        opening: FileOpener = open_local,
    ) -> None:
        """Read *octets*, the record as it is stored, or else from the file."""
        self._file: BinaryIO = opening(place) if octets is None else BytesIO(octets)
        offset = place.offset if octets is None else 0
        self._busy = Lock()
        self._unwanted = False
        try:
            self.record: Final = open_record(self._file, offset, place.length or None)
            _check_identity(self.record, place)
            self._begin(self.record)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, record: Record) -> None:
        has_http = record.kind in _HTTP_KINDS
        block_digest = read_digest(record.headers.get("warc-block-digest"))
        # A revisit states the payload of another record.
        of_another = block_digest is not None or record.kind == "revisit"
        stated = None if of_another else read_digest(record.headers.get("warc-payload-digest"))
        self._summing = _Summing(record.block)
        if block_digest is not None:
            self._summing.begin(block_digest)
            block = self._summing.block()
            self.own_head = read_http(block) if has_http else None
        else:
            self.own_head = read_http(record.block) if has_http else None
            self._summing.begin(stated)
            block = self._summing.block()
        self.stored = block.left
        """Octets of the payload, with their transfer coding."""
        self._payload = payload_of(block, self.own_head)
        self._block = block
        self._decoded = (
            None if stated is None or self._payload is block else DigestCheck(stated)
        )
        self.size = block.left if self._payload is block else None
        """Octets that `read` will give; None where only reading can tell."""

    @property
    def head(self) -> HttpHead:
        """The archived head; for what was no HTTP answer, one that says as much."""
        if self.own_head is not None:
            return self.own_head
        kind = self.record.headers.get("content-type") or _UNTYPED
        return HttpHead(_OK, "OK", (("Content-Type", kind),))

    def read(self, most: int) -> bytes:
        """Return some octets; none only at the end, when everything was seen to be right."""
        try:
            with self._busy:
                return self._read(most)
        finally:
            if self._unwanted:
                self.close()

    def close(self) -> None:
        """Let go of the file: now, or when the thread that reads from it is done."""
        self._unwanted = True
        if self._busy.acquire(blocking=False):
            try:
                self._file.close()
            finally:
                self._busy.release()

    def _read(self, most: int) -> bytes:
        piece = self._payload.read(most)
        if self._decoded is not None:
            self._decoded.add(piece)
        if not piece:
            self._block.finish()
            self._verify()
        return piece

    def _verify(self) -> None:
        if self._summing.holds():
            return
        # The payload has no transfer coding (WARC 1.1, 6.3.2); but wget, wpull, warcio and
        # Heritrix with HTTP/1.1 have hashed it with the chunk sizes in it (warcio issue 74,
        # wpull 424, heritrix3 769). Both are in millions of files, so either will do.
        if self._decoded is None or not self._decoded.holds():
            raise Damaged(self.record.offset, "its octets do not have the digest it states")


class _Summing:
    """What is left of a block, added up while it is read (a `Source`)."""

    def __init__(self, block: Block) -> None:
        self.offset = self.position = block.offset
        self._block = block
        self._sum: DigestCheck | None = None

    def begin(self, stated: Digest | None) -> None:
        """Add up from here on."""
        self._sum = None if stated is None else DigestCheck(stated)

    def block(self) -> Block:
        """Return the block again, to be read through here."""
        return Block(self, b"", 0, self._block.left)

    def holds(self) -> bool:
        """Whether the digest is right; what states none is."""
        return self._sum is None or self._sum.holds()

    def read(self, most: int) -> bytes:
        octets = self._block.read(most)
        if self._sum is not None:
            self._sum.add(octets)
        return octets

    def skip(self, most: int) -> int:
        """Read without looking: digests are over everything."""
        return len(self.read(most))

    def close(self, rest: bytes) -> None:  # noqa: ARG002 -- the block sees to its own end
        self._block.finish()


def _check_identity(record: Record, place: RecordLocation) -> None:
    # A CDX file knows whole seconds, the record perhaps more.
    same_time = (record.stamp or "").startswith(place.stamp)
    if record.url != place.url or not same_time:
        why = f"not the record of {place.url} that the index says: has the file changed?"
        raise Damaged(place.offset, why)
