"""What an extraction has written, and the journal from which a killed run goes on.

An entry follows its records, and states the length of the WARC after them. At the next start,
whatever comes after the last entry is cut off, so every record is there once.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, NamedTuple, Self

from timegate.batch.journal import BadJournal, append_line

_KIND: Final = "timegate extract 1"
_SYNC_AFTER: Final = 32
"""Entries that a power failure may lose; a killed process loses none."""
_LONGEST_LINE: Final = 1 << 20

RecordKind = Literal["response", "resource", "revisit"]


class WrittenCopy(NamedTuple):
    """A copy in the WARC."""

    archive: str
    uri: str
    """Address of the copy (URI-M)."""
    record: str
    """The id of its record."""
    kind: RecordKind
    original: str
    """The captured URL."""
    captured: str
    """The time of capture, as in WARC-Date."""
    digest: str
    is_page: bool = False
    """Whether it is a page for people: HTML, and no error or redirect."""
    title: str | None = None


class ItemOutcome(NamedTuple):
    """The outcome for one reference."""

    position: int
    attempt: int
    """How many archives had failed before, from 0."""
    record: str | None
    """The id of the record with the copy; None if it could not be fetched."""
    why: str
    code: int
    pwid: str | None = None
    parts: Mapping[str, int] | None = None
    """How many parts the page has, and how many are saved; None if they were not wanted."""


class FailedAttempt(NamedTuple):
    """An archive that did not deliver the copy of a reference."""

    position: int
    archive: str
    why: str


Entry = WrittenCopy | ItemOutcome | FailedAttempt
_ENTRIES: Final[Mapping[str, type[Entry]]] = {
    "copy": WrittenCopy,
    "outcome": ItemOutcome,
    "failed": FailedAttempt,
}
_NAMES: Final = {kind: name for name, kind in _ENTRIES.items()}


@dataclass(slots=True)
class ExtractionState:
    """The records and outcomes so far, in memory: 0.7 kB each (URLs of 50 characters)."""

    copies: dict[tuple[str, str], WrittenCopy] = field(default_factory=dict)
    """By archive and address."""
    payloads: dict[str, WrittenCopy] = field(default_factory=dict)
    """The first response with a payload, by its digest."""
    outcomes: dict[int, ItemOutcome] = field(default_factory=dict)
    """By position in the list."""
    failures: list[FailedAttempt] = field(default_factory=list)

    def note(self, entry: Entry, end: int) -> None:
        """Note *entry*; the WARC has *end* octets."""
        del end
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, WrittenCopy):
            self.copies[entry.archive, entry.uri] = entry
            if entry.kind == "response":
                self.payloads.setdefault(entry.digest, entry)
        elif isinstance(entry, ItemOutcome):
            self.outcomes[entry.position] = entry
        else:
            self.failures.append(entry)

    @property
    def pages(self) -> Iterator[tuple[WrittenCopy, ItemOutcome]]:
        """Yield the pages of the list, each once, with the outcome of a reference to it."""
        by_record = {copy.record: copy for copy in self.copies.values() if copy.is_page}
        chosen: dict[str, ItemOutcome] = {}
        for position in sorted(self.outcomes):
            outcome = self.outcomes[position]
            record = outcome.record or ""
            # A reference to the page says more of it than one to its file.
            known = chosen.get(record)
            if record in by_record and (known is None or known.parts is None):
                chosen[record] = outcome if known is None or outcome.parts else known
        yield from ((by_record[record], outcome) for record, outcome in chosen.items())


class ExtractionJournal(ExtractionState):
    """The journal of one run, a context manager. Only one process can open it at a time."""

    def __init__(self, path: Path, binding: str, warc: Path) -> None:
        """Open or create the journal at *path*, of a run that writes *warc*.

        *binding* describes the options of the run; a journal with another one is refused.
        Raises BadJournal and OSError.
        """
        super().__init__()
        self._path = path
        self._unsynced = 0
        self.sync_warc: Callable[[], None] = lambda: None
        """Called before entries are synced: an entry must not outlive its records."""
        self.end = 0
        """Octets of the WARC that are described."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._begin(binding, warc.stat().st_size if warc.exists() else 0)
        except BlockingIOError:
            os.close(self._file)
            raise BadJournal(f"{path.parent} is in use by another run") from None
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
        os.close(self._file)

    def note(self, entry: Entry, end: int) -> None:
        """Write *entry*; the WARC has *end* octets. It blocks, so it is called in a thread."""
        line = {_NAMES[type(entry)]: entry._asdict(), "end": end}
        append_line(self._file, json.dumps(line).encode() + b"\n")
        self.end = end
        self._add(entry)
        self._unsynced += 1
        if self._unsynced >= _SYNC_AFTER:
            self._unsynced = 0
            self.sync_warc()
            os.fsync(self._file)

    def _begin(self, binding: str, size: int) -> None:
        head = json.dumps({"journal": _KIND, "binding": binding}).encode() + b"\n"
        end = 0
        with open(self._file, "rb", closefd=False) as lines:
            first = lines.readline(_LONGEST_LINE)
            if first.endswith(b"\n"):
                if first != head:
                    why = f"{self._path.parent} belongs to a run with other options"
                    raise BadJournal(
                        f"{why}; use the same options, or remove it to start again"
                    )
                end = self._read(lines.tell(), lines, size)
        os.ftruncate(self._file, end)
        if not end:
            os.lseek(self._file, 0, os.SEEK_SET)
            append_line(self._file, head)

    def _read(self, offset: int, lines: Iterator[bytes], size: int) -> int:
        """Read the entries whose records are in the WARC; return where they end."""
        for line in lines:
            if not line.endswith(b"\n"):
                break
            try:
                entry, end = _entry(line)
            except (ValueError, TypeError, KeyError) as error:
                why = f"{self._path} is damaged at octet {offset}"
                raise BadJournal(f"{why}; remove {self._path.parent} to start again") from error
            if end > size:
                break
            self._add(entry)
            self.end = end
            offset += len(line)
        return offset


def _entry(line: bytes) -> tuple[Entry, int]:
    members = json.loads(line)
    (name,) = members.keys() & _ENTRIES.keys()
    return _ENTRIES[name](**members[name]), int(members["end"])
