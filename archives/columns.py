"""Captures in columns: a list of a million captures is three lists, and no object for each.

Reading, merging and writing a list takes a fraction of the time if each step works on a whole
column, and if what captures have in common is stated once (`Details`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice
from operator import eq, lt
from typing import Final, NamedTuple, SupportsIndex, overload

from archives.model import Memento


class Details(NamedTuple):
    """What captures have apart from stamp and address; captures of one list share it."""

    original: str
    archive: str
    status: int | None = None
    mime: str | None = None
    digest: str | None = None
    is_asserted: bool = False
    length: int | None = None


_new: Final = tuple.__new__


class CaptureColumns(Sequence[Memento]):
    """Captures in columns of equal length, in any order. As a sequence, it has mementos."""

    __slots__ = ("details", "stamps", "uris")

    def __init__(
        self, stamps: list[str], uris: list[str], details: list[Details] | Details
    ) -> None:
        """Use the lists as they are; *details* may be the same for all captures."""
        self.stamps = stamps
        self.uris = uris
        self.details = details if isinstance(details, list) else [details] * len(stamps)

    @classmethod
    def of(cls, captures: Sequence[Memento]) -> "CaptureColumns":
        """Return *captures* in columns."""
        if isinstance(captures, CaptureColumns):
            return captures
        shared: dict[tuple[object, ...], Details] = {}
        details = [shared.setdefault(c[2:], _new(Details, c[2:])) for c in captures]
        return cls([c[0] for c in captures], [c[1] for c in captures], details)

    def __len__(self) -> int:
        return len(self.stamps)

    def __iter__(self) -> Iterator[Memento]:
        for stamp, uri, details in zip(self.stamps, self.uris, self.details, strict=True):
            yield _new(Memento, (stamp, uri, *details))

    @overload
    def __getitem__(self, index: SupportsIndex) -> Memento: ...

    @overload
    def __getitem__(self, index: slice) -> "CaptureColumns": ...

    def __getitem__(self, index: SupportsIndex | slice) -> "Memento | CaptureColumns":
        if isinstance(index, slice):
            return CaptureColumns(self.stamps[index], self.uris[index], self.details[index])
        return Memento(self.stamps[index], self.uris[index], *self.details[index])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CaptureColumns.of({list(self)!r})"

    @property
    def ascends(self) -> bool:
        """Whether no capture is older than the one before it."""
        return self.stamps == sorted(self.stamps)

    @property
    def has_distinct_stamps(self) -> bool:
        """Whether it ascends and no two captures have the same stamp."""
        return all(map(lt, self.stamps, islice(self.stamps, 1, None)))

    def extend(self, more: Sequence[Memento]) -> None:
        """Add *more* at the end."""
        added = CaptureColumns.of(more)
        self.stamps += added.stamps
        self.uris += added.uris
        self.details += added.details

    def pop_first(self, count: int) -> "CaptureColumns":
        """Take out the first *count* captures."""
        taken = self[:count]
        del self.stamps[:count], self.uris[:count], self.details[:count]
        return taken

    def before(self, stamp: str) -> int:
        """Return the number of captures before *stamp*; they must ascend."""
        return bisect_left(self.stamps, stamp)

    def chosen(self, flags: Sequence[bool]) -> "CaptureColumns":
        """Return the captures whose flag is true."""
        columns = (self.stamps, self.uris, self.details)
        return CaptureColumns(*([*compress(column, flags)] for column in columns))  # type: ignore[arg-type]

    def each_once(self) -> "CaptureColumns":
        """Return the captures without those that are equal to an earlier one."""
        if self.has_distinct_stamps:
            return self
        return from_rows(dict.fromkeys(zip(self.stamps, self.uris, self.details, strict=True)))


def in_order(parts: Iterable[CaptureColumns]) -> CaptureColumns:
    """Return all captures of *parts* in order of stamp and address."""
    joined = CaptureColumns([], [], [])
    for part in parts:
        joined.extend(part)
    stamps, uris, details = joined.stamps, joined.uris, joined.details
    # Each part is a sorted run as a rule, and the sort merges runs. Keys of two values take
    # six times as long, so captures with the same stamp are sorted afterwards.
    order = sorted(range(len(stamps)), key=stamps.__getitem__)
    for first, end in _runs([stamps[at] for at in order]):
        order[first:end] = sorted(order[first:end], key=uris.__getitem__)
    columns = [[column[at] for at in order] for column in (stamps, uris, details)]
    return CaptureColumns(*columns)  # type: ignore[arg-type]  # the columns are of three types


def _runs(stamps: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where runs of equal *stamps* begin and end, if they have more than one."""
    same = [*map(eq, stamps, islice(stamps, 1, None)), False]
    end = 0
    while True:
        try:
            first = same.index(True, end)
        except ValueError:
            return
        end = same.index(False, first)
        yield first, end + 1


def from_rows(rows: Iterable[tuple[str, str, Details]]) -> CaptureColumns:
    """Return the captures in *rows* of stamp, address and details."""
    listed = [*rows]
    return CaptureColumns(
        [r[0] for r in listed], [r[1] for r in listed], [r[2] for r in listed]
    )
