"""The WARC files of a store: creating, appending, syncing, cutting back, and rotating them.

One process writes a file, and holds a lock on it. A file gets its name once its first record is
on disk, so a file with a name begins with a whole record. A record counts once `sync` returns;
what a crash leaves after the last whole record is moved out of the file at the next start.
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from archives.warc.files import Damage, Damaged
from archives.warc.records import records_in
from archives.warc_index.appending import AppendedFile
from archives.warc_index.building import HEAD_SIZE
from archives.warc_index.model import asserted_name

_SUFFIX: Final = ".warc.gz"
_PART: Final = ".part"
_TORN: Final = "torn"
_COPY_SIZE: Final = 1 << 20


class Disk:
    """What a store does to a disk. Tests replace it by one that fails or ends the process."""

    def create(self, path: Path) -> int:
        """Create *path* and return its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(path, flags, 0o644)

    def write(self, descriptor: int, octets: bytes) -> int:
        """Write some of *octets*; return how many."""
        return os.write(descriptor, octets)

    def sync(self, descriptor: int) -> None:
        """Return once the file is on disk."""
        os.fsync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file back."""
        os.ftruncate(descriptor, size)

    def rename(self, path: Path, target: Path) -> None:
        """Give the file another name."""
        path.rename(target)

    def indexed(self) -> None:
        """Do nothing: the records are in the index now, and will be acknowledged."""

    def free(self, folder: Path) -> int:
        """Return the octets that are free for this process."""
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize


class OpenFile:
    """A file that this process appends to. Every method may raise OSError."""

    def __init__(self, disk: Disk, folder: Path, name: str, first: bytes) -> None:
        """Create *name* in *folder* with the record *first*."""
        self._disk = disk
        self.name = name
        self.good = 0
        """Octets that are synced."""
        self.size = 0
        self.head = b""
        part = folder / f".{name}{_PART}"
        self._descriptor = disk.create(part)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.append(first)
            self.sync()
            disk.rename(part, folder / name)
            sync_folder(disk, folder)
        except BaseException:
            os.close(self._descriptor)
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise

    def append(self, octets: bytes) -> int:
        """Write *octets* at the end; return where they begin."""
        start, left = self.size, memoryview(octets)
        self.head += octets[: max(HEAD_SIZE - len(self.head), 0)]
        while left:
            written = self._disk.write(self._descriptor, bytes(left))
            if not written:
                raise OSError(errno.EIO, "nothing was written")
            self.size += written
            left = left[written:]
        return start

    def sync(self) -> None:
        """Make all octets durable."""
        self._disk.sync(self._descriptor)
        self.good = self.size

    def cut_back(self) -> None:
        """Remove what was appended since the last `sync`."""
        self._disk.truncate(self._descriptor, self.good)
        os.lseek(self._descriptor, self.good, os.SEEK_SET)
        self.size = self.good
        self.head = self.head[: self.good]

    def state(self) -> AppendedFile:
        """Return what the index records of the file."""
        mtime = os.fstat(self._descriptor).st_mtime_ns
        return AppendedFile(self.name, self.size, mtime, self.head)

    def close(self) -> None:
        """Close the file, which releases its lock."""
        os.close(self._descriptor)


def new_name(store: str, stamp: str, kind: str) -> str:
    """Return the name of a new file that begins at *stamp*; no two are the same.

    *kind* is a `Basis` or the kind of a journal.
    """
    rest = f"{stamp[:14]}-{secrets.token_hex(4)}{_SUFFIX}"
    if kind == "asserted":
        return asserted_name(store, rest)
    return f"{store}.{rest}" if kind == "written" else f"{store}.{kind}.{rest}"


def sync_folder(disk: Disk, folder: Path) -> None:
    """Make the names in *folder* durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def repair(folder: Path, store: str, upto: Callable[[str], int], disk: Disk) -> list[str]:
    """Bring the files of a process that ended in the middle of a write in order.

    *upto* gives the octets of a file that are known to be whole records. Files that another
    process writes are left alone. Returns what was done, for the log.
    """
    done = []
    for path in sorted(folder.glob(f".{store}.*{_SUFFIX}{_PART}")):
        if _is_abandoned(path):
            path.unlink()
            done.append(f"{path.name}: removed; it was begun, and held no revision")
    for path in sorted(folder.glob(f"{store}.*{_SUFFIX}")):
        size = path.stat().st_size
        if size > upto(path.name) and _is_abandoned(path):
            whole = _whole_records(path, upto(path.name))
            if whole < size:
                kept = _cut(path, whole, folder / ".timegate" / _TORN, disk)
                done.append(f"{path.name}: {size - whole} octets after {whole} moved to {kept}")
    return done


def _is_abandoned(path: Path) -> bool:
    """Whether no process writes the file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _whole_records(path: Path, start: int) -> int:
    """Return where the last whole record ends. Damage before whole records is left alone."""
    whole = start
    with path.open("rb") as file:
        for record in records_in(file, start):
            if not isinstance(record, Damage) and not record.broken:
                with suppress(Damaged):
                    whole = record.offset + record.length
    return whole


def _cut(path: Path, size: int, kept: Path, disk: Disk) -> str:
    """Move what *path* holds after *size* to a file in the folder *kept*; return its name."""
    kept.mkdir(parents=True, exist_ok=True)
    copy = kept / f"{path.name}@{size}"
    with path.open("r+b") as file, copy.open("wb") as tail:
        file.seek(size)
        _copy(file, tail)
        tail.flush()
        disk.sync(tail.fileno())
        sync_folder(disk, kept)
        disk.truncate(file.fileno(), size)
        disk.sync(file.fileno())
    return f"{kept.parent.name}/{kept.name}/{copy.name}"


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while octets := source.read(_COPY_SIZE):
        target.write(octets)
