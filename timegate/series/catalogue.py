"""The catalogue of all series in one store: an SQLite file that is rebuilt from WARC files.

`CatalogueWriter` belongs to the thread that writes the store, and needs its lock; it first
reads what files have beyond what the catalogue knows, which a process left that was killed.
`Catalogue` reads, from any thread.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.warc.files import Damage, Damaged
from archives.warc.records import records_in
from archives.warc_index.database import is_damage, rename_damaged
from timegate.identifiers.pdi import Pdi, read_pdi
from timegate.series import (
    Assertion,
    Date,
    DocumentName,
    Location,
    Representation,
    SeriesDocument,
)
from timegate.series.records import ReadRecord, read_record

KIND: Final = "series"
_LOG: Final = logging.getLogger("timegate.series")
_FILES: Final = f"*.{KIND}.*.warc.gz"
_LAYOUT: Final = 1
_BUSY_TIMEOUT: Final = 5.0
_NO_SERIAL: Final = (1 << 63) - 1
"""Sorts documents without a number after those with one."""
_MOST_DIGITS: Final = 18
_TABLES: Final = """
CREATE TABLE file (name TEXT PRIMARY KEY, upto INTEGER NOT NULL, size INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE document (id INTEGER PRIMARY KEY, series TEXT NOT NULL, date TEXT NOT NULL,
  serial INTEGER NOT NULL, minted TEXT NOT NULL, uid TEXT NOT NULL);
CREATE UNIQUE INDEX document_name ON document (series, date, uid);
CREATE INDEX document_order ON document (series, date, serial, minted, uid);
CREATE TABLE representation (document INTEGER NOT NULL, version INTEGER NOT NULL,
  format TEXT NOT NULL, media_type TEXT NOT NULL, digest TEXT, size INTEGER, uri TEXT,
  stamp TEXT NOT NULL, minter TEXT NOT NULL, file TEXT, offset INTEGER, length INTEGER,
  PRIMARY KEY (document, version, format)) WITHOUT ROWID;
CREATE TABLE assertion (id INTEGER PRIMARY KEY, document INTEGER NOT NULL,
  subject TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, who TEXT NOT NULL,
  stamp TEXT NOT NULL, UNIQUE (document, subject, key, value, who, stamp));
"""
_COLUMNS: Final = (
    "d.series, d.date, d.uid, r.version, r.format, r.media_type, r.digest, r.size, r.uri, "
    "r.stamp, r.minter, r.file, r.offset, r.length"
)
_JOINED: Final = f"SELECT {_COLUMNS} FROM document d JOIN representation r ON r.document = d.id"  # noqa: S608 -- constants
_ORDER: Final = "d.date, d.serial, d.minted, d.uid, r.version, r.format"


class Listing(NamedTuple):
    """A query for documents: digits or ``*``; None of a format or version is any."""

    series: str
    date: Date
    unique_id: str = "*"
    format: str | None = None
    version: int | None = None
    since: str | None = None
    """The first day, ``YYYY/MM/DD`` or a beginning of it."""
    until: str | None = None


class Page(NamedTuple):
    """Some of a list."""

    representations: Sequence[Representation]
    after: str | None
    """The name after which the list goes on; None at its end."""


class Catalogue:
    """Reads the catalogue. Each method raises OSError or sqlite3.Error; for threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = catalogue_path(folder)

    def document(self, name: DocumentName) -> SeriesDocument | None:
        """Return a document with its versions and formats; None if it was never minted."""
        with closing(self._open()) as connection:
            return _document(connection, name, self._folder)

    def assertions(self, name: DocumentName) -> list[Assertion]:
        """Return all assertions about a document and its parts, the oldest first."""
        query = (
            "SELECT subject, key, value, who, stamp FROM assertion WHERE document = "
            "(SELECT id FROM document WHERE series = ? AND date = ? AND uid = ?) "
            "ORDER BY stamp, id LIMIT 1000"
        )
        with closing(self._open()) as connection:
            return [Assertion(*row) for row in connection.execute(query, _key(name))]

    def listed(self, listing: Listing, most: int, after: str | None = None) -> Page:
        """Return the next *most* representations, in order, after the name *after*."""
        conditions, values = _conditions(listing)
        with closing(self._open()) as connection:
            start = None if after is None else _order_of(connection, after)
            if after is not None and start is None:
                return Page((), None)
            if start is not None:
                conditions += f" AND ({_ORDER}) > (?, ?, ?, ?, ?, ?)"
                values += start
            query = f"{_JOINED} WHERE {conditions} ORDER BY {_ORDER} LIMIT ?"
            rows = connection.execute(query, (*values, most + 1)).fetchall()
        found = [_representation(row, self._folder) for row in rows[:most]]
        return Page(found, found[-1].pdi if len(rows) > most else None)

    def counts(self, listing: Listing, digits: int) -> list[tuple[str, int]]:
        """Return how many documents there are, by the first *digits* of their dates."""
        conditions, values = _conditions(listing._replace(format=None, version=None))
        query = (
            f"SELECT substr(d.date, 1, {int(digits)}), count(*) FROM document d "  # noqa: S608
            f"WHERE {conditions} GROUP BY 1 ORDER BY 1"
        )
        with closing(self._open()) as connection:
            return [(str(day), int(count)) for day, count in connection.execute(query, values)]

    def _open(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT)


class CatalogueWriter:
    """Writes the catalogue, under the lock of the store, in one thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = catalogue_path(folder)
        self._connection: sqlite3.Connection | None = None

    def begin(self) -> None:
        """Begin a transaction in which the catalogue has all records that are on disk."""
        try:
            self._begin()
        except sqlite3.Error as error:
            self.close()
            if not is_damage(error):
                raise
            _LOG.warning("%s is damaged: %s; it is built again", self._path.name, error)
            rename_damaged(self._path)
            self._begin()

    def commit(self) -> None:
        """End the transaction."""
        self._opened().execute("COMMIT")

    def rollback(self) -> None:
        """Forget the transaction."""
        if self._connection is not None:
            try:
                with suppress(sqlite3.OperationalError):
                    self._connection.execute("ROLLBACK")
            except sqlite3.Error:
                self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def document(self, name: DocumentName) -> SeriesDocument | None:
        """Return a document as it is in this transaction."""
        return _document(self._opened(), name, self.folder)

    def last_of_day(self, series: str, date: Date) -> tuple[int, str]:
        """Return the highest number of the day, and the latest time of minting."""
        highest = (
            "SELECT coalesce(max(serial), 0) FROM document "
            "WHERE series = ? AND date = ? AND serial < ?"
        )
        latest = (
            "SELECT minted FROM document WHERE series = ? AND date = ? AND serial = ? "
            "ORDER BY minted DESC LIMIT 1"
        )
        connection, day = self._opened(), "/".join(date)
        (serial,) = connection.execute(highest, (series, day, _NO_SERIAL)).fetchone()
        stamps = [
            row[0]
            for number in (serial, _NO_SERIAL)
            if (row := connection.execute(latest, (series, day, number)).fetchone())
        ]
        return int(serial), max(stamps, default="")

    def add(self, representation: Representation) -> None:
        """Add a representation; its location may follow by `place`."""
        connection, name = self._opened(), representation.document
        connection.execute(
            "INSERT INTO document (series, date, uid, serial, minted) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (series, date, uid) "
            "DO UPDATE SET minted = min(minted, excluded.minted)",
            (*_key(name), serial_of(name.unique_id), representation.stamp),
        )
        here = representation.location
        # Bytes replace a mere binding; of two records of one name, the earlier one counts.
        connection.execute(
            "INSERT INTO representation VALUES ((SELECT id FROM document WHERE series = ? AND "
            "date = ? AND uid = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET uri = coalesce(uri, excluded.uri), "
            "media_type = iif(file IS NULL, excluded.media_type, media_type), "
            "digest = iif(file IS NULL, coalesce(excluded.digest, digest), digest), "
            "size = iif(file IS NULL, excluded.size, size), "
            "offset = iif(file IS NULL, excluded.offset, offset), "
            "length = iif(file IS NULL, excluded.length, length), "
            "stamp = min(stamp, excluded.stamp), "
            "file = coalesce(file, excluded.file)",
            (
                *_key(name),
                representation.version,
                representation.format,
                representation.media_type,
                representation.digest,
                representation.size,
                representation.uri,
                representation.stamp,
                representation.minter,
                *((here.name, here.offset, here.length) if here else (None, None, None)),
            ),
        )

    def place(self, representation: Representation, file: str, offset: int) -> None:
        """Say where the record of a representation is that was added in this transaction."""
        self._opened().execute(
            "UPDATE representation SET file = ?, offset = ? WHERE document = "
            "(SELECT id FROM document WHERE series = ? AND date = ? AND uid = ?) "
            "AND version = ? AND format = ?",
            (
                file,
                offset,
                *_key(representation.document),
                representation.version,
                representation.format,
            ),
        )

    def add_assertion(self, name: DocumentName, assertion: Assertion) -> None:
        """Add an assertion about a document that is there."""
        self._opened().execute(
            "INSERT OR IGNORE INTO assertion (document, subject, key, value, who, stamp) "
            "SELECT id, ?, ?, ?, ?, ? FROM document WHERE series = ? AND date = ? AND uid = ?",
            (*assertion, *_key(name)),
        )

    def note_file(self, name: str, size: int) -> None:
        """Take note that all of a file is in the catalogue."""
        self._opened().execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?)", (name, size, size)
        )

    def _begin(self) -> None:
        self._opened().execute("BEGIN IMMEDIATE")
        try:
            self._catch_up()
        except BaseException:
            self.rollback()
            raise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self._path,
                timeout=_BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            # What a power loss takes from the catalogue is read again from the files.
            connection.execute("PRAGMA synchronous = NORMAL")
            if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}COMMIT;")
                connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        return self._connection

    def _catch_up(self) -> None:
        """Read what files have beyond what the catalogue knows."""
        connection = self._opened()
        known = {
            name: (upto, size)
            for name, upto, size in connection.execute("SELECT name, upto, size FROM file")
        }
        behind: list[tuple[DocumentName, Assertion]] = []
        for path in sorted(self.folder.glob(_FILES)):
            upto, seen = known.get(path.name, (0, -1))
            size = path.stat().st_size
            if size > upto and size != seen:
                upto = self._read(path, upto, behind)
                connection.execute(
                    "INSERT OR REPLACE INTO file VALUES (?, ?, ?)", (path.name, upto, size)
                )
        for name, assertion in behind:
            self.add_assertion(name, assertion)

    def _read(
        self, path: Path, start: int, behind: list[tuple[DocumentName, Assertion]]
    ) -> int:
        """Add the records of *path* from *start* on; return where the last whole one ends."""
        upto = start
        with path.open("rb") as file:
            for record in records_in(file, start):
                if isinstance(record, Damage):
                    continue
                try:
                    offset, found = record.offset, read_record(record)
                    length = record.length
                except Damaged:
                    continue
                if record.broken:
                    continue
                upto = offset + length
                if found is not None:
                    self._apply(found, path.name, offset, length, behind)
        return upto

    def _apply(
        self,
        found: ReadRecord,
        file: str,
        offset: int,
        length: int,
        behind: list[tuple[DocumentName, Assertion]],
    ) -> None:
        pdi = name_in(found.url)
        if pdi is None:
            _LOG.warning("%s@%d: %s is no PDI", file, offset, found.url)
            return
        name = document_name(pdi)
        fields = found.fields
        if "assertion" in fields:
            assertion = Assertion(
                fields.get("subject", found.url),
                fields["assertion"],
                fields.get("value", ""),
                fields.get("who", ""),
                found.stamp,
            )
            behind.append((name, assertion))
            return
        if pdi.format is None or pdi.version is None:
            return
        is_bytes = not fields
        here = Location(found.url, found.stamp, found.digest, "", file, offset, length)
        self.add(
            Representation(
                name,
                int(pdi.version),
                pdi.format,
                found.media_type if is_bytes else fields.get("media-type", ""),
                found.digest if is_bytes else fields.get("digest"),
                found.size if is_bytes else None,
                None if is_bytes else fields.get("binding"),
                found.stamp,
                found.minter if is_bytes else fields.get("who", ""),
                here if is_bytes else None,
            )
        )


def catalogue_path(folder: Path) -> Path:
    """Return the file of the catalogue of a store."""
    return folder / ".timegate" / f"{KIND}.sqlite"


def name_in(url: str) -> Pdi | None:
    """Return the PDI *url*; None if it is none."""
    try:
        reading = read_pdi(url, Diagnosis())
    except Malformed:
        return None
    identifier = None if reading is None else reading.identifier
    return identifier if isinstance(identifier, Pdi) else None


def document_name(pdi: Pdi) -> DocumentName:
    """Return the name of the document of *pdi*."""
    return DocumentName(pdi.series, pdi.date, pdi.canonical_id)


def serial_of(unique_id: str) -> int:
    """Return the number of a document; that of all others is larger than any."""
    digits = unique_id.isascii() and unique_id.isdecimal() and len(unique_id) <= _MOST_DIGITS
    return int(unique_id) if digits else _NO_SERIAL


def _key(name: DocumentName) -> tuple[str, str, str]:
    return name.series, "/".join(name.date), name.unique_id


def _document(
    connection: sqlite3.Connection, name: DocumentName, folder: Path
) -> SeriesDocument | None:
    query = f"{_JOINED} WHERE d.series = ? AND d.date = ? AND d.uid = ? ORDER BY {_ORDER}"
    rows = connection.execute(query, _key(name)).fetchall()
    if not rows:
        return None
    found = [_representation(row, folder) for row in rows]
    return SeriesDocument(name, min(each.stamp for each in found), found)


def _representation(row: Sequence[object], folder: Path) -> Representation:
    series, date, uid, version, form, media_type, digest, size, uri, stamp, minter = row[:11]
    file, offset, length = row[11:]
    year, month, day = str(date).split("/")
    name = DocumentName(str(series), (year, month, day), str(uid))
    found = Representation(
        name,
        int(str(version)),
        str(form),
        str(media_type),
        None if digest is None else str(digest),
        None if size is None else int(str(size)),
        None if uri is None else str(uri),
        str(stamp),
        str(minter),
        None,
    )
    if file is None:
        return found
    here = Location(
        found.pdi,
        # The catalogue has the time of the binding, if there was one before the bytes.
        "" if uri is not None else found.stamp,
        found.digest,
        str(folder / str(file)),
        str(file),
        int(str(offset)),
        int(str(length)),
    )
    return found._replace(location=here)


def _conditions(listing: Listing) -> tuple[str, tuple[object, ...]]:
    """Return the SQL condition of a list, and its values."""
    terms: list[tuple[str, tuple[object, ...]]] = [("d.series = ?", (listing.series,))]
    fixed = "/".join(_leading(listing.date))
    if fixed:
        terms.append(("d.date >= ? AND d.date < ?", (fixed, f"{fixed}:")))
    pattern = "/".join(
        part if part != "*" else "?" * width
        for part, width in zip(listing.date, (4, 2, 2), strict=True)
    )
    terms.append(("d.date GLOB ?", (pattern,)))
    if listing.since is not None:
        terms.append(("d.date >= ?", (listing.since,)))
    if listing.until is not None:
        terms.append(("d.date < ?", (f"{listing.until}:",)))
    if listing.unique_id != "*":
        terms.append(("d.uid = ?", (listing.unique_id,)))
    if listing.format not in (None, "*"):
        terms.append(("r.format = ?", (listing.format,)))
    if listing.version is not None:
        terms.append(("r.version = ?", (listing.version,)))
    return " AND ".join(text for text, _ in terms), tuple(
        value for _, values in terms for value in values
    )


def _leading(date: Date) -> Iterator[str]:
    for part in date:
        if part == "*":
            return
        yield part


def _order_of(connection: sqlite3.Connection, after: str) -> tuple[object, ...] | None:
    pdi = name_in(after)
    if pdi is None or pdi.is_query:
        return None
    query = (
        "SELECT date, serial, minted, uid FROM document "
        "WHERE series = ? AND date = ? AND uid = ?"
    )
    row = connection.execute(query, _key(document_name(pdi))).fetchone()
    return None if row is None else (*row, int(pdi.version or 0), pdi.format or "")
