"""What every list of captures comes down to, however it was written: rows.

A stamp is never padded: an index that states less than a second cannot be quoted as if it had
stated one, so such a row is unreadable and counted as skipped.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from archives.diagnostics import Malformed
from archives.formats.httpdate import MONTHS, WEEKDAYS, day_digits
from archives.moment import Moment
from archives.regex_compat import compiled


class Row(NamedTuple):
    """One capture. Tuples, because TimeMaps hold millions of them."""

    stamp: str
    """UTC, 14 digits or more, checked against the calendar."""
    uri: str | None
    """Where the capture is (URI-M); None where the replay template has to say."""
    original: str | None = None
    """What was captured; None where the document speaks of one original only."""
    status: int | None = None
    mime: str | None = None
    digest: str | None = None


class TimeMapPage(NamedTuple):
    """Another TimeMap that this one refers to (RFC 7089 5.2)."""

    uri: str
    since: str | None
    until: str | None
    """Not to be trusted: RFC 7089 figure 28 has one older than its last memento (M-53)."""


class UnreadableItem(LookupError):
    """An item that makes no row. It never leaves a decoder, which counts it as skipped."""


class _Days(dict[str, str]):
    """``Tue, 31 Dec 1996`` to ``19961231``: checked once a day, not once a capture."""

    def __missing__(self, day: str) -> str:
        digits = day_digits(day[5:]) if _DAY.fullmatch(day) else None
        if digits is None:
            raise UnreadableItem(day)
        if len(self) >= _MOST_DAYS:
            self.clear()
        self[day] = digits
        return digits


_DAY: Final = compiled(
    rf"(?:{'|'.join(WEEKDAYS)}), [0-9]{{2}} (?:{'|'.join(MONTHS)}) [0-9]{{4}}"
)
# Thirty years of captures; 3.6 million days fit the grammar, and somebody will send them all.
_MOST_DAYS: Final = 11_000
DAYS: Final = _Days()

_STAMP: Final = compiled(r"[0-9]{8}(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9]|60)[0-9]{0,9}")
_ISO: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?+(?:[Zz]|[+-]00:?00)?"
)


def stamp_from_digits(digits: str) -> str | None:
    """Return *digits* if they are a second that existed, or a part of one; None if not."""
    if not _STAMP.fullmatch(digits) or not _on_calendar(digits[:8]):
        return None
    return digits if digits[12:14] != "60" else _leap_second(digits)


def stamp_from_iso(text: str) -> str | None:
    """Turn ``2016-01-22T11:20:29Z`` into digits; None if it is no UTC time."""
    match = _ISO.fullmatch(text)
    return stamp_from_digits("".join(filter(None, match.groups()))) if match else None


def mended_stamp(digits: str) -> str | None:
    """Take the stray ``00`` out of a stamp of the year 2000; None if that is not its trouble.

    The Internet Archive's index holds 20000008241731 for 2000-08-24 17:31: a month or day 00
    pushed in, and so the seconds pushed out (found by EDGI's client). They are lost; a capture
    has to have some, and the archive itself redirects to the nearest.
    """
    if len(digits) != 14 or not digits.startswith("2000"):
        return None
    at = next((at for at in (4, 6) if digits[at : at + 2] == "00"), None)
    return stamp_from_digits(digits[:at] + digits[at + 2 :] + "00") if at else None


def row_from_fields(stamp: str, fields: Mapping[str, str]) -> Row:
    """Build the row of one capture from the names that CDX servers give its fields."""
    return Row(
        stamp,
        fields.get("uri"),
        fields.get("original") or fields.get("url"),
        status_code(fields.get("statuscode") or fields.get("status") or ""),
        _stated(fields.get("mimetype") or fields.get("mime")),
        _stated(fields.get("digest")),
    )


def status_code(text: str) -> int | None:
    """Return the three digits of *text* as a number; ``-`` and the like say nothing."""
    return int(text) if len(text) == 3 and text.isascii() and text.isdecimal() else None


def _stated(text: str | None) -> str | None:
    return text if text and text != "-" else None


@lru_cache(maxsize=_MOST_DAYS)
def _on_calendar(day: str) -> bool:
    try:
        Moment(day)
    except Malformed:
        return False
    return True


def _leap_second(digits: str) -> str | None:
    try:
        return Moment(digits).digits
    except Malformed:
        return None


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


_TROUBLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# An integer of thousands of digits is no status and no length, and slow to write out.
_LARGEST: Final = 10**20


def json_value(text: str) -> object:
    """Read *text*, whose characters stand for bytes: UTF-8 if they can be, Latin-1 if not."""
    try:
        return msgspec.json.decode(text.encode("latin-1"))
    except _TROUBLE as complaint:
        if text.isascii():
            raise UnreadableItem(str(complaint)) from complaint
    try:
        return msgspec.json.decode(text)
    except _TROUBLE as complaint:
        raise UnreadableItem(str(complaint)) from complaint


def text_fields(value: object) -> dict[str, str]:
    """Return the members of an object that are text, numbers, or lists that begin with text."""
    if not isinstance(value, dict):
        raise UnreadableItem("not an object")
    texts = ((name, _text(member)) for name, member in value.items())
    return {str(name): text for name, text in texts if text is not None}


def texts(value: object) -> list[str]:
    """Return the items of an array as text; empty where one is neither text nor number."""
    if not isinstance(value, list):
        raise UnreadableItem("not an array")
    return [_text(item) or "" for item in value]


def _text(value: object) -> str | None:
    match value:
        case str():
            return value
        case int() if -_LARGEST < value < _LARGEST:
            return str(value)
        case [str(first), *_]:  # the uri of a memento at Time Travel
            return first
        case _:
            return None
