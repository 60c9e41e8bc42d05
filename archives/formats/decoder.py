"""What all readers of capture lists have in common: bytes go in piece by piece, rows come out.

A decoder never holds more than one unfinished item, and how the bytes were cut into pieces
never changes what comes out. It does no I/O and follows no link.
"""

from abc import ABC, abstractmethod
from typing import Final

from archives.formats.rows import Row, TimeMapPage, UnreadableItem, mended_stamp

# The limits of one TimeMap: a million mementos are about 141 MB, so these leave room.
LONGEST_ITEM: Final = 8192
MOST_ITEMS: Final = 2_000_000
MOST_IN_VAIN: Final = 50_000
"""Items that are no captures: with 12 to 14 microseconds each, the dearest there are."""
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_PAGES: Final = 1000


class Backlog:
    """Text that arrived and could not be used up yet.

    It is handed out again only once as much has arrived as was left over: then every character
    is read twice on average, however small the pieces are. Without that, an item of 8 kB that
    comes byte by byte would be read 8192 times.

    Bytes become characters one to one (Latin-1), which costs nothing and cannot fail. All
    delimiters are ASCII; `plain` makes text of what stands between them.
    """

    __slots__ = ("_fresh", "_length", "_rest")

    def __init__(self) -> None:
        self._rest = ""
        self._fresh: list[str] = []
        self._length = 0

    def add(self, chunk: bytes) -> str:
        """Return the text to read now; nothing if it is too early to try again."""
        self._fresh.append(chunk.decode("latin-1"))
        self._length += len(chunk)
        return self.drain() if self._length >= len(self._rest) else ""

    def drain(self) -> str:
        """Return all the text there is."""
        text = "".join((self._rest, *self._fresh))
        self.keep("")
        return text

    def keep(self, rest: str) -> None:
        """Put back what was not used up."""
        self._rest = rest
        self._fresh.clear()
        self._length = 0


def plain(text: str) -> str:
    """Read characters that stand for bytes as UTF-8, or else as the Latin-1 they look like."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return text


class ListDecoder(ABC):
    """Reads one document. Feed it, close it, then see what else it found."""

    def __init__(self, base_url: str) -> None:
        """*base_url*: where the document came from; relative links are resolved against it."""
        self.base_url = base_url
        self.original: str | None = None
        self.timegate: str | None = None
        self.pages: list[TimeMapPage] = []
        self.resume_key: str | None = None
        """What to ask the CDX server for to get the rows after these."""
        self.skipped = 0
        """Items that could not be read: bad syntax, impossible dates."""
        self.repaired = 0
        """Rows whose stamp had to be mended."""
        self.shortfall = ""
        """Why there may be more captures than were read; empty if there is no reason."""
        self.full = False
        """Whether a limit was reached: nothing more will be read."""
        self._closed = False
        self._backlog = Backlog()
        self._room_bytes = MOST_BYTES
        self._room_items = MOST_ITEMS
        self._passed = 0

    @property
    def complete(self) -> bool:
        """Whether the document was read to its proper end."""
        return self._closed and not self.shortfall

    def feed(self, chunk: bytes) -> list[Row]:
        """Return the rows that *chunk* completed."""
        if self.full:
            return []
        fitting = chunk if len(chunk) <= self._room_bytes else chunk[: self._room_bytes]
        text = self._backlog.add(fitting)
        rows = self._read(text, last=False) if text else []
        self._room_bytes -= len(chunk)
        if self._room_bytes < 0:
            self._stop(f"longer than {MOST_BYTES} bytes")
        return rows

    def close(self) -> list[Row]:
        """Say that the document has ended; return the rows that this completed."""
        rows = [] if self.full or self._closed else self._read(self._backlog.drain(), last=True)
        self._closed = True
        return rows

    def _read(self, text: str, *, last: bool) -> list[Row]:
        rows, rest = self._take(text, last=last)
        self._backlog.keep(rest)
        # Also what makes no row takes time: two million times "<a>," would be eight megabytes.
        room = self._room_items - self.skipped - self._passed
        if len(rows) > room:
            self._stop(f"more than {MOST_ITEMS} items")
            del rows[max(room, 0) :]
        self._room_items -= len(rows)
        if self._in_vain() > MOST_IN_VAIN:
            self._stop(f"more than {MOST_IN_VAIN} items that are no captures")
        return rows

    def _in_vain(self) -> int:
        """Return how many items were read of which nothing came, and which took their time."""
        return self.skipped

    def _stop(self, why: str) -> None:
        self.full = True
        self.falls_short(why)

    def falls_short(self, why: str) -> None:
        """Remember the first reason why this is not everything."""
        self.shortfall = self.shortfall or why

    def _refer_to(self, page: TimeMapPage) -> None:
        if len(self.pages) < MOST_PAGES:
            self.pages.append(page)
        else:
            self.falls_short(f"more than {MOST_PAGES} pages")

    def _bounded(self, item: str) -> str:
        """Return *item*, unless it is too long to be looked at."""
        if len(item) > LONGEST_ITEM:
            self.falls_short(f"an item of more than {LONGEST_ITEM} bytes")
            raise UnreadableItem("too long")
        return item

    def _sound(self, stamp: str | None, stated: str) -> str:
        """Return *stamp*, or what can be made of the digits that were *stated*."""
        if stamp is None:
            stamp = mended_stamp(stated)
            self.repaired += stamp is not None
        if stamp is None:
            raise UnreadableItem("no such time")
        return stamp

    @abstractmethod
    def _take(self, text: str, *, last: bool) -> tuple[list[Row], str]:
        """Return the rows in *text*, and the unfinished rest of it, no longer than an item."""
