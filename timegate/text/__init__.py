"""Text for people: untrusted text made safe to print, counts, and suggestions."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from archives.diagnostics import escaped as escaped


def masked(text: str, mark: str = "\ufffd") -> str:
    """Return *text* with each unprintable character replaced by *mark*."""
    return "".join(c if c.isprintable() else mark for c in text)


def counted(number: int, noun: str) -> str:
    """Return *number* and *noun*, in the plural unless there is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_LONGEST: Final = 100
"""Characters. Comparison is quadratic in the length, and no name is longer than this."""


def similar(word: str, names: Iterable[str]) -> str:
    """Return `` Did you mean ...?`` with the names closest to *word*, or an empty text."""
    close = get_close_matches(word[:_LONGEST].lower(), list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""
