"""What stands around a link and was not understood: times, zones, parts of dates, of links.

A reference is certain only if everything around it that may be a date, a time or an address is
used, or is known to be of another kind.
"""

import re
from typing import Final

from archives.regex_compat import compiled
from timegate.text.written_dates import MONTHS

_CLOCK: Final = (
    r"(?<![\w:.,/-])(?:(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?(?![\w:]|[.,][0-9])"
    r"(?:\s?[ap]\.?m\b\.?)?|(?:1[0-2]|0?[1-9])\s?[ap]\.?m\b\.?)"
)
_TIME: Final = compiled(_CLOCK, re.IGNORECASE)
_ZONED: Final = compiled(
    rf"{_CLOCK}\s?\(?(?:(?-i:(?!AM|PM|UHR)[A-Z]{{2,5}})\b|[+-][0-9]{{2}}:?[0-9]{{2}}(?![0-9])"
    r"|(?:local|pacific|eastern|mountain|central|summer|standard|daylight|zulu|hawaii\w{0,5})\b)",
    re.IGNORECASE,
)
"""A time of day with what may be a time zone."""
_DAY_AND_WORD: Final = compiled(
    r"(?<![\w./:-])[0-9]{1,2}(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?([^\W\d_]{3,12})(?!\w)"
    r"|(?<!\w)([^\W\d_]{3,12})\.?\s[0-9]{1,2}(?:st|nd|rd|th)?(?![\w:./-])",
    re.IGNORECASE,
)
_NUMBERS: Final = compiled(
    r"(?<![\w./-])[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{2,4}(?![\w/-]|\.[0-9])"
)
_MISREAD: Final = compiled(r"(?<![\w-])[12lI](?=[0-9]{0,2}[OolI])[0-9OolI]{3}(?!\w)")
"""A year with letters in the place of digits: 2OO3."""
_ADDRESS: Final = compiled(
    r"(?<![A-Za-z])h?tt?ps?\s?[:;]\s?/|(?<![A-Za-z])www\s?\.\s?\w", re.IGNORECASE
)
_ALSO_WORDS: Final = frozenset(("may", "mar", "set", "out", "ago", "gen", "mag", "des", "mars"))

_COUNT: Final = compiled(
    r"(?<![\w./:=#&?%+-])(?<![0-9] )1[0-7][0-9]{8}(?:[0-9]{3}|[0-9]{6,7})?"
    r"(?![\w/%+-]| [0-9]|\.[0-9]{4})"
)
_OF_OTHER: Final = compiled(
    r"\b(?:isbn|issn|oclc|pmid|tel|phone|fax|id|no|nr|number|nummer|account|konto|ref)\b[^\n]{0,12}$",
    re.IGNORECASE,
)
"""Words before the number of something else."""
_COUNTED: Final = "A number that may be a time stands beside the link"
_PART: Final = "What may be a part of a date stands beside the link"
_SIGNS: Final = {
    "A part of an address stands beside the link and was not read": _ADDRESS,
    "A year with letters in it stands beside the link and was not read": _MISREAD,
    "A time of day and what may be its time zone were not read": _ZONED,
}
_SIGNS_OF_DATES: Final = {
    "A time of day without a date stands beside the link": _TIME,
    _PART: _NUMBERS,
}
"""What says that a date is meant, if there is none."""


def unexplained(text: str, *, dated: bool) -> str:
    """Return what of *text* was not understood, as a sentence; empty if there is nothing.

    *text* has the surroundings of one link, without links and dates. *dated*: a date is used.
    """
    signs = _SIGNS if dated else {**_SIGNS, **_SIGNS_OF_DATES}
    found = next((why for why, sign in signs.items() if sign.search(text)), "")
    if found or dated:
        return found
    return _PART if _has_day(text) else _COUNTED if _has_count(text) else ""


def _has_count(text: str) -> bool:
    """Whether there is a time as programs count it, in seconds or parts of them."""
    return any(
        not _OF_OTHER.search(text, max(0, count.start() - 24), count.start())
        for count in _COUNT.finditer(text)
    )


def _has_day(text: str) -> bool:
    """Whether there is a day and a month without a year."""
    words = ((found[1] or found[2]).lower() for found in _DAY_AND_WORD.finditer(text))
    return any(word in MONTHS and word not in _ALSO_WORDS for word in words)
