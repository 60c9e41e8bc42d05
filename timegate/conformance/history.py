"""The history of checks in one file, and the lock that allows one check at a time.

The file has JSON lines, oldest first, with a limited number for each archive: it shows since
when an archive has been broken. It is written to a temporary file and renamed, so that readers
find either the old or the new version, complete, even after a crash.
"""

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, TextIO

import msgspec

from timegate.conformance.catalogue import VERDICTS
from timegate.conformance.report import Report, printable

KEPT: Final = 30
"""Records of one archive."""
MOST_ARCHIVES: Final = 500
_MOST_OCTETS: Final = 64 * 1024**2
_LONGEST: Final = 300


class BadHistory(ValueError):
    """The file is not a history; names the file and the reason."""


class RecordedProblem(msgspec.Struct, frozen=True):
    """One requirement that was violated or could not be judged."""

    check: str
    verdict: str
    why: str


class CheckRecord(msgspec.Struct, frozen=True):
    """The result of one run against one archive."""

    archive: str
    checked: str
    """When it began, in 14 digits."""
    url: str
    samples: tuple[str, ...]
    requests: int
    counts: dict[str, int]
    wrong: tuple[RecordedProblem, ...]
    """Violated and unknown requirements, in the order of the checks."""


CheckRecords = Mapping[str, tuple[CheckRecord, ...]]
"""By archive, oldest first."""


def record_of(report: Report, now: str) -> CheckRecord:
    """Return the record of *report*: verdicts and reasons, without traces."""
    subject = report.subject
    wrong = tuple(
        RecordedProblem(r.check.name, r.finding.verdict, printable(r.finding.why)[:_LONGEST])
        for r in report.results
        if r.finding.verdict in ("fail", "warn", "unknown")
    )
    counts: dict[str, int] = {verdict: report.counts[verdict] for verdict in VERDICTS}
    return CheckRecord(
        subject.id, now, subject.url, subject.samples, report.requests, counts, wrong
    )


class History:
    """The file with the records of all archives."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> CheckRecords:
        """Return all records; none if there is no file. Raises BadHistory."""
        if not self._path.exists():
            return {}
        if self._path.stat().st_size > _MOST_OCTETS:
            raise BadHistory(f"{self._path} is too large to be a history of checks")
        found: dict[str, list[CheckRecord]] = defaultdict(list)
        for record in self._lines():
            found[record.archive].append(record)
        return {
            archive: tuple(sorted(records, key=lambda record: record.checked)[-KEPT:])
            for archive, records in found.items()
        }

    def _lines(self) -> Iterator[CheckRecord]:
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                yield msgspec.json.decode(line, type=CheckRecord)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise BadHistory(f"{self._path}, line {number}: {error}") from error

    def add(self, reports: Sequence[Report], now: str) -> None:
        """Add *reports*. Raises BadHistory, or OSError if the file cannot be written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            history = {archive: list(records) for archive, records in self.read().items()}
            for report in reports:
                history.setdefault(report.subject.id, []).append(record_of(report, now))
            self._write({archive: records[-KEPT:] for archive, records in history.items()})

    def _write(self, history: Mapping[str, Sequence[CheckRecord]]) -> None:
        # The archives that were checked most recently stay.
        recent = sorted(history.values(), key=lambda records: records[-1].checked)
        lines = [
            msgspec.json.encode(record) + b"\n"
            for records in recent[-MOST_ARCHIVES:]
            for record in records
        ]
        with NamedTemporaryFile(dir=self._path.parent, delete=False) as new:
            try:
                new.writelines(lines)
                new.flush()
                os.fsync(new.fileno())
                Path(new.name).replace(self._path)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the exclusive lock on *path* and hold it until the block ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_LONGEST_NAME: Final = 200


class CheckLock:
    """A file lock that allows one check at a time; the file names the archive being checked.

    The operating system releases it if the process dies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def acquire(self, archive: str) -> bool:
        """Acquire the lock for *archive*; False if it is held. Raises OSError."""
        if self._file is not None:
            return False
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        if not _acquired(file):
            file.close()
            return False
        file.truncate(0)
        file.write(archive)
        file.flush()
        self._file = file
        return True

    def release(self) -> None:
        """Release the lock, if it is held here."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> str | None:
        """Return the archive that any process is checking; None if there is none."""
        if not self._path.exists():
            return None
        with self._path.open("r") as file:
            if _acquired(file):
                return None
            return file.read(_LONGEST_NAME)


def _acquired(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def secret_at(path: Path) -> bytes:
    """Return the secret that the processes of one server share; the first one creates it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Linked only when complete: no reader sees half of it, and no process replaces it.
        with NamedTemporaryFile(dir=path.parent) as new, suppress(FileExistsError):
            new.write(os.urandom(32))
            new.flush()
            path.hardlink_to(new.name)
    return path.read_bytes()
