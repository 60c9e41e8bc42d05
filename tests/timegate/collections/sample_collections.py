"""A server over a local collection whose index is a list in memory."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from archives.adapters.warc import WarcArchive
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest
from archives.moment import Moment, second_of
from archives.registry import Registry
from archives.source import WantedCaptures
from archives.surt import surt
from archives.warc.captures import Capture, captures_in
from archives.warc.records import stamp_of
from archives.warc_index.model import IndexRow
from tests.fakes import an_entry
from tests.scenario import World
from tests.timegate.endpoints.served import Site, answer_pages, dispatch_to
from timegate.collections import CollectionResolver, OpenCollection
from timegate.collections.extents import HeldExtents
from timegate.endpoints.collection_extents import CollectionPages
from timegate.endpoints.collections import Collections
from timegate.endpoints.pwid_resolver import PwidResolver
from timegate.endpoints.resolve import Resolve
from timegate.responses.answers import Answers
from timegate.server.listener import listening

BASE = "https://gate.example"
ID = "mine"
OURS = f"{BASE}/collections/{ID}"


@dataclass
class FakeCollection:
    """A collection that has its rows in a list; *trouble* is raised instead of an answer."""

    rows: list[IndexRow]
    id: str = ID
    trouble: ArchiveError | None = None
    lists: int = field(default=0)

    def _of(self, url: str) -> list[IndexRow]:
        if self.trouble is not None:
            raise self.trouble
        same = [row for row in self.rows if row.surt == surt(url)]
        return sorted(same, key=lambda row: (row.url != url, row.stamp))

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        rows = self._of(url)
        if at is None:
            return max(rows, key=lambda row: row.stamp, default=None)
        return min(
            rows,
            key=lambda row: (
                abs(at.distance(second_of(row.stamp))),
                at.fraction_distance(row.stamp),
            ),
            default=None,
        )

    async def at(self, url: str, stamp: str) -> IndexRow | None:
        return next((row for row in self._of(url) if row.stamp == stamp), None)

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        found = await self.nearest(url, at)
        if found is None:
            return ()
        rows = sorted(self._of(url), key=lambda row: row.stamp)
        before = [row for row in rows if row.stamp < found.stamp]
        after = [row for row in rows if row.stamp > found.stamp]
        return [found, *rows[:1], *before[-1:], *after[:1], *rows[-1:]]

    async def captures_of(
        self, url: str, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        del wanted
        self.lists += 1
        for row in sorted(self._of(url), key=lambda row: row.stamp):
            yield [row]

    async def captures_between(
        self, lower: str, upper: str
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        rows = sorted(self.rows, key=lambda row: (row.surt, row.stamp))
        yield [row for row in rows if lower <= row.surt < upper]

    async def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        target, date = refers_to or (url, "")
        rows = [row for row in self._of(target) if row.mime != "warc/revisit"]
        dated = [row for row in rows if row.stamp == stamp_of(date)]
        return next((row for row in dated or rows if row.digest == digest), None)


def rows_in(path: Path) -> list[IndexRow]:
    """Return what an index would hold of the file at *path*."""
    with path.open("rb") as file:
        return [_row(found, path) for found in _captures(file)]


def _captures(file: BinaryIO) -> list[Capture]:
    return [found for found in captures_in(file) if isinstance(found, Capture)]


def _row(found: Capture, path: Path) -> IndexRow:
    return IndexRow(
        found.stamp,
        found.url,
        found.mime,
        found.status,
        found.digest,
        found.offset,
        found.length,
        found.surt,
        str(path),
        path.name,
    )


def indexed_files(folder: Path, files: Mapping[str, bytes]) -> FakeCollection:
    """Write *files* and index them."""
    for name, octets in files.items():
        (folder / name).write_bytes(octets)
    return FakeCollection([row for name in files for row in rows_in(folder / name)])


def entry_of(base: str = BASE, path: str | None = None) -> ArchiveEntry:
    return an_entry(
        "warc",
        id=ID,
        name="My own",
        path=path,
        pwid=("mine.example", "~mywa"),
        hosts=("gate.example",),
        replay=f"{base}/collections/{ID}/{{time14}}/{{uri}}",
        raw=f"{base}/collections/{ID}/{{time14}}id_/{{uri}}",
    )


class HeldSource(WarcArchive):
    """A collection whose records are known to be readable."""

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        found = await super().closest(original, at)
        return None if found is None else structs.replace(found, evidence="held")


@asynccontextmanager
async def serving_collection(
    collection: FakeCollection,
    *unserved: ArchiveEntry,
    path: str | None = None,
    shown: CollectionPages | None = None,
) -> AsyncIterator[Site]:
    """Serve *collection*, whose files are in *path*; *unserved* archives are only known."""
    entry = entry_of(path=path)
    registry = Registry([entry, *unserved])
    source = WarcArchive(entry, collection)
    with ThreadPoolExecutor(2) as threads:
        holding = OpenCollection.of(collection, source, threads)
        collections = Collections([holding], registry, BASE, shown=shown)
        answers = Answers(CollectionResolver(HeldSource(entry, collection)), registry, BASE)
        held = HeldExtents([holding], registry, BASE)
        resolve = Resolve(answers, registry, answer_pages(answers, registry), held)
        dispatch = dispatch_to(
            resolve,
            exact={
                "/collections": collections.overview,
                "/pwid": PwidResolver(resolve, registry, BASE),
            },
            prefixes={"/collections/": collections},
        )
        async with listening(dispatch, "127.0.0.1", 0) as port:
            yield Site(port, World())
