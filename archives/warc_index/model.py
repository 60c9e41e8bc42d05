"""Values of a collection's index: rows, files, results of indexing, and ranking of rows."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from archives.moment import Moment, whole_second
from archives.source import WantedCaptures

Key = tuple[str, str, int, int]
"""Primary key of a row: SURT, stamp, part, offset."""


class IndexRow(NamedTuple):
    """One capture: its row in the index, and the file that holds it."""

    stamp: str
    """UTC digits as precise as the WARC-Date, at least 14 (T-9)."""
    url: str
    mime: str | None
    status: int | None
    digest: str | None
    offset: int
    """Position of the record in *file*, also if *file* is a WACZ."""
    length: int
    """Stored length of the record; 0 if a CDX file did not say."""
    surt: str
    file: str
    """Absolute path of the file to open."""
    name: str
    """Name in CDX rows: the file name, or the name of the WARC in a WACZ."""
    part: int = 0
    """The part of the index that the row belongs to."""

    @property
    def key(self) -> Key:
        """Primary key of this row, to continue a listing after it."""
        return self.surt, self.stamp, self.part, self.offset


class CaptureIndex(Protocol):
    """The queries that an adapter needs. Each raises ArchiveError if the index cannot tell."""

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest capture, then the first, its two neighbours, and the last."""
        ...

    def captures_of(
        self, url: str, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture, or at least those *wanted*, in batches, oldest first."""
        ...

    def captures_between(
        self, lower: str, upper: str
    ) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield the captures from SURT *lower* to before *upper*, in order of SURT and time."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """A local folder of WARCs, or a single WARC, with its index."""

    path: Path
    """As configured by the operator."""
    root: Path
    """Folder that the paths in the index are relative to."""
    index: Path
    is_file: bool = False

    @classmethod
    def of(cls, path: Path, index: Path | None = None) -> "LocalFiles":
        """Return the collection at *path*; *index* if it is not at the default location."""
        absolute = path.absolute()
        if absolute.is_file():
            default = absolute.with_name(f"{absolute.name}.timegate.sqlite")
            return cls(path, absolute.parent, index or default, is_file=True)
        return cls(path, absolute, index or absolute / ".timegate" / "index.sqlite")

    @property
    def command(self) -> str:
        """The command that indexes this collection."""
        default = LocalFiles.of(self.path).index == self.index
        return f"timegate index {self.path}" + ("" if default else f" --index {self.index}")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files below an http(s) or s3 URL, with a local index."""

    url: str
    index: Path

    @property
    def root(self) -> str:
        """URL that the paths in the index are relative to."""
        return self.url.rstrip("/")

    @property
    def command(self) -> str:
        """The command that indexes this collection."""
        return f"timegate index {self.url} --index {self.index}"


_ASSERTED: Final = ".asserted."


def asserted_name(stem: str, rest: str) -> str:
    """Return the name of a file whose captures have the times that their writers assert."""
    return f"{stem}{_ASSERTED}{rest}"


def is_asserted(name: str) -> bool:
    """Whether the times of the captures in the file *name* are those that writers asserted.

    The name says so, because it stays with the records when an index is built again.
    """
    return _ASSERTED in name


def is_remote_path(path: str) -> bool:
    """Whether *path* is the URL of files on another machine."""
    return path.lower().startswith(("s3://", "http://", "https://"))


Kind = Literal["warc", "wacz", "cdx"]


class FileInfo(NamedTuple):
    """One file of a collection, as listed."""

    path: str
    """Relative to the collection."""
    kind: Kind
    size: int
    mtime: int
    """In nanoseconds."""


class FolderContents(NamedTuple):
    """The result of listing a collection."""

    files: dict[str, FileInfo]
    """By path."""
    unreadable: tuple[str, ...]
    """Folders and files that could not be read, so that they must not count as removed."""

    def is_unreadable(self, path: str) -> bool:
        """Whether *path* could not be read, or is in a folder that could not."""
        return any(not bad or f"{path}/".startswith(f"{bad}/") for bad in self.unreadable)


MAX_SHOWN: Final = 20
"""Problems kept with their text; the others are only counted."""


class FileProblem(NamedTuple):
    """A problem in a file: at which offset, and why."""

    file: str
    offset: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}@{self.offset}: {self.why}"


class IndexProgress(NamedTuple):
    """Progress of an indexing run; octets are stored bytes of files."""

    files: int
    of_files: int
    octets: int
    of_octets: int
    captures: int


@dataclass(slots=True)
class IndexSummary:
    """The result of an indexing run."""

    files: int = 0
    """WARCs, ARCs and WACZs in the collection."""
    read: int = 0
    continued: int = 0
    """Of the files read, those that had only grown."""
    from_cdx: int = 0
    """Files whose captures were taken from a CDX file."""
    unchanged: int = 0
    gone: int = 0
    captures: int = 0
    """Rows written by this run."""
    octets: int = 0
    rebuilt: bool = False
    """Whether a damaged index was replaced by a new one."""
    complaints: int = 0
    shown: list[FileProblem] = field(default_factory=list)

    def complain(self, file: str, offset: int, why: str) -> None:
        """Count a problem, and keep its text unless there are too many already."""
        self.complaints += 1
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(FileProblem(file, offset, why))


_SECOND: Final = 1_000_000_000
_FRACTION_DIGITS: Final = 9
"""Digits of a fraction of a second; a WARC-Date has no more (WARC 1.1, 5.4)."""
Distance = tuple[int, bool, int, bool, bool, str, str]


def nanoseconds(digits: str) -> int:
    """Return the Unix time of *digits*, 14 or more of them, in nanoseconds."""
    second = _seconds(digits[:14]) * _SECOND
    fraction = digits[14 : 14 + _FRACTION_DIGITS]
    return second + int(fraction.ljust(_FRACTION_DIGITS, "0")) if fraction else second


@lru_cache(maxsize=4096)
def _seconds(stamp: str) -> int:
    return int(whole_second(stamp).timestamp())


def pivot(at: Moment) -> str:
    """Return the instant to search around: the nearest row is directly before or after it."""
    if len(at.digits) > 14:
        return at.digits
    whole = len(at.digits) == 14 and at.digits[12:] != "60"
    return at.digits if whole else Moment.of(at.negotiated).digits


def referred_times(date: str) -> tuple[str, ...]:
    """Return the digits of the date to which a revisit refers, then those of its second."""
    digits = "".join(filter(str.isdigit, date))
    return tuple(dict.fromkeys((digits, digits[:14])))


def nearest_row(rows: Iterable[IndexRow], url: str, at: Moment) -> IndexRow | None:
    """Return the row with the least distance from *url* and *at*."""
    return min(rows, key=distance_from(url, at), default=None)


def newest_row(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the latest row; on ties the exact URL first, then a page before an error."""
    return max(rows, key=lambda row: (row.stamp, row.url == url, is_page(row)), default=None)


def best_row(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the best of *rows* that all have the requested time."""
    return max(rows, key=lambda row: (row.url == url, is_page(row)), default=None)


def distance_from(url: str, at: Moment) -> Callable[[IndexRow], Distance]:
    """Return a sort key for rows: the least is the best match for *url* and *at*."""
    first, last, instant = _bounds(at)
    digits = at.digits

    def measure(row: IndexRow) -> Distance:
        stamp = row.stamp
        captured = nanoseconds(stamp)
        inside = stamp.startswith(digits)
        outside = 0 if inside else max(first - captured, captured - last, 0)
        other = row.url != url
        away = abs(captured - instant)
        return outside, inside and other, away, other, not is_page(row), stamp, row.url

    return measure


@lru_cache(maxsize=1024)
def _bounds(at: Moment) -> tuple[int, int, int]:
    """Return the first and the last second of *at*'s interval, and its `pivot`."""
    instant = nanoseconds(pivot(at))
    if len(at.digits) >= 14:
        return instant, instant, instant
    first, last = at.window
    return int(first.timestamp()) * _SECOND, int(last.timestamp()) * _SECOND, instant


def is_page(row: IndexRow) -> bool:
    """Whether the row is a page: not known to be an error or a redirect (S-5)."""
    return row.status is None or 200 <= row.status <= 299
