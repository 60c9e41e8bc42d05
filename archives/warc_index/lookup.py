"""Queries to the index; each reads a few rows in one range of its primary key.

Each query is its own read transaction: it sees what an indexing run has published meanwhile,
and does not block the run's checkpoints. Each thread has its own connection.
"""

import os
import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import Final

from archives.moment import Moment
from archives.source import ALL, WantedCaptures
from archives.surt import surt
from archives.uri import equivalent
from archives.warc.captures import REVISIT
from archives.warc_index.database import open_reader
from archives.warc_index.model import (
    IndexRow,
    Key,
    best_row,
    is_page,
    nearest_row,
    newest_row,
    pivot,
    referred_times,
)

BATCH: Final = 1000
_CLOSE_ROWS: Final = 8
"""Rows read on each side: enough for captures of one second in several URL variants."""
_DISTANT_ROWS: Final = 1000
"""Rows read on each side to find the exact URL if a variant of it is nearer."""
_RECENT_ROWS: Final = 100
_MOST_DIGITS: Final = 23
"""Digits of a stamp with nanoseconds."""

# CROSS JOIN makes SQLite read captures before parts; state 1 is LIVE.
_SELECT: Final = (
    "SELECT c.stamp, c.url, c.mime, c.status, c.digest, c.offset, c.length, c.surt, p.path, "
    "p.member, c.part FROM capture c CROSS JOIN part p ON p.id = c.part "
    "WHERE p.state = 1 AND "
)


def _union(*conditions: str) -> str:
    """Return one query for the rows of all *conditions*."""
    return " UNION ALL ".join(
        f"SELECT * FROM ({_SELECT} {condition})"  # noqa: S608 -- constants of this module
        for condition in conditions
    )


_ASCENDING: Final = "ORDER BY c.stamp, c.part, c.offset LIMIT ?"
_DESCENDING: Final = "ORDER BY c.stamp DESC, c.part DESC, c.offset DESC LIMIT ?"
_UP_TO: Final = f"{_SELECT} c.surt = ? AND c.stamp <= ? AND c.stamp >= ? {_DESCENDING}"
_AFTER: Final = f"{_SELECT} c.surt = ? AND c.stamp > ? AND c.stamp < ? {_ASCENDING}"
# Enough for nearly every query: the row before an instant, and the row after it.
_ADJACENT: Final = _union(
    f"c.surt = ? AND c.stamp <= ? {_DESCENDING}",
    f"c.surt = ? AND c.stamp > ? {_ASCENDING}",
)
_NEWEST: Final = f"{_SELECT} c.surt = ? {_DESCENDING}"
_NEWEST_BEFORE: Final = (
    f"{_SELECT} c.surt = ? AND (c.stamp, c.part, c.offset) < (?, ?, ?) {_DESCENDING}"
)
# The first row, two before an instant, two after it, and the last: usually enough.
_NEIGHBOURHOOD: Final = _union(
    f"c.surt = ? {_ASCENDING}",
    f"c.surt = ? AND c.stamp <= ? {_DESCENDING}",
    f"c.surt = ? AND c.stamp > ? {_ASCENDING}",
    f"c.surt = ? {_DESCENDING}",
)
# The first, previous, next and last row of a capture, as far as they exist.
_NEIGHBOURS: Final = _union(
    f"c.surt = ? {_ASCENDING}",
    f"c.surt = ? AND c.stamp < ? {_DESCENDING}",
    f"c.surt = ? AND c.stamp > ? {_ASCENDING}",
    f"c.surt = ? {_DESCENDING}",
)
_EXACT: Final = f"{_SELECT} c.surt = ? AND c.stamp >= ? AND c.stamp < ? {_ASCENDING}"
_INSTANT: Final = f"{_SELECT} c.surt = ? AND c.stamp IN ({', '.join('?' * 10)})"
_FROM: Final = f"{_SELECT} c.surt = ? AND c.stamp >= ? AND c.stamp < ? {_ASCENDING}"
_PAGE: Final = (
    f"{_SELECT} c.surt = ? AND (c.stamp, c.part, c.offset) > (?, ?, ?) AND c.stamp < ? "
    f"{_ASCENDING}"
)
_RANGE: Final = (
    f"{_SELECT} (c.surt, c.stamp, c.part, c.offset) > (?, ?, ?, ?) AND c.surt < ? "
    "ORDER BY c.surt, c.stamp, c.part, c.offset LIMIT ?"
)
_NEWEST_WITH_DIGEST: Final = (
    f"SELECT * FROM ({_NEWEST}) WHERE digest = ? AND url = ? AND mime IS NOT ? LIMIT 1"  # noqa: S608 -- constants of this module
)
_VERSION: Final = (
    "SELECT count(*), min(c.stamp), max(c.stamp), max(c.part), "
    "sum((c.offset + c.part * 7919) % 1000000007) "
    "FROM capture c CROSS JOIN part p ON p.id = c.part WHERE p.state = 1 AND c.surt = ?"
)
_stamp_of: Final = attrgetter("stamp")
_order: Final = attrgetter("stamp", "part", "offset")
_AFTER_DIGITS: Final = ":"
"""The character after 9: sorts after all stamps with the same leading digits."""


class _ThreadConnection(threading.local):
    """The connection of one thread."""

    connection: sqlite3.Connection | None = None
    signature: tuple[int, int, int] | None = None


class Lookup:
    """Queries one index file from any thread. Raises OSError, or as `open_reader` does."""

    def __init__(self, index: Path, root: Path | str, busy_timeout: float) -> None:
        """Wait up to *busy_timeout* seconds for a process that has locked the file."""
        self._index = str(index)
        self._root = str(root)
        self._busy_timeout = busy_timeout
        self._local = _ThreadConnection()
        self._connections: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the connections of all threads, which must be idle."""
        while self._connections:
            self._connections.pop().close()

    def is_complete(self) -> bool:
        """Whether every file has been read once, so that a missing row means absence."""
        with closing(self._connection().execute("SELECT complete FROM pass")) as rows:
            return bool(rows.fetchone()[0])

    def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        """Return the capture nearest to *at*; the newest if that is None."""
        key = surt(url)
        if at is None:
            return newest_row(self._rows(_NEWEST, key, _CLOSE_ROWS), url)
        instant = pivot(at)
        adjacent = self._rows(_ADJACENT, key, instant, 1, key, instant, 1)
        nearest = nearest_row(adjacent, url, at)
        if nearest is None or (is_page(nearest) and all(row.url == url for row in adjacent)):
            return nearest
        return self._nearest_variant(key, url, at)

    def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture whose stamp is exactly *stamp*."""
        rows = self._rows(_EXACT, surt(url), stamp, stamp + "\0", _DISTANT_ROWS)
        return best_row(rows, url)

    def newest_spelled(self, url: str) -> IndexRow | None:
        """Return the newest capture of *url*, in any equivalent spelling, without variants."""
        key, before, most = surt(url), (_AFTER_DIGITS, 0, 0), _CLOSE_ROWS
        while rows := self._rows(_NEWEST_BEFORE, key, *before, most):
            for row in rows:
                if equivalent(row.url, url):
                    return row
            before, most = _order(rows[-1]), BATCH
        return None

    def at_instant(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture of *url*, without variants, at the instant of *stamp*.

        However many digits it has: 00, 00.0 and 00.000 are the same instant.
        """
        shortest = stamp[:14] + stamp[14:].rstrip("0")
        digits = [shortest.ljust(length, "0") for length in range(14, _MOST_DIGITS + 1)]
        rows = self._rows(_INSTANT, surt(url), *digits)
        return next((row for row in rows if equivalent(row.url, url)), None)

    def nearest_with_neighbours(self, url: str, at: Moment | None) -> list[IndexRow]:
        """Return the nearest capture, then the first, its two neighbours, and the last.

        A neighbour that does not exist is left out; first and last may be the nearest itself.
        The list is empty if there is no capture.
        """
        if at is not None:
            instant = pivot(at)
            rows = self._around_instant(surt(url), instant)
            if rows and all(row.url == url and is_page(row) for row in rows):
                arranged = _arranged(rows, instant, at)
                if arranged is not None:
                    return arranged
        nearest = self.nearest(url, at)
        if nearest is None:
            return []
        key, stamp = nearest.surt, nearest.stamp
        others = self._rows(_NEIGHBOURS, key, 1, key, stamp, 1, key, stamp, 1, key, 1)
        return [nearest, *others]

    def _around_instant(self, key: str, instant: str) -> Sequence[IndexRow]:
        """Return the first row, two before *instant*, two after it, and the last, in order."""
        rows = self._rows(_NEIGHBOURHOOD, key, 1, key, instant, 2, key, instant, 2, key, 1)
        return sorted(rows, key=_order)

    def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the original of a revisit: the record it refers to, or the same payload."""
        if refers_to is not None:
            target, date = refers_to
            # The record with all digits; some writers state the second only, and some date the
            # reference by their own clock: then the digest decides.
            for digits in referred_times(date):
                original = self._payload(target, digits, digits + _AFTER_DIGITS, digest)
                if original is not None:
                    return original
        if digest is None:
            return None
        return self._payload(url, "", _AFTER_DIGITS, digest)

    def newest_with_digest(self, url: str, digest: str) -> IndexRow | None:
        """Return the newest record of exactly *url* that holds the payload *digest*.

        Only recent captures are compared: what is found saves space, and nothing else.
        """
        query = (surt(url), _RECENT_ROWS, digest, url, REVISIT)
        return next(iter(self._rows(_NEWEST_WITH_DIGEST, *query)), None)

    def captures_of(
        self, url: str, after: Key | None, wanted: WantedCaptures = ALL
    ) -> list[IndexRow]:
        """Return the next captures of *url* after the row *after*, oldest first.

        They are in the time that is *wanted*.
        """
        _, stamp, part, offset = after or ("", wanted.since, -1, -1)
        end = wanted.until + _AFTER_DIGITS
        return self._rows(_PAGE, surt(url), stamp, part, offset, end, BATCH)

    def excerpt(self, url: str, wanted: WantedCaptures) -> list[IndexRow] | None:
        """Return the captures *wanted*, oldest first, in one range of the index on each side.

        None if captures of one second are on both sides of the limit: then others may be
        preferred to these, and all must be read.
        """
        key, most = surt(url), (wanted.most or 0) + _CLOSE_ROWS
        first, end = wanted.since, wanted.until + _AFTER_DIGITS
        instant = wanted.instant + _AFTER_DIGITS if wanted.near else end
        before: list[IndexRow] = []
        after: list[IndexRow] = []
        if wanted.order != "oldest":
            before = self._rows(_UP_TO, key, min(instant, end), first, most)
        if wanted.order == "oldest":
            after = self._rows(_FROM, key, first, end, most)
        elif wanted.order == "nearest":
            from_first = first > instant
            query, start = (_FROM, first) if from_first else (_AFTER, instant)
            after = self._rows(query, key, start, end, most)
        for rows in (before, after):
            cut = len(rows) == most
            if cut and rows[-1].stamp[:14] == rows[-1 - _CLOSE_ROWS].stamp[:14]:
                return None
        return sorted([*before, *after], key=_order)

    def version_of(self, url: str) -> str:
        """Return a text that changes whenever the captures of *url* do."""
        with closing(self._connection().execute(_VERSION, (surt(url),))) as rows:
            return " ".join(map(str, rows.fetchone()))

    def captures_between(self, lower: str, upper: str, after: Key | None) -> list[IndexRow]:
        """Return the next captures after *after* with SURTs from *lower* to before *upper*."""
        return self._rows(_RANGE, *(after or (lower, "", 0, 0)), upper, BATCH)

    def _nearest_variant(self, key: str, url: str, at: Moment) -> IndexRow | None:
        """Search more rows if a variant or an archived error is next to the instant."""
        instant, digits = pivot(at), at.digits
        close = self._both_sides(key, instant, "", _AFTER_DIGITS, _CLOSE_ROWS)
        nearest = nearest_row(close, url, at)
        if nearest is None or not nearest.stamp.startswith(digits):
            return nearest
        inside = self._both_sides(key, instant, digits, digits + _AFTER_DIGITS, _DISTANT_ROWS)
        return nearest_row(inside, url, at)

    def _both_sides(
        self, key: str, instant: str, first: str, end: str, limit: int
    ) -> list[IndexRow]:
        before = self._rows(_UP_TO, key, instant, first, limit)
        return before + self._rows(_AFTER, key, instant, end, limit)

    def _payload(self, url: str, first: str, end: str, digest: str | None) -> IndexRow | None:
        rows = self._rows(_EXACT, surt(url), first, end, _DISTANT_ROWS)
        originals = [r for r in rows if r.mime != REVISIT and digest in (None, r.digest)]
        return best_row(originals, url)

    def _rows(self, query: str, *values: str | int) -> list[IndexRow]:
        rows = self._connection().execute(query, values).fetchall()
        return [
            IndexRow._make(
                (*fields, f"{self._root}/{path}", member or path.rpartition("/")[2], part)
            )
            for *fields, path, member, part in rows
        ]

    def _connection(self) -> sqlite3.Connection:
        """Return this thread's connection, opened again if the file was replaced."""
        status = os.stat(self._index)  # noqa: PTH116 -- per query; Path would double the time
        # The time too: SQLite does not notice changes to a file that it opened as immutable.
        signature = (status.st_dev, status.st_ino, status.st_mtime_ns)
        local = self._local
        if local.connection is None or local.signature != signature:
            if local.connection is not None:
                self._connections.remove(local.connection)
                local.connection.close()
                local.connection = None
            local.connection = open_reader(Path(self._index), self._busy_timeout)
            local.signature = signature
            self._connections.append(local.connection)
        return local.connection


def _arranged(rows: Sequence[IndexRow], instant: str, at: Moment) -> list[IndexRow] | None:
    """Return the nearest of *rows*, then the first, its neighbours, and the last.

    None if several captures share the nearest's time: its neighbours may then lie further away
    than the two rows on each side of *instant*.
    """
    here = bisect_right(rows, instant, key=_stamp_of)
    nearest = nearest_row(rows[max(here - 1, 0) : here + 1], rows[0].url, at) or rows[0]
    if len({row.key for row in rows if row.stamp == nearest.stamp}) > 1:
        return None
    before = [row for row in rows if row.stamp < nearest.stamp]
    after = [row for row in rows if row.stamp > nearest.stamp]
    return [nearest, rows[0], *before[-1:], *after[:1], rows[-1]]
