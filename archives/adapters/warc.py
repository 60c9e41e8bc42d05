"""Local collections: WARC files of our own, queried like any archive.

The index finds the record; the replay template gives the address at which we serve it.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

from archives.listing import filled
from archives.listing.ranges import RangeBatch, UrlRange
from archives.model import ArchiveEntry, Closest, Memento, Relation
from archives.moment import Moment
from archives.source import WantedCaptures
from archives.warc_index.model import CaptureIndex, IndexRow, is_asserted

_REVISIT: Final = "warc/revisit"
"""Media type of a record that refers to another one: it says nothing about the page."""


class WarcArchive:
    """A `Source` over the index of a collection."""

    def __init__(self, entry: ArchiveEntry, collection: CaptureIndex) -> None:
        if entry.replay is None:
            raise ValueError(f"{entry.id}: a collection needs a replay template")
        self.entry = entry
        self._replay = entry.replay
        self._collection = collection

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Look up the capture nearest to *at*."""
        rows = await self._collection.nearest_with_neighbours(original, at)
        return self._closest(rows) if rows else None

    async def mementos(
        self,
        original: str,
        *,
        detailed: bool = False,  # noqa: ARG002 -- the index states everything it knows
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """List the captures of *original* in the index, its variants included."""
        async with aclosing(self._collection.captures_of(original, wanted)) as batches:
            async for rows in batches:
                yield [self._memento(row) for row in rows]

    async def captures_in(
        self, wanted: UrlRange, start: str = ""
    ) -> AsyncGenerator[RangeBatch, None]:
        """List the captures of a range of URLs, from the key *start* on."""
        lower, upper = wanted.keys
        between = self._collection.captures_between(max(lower, start), upper)
        async with aclosing(between) as batches:
            async for rows in batches:
                yield RangeBatch([row.surt for row in rows], [self._memento(r) for r in rows])

    def _closest(self, rows: Sequence[IndexRow]) -> Closest:
        found, *around = map(self._memento, rows)
        return Closest(found, "cdx", (), _neighbours(found, around))

    def _memento(self, row: IndexRow) -> Memento:
        uri = filled(self._replay, row.stamp, row.url, all_digits=True)
        mime = None if row.mime == _REVISIT else row.mime
        return Memento(
            row.stamp,
            uri,
            row.url,
            self.entry.id,
            row.status,
            mime,
            row.digest,
            is_asserted(row.name),
            row.length or None,
        )


def _neighbours(chosen: Memento, around: Sequence[Memento]) -> dict[Relation, Memento]:
    """Return the neighbours of *chosen* in *around*, which is sorted by time."""
    relations: dict[Relation, Memento] = {"first": around[0], "last": around[-1]}
    for memento in around:
        if memento.stamp < chosen.stamp:
            relations["prev"] = memento
        elif memento.stamp > chosen.stamp:
            relations.setdefault("next", memento)
    return relations
