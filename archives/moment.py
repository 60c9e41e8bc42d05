"""A time as precise as it was stated: a half-open interval in UTC, with its granularity.

"2013" means some time in 2013, not midnight on New Year's Day; padding it to fourteen digits
would make a capture from August look eight months off. So nothing in this project pads. A
`Moment` *is* the digits that were stated, in UTC, and everything else follows from them: four
digits are a year, fourteen a second, further digits a fraction. Leap seconds and fractions of
any length, which no `datetime` can hold, are digits too.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from archives.diagnostics import Malformed

GRANULARITIES: Final = {4: "year", 6: "month", 8: "day", 10: "hour", 12: "minute", 14: "second"}
MAX: Final = "max"
"""The end of an interval that reaches past year 9999."""

_SECOND: Final = timedelta(seconds=1)
_NOTHING: Final = timedelta(0)
_EARLIEST: Final = "00000101000000"

# IERS, leap-seconds.list of 2025-07-07: days that ended with 23:59:60 UTC.
_LEAP_DAYS: Final = frozenset(
    {
        *(f"{year}0630" for year in (1972, 1981, 1982, 1983, 1985, 1992, 1993, 1994, 1997)),
        *("20120630", "20150630"),
        *(f"{year}1231" for year in (*range(1972, 1980), 1987, 1989, 1990, 1995, 1998)),
        *("20051231", "20081231", "20161231"),
    }
)
_LEAP_TABLE_EXPIRES: Final = "20260628"

_STAMP: Final = re.compile(r"[0-9]{8}(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9]|60)[0-9]{0,9}")
MOST_DAYS: Final = 11_000
"""Size of a memo of days: thirty years of captures. There are 3.6 million possible days."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A stated time. Moments are equal if their digits are: .5 and .500 differ."""

    digits: str
    """``YYYY[MM[DD[hh[mm[ss[f...]]]]]]`` in UTC, checked against the calendar."""

    def __post_init__(self) -> None:
        _check(self.digits)

    @classmethod
    def of(cls, instant: datetime) -> "Moment":
        """Return the second that holds *instant*."""
        year, month, day, hour, minute, second, *_ = instant.utctimetuple()
        return cls(f"{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")

    @classmethod
    def stated(cls, digits: str, text: str, start: int = 0) -> "Moment":
        """Return the moment of *digits*, written with punctuation in *text* from *start* on.

        An error about the nth digit has the position of that digit in *text*.
        """
        try:
            return cls(digits)
        except Malformed as error:
            places = [i for i in range(start, len(text)) if "0" <= text[i] <= "9"]
            raise Malformed(error.code, error.why, places[error.position]) from None

    @property
    def granularity(self) -> str:
        """``year`` to ``second``, then ``fraction1``, ``fraction2`` and so on."""
        length = len(self.digits)
        return GRANULARITIES.get(length) or f"fraction{length - 14}"

    @property
    def leap_second_unconfirmed(self) -> bool:
        """Whether this is a leap second after the end of the table: possible, not announced."""
        return self.digits[12:14] == "60" and self.digits[:8] not in _LEAP_DAYS

    @property
    def fits_http_date(self) -> bool:
        """Whether it is no leap second and has no fraction of a second."""
        return len(self.digits) <= 14 and self.digits[12:14] != "60"

    @property
    def start(self) -> str:
        """The first instant, RFC 3339, without trailing zeros in the fraction."""
        digits = self.digits
        return _rfc3339(digits[:14] + _EARLIEST[len(digits) :], digits[14:])

    @property
    def end(self) -> str:
        """The first instant after the interval, RFC 3339, or `MAX`.

        Starts and ends compare as text without their Z, `MAX` included.
        """
        return _end(self.digits)

    @property
    def window(self) -> tuple[datetime, datetime]:
        """The first and the last whole second of the interval, both included.

        As Memento can express them: a fraction becomes the second it lies in, a leap second the
        one before it (RFC 7089 2.1.1.1 ends the minute at 59).
        """
        return _window(self.digits)

    @property
    def negotiated(self) -> datetime:
        """The second to request from a closest-match TimeGate: the middle, rounded down.

        A capture inside the interval is always nearer to it than one outside. It is the start
        if the end cannot be written.
        """
        return _negotiated(self.digits)

    def distance(self, captured: datetime) -> timedelta:
        """How far *captured* lies outside: negative before the interval, zero inside."""
        first, last = self.window
        if captured < first:
            return captured - first
        return _NOTHING if captured <= last else captured.replace(microsecond=0) - last

    def fraction_distance(self, stamp: str) -> int:
        """Return how far *stamp* is away, to break ties between equal whole seconds (S-1).

        Only for a fraction or a leap second; otherwise 0.
        """
        return 0 if self.fits_http_date else abs(_ticks(self.digits) - _ticks(stamp))

    def side_of(self, stamp: str) -> int:
        """Return -1 if a capture of *stamp* is before the interval, 1 if after, otherwise 0.

        0 also for a stamp that is coarser than this moment, and for second 59 if this is a leap
        second, which archives are asked for as second 59.
        """
        away = self.distance(second_of(stamp))
        leap = self.digits[12:14] == "60" != stamp[12:14]
        if away or leap:
            return (away > _NOTHING) - (away < _NOTHING)
        common = min(len(self.digits), len(stamp))
        requested, found = self.digits[:common], stamp[:common]
        return (found > requested) - (found < requested)

    def covers(self, stamp: str) -> bool:
        """Whether a capture of *stamp* is shown to lie inside: a coarser stamp is not."""
        return stamp.startswith(self.digits)

    def __str__(self) -> str:
        """Write the stated digits as in RFC 3339, with Z if there is an hour."""
        digits = self.digits
        if len(digits) == 14:  # the most common case
            return _rfc3339(digits, "")
        day = "-".join(filter(None, (digits[:4], digits[4:6], digits[6:8])))
        if len(digits) <= 8:
            return day
        time = ":".join(filter(None, (digits[8:10], digits[10:12], digits[12:14])))
        return f"{day}T{time}.{digits[14:]}Z" if digits[14:] else f"{day}T{time}Z"


# The window and end of a moment are needed many times during one resolution.
_MEMO_SIZE: Final = 4096


@lru_cache(maxsize=_MEMO_SIZE)
def _end(digits: str) -> str:
    rising = digits[14:].rstrip("9")
    if rising:
        return _rfc3339(digits[:14], rising[:-1] + str(int(rising[-1]) + 1))
    if digits[8:14] == "235959" and digits[:8] in _LEAP_DAYS:
        return _rfc3339(digits[:12] + "60", "")
    _, last = _window(digits)
    if last.year == 9999 and last.timetuple()[1:6] == (12, 31, 23, 59, 59):
        return MAX
    return _rfc3339(Moment.of(last + _SECOND).digits, "")


def stamp_from_digits(digits: str) -> str | None:
    """Return *digits* if they are an existing second, with or without fraction; else None."""
    if not _STAMP.fullmatch(digits) or not _day_exists(digits[:8]):
        return None
    if digits[12:14] != "60":
        return digits
    try:
        return Moment(digits).digits
    except Malformed:
        return None


def whole_second(digits: str) -> datetime:
    """Return the second of fourteen digits or more; for a leap second the one before it.

    The digits are not checked again: a TimeMap may have millions of them.
    """
    time = f"{digits[8:12]}59" if digits[12:14] == "60" else digits[8:14]
    # Takes a fifth of the time of parsing six numbers.
    return datetime.fromisoformat(f"{digits[:8]}T{time}Z")


second_of: Final = lru_cache(maxsize=4096)(whole_second)
"""Returns the second of a capture."""
_FRACTION_DIGITS: Final = 18
"""Digits of a fraction that are compared; a WARC-Date has at most 9."""


def _ticks(digits: str) -> int:
    """Return the time of 14 digits or more as a number; a leap second is after second 59."""
    second = int(second_of(digits[:14]).timestamp()) + (digits[12:14] == "60")
    fraction = digits[14 : 14 + _FRACTION_DIGITS].ljust(_FRACTION_DIGITS, "0")
    return second * 10**_FRACTION_DIGITS + int(fraction)


@lru_cache(maxsize=_MEMO_SIZE)
def _window(digits: str) -> tuple[datetime, datetime]:
    if len(digits) >= 14:
        second = whole_second(digits)
        return second, second
    first = datetime(
        int(digits[:4]),
        int(digits[4:6] or 1),
        int(digits[6:8] or 1),
        int(digits[8:10] or 0),
        int(digits[10:12] or 0),
        tzinfo=UTC,
    )
    return first, _LAST[len(digits)](first)


@lru_cache(maxsize=_MEMO_SIZE)
def _negotiated(digits: str) -> datetime:
    first, last = _window(digits)
    if _end(digits) == MAX:
        return first
    return first + timedelta(seconds=int((last - first + _SECOND).total_seconds()) // 2)


_LAST: Final = {
    4: lambda first: first.replace(month=12, day=31, hour=23, minute=59, second=59),
    6: lambda first: first.replace(
        day=monthrange(first.year, first.month)[1], hour=23, minute=59, second=59
    ),
    8: lambda first: first.replace(hour=23, minute=59, second=59),
    10: lambda first: first.replace(minute=59, second=59),
    12: lambda first: first.replace(second=59),
}


def _rfc3339(digits: str, fraction: str) -> str:
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    time = f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}"
    stated = fraction and fraction.rstrip("0")
    return f"{day}T{time}.{stated}Z" if stated else f"{day}T{time}Z"


def _check(digits: str) -> None:
    """Raise Malformed unless *digits* are an existing time; position = index of the digit."""
    if not (digits.isascii() and digits.isdecimal()):
        raise Malformed("bad-time-syntax", "a time is made of the digits 0 to 9", 0)
    if len(digits) < 14 and len(digits) not in GRANULARITIES:
        raise Malformed("bad-time-syntax", "a time has 4, 6, 8, 10, 12, 14 or more digits", 0)
    if digits[:4] == "0000":
        raise Malformed("bad-year", "years run from 0001 to 9999", 0)
    if not _day_exists(digits[:8]):
        raise _no_such_date(digits)
    if digits[8:10] > "23":
        raise Malformed("bad-time", "the hour runs from 00 to 23", 8)
    if digits[10:12] > "59":
        raise Malformed("bad-time", "the minute runs from 00 to 59", 10)
    if digits[12:14] > "59":
        _check_leap_second(digits)


@lru_cache(maxsize=MOST_DAYS)
def _day_exists(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6] or 1), int(digits[6:8] or 1))
    except ValueError:
        return False
    return True


def _no_such_date(digits: str) -> Malformed:
    if not "01" <= digits[4:6] <= "12":
        return Malformed("bad-date", f"there is no month {digits[4:6]}", 4)
    year, month = int(digits[:4]), int(digits[4:6])
    last = monthrange(year, month)[1]
    return Malformed("bad-date", f"{year:04}-{month:02} has the days 01 to {last}", 6)


def _check_leap_second(digits: str) -> None:
    if digits[12:14] != "60":
        raise Malformed("bad-time", "the second runs from 00 to 59, or 60 in a leap second", 12)
    confirmed = digits[:8] in _LEAP_DAYS
    possible = digits[:8] > _LEAP_TABLE_EXPIRES and digits[4:8] in ("0630", "1231")
    if digits[8:12] != "2359" or not (confirmed or possible):
        raise Malformed("bad-leap-second", "there was no leap second then", 12)
