"""Stores for tests: their disks fail where they are told to, and their clocks stand or jump."""

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from timegate.store import Fields, Preconditions, Revision, StoreSettings, Written
from timegate.store.files import Disk
from timegate.store.writer import StoreWriter

URL = "http://example.org/page"
NOON = 1_600_000_000_000_000_000
"""2020-09-13T12:26:40Z in nanoseconds."""


class FaultyDisk(Disk):
    """A disk whose next operations fail with the errors in `faults`, by operation."""

    def __init__(self) -> None:
        self.faults: dict[str, list[int]] = {}
        self.log: list[str] = []
        self.octets_free = 1 << 40

    def fail(self, operation: str, *errors: int) -> None:
        """Let the next calls of *operation* fail; 0 is a call that works."""
        self.faults[operation] = [*errors]

    def write(self, descriptor: int, octets: bytes) -> int:
        if self.faults.get("short"):
            self.faults["short"].pop()
            return super().write(descriptor, octets[: len(octets) // 2])
        self._do("write")
        return super().write(descriptor, octets)

    def sync(self, descriptor: int) -> None:
        self._do("sync")
        super().sync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        self._do("truncate")
        super().truncate(descriptor, size)

    def rename(self, path: Path, target: Path) -> None:
        self._do("rename")
        super().rename(path, target)

    def indexed(self) -> None:
        self._do("indexed")

    def free(self, folder: Path) -> int:
        del folder
        return self.octets_free

    def _do(self, operation: str) -> None:
        self.log.append(operation)
        waiting = self.faults.get(operation)
        error = waiting.pop(0) if waiting else 0
        if error:
            raise OSError(error, errno.errorcode[error])


class Clock:
    """A clock that goes on by a microsecond each time it is read."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def a_revision(  # noqa: PLR0913 -- what revisions differ in
    body: bytes | str = b"hello",
    url: str = URL,
    at: str | None = None,
    *,
    content_type: str = "text/plain",
    fields: Fields = (),
    match: str | None = None,
    none_match: str | None = None,
) -> Revision:
    octets = body.encode() if isinstance(body, str) else body
    digest = hashlib.sha256(octets).digest()
    conditions = Preconditions(match, none_match)
    return Revision(url, octets, content_type, digest, fields, at, conditions)


def settings(path: Path, **changes: object) -> StoreSettings:
    return StoreSettings("notes", path, free=0, **changes)  # type: ignore[arg-type]


@contextmanager
def open_store(
    path: Path,
    disk: Disk | None = None,
    clock: Clock | None = None,
    most_in_group: int = 256,
    **changes: object,
) -> Iterator[StoreWriter]:
    with StoreWriter(
        settings(path, **changes), disk or Disk(), clock or Clock(), most_in_group
    ) as writer:
        yield writer


def put(writer: StoreWriter, revision: Revision) -> Written:
    return writer.submit(revision).result(timeout=30)
