"""Dates as people write them in prose, in many languages, with their positions.

Every date has a year of four digits, so that the scan looks only at the surroundings of such
numbers: it is linear in the length of the text. A date that can be read in two ways, such as
03/04/2010, has both readings and no moment. Parts of two dates are never one date.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from heapq import merge
from importlib.resources import files
from typing import Final, NamedTuple
from unicodedata import decimal, normalize

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.text.spelled_dates import in_digits

DATE_WORDS: Final = tomllib.loads(
    files("timegate.text").joinpath("date_words.toml").read_text(encoding="utf-8")
)
"""Words around dates, by language."""
_CLDR_MONTHS: Final[Mapping[str, tuple[int, ...]]] = {
    name: (number,)
    for number, names in enumerate(DATE_WORDS["cldr"]["months"], start=1)
    for name in names.split()
}
_COMMON_MONTHS: Final[Mapping[str, tuple[int, ...]]] = {
    name: (number,)
    for months in DATE_WORDS["months"].values()
    for number, names in enumerate(months, start=1)
    for name in names.split()
} | {name: tuple(months) for name, months in DATE_WORDS["two"].items()}
MONTHS: Final[Mapping[str, tuple[int, ...]]] = {**_CLDR_MONTHS, **_COMMON_MONTHS}
"""Names of months in lower case, and the months that each may be."""
ONLY_BESIDE_DAYS: Final = frozenset(
    name
    for name in _CLDR_MONTHS.keys() - _COMMON_MONTHS.keys()
    if name.isascii() and len(name) <= len("julie")
)
"""Short names that are words or names of people elsewhere: months only beside a day."""
WEEKDAYS: Final[Mapping[str, int]] = {
    name: number
    for number, names in enumerate(DATE_WORDS["weekdays"]["in_order"])
    for name in names.split()
}
"""Names of weekdays in some languages, from Monday (0) on."""
_LONGER_NAMES: Final[Mapping[str, str]] = DATE_WORDS["longer"]
_LONGER: Final = compiled("|".join(map(re.escape, _LONGER_NAMES)), re.IGNORECASE)
_ALSO_WORDS: Final = frozenset(["out", "set", "ago", "gen", "mag", "des", "mart", "mars"])
"""Abbreviations that are words elsewhere: months only beside a day or a preposition."""
_SHORT_NAMES: Final = frozenset(["mai", "maj", "mei", "май", "мај", "maí"])
"""Whole names of three letters, which are written with a small letter."""
_IN_MONTH: Final = compiled(r"(?<!\w)(?:en|em|i|im|în|nel|début|fin|fine)\s$", re.IGNORECASE)

_YEAR: Final = compiled(r"(?<![\w.,])(?:1[6-9]|20)[0-9]{2}(?![0-9])")
_LOOSE_YEAR: Final = compiled(r"(?<![0-9])(?:1[6-9]|20)[0-9]{2}(?![0-9])")
# A year between other numbers, as in a telephone number; 2008-2009 are two years.
_IN_NUMBER_BEFORE: Final = compiled(r"[0-9]-$(?<!(?:19|20)[0-9]{2}-)")
_IN_NUMBER_AFTER: Final = compiled(
    r"-[0-9](?!(?<=1)9[0-9]{2}(?![0-9])|(?<=2)0[0-9]{2}(?![0-9]))"
)
_STAMP: Final = compiled(r"(?<![\w./-])(?<!\w,)((?:19|20)[0-9]{6}(?:[0-9]{6})?)(?![\w])")
_BASIC: Final = compiled(
    r"(?<![\w./-])((?:19|20)[0-9]{6})T([0-9]{4}(?:[0-9]{2})?)(Z)?(?![\w+-])"
)
"""The basic format of ISO 8601, as in calendars: 20101105T102030Z."""
_NAMED_SHORT: Final = compiled(
    r"(?<![\w./-])([0-9]{1,2})(?:st|nd|rd|th|\.)?[\s-]([^\W\d_]{3,9})\.?,?[\s-]['\u2019]?([0-9]{2})"
    r"(?![\w:%/-]|[.,][0-9]|(?<=19|20)\s[0-9]{2}(?![\w:]))"
)
"""A day, the name of a month and two digits of a year: 5 Nov 10."""
_SHORT_NAMED: Final = compiled(
    r"(?<![\w./-])(?<!\b[0-9]\s)(?<!\b[0-9]{2}\s)([^\W\d_]{3,9})\.?\s([0-9]{1,2})(?:st|nd|rd|th)?,?\s['\u2019]?([0-9]{2})"
    r"(?![\w:%/-]|[.,][0-9])"
)
"""The same with the month first: Nov 5, 10."""
_MONTH_SHORT: Final = compiled(
    r"(?<![\w./-])(?<![0-9][\s-])(?<![0-9]\.\s)(?<!(?:st|nd|rd|th)\s)(?:([^\W\d_]{3,10})\.?,?[\s-]?|(0?[1-9]|1[0-2])[/.-])['\u2019\u2018]([0-9]{2})(?![\w:%/-]|[.,][0-9])"
)
"""A month and two digits of a year after an apostrophe: Nov '10, 05/'10."""
_LONG_YEAR: Final = compiled(
    r"(?<![\w./-])([0-9]{1,2})(?:st|nd|rd|th|\.)?[\s-](?:of\s|de\s)?([^\W\d_]{3,14})\.?,?[\s-]([12][0-9]{4})(?![\w:%/-]|[.,][0-9])"
)
"""A date with a digit too many in its year: 12 May 20112."""
_MISREAD: Final = compiled(
    r"(?<![\w./-])(?=\S{0,2}\s\S{3,14}\s[0-9]{0,3}[OolI]|[0-9]?[OolI])([0-9OolI]{1,2})\.?\s([^\W\d_]{3,9})\.?,?\s"
    r"([12lI][0-9OolI]{3})(?!\w)"
)
"""A date with letters in the place of digits, as OCR reads them: l2 Nov 2OO3."""
_OCR: Final = str.maketrans("OolI", "0011")
_SPACED_YEAR: Final = compiled(
    r"(?<![\w./-])([0-9]{1,2})\.?\s([^\W\d_]{3,9})\.?,?\s(19|20)\s([0-9]{2})(?![\w:%/-]|[.,][0-9])"
)
"""A date with a blank in its year, as OCR reads it: 4 May 20 10."""
_FILE_TIME: Final = compiled(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}\s(?:at|um|om|kl\.?|alle|\u00e0|a\slas)\s$"
)
"""Before a time of day in the name of a file: Screenshot 2010-11-05 at 10.20.30."""
_SHORT_YEAR: Final = compiled(
    r"(?<![\w./-])([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{2})(?![0-9A-Za-z_/-]|\.[0-9])"
)
_SIGNS: Final = (
    "\\u0300-\\u036f\\u05b0-\\u05c7\\u064b-\\u0655\\u0670\\u0900-\\u0963\\u0970-\\u0e31\\u0e34-\\u0e4e\\u0eb1-\\u0ece\\u102b-\\u103e"
    "\\u17b4-\\u17d3\\u200c\\u200d"
)
"""Accents, a sign of Persian, letters and vowel signs of Indic scripts and their neighbours.

They are no letters to `re`.
"""
_LETTER: Final = rf"(?:[^\W\d_]|[{_SIGNS}])"
_WORD: Final = rf"({_LETTER}{{2,16}})"


def alternatives(words: Sequence[str]) -> str:
    """Return an expression for *words*, the longest first."""
    longest = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\ ", r"\s") for word in longest)


_NOTATION: Final[Mapping[str, Sequence[str]]] = DATE_WORDS["notation"]
_ARTICLE: Final = rf"(?:{alternatives(_NOTATION['articles'])})?"
_DAY: Final = rf"([0-9]{{1,2}})(?:(?:(?:{alternatives(_NOTATION['days'])})(?![^\W\d_]))?\.?)"
_BEFORE_YEAR: Final = rf"(?:{alternatives(_NOTATION['before_years'])})?"
# What may stand before a year of four digits, from the day or the month on.
_DAY_MONTH: Final = compiled(
    rf"(?<![0-9A-Za-z./]){_DAY}[\s~/-]{{0,24}}{_ARTICLE}{_WORD}\.?"
    rf"(?:\s?/\s{{0,8}}(?P<other>{_LETTER}{{2,16}}))?,?[\s~/-]{{0,24}}"
    rf"{_BEFORE_YEAR}['\u2019]?$"
)
_MONTH_DAY: Final = compiled(
    rf"(?<!\w){_WORD}[.,]?[\s~]{{0,24}}{_DAY}\s{{0,24}},?[\s~]{{0,24}}(?:at |de )?$"
)
_MONTH_DAYS: Final = compiled(
    rf"(?<!\w){_WORD}\.?\s{{1,2}}([0-9]{{1,2}})(?:st|nd|rd|th)?"
    r"\s?(?:[\u2010-\u2015/&-]|\b(?:and|or|to)\b)\s?([0-9]{1,2})(?:st|nd|rd|th)?,?\s{1,2}$"
)
"""Two days of a month, of which one is meant: June 8-9, 2016."""
_MONTH_DAY_TIME: Final = compiled(
    rf"(?<!\w){_WORD}\s{{1,2}}([0-9]{{1,2}})\s([0-2][0-9]):([0-5][0-9]):([0-6][0-9])\s"
    r"(?:(?:UTC|GMT|([+-])([01][0-9])([0-5][0-9]))\s|[A-Z]{3,5}\s)?$"
)
"""As C and e-mail programs write times: May 05 10:20:30 +0000 2010."""
_MONTH: Final = compiled(
    rf"(?<!\w){_WORD}(?:ta|ssa|n)?\.?(?:,\s{{0,2}}|[\s/-]{{1,3}})(?:of |de |del )?$"
)
_NUMBERS: Final = compiled(
    r"(?<![0-9./-])([0-9]{1,2})(\s{0,1}[./-]\s{0,8})([0-9]{1,2})\s{0,1}([./-])\s{0,8}$"
)
_SCANDINAVIAN: Final = compiled(r"(?<![\w./-])([0-9]{1,2})/([0-9]{1,2})[ -]{1,2}$")
"""Before a year, in the north of Europe: 5/11 2010."""
_VIETNAMESE: Final = compiled(
    r"(?<![0-9])([0-9]{1,2})\stháng\s([0-9]{1,2})(?:,?\snăm\s|,?\s)$", re.IGNORECASE
)
_MONTH_NUMBER: Final = compiled(r"(?<![0-9./-])(0[1-9]|1[0-2])[./-]$")
_ROMAN_MONTHS: Final = (
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"),
)
_ROMAN: Final = compiled(
    r"(?<![\w./-])([0-9]{1,2})(?:\.\s{0,2}|[\s/-]{1,2})([IVX]{1,4}|(?<=[./-])[ivx]{1,4}(?=[./-]))(?:\.\s{0,2}|[\s/-]{1,2})$"
)
# What may follow a year.
_ISO: Final = compiled(
    r"(-{1,2}|[/.])\s?([0-9]{1,2})\1\s?([0-9]{1,2})(?![0-9A-SU-Za-z_-]|\1[0-9])"
    r"|-([0-9]{2})(?![0-9A-Za-z_-])"
)
_EXIF: Final = compiled(r":([0-9]{2}):([0-9]{2})(?![0-9:])")
"""In the data of photographs: 2010:11:05 10:20:30."""
_CLOCK: Final = compiled(
    r"[T :]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]{1,9})?)?"
    r"(?=Z|\s?UTC|\s?GMT|\s?[+-][0-9]{2})(?:Z|\s?UTC|\s?GMT)?"
    r"(?:\s?([+-])(0?[0-9]|1[0-4])(?::?([0-5][0-9]))?)?(?![\w+-]|:[0-9])"
)
_ZONES: Final[Mapping[str, tuple[float, ...]]] = {
    name: tuple(offsets) for name, offsets in DATE_WORDS["zones"].items()
}
"""Names of time zones, and the hours before UTC; several if the name is not certain."""
_ZONE_NAMES: Final = "|".join(sorted(_ZONES, key=len, reverse=True))
_TIME: Final = (
    r"([01]?[0-9]|2[0-3])(?:[:.h]([0-5][0-9])(?::([0-5][0-9]))?|(?=\s?[apAP]\.?[mM]\b))"
    r"(?:\s?([apAP])\.?[mM]\b\.?)?"
    rf"\s?(?:Uhr\s?)?\(?({_ZONE_NAMES})\b(?:\s?([+-])(1[0-4]|0?[0-9])(?::?([0-5][0-9]))?(?![0-9]))?\)?"
)
_TIME_AFTER: Final = compiled(rf"[\s,;(]{{0,3}}(?:(?:at|um|kl\.?|à|alle|a las|o)\s)?{_TIME}")
_TIME_BEFORE: Final = compiled(rf"(?<![0-9:.]){_TIME}[\s,]{{1,3}}(?:(?:on|am|le|el|den)\s)?$")
"""A time of day in a time zone, after a day and before it."""
_WHOLE_TIME: Final = compiled(_TIME)
_SIGNED: Final = compiled(r"(?<![0-9:.])([0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?),\s$")
_ZONE: Final = compiled(rf"\s?\(({_ZONE_NAMES})\)")
"""A time of day before a day, and its time zone after it."""
_WAYBACK_TIME: Final = compiled(
    r"\bARCHIVED? ON ([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]) $", re.IGNORECASE
)
"""Before a day in the comment that the Wayback Machine adds to pages; in UTC."""
# 2013/14 are two years, and 2014/05 is a month.
_SLASH: Final = compiled(r"/([0-9]{1,2})(?![0-9/])")
_TO_YEAR: Final = compiled(
    r"\s?[\u2010-\u2015/-]\s?((?:19|20)[0-9]{2})(?![0-9.,/-]|\s?[\u5e74\ub144])"
)
_WEEK: Final = compiled(r"-?W([0-5][0-9])(?:-?([1-7]))?(?!\w)")
_ORDINAL: Final = compiled(r"-([0-3][0-9]{2})(?![\w-]|\.[0-9])")
"""The number of a day in its year, as in ISO 8601."""
_EAST: Final = compiled(
    r"\s?[年년]\s?(?:([0-9]{1,2})\s?[月월]\s?(?:([0-9]{1,2})\s?[日일号號])?)?"
)
_HUNGARIAN: Final = compiled(rf"\.\s?{_WORD}\.?\s([0-9]{{1,2}})\.?(?!\d)")
_HUNGARIAN_ROMAN: Final = compiled(r"\.\s?([IVX]{1,4})\.\s?([0-9]{1,2})(?![0-9])")
_YEAR_WORDS: Final = rf"\.?[\s-]?(?:{alternatives(_NOTATION['years'])})"
_AFTER_LOCAL: Final = compiled(
    rf"{_YEAR_WORDS},?\s{{1,2}}(?:([0-9]{{1,2}})(?:\.|-)?\s?{_WORD}|{_WORD}\.?\s([0-9]{{1,2}}))"
    r"(?:e?an|a|\sd\.|-[^\W\d_]{1,6})?(?!\w)"
)
"""After a year: a word for it in many languages, and a day."""
_NUMBERED_MONTH: Final = compiled(
    rf"{_YEAR_WORDS},?\s{{1,24}}([0-9]{{1,2}})(?:-\w)?\s"
    rf"(?:{alternatives(_NOTATION['months'])})\s([0-9]{{1,2}})(?![0-9])"
)
"""After a year in Mongolian and Lithuanian: the number of a month, and a day."""
_AFTER_MONTH_DAY: Final = compiled(
    rf",?[\s-]{{0,2}}{_WORD}\.?[\s-]{{0,2}}([0-9]{{1,2}})(?:st|nd|rd|th|\.)?(?![0-9:])"
)
_AFTER_DAY_MONTH: Final = compiled(
    rf",?\s{{1,2}}([0-9]{{1,2}})\.?\s{{1,2}}(?:de\s)?{_WORD}(?!\w)"
)
_AFTER_MONTH: Final = compiled(rf"(?:,\s{{0,2}}|\s|-){_WORD}\.?(?!\w)")
# The first day of "3-5 November 2010", "3 and 5 November 2010" and "3 May to 5 June 2010".
_FIRST_DAY: Final = compiled(
    rf"(?<![\w./-])([0-9]{{1,2}})(?:st|nd|rd|th|er|\.|º)?(?:\s(?:de\s)?{_WORD})?"
    r"\s?(?:[\u2010-\u2015/-]|\b(?:and|to|until|or|und|bis|oder|et|au|y|e|al|a|en|og|och))\s?$"
)
_THEN_YEAR: Final = compiled(
    r"\.?\s{0,3},?\s{0,3}(?:of |de |del )?((?:1[6-9]|20)[0-9]{2})(?![0-9])"
)
_HYPHENS: Final = {0x2010: "-", 0x2011: "-", 0xFF0D: "-", 0xFF0E: ".", 0xFF0F: "/"}
"""Signs between the numbers of a date, also as wide as Chinese characters."""
# Dashes are hyphens in a whole date; 2010 and 11 with a dash between them may be two years.
_DASHES: Final = compiled(
    r"(?<![0-9])([0-9]{1,4})[\u2012\u2013\u2212]([0-9]{1,2})[\u2012\u2013\u2212]([0-9]{1,4})"
    r"(?![0-9])"
)
_MORE_OF_DATE: Final = compiled(
    r"\.?\s{1,2}[0-9]{1,2}(?:st|nd|rd|th|\.)?,?\s{1,2}(?:1[6-9]|20)[0-9]{2}(?![0-9])"
)
_JAPANESE: Final = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_ERAS: Final = _JAPANESE | {"民國": 1911, "民国": 1911, "中華民國": 1911}
"""The year before the first year of each era."""
_ZEROS: Final = "零\u3007\u25cb\uff2f"
_NUMERALS: Final = {
    **{sign: number for number, sign in enumerate("零一二三四五六七八九")},
    **dict.fromkeys(_ZEROS, 0),
    **dict(zip("元正十廿卅", (1, 1, 10, 20, 30), strict=True)),
}
_CHINESE: Final = rf"[一二三四五六七八九十廿卅{_ZEROS}]{{1,3}}"
_MONTH_AND_DAY: Final = (
    rf"年\s?(?:(正|[0-9]{{1,2}}|{_CHINESE})\s?月份?\s?"
    rf"(?:初?([0-9]{{1,2}}|{_CHINESE})\s?[日号號])?)?"
)
_ERA: Final = compiled(
    rf"({'|'.join(sorted(_ERAS, key=len, reverse=True))})\s?"
    rf"([0-9]{{1,3}}|元|[一二三四五六七八九十百廿卅{_ZEROS}]{{1,4}})\s?{_MONTH_AND_DAY}"
)
_CHINESE_YEAR: Final = compiled(
    rf"(?<![一二三四五六七八九十{_ZEROS}])"
    rf"((?:一九|二[{_ZEROS}])[一二三四五六七八九{_ZEROS}]{{2}})\s?{_MONTH_AND_DAY}"
)
"""A year in Chinese numerals."""
_THAI_MONTHS: Final = DATE_WORDS["thai"]["months"]
_THAI_NAMES: Final = (*_THAI_MONTHS, *DATE_WORDS["thai"]["short"])
_THAI: Final = compiled(
    rf"([0-9]{{1,2}})\s(?:เดือน\s?)?({alternatives(_THAI_NAMES)})\s?"
    r"(พ\.ศ\.\s?|ค\.ศ\.\s?|ปี\s)?(2[045][0-9]{2})(?![0-9])"
)
_PERSIAN_MONTHS: Final[Mapping[str, int]] = {
    name: number
    for number, names in enumerate(DATE_WORDS["persian"]["months"], start=1)
    for name in names.split()
}
_PERSIAN: Final = compiled(
    rf"(?<![0-9])([0-9]{{1,2}})\s({'|'.join(_PERSIAN_MONTHS)})(?:\s?ماه)?،?\s(1[34][0-9]{{2}})(?![0-9])"
)
_PERSIAN_NUMBERS: Final = compiled(
    r"(?<![0-9/])(1[34][0-9]{2})([/-])([0-9]{1,2})\2([0-9]{1,2})(?![0-9/])"
)
_ETHIOPIAN_MONTHS: Final = alternatives(DATE_WORDS["ethiopian"]["months"])
_ETHIOPIAN: Final = compiled(
    rf"(?:(?:{_ETHIOPIAN_MONTHS})\s[0-9]{{1,2}}(?:\sቀን)?[,፣]?|[0-9]{{1,2}}[,፣]?\s(?:{_ETHIOPIAN_MONTHS}))"
    r"\s(?:19|20)[0-9]{2}(?![0-9])"
)
"""A day of the Ethiopian calendar, whose years look like those of the common one."""
_FIRST_DAYS: Final = compiled(r"[\u0600-\u06ff]")
"""Letters without which a year such as 1389 is not one of Iran."""
_BUDDHIST: Final = 543
"""Years between the two calendars; a year of the common calendar is read as any other."""
_WORK: Final = compiled(r"[a-k](?=,\s|\))")
"""After a year: the letter of one of several works."""
_WINDOW: Final = 60
"""Characters before and after a year; no date is longer."""


class WrittenDate(NamedTuple):
    """A date in a text."""

    start: int
    end: int
    text: str
    moment: Moment | None
    """None if it is not certain which date is meant."""
    readings: tuple[Moment, ...] = ()
    """What it may mean, if that is not certain; empty if there is no such date."""
    impossible: bool = False
    """Whether there is no such day in its month, which is the only reading."""

    @property
    def common(self) -> Moment | None:
        """The part in which all readings agree: the moment, its day, month or year."""
        return self.moment or (None if self.impossible else common_moment(self.readings))


def common_moment(readings: Sequence[Moment]) -> Moment | None:
    """Return the day, month or year in which all *readings* agree; None if they do not."""
    for length in (len("20101105"), len("201011"), len("2010")):
        parts = {reading.digits[:length] for reading in readings}
        if len(parts) == 1 and len(part := parts.pop()) == length:
            return Moment(part)
    return None


def find_dates(text: str) -> Iterator[WrittenDate]:
    """Yield the dates in *text*, in order, without overlap."""
    text = _folded(text)
    if text.isascii():
        yield from _common_dates(text)
        return
    at = 0
    of_eras = sorted(_dates_of_eras(text), key=_begin)
    for date in merge(_common_dates(text), of_eras, key=_begin):
        if date.start >= at:
            yield date
            at = date.end


def _begin(date: WrittenDate) -> int:
    return date.start


def _dates_of_eras(text: str) -> Iterator[WrittenDate]:
    """Yield the dates in years of eras and calendars of Asia, or in Chinese numerals."""
    for match in _ERA.finditer(text):
        yield _eastern(match, str(_ERAS[match[1]] + _number(match[2])), *match.groups()[2:])
    for match in _CHINESE_YEAR.finditer(text):
        year = "".join(str(_NUMERALS[sign]) for sign in match[1])
        yield _eastern(match, year, *match.groups()[1:])
    for match in _THAI.finditer(text):
        common = int(match[4]) - (_BUDDHIST if match[4] > "2400" else 0)
        month = _THAI_NAMES.index(match[2]) % 12 + 1
        digits = _digits(str(common), month, match[1])
        yield WrittenDate(*match.span(), match[0], _moment(digits))
    for match in _ETHIOPIAN.finditer(text):
        yield WrittenDate(*match.span(), match[0], None)
    yield from _persian_dates(text)


def _eastern(
    match: re.Match[str], year: str, month: str | None, day: str | None
) -> WrittenDate:
    """Return a date in Chinese numerals, or of an era."""
    numbers = [str(_number(part)) if part else None for part in (month, day)]
    return WrittenDate(*match.span(), match[0].strip(), _moment(_digits(year, *numbers)))


def _number(written: str) -> int:
    """Return a number up to 199 in digits or Chinese numerals: 二十一, 廿一, 一百零八."""
    if written.isdecimal():
        return int(written)
    hundreds, _, rest = written.rpartition("百")
    signs = [_NUMERALS[sign] for sign in rest]
    if signs and max(signs) < len("一二三四五六七八九十"):
        number = int("".join(map(str, signs)))
    else:
        # The number before "ten" multiplies it.
        number = 0
        for sign in signs:
            number = max(number, 1) * 10 if sign == 10 else number + sign
    return number + (100 * _NUMERALS[hundreds] if hundreds else 0)


def _persian_dates(text: str) -> Iterator[WrittenDate]:
    """Yield the dates of the calendar of Iran; with numbers alone, in its script only."""
    if not _FIRST_DAYS.search(text):
        return
    found = [
        *(
            (each, each[3], _PERSIAN_MONTHS[each[2]], each[1])
            for each in _PERSIAN.finditer(text)
        ),
        *((each, each[1], each[3], each[4]) for each in _PERSIAN_NUMBERS.finditer(text)),
    ]
    for match, year, month, day in sorted(found, key=lambda each: each[0].start()):
        digits = _from_persian(int(year), int(month), int(day))
        yield WrittenDate(*match.span(), match[0], _moment(digits) if digits else None)


def _from_persian(year: int, month: int, day: int) -> str | None:
    """Return the digits of a day of the calendar of Iran; None if there is no such day.

    The rule of 33 years holds for the years from 1343 to 1472 (1964 to 2093).
    """
    longest = 31 if month <= 6 else 30
    if not (1 <= month <= 12 and 1 <= day <= longest and 1343 <= year <= 1472):
        return None
    days = sum(_is_persian_leap(each) + 365 for each in range(1343, year))
    days += (month - 1) * 31 - max(0, month - 7) + day - 1
    if month == 12 and day == 30 and not _is_persian_leap(year):
        return None
    return f"{datetime(1964, 3, 21, tzinfo=UTC) + timedelta(days=days):%Y%m%d}"


def _is_persian_leap(year: int) -> bool:
    return year % 33 in (1, 5, 9, 13, 17, 22, 26, 30)


def _common_dates(text: str) -> Iterator[WrittenDate]:
    at = 0
    for year in _LOOSE_YEAR.finditer(text):
        if year.start() < at:
            continue
        found = _date_around(text, at, year)
        if found is not None:
            yield found
            at = found.end


_EPOCH: Final = compiled(
    r"(?:(?:time|date|timestamp|stamp|ts|at|on)[\"']?\s?[:=]\s?[\"']?|@\s?)"
    r"(?P<seconds>[6-9][0-9]{8}|1[0-9]{9})(?:[0-9]{3}|\.[0-9]{1,6})?(?![\w.])",
    re.IGNORECASE,
)
"""Seconds or milliseconds since 1970, after a word for a time."""


def _epochs(text: str) -> Iterator[WrittenDate]:
    """Yield times in seconds since 1970: time=1288952430."""
    for match in _EPOCH.finditer(text):
        time = datetime.fromtimestamp(int(match["seconds"]), UTC)
        start = match.start("seconds")
        moment = _moment(f"{time:%Y%m%d%H%M%S}")
        written = text[start : match.end()].partition(".")[0]
        yield WrittenDate(start, match.end(), written, moment)


def _stamps(text: str) -> Iterator[WrittenDate]:
    """Yield days and times in digits alone: 20101105, and 20101105T102030Z."""
    for basic in _BASIC.finditer(text):
        # Without a time zone, only the day is certain.
        digits = f"{basic[1]}{basic[2]}" if basic[3] else basic[1]
        yield WrittenDate(*basic.span(), basic[0], _moment(digits))
    for stamp in _STAMP.finditer(text):
        moment = _moment(stamp[1])
        if moment is not None:
            yield WrittenDate(stamp.start(), stamp.end(), stamp[0], moment)


_SEEN_DIGITS: Final = compiled(
    r"\b(?:seen|accessed|access|visited|viewed|retrieved|consulted|checked|downloaded|cited|vue?|lu|visto|visitado|consultado"
    r"|consultato|consulté|gesehen|abgerufen|abruf|zugriff|besucht|gelesen|sett|hämtad|besøgt|hentet|bekeken|bezocht|geraadpleegd)"
    r"[\s:=]{1,3}(?:(?:on|am|le|el|il|op|den|em)\s)?(?P<digits>[0-9]{8}|[0-9]{6})(?![\w./:-])",
    re.IGNORECASE,
)
"""Six or eight digits after a word of access: seen 040506."""


def _digits_seen(text: str) -> Iterator[WrittenDate]:
    """Yield digits after a word of access, with what they may mean; none of it is certain."""
    for seen in _SEEN_DIGITS.finditer(text):
        digits = seen["digits"]
        first, second, last = digits[:2], digits[2:4], digits[4:]
        if len(digits) == len("05112010"):
            orders = [f"{last}{second}{first}", f"{last}{first}{second}"]
            if _moment(digits) is not None and digits[:2] in ("19", "20"):
                continue
        else:
            short = (
                f"{first}{second}{last}",
                f"{last}{second}{first}",
                f"{last}{first}{second}",
            )
            orders = [f"{20 if int(each[:2]) < 70 else 19}{each}" for each in short]
            orders += [digits] if digits[:2] in ("19", "20") else []
        readings = dict.fromkeys(filter(None, map(_moment, orders)))
        if readings:
            start = seen.start("digits")
            yield WrittenDate(start, seen.end(), digits, None, tuple(readings))


def other_dates(text: str) -> Iterator[WrittenDate]:
    """Yield what is a date only if its surroundings say so: 20101105, and 5.11.10."""
    text = _folded(text)
    yield from _epochs(text)
    yield from _stamps(text)
    yield from _digits_seen(text)
    for named, day, month in (
        *((named, named[1], named[2]) for named in _NAMED_SHORT.finditer(text)),
        *((named, named[2], named[1]) for named in _SHORT_NAMED.finditer(text)),
    ):
        # The century is guessed, so that it is never certain.
        year = f"{20 if int(named[3]) < 70 else 19}{named[3]}"
        digits = [_digits(year, number, day) for number in _month(month)]
        if moments := tuple(filter(None, map(_moment, digits))):
            yield WrittenDate(*named.span(), named[0], None, moments)
    yield from _scanned(text)
    yield from _short_months(text)
    yield from _long_years(text)
    for short in _SHORT_YEAR.finditer(text):
        if _FILE_TIME.search(text, max(0, short.start() - 20), short.start()):
            continue
        one, _, other, year = short.groups()
        readings = [
            *_readings(f"20{year}", one, other, short[2]),
            *_readings(f"19{year}", one, other, short[2]),
        ]
        if short[2] == "-" or (short[2] == "/" and max(int(one), int(other)) <= 12):
            # The year may be first, as in ISO dates.
            first = _moment(_digits(f"20{one.zfill(2)}", other, year))
            readings += [first] if first and first not in readings else []
        yield WrittenDate(short.start(), short.end(), short[0], None, tuple(readings))


def _short_months(text: str) -> Iterator[WrittenDate]:
    """Yield months with two digits of a year, of which the century is guessed."""
    for short in _MONTH_SHORT.finditer(text):
        year = f"{20 if int(short[3]) < 40 else 19}{short[3]}"
        months = _month(short[1]) if short[1] else (int(short[2]),)
        if moments := tuple(filter(None, (_moment(_digits(year, each)) for each in months))):
            yield WrittenDate(*short.span(), short[0], None, moments)


def _long_years(text: str) -> Iterator[WrittenDate]:
    """Yield dates whose year has five digits, with the years that are left without one."""
    for long in _LONG_YEAR.finditer(text):
        years = dict.fromkeys(f"{long[3][:at]}{long[3][at + 1 :]}" for at in range(5))
        known = [year for year in years if "1991" <= year <= "2039"]
        digits = [_digits(year, month, long[1]) for year in known for month in _month(long[2])]
        if moments := tuple(filter(None, map(_moment, digits))):
            yield WrittenDate(*long.span(), long[0], None, moments)


def _scanned(text: str) -> Iterator[WrittenDate]:
    """Yield dates with a letter in the place of a digit, or a blank in the year."""
    for scanned, day, month, year in (
        *((found, found[1], found[2], found[3]) for found in _MISREAD.finditer(text)),
        *(
            (found, found[1], found[2], found[3] + found[4])
            for found in _SPACED_YEAR.finditer(text)
        ),
    ):
        digits = [
            _digits(year.translate(_OCR), number, day.translate(_OCR))
            for number in _month(month) or _month(_unscanned(month))
        ]
        if moments := tuple(filter(None, map(_moment, digits))):
            yield WrittenDate(*scanned.span(), scanned[0], None, moments)


def whole_date(text: str) -> WrittenDate | None:
    """Return the date that *text* is, as a whole; None if it is anything else."""
    stripped = text.strip(" \t\r\n,;()[]")
    found = next(find_dates(stripped), None)
    if found is None and (stripped.isdecimal() or _SHORT_YEAR.fullmatch(_folded(stripped))):
        found = next(other_dates(stripped), None)
    rest = stripped[found.end :].strip(". ") if found is not None else ""
    is_all = found is not None and not found.start and (not rest or _is_local(found, rest))
    return found if is_all else None


_LOCAL_TIME: Final = compiled(
    r"[T,]?\s?[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?(?:\s?[ap]\.?m)?",
    re.IGNORECASE,
)


def _is_local(date: WrittenDate, rest: str) -> bool:
    """Whether a time of day without a time zone follows a day, as in exported tables."""
    is_day = date.moment is not None and len(date.moment.digits) == len("20101105")
    return is_day and _LOCAL_TIME.fullmatch(rest) is not None


def _folded(text: str) -> str:
    """Return *text* with ASCII digits and hyphens in dates, of the same length."""
    text = in_digits(text)
    if text.isascii():
        return text
    if _LONGER.search(text):
        text = _LONGER.sub(_one_word, text)
    digits = {ord(each): str(decimal(each)) for each in {*text} if each.isdecimal()}
    return _DASHES.sub(r"\1-\2-\3", text.translate(digits | _HYPHENS))


def _one_word(name: re.Match[str]) -> str:
    """Return the name of one word by which a longer name is read, of the same length."""
    return _LONGER_NAMES.get(name[0].lower(), name[0]).rjust(len(name[0]))


def _date_around(text: str, at: int, year: re.Match[str]) -> WrittenDate | None:
    start, end = year.span()
    # Of several works of one year: (2018a, August 4).
    end += _WORK.match(text, end) is not None
    after = text[end : end + _WINDOW]
    before = text[max(at, start - _WINDOW) : start]
    # "5 Nov 2010, 6 Dec 2011": what stands before a year in words belongs to it.
    found = (
        _numeric_first(year[0], after)
        or _year_last(year[0], before)
        or _words_after(year[0], after)
    )
    if found is None:
        return _bare_year(text, year, text[year.end() : year.end() + _WINDOW])
    begin, length, readings = found
    if not length and len(readings) == 1 and len(readings[0]) == len("20101105"):
        # "Fri, 05 Nov 2010 10:15:00 GMT", and "05/Nov/2010:10:15:00 +0100" in logs.
        clock = _CLOCK.match(after)
        exact = _utc(readings[0], clock) if clock else None
        length, readings = (clock.end(), [exact]) if clock and exact else (length, readings)
    if len(readings) == 1 and len(readings[0]) == len("20101105"):
        # "1 January 2011, 00:30 CET" is the day before in UTC.
        head = text[max(at, start - begin - _WINDOW) : start - begin]
        timed = _in_zone(readings[0], head, after[length:])
        begin, length, readings = begin + timed[0], length + timed[1], timed[2]
    begin, finish = start - begin, end + length
    moments = tuple(filter(None, map(_moment, readings)))
    if not moments and (months := tuple(_months_of(readings))):
        return WrittenDate(begin, finish, text[begin:finish], None, months, impossible=True)
    if len({*moments}) == 1 and len(moments[0].digits) >= len("20101105"):
        # A mistyped month: one day, which is not certain.
        moments = moments[:1]
    certain = moments[0] if len(moments) == 1 and len(readings) == 1 else None
    return WrittenDate(begin, finish, text[begin:finish], certain, moments)


def _months_of(readings: Sequence[str]) -> Iterator[Moment]:
    """Yield the months of days at the end of a month that do not exist: 31 February 2011."""
    for digits in dict.fromkeys(readings):
        is_day = len(digits) == len("20101105")
        if is_day and "29" <= digits[6:] <= "31" and (month := _moment(digits[:6])):
            yield month


Found = tuple[int, int, list[str]]
"""Characters before the year, characters after it, and the digits of each reading."""


def _in_zone(day: str, before: str, after: str) -> Found:
    """Return *day* with the time of day in a time zone that stands after or before it."""
    clock = _TIME_AFTER.match(after)
    if clock is None and (stated := _WAYBACK_TIME.search(before)):
        return len(before) - stated.start(1), 0, [day + "".join(stated.groups())]
    if clock is None and (signed := _SIGNED.search(before)) and (zone := _ZONE.match(after)):
        # "10:20, 5 May 2010 (UTC)", as wikis sign.
        timed = _WHOLE_TIME.fullmatch(f"{signed[1]} {zone[1]}")
        if timed and (moments := [*_zoned(day, timed)]):
            return len(before) - signed.start(), zone.end(), moments
    earlier = None if clock else _TIME_BEFORE.search(before)
    match = clock or earlier
    readings = [*_zoned(day, match)] if match else []
    if not match or not readings:
        return 0, 0, [day]
    if clock:
        return 0, clock.end(), readings
    return len(before) - match.start(), 0, readings


def _zoned(day: str, clock: re.Match[str]) -> Iterator[str]:
    hour, minute, second, half, zone, sign, hours, minutes = clock.groups()
    number = int(hour) % 12 + (12 if half in ("p", "P") else 0) if half else int(hour)
    stated = f"{day}{number:02}{minute or '00'}{second or '00'}"
    form = "%Y%m%d%H%M%S"
    more = (int(hours) + int(minutes or 0) / 60) * (-1 if sign == "-" else 1) if sign else 0.0
    for offset in _ZONES[zone]:
        try:
            local = datetime.strptime(stated, form)  # noqa: DTZ007 - the offset is subtracted
            moved = (local - timedelta(hours=offset + more)).strftime(form)
        except (ValueError, OverflowError):
            return
        yield moved if second else moved[:-2]


def _bare_year(text: str, year: re.Match[str], after: str) -> WrittenDate | None:
    """Return a year alone, unless it is a part of another number or of a word."""
    start, end = year.span()
    if not _YEAR.match(text, start) or after[:1].isalnum() or after.startswith(("_", "%", "@")):
        return None
    if after[:1] in ".,:" and after[1:2].isdigit():
        return None
    if _IN_NUMBER_BEFORE.search(text[max(0, start - 6) : start]) or _IN_NUMBER_AFTER.match(
        after
    ):
        return None
    return WrittenDate(start, end, year[0], _moment(year[0]))


def _numeric_first(year: str, after: str) -> Found | None:
    if match := _ISO.match(after):
        return _iso(year, after, match)
    if match := _TO_YEAR.match(after):
        return 0, match.end(), [year, match[1]]
    if match := _SLASH.match(after):
        return 0, match.end(), _slashed(year, match[1])
    if found := _of_week(year, after) or _of_ordinal(year, after):
        return found
    match = _EXIF.match(after) or _EAST.match(after)
    if match and match[0].strip():
        return 0, match.end(), [_digits(year, match[1], match[2])]
    return None


def _of_week(year: str, after: str) -> Found | None:
    """Return a day of a week of ISO 8601; the days of a whole week are not read."""
    match = _WEEK.match(after)
    if match is None:
        return None
    try:
        day = datetime.fromisocalendar(int(year), int(match[1]), int(match[2] or 0))
    except ValueError:
        return 0, match.end(), [year, year]
    return 0, match.end(), [f"{day:%Y%m%d}"]


def _of_ordinal(year: str, after: str) -> Found | None:
    """Return a day by its number in the year; None if the year has no such day."""
    match = _ORDINAL.match(after)
    number = int(match[1]) if match else 0
    day = datetime(int(year), 1, 1, tzinfo=UTC) + timedelta(days=number - 1)
    if match is None or not number or day.year != int(year):
        return None
    return 0, match.end(), [f"{day:%Y%m%d}"]


def _slashed(year: str, number: str) -> list[str]:
    """Return the readings of two digits after a year: its month, or the year after it."""
    following = str(int(year) + 1)
    readings = [_digits(year, number)] if 1 <= int(number) <= 12 else []
    return [
        *readings,
        *([year, following] if len(number) > 1 and following.endswith(number) else []),
    ] or [year]


def _words_after(year: str, after: str) -> Found | None:
    """Return a date such as 2010 Nov 5; in "2009, 5 November 2010", the year is alone."""
    found = _year_first(year, after)
    if found is None:
        return None
    begin, length, readings = found
    following = _THEN_YEAR.match(after, length)
    if following is None:
        return None if _MORE_OF_DATE.match(after, length) else found
    # "2010 Nov 5, 2011 Dec 6": it is not certain to which year the first day belongs.
    second = _year_first(following[1], after[following.end() :])
    if second is None:
        return None
    return begin, following.end() + second[1], [*readings, *second[2]]


def _year_first(year: str, after: str) -> Found | None:
    local = _AFTER_LOCAL.match(after)
    if local and (month := _month(local[2] or local[3])):
        return 0, local.end(), [_digits(year, n, local[1] or local[4]) for n in month]
    if numbered := _NUMBERED_MONTH.match(after):
        return 0, numbered.end(), [_digits(year, numbered[1], numbered[2])]
    roman = _HUNGARIAN_ROMAN.match(after)
    if roman and roman[1] in _ROMAN_MONTHS:
        number = _ROMAN_MONTHS.index(roman[1]) + 1
        return 0, roman.end(), [_digits(year, number, roman[2])]
    for pattern, order in (
        (_HUNGARIAN, (1, 2)),
        (_AFTER_MONTH_DAY, (1, 2)),
        (_AFTER_DAY_MONTH, (2, 1)),
    ):
        match = pattern.match(after)
        if match and (month := _month(match[order[0]])):
            return 0, match.end(), [_digits(year, n, match[order[1]]) for n in month]
    match = _AFTER_MONTH.match(after)
    if match and _is_month_alone(match[1]) and (month := _month(match[1])):
        return 0, match.end(1), [_digits(year, n) for n in month]
    return None


def _iso(year: str, after: str, match: re.Match[str]) -> Found:
    month, day = match[2] or match[4], match[3]
    clock = _CLOCK.match(after, match.end()) if day else None
    digits = _digits(year, month, day)
    if clock and (precision := _PRECISION.match(after, clock.end())):
        # Wikidata writes a time for each date, and after it how much of it counts.
        return 0, precision.end(), [digits[: _PRECISIONS[precision[1]]]]
    if clock and (moment := _utc(digits, clock)):
        return 0, clock.end(), [moment]
    return 0, match.end(), [digits]


_PRECISION: Final = compiled(r"(?<=T00:00:00Z)/(9|10|11)(?![0-9])")
_PRECISIONS: Final = {"9": len("2010"), "10": len("201011"), "11": len("20101105")}


def _utc(digits: str, clock: re.Match[str]) -> str | None:
    """Return the digits of a day and a *clock* time in UTC; None if there is no such time."""
    hour, minute, second, sign, hours, minutes = clock.groups()
    stated = f"{digits}{hour}{minute}{second or ''}"
    if sign is None:
        return stated
    form = "%Y%m%d%H%M%S" if second else "%Y%m%d%H%M"
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    try:
        local = datetime.strptime(stated, form)  # noqa: DTZ007 - the offset is subtracted
        return (local - offset if sign == "+" else local + offset).strftime(form)
    except (ValueError, OverflowError):
        return None


def _year_last(year: str, before: str) -> Found | None:
    if match := _DAY_MONTH.search(before):
        # December has two names in Arabic: ديسمبر/كانون الأول.
        month = tuple(dict.fromkeys((*_month(match[2]), *_month(match["other"] or ""))))
        if month:
            first, start = _first_day(before, match, month)
            digits = [_digits(year, n, match[1]) for n in month]
            return len(before) - start, 0, [*(_digits(year, *each) for each in first), *digits]
    if (match := _MONTH_DAYS.search(before)) or (match := _MONTH_DAY.search(before)):
        days = match.groups()[1:]
        if month := _month(match[1]):
            digits = [_digits(year, number, day) for number in month for day in days]
            return len(before) - match.start(), 0, digits
    if match := _MONTH_DAY_TIME.search(before):
        return len(before) - match.start(), 0, [*_with_time(year, match)]
    if found := _numbers_last(year, before) or _slash_last(year, before):
        return found
    match = _MONTH.search(before)
    if (
        match
        and _is_month_alone(match[1], before[: match.start()])
        and (month := _month(match[1]))
    ):
        return len(before) - match.start(), 0, [_digits(year, n) for n in month]
    return _mistyped_last(year, before)


def _mistyped_last(year: str, before: str) -> Found | None:
    """Return a day and a mistyped month before a year; twice, because it is not certain."""
    for pattern, day, month in ((_DAY_MONTH, 1, 2), (_MONTH_DAY, 2, 1)):
        match = pattern.search(before)
        number = mistyped_month(match[month]) if match else None
        if match and number:
            return len(before) - match.start(), 0, [_digits(year, number, match[day])] * 2
    return None


def _with_time(year: str, match: re.Match[str]) -> Iterator[str]:
    """Yield the readings of a month, a day and a time before a year; UTC if it is known."""
    name, day, hour, minute, second, sign, hours, minutes = match.groups()
    for number in _month(name):
        digits = _digits(year, number, day)
        if sign is None:
            yield digits
            continue
        form = "%Y%m%d%H%M%S"
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        try:
            local = datetime.strptime(f"{digits}{hour}{minute}{second}", form)  # noqa: DTZ007 - the offset is subtracted
        except ValueError:
            yield digits
        else:
            yield (local - offset if sign == "+" else local + offset).strftime(form)


def _slash_last(year: str, before: str) -> Found | None:
    """Return the readings of 5/11 2010."""
    match = _SCANDINAVIAN.search(before)
    if match is None:
        return None
    orders = dict.fromkeys(((match[2], match[1]), (match[1], match[2])))
    readings = [_digits(year, *each) for each in orders if int(each[0]) <= 12]
    return (len(before) - match.start(), 0, readings) if readings else None


def _numbers_last(year: str, before: str) -> Found | None:
    if (match := _NUMBERS.search(before)) and match[2].strip() == match[4]:
        readings = _readings(year, match[1], match[3], match[4])
        if readings:
            digits = [reading.digits for reading in readings]
            return len(before) - match.start(), 0, digits
        day, month = match[1], match[3]
        if int(month) > 12 and match[4] != ".":
            day, month = month, day
        if int(month) <= 12 < int(day) <= 31:
            # There is no such day in that month: 31/06/2010.
            return len(before) - match.start(), 0, [_digits(year, month, day)]
    if (match := _ROMAN.search(before)) and match[2].upper() in _ROMAN_MONTHS:
        month = _ROMAN_MONTHS.index(match[2].upper()) + 1
        return len(before) - match.start(), 0, [_digits(year, month, match[1])]
    if match := _VIETNAMESE.search(before):
        return len(before) - match.start(), 0, [_digits(year, match[2], match[1])]
    if match := _MONTH_NUMBER.search(before):
        return len(before) - match.start(), 0, [f"{year}{match[1]}"]
    return None


def _first_day(
    before: str, match: re.Match[str], month: tuple[int, ...]
) -> tuple[list[tuple[int, str]], int]:
    """Return the first of two days, with its month, and where the date begins."""
    first = _FIRST_DAY.search(before[: match.start()])
    if first is None:
        return [], match.start()
    months = _month(first[2]) if first[2] else month
    is_earlier = (months, int(first[1])) < (month, int(match[1]))
    if not months or not is_earlier or not int(first[1]):
        return [], match.start()
    return [(number, first[1]) for number in months], first.start()


def _readings(year: str, one: str, other: str, sign: str) -> list[Moment]:
    """Return what two numbers and a year mean; with dots, the day is always first."""
    digits = [_digits(year, other, one)]
    if sign.strip() != ".":
        digits.append(_digits(year, one, other))
    return list(dict.fromkeys(filter(None, map(_moment, digits))))


def _month(word: str) -> tuple[int, ...]:
    name = word.lower()
    # Finnish: marraskuuta, marraskuussa, marraskuun.
    stem = name.partition("kuu")[0] + "kuu" if "kuu" in name else name
    plain = MONTHS.get(name) or MONTHS.get(stem)
    return plain or _unaccented_months().get(_unaccented(name), ())


_ACCENTS: Final = compiled(r"[\u0300-\u036f]++")
_SHORTEST_UNACCENTED: Final = 5
"""Without its accent, a shorter name may be that of a person: març, and Marc."""


def _unaccented(name: str) -> str:
    """Return *name* without accents, and with a dot on the Turkish i."""
    return _ACCENTS.sub("", normalize("NFD", name)).replace("\u0131", "i")


@cache
def _unaccented_months() -> Mapping[str, tuple[int, ...]]:
    """Return the names of months as they are written without accents, if that is one month."""
    found: dict[str, set[int]] = defaultdict(set)
    for name, months in MONTHS.items():
        if len(name) >= _SHORTEST_UNACCENTED:
            found[_unaccented(name)].update(months)
    return {name: tuple(months) for name, months in found.items() if len(months) == 1}


_SHORTEST_NAME: Final = 7
"""Shorter names are near to those of other languages: Martii, and martie."""


def _with_one_less(word: str) -> set[str]:
    """Return *word*, and the words that are left if one letter of it is taken out."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


@cache
def _near_months() -> dict[str, set[int]]:
    """Return the long names of months, whole and without one letter, with their months."""
    near: dict[str, set[int]] = defaultdict(set)
    for name, months in _COMMON_MONTHS.items():
        if len(name) >= _SHORTEST_NAME:
            for each in _with_one_less(name):
                near[each].update(months)
    return near


def mistyped_month(word: str) -> int | None:
    """Return the month whose name differs from *word* in one letter, or in the order of two.

    Only long names count; None if there is none, or several.
    """
    name = word.lower()
    if len(name) < _SHORTEST_NAME - 1 or name in MONTHS:
        return None
    if scanned := _month(_unscanned(name)):
        return scanned[0]
    near = {number for each in _with_one_less(name) for number in _near_months().get(each, ())}
    return near.pop() if len(near) == 1 else None


def _unscanned(word: str) -> str:
    """Return *word* with "m" and "d" for the letters that OCR reads: Novernber, Clecember."""
    return word.lower().replace("rn", "m").replace("cl", "d")


def _is_month_alone(word: str, before: str = "") -> bool:
    """Whether *word* may be a month without a day, by its letters or by the words before it."""
    name = word.lower()
    if name in ONLY_BESIDE_DAYS or (name not in MONTHS and "kuu" not in name):
        # Without its accent, Hungarian "július" is the name of a person.
        return False
    is_cased = word.isascii() and len(word) <= len("may")
    is_name = name not in _ALSO_WORDS and (not is_cased or word[0].isupper())
    return is_name or word.lower() in _SHORT_NAMES or _IN_MONTH.search(before) is not None


def _digits(year: str, month: str | int | None, day: str | None = None) -> str:
    return year + "".join(f"{int(part):02}" for part in (month, day) if part)


def _moment(digits: str) -> Moment | None:
    try:
        return Moment(digits)
    except Malformed:
        return None
