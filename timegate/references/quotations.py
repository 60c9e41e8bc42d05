"""Quotations beside a link in prose: the words of the page, in quotation marks of any language.

Citations put titles into quotation marks too. So a quotation is used only where a sentence
quotes: a word in small letters or a verb of saying stands before it, and nothing but brackets,
connecting words and a date between it and the link. What may be one is said, and not used.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references.own_lines import BLANK_LINE, is_divided

_REACH: Final = 700
"""Characters before a link in which its quotation begins."""
_LONGEST: Final = 600
_LEAST_WORDS: Final = 2
_LEAST_LETTERS: Final = 8
_LEAST_UNSPACED: Final = 5
_PAIRS: Final = (
    *(("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u201e", "\u201d"), ("\u201d", "\u201d")),
    *(("\u00ab", "\u00bb"), ("\u00bb", "\u00ab"), ("\u2039", "\u203a"), ("\u203a", "\u2039")),
    *(("\u2018", "\u2019"), ("\u201a", "\u2018"), ("\u300c", "\u300d"), ("\u300e", "\u300f")),
    *(('"', '"'), ("``", "''"), ("'", "'")),
)
_SAYING: Final = compiled(
    r"(?:\b(?:says?|said|writes?|wrote|states?|stated|reads?|claims?|claimed|notes?|noted|reports?"
    r"|reported|announced?|announces|quoted?|sagt|sagte|schreibt|schrieb|steht|heißt|lautet|erklärt"
    r"|meldet|dit|disait|écrit|écrivait|affirme|annonce|indique|dice|decía|escribe|afirma|anuncia|diz"
    r"|escreve|scrive|afferma|zegt|schrijft|meldt|staat|säger|skriver|siger|sier|sanoo|kirjoittaa"
    r"|mówi|pisze|podaje|říká|píše|uvádí|mondja|írja|spune|scrie|diyor|yaz\u0131yor|пишет"
    r"|говорит|сообщает|пише|каже)\b[^.!?\n]{0,40}[,:]?|:)\s{0,9}$",
    re.IGNORECASE,
)
_SMALL: Final = compiled(
    r"(?:^|[\s(\[\u00a0])[^\W\d_A-Z\u00c0-\u00de\u0410-\u042f]\S{0,40}[ \u00a0]$"
)
"""A word in small letters right before the quotation."""
_UNSPACED_BEFORE: Final = compiled(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]\s?$")
_CITED_BEFORE: Final = compiled(
    r"(?:\b(?:in|see|siehe|vgl|cf|voir|vedi|véase|titled|entitled|called|named|title|titel|article|artikel"
    r"|article|paper|post|chapter|kapitel|section|book|report|namens|genannt|intitulée?|appelée?"
    r"|titulad[oa]|llamad[oa]|titolo|chiamat[oa]|getiteld|genaamd)\b\.?,?\s{0,9})$",
    re.IGNORECASE,
)
"""Words after which a title stands in quotation marks."""
_GAP: Final = compiled(
    r"[\s.,;:!?\u2013\u2014-]{0,4}"
    r"(?:[(\[<\uff08]{0,2}\s?(?:(?:source|see|from|at|on|via|cited|quelle|siehe|aus|auf|unter|von|source|voir"
    r"|sur|dans|fuente|véase|en|de|fonte|da|su|bron|zie|op|van|källa|från|på|kilde|fra|źródło|zdroj|kaynak"
    r"|источник|出典|来源)\b\s?:?\s?){0,2}(?:the\s(?:site|page|web\s?site)\s?)?"
    r"(?:\[[^\[\]\n]{0,60}\]\()?[(\[<\uff08]{0,2})\s?"
    r"|<ref[^<>]{0,60}>\s?\[?|\^?\[\^?[\w-]{1,12}\]:?\s?",
    re.IGNORECASE,
)
"""Between a quotation and its link."""
_ACCORDING: Final = compiled(
    r"(?:\b(?:according\sto|as\sper|laut|gemäß|selon|d'après|según|segundo|secondo|volgens|enligt|ifølge"
    r"|według|podle|podľa|szerint|conform|согласно|згідно)\s[<(\[]?)$",
    re.IGNORECASE,
)
_SENTENCE_END: Final = compiled(r"[.!?\u3002]\s|\n")
SEVERAL: Final = "Several quotations stand before the link: none of them is looked for"
APART: Final = (
    "A quotation stands near the link, with other words between: it is not looked for"
)


class BesideLink(NamedTuple):
    """The quotation that belongs to a link, or why there may be one."""

    quote: str = ""
    doubt: str = ""


class _Quoted(NamedTuple):
    start: int
    end: int
    text: str


def quotation_beside(text: str, start: int, end: int, floor: int, ceiling: int) -> BesideLink:
    """Return the quotation of the link from *start* to *end*.

    *floor* is where the link before it ends, and *ceiling* where the next one begins.
    """
    begin = max(floor, start - _REACH, 0)
    begin = max([begin, *(blank.end() for blank in BLANK_LINE.finditer(text, begin, start))])
    before = [
        each for each in _quoted(text, begin, start) if _is_in_sentence(text, each, begin)
    ]
    if before:
        return _chosen(text, before, start)
    return _after(text, start, end, min(ceiling, end + _REACH))


def _chosen(text: str, before: list[_Quoted], start: int) -> BesideLink:
    last = before[-1]
    gap = text[last.end : start]
    if _GAP.fullmatch(gap) is None:
        is_same = "\n" not in gap and not _SENTENCE_END.search(gap)
        return BesideLink(doubt=APART if is_same else "")
    earlier = [
        each for each in before[:-1] if not _SENTENCE_END.search(text, each.end, last.start)
    ]
    return BesideLink(doubt=SEVERAL) if earlier else BesideLink(last.text)


def _after(text: str, start: int, end: int, ceiling: int) -> BesideLink:
    """Return the quotation in a sentence that begins with "According to" and the link."""
    if _ACCORDING.search(text[max(0, start - 40) : start]) is None:
        return BesideLink()
    stop = _SENTENCE_END.search(text, end)
    limit = min(ceiling, len(text) if stop is None else stop.start() + 1)
    found = [*_quoted(text, end, limit)]
    if len(found) > 1:
        return BesideLink(doubt=SEVERAL)
    return BesideLink(found[0].text) if found else BesideLink()


def _is_in_sentence(text: str, quoted: _Quoted, begin: int) -> bool:
    """Whether a sentence quotes, rather than names a title."""
    line = text.rfind("\n", begin, quoted.start) + 1
    words = text[max(begin, line, quoted.start - 80) : quoted.start]
    if _CITED_BEFORE.search(words):
        return False
    return bool(_SMALL.search(words) or _SAYING.search(words) or _UNSPACED_BEFORE.search(words))


def _quoted(text: str, begin: int, end: int) -> Iterator[_Quoted]:
    """Yield what is in quotation marks, without overlaps."""
    at = begin
    while at < end:
        found = min(
            filter(None, (_next(text, at, end, *pair) for pair in _PAIRS)),
            key=lambda each: (each.start, -each.end),
            default=None,
        )
        if found is None:
            return
        if _is_long_enough(found.text):
            yield found
        at = found.end


def _next(text: str, at: int, end: int, opening: str, closing: str) -> _Quoted | None:
    """Return the next quotation in one kind of marks."""
    start = text.find(opening, at, end)
    while start >= 0:
        inner = start + len(opening)
        close = _closing(text, inner, end, closing)
        if close < 0:
            return None
        if _opens(text, start, inner) and not is_divided(text[inner:close]):
            return _Quoted(start, close + len(closing), " ".join(text[inner:close].split()))
        start = text.find(opening, inner, end)
    return None


def _closing(text: str, inner: int, end: int, closing: str) -> int:
    """Return where a quotation ends; an apostrophe between letters ends none."""
    close = text.find(closing, inner, min(end, inner + _LONGEST))
    while close >= 0 and closing in ("'", "\u2019") and text[close + 1 : close + 2].isalpha():
        close = text.find(closing, close + 1, min(end, inner + _LONGEST))
    return close


def _opens(text: str, start: int, inner: int) -> bool:
    """Whether a mark opens a quotation: a letter before it, or a blank after it, says no."""
    before, after = text[start - 1 : start] if start else "", text[inner : inner + 1]
    if after.isspace() and text[start] not in "\u00ab\u2039\u00bb":
        return False
    is_spaced = not before.isalnum() or ord(before) > 0x2E80
    return is_spaced and bool(after)


def _is_long_enough(quote: str) -> bool:
    unspaced = sum(ord(character) > 0x2E80 for character in quote)
    if unspaced:
        return unspaced >= _LEAST_UNSPACED
    words = [word for word in quote.split() if any(map(str.isalnum, word))]
    return len(words) >= _LEAST_WORDS and len(quote) >= _LEAST_LETTERS


def only_quotation(note: str) -> str:
    """Return the quotation of a note; empty if it has none, or more than one."""
    plain = _ENQUOTED.sub(lambda found: f"\u201c{found[1]}\u201d", note)
    found = [*_quoted(plain, 0, len(plain))]
    return found[0].text if len(found) == 1 else ""


_ENQUOTED: Final = compiled(r"\\enquote\*?\{([^{}]{0,600})\}")
