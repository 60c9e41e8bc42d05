"""Text for people: foreign text where controls would act, and numbers of things."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final


def escaped(text: str) -> str:
    """Return *text* with what is not printable written out as its number in Unicode."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def masked(text: str, mark: str = "\ufffd") -> str:
    """Return *text* with *mark* for each character that is not printable."""
    return "".join(c if c.isprintable() else mark for c in text)


def counted(number: int, noun: str) -> str:
    """Return *number* with *noun*, of which one is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_LONGEST: Final = 100
"""Comparing is quadratic in the length of the word; no name here is longer."""


def similar(word: str, names: Iterable[str]) -> str:
    """Return `` Did you mean ...?`` with the names most like *word*; nothing if none is."""
    close = get_close_matches(word[:_LONGEST].lower(), list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""
