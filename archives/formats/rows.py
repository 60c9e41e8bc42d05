"""Rows, which all formats of lists are decoded to, and the base class of their decoders.

A stamp is never padded: a row with a time less precise than a second is unreadable, and counted
as skipped.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, SupportsIndex, overload

import msgspec

from archives.formats.httpdate import MONTHS, WEEKDAYS, day_digits
from archives.moment import MOST_DAYS, stamp_from_digits
from archives.regex_compat import compiled


class Row(NamedTuple):
    """One capture. Tuples, because TimeMaps hold millions of them."""

    stamp: str
    """UTC, 14 digits or more, checked against the calendar."""
    uri: str | None
    """Address of the capture (URI-M); None if it follows from the replay template."""
    original: str | None = None
    """The URL that was captured; None if the document is about one original only."""
    status: int | None = None
    mime: str | None = None
    digest: str | None = None
    length: int | None = None
    """Octets of the record, as CDX servers count them: compressed."""
    urlkey: str | None = None
    """The key under which a CDX server files it."""


class AlikeRows(Sequence[Row]):
    """Rows whose addresses are *prefix*, stamp and one of a few suffixes, in columns.

    What an address says of its capture is then known for all with the same suffix.
    """

    __slots__ = ("prefix", "stamps", "suffixes", "uris")

    def __init__(
        self, prefix: str, stamps: list[str], suffixes: list[str], uris: list[str]
    ) -> None:
        self.prefix = prefix
        self.stamps = stamps
        self.suffixes = suffixes
        self.uris = uris

    def __len__(self) -> int:
        return len(self.stamps)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> "AlikeRows": ...

    def __getitem__(self, index: SupportsIndex | slice) -> "Row | AlikeRows":
        if not isinstance(index, slice):
            return Row(self.stamps[index], self.uris[index])
        stamps, suffixes, uris = (c[index] for c in (self.stamps, self.suffixes, self.uris))
        return AlikeRows(self.prefix, stamps, suffixes, uris)


class TimeMapPage(NamedTuple):
    """Another TimeMap that this one links (RFC 7089 5.2)."""

    uri: str
    since: str | None
    until: str | None
    """Unreliable: in RFC 7089 figure 28 it is older than the last memento (M-53)."""


class UnreadableItem(LookupError):
    """An item without a row. It is raised and caught in decoders, which count it as skipped."""


class _Days(dict[str, str]):
    """Maps ``Tue, 31 Dec 1996`` to ``19961231``; each day is checked once, not each capture."""

    def __missing__(self, day: str) -> str:
        digits = day_digits(day[5:]) if _DAY.fullmatch(day) else None
        if digits is None:
            raise UnreadableItem(day)
        if len(self) >= MOST_DAYS:
            self.clear()
        self[day] = digits
        return digits


_DAY: Final = compiled(
    rf"(?:{'|'.join(WEEKDAYS)}), [0-9]{{2}} (?:{'|'.join(MONTHS)}) [0-9]{{4}}"
)
DAYS: Final = _Days()

_ISO: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?+(?:[Zz]|[+-]00:?00)?"
)


def stamp_from_iso(text: str) -> str | None:
    """Return the digits of ``2016-01-22T11:20:29Z``; None if *text* is no UTC time."""
    match = _ISO.fullmatch(text)
    return stamp_from_digits("".join(filter(None, match.groups()))) if match else None


def repaired_stamp(digits: str) -> str | None:
    """Remove an extra ``00`` from a stamp of the year 2000; None if it has none.

    The Internet Archive's index has 20000008241731 for 2000-08-24 17:31: a month or day 00 was
    inserted, and the seconds were cut off (found by EDGI's client). The seconds are lost and
    read as 00; the archive redirects to the nearest capture.
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
        _octets(fields.get("length", "")),
        fields.get("urlkey"),
    )


def status_code(text: str) -> int | None:
    """Return the three digits of *text* as a number; None for ``-`` and other text."""
    return int(text) if len(text) == 3 and text.isascii() and text.isdecimal() else None


_LONGEST_LENGTH: Final = 15
"""Digits of a length; a record of a petabyte is none."""


def _octets(text: str) -> int | None:
    """Return a length; None for ``-``, and for 0, which means that it is not known."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_LENGTH
    return int(text) or None if is_number else None


def _stated(text: str | None) -> str | None:
    return text if text and text != "-" else None


# Limits of one document: a TimeMap of a million mementos is about 141 MB.
LONGEST_ITEM: Final = 8192
MOST_ITEMS: Final = 2_000_000
MOST_WITHOUT_CAPTURE: Final = 50_000
"""Items that are no captures; at 12 to 14 microseconds each they are the slowest to read."""
MOST_BYTES: Final = 256 * 1024 * 1024
MOST_PAGES: Final = 1000


class Backlog:
    """Text that has arrived and is not decoded yet.

    It is returned again only when as much new text has arrived as was left over: so each
    character is read twice on average, however small the chunks are. Without that, an item of
    8 kB that arrives byte by byte would be read 8192 times.

    Bytes become characters one to one (Latin-1), which is fast and cannot fail. All delimiters
    are ASCII; `plain` decodes the text between them.
    """

    __slots__ = ("_fresh", "_length", "_rest")

    def __init__(self) -> None:
        self._rest = ""
        self._fresh: list[str] = []
        self._length = 0

    def add(self, chunk: bytes) -> str:
        """Return the text to decode now; empty if too little has arrived."""
        self._fresh.append(chunk.decode("latin-1"))
        self._length += len(chunk)
        return self.drain() if self._length >= len(self._rest) else ""

    def drain(self) -> str:
        """Return all text that is left."""
        text = "".join((self._rest, *self._fresh))
        self.keep("")
        return text

    def keep(self, rest: str) -> None:
        """Put back the text that could not be decoded yet."""
        self._rest = rest
        self._fresh.clear()
        self._length = 0


def plain(text: str) -> str:
    """Decode characters that stand for bytes as UTF-8, or else as Latin-1."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return text


class ListDecoder(ABC):
    """Base class: decodes one document. After `close`, the attributes are complete."""

    def __init__(self, base_url: str) -> None:
        """*base_url* is the address of the document, for relative links."""
        self.base_url = base_url
        self.original: str | None = None
        self.timegate: str | None = None
        self.pages: list[TimeMapPage] = []
        self.resume_key: str | None = None
        """The key with which the CDX server returns the rows after these."""
        self.skipped = 0
        """Number of unreadable items: bad syntax, impossible dates."""
        self.repaired = 0
        """Number of rows whose stamp was repaired."""
        self.shortfall = ""
        """Why there may be more captures than were read; empty if there is no reason."""
        self.full = False
        """Whether a limit was reached: the rest is not read."""
        self._closed = False
        self._backlog = Backlog()
        self._room_bytes = MOST_BYTES
        self._room_items = MOST_ITEMS
        self._no_captures = 0
        """Number of items that are valid and no captures."""

    @property
    def complete(self) -> bool:
        """Whether the whole document was read."""
        return self._closed and not self.shortfall

    def feed(self, chunk: bytes) -> Sequence[Row]:
        """Return the rows that *chunk* completed."""
        if self.full:
            return ()
        fitting = chunk if len(chunk) <= self._room_bytes else chunk[: self._room_bytes]
        text = self._backlog.add(fitting)
        rows = self._read(text, last=False) if text else ()
        self._room_bytes -= len(chunk)
        if self._room_bytes < 0:
            self._stop(f"longer than {MOST_BYTES} bytes")
        return rows

    def close(self) -> Sequence[Row]:
        """End the document; return the rows that this completed."""
        rows = () if self.full or self._closed else self._read(self._backlog.drain(), last=True)
        self._closed = True
        return rows

    def _read(self, text: str, *, last: bool) -> Sequence[Row]:
        rows, rest = self._take(text, last=last)
        self._backlog.keep(rest)
        # Items without a row take time too: two million times "<a>," are eight megabytes.
        room = self._room_items - self.skipped - self._no_captures
        if len(rows) > room:
            self._stop(f"more than {MOST_ITEMS} items")
            rows = rows[: max(room, 0)]
        self._room_items -= len(rows)
        if self._without_capture() > MOST_WITHOUT_CAPTURE:
            self._stop(f"more than {MOST_WITHOUT_CAPTURE} items that are no captures")
        return rows

    def _without_capture(self) -> int:
        """Return the number of items that took time to read and gave no capture."""
        return self.skipped

    def _stop(self, why: str) -> None:
        self.full = True
        self.note_shortfall(why)

    def note_shortfall(self, why: str) -> None:
        """Record the first reason why captures may be missing."""
        self.shortfall = self.shortfall or why

    def _add_page(self, page: TimeMapPage) -> None:
        if len(self.pages) < MOST_PAGES:
            self.pages.append(page)
        else:
            self.note_shortfall(f"more than {MOST_PAGES} pages")

    def _bounded(self, item: str) -> str:
        """Return *item*; raise UnreadableItem if it is too long."""
        if len(item) > LONGEST_ITEM:
            self.note_shortfall(f"an item of more than {LONGEST_ITEM} bytes")
            raise UnreadableItem("too long")
        return item

    def _valid_stamp(self, stamp: str | None, stated: str) -> str:
        """Return *stamp*, or the *stated* digits repaired. Raises UnreadableItem."""
        if stamp is None:
            stamp = repaired_stamp(stated)
            self.repaired += stamp is not None
        if stamp is None:
            raise UnreadableItem("no such time")
        return stamp

    @abstractmethod
    def _take(self, text: str, *, last: bool) -> tuple[Sequence[Row], str]:
        """Return the rows in *text*, and its incomplete rest, no longer than one item."""


_JSON_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# An integer of thousands of digits is no status or length, and slow to convert to text.
_LARGEST: Final = 10**20


def json_value(text: str) -> object:
    """Decode JSON; the characters of *text* are the bytes of UTF-8, or else of Latin-1."""
    try:
        return msgspec.json.decode(text.encode("latin-1"))
    except _JSON_ERRORS as error:
        if text.isascii():
            raise UnreadableItem(str(error)) from error
    try:
        return msgspec.json.decode(text)
    except _JSON_ERRORS as error:
        raise UnreadableItem(str(error)) from error


def text_fields(value: object) -> dict[str, str]:
    """Return the members of an object that are text, numbers, or lists that begin with text."""
    if not isinstance(value, dict):
        raise UnreadableItem("not an object")
    texts = ((name, _text(member)) for name, member in value.items())
    return {str(name): text for name, text in texts if text is not None}


def texts(value: object) -> list[str]:
    """Return the items of an array as text; empty text for other than text and numbers."""
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
