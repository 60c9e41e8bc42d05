"""A Memento store: revisions of pages, written by those who have a token, in WARC files.

A revision is immutable: its record is on disk before it is acknowledged, and nothing removes
it. The folder of a store is a local collection (`timegate.collections`), which serves it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from archives.warc.captures import Capture
from archives.warc_index.model import IndexRow

Fields = tuple[tuple[str, str], ...]
MEGABYTE: Final = 1 << 20
Basis = Literal["written", "asserted", "kept"]
"""On what the times of a file rest: the clock, what writers assert, or the time of capture."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The configuration of one store."""

    id: str
    path: Path
    tokens: tuple[bytes, ...] = ()
    """SHA-256 digests of the tokens that may write."""
    largest_revision: int = 16 * MEGABYTE
    """Octets of the body of one revision."""
    quota: int | None = None
    """Octets of all files of the store; None for no limit."""
    writes_per_minute: int = 600
    """Writes of one token."""
    file_size: int = 1024 * MEGABYTE
    """Octets after which the next record begins a new file."""
    free: int = 512 * MEGABYTE
    """Octets of the disk that stay free."""
    keep: Literal["no", "archives", "live"] = "no"
    """What clients with a token may have copied into the store."""


@dataclass(frozen=True, slots=True)
class Preconditions:
    """``If-Match`` and ``If-None-Match`` of a write (RFC 9110 13.1), as they were sent."""

    match: str | None = None
    none_match: str | None = None

    def allow(self, etag: str | None) -> bool:
        """Whether the current revision has an *etag* with which the write may go on.

        *etag* is None if there is no revision.
        """
        if self.match is not None and not _names(self.match, etag):
            return False
        # Here, unlike there, a weak tag counts (RFC 9110 13.1.2).
        return self.none_match is None or not _names(self.none_match.replace("W/", ""), etag)


def _names(condition: str, etag: str | None) -> bool:
    """Whether *condition*, a list of entity tags or ``*``, names the revision *etag*."""
    if etag is None:
        return False
    return condition.strip() == "*" or etag in (part.strip() for part in condition.split(","))


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision to be written."""

    url: str
    body: bytes
    content_type: str
    digest: bytes
    """SHA-256 of the body."""
    fields: Fields = ()
    """Other header fields that describe the body."""
    asserted: str | None = None
    """The time that the writer asserts, as digits of UTC; None for the time of writing."""
    preconditions: Preconditions = field(default_factory=Preconditions)
    captured: str | None = None
    """The time of capture, of a copy that was kept; None for what a client wrote."""
    status: int | None = None
    """The HTTP status of the captured response; None if no server answered with the body."""
    about: Mapping[str, object] = field(default_factory=dict)
    """Where a kept copy comes from: the members of its metadata record, as JSON values."""
    request: str = ""
    """The head of the HTTP request that was answered, of a live page."""

    @property
    def instant(self) -> str | None:
        """The time of the revision, if it is not the time of writing."""
        return self.asserted if self.captured is None else self.captured

    @property
    def basis(self) -> Basis:
        """On what its time rests."""
        if self.captured is not None:
            return "kept"
        return "written" if self.asserted is None else "asserted"


class Written(NamedTuple):
    """The result of a write."""

    stamp: str
    url: str
    is_new: bool
    """False if the instant held the same bytes already."""
    is_revisit: bool = False
    """Whether an earlier revision has the same bytes, to which the record refers."""


class RevisionWriter(Protocol):
    """Writes revisions of one store."""

    @property
    def settings(self) -> StoreSettings: ...

    async def write(self, revision: Revision) -> Written:
        """Return once the revision is on disk and served. Raises StoreError."""
        ...


class KeepRequest(NamedTuple):
    """A reference of which a client wants a copy in the store."""

    reference: str
    """A URL or an identifier."""
    live: bool = False
    """Whether the original itself may be fetched."""
    pages: bool = False
    """Whether it is kept with its parts, also if only a URL is given."""


class KeptCapture(NamedTuple):
    """The outcome of keeping a reference."""

    stamp: str | None
    """The time of the copy in the store; None if there is none."""
    url: str
    is_new: bool
    code: int
    """As exit codes: 2 no reference, 3 no copy anywhere, 4 unknown."""
    why: str
    report: Mapping[str, object]


class JournalWriter(RevisionWriter, Protocol):
    """Writes revisions, and what the journal of the store decides."""

    async def record(self, request: object, octets: int) -> object:
        """Return what the journal of the store answers, once it is on disk.

        Raises StoreError.
        """
        ...


class JournalEntry(NamedTuple):
    """What a journal decided for one request."""

    result: object
    """What the request is answered with, once it is on disk."""
    octets: bytes = b""
    """The records to append; empty if nothing changes."""
    capture: Capture | None = None
    """The row of the index, with an offset in *octets*; None if there is none."""


class StoreJournal(Protocol):
    """Decides what is appended, under the lock that all writers of the store share.

    What was decided for earlier requests of a group counts for the later ones. `commit` or
    `rollback` follows each `begin`; each raises StoreError, OSError or sqlite3.Error.
    """

    kind: str
    """A word in the names of its files."""

    def begin(self) -> None:
        """Begin a group: take note of all records that are on disk."""
        ...

    def entry(self, request: object, clock: int) -> JournalEntry:
        """Return what is appended for *request*; *clock* is Unix time in nanoseconds."""
        ...

    def commit(self, file: str, size: int, offsets: Sequence[int]) -> None:
        """Take note that the entries with octets are on disk, at *offsets* of *file*."""
        ...

    def rollback(self) -> None:
        """Forget the group."""
        ...

    def close(self) -> None:
        """End the use by this thread."""
        ...


class StoreError(Exception):
    """A revision was not written. The message is for the client."""


class Superseded(StoreError):
    """A precondition does not hold; `current` is the current revision."""

    def __init__(self, current: IndexRow | None) -> None:
        super().__init__("the current revision is another one than the precondition allows")
        self.current = current


class InstantTaken(StoreError):
    """The instant holds other bytes already."""

    def __init__(self, row: IndexRow) -> None:
        super().__init__("this instant holds other bytes already; a revision never changes")
        self.row = row


class StoreFull(StoreError):
    """The quota or the disk is full."""


class StoreUnwritable(StoreError):
    """The disk does not take the record: it is read-only, or fails."""


class StoreBusy(StoreError):
    """Another process holds the lock of the store for too long, or the queue is full."""
