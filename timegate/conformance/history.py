"""The last checks of each archive, in one file: JSON lines, oldest first, bounded.

Archives break silently, and slowly: what counts is since when. The file is written anew beside
itself and then put in place, so that a reader and a crash find the old or the new one, whole.
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
"""Checks of one archive."""
MOST_ARCHIVES: Final = 500
_MOST_OCTETS: Final = 64 * 1024**2
_LONGEST: Final = 300


class BadHistory(ValueError):
    """A file that cannot be a history: which, and why."""


class Wrong(msgspec.Struct, frozen=True):
    """One check that was not passed."""

    check: str
    verdict: str
    why: str


class Past(msgspec.Struct, frozen=True):
    """What one check of an archive found."""

    archive: str
    checked: str
    """When, in 14 digits."""
    url: str
    samples: tuple[str, ...]
    requests: int
    counts: dict[str, int]
    wrong: tuple[Wrong, ...]
    """Broken and unknown, in the order of the checks."""


Pasts = Mapping[str, tuple[Past, ...]]
"""By archive, oldest first."""


def past_of(report: Report, now: str) -> Past:
    """Return what is kept of *report*: verdicts and reasons, no traces."""
    subject = report.subject
    wrong = tuple(
        Wrong(r.check.name, r.finding.verdict, printable(r.finding.why)[:_LONGEST])
        for r in report.results
        if r.finding.verdict in ("fail", "warn", "unknown")
    )
    counts: dict[str, int] = {verdict: report.counts[verdict] for verdict in VERDICTS}
    return Past(subject.id, now, subject.url, subject.samples, report.requests, counts, wrong)


class History:
    """The file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Pasts:
        """Return all that is kept; nothing where there is no file. Raises BadHistory."""
        if not self._path.exists():
            return {}
        if self._path.stat().st_size > _MOST_OCTETS:
            raise BadHistory(f"{self._path} is too large to be a history of checks")
        found: dict[str, list[Past]] = defaultdict(list)
        for past in self._lines():
            found[past.archive].append(past)
        return {
            archive: tuple(sorted(pasts, key=lambda past: past.checked)[-KEPT:])
            for archive, pasts in found.items()
        }

    def _lines(self) -> Iterator[Past]:
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                yield msgspec.json.decode(line, type=Past)
            except msgspec.MsgspecError as error:
                raise BadHistory(f"{self._path}, line {number}: {error}") from error

    def add(self, reports: Sequence[Report], now: str) -> None:
        """Keep *reports* too. Raises BadHistory, and OSError where nothing can be written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            pasts = {archive: list(kept) for archive, kept in self.read().items()}
            for report in reports:
                pasts.setdefault(report.subject.id, []).append(past_of(report, now))
            self._write({archive: kept[-KEPT:] for archive, kept in pasts.items()})

    def _write(self, pasts: Mapping[str, Sequence[Past]]) -> None:
        # Of too many archives those go that were not checked for the longest time.
        recent = sorted(pasts.values(), key=lambda kept: kept[-1].checked)[-MOST_ARCHIVES:]
        lines = [msgspec.json.encode(past) + b"\n" for kept in recent for past in kept]
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
    """Wait until nobody else has *path*, and have it until the block ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_TURN_LONGEST: Final = 200


class Turn:
    """The right to check, which is a file; it holds the name of what is being checked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def take(self, archive: str) -> bool:
        """Take it for *archive*; False if somebody has it. Raises OSError."""
        if self._file is not None:
            return False
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        if not _has(file):
            file.close()
            return False
        file.truncate(0)
        file.write(archive)
        file.flush()
        self._file = file
        return True

    def give_back(self) -> None:
        """Let others have it."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> str | None:
        """Return which archive is being checked, by whomever; None if none is."""
        if not self._path.exists():
            return None
        with self._path.open("r") as file:
            if _has(file):
                return None
            return file.read(_TURN_LONGEST)


def _has(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def secret_at(path: Path) -> bytes:
    """Return the secret that all processes of one server share; made by the first of them."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written whole before it has its name: nobody reads half of it, nobody's is replaced.
        with NamedTemporaryFile(dir=path.parent) as new, suppress(FileExistsError):
            new.write(os.urandom(32))
            new.flush()
            path.hardlink_to(new.name)
    return path.read_bytes()
