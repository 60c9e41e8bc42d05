"""Reads Retry-After (RFC 9110 10.2.3): seconds or a date, within reason."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

SHORTEST: Final = 1.0
LONGEST: Final = 3600.0
"""A cap against lies: who says a year is asked again after an hour."""
UNSTATED: Final = 60.0
"""The Internet Archive's answer to 429s that are ignored is a firewall block after a minute."""


def seconds_to_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Return how long a reply asks us to stay away; None where it does not say."""
    stated = headers.get("retry-after", "").strip()
    wait = _seconds(stated) if stated.isascii() and stated.isdecimal() else None
    if wait is None and stated:
        wait = _until(stated, headers.get("date", ""))
    if wait is None:
        return UNSTATED if status == 429 else None
    return min(max(wait, SHORTEST), LONGEST)


def _seconds(digits: str) -> float:
    # Longer than nine digits is longer than LONGEST; int() need not see them all.
    return float(digits) if len(digits) <= 9 else LONGEST


def _until(stated: str, date: str) -> float | None:
    """Return the time until *stated*, by the archive's own clock where it shows one."""
    until = _read_date(stated)
    if until is None:
        return None
    return (until - (_read_date(date) or datetime.now(UTC))).total_seconds()


def _read_date(text: str) -> datetime | None:
    """Return the date in *text*; None for any text that is none.

    The parser of the standard library raises OverflowError for numbers that fit no field, and
    has raised TypeError and IndexError in several of its versions.
    """
    try:
        read = parsedate_to_datetime(text[:64])
    except (ValueError, TypeError, ArithmeticError, LookupError):
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
