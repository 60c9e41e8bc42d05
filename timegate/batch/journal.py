"""What is done, on disk: one line for each finished item, so that a killed run can go on.

A line is written in one piece as soon as the item is finished; if the machine stops in the
middle of it, the torn end is cut off at the next start. In memory are 17 octets for each item.
"""

import fcntl
import json
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from timegate.batch.model import Item, ItemResult, from_line, to_line

_KIND: Final = "timegate batch 1"
_ABSENT: Final = -1
_SYNC_AFTER: Final = 32
"""Lines. What a failing machine may lose; a killed process loses none."""


class BadJournal(ValueError):
    """A journal that cannot be gone on with; says why, and what to do."""


class Journal:
    """The journal of one run. Use as a context manager; only one process can have it open."""

    def __init__(self, path: Path, binding: str, *, resume: bool) -> None:
        """Open or begin the journal at *path*. Raises BadJournal.

        *binding* says what the run was asked to do; a journal of something else is refused.
        """
        self._path = path
        self._offsets = array("q")
        self._keys = array("Q")
        self._final = bytearray()
        self._unsynced = 0
        self.finished = 0
        """Items that have a result."""
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
        os.fsync(self._file)
        os.close(self._file)

    @property
    def due(self) -> bool:
        """Whether it is time to `sync`."""
        return self._unsynced >= _SYNC_AFTER

    def append(self, result: ItemResult) -> None:
        """Note *result*; it takes the place of an earlier one for the same item."""
        line = to_line(result)
        offset = os.lseek(self._file, 0, os.SEEK_END)
        try:
            _write(self._file, line)
        except OSError:
            # A full disk: no torn line may stand before one that others still write.
            os.ftruncate(self._file, offset)
            raise
        self._unsynced += 1
        self._note(result, offset)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._unsynced = 0
        os.fsync(self._file)

    def knows(self, item: Item) -> bool:
        """Whether *item* has a result. Raises BadJournal if another item had its place."""
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
        """Return the result of the item at *position*; None where it has none."""
        return next(self._read([position]), None) if position < len(self._offsets) else None

    def is_final(self, position: int) -> bool:
        """Whether the item at *position* has a result that stays."""
        return position < len(self._final) and bool(self._final[position])

    def reopen(self) -> int:
        """Unsettle what an archive did not tell in the last run; return how many there are."""
        unsure = [result.item.position for result in self.results() if result.unsure]
        for at in unsure:
            self._final[at] = False
        return len(unsure)

    @property
    def settled(self) -> int:
        """How many results are final."""
        return self._final.count(1)

    def _begin(self, head: bytes) -> None:
        with open(self._file, "rb", closefd=False) as lines:
            first = lines.readline(1 << 16)
            if first.endswith(b"\n"):
                self._check_head(first, head)
                end = self._replayed(lines.tell(), lines)
            else:
                end = 0
        os.ftruncate(self._file, end)
        if not end:
            os.lseek(self._file, 0, os.SEEK_SET)
            _write(self._file, head)

    def _check_head(self, first: bytes, head: bytes) -> None:
        if first == head:
            return
        if _KIND.encode() not in first:
            raise BadJournal(f"{self._path} exists and is no journal of ours")
        why = f"{self._path} belongs to a run with other options"
        raise BadJournal(f"{why}; give the same ones, or remove it and begin anew")

    def _replayed(self, offset: int, lines: Iterator[bytes]) -> int:
        """Take note of every whole line; return where the last of them ends."""
        for line in lines:
            if not line.endswith(b"\n"):
                break
            try:
                self._note(from_line(line), offset)
            except ValueError as error:
                why = f"{self._path} is damaged at octet {offset}: {error}"
                raise BadJournal(f"{why}; remove that line, or begin anew") from error
            offset += len(line)
        return offset

    def _note(self, result: ItemResult, offset: int) -> None:
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


def _opened(path: Path, *, resume: bool) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (0 if resume else os.O_EXCL)
    try:
        file = os.open(path, flags, 0o644)
    except FileExistsError:
        why = f"{path} exists: an earlier run was not cleared away"
        raise BadJournal(f"{why}; go on with --resume, or remove it") from None
    except OSError as error:
        raise BadJournal(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise BadJournal(f"{path} is in use by another run") from None
    return file


def _write(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]
