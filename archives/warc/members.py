"""One gzip member, inflated step by step and no further than is sensible.

In a compressed WARC every record is a member of its own, so that one can be opened alone.
"""

from typing import Final

from archives.warc.stored import Damaged, FileSection

try:
    from isal import isal_zlib as deflate
except ImportError:  # pragma: no cover - the same thing, at less than half the speed
    import zlib as deflate  # type: ignore[no-redef]

__all__ = ["MAGIC", "MOST_RATIO", "GzipMember", "deflate"]

_DEFLATE_ERROR: Final[type[Exception]] = deflate.error  # type: ignore[assignment]
MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 31
"""The number by which zlib knows gzip with the largest window."""

# Text shrinks tenfold, long lists fiftyfold; deflate cannot do better than 1032 times, and
# only for what is always the same. One megabyte may shrink as it likes: empty pictures do.
MOST_RATIO: Final = 200
_FREE: Final = 1024 * 1024
_AT_ONCE: Final = 64 * 1024
_FREE_IN_FILE: Final = 64 * 1024 * 1024

_SEVERAL: Final = (
    "several records in one gzip member, where none can be opened alone: "
    "`warcio recompress` writes a file with one member a record"
)
_MORE: Final = "more in the gzip member than Content-Length says"


class GzipMember:
    """The gzip member that begins at *offset*."""

    def __init__(self, stored: FileSection, offset: int) -> None:
        self.offset = self.position = offset
        self._stored = stored
        self._inflated = 0
        self._inflater = deflate.decompressobj(_GZIP)

    def read(self, most: int) -> bytes:
        while not self._inflater.eof:
            piece = self._stored.piece(self.position)
            octets = self._inflate(piece, most)
            self.position += len(piece) - self._left_over()
            if octets:
                self._count(len(octets))
                return octets
            if not piece:
                raise Damaged(self.offset, "the file ends inside a gzip member", self.position)
        return b""

    def _left_over(self) -> int:
        inflater = self._inflater
        return len(inflater.unused_data if inflater.eof else inflater.unconsumed_tail)

    def skip(self, octets: int) -> int:  # noqa: ARG002 - only by inflating is the end found
        return 0

    def close(self, rest: bytes) -> None:
        """Read to the end of the member, where its checksum is; nothing but newlines may be."""
        while rest or (rest := self.read(_AT_ONCE)):
            if other := rest.lstrip(b"\r\n"):
                why = _SEVERAL if other.startswith(b"WARC/") else _MORE
                raise Damaged(self.offset, why, self.position)
            rest = b""

    def _inflate(self, piece: bytes, most: int) -> bytes:
        try:
            return self._inflater.decompress(piece, most)
        except _DEFLATE_ERROR as error:
            why = f"no proper gzip: {error}"
            raise Damaged(self.offset, why, self.position) from None

    def _count(self, octets: int) -> None:
        stored = self._stored
        self._inflated += octets
        stored.inflated += octets
        if self._inflated > _FREE + MOST_RATIO * (self.position - self.offset) or (
            stored.inflated > _FREE_IN_FILE + MOST_RATIO * (self.position - stored.start)
        ):
            why = f"a gzip member that grows more than {MOST_RATIO} times when inflated"
            raise Damaged(self.offset, why, self.position)
