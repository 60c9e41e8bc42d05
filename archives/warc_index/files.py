"""The files of a collection: listing a folder, and reading the captures of each file.

Links that lead out of the folder are not followed, hidden files are not ours (our own index is
one), and what is called anything else than a WARC, ARC, WACZ or CDX is not looked at.

Several processes read files, each one file at a time; one that dies costs its file.
With a single worker everything is read in this process, which saves starting and copying.
``python -m archives.warc_index.files DESCRIPTOR`` is such a process.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

import msgspec

from archives.warc.captures import Capture, captures_in
from archives.warc.files import Damage, wacz_members
from archives.warc_index.model import FileInfo, FolderContents, Kind, LocalFiles
from archives.warc_index.writing import IndexJob

MAX_FILES: Final = 1_000_000
_DEEPEST: Final = 16
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
"""Takes a complaint: file, offset, why."""


def files_in(place: LocalFiles, tell: Complain) -> FolderContents:
    """Return the files of a collection. Raises OSError if it is not there."""
    if place.is_file:
        entry = place.root / place.path.name
        found = entry.stat()
        kind = kind_of(entry.name) or "warc"
        file = FileInfo(entry.name, kind, found.st_size, found.st_mtime_ns)
        return FolderContents({file.path: file}, ())
    # It may be a mount that is not there: that is no empty collection, so it raises.
    os.scandir(place.root).close()
    seen: dict[str, FileInfo] = {}
    unreadable: list[str] = []
    for each in _walked(place.root, "", os.path.realpath(place.root), tell, 0):
        if isinstance(each, str):
            unreadable.append(each)
        elif len(seen) < MAX_FILES:
            seen[each.path] = each
        else:
            tell(each.path, 0, f"left out: the collection has more than {MAX_FILES} files")
            break
    return FolderContents(seen, tuple(unreadable))


def kind_of(name: str) -> Kind | None:
    """Say what a file is by its *name*; None if it is not for us."""
    lower = name.lower()
    return next((kind for suffix, kind in _KINDS.items() if lower.endswith(suffix)), None)


def _walked(
    folder: Path, prefix: str, home: str, tell: Complain, depth: int
) -> Iterator[FileInfo | str]:
    """Yield files, and the paths of what could not be looked at."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        tell(prefix or ".", 0, f"cannot be listed: {error.strerror}")
        yield prefix.rstrip("/")
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth >= _DEEPEST:
                tell(path, 0, f"folders more than {_DEEPEST} deep are not looked into")
            else:
                yield from _walked(folder / entry.name, f"{path}/", home, tell, depth + 1)
        elif kind := kind_of(entry.name):
            yield from _file(entry, path, kind, home, tell)


def _file(
    entry: "os.DirEntry[str]", path: str, kind: Kind, home: str, tell: Complain
) -> Iterator[FileInfo | str]:
    if not path.isprintable():
        tell(ascii(path), 0, "left out: its name cannot be written")
        return
    if entry.is_symlink() and not os.path.realpath(entry.path).startswith(f"{home}{os.sep}"):
        tell(path, 0, "left out: a link that leads out of the collection")
        return
    try:
        found = entry.stat()
    except OSError as error:
        tell(path, 0, f"cannot be read: {error.strerror}")
        yield path
        return
    if entry.is_file():
        yield FileInfo(path, kind, found.st_size, found.st_mtime_ns)


_SCANNING_BATCH: Final = 500
"""Some 100 kB: enough that sending costs little, little enough to hold many."""


class ScanTask(NamedTuple):
    """What a worker is to read."""

    path: str
    kind: Kind
    start: int


class CaptureBatch(NamedTuple):
    """Some of what a file holds; *member* is the WARC in a WACZ."""

    member: str
    captures: list[Capture]
    damages: list[Damage]


def scan_path(task: ScanTask) -> Iterator[CaptureBatch]:
    """Read a file to its end. Raises OSError."""
    with Path(task.path).open("rb") as file:
        yield from scan_file(file, task.kind, task.start)


def scan_file(file: BinaryIO, kind: Kind, start: int) -> Iterator[CaptureBatch]:
    """Read an open file to its end. Raises OSError."""
    if kind == "warc":
        yield from _batches("", captures_in(file, start))
        return
    for region in wacz_members(file):
        if isinstance(region, Damage):
            yield CaptureBatch("", [], [region])
        else:
            name, begin, end = region
            yield from _batches(name, captures_in(file, begin, end))


def _batches(member: str, found: Iterable[Capture | Damage]) -> Iterator[CaptureBatch]:
    items = iter(found)
    # Also where nothing is found there is a batch: a WARC without captures is a part too.
    while True:
        some = [_storable(item) for item in islice(items, _SCANNING_BATCH)]
        yield CaptureBatch(
            member,
            [item for item in some if isinstance(item, Capture)],
            [item for item in some if isinstance(item, Damage)],
        )
        if len(some) < _SCANNING_BATCH:
            return


def _storable(item: Capture | Damage) -> Capture | Damage:
    """Return *item*, unless it holds half a character, which no database takes."""
    if isinstance(item, Damage):
        return item
    try:
        "".join(filter(None, (item.surt, item.url, item.mime, item.digest))).encode()
    except UnicodeEncodeError:
        return Damage(item.offset, "its head is no text")
    return item


_GRACE: Final = 5.0
_MESSAGE: Final = msgspec.msgpack.Decoder(list[object] | str | None)
_BATCH: Final = msgspec.msgpack.Decoder(CaptureBatch)
_encode: Final = msgspec.msgpack.Encoder().encode


class ScanFailure(NamedTuple):
    """A file was not read to its end."""

    why: str


ScanEvent = tuple[IndexJob, CaptureBatch | ScanFailure | None]
"""What came of a job: some of it, a failure, or None at its end."""


def read_files(jobs: Sequence[IndexJob], root: str, workers: int) -> Iterator[ScanEvent]:
    """Read every file; what comes of several at once is mixed."""
    if workers <= 1 or len(jobs) <= 1:
        return _read_here(jobs, root)
    return _read_apart(list(reversed(jobs)), root, min(workers, len(jobs)))


def _read_here(jobs: Sequence[IndexJob], root: str) -> Iterator[ScanEvent]:
    for job in jobs:
        try:
            for batch in scan_path(_task(job, root)):
                yield job, batch
        except OSError as error:
            yield job, ScanFailure(f"cannot be read: {error.strerror}")
        else:
            yield job, None


def _read_apart(waiting: list[IndexJob], root: str, count: int) -> Iterator[ScanEvent]:
    with _crew() as crew:
        while waiting or crew:
            while waiting and len(crew) < count:
                worker = _Worker()
                crew[worker.connection] = worker
                worker.begin(waiting.pop(), root)
            for ready in wait(list(crew)):
                worker = crew[ready]  # type: ignore[index]
                job, news = worker.news()
                yield job, news
                if isinstance(news, CaptureBatch):
                    continue
                if waiting and not worker.is_dead:
                    worker.begin(waiting.pop(), root)
                else:
                    del crew[worker.connection]
                    worker.end()


class _Worker:
    """One process and the job it is at."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 -- ourselves
                [sys.executable, "-m", "archives.warc_index.files", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self.is_dead = False
        self._job: IndexJob | None = None

    def begin(self, job: IndexJob, root: str) -> None:
        self._job = job
        try:
            self.connection.send_bytes(_encode(_task(job, root)))
        except (BrokenPipeError, ConnectionResetError):
            return  # it died, which `news` tells next

    def news(self) -> ScanEvent:
        assert self._job is not None  # noqa: S101 -- only who has a job is waited for
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.is_dead = True
            code = self._process.wait()
            return self._job, ScanFailure(f"the process that read it ended with {code}")
        return self._job, _understood(message)

    def end(self) -> None:
        """End it; it has no reason to resist."""
        self.connection.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def _crew() -> Iterator[dict["Connection[bytes, bytes]", _Worker]]:
    crew: dict[Connection[bytes, bytes], _Worker] = {}
    try:
        yield crew
    finally:
        for worker in crew.values():
            worker.end()


def _understood(message: bytes) -> CaptureBatch | ScanFailure | None:
    match _MESSAGE.decode(message):
        case None:
            return None
        case str(why):
            return ScanFailure(why)
        case _:
            return _BATCH.decode(message)


def _task(job: IndexJob, root: str) -> ScanTask:
    return ScanTask(os.path.join(root, job.file.path), job.file.kind, job.start)  # noqa: PTH118


class FileStore(Protocol):
    """What can be listed and read. Each raises OSError where it cannot."""

    def listing(self, tell: Complain) -> FolderContents:
        """Return what there is; *tell* takes complaints."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open one file."""
        ...

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        """Read files to their end."""
        ...


class FolderStore:
    """Files in a folder, or a single one."""

    def __init__(self, place: LocalFiles) -> None:
        self._place = place

    def listing(self, tell: Complain) -> FolderContents:
        return files_in(self._place, tell)

    def open(self, path: str) -> BinaryIO:
        return (self._place.root / path).open("rb")

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        return read_files(jobs, str(self._place.root), workers)


Message = CaptureBatch | str | None
"""A batch; why the file could not be read; None at its end."""
_TASK = msgspec.msgpack.Decoder(ScanTask)


def serve(connection: "Connection[bytes, bytes]") -> None:
    """Read one file after another, as long as somebody asks."""
    while True:
        try:
            task = _TASK.decode(connection.recv_bytes())
        except EOFError:
            return
        try:
            for batch in scan_path(task):
                connection.send_bytes(_encode(batch))
        except OSError as error:
            if isinstance(error, BrokenPipeError | ConnectionResetError):
                return
            connection.send_bytes(_encode(f"cannot be read: {error.strerror}"))
        else:
            connection.send_bytes(_encode(None))


if __name__ == "__main__":
    # Ctrl-C reaches the whole group; whoever started us ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
