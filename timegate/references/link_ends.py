"""Where a link in a text ends, and whether it may go on: words glued to it, broken links.

In ``http://museum.example/a(accessed 5 November 2010)``, the link ends at the parenthesis. A
link that ends in ``...``, or at the end of a line before what looks like a path, may be
incomplete.
Each check looks at a bounded number of characters.
"""

import re
from typing import Final

from archives.regex_compat import compiled

_SIGN: Final = compiled(r"[(,;|\u2012-\u2015]|\.(?=[A-Z])")
_GLUED: Final = compiled(r"(?<=[a-z0-9/])[^\W\d_a-z][^\W\d_A-Z]{4,14}$")
_ABBREVIATION: Final = compiled(
    r"(?:(?<![A-Za-z])(?:[A-Za-z]\.){2,6}|_[A-Z]\.|[_-](?:Inc|Jr|Sr|Co|Corp|Ltd|Bros|etc|al)\.)$"
)
_GOING_ON: Final = compiled(r"[,;)\]>\"]|[ \t][a-z0-9]")
"""After a dot that ends no sentence."""
_END_OF_LINE: Final = compiled(r"[ \t]{0,80}(?:\r?\n|\Z)")
_PUNCTUATION: Final = compiled(r"[.,;:!?']{1,3}")
_PARENTHESES: Final = compiled(r"[()]")
_REACH: Final = 80
"""Characters at the end of a link in which glued words may begin."""
_LONGEST_DATE: Final = 40
_CLOSING: Final = " ).]>,;:'\"*"
SUFFIX: Final = r"(?:[sx]?html?|php[0-9]?|pdf|aspx?|jspx?|cfm|cgi|xml|txt|docx?|jpe?g|png|gif)"
FILE: Final = compiled(rf"(?:[\w%~+-]{{1,80}}\.){{1,4}}{SUFFIX}(?!\w)")
_REST_OF_FILE: Final = compiled(rf"{SUFFIX}(?![\w/])")
_PATH: Final = compiled(r"[\w%~+.-]{0,80}[/=?&][\w%~+./=?&#-]")
# The rest of a path after a blank; "and/or", 5/11/2010 and media types are none.
_FOLDERS: Final = compiled(
    r"(?!(?:and|or|und|oder|et|ou|y|e|text|image|application|audio|video)/|[0-9/]{1,12}(?!\w))[\w%~+-]{2,80}/[\w%~+-]{2}"
)
ADDRESS: Final = compiled(
    r"[\w+.-]{1,12}://|www[0-9]?\.|[\w-]{1,63}\.[\w.-]{2,200}/|[\w-]{1,9}:|[\w-]{1,40}:[ \t]"
    r"|HTTP/[0-9]"
)
NEXT_LINE: Final = compiled(r"[ \t]{0,4}\r?\n[ \t>]{0,16}(?=[\w%~+./?=&])")
DATE_IN_LINE: Final = compiled(
    r"[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{2,4}(?=(?P<more>[ \t,;:]{1,3}\S)|[\s,;:.)]|$)"
)
"""A day at the beginning of a line, which is no rest of the link above it."""
# A blank in an address in angle brackets.
_IN_ANGLES: Final = compiled(r"[ \t][^<>\s|]{1,80}>|[ \t]{0,4}\r?\n[^<>|]{1,200}>")
_SIGN_FIRST: Final = compiled(
    rf"[ \t]{{0,4}}\r?\n[ \t>]{{0,16}}(?:\.{SUFFIX}(?!\w)|=[\w%]|[&?][\w.-]{{1,40}}=|/[\w%~-]"
    r"|%[0-9A-Fa-f]{2}|_\w|-(?![0-9]{1,2}[\s./])[\w-]{0,40}[0-9])"
)
"""A line that begins with what a link has in the middle: ``&month=5``, ``.html``."""
_AFTER_COMMA: Final = compiled(r",[ \t]{0,4}\r?\n[ \t>]{0,16}")
_NEXT_WORD: Final = compiled(r"[ \t]{1,2}(?=\w)")
_NO_DOT: Final = compiled(r"https?://(?!https?://)[^./?#\[]{0,255}(?:[/?#]|$)")


_NO_PART: Final = (
    r"(?!(?:and|or|in|on|for|from|at|see|with|the|to|of|by|via|as|is|was|are|has|had|its|their|a|an|i|we|my|our(?=\s\w{1,40}/)|it|he|she|they"
    r"|und|oder|im|auf|mit|der|die|das|des|den|von|vom|zu|zum|am|bei|siehe|et|ou|le|la|les|du|de|des|dans|sur|y|o|el|los"
    r"|en|con|del|e|il|lo|di|da|nel|com|no|na|do|van|het|een|og|och|med)\s)"
)
"""Words that are no part of the name of a folder, if they stand first after a link."""
_SPACED_PATH: Final = compiled(
    rf"[ ](?=[\w%]){_NO_PART}(?:[\w%~+()&/-]{{1,40}}[ ](?=[\w%]){_NO_PART}){{0,4}}"
    r"(?![0-9]{1,4}/[0-9])(?:"
    rf"[\w%~+()-]{{1,60}}/(?:[\w%~+.()-]{{1,80}}/){{0,8}}(?:[\w%~+-]{{1,80}}\.){{1,3}}{SUFFIX}(?!\w)"
    r"|[\w%~+()-]{1,60}/[\w%~+.()-]{1,80}/|[\w%+-]{1,60}&[\w-]{1,40}=|"
    rf"(?:[\w%~+-]{{1,80}}\.){{1,3}}{SUFFIX}(?!\w))",
    re.IGNORECASE,
)
"""The rest of a path or a query after a blank in it: " collections/mining/index.html"."""
_IN_ATTRIBUTE: Final = compiled(r"(?:href|src)\s?=\s?[\"']$", re.IGNORECASE)
_REST_OF_VALUE: Final = compiled(r"[ ][^\"'<>\n]{1,200}[\"']")
_LAST_NUMBER: Final = compiled(r"(?<=[a-z/])\.?([0-9]{1,3})$", re.IGNORECASE)
_NOTE_IN_LINE: Final = compiled(r"(?:^|\n)[ \t]{0,8}[(\[]?(?P<number>[0-9]{1,3})[.)\]]{1,2}\s")
"""The number of a footnote at the beginning of its line."""
_NOTE_REACH: Final = 300
_NOTE_AFTER_WORD: Final = compiled(
    r"(?<![\w/.:@%=-])(?P<word>[^\W\d_]{3,30})[.,;:!?\"\u201d\u2019)]{0,2}"
    r"(?P<number>[0-9]{1,2})(?=[\s.,;:)]|$)"
)
"""A word with the number of a footnote stuck to it."""


def may_end_in_note(text: str, start: int, end: int) -> bool:
    """Whether the number at the end of a link may be that of a footnote.

    A word before the link has the number before it, or one after the link that after it.
    """
    last = _LAST_NUMBER.search(text, max(start, end - 5), end)
    if last is None:
        return False
    number, path = int(last[1]), text[start : last.start()].lower()
    floor = max(0, start - _NOTE_REACH)
    lines = _NOTE_IN_LINE.finditer(text, floor, start) if last[0].startswith(".") else ()
    if any(int(note["number"]) == number - 1 for note in lines):
        return True
    before = _NOTE_AFTER_WORD.finditer(text[floor:start])
    after = _NOTE_AFTER_WORD.finditer(text[end : end + _NOTE_REACH])
    near = [*((each, number - 1) for each in before), *((each, number + 1) for each in after)]
    # "Part1: /part1, Part2: /part2" are numbers of their own.
    return any(
        int(note["number"]) == wanted and not path.endswith(note["word"].lower())
        for note, wanted in near
    )


def end_before_words(text: str, start: int, end: int) -> int:
    """Return where the link in *text* from *start* to *end* ends: before words glued to it."""
    for sign in _SIGN.finditer(text, max(start, end - _REACH), end):
        at = sign.start()
        # Wikipedia's titles: Museum_(film).
        if text[at - 1] != "_" and _are_words(text, sign.end(), end):
            return at
    return end


def glued_word(text: str, start: int, end: int) -> int | None:
    """Return where a word glued to the link begins, as in ``/pageAccessed 5 November 2010``."""
    word = _GLUED.search(text, max(start, end - _LONGEST_DATE), end)
    if word is None or not text[end : end + 1].isspace():
        return None
    from timegate.references.dates import access_word  # noqa: PLC0415 -- slow to import

    return word.start() if access_word(word[0]) else None


def _are_words(text: str, at: int, end: int) -> bool:
    """Whether a date that reaches the end of the link begins here, or a word before a date."""
    from timegate.references.dates import access_word, mark_after  # noqa: PLC0415 -- slow
    from timegate.text.written_dates import find_dates  # noqa: PLC0415

    if access_word(text[at : at + _LONGEST_DATE]):
        return True
    date = next(find_dates(text[at : at + _LONGEST_DATE]), None)
    if date is None or date.start > 0 or (date.moment and len(date.moment.digits) == 4):
        return False
    rest = at + date.end
    is_last = not text[rest:end].strip(_CLOSING)
    return is_last or mark_after(text[rest : rest + _LONGEST_DATE]) is not None


def has_own_dot(text: str, start: int, end: int) -> bool:
    """Whether the dot at the end of a link is that of an abbreviation: ``Washington,_D.C.``."""
    path = text.find("/", start + len("https://"), end)
    return path >= 0 and _ABBREVIATION.search(text, path, end) is not None


def may_end_sentence(text: str, start: int, end: int) -> bool:
    """Whether the dot at the end of a link may be the full stop of the sentence around it."""
    line = text.rfind("\n", 0, start) + 1
    is_alone = _END_OF_LINE.match(text, end) is not None and not text[line:start].strip()
    return not is_alone and _GOING_ON.match(text, end) is None


def end_in_brackets(text: str, start: int, end: int) -> int:
    """Return where a link ends that brackets enclose: with the punctuation at its end.

    These are ``<...>``, and ``[...](...)`` of Markdown.
    """
    opened = text[max(0, start - 2) : start]
    closing = ">" if opened.endswith("<") else ")" if opened == "](" else ""
    rest = _PUNCTUATION.match(text, end) if closing else None
    return rest.end() if rest and text.startswith(closing, rest.end()) else end


def open_parenthesis(text: str, start: int, end: int) -> int | None:
    """Return where a link has a parenthesis that is not closed; None if it has none."""
    opened: list[int] = []
    for sign in _PARENTHESES.finditer(text, start, end):
        if sign[0] == "(":
            opened.append(sign.start())
        elif opened:
            opened.pop()
    return opened[0] if opened else None


def may_go_on(text: str, start: int, end: int, raw: int) -> bool:
    """Whether the link from *start* to *end* may be incomplete.

    *raw*: where it ends with the punctuation after it.
    """
    return (
        _is_cut(text, start, end)
        or _goes_on(text, end, raw)
        or (text[start - 1 : start] == "<" and _IN_ANGLES.match(text, raw) is not None)
        or (raw == end and _has_blank(text, start, end))
        or may_end_in_note(text, start, end)
    )


def _has_blank(text: str, start: int, end: int) -> bool:
    """Whether a path, a query or the value of an attribute goes on after a blank."""
    from timegate.references.dates import access_word  # noqa: PLC0415 -- slow to import

    # In wikis, a link in brackets ends at the blank before its title.
    if text[end : end + 1] != " " or text[start - 1 : start] == "[":
        return False
    if _IN_ATTRIBUTE.search(text, max(0, start - 9), start) and _REST_OF_VALUE.match(text, end):
        return True
    rest = _SPACED_PATH.match(text, end)
    return rest is not None and not access_word(rest[0].lstrip())


_SHORTENED: Final = compiled(r"(?<!\.)\.{3,5}(?!\.)|\[\.{2,4}\]")
"""Dots in an address, as forums write long ones: ``/news/wor...-in-Japan.html``."""
_COMPARED: Final = compiled(r"/compare/[^\s?#]{1,200}?\.\.\.")
"""Two versions of a program on GitHub and GitLab, which have such dots between them."""
_SPACED_DOTS: Final = compiled(
    rf"[ ](?:\.{{3}}|\u2026)[ ]?(?:[\w%~+-]{{0,80}}\.{SUFFIX}(?!\w)"
    r"|[\w%~+.-]{0,80}[/=?&_0-9][\w%~+./=?&-])"
)
"""The same with blanks: ``/news/wor ... apan.html``."""


def _is_cut(text: str, start: int, end: int) -> bool:
    """Whether dots stand for a part of the link, or a part that every link has is missing."""
    written = text[start:end]
    if (
        text.startswith(("...", "[...", "[\u2026", "\u2026"), end)
        or "\u2026" in written
        or (_SHORTENED.search(written) and _COMPARED.search(written) is None)
        or _SPACED_DOTS.match(text, end) is not None
    ):
        return True
    if text.startswith("<", end) and "(sici)" in written.lower():
        return True  # Such a DOI has angle brackets in it.
    return written.endswith(("[...]", "(...)")) or _NO_DOT.match(written) is not None


def _goes_on(text: str, end: int, raw: int) -> bool:
    """Whether the next word or line looks like the rest of the link."""
    last = text[raw - 1]
    word = _NEXT_WORD.match(text, raw) if raw == end else None
    if (word and FILE.match(text, word.end())) or (raw == end and _is_lone_word(text, raw)):
        return True
    if (raw == end and _SIGN_FIRST.match(text, raw)) or _goes_on_after_comma(text, end, raw):
        return True
    if raw > end + 1 or last not in "/-_?=&.":
        return False
    if word := _NEXT_WORD.match(text, raw):
        rest = FILE.match(text, word.end()) or _FOLDERS.match(text, word.end())
        return last in "/-_" and rest is not None
    line = NEXT_LINE.match(text, raw)
    if line is None or ADDRESS.match(text, line.end()):
        return False
    day = DATE_IN_LINE.match(text, line.end())
    return (day is None or not day["more"]) and is_rest(text, line.end(), last)


_LONE_WORD: Final = compiled(
    r"[ \t]{0,4}\r?\n(?!(?:from|with|also|then|plus|oder)\b)([a-z]{4,40})[ \t]{0,4}(?:\r?\n|\Z)"
)


def _goes_on_after_comma(text: str, end: int, raw: int) -> bool:
    """Whether the next line is the rest of a file name with a comma in it."""
    comma = _AFTER_COMMA.match(text, end)
    return raw == end + 1 and comma is not None and FILE.match(text, comma.end()) is not None


_NOTED_WORD: Final = compiled(
    r"[ \t]{0,4}\r?\n[ \t>]{0,16}([\w%~+.-]{2,80}?)[.,;]{0,2}[ \t]{0,3}"
    r"[\[(][ \t]{0,2}(?P<note>[^\W\d_][^\n]{0,40})"
)
"""One word after a line that ends in a link, and a note in brackets after it."""
_DIGIT: Final = compiled(r"[0-9_]")
_OF_PAGES: Final = frozenset(
    ("online", "website", "webseite", "page", "homepage", "abstract", "internet", "link", "pdf")
)
"""Words for the page above them."""


def _is_lone_word(text: str, at: int) -> bool:
    """Whether the next line is one word, which may be the rest of a link."""
    from timegate.references.dates import access_word  # noqa: PLC0415 -- slow to import

    if word := _LONE_WORD.match(text, at):
        return not access_word(word[1])
    word = _NOTED_WORD.match(text, at)
    if word is None or access_word(word[1]) or not access_word(word["note"]):
        return False
    # After a whole path, a name with a capital letter may be that of the page or its author.
    may_be_rest = text[at - 1] in "/=&?_-~" or word[1].islower() or _DIGIT.search(word[1])
    return bool(may_be_rest) and word[1].lower() not in _OF_PAGES


_NO_PROSE: Final = compiled(
    r"(?=\S{4,80}(?:\s|$))(?=[\w%~+-]{0,80}?[A-Za-z])(?:[a-z%~+-]{0,80}?[a-z]{2}-?[0-9]{2}[\w%~+-]{0,60}"
    r"|[0-9]{1,12}[_-][\w%~+-]{2,60}|[\w%~+-]{1,60}_[\w%~+-]{1,60}"
    r"|[a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){2,12})[.,;:)]{0,2}(?!\S)",
)
"""A word that is none of prose: ``september2019``, ``annual_report``, ``the-best-of-it``."""


def is_rest(text: str, at: int, last: str) -> bool:
    """Whether the word at *at* looks like the rest of a link whose line ends with *last*."""
    if last == ".":
        return _REST_OF_FILE.match(text, at) is not None
    if last in "-_=&" and (text[at].islower() or text[at].isdigit()):
        return True
    if last == "/" and _NO_PROSE.match(text, at):
        return True
    return _PATH.match(text, at) is not None or FILE.match(text, at) is not None
