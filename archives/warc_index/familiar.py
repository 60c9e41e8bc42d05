"""Pages that are asked for again and again: their captures in memory, while nothing changes.

SQLite takes 30 microseconds to find what lies around an instant, a sorted list takes one.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from archives.warc_index.model import IndexRow

LONGEST: Final = 2_000
"""Captures of a page that is kept."""
BATCH: Final = 200
"""Captures that are read at once, in a millisecond: nobody is held up for longer."""
_MOST: Final = 20_000
"""Captures of all pages that are kept, some 10 MB."""
_LONGEST_KEY: Final = 500
"""Of a page that is kept: 20,000 with addresses of 8 kB would be 160 MB."""
_OFTEN: Final = 3
"""Questions after which a page is worth it."""
Version = tuple[object, ...]
"""What tells whether the index is still the same."""
_stamp: Final = attrgetter("stamp")


Read = Callable[[IndexRow | None], Sequence[IndexRow]]
"""Returns the first captures of a page behind one, or its first, `BATCH` of them at most."""


@dataclass(slots=True)
class _Page:
    version: Version
    asked: int = 0
    rows: list[IndexRow] = field(default_factory=list)
    """Oldest first."""
    stamps: list[str] = field(default_factory=list)
    is_whole: bool = False
    is_too_long: bool = False

    def learn(self, read: Read) -> int:
        """Read on, and return how many captures came."""
        more = read(self.rows[-1] if self.rows else None)
        self.rows += more
        self.stamps += map(_stamp, more)
        self.is_whole = len(more) < BATCH
        return len(more)


class Familiar:
    """Remembers pages. For one thread."""

    def __init__(self, most: int = _MOST) -> None:
        """Keep at most *most* rows, and as many pages."""
        self._most = most
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._size = 0

    def placed(
        self, key: str, instant: str, version: Version, read: Read
    ) -> Sequence[IndexRow]:
        """Return the first, two before *instant*, two after it, and the last, in this order.

        Nothing where the page is not familiar, or not there.
        """
        if len(key) > _LONGEST_KEY:
            return ()
        page = self._known(key, version)
        page.asked += 1
        if not page.is_whole:
            self._learn(page, read)
        if not page.is_whole or not page.rows:
            return ()
        rows = page.rows
        here = bisect_right(page.stamps, instant)
        return (rows[0], *rows[max(here - 2, 0) : here + 2], rows[-1])

    def _known(self, key: str, version: Version) -> _Page:
        page = self._pages.get(key)
        if page is not None and page.version == version:
            self._pages.move_to_end(key)
            return page
        if page is not None:
            self._forget(key)
        page = self._pages[key] = _Page(version)
        self._size += 1
        self._make_room()
        return page

    def _learn(self, page: _Page, read: Read) -> None:
        if page.asked < _OFTEN or page.is_too_long:
            return
        self._size += page.learn(read)
        if len(page.rows) > LONGEST:
            self._size -= len(page.rows)
            page.rows, page.stamps = [], []
            page.is_too_long, page.is_whole = True, False
        self._make_room()

    def _make_room(self) -> None:
        while self._size > self._most and len(self._pages) > 1:
            self._forget(next(iter(self._pages)))

    def _forget(self, key: str) -> None:
        self._size -= 1 + len(self._pages.pop(key).rows)
