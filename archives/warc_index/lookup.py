"""Questions to the index, each a few rows of one range of its primary key.

Every question is a read transaction of its own: what a builder made visible meanwhile is seen
by the next one, and nobody holds up its checkpoints. Connections belong to threads.
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
from archives.surt import surt
from archives.warc_index.database import open_reader
from archives.warc_index.model import (
    IndexRow,
    Key,
    best_of_second,
    is_page,
    nearest_row,
    newest_row,
    pivot,
)

BATCH: Final = 1000
_FEW: Final = 8
"""Rows to each side that are looked at: captures of one second, in several variants."""
_FAR: Final = 1000
"""Rows to each side among which the very URL is looked for, where a variant is nearer."""

# CROSS JOIN keeps SQLite from beginning with the parts; state 1 is LIVE.
_SELECT: Final = (
    "SELECT c.stamp, c.url, c.mime, c.status, c.digest, c.offset, c.length, c.surt, p.path, "
    "p.member, c.part FROM capture c CROSS JOIN part p ON p.id = c.part "
    "WHERE p.state = 1 AND "
)


def _united(*conditions: str) -> str:
    """Return one query for the rows of several."""
    return " UNION ALL ".join(
        f"SELECT * FROM ({_SELECT} {condition})"  # noqa: S608 -- constants of ours
        for condition in conditions
    )


_UP: Final = "ORDER BY c.stamp, c.part, c.offset LIMIT ?"
_DOWN: Final = "ORDER BY c.stamp DESC, c.part DESC, c.offset DESC LIMIT ?"
_NOT_AFTER: Final = f"{_SELECT} c.surt = ? AND c.stamp <= ? AND c.stamp >= ? {_DOWN}"
_AFTER: Final = f"{_SELECT} c.surt = ? AND c.stamp > ? AND c.stamp < ? {_UP}"
# What nearly every question comes down to: the row before an instant, and the row behind it.
_BESIDE: Final = _united(
    f"c.surt = ? AND c.stamp <= ? {_DOWN}",
    f"c.surt = ? AND c.stamp > ? {_UP}",
)
_LAST: Final = f"{_SELECT} c.surt = ? {_DOWN}"
# The first, two before an instant, two behind it, and the last: mostly all that is wanted.
_PLACED: Final = _united(
    f"c.surt = ? {_UP}",
    f"c.surt = ? AND c.stamp <= ? {_DOWN}",
    f"c.surt = ? AND c.stamp > ? {_UP}",
    f"c.surt = ? {_DOWN}",
)
# First, previous, next and last, each one row or none.
_SURROUNDING: Final = _united(
    f"c.surt = ? {_UP}",
    f"c.surt = ? AND c.stamp < ? {_DOWN}",
    f"c.surt = ? AND c.stamp > ? {_UP}",
    f"c.surt = ? {_DOWN}",
)
_EXACT: Final = f"{_SELECT} c.surt = ? AND c.stamp >= ? AND c.stamp < ? {_UP}"
_PAGE: Final = f"{_SELECT} c.surt = ? AND (c.stamp, c.part, c.offset) > (?, ?, ?) {_UP}"
_RANGE: Final = (
    f"{_SELECT} (c.surt, c.stamp, c.part, c.offset) > (?, ?, ?, ?) AND c.surt < ? "
    "ORDER BY c.surt, c.stamp, c.part, c.offset LIMIT ?"
)
_stamp: Final = attrgetter("stamp")
_place: Final = attrgetter("stamp", "part", "offset")
_BEHIND_DIGITS: Final = ":"
"""The character after 9: behind everything that begins with the digits before it."""
_REVISIT: Final = "warc/revisit"


class _Own(threading.local):
    """The connection of one thread."""

    connection: sqlite3.Connection | None = None
    signature: tuple[int, int, int] | None = None


class Lookup:
    """Asks one index file, wherever the thread. Raises OSError, sqlite3.Error and the like."""

    def __init__(
        self,
        index: Path,
        root: Path | str,
        patience: float,
    ) -> None:
        """*patience*: seconds to wait for another process that holds the file."""
        self._index = index
        self._root = str(root)
        self._patience = patience
        self._own = _Own()
        self._opened: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the connections of all threads, which must be idle."""
        while self._opened:
            self._opened.pop().close()

    def is_complete(self) -> bool:
        """Whether every file has been looked at once, so that absence means something."""
        with closing(self._connection().execute("SELECT complete FROM pass")) as rows:
            return bool(rows.fetchone()[0])

    def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        """Return the capture nearest to *at*; the newest where no time is asked."""
        key = surt(url)
        if at is None:
            return newest_row(self._rows(_LAST, key, _FEW), url)
        instant = pivot(at)
        beside = self._rows(_BESIDE, key, instant, 1, key, instant, 1)
        found = nearest_row(beside, url, at)
        if found is None or (is_page(found) and all(row.url == url for row in beside)):
            return found
        return self._weighed(key, url, at)

    def at(self, url: str, stamp: str) -> IndexRow | None:
        """Return the capture with exactly these digits."""
        rows = self._rows(_EXACT, surt(url), stamp, stamp + "\0", _FAR)
        return best_of_second(rows, url)

    def nearest_with_neighbours(self, url: str, at: Moment | None) -> list[IndexRow]:
        """Return the nearest, then the first, those before and after it, and the last.

        Nothing where there is none. Of the others one may be missing, or the nearest itself.
        """
        if at is not None:
            instant = pivot(at)
            rows = self._placed(surt(url), instant)
            if rows and all(row.url == url and is_page(row) for row in rows):
                around = _around(rows, instant, at)
                if around is not None:
                    return around
        found = self.nearest(url, at)
        if found is None:
            return []
        key, stamp = found.surt, found.stamp
        around = self._rows(_SURROUNDING, key, 1, key, stamp, 1, key, stamp, 1, key, 1)
        return [found, *around]

    def _placed(self, key: str, instant: str) -> Sequence[IndexRow]:
        """Return the first, two before *instant*, two behind it, the last, in this order."""
        rows = self._rows(_PLACED, key, 1, key, instant, 2, key, instant, 2, key, 1)
        return sorted(rows, key=_place)

    def original_of(
        self, url: str, digest: str | None, refers_to: tuple[str, str] | None
    ) -> IndexRow | None:
        """Return the record that a revisit repeats: what it refers to, or the same payload."""
        if refers_to is not None:
            target, date = refers_to
            second = "".join(filter(str.isdigit, date))[:14]
            found = self._payload(target, second, second + _BEHIND_DIGITS, digest)
            # Some writers date the reference by their own clock; the payload decides then.
            if found is not None:
                return found
        if digest is None:
            return None
        return self._payload(url, "", _BEHIND_DIGITS, digest)

    def captures_of(self, url: str, after: Key | None) -> list[IndexRow]:
        """Return the first captures behind *after*, oldest first."""
        _, stamp, part, offset = after or ("", "", 0, 0)
        return self._rows(_PAGE, surt(url), stamp, part, offset, BATCH)

    def captures_between(self, lower: str, upper: str, after: Key | None) -> list[IndexRow]:
        """Return the first captures behind *after* whose SURTs lie from *lower* to *upper*."""
        return self._rows(_RANGE, *(after or (lower, "", 0, 0)), upper, BATCH)

    def _weighed(self, key: str, url: str, at: Moment) -> IndexRow | None:
        """Look further, where a variant or an archived error is next to the instant."""
        found = nearest_row(self._around(key, pivot(at), "", _BEHIND_DIGITS, _FEW), url, at)
        if found is None or not found.stamp.startswith(at.digits):
            return found
        inside = self._around(key, pivot(at), at.digits, at.digits + _BEHIND_DIGITS, _FAR)
        return nearest_row(inside, url, at)

    def _around(
        self, key: str, instant: str, first: str, end: str, most: int
    ) -> list[IndexRow]:
        before = self._rows(_NOT_AFTER, key, instant, first, most)
        return before + self._rows(_AFTER, key, instant, end, most)

    def _payload(self, url: str, first: str, end: str, digest: str | None) -> IndexRow | None:
        rows = self._rows(_EXACT, surt(url), first, end, _FAR)
        wanted = [row for row in rows if row.mime != _REVISIT and digest in (None, row.digest)]
        return best_of_second(wanted, url)

    def _rows(self, query: str, *values: str | int) -> list[IndexRow]:
        with closing(self._connection().execute(query, values)) as rows:
            return [
                IndexRow._make(
                    (*known, f"{self._root}/{path}", member or path.rpartition("/")[2], part)
                )
                for *known, path, member, part in rows
            ]

    def _connection(self) -> sqlite3.Connection:
        """Return this thread's connection to the file that lies there now."""
        found = os.stat(self._index)  # noqa: PTH116 -- once a look-up; a Path costs as much again
        # The time too: a file that is read as one that never changes may change after all.
        signature = (found.st_dev, found.st_ino, found.st_mtime_ns)
        own = self._own
        if own.connection is None or own.signature != signature:
            if own.connection is not None:
                self._opened.remove(own.connection)
                own.connection.close()
                own.connection = None
            own.connection = open_reader(self._index, self._patience)
            own.signature = signature
            self._opened.append(own.connection)
        return own.connection


def _around(rows: Sequence[IndexRow], instant: str, at: Moment) -> list[IndexRow] | None:
    """Return the nearest of *rows*, then the first, its neighbours, and the last.

    None if several captures share the nearest's time: its neighbours may then lie further away
    than the two rows on each side of *instant*.
    """
    here = bisect_right(rows, instant, key=_stamp)
    found = nearest_row(rows[max(here - 1, 0) : here + 1], rows[0].url, at) or rows[0]
    if len({row.key for row in rows if row.stamp == found.stamp}) > 1:
        return None
    before = [row for row in rows if row.stamp < found.stamp]
    after = [row for row in rows if row.stamp > found.stamp]
    return [found, rows[0], *before[-1:], *after[:1], rows[-1]]
