"""The files of a collection: listing a folder, and reading the captures of each file.

Only WARC, ARC, WACZ and CDX files are listed, by their suffix. Hidden files (the index is one)
and links out of the folder are skipped.

Worker processes read one file at a time each; if one dies, only its file fails. With a single
worker, files are read in this process, which saves starting one and copying rows. A worker is
started as ``python -m archives.warc_index.files DESCRIPTOR``.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

import msgspec

from archives.errors import UnforeseenLog, place_of
from archives.warc.captures import Capture, captures_in
from archives.warc.files import Damage, wacz_members
from archives.warc_index.model import FileInfo, FolderContents, Kind, LocalFiles
from archives.warc_index.writing import IndexJob

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MAX_FILES: Final = 1_000_000
_MAX_DEPTH: Final = 16
UNFORESEEN_FILES: Final = UnforeseenLog("file-internal-error")
_KINDS: Final[dict[str, Kind]] = {
    ".warc": "warc",
    ".warc.gz": "warc",
    ".arc": "warc",
    ".arc.gz": "warc",
    ".wacz": "wacz",
    ".cdx": "cdx",
    ".cdxj": "cdx",
    ".cdx.gz": "cdx",
    ".cdxj.gz": "cdx",
}
Complain = Callable[[str, int, str], None]
"""Callback for problems: file, offset, why."""


def files_in(place: LocalFiles, complain: Complain) -> FolderContents:
    """Return the files of a collection. Raises OSError if its folder is missing."""
    if place.is_file:
        entry = place.root / place.path.name
        found = entry.stat()
        kind = kind_of(entry.name) or "warc"
        file = FileInfo(entry.name, kind, found.st_size, found.st_mtime_ns)
        return FolderContents({file.path: file}, ())
    # Raises if the folder is missing, perhaps because it is not mounted: the collection is
    # then unreadable and not empty.
    os.scandir(place.root).close()
    files: dict[str, FileInfo] = {}
    unreadable: list[str] = []
    for item in _walk(place.root, "", os.path.realpath(place.root), complain, 0):
        if isinstance(item, str):
            unreadable.append(item)
        elif len(files) < MAX_FILES:
            files[item.path] = item
        else:
            complain(item.path, 0, f"left out: the collection has more than {MAX_FILES} files")
            break
    return FolderContents(files, tuple(unreadable))


def kind_of(name: str) -> Kind | None:
    """Return the kind of a file by the suffix of its *name*; None if it is not indexed."""
    lower = name.lower()
    return next((kind for suffix, kind in _KINDS.items() if lower.endswith(suffix)), None)


def _walk(
    folder: Path, prefix: str, home: str, complain: Complain, depth: int
) -> Iterator[FileInfo | str]:
    """Yield files, and the paths of folders and files that could not be read."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        complain(prefix or ".", 0, f"cannot be listed: {error.strerror}")
        yield prefix.rstrip("/")
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth >= _MAX_DEPTH:
                complain(path, 0, f"left out: folders are read {_MAX_DEPTH} levels deep")
            else:
                yield from _walk(folder / entry.name, f"{path}/", home, complain, depth + 1)
        elif kind := kind_of(entry.name):
            yield from _listed(entry, path, kind, home, complain)


def _listed(
    entry: "os.DirEntry[str]", path: str, kind: Kind, home: str, complain: Complain
) -> Iterator[FileInfo | str]:
    if not path.isprintable():
        complain(ascii(path), 0, "left out: its name has unprintable characters")
        return
    if entry.is_symlink() and not os.path.realpath(entry.path).startswith(f"{home}{os.sep}"):
        complain(path, 0, "left out: it is a link out of the collection")
        return
    try:
        found = entry.stat()
    except OSError as error:
        complain(path, 0, f"cannot be read: {error.strerror}")
        yield path
        return
    if entry.is_file():
        yield FileInfo(path, kind, found.st_size, found.st_mtime_ns)


_CAPTURES_PER_BATCH: Final = 500
"""Some 100 kB: large enough to be sent cheaply, small enough to hold many in memory."""


class ScanTask(NamedTuple):
    """The file that a worker reads, and from which offset."""

    path: str
    kind: Kind
    start: int


class CaptureBatch(NamedTuple):
    """Some captures and damages of a file; *member* is the WARC in a WACZ."""

    member: str
    captures: list[Capture]
    damages: list[Damage]


def scan_path(task: ScanTask) -> Iterator[CaptureBatch]:
    """Yield all captures of a file. Raises OSError."""
    with Path(task.path).open("rb") as file:
        yield from scan_file(file, task.kind, task.start)


def scan_file(file: BinaryIO, kind: Kind, start: int) -> Iterator[CaptureBatch]:
    """Yield all captures of an open file. Raises OSError."""
    if kind == "warc":
        yield from _batches("", captures_in(file, start))
        return
    for member in wacz_members(file):
        if isinstance(member, Damage):
            yield CaptureBatch("", [], [member])
        else:
            yield from _batches(member.name, captures_in(file, member.start, member.end))


def _batches(member: str, found: Iterable[Capture | Damage]) -> Iterator[CaptureBatch]:
    items = iter(found)
    # A WARC without captures yields an empty batch, so that it gets a part too.
    while True:
        batch = [_storable(item) for item in islice(items, _CAPTURES_PER_BATCH)]
        yield CaptureBatch(
            member,
            [item for item in batch if isinstance(item, Capture)],
            [item for item in batch if isinstance(item, Damage)],
        )
        if len(batch) < _CAPTURES_PER_BATCH:
            return


def _storable(item: Capture | Damage) -> Capture | Damage:
    """Return *item*, or a damage if it holds a lone surrogate, which SQLite cannot store."""
    if isinstance(item, Damage):
        return item
    try:
        "".join(filter(None, (item.surt, item.url, item.mime, item.digest))).encode()
    except UnicodeEncodeError:
        return Damage(item.offset, "its head is not valid text")
    return item


_EXIT_TIMEOUT: Final = 5.0
_MESSAGE_DECODER: Final = msgspec.msgpack.Decoder(list[object] | str | None)
_BATCH_DECODER: Final = msgspec.msgpack.Decoder(CaptureBatch)
_encode: Final = msgspec.msgpack.Encoder().encode


class ScanFailure(NamedTuple):
    """The reason why a file was not read to its end."""

    why: str


ScanEvent = tuple[IndexJob, CaptureBatch | ScanFailure | None]
"""Progress of a job: a batch, a failure, or None at the end of the file."""


def read_files(jobs: Sequence[IndexJob], root: str, workers: int) -> Iterator[ScanEvent]:
    """Read every file; the events of files that are read at the same time are mixed."""
    if workers <= 1 or len(jobs) <= 1:
        return _read_in_process(jobs, root)
    return _read_in_workers(list(reversed(jobs)), root, min(workers, len(jobs)))


def _read_in_process(jobs: Sequence[IndexJob], root: str) -> Iterator[ScanEvent]:
    for job in jobs:
        try:
            for batch in scan_path(_task(job, root)):
                yield job, batch
        except Exception as error:  # noqa: BLE001 -- the boundary around each file
            yield job, ScanFailure(failure_of(error))
        else:
            yield job, None


def failure_of(error: Exception) -> str:
    """Return why a file was not read; an unforeseen exception affects no other file."""
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    UNFORESEEN_FILES(error)
    return f"cannot be read: {place_of(error)}"


def _read_in_workers(waiting: list[IndexJob], root: str, count: int) -> Iterator[ScanEvent]:
    from multiprocessing.connection import wait  # noqa: PLC0415 -- one worker needs none

    with _worker_pool() as pool:
        while waiting or pool:
            while waiting and len(pool) < count:
                worker = _WorkerProcess()
                pool[worker.connection] = worker
                worker.begin(waiting.pop(), root)
            for ready in wait(list(pool)):
                worker = pool[ready]  # type: ignore[index]
                job, event = worker.next_event()
                yield job, event
                if isinstance(event, CaptureBatch):
                    continue
                if waiting and not worker.has_died:
                    worker.begin(waiting.pop(), root)
                else:
                    del pool[worker.connection]
                    worker.end()


class _WorkerProcess:
    """One worker process and its current job."""

    def __init__(self) -> None:
        from multiprocessing import Pipe  # noqa: PLC0415 -- one worker needs none

        self.connection, worker_end = Pipe()
        with worker_end:
            self._process = subprocess.Popen(  # noqa: S603 -- this module
                [sys.executable, "-m", "archives.warc_index.files", str(worker_end.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(worker_end.fileno(),),
            )
        self.has_died = False
        self._job: IndexJob | None = None

    def begin(self, job: IndexJob, root: str) -> None:
        self._job = job
        try:
            self.connection.send_bytes(_encode(_task(job, root)))
        except (BrokenPipeError, ConnectionResetError):
            return  # it has died, which `next_event` reports

    def next_event(self) -> ScanEvent:
        assert self._job is not None  # noqa: S101 -- only workers with a job are waited for
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.has_died = True
            code = self._process.wait()
            return self._job, ScanFailure(f"the process that read it ended with {code}")
        return self._job, _event(message)

    def end(self) -> None:
        """Close the connection, which ends the process; kill it after a timeout."""
        self.connection.close()
        try:
            self._process.wait(_EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def _worker_pool() -> Iterator[dict["Connection[bytes, bytes]", _WorkerProcess]]:
    pool: dict[Connection[bytes, bytes], _WorkerProcess] = {}
    try:
        yield pool
    finally:
        for worker in pool.values():
            worker.end()


def _event(message: bytes) -> CaptureBatch | ScanFailure | None:
    match _MESSAGE_DECODER.decode(message):
        case None:
            return None
        case str(why):
            return ScanFailure(why)
        case _:
            return _BATCH_DECODER.decode(message)


def _task(job: IndexJob, root: str) -> ScanTask:
    return ScanTask(os.path.join(root, job.file.path), job.file.kind, job.start)  # noqa: PTH118


_TASK_DECODER: Final = msgspec.msgpack.Decoder(ScanTask)


def run_worker(connection: "Connection[bytes, bytes]") -> None:
    """Read files until the connection closes.

    The answers to a task are batches, then None at the end, or a text: why reading failed.
    """
    while True:
        try:
            task = _TASK_DECODER.decode(connection.recv_bytes())
        except EOFError:
            return
        try:
            for batch in scan_path(task):
                connection.send_bytes(_encode(batch))
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # noqa: BLE001 -- the boundary around each file
            connection.send_bytes(_encode(failure_of(error)))
        else:
            connection.send_bytes(_encode(None))


class FileStore(Protocol):
    """Files that can be listed and read. Each method raises OSError on failure."""

    def listing(self, complain: Complain) -> FolderContents:
        """Return all files; problems go to *complain*."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open one file."""
        ...

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        """Read the files of *jobs* to their end."""
        ...


class FolderStore:
    """Files in a local folder, or a single local file."""

    def __init__(self, place: LocalFiles) -> None:
        self._place = place

    def listing(self, complain: Complain) -> FolderContents:
        return files_in(self._place, complain)

    def open(self, path: str) -> BinaryIO:
        return (self._place.root / path).open("rb")

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        return read_files(jobs, str(self._place.root), workers)


if __name__ == "__main__":
    # Ctrl-C reaches the whole process group; the parent process ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from multiprocessing.connection import Connection

    run_worker(Connection(int(sys.argv[1])))
