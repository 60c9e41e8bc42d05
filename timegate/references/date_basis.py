"""What a date is the date of, by the words around it and by its place beside a link."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.date_context import (
    basis_of_sentence,
    basis_of_style,
    by_weekday,
    in_language,
    is_number,
    is_questioned,
    says_dead,
)
from timegate.references.dates import (
    DateBasis,
    FoundDate,
    access_word,
    found_date,
    mark_after,
    mark_before,
    names_access,
)
from timegate.references.messages import is_of_message, is_told, says_now
from timegate.references.page_states import is_of_state
from timegate.text.written_dates import WrittenDate, find_dates, mistyped_month

_AROUND_DATE: Final = frozenset(" \t\r\n,;:@()[]{}|<>=_-\u2013\u2014*•·#\"'.\u3000")
REACH: Final = 90
"""Characters around a date in which words say what it is the date of."""
CONNECTED: Final = compiled(
    r"[\s,.:;()\[\]<>„“\"'\u2013-]{0,6}(?:(?:from|at|on|von|unter|auf|de|sur|à|en|desde|da|do|em|van|via|"
    r"op|fra|frå|på|från|z|na|dari|daripada|mula\ssa|kutoka|laman|sesawang|din|iz|url|available(?:\sat|\sfrom)?|the\sworld\swide\sweb|http|link|web|"
    r"website|source)[\s:,]{1,3}){0,3}[\s<(\[\"'“„]{0,4}",
    re.IGNORECASE,
)
_PARENTHESES: Final = frozenset("(\uff08")
_MARK_BEFORE_LINK: Final = compiled(
    r"(?:(?P<archived>archived|preserved|saved)|retrieved|accessed|viewed|visited|consulted"
    r"|\b(?:printed(?:\sout)?|copied)(?=\s(?:from|off)\b)"
    r"|downloaded|cited"
    r"|\b(?:i|we)\s(?:have\s|had\s)?(?:last\s|first\s|also\s|just\s)?(?:looked\sat|(?:had|took)\sa\slook\sat|saw|checked|read|found|went\sto|printed(?:\sout)?"
    r"|opened|copied|captured|screenshotted|fetched|inspected|reviewed|pulled\sup|brought\sup|browsed(?:\sto)?|navigated\sto"
    r"|logged\son\sto|surfed\sto|loaded|looked\sup|came\sacross)"
    r"(?:\s(?:the|this|that|it|its|their)(?:\s(?:web\s?)?(?:page|site|list|notice|version|text))?)?)(?:\sit|\sby\s\w{1,20})?"
    r"(?:\sonline)?(?:\s(?:from|off|at|via|by|in|with)(?-i:\s[A-Z][\w.]{1,20}){0,3})?"
    r"(?:\sthe\soriginal)?[\s:<(\[]{0,4}$",
    re.IGNORECASE,
)
_ON: Final = compiled(
    r"[\s>)\],.;:]{0,4}(?:on(?:\sthe)?|am|le|el|il|em|op|den|d\.)?[\s:(\[]{0,3}",
    re.IGNORECASE,
)
FAR: Final = 400
"""Characters between a link and a date that may belong to it."""
_LETTERS: Final = compiled(r"[^\W\d_]{3,14}")
_STAMP_LENGTH: Final = len("20101105101500")
"""Digits of the timestamp of a capture."""
_CDX_KEY: Final = compiled(r"\)/\S{0,80}\s$")
"""The first field of a line of a CDX index."""
_BRACKET_GAP: Final = 6
_PARENTHESIS_AFTER: Final = compiled(r"[\s>.,\])/]{0,3}[(\uff08]")
_AFTER_TITLE: Final = compiled(r"[^\[\]\n]{0,200}\]\s?[(\uff08]")
"""The title of an external link of a wiki, and a parenthesis."""
_PARENTHESIS_ENDS: Final = compiled(
    r"\.?\s?(?:,?\s?(?:um|at|kl\.?)?\s?[0-9]{1,2}[:.][0-9]{2}[^()\n]{0,12})?[)\]\uff09\u3011]"
)
"""The end of a parenthesis after a date, perhaps with a time of day."""
_TIMED: Final = compiled(r"\.?\s?,?\s?(?:um|at|kl\.?)?\s?[0-9]{1,2}[:.h][0-9]{2}")
_FOOTNOTE_DAY: Final = compiled(r"[0-9]\.|[^\x00-\x7f]|:")
"""In a day as footnotes of some languages write that of access, or with a time of day."""
_AS_OF: Final = compiled(r"\bas\sof\s{1,2}$", re.IGNORECASE)
_OF_ARCHIVE: Final = compiled(
    r"\b(?:internet\sarchive|wayback|archive\.org|archived\s(?:files?|records?|cop(?:y|ies)|versions?|pages?))",
    re.IGNORECASE,
)
_SHOT: Final = compiled(
    r"\b(?:screen\s?(?:shot|capture|grab)s?|snapshots?|captures?|print-?outs?|cop(?:y|ies))\sof\s(?:the\s(?:page|site)\s)?[<(\[]?$",
    re.IGNORECASE,
)
_TAKEN: Final = compiled(
    r"[>)\],]{0,2}\s(?:(?:was|were)\s)?(?:taken|made|captured|printed|recorded)(?:\sby\s(?:me|us))?(?:\son)?\s(?:the\s)?",
    re.IGNORECASE,
)
"""Around the link in "Screenshot of URL taken on 5 May 2010"."""
_TOOK_SHOT: Final = compiled(
    r"\b(?:took|made|saved|captured|have|printed|got|attach(?:ed)?)\s(?:an?\s|the\s|this\s)?(?:full\s|web\s)?"
    r"(?:screen\s?(?:shot|capture|grab)s?|snapshot|print-?out|capture)\sof\s(?:the\s(?:web\s?)?(?:page|site)\s(?:at\s)?)?[<(\[]?$",
    re.IGNORECASE,
)
_ON_DAY: Final = compiled(r"[>)\],]{0,2}\son\s(?:the\s)?", re.IGNORECASE)
"""Around the link in "I took a screenshot of URL on 5 May 2010"."""
_IS_AT: Final = compiled(
    r"\s(?:is|are|was|were|can\sbe|ist|steht|est|está|è)\s"
    r"(?:(?:still|now|also|available|found|read|seen|published|online|here|accessible|located)\s){0,3}"
    r"(?:(?:at|on|in|under|via|from|here|unter|auf|sur|en|su)\s?)?[:\s<(\[]{0,4}",
    re.IGNORECASE,
)
"""Between a date and the link after it: "The report of the final on 5 May 2010 is at URL"."""
_OF_PAGE: Final = compiled(
    r"\b(?:as|page|site|website|version|copy|snapshot|archived?|captured?|saved|screen\s?shot|looked)\b",
    re.IGNORECASE,
)
_SENTENCE_GOES_ON: Final = compiled(r"[)\]],?\s{1,2}[^\W_A-Z]|,\s[0-9]")
_ACCORDING: Final = compiled(
    r"\b(?:according\sto|data\sfrom|figures\sfrom|statistics\sfrom)\s", re.IGNORECASE
)
_GOES_ON: Final = compiled(r"\s[^\W\d_A-Z]{2,20}\s")
"""A word in small letters, as in "the fire (3 May 1990) destroyed"."""
_CLOCK_AFTER: Final = compiled(
    r"^,?[ \t]{1,4}[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[ \u202f]?[ap]\.?m\b\.?)?", re.IGNORECASE
)
_AT: Final = compiled(
    r"\b(?:on|at|as of|in|im|am|vom|le|du|el|del|il|em|op|den)\s$", re.IGNORECASE
)
_VERB: Final = compiled(
    r"\s(?:is|was|are|were|has|had|have|will|can|ist|war|wurde|wird|hat|est|était|fut|a|es|era|fue"
    r"|è|foi|é|werd|blev|är|var|er)\s"
    r"|,\s(?!(?:from|at|on|available|via|in|by|and|url|unter|von|auf|aus|sur|à|de|en|desde|da|em|van"
    r"|op|fra|frå|på|från|z|na|dari|daripada|mula|kutoka|web|http|source|see|or|und|et|y|e)\b|https?:|www"
    # One word before the link is a preposition, in any language.
    r"|[a-zß-ÿ]{2,20}:?\s{1,2}[<(\[]?(?:https?:|www))[a-zß-ÿ]{2,20}\s"
)
"""After a date before the link: it is part of what a sentence says."""
_WEEKDAY: Final = compiled(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s$", re.IGNORECASE
)

_EAST_WEEKDAY: Final = compiled(
    r"^\s?(?:[(\uff08](?:[日月火水木金土](?:曜日?)?|[월화수목금토일](?:요일)?|(?:星期|周|週|礼拜)[一二三四五六日天])[)\uff09]"
    r"|[日月火水木金土]曜日?|[월화수목금토일]요일|(?:星期|周|週)[一二三四五六日天])"
    r"(?:\s?(?:(?:午前|午後|오전|오후|上午|下午)\s?)?[0-9]{1,2}[:\uff1a][0-9]{2})?\s?"
)
"""The weekday after a day in Japanese, Korean and Chinese, perhaps with a time of day."""
_LONGEST_AFTER: Final = 40


_ITEM: Final = compiled(r"^[ \t]{0,8}(?:[(\[][a-z]{1,3}|[a-z])[)\]][ \t]")
"""The letter of an item of a list."""
_SHORT_WORD: Final = compiled(
    r"[\s>]{0,2}[,;(\[\s]{1,3}(?:last\s|ult\.\s)?(?:printed(?:\sout)?|acc|accd|retr|vis|abger|zugr|cons|geraadpl|consult|consultatie|raadpleging|hent)"
    r"\.?:?\s{0,2}(?:on\s|am\s|le\s|el\s|op\s|d\.\s)?",
    re.IGNORECASE,
)
"""An abbreviation of a word of access between a link and a date."""
_WHOLE_DAY: Final = compiled(
    r"(?:199[1-9]|20[0-2][0-9])(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12][0-9]|3[01])"
)
_STATE: Final = compiled(
    r"[\s>.,]{0,3}[(\[](?:Stand|Letzter\sStand)(?::\s|\s)(?:vom\s|am\s)?", re.IGNORECASE
)
"""Between a link and a date in German, whose other date is that of publication."""
_SEEN_AT: Final = compiled(
    r"\b(?:seen|observed|spotted|found|noticed|hosted|live|active)(?:\son)?\s$", re.IGNORECASE
)
_AT_LINK: Final = compiled(r"(?:\s(?:UTC|GMT))?\s(?:at|under|@)[:\s]{1,2}[<(\[\"]?")
"""Around the date in "seen on 5 May 2010 at URL"."""


class Extent(NamedTuple):
    """Where the links of a reference are."""

    start: int
    end: int
    last: int
    """Where the last link begins."""
    first: int
    """Where the first link ends."""


class Floor(NamedTuple):
    """The end of the date before."""

    end: int
    cuts: bool
    """Whether that date says nothing of when the page was seen."""


def meant_date(text: str, link: TextSpan, date: WrittenDate, basis: DateBasis) -> FoundDate:
    """Return *date* as the text around it means it."""
    date = by_weekday(text, in_language(text, link, date, basis))
    found = found_date(_with_month(date) if basis == "accessed" else date, basis)
    if says_dead(text, link, date):
        found = found._replace(basis="dead")
    is_unsure = found.basis == "accessed" and (
        _may_be_published(text, link, date)
        or _may_be_of_number(text, link, date)
        or _LIMIT.search(text, max(0, date.start - _LONGEST_LIMIT), date.start) is not None
    )
    if (is_unsure or is_questioned(text, link, date)) and found.moment is not None:
        found = found._replace(moment=None, readings=(found.moment,))
    return found


_LONGEST_LIMIT: Final = 24
_LIMIT: Final = compiled(
    r"(?<![\w/.=&-])(?:before|after|since|until|till|prior\sto|bis|vor|nach|seit|avant|après|depuis|jusqu['\u2019]au"
    r"|antes|después|desde|hasta|prima|dopo|voor|sinds)\s(?:(?:on|the|zum|zu|dem|den|le|el|il|de|del|op)\s){0,2}$",
    re.IGNORECASE,
)
"""Before a day that is the first or the last of a time: "before 5 May 2010 I looked at"."""


def _with_month(date: WrittenDate) -> WrittenDate:
    """Return *date* with its moment if only one letter of the month is wrong: 5 Novmber 2010.

    After a word of access, nothing else can be meant. OCR's "rn" for "m" stays in doubt:
    its digits may be wrong as well.
    """
    words = (word for word in _LETTERS.findall(date.text) if "rn" not in word)
    months = map(mistyped_month, words)
    is_misspelt = date.moment is None and not date.impossible and len({*date.readings}) == 1
    if not is_misspelt or date.readings[0].digits[:4] not in date.text or not any(months):
        return date
    return date._replace(moment=date.readings[0], readings=())


def _may_be_of_number(text: str, link: TextSpan, date: WrittenDate) -> bool:
    """Whether "as of" may be of a number: "According to URL (as of 2010), 312 are known"."""
    if not _AS_OF.search(text, max(0, date.start - 8), date.start):
        return False
    if _SENTENCE_GOES_ON.match(text, date.end):
        return True
    return _ACCORDING.search(text, max(0, link.start - REACH), date.start) is not None


def _may_be_published(text: str, link: TextSpan, date: WrittenDate) -> bool:
    """Whether a day alone in parentheses after the link may be that of the page.

    It is not if it has a time of day, if another date or a word of access stands before the
    link, or if it is written as in footnotes of languages that have the day of access there.
    """
    if date.start < link.end or _FOOTNOTE_DAY.search(date.text):
        return False
    gap = _WEEKDAY.sub("", text[link.end : date.start])
    is_closed = _PARENTHESIS_ENDS.match(text, date.end) is not None and _is_day(date)
    if not is_closed or _PARENTHESIS_AFTER.fullmatch(gap) is None:
        return False
    if _TIMED.match(text, date.end):
        return False
    line = text.rfind("\n", max(0, link.start - FAR), link.start) + 1
    words = text[max(line, link.start - FAR) : link.start]
    is_alone = not any(map(str.isalpha, words))
    return not is_alone and not names_access(words) and next(find_dates(words), None) is None


def basis_of(
    text: str, spans: Sequence[Extent], date: WrittenDate, floor: Floor, number: int
) -> DateBasis:
    """Return what *date* is the date of."""
    span = spans[number]
    if basis := basis_of_sentence(text, span.start, date):
        return basis
    if is_of_state(text, TextSpan(span.start, span.end), date):
        before = text[max(0, span.start - REACH) : span.start]
        return "archived" if _OF_ARCHIVE.search(before) else "accessed"
    if is_of_message(text, date):
        # "The page right now": the time of the message is used, with a doubt.
        return "unmarked" if says_now(text, TextSpan(span.start, span.end)) else "event"
    if span.start < date.start < span.end:
        # Between a link and the archive link of the same page.
        span = span._replace(end=min(span.first, date.start), last=span.start)
    return (
        _basis_of_words(text, span, date, floor)
        or _basis_of_place(text, span, date)
        or _basis_of_notation(text, span, date)
    )


def _basis_of_words(
    text: str, span: Extent, date: WrittenDate, floor: Floor
) -> DateBasis | None:
    """Return what the words around *date* say of it; None if nothing."""
    begin = max(floor.end, date.start - REACH, span.end if span.end <= date.start else 0)
    is_far = date.end <= span.start and not _is_near(text[date.end : span.start])
    is_cut = floor.cuts and begin == floor.end > 0
    if _is_seen(text, span, date):
        return "accessed"
    marked = _marked(text, date, begin, is_cut=is_cut, is_far=is_far)
    if marked is None or (date.end <= span.start and _goes_on(text, date)):
        return None
    if marked == "published" and _is_of_other(text, span, date):
        return "event"
    is_state = _AS_OF.search(text, max(0, date.start - 8), date.start) is not None
    # "The Internet Archive's records of URL as of May 17, 2003".
    is_copy = is_state and _OF_ARCHIVE.search(text, max(0, span.start - 2 * REACH), span.start)
    return "archived" if is_copy else marked


_OF_OTHER: Final = compiled(
    r"[(,;]\s?(?:(?:our|the|a|first)\s)?(?:report|advisory|bulletin|analysis|paper|study|domain|certificate|sample|malware|film|book|song|album|software)"
    r"\s(?:was\s)?(?:first\s)?(?:published|posted|issued|released|created|updated|written)(?:\son)?\s$",
    re.IGNORECASE,
)
"""Before a date after a link: the time of a report on the page."""


def _is_of_other(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether a date after the link is that at which something else was published."""
    if date.start < span.end:
        return False
    return _OF_OTHER.search(text, max(span.end, date.start - REACH), date.start) is not None


def _goes_on(text: str, date: WrittenDate) -> bool:
    """Whether *date* is a part of what a sentence says, and not of a second visit."""
    if _VERB.match(text, date.end) is None:
        return False
    rest = text[date.end : date.end + _LONGEST_AFTER].lstrip(", ")
    return not access_word(rest) or next(find_dates(rest), None) is None


def _is_seen(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether a short word or phrase between the link and *date* says that it was seen then."""
    if date.end <= span.start:
        is_at = _AT_LINK.fullmatch(text, date.end, span.start) is not None
        begin = max(0, date.start - len("observed on "))
        return is_at and _SEEN_AT.search(text, begin, date.start) is not None
    if date.start < span.end:
        return False
    if _SHORT_WORD.fullmatch(text, span.end, date.start):
        # "acc. 1998.33.7" is the number of an object, and publishers print books.
        is_written = any(map(str.isalpha, date.text)) or _WHOLE_DAY.fullmatch(date.text)
        is_day = bool(is_written) and _is_day(date)
        return is_day and not text.startswith(" by ", date.end)
    if not _STATE.fullmatch(text, span.end, date.start):
        return False
    line = text.rfind("\n", max(0, span.start - FAR), span.start) + 1
    before = find_dates(text[max(line, span.start - FAR) : span.start])
    return any(_is_earlier_day(each, date) for each in before)


def _is_earlier_day(one: WrittenDate, other: WrittenDate) -> bool:
    is_known = one.moment is not None and other.moment is not None
    return is_known and _is_day(one) and str(one.moment) < str(other.moment)


def _basis_of_notation(text: str, span: Extent, date: WrittenDate) -> DateBasis:
    """Return what *date* is the date of in an index, a citation or a sentence."""
    if len(date.text) == _STAMP_LENGTH and _CDX_KEY.search(
        text, max(0, date.start - REACH), date.start
    ):
        return "archived"
    link = TextSpan(span.start, span.end)
    if basis := basis_of_style(text, link, date):
        return basis
    if _is_in_parentheses(text, span, date):
        return "published"
    is_event = is_told(text, link, date) or _is_of_subject(text, span, date)
    return "event" if is_event else "unmarked"


def _is_of_subject(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether *date* is of what the link is about: "The final on 27 May 2009 is at URL"."""
    if date.end > span.start or _IS_AT.fullmatch(text, date.end, span.start) is None:
        return False
    words = text[max(0, date.start - REACH) : date.start]
    sentence = words[max(words.rfind(". "), words.rfind("\n")) + 1 :]
    return not (names_access(sentence) or _OF_PAGE.search(sentence))


def _basis_of_place(text: str, span: Extent, date: WrittenDate) -> DateBasis | None:
    """Return what a date beside the link, or in brackets of its own, is the date of."""
    if _is_of_shot(text, span, date):
        return "accessed"
    if span.end <= date.start and _ON.fullmatch(text, span.end, date.start):
        words = text[max(0, span.last - REACH) : span.last]
        if mark := _MARK_BEFORE_LINK.search(words):
            return "archived" if mark["archived"] else "accessed"
        if basis := mark_before(words):
            return basis
    if _is_beside(text, span, date):
        return "beside"
    if _is_in_brackets(text, span, date) or _is_after_link(text, span, date):
        return "accessed"
    return None


def _is_of_shot(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether a picture or a print of the page was made on *date*."""
    if span.end > date.start:
        return False
    is_taken = _TAKEN.fullmatch(text, span.end, date.start) is not None
    is_on = _ON_DAY.fullmatch(text, span.end, date.start) is not None
    words = _SHOT if is_taken else _TOOK_SHOT
    before = text[max(0, span.last - REACH) : span.last]
    return (is_taken or is_on) and words.search(before) is not None


def _is_near(gap: str) -> bool:
    """Whether *gap*, between a date and a link, is the end of a note or connects them."""
    return gap[:1] in (")", "]") or CONNECTED.fullmatch(gap) is not None


def _marked(
    text: str, date: WrittenDate, begin: int, *, is_cut: bool, is_far: bool
) -> DateBasis | None:
    """Return what the words around *date* say of it; those before it are from *begin* on."""
    is_year = date.moment is not None and len(date.moment.digits) == 4
    before = text[begin : date.start]
    after = _EAST_WEEKDAY.sub("", text[date.end : date.end + _LONGEST_AFTER])
    if date.text[:1].isdigit() and "." in date.text and is_number(text, date):
        return None
    marked = mark_before(before, year=is_year, cut=is_cut, after=after, far=is_far)
    later = mark_after(after, before)
    # "2011年3月13日更新、2012年4月5日閲覧": the word before the comma is that of another date.
    is_other = before.rstrip().endswith(("、", "\uff0c"))
    return later or marked if is_other else marked or later


def _is_in_brackets(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether a day stands in square brackets beside the link, as many write that of access."""
    if text.startswith("](", date.end):
        # The date is the words of a link in Markdown.
        return False
    bracketed = text[date.start - 1 : date.start] == "[" and _PARENTHESIS_ENDS.match(
        text, date.end
    )
    gap = text[span.end : date.start] if span.end <= date.start else text[date.end : span.start]
    return (
        bool(bracketed) and _is_day(date) and len(gap) <= _BRACKET_GAP and is_punctuation(gap)
    )


def _is_after_link(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether a day is alone in parentheses right after the link: "URL (22. Aug. 2011)"."""
    gap = text[span.end : date.start] if span.end <= date.start else ""
    gap = _WEEKDAY.sub("", gap)
    is_alone = _PARENTHESIS_ENDS.match(text, date.end) is not None
    return _is_day(date) and is_alone and _PARENTHESIS_AFTER.fullmatch(gap) is not None


def _is_day(date: WrittenDate) -> bool:
    """Whether a day is meant, even if it is not certain which."""
    moments = (date.moment,) if date.moment else date.readings
    return all(len(moment.digits) >= len("20101105") for moment in moments)


def _is_in_parentheses(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether the date is alone in parentheses after the link, or as in a citation.

    In a citation, the sentence does not go on after the parentheses.
    """
    if not date.start or text[date.start - 1] not in _PARENTHESES:
        return False
    end = _PARENTHESIS_ENDS.match(text, date.end)
    if end is not None and span.end <= date.start:
        gap = text[span.end : date.start]
        return bool(_PARENTHESIS_AFTER.fullmatch(gap) or _AFTER_TITLE.fullmatch(gap))
    return end is not None and _GOES_ON.match(text, end.end()) is None


def _is_beside(text: str, span: Extent, date: WrittenDate) -> bool:
    """Whether the line has nothing but the reference and the date."""
    if text.startswith("](", date.end):
        return False
    first, last = min(span.start, date.start), max(span.end, date.end)
    between = (
        text[span.end : date.start] if date.start >= span.end else text[date.end : span.start]
    )
    # In the last line of a printed page, the date is at the right.
    gap = between if "\n" in between else between.strip(" \t")
    if len(gap) > 12 or not is_punctuation(_AT.sub("", between)):
        return False
    start = text.rfind("\n", 0, first) + 1
    end = text.find("\n", last)
    end = len(text) if end < 0 else end
    if first - start > 12 or end - last > 12:
        return False
    before = _ITEM.sub("", text[start:first])
    if first == date.start:
        before = _WEEKDAY.sub("", before)
    # A time of day without a time zone, as in the last line of printed pages.
    outside = before + _CLOCK_AFTER.sub("", text[last:end])
    return not any(character.isalpha() for character in outside) and not re.search(
        r"[0-9]{4}", outside
    )


def is_punctuation(gap: str) -> bool:
    return all(character in _AROUND_DATE for character in gap)
