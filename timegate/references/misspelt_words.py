"""Misspelt words of access: acessed, retreived, abgeruffen.

A long word that differs from a word of access in one letter, or in the order of two, stands
for it. It is written as another word of the same meaning that is not longer, so that positions
stay.
"""

import re
from collections.abc import Mapping
from typing import Final

from archives.regex_compat import compiled
from timegate.text.written_dates import DATE_WORDS

_WORDS: Final = DATE_WORDS["misspelt"]
_MEANT: Final = {
    word: plain
    for plain, words in _WORDS.items()
    if isinstance(words, str)
    for word in words.split()
}
"""Words that are often misspelt, and shorter ones that say the same."""
_COMMON: Final[Mapping[str, str]] = _WORDS["common"]
_OTHER_WORDS: Final = frozenset(_WORDS["other"]["words"].split())
"""Words near to them with a meaning, or a spelling, of their own."""
_LONG: Final = compiled(r"(?<![\w/.@-])[acdghrvzACDGHRVZ][^\W\d_]{4,15}(?![\w/@-])")


def _with_one_less(word: str) -> set[str]:
    """Return *word*, and the words that are left if one letter of it is taken out."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


_NEAR: Final = {each: word for word in _MEANT for each in _with_one_less(word)}


def respelled(text: str) -> str:
    """Return *text* with other words in the place of misspelt words of access."""
    return _LONG.sub(_respelled, text)


def _respelled(word: re.Match[str]) -> str:
    written = word[0].lower()
    if written in _MEANT or written in _OTHER_WORDS:
        return word[0]
    near = {_NEAR[each] for each in _with_one_less(written) if each in _NEAR}
    if written not in _COMMON and (not near or len(written) < len("visted")):
        return word[0]
    plain = _COMMON.get(written) or _MEANT[min(near)]
    if len(plain) > len(written):
        return word[0]
    return (plain.capitalize() if word[0][0].isupper() else plain).ljust(len(word[0]))
