"""Days and years in English words, as in affidavits: the eleventh day of June, 2007.

They are written in digits before dates are looked for, in a text of the same length, so that
positions stay.
"""

import re
from collections.abc import Mapping
from typing import Final

from archives.regex_compat import compiled

_ORDINALS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth"),
)
_DAYS: Final = {
    **{word: number for number, word in enumerate(_ORDINALS, start=1)},
    **{f"twenty {word}": 20 + number for number, word in enumerate(_ORDINALS[:9], start=1)},
    "thirtieth": 30,
    "thirty first": 31,
}
_CARDINALS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS: Final = {"twenty": 20, "ninety": 90}
_NUMBERS: Final = {
    **{word: number for number, word in enumerate(_CARDINALS, start=1)},
    **_TENS,
    **{
        f"{ten} {word}": tens + number
        for ten, tens in _TENS.items()
        for number, word in enumerate(_CARDINALS[:9], start=1)
    },
}
_CENTURIES: Final = {"nineteen": 1900, "twenty": 2000, "two thousand": 2000}


def _alternatives(words: Mapping[str, int]) -> str:
    spelled = sorted(words, key=len, reverse=True)
    return "|".join(word.replace(" ", r"(?:-|\s{1,2})") for word in spelled)


_MONTH: Final = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_WORDS_OF_YEAR: Final = (
    rf"(?:{_alternatives(_CENTURIES)})"
    rf"(?:(?:,|-|\s{{1,2}}and)?\s{{0,2}}(?:{_alternatives(_NUMBERS)}))?\b"
)
_DAY_FIRST: Final = compiled(
    rf"\b(?P<day>{_alternatives(_DAYS)}|[0-9]{{1,2}}(?:st|nd|rd|th)?(?=\s{{1,2}}day\b))\s{{1,2}}"
    rf"(?:day\s{{1,2}})?(?:of\s{{1,2}})?(?={_MONTH}[\s,])",
    re.IGNORECASE,
)
_DAY_LAST: Final = compiled(
    rf"\b(?P<month>{_MONTH}\s{{1,2}})(?:the\s{{1,2}})?(?P<day>{_alternatives(_DAYS)})"
    rf"(?=,?\s{{1,2}}(?:(?:19|20)[0-9]{{2}}\b|{_WORDS_OF_YEAR}))",
    re.IGNORECASE,
)
_YEAR: Final = compiled(
    rf"\b(?P<month>{_MONTH}(?:\s{{0,24}}[0-9]{{1,2}}(?:st|nd|rd|th)?\b)?,?)"
    rf"\s{{1,24}}(?:of\s|in\s)?(?P<year>{_WORDS_OF_YEAR})",
    re.IGNORECASE,
)
_AND: Final = compiled(r"[\s,-]++(?:and\s)?\s?")
_MAY_BE: Final = compiled(r"(?:st|nd|rd|th|two)\b|(?:nineteen|twenty)[\s-]", re.IGNORECASE)


def in_digits(text: str) -> str:
    """Return *text* with days and years in digits, each as long as the words for it."""
    if _MAY_BE.search(text) is None:
        return text
    text = _DAY_FIRST.sub(_day_first, text)
    text = _DAY_LAST.sub(_day_last, text)
    return _YEAR.sub(_year, text)


def _plain(words: str) -> str:
    return " ".join(_AND.sub(" ", words.lower()).split())


def _day(words: str) -> str:
    return words.rstrip("stndrh") if words[0].isdigit() else str(_DAYS[_plain(words)])


def _day_first(match: re.Match[str]) -> str:
    return _day(match["day"]).ljust(len(match[0]))


def _day_last(match: re.Match[str]) -> str:
    return f"{match['month']}{_day(match['day']).rjust(len(match[0]) - len(match['month']))}"


def _year(match: re.Match[str]) -> str:
    words = _plain(match["year"])
    century = next(name for name in ("two thousand", *_CENTURIES) if words.startswith(name))
    rest = words[len(century) :].strip()
    number = _CENTURIES[century] + _NUMBERS.get(rest, 0)
    is_year = rest or century == "two thousand"
    if not is_year or not 1990 < number < 2100:
        return match[0]
    return f"{match['month']}{str(number).rjust(len(match[0]) - len(match['month']))}"
