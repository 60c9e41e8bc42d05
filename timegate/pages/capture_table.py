"""Table of the captures of one page, oldest first, in columns: to count, filter and page them.

A capture takes some 100 bytes here instead of 500 as an object, so that the table of a page
with 100,000 captures can be kept while its calendar and lists are looked at.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from archives.errors import ArchiveError
from archives.model import Memento
from archives.moment import Moment

_UNKNOWN: Final = 0
_DAY: Final = 1_000_000
"""A stamp of 14 digits, divided by this, is the day."""
_MONTH: Final = 100 * _DAY
_SECOND: Final = 14
_LOW: Final = "00000000000000"
_HIGH: Final = "99999999999999"
STATUSES: Final = ("2xx", "3xx", "4xx", "5xx", "unknown")
"""The classes of archived statuses by which captures are filtered."""


class ListedCapture(NamedTuple):
    """One capture of the table."""

    stamp: str
    uri: str
    archive: str
    status: int | None


@dataclass(frozen=True, slots=True)
class CaptureFilter:
    """Which captures are meant."""

    archive: str = ""
    """The id of an archive; empty for all."""
    status: str = ""
    """One of `STATUSES`; empty for all."""
    since: Moment | None = None
    """The first moment that is included."""
    until: Moment | None = None
    """The last moment that is included, as long as it was stated: all of 2013."""

    @property
    def year(self) -> int | None:
        """The year in which all captures are; None if they may be in several."""
        years = {m.digits[:4] if m else "" for m in (self.since, self.until)}
        return int(years.pop()) if len(years) == 1 and "" not in years else None


class ArchiveCount(NamedTuple):
    """The captures of one archive."""

    archive: str
    number: int
    first: ListedCapture
    last: ListedCapture


@dataclass(slots=True)
class CaptureTable:
    """The captures of one page, and which archives did not list theirs."""

    asked: tuple[str, ...]
    failures: Mapping[str, ArchiveError] = field(default_factory=dict)
    """Why the list of an archive is missing or incomplete."""
    truncated: bool = False
    """Whether there are more captures than the table holds."""
    _stamps: "array[int]" = field(default_factory=lambda: array("Q"))
    _archives: "array[int]" = field(default_factory=lambda: array("H"))
    _statuses: "array[int]" = field(default_factory=lambda: array("H"))
    _ends: "array[int]" = field(default_factory=lambda: array("Q"))
    _uris: bytearray = field(default_factory=bytearray)
    _months: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """Captures by month, archive and class of status."""

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self._uris) + 20 * len(self._stamps) + 1_000

    def add(self, captures: Sequence[Memento]) -> None:
        """Append *captures*, which are not older than those before."""
        number = {archive: index for index, archive in enumerate(self.asked)}
        stamps = [int(capture[0][:_SECOND]) for capture in captures]
        archives = [number[capture[3]] for capture in captures]
        statuses = [_stored(capture[4]) for capture in captures]
        end = len(self._uris)
        for capture in captures:
            uri = capture[1].encode(errors="surrogatepass")
            self._uris += uri
            end += len(uri)
            self._ends.append(end)
        self._stamps.extend(stamps)
        self._archives.extend(archives)
        self._statuses.extend(statuses)
        self._months.update(
            (stamp // _MONTH, archive, status // 100)
            for stamp, archive, status in zip(stamps, archives, statuses, strict=True)
        )

    def at(self, index: int) -> ListedCapture:
        """Return one capture."""
        start = self._ends[index - 1] if index else 0
        uri = self._uris[start : self._ends[index]].decode(errors="surrogatepass")
        status = self._statuses[index]
        return ListedCapture(
            f"{self._stamps[index]:014}",
            uri,
            self.asked[self._archives[index]],
            None if status == _UNKNOWN else status,
        )

    def select(self, wanted: CaptureFilter) -> Sequence[int]:
        """Return the indices of the captures that *wanted* means, oldest first."""
        since, until = _bound(wanted.since, _LOW), _bound(wanted.until, _HIGH)
        start, stop = bisect_left(self._stamps, since), bisect_right(self._stamps, until)
        if not wanted.archive and not wanted.status:
            return range(start, max(start, stop))
        archive, status = self._number(wanted.archive), _class(wanted.status)
        return [
            index
            for index in range(start, stop)
            if (archive is None or self._archives[index] == archive)
            and (status is None or self._statuses[index] // 100 == status)
        ]

    def months(self, wanted: CaptureFilter) -> Mapping[tuple[int, int], int]:
        """Return the captures that *wanted* means, by year and month."""
        archive, status = self._number(wanted.archive), _class(wanted.status)
        since = _bound(wanted.since, _LOW) // _MONTH
        until = _bound(wanted.until, _HIGH) // _MONTH
        counts: Counter[tuple[int, int]] = Counter()
        for (month, holder, code), count in self._months.items():
            fits = (archive is None or holder == archive) and since <= month <= until
            if fits and (status is None or code == status):
                counts[divmod(month, 100)] += count
        # The first and the last month may be cut by the times of *wanted*.
        for edge in {since, until} & {month for month, _, _ in self._months}:
            whole = Moment(f"{edge:06}")
            inside = self.select(replace(wanted, since=whole, until=whole))
            both = self.select(wanted)
            low, high = (both[0], both[-1]) if both else (0, -1)
            counts[divmod(edge, 100)] = sum(1 for index in inside if low <= index <= high)
        return +counts

    def days(self, indices: Sequence[int]) -> Mapping[tuple[int, int], int]:
        """Return the captures of *indices*, which are of one year, by month and day."""
        counts = Counter(self._stamps[index] // _DAY for index in indices)
        return {divmod(day % 10_000, 100): count for day, count in counts.items()}

    def by_archive(self, indices: Sequence[int]) -> Iterator[ArchiveCount]:
        """Yield the captures of *indices* by archive, the archive with most of them first."""
        holders = [self._archives[index] for index in indices]
        firsts: dict[int, int] = {}
        for index, holder in zip(indices, holders, strict=True):
            firsts.setdefault(holder, index)
        lasts = dict(zip(holders, indices, strict=True))
        for holder, count in Counter(holders).most_common():
            first, last = self.at(firsts[holder]), self.at(lasts[holder])
            yield ArchiveCount(self.asked[holder], count, first, last)

    @property
    def holders(self) -> int:
        """The number of archives with captures."""
        return len({archive for _, archive, _ in self._months})

    def without_status(self) -> int:
        """Return the number of captures whose archives do not state a status."""
        return sum(count for (_, _, code), count in self._months.items() if code == _UNKNOWN)

    def _number(self, archive: str) -> int | None:
        """Return the number of *archive*, one that no capture has if it was not asked."""
        if not archive:
            return None
        return self.asked.index(archive) if archive in self.asked else len(self.asked)


def _stored(status: int | None) -> int:
    return status if status is not None and 100 <= status <= 599 else _UNKNOWN


def _class(status: str) -> int | None:
    if not status:
        return None
    return _UNKNOWN if status == "unknown" else int(status[0])


def _bound(moment: Moment | None, padding: str) -> int:
    """Return the first or the last stamp of *moment*; digits that it does not have are padded.

    The padded digits need not be a time: they are only compared with those that are.
    """
    digits = "" if moment is None else moment.digits[:_SECOND]
    return int(digits + padding[len(digits) :])
