"""Local collections: our own WARCs, asked like any archive.

The index knows which record; the replay template makes the address under which we serve it.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import Final

from archives.model import ArchiveEntry, ArchiveKind, Closest, Memento, Relation
from archives.moment import Moment
from archives.warc_index.model import CaptureIndex, IndexRow

KIND: Final = ArchiveKind(
    "warc",
    "a collection of our own: WARC, ARC or WACZ files and their index",
    needs=("path",),
    is_local=True,
    folds_spellings=True,
)
_REVISIT: Final = "warc/revisit"
"""What an index says of a record that refers to another: nothing about the page."""
_KEPT: Final = 2048
_LONGEST: Final = 500
"""Characters of a URL; what is kept holds it some twenty times."""


class WarcArchive:
    """A `Source` over the index of a collection."""

    def __init__(self, entry: ArchiveEntry, collection: CaptureIndex) -> None:
        if entry.replay is None:
            raise ValueError(f"{entry.id}: a collection needs a replay template")
        self.entry = entry
        self._replay = entry.replay
        self._collection = collection
        # What is asked for again and again lies among the same few captures.
        self._familiar = lru_cache(maxsize=_KEPT)(self._closest)

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Look up the capture nearest to *at*."""
        rows = await self._collection.nearest_with_neighbours(original, at)
        if not rows:
            return None
        keep = len(original) <= _LONGEST
        return (self._familiar if keep else self._closest)(*rows)

    async def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        """List what the index has of *original*, its variants included."""
        async with aclosing(self._collection.captures_of(original)) as batches:
            async for rows in batches:
                yield [self._memento(row) for row in rows]

    def _closest(self, *rows: IndexRow) -> Closest:
        found, *around = map(self._memento, rows)
        return Closest(found, "cdx", (), _neighbours(found, around))

    def _memento(self, row: IndexRow) -> Memento:
        # All the digits: in one second there may be several captures (T-9).
        uri = self._replay.replace("{time14}", row.stamp, 1).replace("{uri}", row.url, 1)
        mime = None if row.mime == _REVISIT else row.mime
        return Memento(row.stamp, uri, row.url, self.entry.id, row.status, mime, row.digest)


def _neighbours(chosen: Memento, around: Sequence[Memento]) -> dict[Relation, Memento]:
    """Name what lies around *chosen*: the first comes first, the last comes last."""
    named: dict[Relation, Memento] = {"first": around[0], "last": around[-1]}
    for memento in around:
        if memento.stamp < chosen.stamp:
            named["prev"] = memento
        elif memento.stamp > chosen.stamp:
            named.setdefault("next", memento)
    return named
