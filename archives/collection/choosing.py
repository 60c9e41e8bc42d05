"""Which of some captures is the one asked for. Pure; counts in nanoseconds, as WARC-Dates may.

Inside the interval that was asked for, the very URL goes before its variants (another scheme,
``www``, a slash): a citation of ``http://`` is not one of ``https://``. Outside of it nothing
can be exact, so time decides, and the URL only between captures as near as each other.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from archives.collection.index import IndexRow
from archives.moment import Moment, whole_second

_SECOND: Final = 1_000_000_000
_FINEST: Final = 9
"""Digits of a fraction that are counted; a WARC-Date has no more (WARC 1.1, 5.4)."""
Remoteness = tuple[int, bool, int, bool, bool, str, str]


def nanoseconds(digits: str) -> int:
    """Return when *digits* begin, 14 of them or more, counted from 1970."""
    second = _seconds(digits[:14]) * _SECOND
    fraction = digits[14 : 14 + _FINEST]
    return second + int(fraction.ljust(_FINEST, "0")) if fraction else second


@lru_cache(maxsize=4096)
def _seconds(stamp: str) -> int:
    return int(whole_second(stamp).timestamp())


def pivot(at: Moment) -> str:
    """Return the instant from which to look both ways: the nearest is next to it."""
    if len(at.digits) > 14:
        return at.digits
    whole = len(at.digits) == 14 and at.digits[12:] != "60"
    return at.digits if whole else Moment.of(at.negotiated).digits


def nearest_row(rows: Iterable[IndexRow], url: str, at: Moment) -> IndexRow | None:
    """Return the best of *rows*."""
    return min(rows, key=remoteness(url, at), default=None)


def newest_row(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the latest; of those as late the very URL, then a page rather than an error."""
    return max(rows, key=lambda row: (row.stamp, row.url == url, is_page(row)), default=None)


def same_second(rows: Iterable[IndexRow], url: str) -> IndexRow | None:
    """Return the best of captures that are all of the time asked for."""
    return max(rows, key=lambda row: (row.url == url, is_page(row)), default=None)


def remoteness(url: str, at: Moment) -> Callable[[IndexRow], Remoteness]:
    """Return what measures how far a row is from what was asked: the least is the best."""
    first, last, instant = _bounds(at)
    digits = at.digits

    def measure(row: IndexRow) -> Remoteness:
        stamp = row.stamp
        captured = nanoseconds(stamp)
        inside = stamp.startswith(digits)
        outside = 0 if inside else max(first - captured, captured - last, 0)
        other = row.url != url
        away = abs(captured - instant)
        return outside, inside and other, away, other, not is_page(row), stamp, row.url

    return measure


@lru_cache(maxsize=1024)
def _bounds(at: Moment) -> tuple[int, int, int]:
    """Return the first and the last second that *at* can mean, and its `pivot`."""
    instant = nanoseconds(pivot(at))
    if len(at.digits) >= 14:
        return instant, instant, instant
    first, last = at.window
    return int(first.timestamp()) * _SECOND, int(last.timestamp()) * _SECOND, instant


def is_page(row: IndexRow) -> bool:
    """Whether it is not known to be an error or a redirect (S-5)."""
    return row.status is None or 200 <= row.status <= 299
