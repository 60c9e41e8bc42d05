"""Kills a process in the middle of writing to a store, and compares what it leaves."""

import os
import signal
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from archives.errors import ArchiveError
from archives.warc.captures import RecordReader
from archives.warc.files import Damaged
from archives.warc_index.lookup import Lookup
from archives.warc_index.model import IndexRow, LocalFiles
from tests.timegate.store.stores import Clock, settings
from timegate.store import Revision
from timegate.store.files import Disk
from timegate.store.writer import StoreWriter

Where = Literal["before", "half", "after"]
PLACES: tuple[Where, ...] = ("before", "half", "after")
_SIZE = struct.Struct("!I")


class KillingDisk(Disk):
    """Kills the process at the operation with the number *at*."""

    def __init__(self, at: int, where: Where) -> None:
        self._left = at
        self._where = where

    def write(self, descriptor: int, octets: bytes) -> int:
        if self._is_next() and self._where == "half":
            super().write(descriptor, octets[: len(octets) // 2])
            self._kill()
        self._kill_if("before")
        written = super().write(descriptor, octets)
        self._kill_if("half", "after")
        return written

    def sync(self, descriptor: int) -> None:
        self._is_next()
        self._kill_if("before", "half")
        super().sync(descriptor)
        self._kill_if("after")

    def rename(self, path: Path, target: Path) -> None:
        self._is_next()
        self._kill_if("before", "half")
        super().rename(path, target)
        self._kill_if("after")

    def indexed(self) -> None:
        self._is_next()
        self._kill_if("before", "half", "after")

    def _is_next(self) -> bool:
        self._left -= 1
        return self._left == 0

    def _kill_if(self, *places: Where) -> None:
        if self._left == 0 and self._where in places:
            self._kill()

    def _kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Acknowledged(NamedTuple):
    """A revision that was acknowledged."""

    url: str
    stamp: str
    body: bytes


def killed_while_writing(
    path: Path, revisions: Sequence[Revision], disk: Disk, clock: Clock, at_once: int = 4
) -> tuple[list[Acknowledged], bool]:
    """Write in a process of its own; return what it acknowledged, and whether it was killed."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        code = 1
        try:
            _write_all(path, revisions, disk, clock, write_end, at_once)
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with open(read_end, "rb") as acknowledged:  # noqa: PTH123 -- a descriptor
        numbers = acknowledged.read()
    _, status = os.waitpid(child, 0)
    was_killed = os.WIFSIGNALED(status)
    assert was_killed or os.WEXITSTATUS(status) == 0
    found = []
    for start in range(0, len(numbers) // 64 * 64, 64):
        line = numbers[start : start + 64].decode().strip()
        number, stamp = line.split()
        revision = revisions[int(number)]
        found.append(Acknowledged(revision.url, stamp, revision.body))
    return found, was_killed


def _write_all(  # noqa: PLR0913, PLR0917 -- of a process
    path: Path,
    revisions: Sequence[Revision],
    disk: Disk,
    clock: Clock,
    report: int,
    at_once: int,
) -> None:
    with StoreWriter(settings(path, file_size=20_000), disk, clock) as writer:
        for start in range(0, len(revisions), at_once):
            group = range(start, min(start + at_once, len(revisions)))
            futures = {number: writer.submit(revisions[number]) for number in group}
            for number, future in futures.items():
                stamp = future.result(30).stamp
                os.write(report, f"{number} {stamp}".ljust(64).encode())


class Found(NamedTuple):
    """What a store holds after a restart."""

    lost: int
    """Acknowledged revisions that are missing, or have other bytes."""
    damaged: int
    """Captures that are served and cannot be read."""
    captures: int


def reopened(path: Path, acknowledged: Sequence[Acknowledged]) -> Found:
    """Open the store again, and compare it with what was acknowledged."""
    with StoreWriter(settings(path)):
        pass
    place = LocalFiles.of(path)
    with closing(Lookup(place.index, place.root, 5.0)) as lookup:
        lost = 0
        for url, stamp, body in acknowledged:
            row = lookup.at(url, stamp)
            lost += row is None or _body(lookup, row) != body
        damaged = captures = 0
        after = None
        while rows := lookup.captures_between("", "~", after):
            captures += len(rows)
            damaged += sum(_body(lookup, row) is None for row in rows)
            after = rows[-1].key
    return Found(lost, damaged, captures)


def _body(lookup: Lookup, row: IndexRow) -> bytes | None:
    try:
        reader = RecordReader(row)
        with closing(reader):
            if reader.record.kind != "revisit":
                return b"".join(iter(lambda: reader.read(65536), b""))
            headers = reader.record.headers
            refers_to = (
                headers.get("warc-refers-to-target-uri") or "",
                headers.get("warc-refers-to-date") or "",
            )
        original = lookup.original_of(row.url, row.digest, refers_to)
        return None if original is None else _body(lookup, original)
    except (Damaged, OSError, ArchiveError):
        return None
