"""Small collections to index, and all the rows of an index."""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from archives.surt import surt
from archives.warc.captures import Capture
from archives.warc_index.database import open_writer
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import FileInfo, IndexRow, LocalFiles
from archives.warc_index.writing import FilledPart, IndexWriter
from tests import warcs

LONG_AGO = 1_600_000_000_000_000_000


def date_of(stamp: str) -> str:
    """Return the digits of *stamp* as a WARC-Date."""
    day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"
    fraction = f".{stamp[14:]}" if stamp[14:] else ""
    return f"{day}T{stamp[8:10]}:{stamp[10:12]}:{stamp[12:14]}{fraction}Z"


def responses(*captures: tuple[str, str]) -> list[bytes]:
    """Return a response record for each URL and stamp."""
    return [warcs.response(url, date_of(stamp)) for url, stamp in captures]


def put(folder: Path, name: str, octets: bytes, *, mtime: int = LONG_AGO) -> Path:
    """Write a file with the modification time *mtime*."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(octets)
    os.utime(path, ns=(mtime, mtime))
    return path


def a_warc(folder: Path, name: str, *captures: tuple[str, str], mtime: int = LONG_AGO) -> Path:
    """Write a gzip WARC with these captures."""
    octets = warcs.gzipped(warcs.warcinfo(), *responses(*captures))
    return put(folder, name, octets, mtime=mtime)


def rows_of(path: Path, index: Path | None = None) -> list[IndexRow]:
    """Return all visible rows of a collection's index, without their part ids."""
    place = LocalFiles.of(path, index)
    lookup = Lookup(place.index, place.root, 5.0)
    with closing(lookup):
        rows: list[IndexRow] = []
        while more := lookup.captures_between("", "\U0010ffff", rows[-1].key if rows else None):
            rows += more
    return sorted(row._replace(part=0) for row in rows)


def stamps_of(path: Path, index: Path | None = None) -> list[str]:
    """Return the stamps of all visible rows."""
    return [row.stamp for row in rows_of(path, index)]


def stored_rows(index: Path) -> int:
    """Return the number of rows in the index, visible or not."""
    with closing(sqlite3.connect(index)) as connection:
        return int(connection.execute("SELECT count(*) FROM capture").fetchone()[0])


def a_capture(url: str, stamp: str, offset: int = 0, **fields: object) -> Capture:
    known = Capture(surt(url), stamp, url, "text/html", 200, "SHA", offset, 100)
    return known._replace(**fields)  # type: ignore[arg-type]


def an_index(folder: Path, captures: Iterable[Capture], *, complete: bool = True) -> None:
    """Write an index of these captures, as if they were in one WARC."""
    index = LocalFiles.of(folder).index
    index.parent.mkdir(exist_ok=True)
    connection, _ = open_writer(index)
    with closing(connection):
        writer = IndexWriter(connection)
        part = writer.begin(FileInfo("some.warc.gz", "warc", 10**9, LONG_AGO), "", b"", "")
        writer.add((part, capture) for capture in captures)
        writer.publish([FilledPart(part, 0, 0, 0)], ())
        writer.finish(complete=complete)
