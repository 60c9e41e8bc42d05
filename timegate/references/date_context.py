"""What the text around a date says of it, beside words of access.

The heading of its column in a table, the style of a citation, words for a dead link, the
language of a month, and signs that the writer was not sure.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import DateBasis, basis_of_name
from timegate.text.written_dates import DATE_WORDS, WEEKDAYS, WrittenDate, whole_date

_NEAR: Final = 90
_LONGEST_LINE: Final = 400
_SEEN: Final = ("archived", "accessed")
_VERSION: Final = compiled(
    r"\b(?:v|vers?|versions?|versión|versione|versie|release|rev|build|update|patch|ip|section|chapter|bug|issue|id|no|nr|isbn|issn|oclc|pmid|tel|phone|fax)"
    r"[.:#]?\s{0,2}#?$",
    re.IGNORECASE,
)
"""What says that the numbers after it are no date."""
_LONGEST_NAME: Final = 24

_TABLE: Final = compiled(
    r"^(?P<heading>[^\n|]{0,200}\|[^\n]{0,1000})\n[ \t]{0,4}\|?[ \t]{0,4}:?-[ \t:|-]{1,400}\n"
    r"(?:[^\n|]{0,8000}\|[^\n]{0,8000}\n?)*+",
    re.MULTILINE,
)
"""A table of Markdown: headings, a line of hyphens, and rows."""


def basis_of_column(
    text: str, tables: Sequence[re.Match[str]], date: WrittenDate
) -> DateBasis | None:
    """Return what the heading of its column says of a date in a table of Markdown."""
    number = bisect_left(tables, date.start, key=lambda table: table.end())
    table = tables[number] if number < len(tables) else None
    if table is None or date.start < table.end("heading"):
        return None
    line = text.rfind("\n", 0, date.start) + 1
    headings = table["heading"].split("|")
    column = text.count("|", line, date.start)
    return basis_of_name(headings[column].strip()) if column < len(headings) else None


_DOTTED: Final = compiled(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}")
_SLASHED: Final = compiled(
    r"[0-9]{1,2}([/-])[0-9]{1,2}\1[0-9]{4}|[0-9]{1,2}/[0-9]{1,2}[ -]{1,2}[0-9]{4}"
)
_OF_ENGLISH: Final = frozenset(DATE_WORDS["before"]["accessed"]["en"])
_OTHER_ORDERS: Final = frozenset(("en", "ja", "zh", "ko", "hu", "lt", "mn", "tl"))
"""Languages that do not write the day first."""
_WORDS_OF_DAY_FIRST: Final = [
    re.escape(word)
    for language, words in DATE_WORDS["before"]["accessed"].items()
    for word in words
    if language not in _OTHER_ORDERS
    and word not in _OF_ENGLISH
    and len(word) > 4
    and word != "consult"
]
_DAY_FIRST: Final = compiled(rf"(?<!\w)(?:{'|'.join(_WORDS_OF_DAY_FIRST)})(?!\w)")
"""Words of access in languages that write the day first."""


def writes_day_first(words: str) -> bool:
    """Whether *words* have a word of access of a language that writes the day first."""
    return _ENGLISH.search(words) is None and _DAY_FIRST.search(words.lower()) is not None


_ENGLISH: Final = compiled(
    r"\b(?:accessed|retrieved|visited|viewed|cited|checked|seen|access|downloaded)\b",
    re.IGNORECASE,
)
_LANGUAGES: Final = (
    compiled(
        r"\.(?:pl|cz|sk|ua)(?:[:/]|$)|dost[ęe]p|odczyt|pobran|citov|cit\.|p[řr]íst|navštív|staž?en|wgląd|przeglądan"
    ),
    compiled(r"\.(?:hr|ba)(?:[:/]|$)|pristup|preuzet|pregledan|posjećen|učitan"),
)
"""Words and domains of Polish and Czech, and of Croatian, where the same months differ."""
_MONTHS_BY_LANGUAGE: Final[Mapping[str, tuple[str, str]]] = {
    "listopad": ("11", "10"),
    "lis": ("11", "10"),
    "lip": ("07", "06"),
    "srp": ("08", "07"),
}
_SLAVIC_MONTH: Final = compiled(
    r"(?<![^\W\d_])(?:(listopad)a?|(lis|lip|srp))(?![^\W\d_])", re.IGNORECASE
)


def in_language(text: str, span: TextSpan, date: WrittenDate, basis: DateBasis) -> WrittenDate:
    """Return *date* in the language of the text around it: listopada is October or November."""
    if date.impossible:
        return date
    if date.moment is None and _DOTTED.fullmatch(date.text):
        # In English, the month may be first in 4.3.17.
        words = text[max(0, date.start - 40) : date.start]
        is_english = basis not in _SEEN or _ENGLISH.search(words) is not None
        swapped = whole_date(date.text.replace(".", "/"))
        return date._replace(readings=swapped.readings) if swapped and is_english else date
    if date.moment is None and basis in _SEEN and _SLASHED.fullmatch(date.text):
        # Only in English may the month be first.
        words = text[max(0, date.start - 40) : date.start]
        if writes_day_first(words):
            return date._replace(moment=date.readings[0], readings=())
        return date
    name = None if date.moment is not None else _SLAVIC_MONTH.search(date.text)
    if name is None:
        return date
    months = _MONTHS_BY_LANGUAGE[(name[1] or name[2]).lower()]
    around = text[max(0, min(span.start, date.start) - _NEAR) : max(span.end, date.end) + 20]
    meant = [
        month
        for month, words in zip(months, _LANGUAGES, strict=True)
        if words.search(around.lower())
    ]
    fitting = [each for each in date.readings if [each.digits[4:6]] == meant]
    return date._replace(moment=fitting[0], readings=()) if len(fitting) == 1 else date


_DAY_AND_MONTH: Final = compiled(
    r"(?P<first>[0-9]{1,2})(?P<sign>[/-])(?P<second>[0-9]{1,2})(?P=sign)(?:19|20)[0-9]{2}"
)
_FIRST_IN_LANGUAGE: Final = 40
"""Characters before a date in which a word says its language."""


class DayOrder(NamedTuple):
    """In which order the dates of a text have day and month, by its unambiguous dates."""

    orders: Mapping[str, frozenset[bool]]
    """By their notation: whether the day is first."""
    padded: Mapping[str, frozenset[bool]]
    """Whether these dates are written with zeros before small numbers, where that shows."""


def order_of_days(text: str, dates: Sequence[WrittenDate]) -> DayOrder:
    """Return the order in which the unambiguous *dates* of a text have day and month."""
    orders: dict[str, set[bool]] = {}
    padded: dict[str, set[bool]] = {}
    for date in dates:
        numbers = _DAY_AND_MONTH.fullmatch(date.text)
        first, second = (int(numbers["first"]), int(numbers["second"])) if numbers else (0, 0)
        if numbers is None or max(first, second) <= 12 or date.moment is None:
            continue
        words = text[max(0, date.start - _FIRST_IN_LANGUAGE) : date.start].lower()
        if _DAY_FIRST.search(words):
            # It says nothing of dates in English.
            continue
        key = _notation(text, date, numbers)
        orders.setdefault(key, set()).add(first > second)
        padded.setdefault(key, set()).update(_padding(numbers))
    return DayOrder(
        {sign: frozenset(order) for sign, order in orders.items()},
        {sign: frozenset(style) for sign, style in padded.items()},
    )


def _notation(text: str, date: WrittenDate, numbers: re.Match[str]) -> str:
    """Return the sign between the numbers of *date*; what is quoted is of another writer."""
    line = text.rfind("\n", max(0, date.start - _LONGEST_LINE), date.start) + 1
    return numbers["sign"] + (">" if text[line : date.start].lstrip().startswith(">") else "")


def _padding(numbers: re.Match[str]) -> Iterator[bool]:
    for number in (numbers["first"], numbers["second"]):
        if int(number) < 10:
            yield len(number) > 1


def in_order(text: str, date: WrittenDate, order: DayOrder) -> WrittenDate:
    """Return *date* in the *order* in which all other dates of a text are written."""
    numbers = _DAY_AND_MONTH.fullmatch(date.text)
    if date.moment is not None or numbers is None or len(date.readings) != 2:
        return date
    key = _notation(text, date, numbers)
    found = order.orders.get(key, frozenset())
    styles = order.padded.get(key, frozenset()) | {*_padding(numbers)}
    if len(found) != 1 or len(styles) > 1:
        return date
    is_day_first = next(iter(found))
    day = numbers["first"] if is_day_first else numbers["second"]
    fitting = [each for each in date.readings if int(each.digits[6:8]) == int(day)]
    return date._replace(moment=fitting[0], readings=()) if len(fitting) == 1 else date


_WEEKDAY_BEFORE: Final = compiled(
    rf"\b({'|'.join(WEEKDAYS)})\.?,?\s{{1,2}}(?:(?:the|den|dem|le|el|il|d\.)\s)?$",
    re.IGNORECASE,
)
_ASKED: Final = compiled(
    r"\s?(?:\?\s?[)\]]|\(\?\)|\[\?\]|\[sic\])|-(?:t[őó]l|ig)\b|,?\s(?:or|oder|ou|o|eller)\s(?:(?:19|20)?[0-9]{1,2}\b|(?:19|20)[0-9]{2}\b)",
    re.IGNORECASE,
)
"""After a date: a question mark, or another year."""


_ABOUT: Final = compiled(
    r"(?:(?<![\w/.=&-])(?:by|about|around|circa|ca|approx|approximately|roughly|probably|perhaps|maybe|possibly|ungefähr"
    r"|etwa|vermutlich|wohl|vers|environ|hacia|alrededor|aproximadamente|verso|forse|cerca|rond|ongeveer"
    r"|omkring|około|kolem|примерно|около)\b\.?\s(?:(?:on|the|den|dem|le|el|il|de|del|in)\s)?)$",
    re.IGNORECASE,
)
"""Words before a date that is not certain."""
DEAD: Final = compiled(
    r"(?<![\t;,])\b(?:404|403|410)(?![\t;,])|\b(?:not\sfound|dead|broken|offline|gone|removed|deleted|taken\sdown|defunct|inaccessible"
    r"|(?:was|were|is|are|now|still|site|page|host|['\u2019]s)\sdown(?!\sto)|(?:timed|times)\sout|down\swhen|(?:ca|could|did|does|do|would)n['\u2019]?t\s(?:open|load|work|respond|resolve|reach|access)\w{0,3}"
    r"|not\s(?:open|respond|resolve|exist)\w{0,3}"
    r"|(?:not|\w{2,6}n['\u2019]t|never|hardly|barely)\s(?:yet\s|even\s)?"
    r"(?:up|online|live|there|available|accessible|reachable|working)"
    r"|nicht\s(?:mehr\s)?(?:online|da|im\sNetz)|(?:plus|pas(?:\sencore)?)\s(?:en\sligne|accessible)"
    r"|unavailable|not\s(?:be\s)?(?:access|avail|work|reach|load)\w{0,8}|no\slonger|expired|link\srot"
    r"|tot|offline|nicht\s(?:mehr\s)?(?:erreichbar|verfügbar|abrufbar)|mort|introuvable|indisponible|roto|caído"
    r"|no\sdisponible|non\spiù|interrotto|desaparecid\w|недоступн\w{1,3}|リンク切れ)\b",
    re.IGNORECASE,
)
"""Words for a page that is not there."""


def says_dead(text: str, span: TextSpan, date: WrittenDate) -> bool:
    """Whether the words between the link and the date after it say that it was dead then."""
    if date.start < span.end or date.start - span.end > _NEAR:
        return False
    words = text[span.end : date.start]
    # What is said before the last full stop or semicolon is of another time.
    clause = words[max(words.rfind(". "), words.rfind(";"), words.rfind("\n")) + 1 :]
    if DEAD.search(clause) is not None:
        return True
    if _FAILED_THEN.match(text, date.end):
        return True
    result = _RESULT.match(text, date.end)
    return result is not None and DEAD.match(text, result.end()) is not None


_FAILED_THEN: Final = compiled(
    r"\s(?:(?:was|war|is|ist)\s)?(?:nicht\s(?:mehr\s)?möglich|not\spossible|impossible|failed|unsuccessful"
    r"|fehlgeschlagen|erfolglos|without\ssuccess|sans\ssuccès|sin\séxito)\b",
    re.IGNORECASE,
)
"""After a date: the page could not be opened."""
_RESULT: Final = compiled(
    r"\s{0,2}(?::|=>?|->|[\u2013\u2014\u2192])\s{0,2}(?:HTTP\s)?", re.IGNORECASE
)
"""Between a day and what was seen then: "7 May 2012: 404 not found"."""
_VISITED: Final = compiled(
    r"(?:,?\s(?:at|around|about)\s(?:(?:approximately|around|about)\s)?[0-9]{1,2}[:.][0-9]{2}"
    r"(?:\s?[ap]\.?m\b\.?)?(?:\s[A-Z]{2,4})?)?,?\s(?:I|we)\s(?:last\s|again\s|then\s|also\s|personally\s)?"
    r"(?:visited|accessed|viewed|retrieved|downloaded|printed|captured|checked|looked\sat|opened|read)\s"
    r"(?:the|this|their|its|your)\s(?:[\w'\u2019-]{1,20}\s){0,2}?"
    r"(?:web\s?sites?|web\s?pages?|sites?|pages?|home\s?pages?|url|link)\b[^.\n]{0,60}$",
    re.IGNORECASE,
)
"""Between a date and the link after it: "On July 9, 2012 I visited the website at"."""
_THE_PAGE: Final = compiled(
    r",?\s(?:the|this|its|their)\s(?:[\w'\u2019-]{1,20}\s){0,2}?(?:web\s?)?(?:site|page)\s(?:at\s|of\s)?<?",
    re.IGNORECASE,
)
_SHOWED: Final = compiled(
    r"\S{4,80}[\s>]{1,2}(?:read|showed|displayed|looked|contained|listed|(?:was|is)\s(?:still\s)?"
    r"(?:showing|serving|displaying|offering|hosting|listing|selling|online|live|up|there))\b"
)
"""Around a link after a date: "On 5 May 2010 the page URL read as follows"."""
_LONGEST_VISIT: Final = 140
_WHEN_SEEN: Final = compiled(
    r"\b(?:when|last\stime|the\slast\stime|first\stime)\s(?:I|we)\s(?:last\s|first\s|had\slast\s)?"
    r"(?:looked|checked|visited|accessed|viewed|saw\sit|opened|read\sit)(?:\s(?:at\s)?(?:it|them|there))?,?"
    r"\s(?:(?:on|in|at|around|back\sin)\s)?(?:the\s)?$",
    re.IGNORECASE,
)
"""Before a date and the page after it: "When I last looked, in November 2010, the page"."""


def _any_of(words: Iterable[str]) -> str:
    """Return an expression for *words*, the longest first."""
    longest = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\ ", r"\s") for word in longest)


_COPY: Final[Mapping[str, Sequence[str]]] = DATE_WORDS["copy"]
_ARCHIVED_FORM: Final = compiled(
    rf"\b(?:{_any_of(_COPY['forms'])})(?![^\W\d_])[^\d.;,\n:\u0589\u06d4\u0964\u1362\u3002]{{0,45}}:?[\s(\[-]{{0,3}}$",
    re.IGNORECASE,
)
"""A form of "archived" that is no noun, with the origin, up to the date after it."""
_THEN_ARCHIVED: Final = compiled(
    r"(?:\starihinde\s[^\d.;\n]{0,30}arşivlen|에\s[^\d.;\n]{0,20}보존)", re.IGNORECASE
)
_VERSION_OF: Final = compiled(
    r"\b(?:version|versión|versione|versão|wersja|copie|copia|cópia|kopie|kopi|snapshot|sauvegarde)"
    r"\s(?:du|del|de|do|da|vom|of|van|från|fra|dated|from|z)\s(?:el\s)?$",
    re.IGNORECASE,
)
_IN_ARCHIVE: Final = compiled(
    r"\s(?:(?:sur|on|im|at|en|in|su|no|na|hos|via|by|op|på|from|von|dans|w)\s)?(?:the\s|het\s|l['\u2019]\s?)?"
    r"(?:Internet\sArchive|Wayback\sMachine|archive\.(?:org|is|today|ph)|WebCite)\b",
    re.IGNORECASE,
)
"""Around a date: "version du 4 janvier 2013 sur Internet Archive"."""
_OF_COPY: Final = compiled(
    rf"(?:{_any_of(_COPY['archives'])})[^.;\n]{{0,60}}?(?:{_any_of(_COPY['origins'])})"
    rf"|(?:{_any_of(_COPY['before'])})[^.;\n]{{0,40}}?(?:{_any_of(_COPY['archives'])})"
    r"|wayback\smachine|\binternet\sarchive\b|\bmemento\svom\b"
    rf"|\b(?:{_any_of(_COPY['forms'])})\b",
    re.IGNORECASE,
)
"""The words of Wikipedia for the copy of a page: "archived from the original"."""


def names_copy(text: str, link: TextSpan, floor: int, ceiling: int) -> bool:
    """Whether a citation says, in the words of Wikipedia, that there is a copy of *link*.

    *floor* and *ceiling* are the end of the reference before it, and the beginning of the next.
    """
    first, last = max(floor, link.start - _LONGEST_LINE), min(ceiling, link.end + _LONGEST_LINE)
    after = _OF_COPY.search(text, link.end, last)
    return (after or _OF_COPY.search(text, first, link.start)) is not None


def _is_of_copy(text: str, date: WrittenDate) -> bool:
    """Whether the words around *date* say that the page was archived then."""
    if _ARCHIVED_FORM.search(text, max(0, date.start - _NEAR), date.start):
        return True
    if _THEN_ARCHIVED.match(text, date.end):
        return True
    is_version = _VERSION_OF.search(text, max(0, date.start - _LONGEST_NAME), date.start)
    return is_version is not None and _IN_ARCHIVE.match(text, date.end) is not None


def basis_of_sentence(text: str, link: int, date: WrittenDate) -> DateBasis | None:
    """Return what a whole line, or the words up to the *link* after it, say of *date*."""
    if _OF_ENTRY.search(text, max(0, date.start - _LONGEST_NAME), date.start):
        near = text[max(0, date.start - _LONGEST_LINE) : date.end + _LONGEST_LINE]
        return "event" if _ADDED.search(near) else None
    return _basis_of_notice(text, date) or _basis_before_link(text, link, date)


def _basis_of_notice(text: str, date: WrittenDate) -> DateBasis | None:
    """Return what a property, a notice of a cache, or the words for a copy say of *date*."""
    if _OF_ORG_ENTRY.search(text, max(0, date.start - 2 * _LONGEST_NAME), date.start):
        return "event"
    if _IN_CACHE.search(text, max(0, date.start - _LONGEST_LINE), date.start):
        return "accessed"
    return "archived" if _is_of_copy(text, date) else None


def _basis_before_link(text: str, link: int, date: WrittenDate) -> DateBasis | None:
    """Return what the words up to the *link* after it say of *date*."""
    is_near = 0 < link - date.end <= _LONGEST_VISIT
    if not is_near:
        return None
    if _VISITED.match(text, date.end, link):
        return "accessed"
    is_subject = _THE_PAGE.fullmatch(text, date.end, link) is not None
    if is_subject and _SHOWED.match(text, link, link + 2 * _NEAR):
        return "accessed"
    is_seen = is_subject or text[date.end : link] in (", ", ", <", "), ")
    when = _WHEN_SEEN.search(text, max(0, date.start - _NEAR), date.start)
    return "accessed" if is_seen and when else None


_WEEKDAY_AFTER: Final = compiled(
    rf"\s?[(,]\s?({'|'.join(WEEKDAYS)})\.?(?=[),;.\n]|$)",
    re.IGNORECASE,
)


def by_weekday(text: str, date: WrittenDate) -> WrittenDate:
    """Return *date* as its weekday decides it: Friday 03/04/2011 is 4 March."""
    if date.moment is not None or len({each.digits[:4] for each in date.readings}) != 1:
        return date
    weekday = _WEEKDAY_BEFORE.search(text, max(0, date.start - 18), date.start)
    weekday = weekday or _WEEKDAY_AFTER.match(text, date.end)
    if weekday is None or any(len(each.digits) != len("20101105") for each in date.readings):
        return date
    number = WEEKDAYS[weekday[1].lower()]
    fitting = [each for each in date.readings if _weekday_of(each) == number]
    is_written_so = len(fitting) == 1 and fitting[0].digits[:4] in date.text
    return date._replace(moment=fitting[0], readings=()) if is_written_so else date


def _weekday_of(day: Moment) -> int:
    digits = day.digits
    return datetime(int(digits[:4]), int(digits[4:6]), int(digits[6:8]), tzinfo=UTC).weekday()


def is_questioned(text: str, link: TextSpan, date: WrittenDate) -> bool:
    """Whether the text itself doubts *date*: by its words, or by another weekday."""
    # The last word of an address is none: http://museum.example/about 5 May 2010.
    floor = link.end + 1 if link.end <= date.start else 0
    about = _ABOUT.search(text, max(floor, date.start - _LONGEST_NAME), date.start)
    if about or _ASKED.match(text, date.end):
        return True
    weekday = _WEEKDAY_BEFORE.search(text, max(0, date.start - 14), date.start)
    weekday = weekday or _WEEKDAY_AFTER.match(text, date.end)
    if weekday is None or date.moment is None or len(date.moment.digits) < len("20101105"):
        return False
    return _weekday_of(date.moment) != WEEKDAYS[weekday[1].lower()]


_TAG: Final = compiled(r"(?:^|\n)%(?P<tag>[\[D8])[ \t]{1,4}$")
"""The names of fields in EndNote's format: date of access, year, date."""
_OF_ENTRY: Final = compiled(r"(?:^|\n)(?:Date Added|Modified)(?:\t|:?[ ]{1,4})$")
_OF_ORG_ENTRY: Final = compiled(
    rf"(?:^|\n)[ \t]{{0,12}}:(?:{_any_of(DATE_WORDS['org_mode']['properties'])}):"
    r"[ \t]{1,12}[\[<]$"
)
"""In Org mode, before the time at which the entry, and not its page, was made."""
_IN_CACHE: Final = compiled(
    rf"(?:{_any_of(DATE_WORDS['google_cache']['caches'])})[^\n]{{0,250}}"
    rf"(?:{_any_of(DATE_WORDS['google_cache']['pictures'])})[^\n]{{0,70}}$",
    re.IGNORECASE,
)
"""The notice above a page in the cache of Google, up to its date."""
_ADDED: Final = compiled(r"(?:^|\n)Date Added[\t :]")
"""In a report of a reference manager: when the entry was made and changed."""
_TWEET: Final = compiled(r"\(@\w{1,20}\)\s{1,2}$")
"""In an embedded tweet, before the date: the name of its author."""
_TITLE: Final = compiled(
    r"[\"\u201c\u201e\u00ab][^\"\u201c\u201d\n]{3,300}[.,?!]?[\"\u201d\u201c\u00bb]"
)
_BEFORE_LINK: Final = compiled(
    r"(?:,\s{1,2}[0-9]{1,2}[:.][0-9]{2}[^\n.,]{0,12})?[.,]\s{1,2}<?$"
)
_BEFORE_WGET: Final = compiled(r"(?:^|\n)--$")
_WGET: Final = compiled(r"\s[0-9]{2}:[0-9]{2}:[0-9]{2}--\s{1,3}")
_FAILED: Final = compiled(r"\bfailed\b|\bERROR [45][0-9]{2}\b|\bunable to\b", re.IGNORECASE)
"""Around the time at which wget requested the link after it."""
_TURKISH: Final = compiled(r"\s{1,2}tarihinde\s{1,2}$", re.IGNORECASE)
_TURKISH_VERB: Final = compiled(
    r"[\s.,'\u2019>)]{0,4}(?:\w{0,3}\s)?(?:\w{3,14}(?:nden|ndan|den|dan)\s)?(?:eriş|al\u0131n|ulaş|edin|indir|görüntü)",
    re.IGNORECASE,
)
"""After the link: "adresinden erişilmiştir"."""


_DATE_HEADER: Final = compiled(r"(?:^|\n)(?:< )?date: (?:[a-z]{3}, )?$", re.IGNORECASE)
_SUCCESS: Final = compiled(r"(?:^|\n)(?:< )?HTTP/[0-9.]{1,3} (?P<status>[0-9]{3})")
_LONGEST_HEAD: Final = 2_000
_SAVED_FROM: Final = compiled(
    r"(?:^|\n|webpage capture\s{1,4})Saved from\s{1,4}$", re.IGNORECASE
)
_CAPTURE: Final = compiled(r"webpage capture|\bsnapshots from this (?:url|host)", re.IGNORECASE)
"""In the head of a page of archive.today."""


_STATEMENT: Final = compiled(r"\b[SP](?P<property>813|577)(?:[|\t]|:\s)\+$")
"""Before dates in statements of Wikidata: retrieved, and published."""


_PAGE_COUNT: Final = compiled(
    r"[ \t]{0,60}\s{0,3}[ \t]{0,60}\(?[0-9]{1,3}\s(?:of|von|de|sur|di|van|af|av|z|из)\s"
    r"[0-9]{1,3}\)?[ \t]{0,200}",
    re.IGNORECASE,
)
_TIME_OF_DAY: Final = compiled(r",?\s{1,2}[0-9]{1,2}[:.][0-9]{2}(?![0-9])")
"""Between the link and the date in the last line of a printed page, and after the date."""


def _basis_of_program(text: str, span: TextSpan, date: WrittenDate) -> DateBasis | None:
    """Return what *date* is in a statement or a head, or on a page of archive.today."""
    if statement := _STATEMENT.search(text, max(0, date.start - 9), date.start):
        return "accessed" if statement["property"] == "813" else "published"
    if date.start < span.end:
        return None
    if _SAVED_FROM.search(text, max(0, span.start - _NEAR), span.start) and _CAPTURE.search(
        text, max(0, span.start - _NEAR), date.end + _NEAR
    ):
        return "archived"
    if _PAGE_COUNT.fullmatch(text, span.end, date.start) and _TIME_OF_DAY.match(text, date.end):
        return "accessed"
    if not _DATE_HEADER.search(text, max(0, date.start - _LONGEST_NAME), date.start):
        return None
    head = [*_SUCCESS.finditer(text, max(span.end, date.start - _LONGEST_HEAD), date.start)]
    return "accessed" if head and head[-1]["status"] == "200" else None


def basis_of_style(text: str, span: TextSpan, date: WrittenDate) -> DateBasis | None:
    """Return what the date is in notations that have no word for it beside it."""
    if tag := _TAG.search(text, max(0, date.start - 8), date.start):
        return "accessed" if tag["tag"] == "[" else "published"
    if basis := _basis_of_program(text, span, date) or _basis_of_field(text, span, date):
        return basis
    if date.end > span.start:
        is_work = _AFTER_WORK.fullmatch(text, span.end, date.start)
        return "published" if is_work and _ENDS_REF.match(text, date.end) else None
    gap = text[date.end : span.start]
    line = text.rfind("\n", max(0, date.start - _LONGEST_LINE), date.start) + 1
    is_turkish = _TURKISH.fullmatch(gap) and _TURKISH_VERB.match(text, span.end)
    is_seen = is_turkish or _is_of_wget(text, span, date)
    # MLA until 2009: the date of publication, the publisher, the date of access, and the link.
    if is_seen or (gap == " <" and _EARLIER_DATE.search(text, line, date.start)):
        return "accessed"
    # MLA, Chicago: a title in quotation marks, the publisher, the date, and the link.
    if _BEFORE_LINK.fullmatch(gap) and (
        _TITLE.search(text, line, date.start) or _WORK.search(text, line, date.start)
    ):
        return "published"
    # The Australian guide: a title, and in parentheses what it is and its date.
    is_of_kind = _AFTER_KIND.fullmatch(gap) and _KIND.search(text, line, date.start)
    return "published" if is_of_kind else None


_AFTER_WORK: Final = compiled(
    r"(?:[ ][^\[\]\n]{0,200})?\][\"\u201d']{0,3}"
    r"(?:\s?\{\{[^{}\n]{0,80}\}\}|[ ]{4,90}){0,2}[.,]?\s"
    r"'{0,3}\[{0,2}[A-Z][^\n\d{}<>:]{2,60}\]{0,2}'{0,3},\s\(?"
)
_ENDS_REF: Final = compiled(r"\)?\.?\s?(?:\{\{[^{}\n]{0,80}\}\}\s?)?</ref>")
"""Around a date after a link of a wiki: the newspaper, and the end of the footnote."""
_DATE_FIELD: Final = compiled(r"(?:^|\n)(?P<blanks>[ \t]{0,24})date:[ \t]{1,4}[\"']?$")
_URL_VALUE: Final = compiled(
    r"(?:^|\n)(?P<outer>[ \t]{1,16})url:[ \t]{0,4}\r?\n"
    r"(?:[ \t]{2,24}date:[^\n]{1,40}\n)?[ \t]{2,24}value:[ \t]{1,4}[\"']?$"
)
"""Before dates and links in Hayagriva's YAML, where the date of a URL is that of access."""


def _basis_of_field(text: str, span: TextSpan, date: WrittenDate) -> DateBasis | None:
    """Return what the name before *date* says of it: an author's, or that of a field."""
    if _TWEET.search(text, max(0, date.start - _LONGEST_NAME), date.start):
        return "published"
    before = text[max(0, date.start - 2 * _LONGEST_NAME) : date.start]
    link = text[max(0, span.start - 2 * _NEAR) : span.start]
    field, value = _DATE_FIELD.search(before), _URL_VALUE.search(link)
    if field is None or value is None:
        return None
    is_inner = len(field["blanks"]) > len(value["outer"])
    return "accessed" if is_inner else "published"


def _is_of_wget(text: str, span: TextSpan, date: WrittenDate) -> bool:
    """Whether wget requested the link after *date* then, and did not fail."""
    is_log = _WGET.fullmatch(text, date.end, span.start) and _BEFORE_WGET.search(
        text, max(0, date.start - 3), date.start
    )
    if not is_log:
        return False
    return _FAILED.search(text, span.end, span.end + _LONGEST_LINE) is None


_EARLIER_DATE: Final = compiled(
    r"\b(?:(?:[0-9]{1,2}\s)?[A-Z][a-z]{2,8}\.?\s)?(?:19|20)[0-9]{2}\.\s(?:[^\n.]{2,80}\.\s){0,3}$"
)
"""A date and the name of a publisher, before the date of access."""
_WORK: Final = compiled(r"[^\W\d_]{2,40}[.,*_\u2019']{1,3}\s(?:[^\n]{0,200},\s)?$")
"""The name of a work and a comma, or a full stop, before its date."""
_AFTER_KIND: Final = compiled(r"\)[.,]?\s{1,2}<?")
_KIND: Final = compiled(r"\([^()\n\d]{2,60},\s$")


def tables_in(text: str) -> list[re.Match[str]]:
    """Return the tables of Markdown in *text*, in order."""
    return [*_TABLE.finditer(text)]


def is_number(text: str, date: WrittenDate) -> bool:
    """Whether the words before *date* say that it is a number of something else."""
    return _VERSION.search(text, max(0, date.start - _LONGEST_NAME), date.start) is not None
