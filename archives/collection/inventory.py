"""The index of files that cannot be listed, behind a plain HTTP server: what a CDX file tells.

Nobody can hold it against the files, so a line that cannot be read costs itself and no more,
and a wrong offset is found when the record is read (R29). The files lie directly below the
address: whoever wrote the CDX file had other folders, of which nothing is known here.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from archives.collection.beside import captures_beside
from archives.collection.building import NotWritable
from archives.collection.database import alone, is_damage, open_writer, set_aside
from archives.collection.filling import Filling
from archives.collection.folder import MOST_FILES, FileSeen
from archives.collection.place import RemoteFiles
from archives.collection.summary import IndexSummary
from archives.collection.writing import IndexPart, IndexWriter
from archives.warc.capture import Damage


def index_inventory(address: RemoteFiles, inventory: Path) -> IndexSummary:
    """Bring the index up to date with the CDX or CDXJ file *inventory*.

    Raises OSError, NotWritable, Occupied, Newer or Foreign, as `index_collection` does.
    """
    found = inventory.stat()
    listing = FileSeen(inventory.name, "cdx", found.st_size, found.st_mtime_ns)
    address.index.parent.mkdir(parents=True, exist_ok=True)
    with alone(address.index):
        try:
            return _indexed(address.index, inventory, listing)
        except sqlite3.Error as error:
            if not is_damage(error):
                why = f"{address.index} cannot be written: {error}"
                raise NotWritable(why) from error
            set_aside(address.index)
        summary = _indexed(address.index, inventory, listing)
        summary.rebuilt = True
        return summary


def _indexed(index: Path, inventory: Path, listing: FileSeen) -> IndexSummary:
    summary = IndexSummary()
    connection, summary.rebuilt = open_writer(index)
    with closing(connection):
        writer = IndexWriter(connection)
        writer.bury_unfinished()
        parts = writer.parts()
        if _is_current(parts, listing):
            summary.files = summary.unchanged = sum(part.path != listing.path for part in parts)
        else:
            _fill(writer, summary, inventory, listing, parts)
        writer.sweep()
        writer.finish(complete=True)
    return summary


def _is_current(parts: Iterable[IndexPart], listing: FileSeen) -> bool:
    known = [part for part in parts if part.path == listing.path]
    return any((part.size, part.mtime) == (listing.size, listing.mtime) for part in known)


def _fill(
    writer: IndexWriter,
    summary: IndexSummary,
    inventory: Path,
    listing: FileSeen,
    parts: Iterable[IndexPart],
) -> None:
    """Take all of it, instead of what was taken before."""
    filling = Filling(writer, summary, via=listing.path)
    own = filling.part(listing)
    names: set[str] = set()
    for item in captures_beside(inventory.open("rb"), listing.path):
        if isinstance(item, Damage):
            filling.complain(own, listing.path, item.offset, item.why)
            continue
        if len(names) >= MOST_FILES and item.name not in names:
            why = f"left out: the collection has more than {MOST_FILES} files"
            filling.complain(own, listing.path, item.at, why)
            continue
        names.add(item.name)
        file = FileSeen(item.name, "warc", 0, listing.mtime)
        filling.add(filling.part(file), [item.capture])
    filling.publish(tuple(part.id for part in parts))
    summary.files = summary.from_cdx = len(names)
