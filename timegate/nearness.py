"""What a person probably meant who wrote a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 100
"""Comparing is quadratic in the length of the word; no name here is longer."""


def similar(word: str, names: Iterable[str]) -> str:
    """Return `` Did you mean ...?`` with the names most like *word*; nothing if none is."""
    close = get_close_matches(word[:_LONGEST].lower(), list(names), n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""
