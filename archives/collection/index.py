"""What the index of a local collection tells: a row for each capture, and where it lies."""

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol

from archives.moment import Moment

Key = tuple[str, str, int, int]
"""Where a row stands in the index: SURT, stamp, part, offset."""


class IndexRow(NamedTuple):
    """One capture as it is found: what the index knows of it, and which file to open."""

    stamp: str
    """UTC digits as far as the WARC-Date goes, at least 14 (T-9)."""
    url: str
    mime: str | None
    status: int | None
    digest: str | None
    offset: int
    """Of the record in *file*, also where *file* is a WACZ."""
    length: int
    """Of the record as it is stored; 0 where a CDX file did not say."""
    surt: str
    file: str
    """Absolute path of the file to open."""
    name: str
    """What a CDX row calls it: the file name, or the name of the WARC in a WACZ."""
    part: int = 0
    """Which part of the index it belongs to; with the others it makes the row's place."""

    @property
    def key(self) -> Key:
        """The place of this row, to go on behind it."""
        return self.surt, self.stamp, self.part, self.offset


class CaptureIndex(Protocol):
    """What can be asked of a collection. Each raises ArchiveError where it cannot tell."""

    async def placed(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last."""
        ...

    def listed(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture in batches, oldest first."""
        ...
