"""Items that wait: on disk, by the archive that they wait for, and grouped by page.

An archive that allows few requests must not hold up the references to the others, so each
archive has a lane of its own, and the list is read ahead. SQLite keeps it in a temporary file:
700,000 items take some 200 MB of disk and a few MB of memory.
"""

import errno
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from tempfile import gettempdir
from types import TracebackType
from typing import Final, NamedTuple, Self

from timegate.batch.model import Item

_MOST_IN_GROUP: Final = 100
_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -4096;
CREATE TABLE item (
  position INTEGER PRIMARY KEY, lane TEXT, page TEXT, taken INTEGER, content TEXT
);
CREATE INDEX by_page ON item (lane, taken, page);
CREATE INDEX by_position ON item (lane, taken, position);
"""


class WaitingItem(NamedTuple):
    """An item, the lane in which it waits, and its page as a SURT."""

    item: Item
    lane: str
    """The host that it needs first; empty if it needs all archives."""
    page: str


class ListBacklog:
    """The waiting items of a run, a context manager. An item that was taken stays till done."""

    def __init__(self) -> None:
        # The empty name is a temporary file, which is deleted when it is closed.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(_SCHEMA)
        self._waiting: Counter[str] = Counter()
        self._taken: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    def put(self, items: Iterable[WaitingItem]) -> None:
        """Add *items*. Raises OSError if there is no space for them."""
        rows = [(w.item.position, w.lane, w.page, encoded(w.item)) for w in items]
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO item VALUES (?, ?, ?, 0, ?)", rows)
            self._database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            place = f"a temporary file in {gettempdir()}"
            raise OSError(errno.ENOSPC, str(error), place) from error
        self._waiting.update(lane for _, lane, _, _ in rows)

    def lanes(self) -> list[str]:
        """Return the lanes in which items wait."""
        return [lane for lane, number in self._waiting.items() if number]

    def waiting(self, lane: str) -> int:
        """Return how many items of *lane* were not taken."""
        return self._waiting[lane]

    def left(self) -> dict[str, int]:
        """Return how many items of each lane are not done."""
        return dict(self._waiting + self._taken)

    def take(self, lane: str) -> list[Item]:
        """Take the first item of *lane*, and the others of the same page with it."""
        first = self._database.execute(
            "SELECT page FROM item WHERE lane = ? AND taken = 0 ORDER BY position LIMIT 1",
            (lane,),
        ).fetchone()
        if first is None:
            return []
        rows = self._database.execute(
            "SELECT position, content FROM item"
            " WHERE lane = ? AND taken = 0 AND page = ? ORDER BY position LIMIT ?",
            (lane, first[0], _MOST_IN_GROUP),
        ).fetchall()
        self._database.executemany(
            "UPDATE item SET taken = 1 WHERE position = ?", [(at,) for at, _ in rows]
        )
        self._waiting[lane] -= len(rows)
        self._taken[lane] += len(rows)
        return [decoded(content) for _, content in rows]

    def done(self, position: int) -> bool:
        """Remove the item at *position*; return whether it was still there."""
        row = self._database.execute(
            "DELETE FROM item WHERE position = ? RETURNING lane, taken", (position,)
        ).fetchone()
        if row is None:
            return False
        lane, taken = row
        (self._taken if taken else self._waiting)[lane] -= 1
        return True

    def taken(self, lane: str) -> int:
        """Return how many items of *lane* were taken and are not done."""
        return self._taken[lane]

    def take_back(self, lane: str) -> None:
        """Let the items of *lane* that were taken wait again."""
        self._database.execute(
            "UPDATE item SET taken = 0 WHERE lane = ? AND taken = 1", (lane,)
        )
        self._waiting[lane] += self._taken.pop(lane, 0)

    def same_host(self, lane: str, page: str, most: int) -> Iterator[tuple[str, Item]]:
        """Yield at most *most* items of *lane* that are not done on the host of *page*."""
        host = page.partition(")")[0]
        # "*" follows ")": all pages of the host lie between the two.
        rows = self._database.execute(
            "SELECT page, content FROM item WHERE lane = ? AND taken IN (0, 1)"
            " AND page >= ? AND page < ? ORDER BY page LIMIT ?",
            (lane, f"{host})", f"{host}*", most),
        ).fetchall()
        for of_page, content in rows:
            yield of_page, decoded(content)


def encoded(item: Item) -> str:
    """Return *item* as JSON."""
    return json.dumps(item)


def decoded(content: str | bytes) -> Item:
    """Read what `encoded` wrote. Raises ValueError for anything else."""
    match json.loads(content):
        case [
            int(position),
            str(text),
            [*references],
            [*dates],
            str(trouble),
            [*also],
            str(said),
            bool(doubt),
            str(quote),
            str(published),
        ] if _are_texts([*references, *dates, *also]) and position >= 0:
            return Item(
                *(position, text, (*references,), (*dates,), trouble, (*also,), said, doubt),
                quote=quote,
                published=published,
            )
    raise ValueError("not an item")


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
