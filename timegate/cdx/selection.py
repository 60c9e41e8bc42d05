"""Selects the captures of a CDX query from a list in chronological order.

Filters are applied first, then equal neighbours are collapsed, then rows are counted. Captures
that a filter cannot judge are left out and counted. After a resume key, the list is read from
its beginning again and the rows already sent are skipped, so that a client gets the same rows
as without a limit.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import Final

from archives.columns import CaptureColumns
from archives.model import Memento
from archives.moment import Moment, second_of
from archives.nearest import Remoteness, remoteness
from timegate.cdx.formats import FIELDS, Capture, FiledCapture
from timegate.cdx.query import (
    CdxQuery,
    Collapse,
    RangePosition,
    is_unknown,
    range_resume_key,
    resume_key,
)

_distance: Final = itemgetter(0)


class Selection:
    """Call `take` with captures as they arrive until *done* is set, then `rest` once."""

    def __init__(
        self,
        query: CdxQuery,
        keys: Callable[[FiledCapture], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """*keys* returns the resume keys of archives before a capture of a range."""
        self._query = query
        self._keys = keys
        self._counters = _Counters(query) if query.counters else None
        # A range of URLs comes URL by URL, each in chronological order.
        self._in_order = query.match == "exact"
        self._collapsers = [_Collapser(collapse) for collapse in query.collapses]
        self._held = _holder(query)
        self._counted = 0
        self._sent = 0
        self._last: Capture | None = None
        self.done = False
        """Whether no later capture is wanted."""
        self.resume_key: str | None = None
        """Key to continue with; None if there are no more rows."""
        self.unjudged = 0
        """Number of captures that filters could not judge, because a field is unknown."""
        self.unjudged_archives: set[str] = set()
        """The archives of these captures."""

    @property
    def is_empty(self) -> bool:
        """Whether no row was found, not even one that the offset skips."""
        return self._counted == 0

    def take(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        """Return the rows that can be sent now."""
        chosen = self._wanted(captures)
        if self._counters is not None:
            chosen = self._counters.counted(captures, chosen)
        wanted = self._not_skipped(chosen)
        if self._held is None:
            return self._limited(wanted)
        self._held.add(wanted)
        self.done = self.done or self._held.done
        return ()

    def rest(self) -> Sequence[Capture]:
        """Return the rows that could not be sent before the end."""
        last = () if self._counters is None else self._counters.last()
        if self._held is None:
            return self._limited(self._not_skipped(last)) if last and not self.done else ()
        self._held.add(self._not_skipped(last))
        return self._held.rows()

    def _wanted(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        captures = self._in_time(captures)
        if self._query.filters:
            captures = _chosen(captures, map(self._passes, captures))
        for collapser in self._collapsers:
            captures = _chosen(captures, map(collapser.passes, captures))
        return captures

    def _in_time(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        since, until = self._query.since, self._query.until
        if not since and not until:
            return captures
        stamps = _stamps(captures)
        # A colon sorts after every digit, so after everything that begins with *until*.
        end = until + ":" if until else ":"
        if not self._in_order:
            return _chosen(captures, [since <= stamp < end for stamp in stamps])
        last = bisect_left(stamps, end)
        self.done = self.done or last < len(stamps)
        return captures[bisect_left(stamps, since) : last]

    def _passes(self, capture: Capture) -> bool:
        """Whether all filters accept *capture*; it is counted if that is unknown."""
        judged = True
        for each in self._query.filters:
            accepted = each.judges(capture)
            if accepted is None:
                judged = False
            elif not accepted:
                return False
        if not judged:
            self.unjudged += 1
            self.unjudged_archives.add(capture.archive)
        return judged

    def _not_skipped(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        """Skip the offset, unless it counts from the end, and what was sent before."""
        query = self._query
        offset = 0 if query.holds else query.offset
        skipped = max(offset - self._counted, 0)
        self._counted += len(captures)
        captures = captures[skipped:] if skipped else captures
        if query.resume is not None:
            after = query.resume.position
            return [c for c in captures if _position(c) > after]
        if query.after is None or not captures:
            return captures
        first = bisect_left(_stamps(captures), query.after.stamp)
        while first < len(captures) and captures[first][:2] <= query.after:
            first += 1
        return captures[first:]

    def _limited(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        query = self._query
        sent = captures[: query.limit - self._sent]
        self._sent += len(sent)
        self._last = sent[-1] if sent else self._last
        if len(sent) < len(captures):
            # One row more than the limit: the client can continue.
            if query.resumable and self._last is not None:
                self.resume_key = self._resume_key(self._last)
            self.done = True
        elif self._sent == query.limit and not query.resumable:
            self.done = True
        return sent

    def _resume_key(self, last: Capture) -> str:
        if isinstance(last, FiledCapture) and self._query.is_range:
            return range_resume_key(_position(last), self._keys(last))
        return resume_key(last)


def _position(capture: Capture) -> RangePosition:
    urlkey = capture.urlkey if isinstance(capture, FiledCapture) else ""
    return RangePosition(urlkey, capture.stamp, capture.uri)


class _Counters:
    """Counts duplicates, and captures that are left out between two rows.

    A row is held back until the next one, because captures after it may be left out.
    """

    def __init__(self, query: CdxQuery) -> None:
        self._urlkey = ""
        self._seen: dict[str, int] = {}
        self._row: FiledCapture | None = None
        self._holds_back = query.counters != ("dupecount",)

    def counted(
        self, captures: Sequence[Capture], chosen: Sequence[Capture]
    ) -> Sequence[Capture]:
        """Return *chosen*, some of *captures*, with their counts."""
        rows: list[Capture] = []
        remaining = iter(chosen)
        following = next(remaining, None)
        for capture in captures:
            if following is not None and capture[:2] == following[:2]:
                if self._row is not None:
                    rows.append(self._row)
                self._row = self._with_duplicates(following)
                following = next(remaining, None)
            elif self._row is not None:
                count = self._row.skipcount + 1
                self._row = self._row._replace(skipcount=count, endtimestamp=capture.stamp)
        if not self._holds_back:
            rows += self.last()
        return rows

    def last(self) -> Sequence[Capture]:
        """Return the row that is held back."""
        row, self._row = self._row, None
        return () if row is None else (row,)

    def _with_duplicates(self, capture: Capture) -> FiledCapture:
        row = capture if isinstance(capture, FiledCapture) else FiledCapture.of(capture)
        if row.urlkey != self._urlkey:
            self._urlkey, self._seen = row.urlkey, {}
        if row.digest is None:
            return row
        count = self._seen.get(row.digest, -1) + 1
        self._seen[row.digest] = count
        return row._replace(dupecount=count)


def _stamps(captures: Sequence[Capture]) -> Sequence[str]:
    return (
        captures.stamps if isinstance(captures, CaptureColumns) else [c.stamp for c in captures]
    )


def _chosen(captures: Sequence[Capture], chosen: Iterable[bool]) -> Sequence[Capture]:
    if isinstance(captures, CaptureColumns):
        return captures.chosen([*chosen])
    return [*compress(captures, chosen)]


class _Collapser:
    """Passes only the first of adjacent captures whose field begins alike."""

    def __init__(self, collapse: Collapse) -> None:
        self._field = FIELDS[collapse.field]
        self._length = collapse.length
        self._previous: str | None = None

    def passes(self, capture: Capture) -> bool:
        value = self._field(capture)[: self._length]
        same = value == self._previous and not is_unknown(value)
        self._previous = value
        return not same


class _Newest:
    """Keeps the newest rows, newest first or in chronological order."""

    done = False

    def __init__(self, query: CdxQuery) -> None:
        self._offset = query.offset
        self._captures = deque[Capture](maxlen=query.limit + query.offset)
        self._newest_first = query.order == "newest"

    def add(self, captures: Sequence[Capture]) -> None:
        self._captures.extend(captures[-(self._captures.maxlen or 1) :])

    def rows(self) -> Sequence[Capture]:
        newest_first = [*reversed(self._captures)][self._offset :]
        return newest_first if self._newest_first else newest_first[::-1]


class _Nearest:
    """Keeps the rows nearest to a moment, nearest first."""

    def __init__(self, query: CdxQuery, near: Moment) -> None:
        self._offset = query.offset
        self._most = query.limit + query.offset
        self._instant = near.negotiated
        self._digits = Moment.of(near.negotiated).digits
        self._remoteness = remoteness(near)
        self._in_order = query.match == "exact"
        self._held: list[tuple[Remoteness, Capture]] = []
        self.done = False

    def add(self, captures: Sequence[Capture]) -> None:
        near = self._near(captures) if self._in_order else captures
        if not near:
            return
        self._held += [(self._remoteness(_memento(capture)), capture) for capture in near]
        newest = self._held[-1]
        if len(self._held) > self._most:
            self._held.sort(key=_distance)
            del self._held[self._most :]
            # After the instant, every capture is farther away than the one before it.
            is_past = second_of(newest[1].stamp) > self._instant
            self.done = self._in_order and is_past and newest[0] > self._held[-1][0]

    def _near(self, captures: Sequence[Capture]) -> Sequence[Capture]:
        """Return the last captures up to the instant, and the first after it.

        As many as are wanted on each side, with all that share a second with these: captures
        further away on the same side have a greater distance.
        """
        stamps, most = _stamps(captures), self._most
        here = bisect_left(stamps, self._digits + ":")
        first, last = max(here - most, 0), min(here + most, len(stamps))
        if first:
            first = bisect_left(stamps, stamps[first][:14])
        if last < len(stamps):
            last = bisect_left(stamps, stamps[last - 1][:14] + ":")
        return captures[first:last]

    def rows(self) -> Sequence[Capture]:
        return [capture for _, capture in sorted(self._held, key=_distance)][self._offset :]


def _memento(capture: Capture) -> Memento:
    return capture.memento if isinstance(capture, FiledCapture) else capture


def _holder(query: CdxQuery) -> _Newest | _Nearest | None:
    if query.near is not None:
        return _Nearest(query, query.near)
    return _Newest(query) if query.holds else None
