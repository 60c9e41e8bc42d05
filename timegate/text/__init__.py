"""Text for people: untrusted text made safe to print, counts, and suggestions."""

from collections.abc import Iterable
from typing import Final

from archives.diagnostics import escaped as escaped

MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


_UNITS: Final = (("year", 31_556_952), ("day", 86_400), ("hour", 3_600), ("minute", 60))


def duration(seconds: int) -> str:
    """Return *seconds*, rounded to the largest unit of which there are at least two."""
    for name, unit in _UNITS:
        if seconds >= 2 * unit:
            return f"{round(seconds / unit)} {name}s"
    return "1 second" if seconds == 1 else f"{seconds} seconds"


def masked(text: str, mark: str = "\ufffd") -> str:
    """Return *text* with each unprintable character replaced by *mark*."""
    return "".join(c if c.isprintable() else mark for c in text)


def counted(number: int, noun: str) -> str:
    """Return *number* and *noun*, in the plural unless there is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sentence(text: object) -> str:
    """Return *text* as a sentence: with a capital letter and one full stop."""
    words = str(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


_LONGEST: Final = 100
"""Characters. Comparison is quadratic in the length, and no name is longer than this."""


def similar(word: str, names: Iterable[str]) -> str:
    """Return `` Did you mean ...?`` with the names closest to *word*, or an empty text."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only mistyped names need it

    close = get_close_matches(word[:_LONGEST].lower(), list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""
