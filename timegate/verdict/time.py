"""When the copy was captured, beside when it was asked for: the members time and granularity.

Digits are compared, not instants: what an archive proves may be finer than a second, and a
leap second is none that HTTP can name (T-5, T-10).
"""

from functools import lru_cache
from typing import Final

from archives.model import ArchiveEntry, Memento
from archives.moment import GRANULARITIES, Moment
from archives.nearest import second_of
from timegate.resolution.model import Query
from timegate.verdict.model import Member, Parameter

_SECOND: Final = 14
_DAY: Final = 8


def asked_time(query: Query, memento: Memento, entry: ArchiveEntry | None) -> Member:
    """Return where the capture lies: in the interval asked for, before or after it."""
    at, stamp = query.at, memento.stamp
    got = str(memento.captured)
    basis = "minted" if query.minted else ""
    if at is None:
        live = "not-tried" if _means_now(query) else ""
        return Member("latest", {"got": got, "basis": basis, "live": live})
    params: dict[str, Parameter] = {
        # Both as stated: .5 and .500 are different statements (T-2), which an instant hides.
        "req": at.start if len(at.digits) < _SECOND else str(at),
        "until": "" if len(at.digits) == _SECOND else at.end,
        "got": got,
        "delta": int(at.distance(second_of(stamp)).total_seconds()),
        "basis": basis,
    }
    side = _side(at, stamp)
    if side == "within" and len(at.digits) == _SECOND == proven(stamp, entry):
        side = "exact" if at.digits == stamp else side
    return Member(side, params)


def _means_now(query: Query) -> bool:
    """Whether it is a dated URI with an empty date, which means now (D-7)."""
    return query.identifier is not None and query.identifier.startswith(("duri::", "tdb::"))


def _side(at: Moment, stamp: str) -> str:
    """Return ``within``, ``before`` or ``after``."""
    common = min(len(at.digits), len(stamp))
    asked, found = at.digits[:common], stamp[:common]
    # 23:59:60 is asked for as the second before it, and can only be answered with that.
    clamped = _is_leap(at) and at.distance(second_of(stamp)).total_seconds() == 0
    if asked == found or clamped:
        return "within"
    return "before" if found < asked else "after"


def granularity(at: Moment | None, stamp: str, entry: ArchiveEntry | None) -> Member:
    """Return how finely the capture is dated, beside how finely it was asked for."""
    asked = 0 if at is None else len(at.digits)
    clamped = at is not None and _is_leap(at) and at.digits[:_SECOND] != stamp[:_SECOND]
    return _granularity(asked, proven(stamp, entry), clamped=clamped)


@lru_cache(maxsize=256)
def _granularity(asked: int, digits: int, *, clamped: bool) -> Member:
    """Return the member for so many digits *asked* for, 0 for none, and so many proven."""
    params = {"req": _name(asked) if asked else "", "got": _name(digits)}
    if digits < _SECOND:
        return Member("padded", params)
    if not asked or digits > asked:
        return Member("finer", params)
    if clamped:
        return Member("truncated", params)
    if digits == asked:
        return Member("same", params)
    return Member("truncated" if digits == _SECOND else "coarser", params)


def proven(stamp: str, entry: ArchiveEntry | None) -> int:
    """Return how many digits of *stamp* the archive proves.

    Some fill up with zeros what they never measured (T-9): then the last zeros prove nothing,
    down to the day.
    """
    digits = len(stamp)
    if entry is None or not entry.padded or digits != _SECOND:
        return digits
    while digits > _DAY and stamp[digits - 2 : digits] == "00":
        digits -= 2
    return digits


def _name(digits: int) -> str:
    return GRANULARITIES.get(digits) or f"fraction{digits - _SECOND}"


def _is_leap(at: Moment) -> bool:
    return at.digits[12:14] == "60"
