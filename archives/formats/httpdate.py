"""Dates in HTTP headers and in RFC 7089: ``Thu, 31 May 2007 20:35:00 GMT``.

RFC 7089 2.1.1.1 has its own BNF, narrower than that of HTTP: no obsolete forms, names
case-sensitive, GMT only, the day ends at 23:59:59. The weekday need not match the date: the RFC
itself prints ``Tue, 15 Sep 2000``, which was a Friday.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import MOST_DAYS, Moment
from archives.regex_compat import compiled

WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS: Final = {
    name: f"{number:02}"
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_NAMES: Final = {number: name for name, number in MONTHS.items()}

_DATE: Final = re.compile(
    rf"({'|'.join(WEEKDAYS)}), ([0-9]{{2}} (?:{'|'.join(MONTHS)}) [0-9]{{4}})"
    r" ([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]) GMT"
)
# The same grammar in steps, to find the position of an error.
_DIGIT: Final = (compiled("[0-9]"), "a digit")
_TENS: Final = (compiled("[0-5]"), "00 to 59")
_STEPS: Final = (
    (compiled("|".join(WEEKDAYS)), "the weekday (Mon, Tue, ...)"),
    *((compiled(char), "a comma and a blank") for char in ", "),
    *(_DIGIT, _DIGIT, (compiled(" "), "a blank")),
    (compiled("|".join(MONTHS)), "the month (Jan, Feb, ...)"),
    *(
        (compiled(" "), "a blank"),
        _DIGIT,
        _DIGIT,
        _DIGIT,
        _DIGIT,
        (compiled(" "), "a blank"),
    ),
    *(
        (compiled("[0-2]"), "the hour, 00 to 23"),
        (compiled("(?<!2)[0-9]|[0-3]"), "00 to 23"),
    ),
    *((compiled(":"), "a colon"), _TENS, _DIGIT, (compiled(":"), "a colon"), _TENS, _DIGIT),
    *((compiled(char), "GMT") for char in " GMT"),
)
_DAY_AT: Final = 5
_YEAR_AT: Final = 12


@lru_cache(maxsize=MOST_DAYS)
def day_digits(day: str) -> str | None:
    """Return the digits ``20070531`` of ``31 May 2007``; None if the day does not exist."""
    digits = day[7:] + MONTHS[day[3:6]] + day[:2]
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return None
    return digits


class _DayNames(dict[str, str]):
    """Maps ``20070531`` to ``Thu, 31 May 2007``. Raises KeyError for a day that is none."""

    def __missing__(self, digits: str) -> str:
        if not (len(digits) == 8 and digits.isascii() and digits.isdecimal()):
            raise KeyError(digits)
        try:
            weekday = date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).weekday()
        except ValueError:
            raise KeyError(digits) from None
        if len(self) >= MOST_DAYS:
            self.clear()
        name = f"{WEEKDAYS[weekday]}, {digits[6:]} {_NAMES[digits[4:6]]} {digits[:4]}"
        self[digits] = name
        return name


DAY_NAMES: Final = _DayNames()
_PAIRS: Final = tuple(f"{number:02}" for number in range(60))
MINUTES: Final = {h + m: f"{h}:{m}" for h in _PAIRS[:24] for m in _PAIRS}
"""``20:35`` by ``2035``. With `DAY_NAMES`, columns of dates are written by looking up parts."""
SECONDS: Final = frozenset(_PAIRS)


def stamp_from_http_date(text: str) -> str:
    """Return the 14 digits of *text*. Raises Malformed if it is no rfc1123-date."""
    return _stamp(text, "bad-http-date")


def read_http_date(text: str, diagnosis: Diagnosis) -> Moment:
    """Read the value of ``Accept-Datetime`` (M-12), ignoring white space around it."""
    date_text = text.strip(" \t")
    skipped = len(text) - len(text.lstrip(" \t"))
    try:
        stamp = _stamp(date_text, "bad-accept-datetime")
    except Malformed as error:
        raise error.moved(skipped) from None
    if date_text[:3] != _weekday(stamp):
        diagnosis.note("weekday-mismatch", f"that day was a {_weekday(stamp)}", skipped)
    return Moment(stamp)


_MINUTE: Final = 12
"""Digits of a time to the minute."""
_INSTANT: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)


def read_instant(text: str) -> Moment | None:
    """Read ``2026-11-17T20:35:00.123456789Z``; None if *text* is not of this form.

    Up to nine digits of a fraction, in UTC or with an offset such as ``+01:00`` (RFC 3339).
    Raises Malformed for a date that no calendar has.
    """
    stated = _INSTANT.fullmatch(text.strip(" \t"))
    if stated is None:
        return None
    *parts, sign, hours, minutes = stated.groups()
    digits = "".join(filter(None, parts))
    if sign is None:
        return Moment(digits)
    ahead = timedelta(hours=int(f"{sign}{hours}"), minutes=int(f"{sign}{minutes}"))
    return _in_utc(digits, ahead)


def _in_utc(digits: str, ahead: timedelta) -> Moment:
    """Return the time *digits* of a clock that is *ahead* of UTC, by whole minutes."""
    minute = Moment(digits[:_MINUTE]).digits
    try:
        there = datetime.strptime(minute, "%Y%m%d%H%M").replace(tzinfo=UTC) - ahead
    except OverflowError:
        raise Malformed("bad-date", "the year is out of range", 0) from None
    return Moment(f"{there.year:04}{there:%m%d%H%M}{digits[_MINUTE:]}")


@lru_cache(maxsize=1024)
def http_date(stamp: str) -> str:
    """Return the HTTP date of *stamp*, at least 14 digits of UTC, with the right weekday.

    HTTP has no fractions and no leap seconds: a fraction is dropped, 60 becomes 59.
    """
    if len(stamp) < 14:
        raise Malformed("bad-time-syntax", "an HTTP date needs the whole second", len(stamp))
    day = f"{stamp[6:8]} {_NAMES[stamp[4:6]]} {stamp[:4]}"
    second = min(stamp[12:14], "59")
    return f"{_weekday(stamp)}, {day} {stamp[8:10]}:{stamp[10:12]}:{second} GMT"


def _stamp(text: str, code: str) -> str:
    match = _DATE.fullmatch(text)
    if not match:
        raise _error_at(text, code)
    _, day, hour, minute, second = match.groups()
    digits = day_digits(day)
    if digits is None:
        at = _YEAR_AT if day.endswith("0000") else _DAY_AT
        raise Malformed("bad-date", f"there was no {day}", at)
    return digits + hour + minute + second


@lru_cache(maxsize=4096)
def _weekday_of(day: str) -> str:
    return WEEKDAYS[date(int(day[:4]), int(day[4:6]), int(day[6:])).weekday()]


def _weekday(stamp: str) -> str:
    return _weekday_of(stamp[:8])


def _error_at(text: str, code: str) -> Malformed:
    at = 0
    for pattern, expected in _STEPS:
        match = pattern.match(text, at)
        if not match:
            cut_short = any(whole.startswith(text[at:]) for whole in (*WEEKDAYS, *MONTHS))
            position = len(text) if cut_short else at
            return Malformed(code, f"expected {expected}", position)
        at = match.end()
    return Malformed(code, "expected the end of the date", at)
