"""Writes revisions: one thread takes all that wait, writes them, syncs once, and acknowledges.

Under the lock of the index, which all writing processes share: preconditions and instants are
checked against the index, records are appended and synced, rows are committed. Revisions of one
page are in one group only if nothing but their instants must be compared, which differ.
"""

import asyncio
import errno
import logging
import queue
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from threading import Thread
from types import TracebackType
from typing import Final, NamedTuple, Self, get_args

from archives.surt import surt
from archives.warc.captures import Capture
from archives.warc.files import Damaged
from archives.warc_index.appending import IndexAppender, index_lock
from archives.warc_index.building import NotWritable, index_collection
from archives.warc_index.database import (
    ForeignIndex,
    IndexInUse,
    NewerIndex,
    open_writer,
)
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import IndexRow, LocalFiles, nanoseconds
from archives.warc_index.writing import IndexWriter
from timegate.store import (
    Basis,
    InstantTaken,
    JournalEntry,
    Preconditions,
    Revision,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreJournal,
    StoreSettings,
    StoreUnwritable,
    Superseded,
    Written,
)
from timegate.store.files import (
    Disk,
    OpenFile,
    new_name,
    repair,
    sync_folder,
)
from timegate.store.records import (
    RecordBytes,
    info_record,
    is_same,
    payload_digest,
    revision_records,
)
from timegate.text.header_values import etag_of

_LOG: Final = logging.getLogger("timegate.store")
_LOCK_PATIENCE: Final = 10.0
"""Seconds to wait for another process, which may be indexing the folder."""
_MOST_WAITING: Final = 1024
MOST_IN_GROUP: Final = 256
_GROUP_OCTETS: Final = 64 << 20
"""Octets of the bodies of one group: a group is in memory, and delays those that follow."""
_CLOCK_TRIES: Final = 1000
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BUSY_TIMEOUT: Final = 5.0
_TIMES: Final[Mapping[str, str]] = {
    "written": "times of writing",
    "asserted": "times asserted by writers",
    "kept": "copies of archives and of live pages, with their times of capture",
}


class _Waiting(NamedTuple):
    revision: Revision
    done: "Future[Written]"

    @property
    def octets(self) -> int:
        """Octets of the body."""
        return len(self.revision.body)


class _WaitingRequest(NamedTuple):
    """A request for the journal."""

    request: object
    octets: int
    done: "Future[object]"


_AnyWaiting = _Waiting | _WaitingRequest


class _Ready(NamedTuple):
    """A revision that may be written, with its records."""

    waiting: _Waiting
    stamp: str
    records: RecordBytes
    is_revisit: bool


def clock_stamp(nanoseconds: int) -> str:
    """Return the microsecond of a Unix time as digits."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%d%H%M%S}{rest // 1000:06}"


class StoreWriter:
    """Writes the revisions of one store. Use it as a context manager.

    Opening it repairs and indexes the folder, and raises OSError or StoreError.
    """

    def __init__(
        self,
        settings: StoreSettings,
        disk: Disk | None = None,
        clock: Callable[[], int] = time.time_ns,
        most_in_group: int = MOST_IN_GROUP,
        journal: StoreJournal | None = None,
    ) -> None:
        """*clock* gives the Unix time in nanoseconds."""
        self.settings = settings
        self._journal = journal
        self._disk = disk or Disk()
        self._clock = clock
        self._most_in_group = most_in_group
        root = settings.path.absolute()
        self._place = LocalFiles(root, root, root / ".timegate" / "index.sqlite")
        self._index = IndexAppender(self._place)
        self._lookup = Lookup(self._place.index, self._place.root, _BUSY_TIMEOUT)
        self._ends = False
        self._files: dict[str, OpenFile] = {}
        self._queue: queue.Queue[_AnyWaiting | None] = queue.Queue(_MOST_WAITING)
        self._thread = Thread(target=self._run, name=f"store-{settings.id}", daemon=True)

    def __enter__(self) -> Self:
        """Repair the folder, bring its index up to date, and start the thread."""
        self._place.index.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self._place.root, self._place.root.parent):
            sync_folder(self._disk, folder)
        with _IndexErrors(), index_lock(self._place, _LOCK_PATIENCE):
            for line in repair(self._place.root, self.settings.id, self._upto(), self._disk):
                _LOG.warning("store %s: %s", self.settings.id, line)
        _indexed(self._place)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what waits, then close the files."""
        self._queue.put(None)
        self._thread.join()
        self._lookup.close()

    async def write(self, revision: Revision) -> Written:
        """Write *revision*; when this returns, it is on disk and served. Raises StoreError."""
        return await asyncio.wrap_future(self.submit(revision))

    def submit(self, revision: Revision) -> "Future[Written]":
        """Queue *revision* to be written, from any thread. Raises StoreBusy."""
        done: Future[Written] = Future()
        self._enqueue(_Waiting(revision, done))
        return done

    async def record(self, request: object, octets: int) -> object:
        """Let the journal decide on *request*, which has *octets*; return its result.

        When this returns, what it appends is on disk. Raises StoreError.
        """
        return await asyncio.wrap_future(self.submit_request(request, octets))

    def submit_request(self, request: object, octets: int) -> "Future[object]":
        """Queue *request* for the journal, from any thread. Raises StoreBusy."""
        done: Future[object] = Future()
        self._enqueue(_WaitingRequest(request, octets, done))
        return done

    def _enqueue(self, waiting: _AnyWaiting) -> None:
        try:
            self._queue.put_nowait(waiting)
        except queue.Full:
            raise StoreBusy("too many writes are waiting") from None

    def _upto(self) -> Callable[[str], int]:
        """Return how many octets of each file are in the index."""
        known: dict[str, int] = {}
        if self._place.index.exists():
            connection, _ = open_writer(self._place.index)
            try:
                for part in IndexWriter(connection).parts():
                    known[part.path] = max(part.upto, known.get(part.path, 0))
            finally:
                connection.close()
        return lambda name: known.get(name, 0)

    def _run(self) -> None:
        """Write groups until the end."""
        held: deque[_AnyWaiting] = deque()
        while group := self._group(held):
            self._write_group(group)
        for file in self._files.values():
            file.close()
        self._index.close()
        if self._journal is not None:
            self._journal.close()

    def _group(self, held: deque[_AnyWaiting]) -> list[_AnyWaiting]:
        """Return the next group, empty at the end; *held* gets what must wait for the next."""
        group: list[_AnyWaiting] = []
        later: list[_AnyWaiting] = []
        pages = _PagesOfGroup()
        octets = 0
        while len(group) < self._most_in_group and octets < _GROUP_OCTETS:
            waiting = self._next(held, block=not group and not later)
            if waiting is None:
                break
            if isinstance(waiting, _Waiting) and not pages.take(waiting.revision):
                later.append(waiting)
                continue
            group.append(waiting)
            octets += waiting.octets
        held.extendleft(reversed(later))
        return group

    def _next(self, held: deque[_AnyWaiting], *, block: bool) -> _AnyWaiting | None:
        """Return the next revision; None if there is none now, or at the end."""
        if held:
            return held.popleft()
        while not self._ends:
            try:
                waiting = self._queue.get(block=block)
            except queue.Empty:
                return None
            if waiting is None:
                self._ends = True
            elif waiting.done.set_running_or_notify_cancel():
                return waiting
        return None

    def _write_group(self, group: Sequence[_AnyWaiting]) -> None:
        """Write *group*; each of its futures gets a result or an error."""
        try:
            with _IndexErrors(), index_lock(self._place, _LOCK_PATIENCE):
                self._write_locked(group)
        except StoreError as error:
            _fail(group, error)
        except Exception as error:  # noqa: BLE001 -- the boundary of the thread
            _LOG.exception("store %s: a write failed", self.settings.id)
            _fail(group, StoreUnwritable(f"the store failed: {type(error).__name__}"))

    def _write_locked(self, group: Sequence[_AnyWaiting]) -> None:
        fitting = self._fitting(group)
        ready = self._ready([each for each in fitting if isinstance(each, _Waiting)])
        for kind in get_args(Basis):
            some = [each for each in ready if each.waiting.revision.basis == kind]
            if some:
                self._write_file(some, kind)
        requests = [each for each in fitting if isinstance(each, _WaitingRequest)]
        if requests:
            self._write_requests(requests)

    def _fitting(self, group: Sequence[_AnyWaiting]) -> list[_AnyWaiting]:
        """Return those of *group* for which there is space."""
        space = self._space()
        fitting = []
        for waiting in group:
            if waiting.octets > space:
                full = "the quota or the disk of this store is used up"
                _fail([waiting], StoreFull(full))
            else:
                fitting.append(waiting)
                space -= waiting.octets
        return fitting

    def _ready(self, waiting: Sequence[_Waiting]) -> list[_Ready]:
        """Return the revisions that are to be written; the others get their results."""
        ready: list[_Ready] = []
        for each in waiting:
            try:
                result = self._prepared(each)
            except StoreError as error:
                _fail([each], error)
                continue
            if isinstance(result, Written):
                each.done.set_result(result)
            else:
                ready.append(result)
        return ready

    def _write_requests(self, requests: Sequence[_WaitingRequest]) -> None:
        """Let the journal decide on *requests*, and append what it says in one go."""
        journal = self._journal
        if journal is None:
            raise StoreUnwritable("this store holds no series")
        journal.begin()
        try:
            decided = self._decided(journal, requests)
            some = [(waiting, entry) for waiting, entry in decided if entry.octets]
            file = self._file(journal.kind) if some else None
            offsets = (
                []
                if file is None
                else self._append_all(file, [entry.octets for _, entry in some], journal.kind)
            )
            journal.commit("" if file is None else file.name, file.size if file else 0, offsets)
        except BaseException:
            # Records that are on disk without being noted are found by the next `begin`.
            journal.rollback()
            raise
        if file is not None:
            captures = [
                entry.capture._replace(offset=offset + entry.capture.offset)
                for (_, entry), offset in zip(some, offsets, strict=True)
                if entry.capture is not None
            ]
            self._add_to_index(file, captures, journal.kind)
        for waiting, entry in decided:
            waiting.done.set_result(entry.result)

    def _decided(
        self, journal: StoreJournal, requests: Sequence[_WaitingRequest]
    ) -> list[tuple[_WaitingRequest, JournalEntry]]:
        decided = []
        for waiting in requests:
            try:
                decided.append((waiting, journal.entry(waiting.request, self._clock())))
            except StoreError as error:
                _fail([waiting], error)
        return decided

    def _space(self) -> int:
        """Return how many octets may be written now."""
        settings = self.settings
        space = self._disk.free(self._place.root) - settings.free
        if settings.quota is not None:
            space = min(space, settings.quota - self._index.size())
        return space

    def _prepared(self, waiting: _Waiting) -> _Ready | Written:
        """Check a revision against the index, and make its records. Raises StoreError."""
        revision, lookup = waiting.revision, self._lookup
        if revision.preconditions != Preconditions():
            current = lookup.newest_spelled(revision.url)
            etag = None if current is None else etag_of(current.digest)
            if not revision.preconditions.allow(etag):
                raise Superseded(current)
        received = clock_stamp(self._clock())
        digest = payload_digest(revision.digest)
        if revision.instant is None:
            stamp = self._free_stamp(revision.url)
        else:
            stamp = revision.instant
            taken = lookup.at_instant(revision.url, stamp)
            if taken is not None and taken.digest == digest:
                return Written(taken.stamp, revision.url, is_new=False)
            if taken is not None:
                raise InstantTaken(taken)
        original = self._original(revision, digest)
        records = revision_records(revision, stamp, original, received)
        return _Ready(waiting, stamp, records, original is not None)

    def _original(self, revision: Revision, digest: str) -> IndexRow | None:
        """Return a record of the same page with the same bytes, type and language."""
        found = self._lookup.newest_with_digest(revision.url, digest)
        if found is None:
            return None
        try:
            return found if is_same(found, revision) else None
        except (OSError, Damaged) as error:
            # The bytes are written once more, since those there cannot be read.
            _LOG.warning("store %s: %s cannot be read: %s", self.settings.id, found.name, error)
            return None

    def _free_stamp(self, url: str) -> str:
        """Return the time of the clock; the next microsecond if this one is taken."""
        for _ in range(_CLOCK_TRIES):
            stamp = clock_stamp(self._clock())
            if self._lookup.at_instant(url, stamp) is None:
                return stamp
        raise StoreBusy("the clock of the server stands still")

    def _write_file(self, ready: Sequence[_Ready], kind: str) -> None:
        """Append the records, sync them, add them to the index, and acknowledge them."""
        try:
            file = self._file(kind)
            offsets = self._append_all(file, [each.records.octets for each in ready], kind)
        except OSError as error:
            _fail([each.waiting for each in ready], _store_error(error, self.settings.id))
            return
        captures = [
            each.records.capture._replace(offset=offset)
            for each, offset in zip(ready, offsets, strict=True)
        ]
        self._add_to_index(file, captures, kind)
        for each in ready:
            written = Written(
                each.stamp, each.waiting.revision.url, is_new=True, is_revisit=each.is_revisit
            )
            each.waiting.done.set_result(written)

    def _add_to_index(self, file: OpenFile, captures: Sequence[Capture], kind: str) -> None:
        """Commit the rows of records that are on disk."""
        try:
            self._index.append(file.state(), captures)
        except BaseException:
            # Whether the rows were committed is not known. The records stay as they are; what
            # the index lacks of this file is read at the next start.
            self._retire(kind)
            raise
        self._disk.indexed()

    def _append_all(self, file: OpenFile, records: Sequence[bytes], kind: str) -> list[int]:
        """Append and sync all records; return where each begins.

        On failure, none of them stays. Raises OSError.
        """
        try:
            offsets = [file.append(octets) for octets in records]
        except OSError:
            try:
                file.cut_back()
            except OSError:
                self._retire(kind)
            raise
        try:
            file.sync()
        except OSError:
            # What the kernel still holds is not known: no later sync proves anything.
            with suppress(OSError):
                file.cut_back()
            self._retire(kind)
            raise
        return offsets

    def _file(self, kind: str) -> OpenFile:
        """Return the file to append to; a new one if there is none, or it is large."""
        file = self._files.get(kind)
        if file is not None and file.size >= self.settings.file_size:
            self._retire(kind)
            file = None
        if file is None:
            name = new_name(self.settings.id, clock_stamp(self._clock()), kind)
            software = f"timegate {version('timegate-proxy')}"
            what = _TIMES.get(kind, kind)
            first = info_record(name, software, f"store {self.settings.id}: {what}")
            file = OpenFile(self._disk, self._place.root, name, first)
            self._files[kind] = file
        return file

    def _retire(self, kind: str) -> None:
        """Append to this file no more."""
        self._files.pop(kind).close()


class _PagesOfGroup:
    """The pages of a group: which revisions can be in it without being compared."""

    def __init__(self) -> None:
        self._instants: dict[str, set[int] | None] = {}
        """The asserted instants of each page; None if the page takes no other revision."""

    def take(self, revision: Revision) -> bool:
        """Add *revision*, unless it must wait for one of its page that is in the group."""
        key = surt(revision.url)
        instant = None if revision.instant is None else nanoseconds(revision.instant)
        if instant is None or revision.preconditions != Preconditions():
            is_first = key not in self._instants
            self._instants[key] = None
            return is_first
        instants = self._instants.setdefault(key, set())
        if instants is None or instant in instants:
            self._instants[key] = None  # those that follow keep their order
            return False
        instants.add(instant)
        return True


class _IndexErrors:
    """Turns errors of the index into errors of the store."""

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, IndexInUse):
            raise StoreBusy("another process is indexing the folder of the store") from error
        if isinstance(error, OSError):
            raise _store_error(error, "") from error
        if isinstance(error, sqlite3.Error | ForeignIndex | NewerIndex | NotWritable):
            raise StoreUnwritable("the index of the store cannot be written") from error


def _indexed(place: LocalFiles) -> None:
    """Bring the index up to date; wait for other processes."""
    deadline = time.monotonic() + _LOCK_PATIENCE
    with _IndexErrors():
        while True:
            try:
                index_collection(place.path)
            except IndexInUse:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return


def _store_error(error: OSError, store: str) -> StoreError:
    _LOG.error("store %s: %s", store, error)
    if error.errno in _FULL:
        return StoreFull("the disk of this store is full")
    return StoreUnwritable(f"the disk of this store fails: {error.strerror}")


def _fail(group: Sequence[_AnyWaiting], error: StoreError) -> None:
    for waiting in group:
        if not waiting.done.done():
            waiting.done.set_exception(error)
