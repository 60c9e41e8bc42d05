"""Selects the captures of a CDX query from a list in chronological order.

Filters are applied first, then equal neighbours are collapsed, then rows are counted. Captures
that a filter cannot judge are left out and counted. After a resume key, the list is read from
its beginning again and the rows already sent are skipped, so that a client gets the same rows
as without a limit.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from archives.model import Memento
from archives.moment import Moment, second_of
from archives.nearest import Remoteness, remoteness
from timegate.cdx.formats import FIELDS, Capture, FiledCapture
from timegate.cdx.query import CdxQuery, Collapse, is_unknown, resume_key

_distance: Final = itemgetter(0)


class Selection:
    """Call `take` with captures as they arrive until *done* is set, then `rest` once."""

    def __init__(self, query: CdxQuery) -> None:
        self._query = query
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

    def take(self, captures: Sequence[Capture]) -> list[Capture]:
        """Return the rows that can be sent now."""
        wanted = [*self._counted_off(self._wanted(captures))]
        if self._held is None:
            return [*self._limited(wanted)]
        self._held.add(wanted)
        self.done = self.done or self._held.done
        return []

    def rest(self) -> list[Capture]:
        """Return the rows that could not be sent before the end."""
        return [] if self._held is None else self._held.rows()

    def _wanted(self, captures: Sequence[Capture]) -> Iterator[Capture]:
        since, until = self._query.since, self._query.until
        for capture in captures:
            if until and capture.stamp[: len(until)] > until:
                if not self._in_order:
                    continue
                self.done = True
                return
            if capture.stamp < since or not self._passes(capture):
                continue
            if all(collapser.passes(capture) for collapser in self._collapsers):
                yield capture

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

    def _counted_off(self, captures: Iterator[Capture]) -> Iterator[Capture]:
        """Skip the offset, unless it counts from the end."""
        query = self._query
        offset = 0 if query.holds else query.offset
        for capture in captures:
            self._counted += 1
            if self._counted > offset and (query.after is None or capture[:2] > query.after):
                yield capture

    def _limited(self, captures: Sequence[Capture]) -> Iterator[Capture]:
        for capture in captures:
            if self._sent == self._query.limit:
                # One row more than the limit: the client can continue.
                if self._query.resumable and self._last is not None:
                    self.resume_key = resume_key(self._last)
                self.done = True
                return
            self._sent += 1
            self._last = capture
            yield capture
        if self._sent == self._query.limit and not self._query.resumable:
            self.done = True


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
        self._captures.extend(captures)

    def rows(self) -> list[Capture]:
        newest_first = [*reversed(self._captures)][self._offset :]
        return newest_first if self._newest_first else newest_first[::-1]


class _Nearest:
    """Keeps the rows nearest to a moment, nearest first."""

    def __init__(self, query: CdxQuery, near: Moment) -> None:
        self._offset = query.offset
        self._most = query.limit + query.offset
        self._instant = near.negotiated
        self._remoteness = remoteness(near)
        self._in_order = query.match == "exact"
        self._held: list[tuple[Remoteness, Capture]] = []
        self.done = False

    def add(self, captures: Sequence[Capture]) -> None:
        if not captures:
            return
        self._held += [(self._remoteness(_memento(capture)), capture) for capture in captures]
        newest = self._held[-1]
        if len(self._held) > self._most:
            self._held.sort(key=_distance)
            del self._held[self._most :]
            # After the instant, every capture is farther away than the one before it.
            is_past = second_of(newest[1].stamp) > self._instant
            self.done = self._in_order and is_past and newest[0] > self._held[-1][0]

    def rows(self) -> list[Capture]:
        return [capture for _, capture in sorted(self._held, key=_distance)][self._offset :]


def _memento(capture: Capture) -> Memento:
    return capture.memento if isinstance(capture, FiledCapture) else capture


def _holder(query: CdxQuery) -> _Newest | _Nearest | None:
    if query.near is not None:
        return _Nearest(query, query.near)
    return _Newest(query) if query.holds else None
