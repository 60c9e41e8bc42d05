"""What stands around a link and was not understood: times, zones, parts of dates, of links.

A reference is certain only if everything around it that may be a date, a time or an address is
used, or is known to be of another kind.
"""

import re
from typing import Final
from unicodedata import decimal

from archives.regex_compat import compiled
from timegate.references.dates import after_access_words
from timegate.text.written_dates import MONTHS, ONLY_BESIDE_DAYS

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
    r"(?<![A-Za-z])h?tt?ps?\s?[:;]\s?/|(?<![A-Za-z])www\s?\.\s?\w"
    r"|(?<![\w@./:-])(?:[a-z0-9-]{1,63}\.){1,4}"
    r"(?:com|org|net|edu|gov|info|eu|uk|de|fr|nl|se|no|dk|fi|es|it|pl|ch|at|jp|au|ca|br|ru)/\w",
    re.IGNORECASE,
)
"""A link with a fault, or without a scheme beside another link."""
_ALSO_WORDS: Final = ONLY_BESIDE_DAYS | frozenset(
    ("may", "mar", "set", "out", "ago", "gen", "mag", "des", "mars")
)
_MONTHS_ONLY: Final = frozenset(("May", "Mar"))
"""Of these, what is a month with a capital letter."""

_ROMAN: Final = compiled(
    r"(?<![\w./-])[0-9]{1,2}([./ -])(?:x?i{1,3}|iv|vi{0,3}|ix|x)\1"
    r"(?:[0-9]{4}|[0-9]{2})(?![\w/-])",
    re.IGNORECASE,
)
"""A day, a month in Roman numerals, and a year."""
_YEAR_AND_MONTH: Final = compiled(
    r"(?<![\w./:-])(?<!v\s)(?<!v\.\s)(?:199|20[0-2])[0-9][./-](?:0?[1-9]|1[0-2])(?![\w/-]|[.,][0-9])"
)
_MONTH_AND_YEAR: Final = compiled(
    r"(?<![\w./:-])(?<!v\s)(?<!v\.\s)(?:0?[1-9]|1[0-2]|(?-i:[IVX]{1,4}))[./-](?:199|20[0-2])[0-9]"
    r"(?![\w/-]|[.,][0-9])"
)
_SEEN_IN_PART: Final = compiled(
    r"\b(?:seen|accessed|visited|viewed|retrieved|consulted|checked|vue?|lu|visto|vista|visitado|consultado"
    r"|consulté|gesehen|abgerufen|besucht|gelesen|set|sett|sedd|hämtad|besøgt|bekeken|bezocht)"
    r"[\s:]{1,2}(?:(?:on|in|am|im|le|en|el|il|op|den|the|about|ca)\.?\s)?"
    r"(?:['\u2019]?[0-9]{1,2}(?:[./-][0-9]{1,2})?(?=[\s)\].,;]|$)"
    r"|(?:spring|summer|autumn|fall|winter|frühling|frühjahr|sommer|herbst|printemps|été|automne|hiver"
    r"|primavera|verano|otoño|invierno|estate|autunno|inverno|lente|zomer|herfst)\b)",
    re.IGNORECASE,
)
"""A word of access and a part of a date: "seen 5/10", "seen '10", "visited in summer"."""
_DIGITS: Final = compiled(
    r"(?<![\w./:,'-])(?<![#$£€\u2116]\s)(?<![#$£€\u2116])"
    r"(?P<day>[0-9]{8}|[0-9]{6})"
    r"(?![\w/%€$£°-]|[.,:][0-9]|\s?(?:€|\$|£|%|people|inhabitants|visitors|users|k?m|kg|euros?|dollars|bytes|kb"
    r"|views|hits|items|pages|words|votes|copies|members|einwohner|habitants|habitantes|abitanti)\b)"
)
"""Six or eight digits, which may be a day."""
_LABEL: Final = compiled(
    r"\b(?:pmid|pmcid|isbn|issn|oclc|lccn|doi|pii|eprint|id|ids|no|nr|num|number|nummer|número|numéro|bug|issue|ticket|tel|phone"
    r"|fax|population|page|pages|pp|p|vol|volume|record|item|case|patent|docket|article|artikel|rev|revision|v"
    r"|version|build|postcode|plz|zip|order|ref|reference|account|code|accession|entry|report|grant|msg|row|line|about"
    r"|around|over|some|of|from|than|port|status|pid)[.:#\s]{0,3}$",
    re.IGNORECASE,
)
"""What says that the number after it is no date."""
_LONGEST_LABEL: Final = 16

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
_NUMBER: Final = compiled(r"[^\d\n\ufffc.;]{0,24}+[0-9]{2}")
_PART: Final = "What may be a part of a date stands beside the link"
_BESIDE: Final = compiled(
    r"\ufffc(?:[\u2010-\u2015\u2212/.-]{1,3}[0-9]{1,2}){2}(?![0-9])"
    r"|(?<![\w.])(?:[0-9]{1,2}[\u2010-\u2015\u2212/.-]{1,3}){2}\ufffc"
)
"""A month and a day in digits, right beside a year."""
_SIGNS: Final = {
    "Digits stand right beside a date and were not read": _BESIDE,
    "A part of an address stands beside the link and was not read": _ADDRESS,
    "A year with letters in it stands beside the link and was not read": _MISREAD,
    "A time of day and what may be its time zone were not read": _ZONED,
}
_YEAR_ALONE: Final = compiled(
    r"\ufffc[ \t]{0,2}[,;:(\[ ][ \t]{0,2}[1-9][0-9]{3}[)\].,;]{0,2}[ \t]{0,4}(?:\n|$)"
)
"""Four digits after a link, at the end of its line."""
_FOREIGN: Final = r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff]"
"""A letter of another script than the Latin one."""
_YEAR: Final = r"(?:1[3-6]|19|20|2[4-6])[0-9]{2}"
_UNREAD_YEAR: Final = compiled(
    rf"{_FOREIGN}[\s.(:]{{0,3}}{_YEAR}(?![0-9]|[.,:/-][0-9])"
    rf"|(?<![\w./:#-]){_YEAR}[\s.)-]{{0,2}}{_FOREIGN}"
    r"|(?<![\w./:#-])(?:19|20)[0-9]{2}(?:g|r|m|e?ko|yil)\b"
)
"""A year beside a letter of another script, perhaps of another calendar: 2015թ."""
_EASTERN_DAY: Final = compiled(
    r"(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})\s?[月월]\s?(?:[0-9]{1,2}|[一二三四五六七八九十廿卅]{1,3})\s?[日号號일]"
)
"""A month and a day without a year."""
_HEBREW_YEAR: Final = compiled(
    r"(?<!\w)\u05d4?['\u05f3]?\u05ea\u05e9[\u05d0-\u05ea]{0,2}[\"\u05f4][\u05d0-\u05ea](?!\w)"
)
"""Letters for a year of the Hebrew calendar from 5700 on."""
_SIGNS_OF_DATES: Final = {
    "What may be a year of another script stands beside the link": _UNREAD_YEAR,
    "What may be a year of the Hebrew calendar stands beside the link": _HEBREW_YEAR,
    "A month and a day without a year stand beside the link": _EASTERN_DAY,
    "What may be a year stands beside the link": _YEAR_ALONE,
    "A time of day without a date stands beside the link": _TIME,
    _PART: _NUMBERS,
    "What may be a month stands beside the link": _YEAR_AND_MONTH,
    "What may be a month and its year stand beside the link": _MONTH_AND_YEAR,
    "A date in Roman numerals stands beside the link": _ROMAN,
    "A word of access and a part of a date stand beside the link": _SEEN_IN_PART,
}
"""What says that a date is meant, if there is none."""


def unexplained(text: str, *, dated: bool) -> str:
    """Return what of *text* was not understood, as a sentence; empty if there is nothing.

    *text* has the surroundings of one link, without links and dates. *dated*: a date is used.
    """
    text = _in_ascii_digits(text)
    signs = _SIGNS if dated else {**_SIGNS, **_SIGNS_OF_DATES}
    found = next((why for why, sign in signs.items() if sign.search(text)), "")
    if found or dated:
        return found
    if _has_day(text) or _has_digits(text):
        return _PART
    if _has_number_after_access(text):
        return "A word of access and a number stand beside the link, and were not read"
    return _COUNTED if _has_count(text) else ""


def _in_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return text.translate(
        {ord(each): str(decimal(each)) for each in {*text} if each.isdecimal()}
    )


def _has_number_after_access(text: str) -> bool:
    """Whether digits follow a word of access: a date in an unknown notation."""
    return any(_NUMBER.match(text, end) is not None for end in after_access_words(text))


def _has_count(text: str) -> bool:
    """Whether there is a time as programs count it, in seconds or parts of them."""
    return any(
        not _OF_OTHER.search(text, max(0, count.start() - 24), count.start())
        for count in _COUNT.finditer(text)
    )


def _has_digits(text: str) -> bool:
    """Whether digits without signs between them may be a day."""
    for number in _DIGITS.finditer(text):
        label = _LABEL.search(text, max(0, number.start() - _LONGEST_LABEL), number.start())
        if label is None and _may_be_day(number["day"]):
            return True
    return False


def _may_be_day(digits: str) -> bool:
    """Whether six or eight digits are a day, or a month, in one of the usual orders."""
    first, second, third = (int(digits[at : at + 2]) for at in (0, 2, 4))
    year, rest = int(digits[:4]), int(digits[4:])
    if len(digits) == len("040506"):
        is_day = _fits(second, third) or _fits(second, first) or _fits(first, second)
        return is_day or (_is_year(year) and 1 <= rest <= 12)
    is_last = _is_year(rest) and (_fits(second, first) or _fits(first, second))
    return is_last or (_is_year(year) and _fits(third, rest % 100))


def _fits(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _is_year(number: int) -> bool:
    return 1991 <= number <= 2099


def _has_day(text: str) -> bool:
    """Whether there is a day and a month without a year."""
    words = (found[1] or found[2] for found in _DAY_AND_WORD.finditer(text))
    return any(
        word.lower() in MONTHS and (word.lower() not in _ALSO_WORDS or word in _MONTHS_ONLY)
        for word in words
    )
