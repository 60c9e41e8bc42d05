"""Building and updating an index: only new and changed files are read.

A run may be ended at any moment, even by kill -9: what was visible stays visible, and the next
run does the rest.
"""

import errno
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Final

from archives.warc.captures import Capture
from archives.warc.files import Damage
from archives.warc_index.cdx import CdxLine, read_cdx_file
from archives.warc_index.database import exclusive_lock, is_damage, open_writer, rename_damaged
from archives.warc_index.files import (
    MAX_FILES,
    CaptureBatch,
    FileStore,
    FolderStore,
    ScanFailure,
    failure_of,
)
from archives.warc_index.model import (
    FileInfo,
    IndexProgress,
    IndexSummary,
    LocalFiles,
    RemoteFiles,
)
from archives.warc_index.writing import (
    IndexJob,
    IndexPart,
    IndexPlan,
    IndexWriter,
    PartFiller,
    plan,
)

HEAD_SIZE: Final = 4096
# A volume that is not mounted is an empty folder, and a mistyped prefix is an empty listing: to
# remove all captures would be to report them as absent.
_EMPTY_COLLECTION: Final = (
    "it has no files any more, so the index is left as it is: is it mounted? "
    "If everything was removed on purpose, use --read-all"
)
OnProgress = Callable[[IndexProgress], None]


class NotWritable(Exception):
    """The index cannot be written at its location."""


def _files_of(place: LocalFiles | RemoteFiles) -> FileStore:
    if isinstance(place, LocalFiles):
        return FolderStore(place)
    from archives.warc_index.s3 import S3Bucket  # noqa: PLC0415 -- few collections are in S3

    return S3Bucket(place.url)


def index_collection(
    path: Path | RemoteFiles,
    index: Path | None = None,
    workers: int = 1,
    progress: OnProgress = lambda _: None,
    *,
    read_all: bool = False,
) -> IndexSummary:
    """Bring the index of the collection at *path* up to date.

    Raises OSError if the collection cannot be listed, NotWritable, IndexInUse if another
    process is indexing it, NewerIndex or ForeignIndex if the file is not an index of this
    release; for remote files also S3NotInstalled, or ValueError for an unusable URL.
    """
    place = path if isinstance(path, RemoteFiles) else LocalFiles.of(path, index)
    files = _files_of(place)
    _check_writable(place.index)
    with exclusive_lock(place.index):
        try:
            return _Run(place, files, workers, progress, read_all=read_all).summary
        except sqlite3.Error as error:
            if not is_damage(error):
                raise NotWritable(f"{place.index} cannot be written: {error}") from error
            rename_damaged(place.index)
        run = _Run(place, files, workers, progress, read_all=read_all)
        run.summary.rebuilt = True
        return run.summary


def _check_writable(index: Path) -> None:
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(index):
            pass
    except OSError as error:
        why = f"{index} cannot be written ({error.strerror}): set index to another place"
        raise NotWritable(why) from error


_MAX_UNKNOWN: Final = 1000


class UntrustedCdx(Exception):
    """A CDX file with an error anywhere is not used at all: its WARCs are read."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"{why}; the files it lists are read instead")
        self.at = at


class CdxClaims:
    """The lines of one CDX file, checked against the files of the collection."""

    def __init__(
        self, cdx: FileInfo, needed: Mapping[str, IndexJob], files: Mapping[str, FileInfo]
    ) -> None:
        self.covered: set[str] = set()
        """Paths of the needed files that it lists."""
        self._cdx = cdx
        self._needed = needed
        self._unknown: set[str] = set()
        self._by_name: dict[str, list[FileInfo]] = {}
        for file in files.values():
            if file.kind == "warc":
                self._by_name.setdefault(file.path.rpartition("/")[2], []).append(file)

    def check(self, item: CdxLine | Damage) -> tuple[FileInfo, Capture] | Damage | None:
        """Return the capture and its file, or a damage if the file is unknown or ambiguous.

        None if the file is not needed, or newer than the CDX file. Raises UntrustedCdx.
        """
        if isinstance(item, Damage):
            raise UntrustedCdx(*item)
        files = self._by_name.get(item.name, [])
        if len(files) != 1:
            return self._complaint(item, several=bool(files))
        file = files[0]
        if file.path not in self._needed or file.mtime > self._cdx.mtime:
            return None
        capture = item.capture
        if max(capture.offset + capture.length, capture.offset + 1) > file.size:
            raise UntrustedCdx(item.at, f"{item.name} is shorter than the line says")
        self.covered.add(file.path)
        return file, capture

    def _complaint(self, item: CdxLine, *, several: bool) -> Damage | None:
        """Return a damage for a name of no file, or of several; once for each name."""
        if item.name in self._unknown or len(self._unknown) >= _MAX_UNKNOWN:
            return None
        self._unknown.add(item.name)
        problem = "several files are called" if several else "there is no file"
        return Damage(item.at, f"{problem} {item.name[:200]}")


class _Run:
    """One indexing run; the constructor executes it."""

    def __init__(
        self,
        place: LocalFiles | RemoteFiles,
        files: FileStore,
        workers: int,
        progress: OnProgress,
        *,
        read_all: bool,
    ) -> None:
        self._files = files
        self._on_progress = progress
        self.summary = IndexSummary()
        connection, self.summary.rebuilt = open_writer(place.index)
        with closing(connection):
            self._writer = IndexWriter(connection)
            self._execute(workers, read_all=read_all)

    def _execute(self, workers: int, *, read_all: bool) -> None:
        writer, summary = self._writer, self.summary
        writer.retire_unfinished()
        listing = self._files.listing(summary.complain)
        self._listed = listing.files
        parts = writer.parts()
        if parts and not (listing.files or listing.unreadable or read_all):
            raise OSError(errno.ENOENT, _EMPTY_COLLECTION)
        work = plan(listing, parts, self._has_grown, read_all=read_all)
        self._begin(work)
        for job in work.cdx_files:
            if work.read:
                self._read_cdx(job, work.read)
        self._read(list(work.read.values()), workers)
        writer.retire(part.id for part in work.removed)
        writer.delete_retired()
        writer.finish(complete=not listing.unreadable)

    def _begin(self, work: IndexPlan) -> None:
        summary = self.summary
        summary.files = sum(file.kind != "cdx" for file in self._listed.values())
        summary.unchanged = work.unchanged
        summary.gone = len({part.path for part in work.removed})
        self._total_files = len(work.read)
        self._total_octets = sum(job.file.size - job.start for job in work.read.values())
        self._done = 0
        self._report_progress(0)

    def _read_cdx(self, job: IndexJob, needed: dict[str, IndexJob]) -> None:
        """Take captures from a CDX file, and remove the files it covers from *needed*."""
        claims = CdxClaims(job.file, needed, self._listed)
        filler = PartFiller(self._writer, self.summary, via=job.file.path)
        cdx_part = filler.part(job.file)
        try:
            for item in read_cdx_file(self._files.open(job.file.path), job.file.path):
                claim = claims.check(item)
                if isinstance(claim, Damage):
                    filler.complain(cdx_part, job.file.path, claim.offset, claim.why)
                elif claim is not None:
                    file, capture = claim
                    filler.add(filler.part(file), [capture])
        except UntrustedCdx as error:
            filler.abandon(job.replaces)
            self.summary.complain(job.file.path, error.at, str(error))
            return
        except sqlite3.Error:
            # The index fails, not the file.
            raise
        except Exception as error:  # noqa: BLE001 -- the boundary around each file
            filler.abandon(job.replaces)
            self.summary.complain(job.file.path, 0, failure_of(error))
            return
        replaced = [part for path in claims.covered for part in needed.pop(path).replaces]
        filler.publish((*job.replaces, *replaced))
        self.summary.from_cdx += len(claims.covered)
        self._done += len(claims.covered)
        self.summary.octets += sum(self._listed[path].size for path in claims.covered)
        self._report_progress(0)

    def _read(self, jobs: list[IndexJob], workers: int) -> None:
        fillers: dict[str, PartFiller] = {}
        in_progress: dict[str, int] = {}
        for job, event in self._files.read(jobs, workers):
            path = job.file.path
            if path not in fillers:
                head = self._head_digest(path, HEAD_SIZE)
                fillers[path] = PartFiller(self._writer, self.summary, head=head)
            filler = fillers[path]
            if isinstance(event, CaptureBatch):
                in_progress[path] = self._fill(filler, job, event) or in_progress.get(path, 0)
            else:
                self._finish(filler, job, event)
                del fillers[path]
                in_progress.pop(path, None)
            self._report_progress(sum(in_progress.values()))

    def _fill(self, filler: PartFiller, job: IndexJob, batch: CaptureBatch) -> int:
        part = filler.part(job.file, batch.member)
        filler.add(part, batch.captures)
        for damage in batch.damages:
            filler.complain(part, job.file.path, damage.offset, damage.why)
        return batch.captures[-1].offset - job.start if batch.captures else 0

    def _finish(self, filler: PartFiller, job: IndexJob, event: ScanFailure | None) -> None:
        if event is not None:
            filler.abandon(job.replaces)
            self.summary.complain(job.file.path, job.start, event.why)
        else:
            filler.publish(job.replaces, job.file if job.start else None, job.start)
            self.summary.read += 1
            self.summary.continued += job.start > 0
        self._done += 1
        self.summary.octets += job.file.size - job.start

    def _has_grown(self, file: FileInfo, part: IndexPart) -> bool:
        """Whether *file* is longer than it was, and begins with the same bytes."""
        if file.size <= part.size or not part.upto:
            return False
        return self._head_digest(file.path, min(part.size, HEAD_SIZE)) == part.head

    def _head_digest(self, path: str, length: int) -> bytes:
        try:
            with self._files.open(path) as file:
                return blake2b(file.read(length), digest_size=16).digest()
        except OSError:
            return b""

    def _report_progress(self, in_progress: int) -> None:
        octets = self.summary.octets + in_progress
        self._on_progress(
            IndexProgress(
                self._done, self._total_files, octets, self._total_octets, self.summary.captures
            )
        )


def index_inventory(address: RemoteFiles, inventory: Path) -> IndexSummary:
    """Bring the index up to date with the CDX or CDXJ file *inventory*.

    Raises OSError, NotWritable, IndexInUse, NewerIndex or ForeignIndex.
    """
    status = inventory.stat()
    listing = FileInfo(inventory.name, "cdx", status.st_size, status.st_mtime_ns)
    address.index.parent.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(address.index):
        try:
            return _index_from_cdx(address.index, inventory, listing)
        except sqlite3.Error as error:
            if not is_damage(error):
                why = f"{address.index} cannot be written: {error}"
                raise NotWritable(why) from error
            rename_damaged(address.index)
        summary = _index_from_cdx(address.index, inventory, listing)
        summary.rebuilt = True
        return summary


def _index_from_cdx(index: Path, inventory: Path, listing: FileInfo) -> IndexSummary:
    summary = IndexSummary()
    connection, summary.rebuilt = open_writer(index)
    with closing(connection):
        writer = IndexWriter(connection)
        writer.retire_unfinished()
        parts = writer.parts()
        if _is_current(parts, listing):
            summary.files = summary.unchanged = sum(part.path != listing.path for part in parts)
        else:
            _fill_from_cdx(writer, summary, inventory, listing, parts)
        writer.delete_retired()
        writer.finish(complete=True)
    return summary


def _is_current(parts: Iterable[IndexPart], listing: FileInfo) -> bool:
    known = [part for part in parts if part.path == listing.path]
    return any((part.size, part.mtime) == (listing.size, listing.mtime) for part in known)


def _fill_from_cdx(
    writer: IndexWriter,
    summary: IndexSummary,
    inventory: Path,
    listing: FileInfo,
    parts: Iterable[IndexPart],
) -> None:
    """Replace all parts by the captures of the CDX file."""
    filler = PartFiller(writer, summary, via=listing.path)
    cdx_part = filler.part(listing)
    names: set[str] = set()
    for item in read_cdx_file(inventory.open("rb"), listing.path):
        if isinstance(item, Damage):
            filler.complain(cdx_part, listing.path, item.offset, item.why)
            continue
        if len(names) >= MAX_FILES and item.name not in names:
            why = f"left out: the collection has more than {MAX_FILES} files"
            filler.complain(cdx_part, listing.path, item.at, why)
            continue
        names.add(item.name)
        file = FileInfo(item.name, "warc", 0, listing.mtime)
        filler.add(filler.part(file), [item.capture])
    filler.publish(tuple(part.id for part in parts))
    summary.files = summary.from_cdx = len(names)
