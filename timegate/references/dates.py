"""The dates of a reference: what each is the date of, and which one is used.

The date of an archived copy or of access says when the page was seen. A date of publication
does not: it is never used unasked, but said and offered. A date whose meaning is not known, or
that can be read in two ways, leaves a doubt: the answer is then not "as requested".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.text.written_dates import (
    DATE_WORDS,
    MONTHS,
    ONLY_BESIDE_DAYS,
    WrittenDate,
    common_moment,
    find_dates,
    whole_date,
)

DateBasis = Literal[
    "own", "archived", "accessed", "beside", "default", "published", "unmarked", "dead", "event"
]
"""What a date is the date of, the best first.

``own``: the reference itself states it; ``beside``: there is nothing but the reference and the
date; ``default``: given for all references; ``unmarked``: the text does not say; ``dead``: the
link was found dead; ``event``: something else happened then.
"""
_BASES: Final[Sequence[DateBasis]] = (
    *("own", "archived", "accessed", "beside", "default"),
    *("published", "unmarked", "dead", "event"),
)
_CERTAIN: Final = frozenset(_BASES[:5])
_SEEN: Final = frozenset(("archived", "accessed", "beside"))
"""What says that a page was there at that time."""
FIRST_PAGE: Final = "1991"
"""The year of the first page of the Web."""
BASIS_WORDS: Final[dict[DateBasis, str]] = {
    "own": "stated by the reference itself",
    "archived": "the date of the archived copy",
    "accessed": "the date of access",
    "beside": "the date beside the reference",
    "default": "the date given for all references",
    "published": "the date of publication",
    "unmarked": "the text does not say what it is the date of",
    "dead": "the date at which the link was found dead",
    "event": "the date of something other than the page",
}


class FoundDate(NamedTuple):
    """A date that belongs to a reference."""

    text: str
    """As written."""
    moment: Moment | None
    """None if it is not certain which date is meant."""
    basis: DateBasis
    readings: tuple[Moment, ...] = ()
    """What it may mean, if that is not certain."""
    impossible: bool = False
    """Whether there is no such day in its month, which is the only reading."""

    @property
    def words(self) -> str:
        """The date and what it is the date of."""
        if self.moment is not None:
            return f"{self.text} ({BASIS_WORDS[self.basis]})"
        if not self.readings:
            return f"{self.text} (not a date that can be used)"
        return f"{self.text} (it may be {' or '.join(map(str, self.readings))})"


class ChosenDate(NamedTuple):
    """The date that is used for a reference, and those that are not."""

    at: Moment | None = None
    used: FoundDate | None = None
    unused: tuple[FoundDate, ...] = ()
    doubt: bool = False
    """Whether another date may be meant, so that no copy is certainly as requested."""
    published: Moment | None = None
    """The date of publication, if there is no other and it is not used."""

    @property
    def choices(self) -> tuple[Moment, ...]:
        """The dates that may be meant instead, if there is a doubt."""
        if not self.doubt:
            return ()
        dates = [*([self.used] if self.used else []), *self.unused]
        moments = (each for date in dates for each in (date.readings or (date.moment,)))
        known = (moment for moment in moments if moment is not None and moment != self.at)
        return tuple(dict.fromkeys(known))

    @property
    def is_to_be_said(self) -> bool:
        """Whether it is not plain which date is used: none, or one of publication."""
        return self.doubt or (self.used is not None and self.used.basis not in _CERTAIN)

    @property
    def said(self) -> tuple[str, ...]:
        """Sentences on which date is used and why, and which are not."""
        return tuple(filter(None, (self._used(), self._unused())))

    def as_of(self, now: datetime) -> "ChosenDate":
        """Return the choice without dates of access after *now*: they are not certain."""
        dates = [*([self.used] if self.used else []), *self.unused]
        known = known_at(dates, now)
        if known == dates or (self.used is not None and self.used.basis == "own"):
            return self
        chosen = choose(known)
        # A doubt that is not about these dates stays.
        is_about_more = self.doubt and not choose(dates).doubt
        return chosen._replace(doubt=chosen.doubt or is_about_more)

    def _used(self) -> str:
        if self.used is None or self.at is None:
            return "No date is used: the newest copy is searched for" if self.unused else ""
        if self.used.moment is None and self.used.readings == (self.at,):
            return f"Date used: {self.used.text}, which is not certain"
        if self.used.moment is None:
            part = {4: "year", 6: "month"}.get(len(self.at.digits), "day")
            return f"Only the {part} {self.at} is used of the date {self.used.words}"
        if self.used.basis == "unmarked":
            return f"Date used: {self.used.text}, but {BASIS_WORDS['unmarked']}"
        return f"Date used: {self.used.text}, {BASIS_WORDS[self.used.basis]}"

    def _unused(self) -> str:
        if not self.unused:
            return ""
        return f"Not used: {', '.join(date.words for date in self.unused[:5])}"


def choose(dates: Iterable[FoundDate], own: Moment | None = None) -> ChosenDate:
    """Return which of *dates* is used for a reference that states *own* itself."""
    listed = list(dict.fromkeys(dates))
    if own is not None:
        # The archive link and the date that the text states for the copy differ.
        doubt = any(each.basis == "archived" and is_other_day(own, each) for each in listed)
        used = FoundDate(str(own), own, "own")
        others = [each for each in listed if not _says_same(each, own)]
        return ChosenDate(own, used, tuple(others), doubt=doubt)
    for basis in _BASES:
        group = [date for date in listed if date.basis == basis]
        if group:
            return _of_group(group, [date for date in listed if date not in group])
    return ChosenDate()


def _says_same(date: FoundDate, own: Moment) -> bool:
    """Whether *date* is that of the copy, perhaps less precise."""
    said = date.moment.digits if date.basis == "archived" and date.moment else ""
    return bool(said) and own.digits.startswith(said)


def _of_group(group: Sequence[FoundDate], rest: Sequence[FoundDate]) -> ChosenDate:
    used = _finest(group)
    others = (*(date for date in group if date is not used), *rest)
    is_event = used is not None and used.basis == "event"
    if (
        used is None
        or is_event
        or used.impossible
        or (used.basis == "unmarked" and _is_bare_year(used))
    ):
        return ChosenDate(None, None, (*group, *rest), doubt=True)
    if used.moment is None and len(used.readings) == 1:
        return ChosenDate(used.readings[0], used, others, doubt=True)
    if used.moment is None:
        common = common_moment(used.readings)
        if common is None:
            return ChosenDate(None, None, (*group, *rest), doubt=True)
        return ChosenDate(common, used, others, doubt=True)
    if used.basis in ("published", "dead"):
        # It does not say when the page was seen.
        is_plain = used.basis == "published" and not any(
            _contradicts(used, date) for date in others
        )
        published = used.moment if is_plain else None
        return ChosenDate(None, None, (used, *others), doubt=True, published=published)
    doubt = used.basis == "unmarked" or any(_is_before(used, date) for date in others)
    return ChosenDate(used.moment, used, others, doubt=doubt)


def is_other_day(moment: Moment, date: FoundDate) -> bool:
    """Whether *date* is certainly more than a day from *moment*, in any time zone."""
    if date.moment is None:
        return False
    length = min(len(moment.digits), len(date.moment.digits), len("20101105"))
    one, other = moment.digits[:length], date.moment.digits[:length]
    if one == other or length < len("20101105"):
        return one != other
    first, second = (datetime.strptime(each, "%Y%m%d") for each in (one, other))  # noqa: DTZ007
    return abs(first - second) > timedelta(days=1)


def is_seen_otherwise(stamp: Moment, dates: Iterable[FoundDate]) -> bool:
    """Whether the day of access differs from the *stamp* in the id of a copy.

    It does not count if the text states the date of the copy as well.
    """
    day = stamp.digits[: len("20101105")]
    listed = [date for date in dates if date.moment is not None and date.moment != stamp]
    if any(date.basis == "archived" for date in listed):
        return False
    seen = [date.moment.digits for date in listed if date.moment and date.basis == "accessed"]
    return any(not digits.startswith(day) for digits in seen if len(digits) >= len(day))


def is_seen_next_day(stamp: Moment, dates: Iterable[FoundDate]) -> bool:
    """Whether the only day of access is the one before or after *stamp*, in the id of a copy.

    The days are of different time zones, or the archive made the copy in the night.
    """
    listed = [date for date in dates if date.basis in ("archived", "accessed")]
    if len(listed) != 1 or listed[0].basis != "accessed" or listed[0].moment is None:
        return False
    day = listed[0].moment
    is_day = len(day.digits) == len("20101105")
    return (
        is_day
        and not stamp.digits.startswith(day.digits)
        and not is_other_day(stamp, listed[0])
    )


def _is_before(used: FoundDate, other: FoundDate) -> bool:
    """Whether a page was seen before it was published."""
    if used.moment is None or other.moment is None or not is_other_day(used.moment, other):
        return False
    is_published = used.basis in _SEEN and other.basis == "published"
    return is_published and used.moment.digits < other.moment.digits


def _is_bare_year(date: FoundDate) -> bool:
    moments = (date.moment,) if date.moment else date.readings
    return len(moments) == 1 and len(moments[0].digits) == len("2010")


def _finest(group: Sequence[FoundDate]) -> FoundDate | None:
    """Return the most precise of dates that agree; None if two of them contradict."""
    finest = max(group, key=lambda date: len(date.moment.digits) if date.moment else 0)
    return None if any(_contradicts(finest, date) for date in group) else finest


def _contradicts(one: FoundDate, other: FoundDate) -> bool:
    """Whether two dates cannot both be right; a bare year in a title is no contradiction."""
    if one is other or (other.basis == "unmarked" and _is_bare_year(other)):
        return False
    if one.moment is None or other.moment is None:
        return one != other and bool(one.readings or other.readings)
    length = min(len(one.moment.digits), len(other.moment.digits))
    return one.moment.digits[:length] != other.moment.digits[:length]


def stated_date(text: str, basis: DateBasis) -> FoundDate | None:
    """Return the date that a field of a citation states; None if it is no date."""
    found = whole_date(text)
    return None if found is None else found_date(found, basis)


def field_date(text: str, basis: DateBasis) -> Iterator[FoundDate]:
    """Yield the date in a field of a citation, even if it cannot be read."""
    if text.strip():
        yield stated_date(text, basis) or FoundDate(text.strip(), None, basis)


def noted_dates(text: str) -> Iterator[FoundDate]:
    """Yield the dates in a note of a citation, with what the words around them say."""
    floor = 0
    for date in find_dates(text):
        basis = mark_before(text[max(floor, date.start - 90) : date.start]) or mark_after(
            text[date.end : date.end + 24]
        )
        yield found_date(date, basis or "unmarked")
        floor = date.end


_NAME_PARTS: Final = compiled(r"[A-Z]?[^\W\d_A-Z]++|[A-Z]++|[0-9]++")


def basis_of_name(name: str) -> DateBasis | None:
    """Return what the name of a field or a column says of the date in it; None if nothing."""
    words = " ".join(_NAME_PARTS.findall(name)).lower()
    if words.endswith((" date", " datum", " am", " on", " dato")):
        words = words.rpartition(" ")[0]
    return mark_before(f"{words} ")


def found_date(date: WrittenDate, basis: DateBasis) -> FoundDate:
    """Return *date* with what it is the date of."""
    moment, readings = date.moment, () if date.moment is not None else date.readings
    text = " ".join(date.text.split())
    found = FoundDate(text, moment, basis, readings, date.impossible)
    return found if _is_possible(found) else _unusable(found)


def known_at(dates: Iterable[FoundDate], now: datetime) -> list[FoundDate]:
    """Return *dates*; one after *now* on which a page was seen becomes one without a moment."""
    # Tomorrow has begun in some time zones.
    tomorrow = Moment.of(now + timedelta(days=1)).digits
    narrowed = (_narrowed(date, tomorrow) for date in dates)
    return [date if _is_possible(date, tomorrow) else _unusable(date) for date in narrowed]


def _narrowed(date: FoundDate, latest: str) -> FoundDate:
    """Return *date* without readings at which no page can have been seen: 25/12/09 is 2009."""
    if date.basis not in _SEEN or len(date.readings) < 2 or date.impossible:
        return date
    possible = tuple(each for each in date.readings if FIRST_PAGE <= each.digits <= latest)
    if len(possible) != 1 or possible[0].digits[:4] not in date.text:
        # Of a year of two digits, the century is a guess.
        return date._replace(readings=possible or date.readings)
    return date._replace(moment=possible[0], readings=())


def _unusable(date: FoundDate) -> FoundDate:
    return date._replace(moment=None, readings=())


def _is_possible(date: FoundDate, latest: str | None = None) -> bool:
    """Whether a page can have been seen then; any date is possible for other things."""
    moments = [*date.readings, *([date.moment] if date.moment else [])]
    if date.basis not in _SEEN or not moments:
        return True
    return any(FIRST_PAGE <= moment.digits <= (latest or moment.digits) for moment in moments)


def _alternatives(words: Iterable[str]) -> str:
    """Return an expression for *words*, the longest first."""
    spelled = sorted({word.replace(" ", "\0") for word in words}, key=len, reverse=True)
    return "|".join(re.escape(word).replace("\0", r"\s{1,2}") for word in spelled)


_BASIS_OF: Final[dict[str, DateBasis]] = {
    word: basis
    for basis in ("event", "published", "archived", "accessed")
    for words in DATE_WORDS["before"][basis].values()
    for word in words
}
"""What a word or phrase before a date says of it."""
_LONGEST_PHRASE: Final = 4
"""Words."""
_EAST: Final = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
"""Scripts without blanks between words."""
_EASTERN: Final = compiled(_EAST)
_EASTERN_MARK: Final = compiled(
    _alternatives(word for word in _BASIS_OF if re.search(_EAST, word))
)
_MARK_AFTER: Final = compiled(
    rf"(?:[,\uff0c\u3001]?[^\S\n]{{0,2}}|\.\s?(?=[\uac00-\ud7a3]))(?:(?P<accessed>{_alternatives(DATE_WORDS['after']['accessed'])})"
    rf"|(?P<archived>{_alternatives(DATE_WORDS['after']['archived'])})"
    rf"|(?P<published>{_alternatives(DATE_WORDS['after']['published'])}))"
    r"(?!\s(?:werden|wird|hat|haben)\b)"
    # The word of another date.
    r"(?![\s:]{1,2}(?:(?:on|am|le|el)\s)?(?:[A-Z][a-z]{2,8}\.?\s)?[0-9])",
    re.IGNORECASE,
)
_BETWEEN: Final = frozenset(DATE_WORDS["between"]["words"].split())
_WEAK: Final = frozenset(DATE_WORDS["between"]["weak"].split())
_SIGNS: Final = (
    r"\u0300-\u036f\u0900-\u0963\u0970-\u0e31\u0e34-\u0e4e\u0eb1-\u0ece"
    r"\u102b-\u103e\u17b4-\u17d3"
)
"""Accents and vowel signs, which are no letters to `re`."""
_WORDS: Final = compiled(rf"(?:[^\W\d_]|[{_SIGNS}]){{1,20}}|[^\w\s]")
_LEADS: Final = frozenset(
    [
        *_BETWEEN,
        *DATE_WORDS["lead"]["words"].split(),
        *(w for p in _BASIS_OF for w in p.split()),
    ]
)
"""Words that may stand before an access word."""
_WEEKDAYS: Final = frozenset(DATE_WORDS["weekdays"]["words"].split())
_NEXT_WORD: Final = compiled(r"[^\S\n]([^\W\d_A-Z]{2,20})\b(?!://)")
_AGAIN: Final = compiled(r"(?<!\w)(?:re|date|last|url)-$", re.IGNORECASE)
_TOKENS: Final = compiled(rf"\n|[\w{_SIGNS}]++|[^\w\s]")
_CLOCK: Final = compiled(
    r"[0-9]{1,2}[:.h][0-9]{2}(?::[0-9]{2})?(?:\s?[ap]\.?m\b\.?)?", re.IGNORECASE
)
_ASIDE: Final = compiled(
    r"\s\((?![^()]{0,50}(?:approx|about|around|circa|\bca\b|perhaps|maybe|probab|possib|sure"
    r"|ungefähr|etwa|vermutlich|wohl|environ|vers|aprox|quizá|forse|\?))[^()\d]{1,50}\)\s",
    re.IGNORECASE,
)
"""Words in parentheses between a word of access and its date; none that doubt the date."""
_ISLAMIC: Final = (
    rf"\s?(?:{_alternatives(DATE_WORDS['notation']['islamic_years'])})?\s?[\u060c,]?\s?"
    rf"(?:{_alternatives(DATE_WORDS['notation']['same_day'])})"
)
_OTHER_CALENDAR: Final = compiled(
    r"(?:\d{1,2}(?:\s[^\W\d_]{2,12}){1,3},?\s1[34]\d{2}|\d{1,4}([/-])\d{1,2}\1\d{1,4})"
    rf"{_ISLAMIC}"
)
"""A day of the Islamic calendar or that of Iran before the same day of the common one."""
_LONGEST_GAP: Final = 70
_LONGEST_LEAD: Final = 60
_STRONG: Final = _BASIS_OF.keys() - _WEAK
_ACCESS_WORD: Final = compiled(
    r"(?:(?:last|zuletzt|letzter|page|dernier|ultimo|senast|sist)\s)?"
    rf"(?:{_alternatives(word for word in _STRONG if word[0].isalpha())})"
    rf"(?=[\s:]|$)|[\s(]?(?:{_EASTERN_MARK.pattern})",
    re.IGNORECASE,
)


_SEEN_WORDS: Final = [word for word in _STRONG if _BASIS_OF[word] == "accessed"]
_WAS_SEEN: Final = compiled(
    rf"(?<!\w)(?:{_alternatives(_SEEN_WORDS)})(?!\w)"
    rf"|(?:{_alternatives(word for word in _SEEN_WORDS if re.search(_EAST, word))})",
    re.IGNORECASE,
)
# The seventh edition of the MLA's style has the date of access after the medium.
_MLA: Final = compiled(r"[.,]\s{1,2}Web\.\s{1,2}$")
_NOTE: Final = compiled(
    r"[\s>)\].,;:]{0,4}[(\[\uff08\u3010]([^()\[\]\uff08\uff09\u3010\u3011]{1,80})"
)
_BEFORE_WORD: Final = compiled(
    r"[\s>)\].,;:\u060c\u061b\u3001\u3002\uff0c\u2013\u2014-]{0,5}(?:(?:last|zuletzt|page)\s)?"
)
_RELATIVE: Final = frozenset(DATE_WORDS["relative"]["words"].split())
_TIME_WORDS: Final = _RELATIVE | (MONTHS.keys() - ONLY_BESIDE_DAYS)
_TIME_LEADS: Final = frozenset(DATE_WORDS["relative"]["leads"].split())
_MOST_UNREAD: Final = 6
"""Words of a time that are quoted, as in "during the Easter holidays"."""
_LONGEST_UNREAD: Final = 40
_ROMAN: Final = compiled(r"M{1,2}[CDLXVI]{1,8}")
"""A year in Roman numerals."""


def names_access(text: str) -> bool:
    """Whether a word of *text* says that a page was seen."""
    return _WAS_SEEN.search(text) is not None or _CHECKED.search(text) is not None


def after_access_words(text: str) -> Iterator[int]:
    """Yield where each word of *text* ends that says that a page was seen."""
    return (word.end() for word in _WAS_SEEN.finditer(text))


def seen_word(text: str, at: int) -> int | None:
    """Return where the word ends that begins *at* and says that a page was seen, or None."""
    word = _WAS_SEEN.match(text, at)
    return word.end() if word else None


_CHECKED: Final = compiled(r"\b(?:checked|verified)\b", re.IGNORECASE)


def unread_date(before: str, after: str) -> FoundDate | None:
    """Return what stands around a link instead of a date of access that can be read.

    In "(accessed yesterday)" and in dates of other calendars; None if there is nothing.
    """
    note = _NOTE.match(after)
    if note and (mark := _WAS_SEEN.search(note[1])):
        rest = note[1][mark.end() :]
        written = rest if _is_time(rest.split()) else note[1]
        return _unread(written) if _is_time(written.split()) else _unread_after(rest)
    start = _BEFORE_WORD.match(after)
    if start and (mark := _WAS_SEEN.match(after, start.end())):
        return _unread_after(after[mark.end() : mark.end() + _LONGEST_UNREAD])
    marks = [*_WAS_SEEN.finditer(before)]
    if marks and len(before) - marks[-1].end() <= _LONGEST_UNREAD:
        return _unread_after(before[marks[-1].end() :])
    return None


def _unread_after(text: str) -> FoundDate | None:
    """Return the first words of *text*, if they are a time and no articles or prepositions."""
    words = text.split()
    while words and words[0].strip(",.:").lower() in {*_BETWEEN, ""} - _RELATIVE:
        words = words[1:]
    if words and words[0].lower() in _TIME_LEADS:
        return _unread(" ".join(words[:_MOST_UNREAD]).partition("(")[0])
    return _unread(words[0]) if _is_time(words[:1]) else None


def _unread(text: str) -> FoundDate:
    return FoundDate(" ".join(text.split()).strip(" ,;:"), None, "accessed")


def _is_time(words: Sequence[str]) -> bool:
    return any(
        word.strip(",;:.()[]").lower() in _TIME_WORDS
        or any(map(str.isdigit, word))
        or _ROMAN.fullmatch(word.strip(",;:.()[]"))
        for word in words
    )


def access_word(text: str) -> bool:
    """Whether *text* begins with a word that says of what a date is the date."""
    return _ACCESS_WORD.match(text) is not None


def mark_before(
    text: str, *, year: bool = False, cut: bool = False, after: str = "", far: bool = False
) -> DateBasis | None:
    """Return what the last words of *text* say of a date that follows; None if nothing.

    *year*: the date is a year alone. *cut*: *text* begins inside a sentence. *after*: what
    follows the date. *far*: the link is not near it, so that a weak word says nothing.
    """
    if not year and _MLA.search(text[-_LONGEST_GAP:]):
        return "accessed"
    text = text if text.isascii() else _VOWELS.sub("", text)
    found = _last_mark(text)
    if found is None:
        return None
    phrase, start, end = found
    is_weak = phrase in _WEAK
    if len(text) - end > _LONGEST_GAP or not _connects(text[end:], weak=is_weak):
        return None
    is_of_other = (year or is_weak) and _goes_on(after)
    is_of_other = is_of_other or (year and _has_day_after(after))
    is_elsewhere = far and phrase in _NEAR_LINKS
    is_unsaid = is_elsewhere or (is_weak and (year or far))
    if is_unsaid or is_of_other or _is_by_others(phrase, after):
        return None
    basis = _BASIS_OF[phrase]
    if basis in ("published", "event") or _EASTERN.search(phrase):
        is_name = _ARCHIVES.search(phrase) and _NAME_BEFORE.search(text[:start])
        return None if is_name else basis
    before = f"{'0' if cut else ''}{text[:start]}"
    is_clause = phrase in _OF_PAGES and _CLAUSE.search(before[-_LONGEST_GAP:])
    is_clause = is_clause or _WHEN.search(f"{before[-_LONGEST_GAP:]}{phrase}")
    return basis if is_clause or _is_led(before, weak=is_weak) else None


_DAY_AFTER_YEAR: Final = compiled(
    r"(?:[.-]\s?|\s|-?[^\W\d_a-z]{1,9}\.?\s)(?:([^\W\d_]{3,14})\.?\s[0-9]{1,2}|[0-9]{1,2}[.\s-]{1,2}([^\W\d_]{3,14}))"
    r"(?![\w:/])"
)
"""After a year: what may be its month in a language that is not known, and a day."""
_VOWELS: Final = compiled(r"[\u064b-\u0652\u0640]++")
"""Signs in Arabic words that most writers leave out."""
_ARCHIVES: Final = compiled(r"^(?:アーカイブ|아카이브)")
_NAME_BEFORE: Final = compiled(r"(?:[\u30a1-\u30fa\u30fc\u4e00-\u9fff・]|[\uac00-\ud7a3]\s)$")
"""Before such a word: it is a part of the name of an archive, デジタルアーカイブ."""
_OF_PAGES: Final = frozenset(DATE_WORDS["clause"]["of_pages"])
"""Words of access that are said of pages, and not of places or people."""
_NEAR_LINKS: Final = frozenset(DATE_WORDS["clause"]["near"])
"""What one does with a page, and with much else."""
_CLAUSE: Final = compiled(
    r"\b(?:when|which|that|as|since|after|before)\s(?:i|we)\s(?:last\s|first\s|then\s)?$",
    re.IGNORECASE,
)


_WHEN: Final = compiled(
    r"\bwhen\s(?:last\s(?:visited|seen|accessed|checked|viewed|consulted|opened|verified)"
    r"|(?:first\s)?(?:accessed|checked|viewed|retrieved|consulted|downloaded|verified))$",
    re.IGNORECASE,
)
"""The end of "live when checked": a state of the page."""
_BY_OTHERS: Final = compiled(
    r"\sby\s(?!(?:the\s|an?\s)?(?:author|me|us|writer|editor|wayback|internet)\w?\b|https?:|www)"
    r"[a-z]{2,20}\b",
    re.IGNORECASE,
)
"""After a date: somebody else saw, and perhaps something else."""


def _is_by_others(phrase: str, after: str) -> bool:
    return _BASIS_OF[phrase] == "accessed" and _BY_OTHERS.match(after) is not None


def _has_day_after(after: str) -> bool:
    """Whether a day and a word that may be its month follow a year."""
    found = _DAY_AFTER_YEAR.match(after)
    return found is not None and (found[1] or found[2]).lower() not in _BASIS_OF


def _goes_on(after: str) -> bool:
    """Whether the next word after a date belongs to it: "2013 times", "4 June 2019 only"."""
    word = _NEXT_WORD.match(after)
    return word is not None and word[1] not in _BETWEEN


def _last_mark(text: str) -> tuple[str, int, int] | None:
    """Return the last phrase of *text* that says something of a date, and where it is."""
    if not text.isascii() and (east := [*_EASTERN_MARK.finditer(text)]):
        return east[-1][0], *east[-1].span()
    words = [*_WORDS.finditer(text)]
    found: tuple[str, int, int] | None = None
    for first in range(len(words) - 1, -1, -1):
        for last in range(min(first + _LONGEST_PHRASE, len(words)) - 1, first - 1, -1):
            phrase = " ".join(word[0] for word in words[first : last + 1]).lower()
            if phrase not in _BASIS_OF:
                continue
            if found is None or (words[last].end() >= found[2] and len(phrase) > len(found[0])):
                # A longer phrase that contains it says more: "date of access".
                found = phrase, words[first].start(), words[last].end()
        if found is not None and found[2] - words[first].start() > _LONGEST_GAP:
            break
    return found


_ARTICLES: Final = frozenset(("the", "a", "an", "la", "una", "une", "le", "el", "il", "die"))


def _is_led(text: str, *, weak: bool) -> bool:
    """Whether an access word after *text* is of a page: "the page was last", not "the suspect".

    The words up to the last punctuation count. A *weak* word is one of access only at the
    beginning of a note, or right after the link.
    """
    if text[-1:] == "-" and text[-2:-1].isalpha():
        # "fact-checked", but not "re-accessed" and "date-accessed".
        return _AGAIN.search(text) is not None
    allowed = _BETWEEN if weak else _LEADS
    tokens = _TOKENS.findall(text[-_LONGEST_LEAD:])
    if weak and tokens and tokens[-1].lower() in _ARTICLES:
        # "La consulta del 5 de mayo" is an event.
        return False
    while tokens and tokens[-1][0].isalpha() and not tokens[-1][-1].isdigit():
        if tokens.pop().lower() not in allowed:
            return False
    is_in_sentence = tokens[-1:] in ([","], ["."]) and any(map(str.isalnum, tokens))
    return not (weak and is_in_sentence)


def _connects(gap: str, *, weak: bool) -> bool:
    """Whether nothing but articles, prepositions, a weekday and a time of day is in *gap*."""
    if gap[:1] == "-" and gap[1:2].isalpha():
        # "Checked-in".
        return False
    # "Archiviert vom Original (nicht mehr online verfügbar) am 9. Juli 2012".
    gap = _OTHER_CALENDAR.sub(" ", gap)
    rest = _CLOCK.sub("", _ASIDE.sub(" ", gap))
    if any(map(str.isdigit, rest)) or (weak and "," in rest) or "\u3002" in rest:
        return False
    words = (word.lower() for word in _WORDS.findall(rest) if word[0].isalpha())
    return all(word in _BETWEEN or word in _WEEKDAYS for word in words)


_VISITS: Final = compiled(r"访问|訪問|造訪|방문")
"""Words for a visit of a page, and of a place."""
_OBJECT: Final = compiled(r"[\u4e00-\u4e85\u4e87-\u9fff\uac00-\ud7a3]")
_SUBJECT: Final = compiled(
    r"[\u4e00-\u4e8d\u4e8f-\u65bb\u65bd-\u9fff\uac00-\ud7a3]\s?$(?<!在)(?<!最后)(?<!最後)"
)


def _is_visit(word: str, after: str, before: str) -> bool:
    """Whether a place may have been visited: somebody is named before, or a place after."""
    if _VISITS.search(word) is None:
        return False
    return _OBJECT.match(after) is not None or _SUBJECT.search(before) is not None


_NEW_SENTENCE: Final = compiled(r"(?:^|[\u3002\uff09.)\n])\s{0,2}$")


def mark_after(text: str, before: str = "") -> DateBasis | None:
    """Return what the first words of *text* say of a date before it; None if nothing.

    *before*: the words before the date.
    """
    match = _MARK_AFTER.match(text)
    if match is None or _is_visit(match[0], text[match.end() :], before):
        return None
    if match[0].endswith("自") and _NEW_SENTENCE.search(before) is None:
        # "News, 3 March 2010, from": a date of publication is written so as well.
        return None
    if match["published"]:
        return "published"
    if not _EASTERN.search(match[0]) and not _is_led(before, weak=False):
        return None
    return "archived" if match["archived"] else "accessed"
