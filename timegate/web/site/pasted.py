"""A reference as people paste it: inside a sentence, or with its date behind it.

Only where nothing is to be guessed: there is one reference in the text, and no line ends right
behind it, where print may have broken it.
"""

import re
from typing import Final, NamedTuple

from archives.moment import Moment
from archives.possessive import compiled
from timegate.times import read_time

_REFERENCE: Final = compiled(
    r"(?<![\w/:.-])(?:urn:pwid:|pwid:|duri:|tdb:|pdi://|https?+://)\S++(\s*+)",
    re.IGNORECASE,
)
_ENDS_A_SENTENCE: Final = ".,;:!?'\">]}\u00bb\u2019\u201c\u201d"
_LONGEST_DATE: Final = 64


class Pasted(NamedTuple):
    """What was found in a text."""

    identifier: str
    at: Moment | None
    """The time that is the rest of the text; None where that is no time."""


def reference_in(text: str) -> Pasted | None:
    """Return the one reference in *text*; None where there is none, or no telling which."""
    found = list(_REFERENCE.finditer(text))
    names = {_bare(match[0]) for match in found}
    if len(names) != 1 or any("\n" in match[1] for match in found):
        return None
    rest = text[: found[0].start()] + text[found[-1].end() :]
    return Pasted(names.pop(), _time(rest))


def _bare(word: str) -> str:
    """Return *word* without what closes a sentence, a quotation or a bracket behind it."""
    bare = word.rstrip().rstrip(_ENDS_A_SENTENCE)
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(_ENDS_A_SENTENCE)
    return bare


def _time(text: str) -> Moment | None:
    said = text.strip(" \t\r\n,;()[]")
    try:
        return read_time(said) if len(said) <= _LONGEST_DATE else None
    except ValueError:
        return None
