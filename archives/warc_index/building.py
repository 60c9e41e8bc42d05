"""Building an index: only what is new or has changed is read, and nothing is seen half done.

Ended at any moment, even by kill -9, what was visible stays so; the next run does the rest.
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
)
from archives.warc_index.model import (
    FileInfo,
    IndexProgress,
    IndexSummary,
    LocalFiles,
    RemoteFiles,
)
from archives.warc_index.s3 import S3Bucket
from archives.warc_index.writing import (
    IndexJob,
    IndexPart,
    IndexPlan,
    IndexWriter,
    PartFiller,
    plan,
)

_HEAD: Final = 4096
# What is left of a volume that is not mounted is an empty folder, and a lost prefix is an empty
# list: to conclude that all captures are gone would be to say so to everybody who asks.
_EMPTIED: Final = (
    "nothing is there any more, so the index is left as it is: is it mounted? "
    "If everything was removed on purpose, use --read-all"
)
OnProgress = Callable[[IndexProgress], None]


class NotWritable(Exception):
    """The index cannot be where it is to be."""


def index_collection(
    path: Path | RemoteFiles,
    index: Path | None = None,
    workers: int = 1,
    progress: OnProgress = lambda _: None,
    *,
    read_all: bool = False,
) -> IndexSummary:
    """Bring the index of the collection at *path* up to date.

    Raises OSError where the collection cannot be listed, NotWritable, Occupied where another
    process is at it, Newer or Foreign where the file there is none of this release; for what
    is elsewhere also NotInstalled, or ValueError for an address that cannot be listed.
    """
    place = path if isinstance(path, RemoteFiles) else LocalFiles.of(path, index)
    files = FolderStore(place) if isinstance(place, LocalFiles) else S3Bucket(place.url)
    _make_room(place.index)
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


def _make_room(index: Path) -> None:
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(index):
            pass
    except OSError as error:
        why = f"{index} cannot be written ({error.strerror}): set index to another place"
        raise NotWritable(why) from error


class _Run:
    """One run, done when it is made."""

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
        self._watch = progress
        self.summary = IndexSummary()
        connection, self.summary.rebuilt = open_writer(place.index)
        with closing(connection):
            self._writer = IndexWriter(connection)
            self._do(workers, read_all=read_all)

    def _do(self, workers: int, *, read_all: bool) -> None:
        writer, summary = self._writer, self.summary
        writer.retire_unfinished()
        listing = self._files.listing(summary.complain)
        self._found = listing.files
        parts = writer.parts()
        if parts and not (listing.files or listing.unreadable or read_all):
            raise OSError(errno.ENOENT, _EMPTIED)
        todo = plan(listing, parts, self._grew, read_all=read_all)
        self._begin(todo)
        for job in todo.lists:
            if todo.read:
                self._take_list(job, todo.read)
        self._read(list(todo.read.values()), workers)
        writer.retire(part.id for part in todo.gone)
        writer.delete_retired()
        writer.finish(complete=not listing.unreadable)

    def _begin(self, todo: IndexPlan) -> None:
        summary = self.summary
        summary.files = sum(file.kind != "cdx" for file in self._found.values())
        summary.unchanged = todo.unchanged
        summary.gone = len({part.path for part in todo.gone})
        self._of_files = len(todo.read)
        self._of_octets = sum(job.file.size - job.start for job in todo.read.values())
        self._done = 0
        self._tell(0)

    def _take_list(self, job: IndexJob, needed: dict[str, IndexJob]) -> None:
        """Take from a CDX file what it tells of files that are *needed*, and cross them off."""
        claims = CdxClaims(job.file, needed, self._found)
        filling = PartFiller(self._writer, self.summary, via=job.file.path)
        own = filling.part(job.file)
        try:
            for item in read_cdx_file(self._files.open(job.file.path), job.file.path):
                found = claims.checked(item)
                if isinstance(found, Damage):
                    filling.complain(own, job.file.path, found.offset, found.why)
                elif found is not None:
                    file, capture = found
                    filling.add(filling.part(file), [capture])
        except (OSError, UntrustedCdx) as error:
            filling.give_up(job.replaces)
            at = error.at if isinstance(error, UntrustedCdx) else 0
            self.summary.complain(job.file.path, at, str(error))
            return
        replaced = [part for path in claims.taken for part in needed.pop(path).replaces]
        filling.publish((*job.replaces, *replaced))
        self.summary.from_cdx += len(claims.taken)
        self._done += len(claims.taken)
        self.summary.octets += sum(self._found[path].size for path in claims.taken)
        self._tell(0)

    def _read(self, jobs: list[IndexJob], workers: int) -> None:
        fillings: dict[str, PartFiller] = {}
        under_way: dict[str, int] = {}
        for job, news in self._files.read(jobs, workers):
            path = job.file.path
            if path not in fillings:
                head = self._head(path, _HEAD)
                fillings[path] = PartFiller(self._writer, self.summary, head=head)
            filling = fillings[path]
            if isinstance(news, CaptureBatch):
                under_way[path] = self._fill(filling, job, news) or under_way.get(path, 0)
            else:
                self._finish(filling, job, news)
                del fillings[path]
                under_way.pop(path, None)
            self._tell(sum(under_way.values()))

    def _fill(self, filling: PartFiller, job: IndexJob, batch: CaptureBatch) -> int:
        part = filling.part(job.file, batch.member)
        filling.add(part, batch.captures)
        for damage in batch.damages:
            filling.complain(part, job.file.path, damage.offset, damage.why)
        return batch.captures[-1].offset - job.start if batch.captures else 0

    def _finish(self, filling: PartFiller, job: IndexJob, news: ScanFailure | None) -> None:
        if news is not None:
            filling.give_up(job.replaces)
            self.summary.complain(job.file.path, job.start, news.why)
        else:
            filling.publish(job.replaces, job.file if job.start else None, job.start)
            self.summary.read += 1
            self.summary.continued += job.start > 0
        self._done += 1
        self.summary.octets += job.file.size - job.start

    def _grew(self, file: FileInfo, part: IndexPart) -> bool:
        """Whether it is longer than it was, and begins as it did."""
        if file.size <= part.size or not part.upto:
            return False
        return self._head(file.path, min(part.size, _HEAD)) == part.head

    def _head(self, path: str, length: int) -> bytes:
        try:
            with self._files.open(path) as file:
                return blake2b(file.read(length), digest_size=16).digest()
        except OSError:
            return b""

    def _tell(self, under_way: int) -> None:
        octets = self.summary.octets + under_way
        self._watch(
            IndexProgress(
                self._done, self._of_files, octets, self._of_octets, self.summary.captures
            )
        )


_MOST_UNKNOWN: Final = 1000


class UntrustedCdx(Exception):
    """A CDX file that is wrong in one place is believed in none: its WARCs are read."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"{why}; the files it names are read instead")
        self.at = at


class CdxClaims:
    """What one CDX file tells, checked against the files that are there."""

    def __init__(
        self, listing: FileInfo, needed: Mapping[str, IndexJob], found: Mapping[str, FileInfo]
    ) -> None:
        self.taken: set[str] = set()
        """Paths of the files it spoke for."""
        self._listing = listing
        self._needed = needed
        self._unknown: set[str] = set()
        self._by_name: dict[str, list[FileInfo]] = {}
        for file in found.values():
            if file.kind == "warc":
                self._by_name.setdefault(file.path.rpartition("/")[2], []).append(file)

    def checked(self, item: CdxLine | Damage) -> tuple[FileInfo, Capture] | Damage | None:
        """Return a capture and its file; which file is missing; None if it is not needed.

        Raises Unsound.
        """
        if isinstance(item, Damage):
            raise UntrustedCdx(*item)
        files = self._by_name.get(item.name, [])
        if len(files) != 1:
            return self._complaint(item, several=bool(files))
        file = files[0]
        if file.path not in self._needed or file.mtime > self._listing.mtime:
            return None
        capture = item.capture
        if max(capture.offset + capture.length, capture.offset + 1) > file.size:
            raise UntrustedCdx(item.at, f"{item.name} is shorter than that")
        self.taken.add(file.path)
        return file, capture

    def _complaint(self, item: CdxLine, *, several: bool) -> Damage | None:
        """Say that a name means no file, or more than one; once for each name."""
        if item.name in self._unknown or len(self._unknown) >= _MOST_UNKNOWN:
            return None
        self._unknown.add(item.name)
        which = "several files are called" if several else "there is no file"
        return Damage(item.at, f"{which} {item.name[:200]}")


def index_inventory(address: RemoteFiles, inventory: Path) -> IndexSummary:
    """Bring the index up to date with the CDX or CDXJ file *inventory*.

    Raises OSError, NotWritable, Occupied, Newer or Foreign, as `index_collection` does.
    """
    found = inventory.stat()
    listing = FileInfo(inventory.name, "cdx", found.st_size, found.st_mtime_ns)
    address.index.parent.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(address.index):
        try:
            return _indexed(address.index, inventory, listing)
        except sqlite3.Error as error:
            if not is_damage(error):
                why = f"{address.index} cannot be written: {error}"
                raise NotWritable(why) from error
            rename_damaged(address.index)
        summary = _indexed(address.index, inventory, listing)
        summary.rebuilt = True
        return summary


def _indexed(index: Path, inventory: Path, listing: FileInfo) -> IndexSummary:
    summary = IndexSummary()
    connection, summary.rebuilt = open_writer(index)
    with closing(connection):
        writer = IndexWriter(connection)
        writer.retire_unfinished()
        parts = writer.parts()
        if _is_current(parts, listing):
            summary.files = summary.unchanged = sum(part.path != listing.path for part in parts)
        else:
            _fill(writer, summary, inventory, listing, parts)
        writer.delete_retired()
        writer.finish(complete=True)
    return summary


def _is_current(parts: Iterable[IndexPart], listing: FileInfo) -> bool:
    known = [part for part in parts if part.path == listing.path]
    return any((part.size, part.mtime) == (listing.size, listing.mtime) for part in known)


def _fill(
    writer: IndexWriter,
    summary: IndexSummary,
    inventory: Path,
    listing: FileInfo,
    parts: Iterable[IndexPart],
) -> None:
    """Take all of it, instead of what was taken before."""
    filling = PartFiller(writer, summary, via=listing.path)
    own = filling.part(listing)
    names: set[str] = set()
    for item in read_cdx_file(inventory.open("rb"), listing.path):
        if isinstance(item, Damage):
            filling.complain(own, listing.path, item.offset, item.why)
            continue
        if len(names) >= MAX_FILES and item.name not in names:
            why = f"left out: the collection has more than {MAX_FILES} files"
            filling.complain(own, listing.path, item.at, why)
            continue
        names.add(item.name)
        file = FileInfo(item.name, "warc", 0, listing.mtime)
        filling.add(filling.part(file), [item.capture])
    filling.publish(tuple(part.id for part in parts))
    summary.files = summary.from_cdx = len(names)
