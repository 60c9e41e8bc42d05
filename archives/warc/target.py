"""What a record is of: the URL and the time, as an index can use them."""

from functools import lru_cache
from typing import Final

from archives.moment import Moment
from archives.possessive import compiled
from archives.reading import Malformed

_DATE: Final = compiled(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]++))?+)?+)?+)?+)?+(?:Z|\+00:00)?+"
)
_USUAL: Final = compiled(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])Z"
)
_DIGITS: Final = compiled(r"[0-9]{4,14}+")
_EARLIEST: Final = "00000101000000"
_LONGEST_STAMP: Final = 23
_UNPRINTABLE: Final = compiled(r"[\x00-\x1f\x7f]")


def stamp_of(date: str | None) -> str | None:
    """Return the digits of a WARC-Date or of an ARC date, 14 to 23 of them, or None.

    WARC 1.1 allows dates as coarse as a year and nine digits of fraction (T-9). Fractions are
    kept; what is coarser than a second becomes its first second, since indexes hold nothing
    shorter than fourteen digits.
    """
    if usual := _USUAL.fullmatch(date or ""):
        day, hour, minute, second = usual.groups()
        digits_of_day = _day(day)
        return digits_of_day and f"{digits_of_day}{hour}{minute}{second}"
    if found := _DATE.fullmatch(date or ""):
        digits = "".join(part for part in found.groups() if part)
    elif _DIGITS.fullmatch(date or ""):
        digits = date or ""
    else:
        return None
    return _checked(digits[:_LONGEST_STAMP])


@lru_cache(maxsize=64)
def _day(day: str) -> str | None:
    """Return the digits of a day: nearly all records of a file are of the same few."""
    digits = day.replace("-", "")
    return digits if _checked(digits) else None


def _checked(digits: str) -> str | None:
    try:
        Moment(digits)
    except Malformed:
        return None
    return digits + _EARLIEST[len(digits) :]


def url_of(target: str | None) -> str | None:
    """Return the URL in a WARC-Target-URI, or None where no line of an index could hold it."""
    if not target or _UNPRINTABLE.search(target):
        return None
    if target[0] == "<" and target[-1] == ">":
        target = target[1:-1]  # wget 1.14 to 1.19 wrote <http://example.com/>
    # warcio does the same with blanks, which would end the URL in a CDX line.
    return target.partition("#")[0].replace(" ", "%20") or None
