"""Minting: which name a document gets, and when it gets a new version (2.1, 2.3 to 2.6, 3.6).

`SeriesJournal` decides under the lock of the store, so that of all processes only one decides
at a time, and knows all that is on disk.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from archives.warc_index.appending import index_lock
from archives.warc_index.model import LocalFiles
from timegate.series import (
    Assertion,
    AssertRequest,
    Content,
    Date,
    DocumentName,
    Location,
    Minted,
    MintRequest,
    NameTaken,
    OtherBytes,
    PlaceRequest,
    PutRequest,
    Representation,
    SeriesDocument,
    UnknownDocument,
    VersionMoved,
)
from timegate.series.catalogue import KIND, CatalogueWriter
from timegate.series.records import content_record, metadata_record
from timegate.store import JournalEntry, StoreUnwritable
from timegate.store.writer import clock_stamp

_MICROSECOND = 1000
_LOCK_PATIENCE = 10.0


class _Pending(NamedTuple):
    """An entry that is being written; its representation, if it has bytes."""

    representation: Representation | None


class SeriesJournal:
    """Decides what is appended to the files of all series of one store."""

    kind = KIND

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalogue = CatalogueWriter(folder)
        self._pending: list[_Pending] = []

    def refresh(self) -> None:
        """Bring the catalogue up to date, before any use. Raises OSError, sqlite3.Error."""
        root = self._folder.absolute()
        place = LocalFiles(root, root, root / ".timegate" / "index.sqlite")
        place.index.parent.mkdir(parents=True, exist_ok=True)
        with index_lock(place, _LOCK_PATIENCE):
            self._catalogue.begin()
            self._catalogue.commit()
        self._catalogue.close()

    def begin(self) -> None:
        """Begin a group."""
        self._pending.clear()
        self._catalogue.begin()

    def entry(self, request: object, clock: int) -> JournalEntry:
        """Return what is appended for *request*. Raises StoreError."""
        match request:
            case MintRequest():
                return self._mint(request, clock)
            case PutRequest():
                return self._put(request, clock)
            case PlaceRequest():
                return self._place(request, clock)
            case AssertRequest():
                return self._assert(request, clock)
            case _:
                raise StoreUnwritable("a series does not know this request")

    def commit(self, file: str, size: int, offsets: Sequence[int]) -> None:
        """Note where the records are."""
        for pending, offset in zip(self._pending, offsets, strict=True):
            if pending.representation is not None:
                self._catalogue.place(pending.representation, file, offset)
        if file:
            self._catalogue.note_file(file, size)
        self._catalogue.commit()

    def rollback(self) -> None:
        """Forget the group."""
        self._catalogue.rollback()

    def close(self) -> None:
        """Close the catalogue."""
        self._catalogue.close()

    def _mint(self, request: MintRequest, clock: int) -> JournalEntry:
        stamp = clock_stamp(clock)
        date: Date = (stamp[:4], stamp[4:6], stamp[6:8])
        serial, latest = self._catalogue.last_of_day(request.series, date)
        unique_id = request.unique_id or str(serial + 1)
        name = DocumentName(request.series, date, unique_id)
        if request.unique_id is not None and self._catalogue.document(name) is not None:
            raise NameTaken(f"{name} was minted today already; PUT it to add a version")
        # If the clock was set back, the order of the numbers is still that of the times.
        stamp = max(stamp, _after(latest))
        return self._added(name, 1, request.content, stamp, request.minter)

    def _put(self, request: PutRequest, clock: int) -> JournalEntry:
        document = self._known(request.document)
        content = request.content
        if request.version is not None and request.version > document.highest:
            raise UnknownDocument(_versions(document))
        version = request.version or document.highest
        there = document.find(version, content.format)
        if request.etag is not None:
            current = document.find(document.highest, content.format)
            if current is None or current.digest != request.etag:
                raise VersionMoved("the current version is another one")
        if there is not None and _is_same(there, content):
            return JournalEntry(Minted(there, is_new=False))
        if there is not None and not _completes(there, content):
            version = document.highest + 1
        stamp = clock_stamp(clock)
        return self._added(request.document, version, content, stamp, request.minter)

    def _place(self, request: PlaceRequest, clock: int) -> JournalEntry:
        document = self._catalogue.document(request.document)
        content, version = request.content, request.version
        there = None if document is None else document.find(version, content.format)
        if there is not None and _is_same(there, content):
            return JournalEntry(Minted(there, is_new=False))
        if there is not None and not _completes(there, content):
            raise OtherBytes(f"{there.pdi} has other bytes, and a version never changes")
        stamp = clock_stamp(clock)
        return self._added(request.document, version, content, stamp, request.minter)

    def _assert(self, request: AssertRequest, clock: int) -> JournalEntry:
        self._known(request.document)
        stamp = clock_stamp(clock)
        assertion = Assertion(request.subject, request.key, request.value, request.who, stamp)
        self._catalogue.add_assertion(request.document, assertion)
        fields = {
            "assertion": request.key,
            "value": request.value,
            "subject": request.subject,
            "who": request.who,
        }
        record = metadata_record(str(request.document), fields, stamp)
        self._pending.append(_Pending(None))
        return JournalEntry(assertion, record.octets)

    def _added(
        self, name: DocumentName, version: int, content: Content, stamp: str, minter: str
    ) -> JournalEntry:
        bound = content.uri is not None
        new = Representation(
            name,
            version,
            content.format,
            content.media_type,
            content.digest,
            None if bound else len(content.body),
            content.uri,
            stamp,
            minter,
            None,
        )
        if bound:
            fields = {
                "binding": content.uri or "",
                "media-type": content.media_type,
                "who": minter,
                **({} if content.digest is None else {"digest": content.digest}),
            }
            record = metadata_record(new.pdi, fields, stamp)
        else:
            record = content_record(new.pdi, content, stamp, minter)
            octets = len(record.octets)
            here = Location(new.pdi, stamp, content.digest, "", "", 0, octets)
            new = new._replace(location=here)
        self._catalogue.add(new)
        self._pending.append(_Pending(None if bound else new))
        return JournalEntry(Minted(new, is_new=True), record.octets, record.capture)

    def _known(self, name: DocumentName) -> SeriesDocument:
        document = self._catalogue.document(name)
        if document is None:
            raise UnknownDocument(f"{name} was never minted")
        return document


def _is_same(there: Representation, content: Content) -> bool:
    """Whether *content* is what the representation has: the same bytes, or the same URI."""
    if content.uri is not None:
        return there.uri == content.uri and there.is_bound
    return not there.is_bound and there.digest == content.digest


def _completes(there: Representation, content: Content) -> bool:
    """Whether *content* has the bytes of the URI to which the representation is bound (3.6.2).

    That is known only if their digest was stated when it was bound.
    """
    return there.is_bound and content.uri is None and there.digest == content.digest


def _after(stamp: str) -> str:
    """Return the next microsecond after *stamp*; empty if that is empty."""
    if not stamp:
        return ""
    micros = int(stamp[14:20] or 0) + 1
    # A day of one number each microsecond does not occur; the last one stands still.
    return stamp[:14] + f"{min(micros, 999_999):06}"


def _versions(document: SeriesDocument) -> str:
    return f"{document.name} has the versions {', '.join(map(str, document.versions))}"
