"""Times as people type them: digits, ISO 8601, an HTTP date, or free text.

Only the stated parts count in every notation: ``March 2016`` is a month, not its first day.
"""

import re
from datetime import UTC, datetime
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import read_http_date
from archives.moment import Moment
from timegate.identifiers.duri import read_duri

_DIGITS: Final = re.compile(r"[0-9]{4,23}")
_CALENDAR_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:T[0-9:.]{5,18}Z?)?)?")
_YEAR_FIRST: Final = re.compile(r"[0-9]{4}[-/.]")
# dateutil reads UTC+2 as POSIX does, two hours behind UTC; people mean two hours ahead.
_NAMED_OFFSET: Final = re.compile(r"(?:UTC|GMT|Z)\s?(?=[+-][0-9])", re.IGNORECASE)
_EARLIEST_YEAR: Final = 1000
"""A year with fewer than four digits is incomplete."""
_LONGEST: Final = 100
"""Characters; no notation of a time is longer."""
# Two default dates that differ in every part: parts in which both results agree were stated,
# all others come from the defaults. Every month has both days: dateutil makes a 29th February
# the 28th, in which both would then agree.
_ONE_DEFAULT: Final = datetime(2004, 1, 27, 1, 1, 1, tzinfo=UTC)
_OTHER_DEFAULT: Final = datetime(2008, 10, 28, 2, 2, 2, tzinfo=UTC)
_PARTS: Final = ("year", "month", "day", "hour", "minute", "second")


def read_time(text: str) -> Moment | None:
    """Return the moment in *text*; None for ``now`` and ``latest``. Raises ValueError."""
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        raise ValueError(f"{stripped[:_LONGEST]!r}... is not a time: it is too long")
    if stripped.lower() in ("", "now", "latest"):
        return None
    if _DIGITS.fullmatch(stripped):
        return Moment(stripped)
    return _iso(stripped) or _http(stripped) or _free(_NAMED_OFFSET.sub("", stripped))


def _iso(text: str) -> Moment | None:
    try:
        reading = read_duri(f"duri:{text}:x:", Diagnosis())
    except Malformed as complaint:
        if _CALENDAR_DATE.fullmatch(text):
            raise ValueError(f"{text!r} is not a time: {complaint.why}") from complaint
        return None
    return reading.identifier.time if reading else None


def _http(text: str) -> Moment | None:
    try:
        return read_http_date(text, Diagnosis())
    except Malformed:
        return None


def _free(text: str) -> Moment:
    one, other = _guess(text, _ONE_DEFAULT), _guess(text, _OTHER_DEFAULT)
    # After a year comes the month; with day_first, dateutil would read the day there.
    if not _YEAR_FIRST.match(text) and _guess(text, _ONE_DEFAULT, day_first=True) != one:
        raise ValueError(f"{text!r} is ambiguous: write it like 2016-02-01")
    stated = 0
    for part in _PARTS:
        if getattr(one, part) != getattr(other, part):
            break
        stated += 1
    if not stated or one.year < _EARLIEST_YEAR:
        raise ValueError(f"{text!r} has no year: write it like 2016-02-01")
    return Moment(Moment.of(one).digits[: 2 + 2 * stated])


def _guess(text: str, default: datetime, *, day_first: bool = False) -> datetime:
    # Most times are not free text, and need not wait for this import.
    from dateutil.parser import ParserError, UnknownTimezoneWarning  # noqa: PLC0415
    from dateutil.parser import parse as parse_date  # noqa: PLC0415

    try:
        return parse_date(text, default=default, dayfirst=day_first).astimezone(UTC)
    except (ParserError, ArithmeticError, UnknownTimezoneWarning) as error:
        # Numbers of 29 digits and more raise decimal.InvalidOperation, an ArithmeticError.
        raise ValueError(
            f"{text!r} is not a time: write it like 2016, June 2016, 2016-01-22 or "
            "2016-01-22T11:20:29Z"
        ) from error
