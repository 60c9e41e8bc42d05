"""What every list of captures comes down to, however it was written: rows.

A stamp is never padded: an index that states less than a second cannot be quoted as if it had
stated one, so such a row is unreadable and counted as skipped.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from archives.formats.httpdate import MONTHS, WEEKDAYS, day_digits
from archives.moment import Moment
from archives.possessive import compiled
from archives.reading import Malformed


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
