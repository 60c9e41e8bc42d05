"""The block of a record: as many octets as its Content-Length says, and not one more."""

from typing import Final

from archives.warc.head import head_end
from archives.warc.stored import ByteSource, Damaged

AT_ONCE: Final = 64 * 1024


class Block:
    """A reader that knows how many octets are left.

    Whoever reads the last octet, or calls `finish`, learns whether the record was whole:
    `Damaged` is raised where it was not, also for a wrong checksum behind the last octet.
    """

    __slots__ = ("_at", "_damage", "_open", "_pending", "_source", "left", "offset")

    def __init__(self, source: ByteSource, pending: bytes, at: int, length: int) -> None:
        """Read *length* octets: those of *pending* from *at* on, then those of *source*."""
        self.offset = source.offset
        self.left = length
        self._source = source
        self._pending = pending
        self._at = at
        self._open = True
        self._damage: Damaged | None = None

    @property
    def size(self) -> int:
        return self.left

    @property
    def broken(self) -> bool:
        """Whether it was found to be damaged."""
        return self._damage is not None

    def read(self, most: int) -> bytes:
        """Return some octets, no more than *most*, none only at the end."""
        if self._damage:
            raise self._damage.again()
        most = min(most, self.left)
        if most <= 0:
            return b""
        if self._at >= len(self._pending):
            self._fetch()
        octets = self._pending[self._at : self._at + most]
        self._at += len(octets)
        self.left -= len(octets)
        if not self.left:
            self._close()
        return octets

    def read_head(self) -> bytes:
        """Return the lines up to a blank one, or to the end; raise `Oversized`."""
        while not self._damage:
            stop = min(len(self._pending), self._at + self.left)
            end = head_end(self._pending, self._at, stop)
            if end is not None:
                return self.read(end - self._at)
            if stop - self._at == self.left:
                return self.read(self.left)
            self._fetch()
        raise self._damage.again()

    def upcoming(self, least: int, most: int) -> bytes:
        """Return what comes next without reading it, *least* octets unless fewer are left."""
        if self._damage:
            raise self._damage.again()
        while len(self._pending) - self._at < min(least, self.left):
            self._fetch()
        return self._pending[self._at : self._at + min(self.left, most)]

    def finish(self) -> None:
        """Read on to the end of the record."""
        if self._damage:
            raise self._damage.again()
        ahead = len(self._pending) - self._at
        if self.left > ahead:
            self.left -= self._source.skip(self.left - ahead)
        if self.left <= ahead:
            self._at += self.left
            self.left = 0
        while self.left:
            self.read(AT_ONCE)
        if self._open:
            self._close()

    def _fetch(self) -> None:
        try:
            more = self._source.read(AT_ONCE)
        except Damaged as damage:
            self._damage = damage.again()
            raise
        self._pending = self._pending[self._at :] + more
        self._at = 0
        if not more:
            why = f"the record ends {self.left - len(self._pending)} octets early"
            self._damage = Damaged(self.offset, why, self._source.position)
            raise self._damage.again()

    def _close(self) -> None:
        self._open = False
        try:
            self._source.close(self._pending[self._at :])
        except Damaged as damage:
            self._damage = damage.again()
            raise
        self._pending = b""
        self._at = 0
