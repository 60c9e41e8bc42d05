"""Dates of messages and events: of a chat, a tweet, or what a sentence tells.

Such a date says when something was written or happened, and not when a page was seen.
"""

import re
from itertools import islice
from typing import Final

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import names_access
from timegate.text.written_dates import WrittenDate

_NEAR: Final = 60
_LONGEST_SENTENCE: Final = 120
_TIME: Final = r"[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2})?(?:[\s\u202f]?[ap]\.?m\.?)?"
_LINE_BEGINS: Final = compiled(r"(?:^|\n)[ \t>*]{0,8}\[?$")
_THEN_AUTHOR: Final = compiled(
    rf",?\s{{1,2}}(?:at\s)?{_TIME}\s?(?:\]\s{{0,2}}|-\s|\u2013\s|\s)?"
    r"(?:<[^<>\n]{1,30}>|(?!https?:)[^\n:<>\[\]/]{1,40}:(?!//))\s",
    re.IGNORECASE,
)
"""After the date of a message: a time and the name of its author, as in exports of chats."""
_AFTER_AUTHOR: Final = compiled(r"(?:^|\n)[^\n:<>\[\]/]{1,40},?\s\[$")
_ENDS_HEADING: Final = compiled(rf",?\s{{1,2}}(?:at\s)?{_TIME}\]:?\s", re.IGNORECASE)
"""Around the date of a message that stands after the name of its author."""
_DASH_BEFORE: Final = compiled(r"(?:^|\n)[^\n:<>\[\]/]{1,40}\s[\u2014\u2013]\s$")
_ENDS_LINE: Final = compiled(rf",?\s{{1,2}}(?:at\s)?{_TIME}\s{{0,2}}\n", re.IGNORECASE)
_DOT_BEFORE: Final = compiled(r"[\u00b7\u2022]\s{0,2}$")
_DOT_AFTER: Final = compiled(r"\s{0,2}[\u00b7\u2022]")
_OF_TWEET: Final = compiled(r"(?<![\w.])@\w{2,20}\b(?!\.\w)|\bTwitter\b|\b[Tt]weet", re.ASCII)
_ENDS_NOTE: Final = compiled(rf",?\s{{1,2}}(?:at\s)?{_TIME}\)", re.IGNORECASE)
_MENTION: Final = compiled(r"(?<![\w.])@\w{2,30}(?:@[\w.-]{4,80})?:", re.ASCII)
"""The author of a message on its line, which ends with its date and time in parentheses."""
_VERB: Final = (
    r"(?:(?!observed|spotted|noticed|detected|captured|recorded|reported)[^\W\d_]{3,14}ed|burst|fell|broke|began|died|won|lost|held|met|sank|hit|struck"
    r"|rose|went|came|made|ran|shut|left|took|gave|became|grew|flew|blew|built|sold|bought|caught)"
)
_TOLD: Final = compiled(
    rf"\s(?:(?:was|were|had|has|have|been|also|then|first|finally)\s){{0,2}}{_VERB}"
    r"(?:\s[^\W\d_]{1,14}){0,4}\s(?:on|in)\s(?:the\s)?",
    re.IGNORECASE,
)
"""Between a link and a date: "burst on"."""


_SIGNED: Final = compiled(
    r"^[>\t\x20]{0,8}(?:--\x20?|(?:(?:(?:kind|best|warm|many)\s)?(?:regards|wishes)|best|cheers"
    r"|thanks(?:\sagain)?|many\sthanks|thank\syou|sincerely|yours(?:\s(?:sincerely|faithfully|truly))?"
    r"|sincerely\syours|all\sthe\sbest|take\scare|(?:mit\s)?(?:freundlich|best|herzlich|viel|lieb|schön)"
    r"e[nr]?\s(?:gr(?:ü|ue)(?:ß|ss)en?|gru(?:ß|ss)|dank)|gru(?:ß|ss)|gr(?:ü|ue)(?:ß|ss)e|mfg|lg|vg"
    r"|(?:bien\s)?cordialement|bien\sà\s(?:vous|toi)|amicalement|salutations|merci|un\ssaludo"
    r"|saludos(?:\scordiales)?|atentamente|gracias|cordiali\ssaluti|saluti"
    r"|(?:met\svriendelijke\s)?groet(?:en)?|(?:med\s)?(?:venlig|vennlig|vänlig)\shilsen"
    r"|(?:med\s)?vänliga\shälsningar|hilsen|mvh)"
    r"[,.!]?(?:\x20[^\W\d_]{2,20}){0,2}(?!\s{1,8}(?:>\s?)?(?:https?:|www\.)))[ \t]{0,4}\r?\n",
    re.MULTILINE | re.IGNORECASE,
)
"""The end of a message, before its author's name."""
_LINES_OF_NAME: Final = compiled(
    r"(?:[>\t ]{0,8}(?!P\.?\s?S\b|[0-9]{1,2}[.)]\s|[-*\u2022]\s)[^\n]{0,70}(?:\n|\Z)){1,8}"
)
"""After the end of a message: its author's name, post, address and page."""
_MOST_SIGNED: Final = 50


def signatures(text: str) -> list[TextSpan]:
    """Return where the messages in *text* end with their authors' names, without other text."""
    found = [*islice(_SIGNED.finditer(text), _MOST_SIGNED)]
    # Several lines of hyphens divide the parts of a text.
    hyphens = sum(signed[0].rstrip() == "--" for signed in found)
    return [
        TextSpan(signed.start(), name.end())
        for signed in found
        if (hyphens == 1 or not signed[0].startswith("--"))
        and (name := _LINES_OF_NAME.match(text, signed.end()))
    ]


_FORUM_POST: Final = compiled(
    r"(?:^|\n)[ \t>]{0,8}(?:(?:posted|postdate|verfasst|geschrieben|posté|publié|publicado"
    r"|enviado|inviato|geplaatst|postet|skrevet|publicerat)"
    r"(?:\s(?:on|am|le|el|il|op|den|by|von|par|por|da|door|av))?(?:\s[^\s:]{1,30}\son)?"
    r"|by\s[^\n:]{1,40}\s[\u00bb>]|(?:beitrag\s)?von\s[^\n:]{1,40}\s\u00bb)"
    r"[:\s]{0,3}(?:[^\W\d_]{2,9}[.,]{0,2}\s)?$",
    re.IGNORECASE,
)
"""Before the date of a message in a forum, which has a time of day."""
_TIMED: Final = compiled(rf",?\s{{1,3}}(?:at\s|um\s|à\s)?{_TIME}(?=[\s,;]|$)", re.IGNORECASE)
_IN_NEXT_LINES: Final = compiled(r"[^\n]{0,120}(?:\n|$)")


def _is_of_post(text: str, date: WrittenDate) -> bool:
    """Whether *date* is in the head of a message in a forum, and not beside a link."""
    before = text[max(0, date.start - _NEAR) : date.start]
    if _FORUM_POST.search(before) is None or _TIMED.match(text, date.end) is None:
        return False
    rest = _IN_NEXT_LINES.match(text, date.end)
    return rest is not None and "://" not in rest[0] and "www." not in rest[0]


def is_of_message(text: str, date: WrittenDate) -> bool:
    """Whether *date* is that of a message in a chat, or of a tweet."""
    before = text[max(0, date.start - _NEAR) : date.start]
    if _is_of_post(text, date):
        return True
    if _LINE_BEGINS.search(before) and _THEN_AUTHOR.match(text, date.end):
        return True
    if _AFTER_AUTHOR.search(before) and _ENDS_HEADING.match(text, date.end):
        return True
    if _DASH_BEFORE.search(before) and _ENDS_LINE.match(text, date.end):
        return True
    if _DOT_BEFORE.search(before) or _DOT_AFTER.match(text, date.end):
        return _is_in_tweet(text, date)
    line = text.rfind("\n", max(0, date.start - 5 * _NEAR), date.start) + 1
    is_opened = text[date.start - 1 : date.start] == "("
    is_note = is_opened and _ENDS_NOTE.match(text, date.end) is not None
    return is_note and _MENTION.search(text, line, date.start) is not None


def _is_in_tweet(text: str, date: WrittenDate) -> bool:
    around = text[max(0, date.start - 5 * _NEAR) : date.end + 2 * _NEAR]
    return _OF_TWEET.search(around) is not None


_NOW: Final = compiled(
    r"\b(?:right\snow|just\snow|now|currently|at\sthe\smoment|today|gerade|grad|jetzt|aktuell|momentan|heute"
    r"|en\sce\smoment|maintenant|aujourd['\u2019]hui|ahora|hoy|adesso|oggi|agora|hoje|vandaag|net\snu|lige\snu|just\snu|akkurat\snå)\b"
    r"|сейчас|今|现在|現在|지금",
    re.IGNORECASE,
)
"""Words by which the time of a message is that of the page."""


def says_now(text: str, link: TextSpan) -> bool:
    """Whether the line of *link* says that the page is so at the time of writing."""
    line = text.rfind("\n", max(0, link.start - 5 * _NEAR), link.start) + 1
    line = max(line, link.start - 5 * _NEAR)
    after = text[link.end : link.end + 2 * _NEAR].partition("\n")[0]
    return _NOW.search(text, line, link.start) is not None or _NOW.search(after) is not None


def is_told(text: str, link: TextSpan, date: WrittenDate) -> bool:
    """Whether the sentence goes on after the *link* and tells what happened on *date*."""
    if not 0 < date.start - link.end <= _LONGEST_SENTENCE:
        return False
    told = _TOLD.fullmatch(text, link.end, date.start)
    return told is not None and not names_access(told[0])
