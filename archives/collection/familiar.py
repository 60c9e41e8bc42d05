"""Pages that are asked for again and again: their captures in memory, while nothing changes.

SQLite takes 30 microseconds to find what lies around an instant, a sorted list takes one.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from archives.collection.index import Row

LONGEST: Final = 2_000
"""Captures of a page that is kept: to read so many takes a few milliseconds, once."""
_MOST: Final = 20_000
"""Captures of all pages that are kept, some 10 MB."""
_OFTEN: Final = 3
"""Questions after which a page is familiar."""
Version = tuple[object, ...]
"""What tells whether the index is still the same."""
_stamp: Final = attrgetter("stamp")


@dataclass(slots=True)
class _Page:
    version: Version
    asked: int = 0
    rows: Sequence[Row] = ()
    """Oldest first; none before the page is familiar, or where it has too many."""
    stamps: Sequence[str] = field(default_factory=list)


class Familiar:
    """Remembers pages. For one thread."""

    def __init__(self, most: int = _MOST) -> None:
        """Keep at most *most* rows, and as many pages."""
        self._most = most
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._size = 0

    def placed(
        self, key: str, instant: str, version: Version, read: Callable[[], Sequence[Row]]
    ) -> Sequence[Row]:
        """Return the first, two before *instant*, two after it (nearest first), the last.

        Nothing where the page is not familiar, or not there. *read* returns its first captures,
        one more than `LONGEST` if there are so many.
        """
        page = self._known(key, version)
        page.asked += 1
        if page.asked == _OFTEN:
            self._learn(page, read())
        rows = page.rows
        if not rows:
            return ()
        here = bisect_right(page.stamps, instant)
        before = rows[max(here - 2, 0) : here]
        return (rows[0], *before[::-1], *rows[here : here + 2], rows[-1])

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

    def _learn(self, page: _Page, rows: Sequence[Row]) -> None:
        if len(rows) <= LONGEST:
            page.rows, page.stamps = rows, list(map(_stamp, rows))
            self._size += len(rows)
            self._make_room()

    def _make_room(self) -> None:
        while self._size > self._most and len(self._pages) > 1:
            self._forget(next(iter(self._pages)))

    def _forget(self, key: str) -> None:
        self._size -= 1 + len(self._pages.pop(key).rows)
