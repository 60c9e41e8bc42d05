"""What the index of a local collection tells: a row for each capture, and where it lies."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from archives.moment import Moment, whole_second

Key = tuple[str, str, int, int]
"""Where a row stands in the index: SURT, stamp, part, offset."""


class IndexRow(NamedTuple):
    """One capture as it is found: what the index knows of it, and which file to open."""

    stamp: str
    """UTC digits as far as the WARC-Date goes, at least 14 (T-9)."""
    url: str
    mime: str | None
    status: int | None
    digest: str | None
    offset: int
    """Of the record in *file*, also where *file* is a WACZ."""
    length: int
    """Of the record as it is stored; 0 where a CDX file did not say."""
    surt: str
    file: str
    """Absolute path of the file to open."""
    name: str
    """What a CDX row calls it: the file name, or the name of the WARC in a WACZ."""
    part: int = 0
    """Which part of the index it belongs to; with the others it makes the row's place."""

    @property
    def key(self) -> Key:
        """The place of this row, to go on behind it."""
        return self.surt, self.stamp, self.part, self.offset


class CaptureIndex(Protocol):
    """What can be asked of a collection. Each raises ArchiveError where it cannot tell."""

    async def nearest_with_neighbours(self, url: str, at: Moment | None) -> Sequence[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last."""
        ...

    def captures_of(self, url: str) -> AsyncGenerator[Sequence[IndexRow], None]:
        """Yield every capture in batches, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """A folder of WARCs, or a single one, with its index."""

    path: Path
    """As the operator named it."""
    root: Path
    """What the paths in the index are relative to."""
    index: Path
    is_file: bool = False

    @classmethod
    def of(cls, path: Path, index: Path | None = None) -> "LocalFiles":
        """Return the place of the collection at *path*; *index* if not the usual one."""
        whole = path.absolute()
        if whole.is_file():
            usual = whole.with_name(f"{whole.name}.timegate.sqlite")
            return cls(path, whole.parent, index or usual, is_file=True)
        return cls(path, whole, index or whole / ".timegate" / "index.sqlite")

    @property
    def command(self) -> str:
        """What to type to have it indexed."""
        usual = LocalFiles.of(self.path).index == self.index
        return f"timegate index {self.path}" + ("" if usual else f" --index {self.index}")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files on another machine, below an http(s) or s3 URL, with their index here."""

    url: str
    index: Path

    @property
    def root(self) -> str:
        """What the paths in the index are relative to."""
        return self.url.rstrip("/")

    @property
    def command(self) -> str:
        """What to type to have it indexed."""
        return f"timegate index {self.url} --index {self.index}"


def is_remote_path(path: str) -> bool:
    """Whether *path* is the address of files on another machine."""
    return path.lower().startswith(("s3://", "http://", "https://"))


Kind = Literal["warc", "wacz", "cdx"]


class FileInfo(NamedTuple):
    """One file as the walk saw it."""

    path: str
    """Relative to the collection."""
    kind: Kind
    size: int
    mtime: int
    """In nanoseconds."""


class FolderContents(NamedTuple):
    """What a walk found."""

    files: dict[str, FileInfo]
    """By path."""
    unreadable: tuple[str, ...]
    """Folders and files that could not be looked at: nobody knows whether they are gone."""

    def is_unreadable(self, path: str) -> bool:
        """Whether *path* is among them, or in one of them."""
        return any(not each or f"{path}/".startswith(f"{each}/") for each in self.unreadable)


MAX_SHOWN: Final = 20
"""Complaints that are kept in words; the others are counted."""


class FileProblem(NamedTuple):
    """Something that could not be used, and where."""

    file: str
    offset: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}@{self.offset}: {self.why}"


class IndexProgress(NamedTuple):
    """How far a run is; octets are those of the files, as they are stored."""

    files: int
    of_files: int
    octets: int
    of_octets: int
    captures: int


@dataclass(slots=True)
class IndexSummary:
    """What a run did."""

    files: int = 0
    """WARCs, ARCs and WACZs in the collection."""
    read: int = 0
    continued: int = 0
    """Of those read: how many had only grown."""
    from_cdx: int = 0
    """Taken from a CDX file instead of being read."""
    unchanged: int = 0
    gone: int = 0
    captures: int = 0
    """Rows that this run wrote."""
    octets: int = 0
    rebuilt: bool = False
    """Whether a damaged index was set aside."""
    complaints: int = 0
    shown: list[FileProblem] = field(default_factory=list)

    def complain(self, file: str, offset: int, why: str) -> None:
        """Count a complaint, and keep its words if there are not too many already."""
        self.complaints += 1
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(FileProblem(file, offset, why))


_SECOND: Final = 1_000_000_000
_FINEST: Final = 9
"""Digits of a fraction that are counted; a WARC-Date has no more (WARC 1.1, 5.4)."""
Distance = tuple[int, bool, int, bool, bool, str, str]


def nanoseconds(digits: str) -> int:
    """Return when *digits* begin, 14 of them or more, counted from 1970."""
    second = _seconds(digits[:14]) * _SECOND
    fraction = digits[14 : 14 + _FINEST]
    return second + int(fraction.ljust(_FINEST, "0")) if fraction else second


@lru_cache(maxsize=4096)
def _seconds(stamp: str) -> int:
    return int(whole_second(stamp).timestamp())


def pivot(at: Moment) -> str:
    """Return the instant from which to look both ways: the nearest is next to it."""
    if len(at.digits) > 14:
        return at.digits
    whole = len(at.digits) == 14 and at.digits[12:] != "60"
    return at.digits if whole else Moment.of(at.negotiated).digits


def nearest_row(rows: Iterable[IndexRow], url: str, at: Moment) -> IndexRow | None:
    """Return the best of *rows*."""
    return min(rows, key=distance_from(url, at), default=None)


def newest_row(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the latest; of those as late the very URL, then a page rather than an error."""
    return max(rows, key=lambda row: (row.stamp, row.url == url, is_page(row)), default=None)


def best_of_second(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the best of captures that are all of the time asked for."""
    return max(rows, key=lambda row: (row.url == url, is_page(row)), default=None)


def distance_from(url: str, at: Moment) -> Callable[[IndexRow], Distance]:
    """Return what measures how far a row is from what was asked: the least is the best."""
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
    """Return the first and the last second that *at* can mean, and its `pivot`."""
    instant = nanoseconds(pivot(at))
    if len(at.digits) >= 14:
        return instant, instant, instant
    first, last = at.window
    return int(first.timestamp()) * _SECOND, int(last.timestamp()) * _SECOND, instant


def is_page(row: IndexRow) -> bool:
    """Whether it is not known to be an error or a redirect (S-5)."""
    return row.status is None or 200 <= row.status <= 299
