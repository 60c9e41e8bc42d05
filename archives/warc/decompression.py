"""Decompression of gzip members in WARC files, with limits against bombs.

A member is inflated step by step, and no further than its compressed size makes plausible.
"""

from typing import Final

from archives.warc.files import READ_SIZE, Damaged, FileSection

try:
    from isal import isal_zlib as deflate
except ImportError:  # pragma: no cover - the same API, at less than half the speed
    import zlib as deflate  # type: ignore[no-redef]

_DEFLATE_ERROR: Final[type[Exception]] = deflate.error  # type: ignore[assignment]
MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 31
"""zlib's `wbits` for gzip with the largest window."""

# Text compresses tenfold, long lists fiftyfold; deflate cannot exceed 1032 times, which it
# reaches only for one repeated byte. The first megabyte has no limit: blank images need that.
MAX_RATIO: Final = 200
_FREE_IN_MEMBER: Final = 1024 * 1024
_FREE_IN_FILE: Final = 64 * 1024 * 1024

_SEVERAL_RECORDS: Final = (
    "several records in one gzip member, so that none can be opened by itself: "
    "`warcio recompress` writes a file with one member per record"
)
_MORE_THAN_STATED: Final = "the gzip member holds more than Content-Length says"


def inflated(octets: bytes) -> bytes | None:
    """Return the content of *octets* if they are one small, whole gzip member; else None."""
    inflater = deflate.decompressobj(_GZIP)
    try:
        content = inflater.decompress(octets, _FREE_IN_MEMBER)
    except _DEFLATE_ERROR:
        return None
    return content if inflater.eof and not inflater.unused_data else None


class GzipMember:
    """The gzip member that begins at *offset*."""

    def __init__(self, stored: FileSection, offset: int) -> None:
        self.offset = self.position = offset
        self._stored = stored
        self._inflated = 0
        self._inflater = deflate.decompressobj(_GZIP)

    def read(self, limit: int) -> bytes:
        while not self._inflater.eof:
            piece = self._stored.piece(self.position)
            octets = self._inflate(piece, limit)
            self.position += len(piece) - self._left_over()
            if octets:
                self._count(len(octets))
                return octets
            if not piece:
                raise Damaged(self.offset, "the file ends inside a gzip member", self.position)
        return b""

    @property
    def ended(self) -> bool:
        """Whether it was read to its end, and its checksum is right."""
        return self._inflater.eof

    def _left_over(self) -> int:
        inflater = self._inflater
        return len(inflater.unused_data if inflater.eof else inflater.unconsumed_tail)

    def skip(self, octets: int) -> int:  # noqa: ARG002 - only inflating finds the end
        return 0

    def close(self, rest: bytes) -> None:
        """Read to the checksum at the member's end; only newlines may precede it."""
        while rest or (rest := self.read(READ_SIZE)):
            if other := rest.lstrip(b"\r\n"):
                is_record = other.startswith(b"WARC/")
                why = _SEVERAL_RECORDS if is_record else _MORE_THAN_STATED
                raise Damaged(self.offset, why, self.position)
            rest = b""

    def _inflate(self, piece: bytes, limit: int) -> bytes:
        try:
            return self._inflater.decompress(piece, limit)
        except _DEFLATE_ERROR as error:
            why = f"invalid gzip: {error}"
            raise Damaged(self.offset, why, self.position) from None

    def _count(self, octets: int) -> None:
        stored = self._stored
        self._inflated += octets
        stored.inflated += octets
        if self._inflated > _FREE_IN_MEMBER + MAX_RATIO * (self.position - self.offset) or (
            stored.inflated > _FREE_IN_FILE + MAX_RATIO * (self.position - stored.start)
        ):
            why = f"the gzip member inflates to more than {MAX_RATIO} times its size"
            raise Damaged(self.offset, why, self.position)
