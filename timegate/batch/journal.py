"""The journal of a batch run: one line per result on disk, so that a killed run can resume.

A line is written as soon as the item has a result; if the machine stops in the middle, the
incomplete last line is cut off at the next start. Memory use is 17 octets per item. The last
line of a run that is complete says so: such a journal is not in the way of another run.
"""

import fcntl
import json
import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from timegate.batch.model import Item, ItemResult, from_line, to_line

_KIND: Final = "timegate batch 1"
_COMPLETE: Final = b'{"complete": true}\n'
_ABSENT: Final = -1
_SYNC_AFTER: Final = 32
"""Lines that a power failure may lose; a killed process loses none."""


class BadJournal(ValueError):
    """A journal that cannot be used; the message says why, and what to do."""


class Journal:
    """The journal of one run, a context manager. Only one process can open it at a time."""

    def __init__(self, path: Path, binding: str, *, resume: bool) -> None:
        """Open or create the journal at *path*. Raises BadJournal.

        Without *resume*, that of a complete run is replaced, and another one is refused.
        *binding* describes the options of the run; a journal with another one is refused.
        """
        self._path = path
        self._offsets = array("q")
        self._keys = array("Q")
        self._final = bytearray()
        self._unsynced = 0
        self.finished = 0
        """Number of items with a result."""
        self._file = _opened(path, resume=resume)
        try:
            self._begin(json.dumps({"journal": _KIND, "binding": binding}).encode() + b"\n")
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.sync()
        finally:
            os.close(self._file)

    @property
    def due(self) -> bool:
        """Whether `sync` should be called now."""
        return self._unsynced >= _SYNC_AFTER

    def append(self, result: ItemResult) -> None:
        """Write *result*; it replaces an earlier one of the same item."""
        with self._named():
            offset = append_line(self._file, to_line(result))
        self._unsynced += 1
        self._index(result, offset)

    def complete(self) -> None:
        """Note that every item has its final result."""
        with self._named():
            append_line(self._file, _COMPLETE)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._unsynced = 0
        with self._named():
            os.fsync(self._file)

    def knows(self, item: Item) -> bool:
        """Whether *item* has a result. Raises BadJournal if another item is at its position."""
        at = item.position
        if at >= len(self._offsets) or self._offsets[at] == _ABSENT:
            return False
        if self._keys[at] != item.key:
            why = f"{self._path} is the journal of another list: it differs at item {at + 1}"
            raise BadJournal(f"{why} ({item.text[:80]}); remove it, or choose another --output")
        return True

    def check_length(self, total: int) -> None:
        """Raise BadJournal if there are results of more than *total* items."""
        if len(self._offsets) > total:
            why = f"{self._path} is the journal of a longer list: it has item"
            raise BadJournal(
                f"{why} {len(self._offsets)}; remove it, or choose another --output"
            )

    def results(self) -> Iterator[ItemResult]:
        """Yield the last result of each item, in the order of the list."""
        yield from self._read(range(len(self._offsets)))

    def unsettled(self) -> Iterator[ItemResult]:
        """Yield the results that are not final."""
        yield from self._read(at for at in range(len(self._final)) if not self._final[at])

    def result(self, position: int) -> ItemResult | None:
        """Return the result of the item at *position*; None if it has none."""
        return next(self._read([position]), None) if position < len(self._offsets) else None

    def is_final(self, position: int) -> bool:
        """Whether the item at *position* has a final result."""
        return position < len(self._final) and bool(self._final[position])

    def reopen(self) -> int:
        """Make results not final for which an archive did not answer; return their number."""
        unsure = [result.item.position for result in self.results() if result.unsure]
        for at in unsure:
            self._final[at] = False
        return len(unsure)

    @property
    def settled(self) -> int:
        """Number of final results."""
        return self._final.count(1)

    def _begin(self, head: bytes) -> None:
        with open(self._file, "rb", closefd=False) as lines:
            first = lines.readline(1 << 16)
            if first.endswith(b"\n"):
                self._check_head(first, head)
                end = self._read_lines(lines.tell(), lines)
            else:
                end = 0
        os.ftruncate(self._file, end)
        if not end:
            os.lseek(self._file, 0, os.SEEK_SET)
            with self._named():
                _write(self._file, head)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors of writing."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._path)
            raise

    def _check_head(self, first: bytes, head: bytes) -> None:
        if first == head:
            return
        if _KIND.encode() not in first:
            raise BadJournal(
                f"{self._path} exists and is not a journal of timegate; choose another --output"
            )
        why = f"{self._path} belongs to a run with other options"
        raise BadJournal(f"{why}; use the same options, or remove it to start again")

    def _read_lines(self, offset: int, lines: Iterator[bytes]) -> int:
        """Read every complete line; return the offset after the last one."""
        for line in lines:
            if not line.endswith(b"\n"):
                break
            try:
                if line != _COMPLETE:
                    self._index(from_line(line), offset)
            except ValueError as error:
                why = f"{self._path} is damaged at octet {offset}: {error}"
                raise BadJournal(
                    f"{why}; remove that line, or the whole file to start again"
                ) from error
            offset += len(line)
        return offset

    def _index(self, result: ItemResult, offset: int) -> None:
        at = result.item.position
        missing = at + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.extend([_ABSENT] * missing)
            self._keys.extend([0] * missing)
            self._final.extend(bytes(missing))
        self.finished += self._offsets[at] == _ABSENT
        self._offsets[at] = offset
        self._keys[at] = result.item.key
        self._final[at] = result.final

    def _read(self, positions: Iterator[int] | range | list[int]) -> Iterator[ItemResult]:
        with self._path.open("rb") as lines:
            for at in positions:
                if self._offsets[at] != _ABSENT:
                    lines.seek(self._offsets[at])
                    yield from_line(lines.readline())


def is_journal(path: Path) -> bool:
    """Whether the file at *path* is a journal of a run."""
    try:
        with path.open("rb") as file:
            return _KIND.encode() in file.readline(1 << 16)
    except OSError:
        return False


def _opened(path: Path, *, resume: bool) -> int:
    try:
        # It holds the URLs that somebody looks up: for its owner alone.
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadJournal(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise BadJournal(f"{path} is in use by another run") from None
    if not resume and not _may_replace(file):
        os.close(file)
        why = f"{path} exists from an earlier run, which is not complete"
        raise BadJournal(f"{why}; continue with --resume, or remove the file")
    if not resume:
        os.ftruncate(file, 0)
    with suppress(PermissionError):
        # An earlier release made it readable for all.
        os.fchmod(file, 0o600)
    return file


def _may_replace(file: int) -> bool:
    """Whether the file is empty, or the journal of a complete run."""
    size = os.fstat(file).st_size
    head = os.pread(file, 1 << 16, 0).partition(b"\n")[0]
    end = os.pread(file, len(_COMPLETE), max(size - len(_COMPLETE), 0))
    return size == 0 or (_KIND.encode() in head and end == _COMPLETE)


def append_line(file: int, line: bytes) -> int:
    """Write a whole *line* at the end of *file*, or nothing; return its offset.

    Raises OSError: if the disk is full, an incomplete line must not precede later ones.
    """
    offset = os.lseek(file, 0, os.SEEK_END)
    try:
        _write(file, line)
    except OSError:
        os.ftruncate(file, offset)
        raise
    return offset


def _write(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]
