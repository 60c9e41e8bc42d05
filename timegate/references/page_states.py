"""Sentences on the state of a page at a date: "as it was in", "how did it look on".

Such a date is one at which the page was there, as that of a visit. The words stand between the
link and the date, or around both.
"""

import re
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.date_context import DEAD
from timegate.references.dates import access_word, mark_before
from timegate.text.written_dates import WrittenDate

_NEAR: Final = 90
_PAGE: Final = (
    r"(?:(?:the|this|that|their|its|your|die|diese|der|la|le|cette|ce|el|esta|este|il|questa|o|a|esta|de|deze)\s)?"
    r"(?:(?:web|home)\s?)?(?:page|site|seite|webseite|website|página|pagina|sitio|sito|side|sida|url|link)"
)
_ON: Final = r"(?:(?:back\s)?(?:on|in|at|im|am|en|le|el|il|em|nel|op|den|i|w|v)(?:\sthe)?)"
_WAS: Final = (
    r"(?:(?:just|exactly|precisely)\s)?as\s(?:it|they)\s(?:was|were|existed|appeared|looked|stood|read|had\sbeen)"
    r"|as\sat|the\sway\sit\s(?:was|looked)"
    r"|(?:was|were|is|still)\s(?:still\s)?(?:online|accessible|reachable)|(?:(?:was|is)\s)?still\sup"
    r"|(?:(?:was|were)\s)?(?:last\s|first\s)?(?:seen|observed|spotted|noticed)(?:\s(?:alive|active|live|online|up))?(?:\sby\s(?:us|me))?"
    r"|looked(?:\slike\sthis)?|so\swie|war\s(?:noch\s)?(?:online|erreichbar|abrufbar)"
    r"|tel(?:le)?\squ['\u2019](?:elle|il)\s(?:était|existait|apparaissait|se\sprésentait)"
    r"|comme\s(?:elle|il)\sétait|(?:était\s)?encore\sen\sligne"
    r"|(?:tal\s(?:y\s)?)?como\s(?:estaba|era|aparecía|existía|se\sveía|estava|aparecia|existia)"
    r"|(?:così\s)?com['\u2019]\s?era|(?:così\s)?come\s(?:era|appariva|si\spresentava)"
    r"|zoals\s(?:die|deze|hij|het|zij|ze)\s(?:was|eruitzag)"
    r"|som\s(?:den|det)\s(?:var|så\sud|så\sut|såg\sut|fremstod)"
)
_AFTER_LINK: Final = compiled(
    rf"[>)\]\"'\u201d]{{0,2}},?\s(?:[-\u2013\u2014]\s)?\(?(?:{_WAS})(?:,?\s{_ON})?[\s:]{{1,2}}",
    re.IGNORECASE,
)
"""Between a link and a date: "URL as it was in October 2001"."""
_LIVE: Final = compiled(
    rf"[,)]?\s(?:[-\u2013\u2014]\s)?\(?(?:(?:was|still)\s)?(?:live|online|active|up)(?:\s{_ON})?[\s:]{{1,2}}",
    re.IGNORECASE,
)
_DEFANGED: Final = compiled(r"hxx|\[\.\]|\[:\]", re.IGNORECASE)
"""Between a harmless form of an address and a date: "live on"; else it may be of a concert."""
_UP_WHEN: Final = compiled(
    r"[>)\]\"'\u201d]{0,2},?\s(?:(?:was|were|is|are|looked|worked)\s)?(?:still\s|also\s|already\s)?"
    r"(?:up|online|live|alive|active|reachable|accessible|available|working|fine|ok|okay)\s(?:and\s\w{2,12}\s)?"
    r"when\s(?:(?:I|we)\s)?(?:last\s|first\s|just\s)?"
    r"(?:visited|looked|checked|accessed|viewed|opened|seen|tested|tried|saw)(?:\s(?:at\s)?(?:it|them|the\s(?:page|site)))?"
    r"(?:\s(?:back\s)?(?:on|in|at))?(?:\sthe)?\s",
    re.IGNORECASE,
)
"""Between a link and a date: "was still up when I looked on"."""
_SAW_IT: Final = compiled(
    rf"\b(?:{_PAGE}|list(?:ing)?|notice|article|text|version)\s(?:just\s|exactly\s)?as\s(?:I|we)\s"
    r"(?:last\s|first\s|then\s)?(?:saw|found|read|viewed|accessed|printed|copied|downloaded)(?:\s(?:it|them))?"
    r"(?:\s(?:back\s)?(?:on|in))?(?:\sthe)?\s$",
    re.IGNORECASE,
)
"""Before a date and a link: "the page as I saw it on 21 April 2006: URL"."""
_OF_WEB: Final = (
    r"(?:web\s?page|web\s?site|page|site|homepage|price\slist|pricelist|listing|list|faqs?|terms(?:\sof\s(?:use|service))?"
    r"|policy|privacy\spolicy|conditions|table|article|post|entry|statement|documentation|docs|notice|wiki|schedule"
    r"|timetable|thread|profile|blog|advert|advertisement|ad|offer|prices|database|record|results|map|link|url|copy|version)"
)
_LOOKED_AT: Final = compiled(
    r",?\s(?:I|we)\s(?:have\s|had\s|also\s|again\s|then\s|last\s|first\s|just\s)?"
    r"(?:looked\s(?:at|up|into)|took\sa\slook\sat|had\sa\slook\sat|saw|read|checked|opened|went\sto|browsed|loaded|found|inspected"
    r"|consulted|visited|accessed|viewed|came\sacross|called\sup|pulled\sup|clicked(?:\son)?)"
    rf"(?:\s(?:the|their|its|your|his|her|this|that)\s(?:[\w'\u2019-]{{1,20}}\s){{0,3}}?{_OF_WEB},?)?"
    r"(?:\s(?:at|on|under))?:?\s[<(\[]?",
    re.IGNORECASE,
)
"""Between a date and a link: "On 12 March 2019 I looked at the price list, URL"."""
_LOOKED_AT_ELSEWHERE: Final = compiled(
    r",?\s(?:habe\s(?:ich|mir)(?:\smir|\sich)?|haben\swir(?:\suns)?|sah\sich(?:\smir)?|sahen\swir(?:\suns)?|besuchte\sich|fand\sich|las\sich|rief\sich"
    r"|j['\u2019]ai\s(?:vu|consulté|visité|lu|ouvert|trouvé|regardé)|nous\savons\s(?:vu|consulté|visité|lu)"
    r"|(?:vi|consulté|visité|leí|abrí|miré|encontré|vimos|consultamos|visitamos))"
    r"(?:\s(?:die|la|el|le|les|los|las)\s(?:[\w'\u2019-]{1,20}\s)?(?:seite|webseite|website|homepage"
    r"|preisliste|page|site|página|web|sitio|lista|liste),?)?"
    r":?\s[<(\[]?",
    re.IGNORECASE,
)
_GERMAN_HAVE: Final = compiled(r"^,?\s(?:habe|haben)\s", re.IGNORECASE)
_GERMAN_SEEN: Final = compiled(
    r"[>)\]]?,?\s(?:(?!nicht|nie|kaum|kein)[^\W\d_]{2,14}\s){0,4}?(?:gesehen|angesehen|angeschaut|besucht|gelesen|aufgerufen|abgerufen|gefunden|geöffnet|geprüft|entdeckt|angeklickt)\b",
    re.IGNORECASE,
)
_HAVE_AFTER: Final = compiled(
    r"[>)\]]?,?\s(?:habe\s(?:ich|mir)|haben\swir|wurde(?:\svon\s(?:mir|uns))?)(?:\s(?:zuletzt|zuerst|erstmals|noch|selbst|das\sletzte\sMal|zum\sletzten\sMal|zum\sersten\sMal)){0,2}"
    r"\s(?:am|im)\s",
    re.IGNORECASE,
)
"""Around a date after a link: "habe ich am 2. Dezember 2006 zum ersten Mal gesehen"."""
_TO_FULL_STOP: Final = compiled(r"(?:[^.;\n]|\.(?!\s)){1,120}")
_SEEN_AFTER: Final = compiled(
    r"[>)\]]?,?\s(?:la\s(?:vi|visité|consulté|leí|vimos|consultamos)|je\sl['\u2019]ai\s(?:vue?|lue?|consultée?|visitée?)"
    r"|nous\sl['\u2019]avons\s(?:vue?|lue?|consultée?|visitée?))(?:\spour\sla\s(?:première|dernière)\sfois"
    r"|\spor\s(?:primera|última)\svez)?\s(?:el|le|en)\s",
    re.IGNORECASE,
)
"""Between the link of a page that is named and a date: "je l'ai vue le"."""
_WAS_THERE: Final = compiled(r"[>)\]]?,?\s(?:war|stand|lag)\s(?:noch\s)?am\s", re.IGNORECASE)
_STILL_THERE: Final = compiled(
    r"\s(?:noch\s)?(?:da|online|erreichbar|abrufbar|verfügbar|zugänglich|im\sNetz)\b",
    re.IGNORECASE,
)
"""Around a date after a link: "war am 4. Februar 2012 noch online"."""
_NAMED_PAGE: Final = compiled(rf"(?:(?:^|\n|[.:!?]\s)|\b{_PAGE}\s)[<(\[\"]?$", re.IGNORECASE)
_CLAUSE: Final = compiled(
    r"[>)\]\"'\u201d]{0,2},?\s(?:(?:so\s)?wie\s(?:sie|er|es)|als\s(?:ich|wir)(?:\s(?:sie|ihn|es|zuletzt|die\sSeite)){0,2}"
    r"|zoals\s(?:die|deze|hij|het|zij|ze))\s(?:im|am|in|op)\s",
    re.IGNORECASE,
)
_ENDS_CLAUSE: Final = compiled(
    r"\s(?:war|aussah|ausgesehen|stand|existierte|erschien|was|eruitzag|abrief|aufrief|besuchte|ansah"
    r"|prüfte|las|sah)\b",
    re.IGNORECASE,
)
"""Around a date after a link: "URL, wie sie am 5. Oktober 2009 aussah"."""


class _Question(NamedTuple):
    """What stands before a link, and between it and a date."""

    before: re.Pattern[str]
    between: re.Pattern[str]


def _question(before: str, between: str) -> _Question:
    return _Question(
        compiled(rf"(?:{before})\s(?:{_PAGE}\s)?[<(\[]?$", re.IGNORECASE),
        compiled(rf"[>)\]]?\s(?:{between}\s)?{_ON}\s", re.IGNORECASE),
    )


_QUESTIONS: Final = (
    _question(
        r"\b(?:how|what)\sdid",
        r"(?:look|say|read|show|contain|have|list)(?:\slike)?(?:\sback)?",
    ),
    _question(
        r"\b(?:I|we)\s(?:visited|accessed|viewed|consulted|retrieved|downloaded)"
        r"|\b(?:he|hemos)\s(?:consultado|visitado|visto|leído)",
        r"again",
    ),
    _question(r"\bwhat\s(?:was|stood)\s(?:on|at)", r"back"),
    _question(r"\bwie\s(?:sah|war)|\bwas\sstand\s(?:auf|unter)", r"damals"),
    _question(r"à\squoi\sressemblait|\bcomment\sétait", r"encore"),
    _Question(
        compiled(
            rf"\b(?:snapshot|copy|capture|screen\s?shot|print-?out|version)\sof\s(?:{_PAGE}\s)?[<(\[]?$",
            re.IGNORECASE,
        ),
        compiled(
            r"[>)\],]{0,2}\s(?:(?:taken\s)?from|dated|of|as\sof)\s(?:the\s)?", re.IGNORECASE
        ),
    ),
    _question(r"\bc[oó]mo\s(?:era|estaba|estava|se\sveía)|\bcom['\u2019]\s?era", r"antes"),
)
"""Around a link before a date: "How did URL look on 14 June 2013?"."""
_SAID: Final = compiled(
    r"\b(?:(?:what|how)\s(?:the|this|their|its)|o\sque\s[ao]|lo\sque\s(?:la|el)|ce\sque\s(?:la|le)|che\scosa|quello\sche)"
    r"\s(?:[\w'\u2019-]{1,20}\s){0,4}?(?:page|site|website|homepage|página|pagina|sitio|sito|sítio)\s"
    r"(?:[\w'\u2019-]{1,20}\s){0,4}?(?:said|looked(?:\slike)?|showed|read|dizia|mostrava|decía|mostraba|disait|affichait|diceva)"
    rf"\s{_ON}\s$|\bwas\sstand\s(?:am|im)\s$",
    re.IGNORECASE,
)
_THEN_LINK: Final = compiled(r"[:,]?\s(?:(?:at|on|auf|unter|under)\s)?[<(\[]?", re.IGNORECASE)
"""Around a date before a link: "what the page said on 7 September 2019: URL"."""
_FOUND: Final = compiled(
    r"(?:\b(?:I|we)\s(?:found|read|copied|downloaded)|\bj['\u2019]ai\s(?:trouvé|lu|copié)"
    r"|\bencontr(?:é|amos|ei)|\b(?:ho|abbiamo)\s(?:trovato|letto)|\b(?:jeg|jag)\s(?:fandt|fant|hittade)"
    r"|\bik\svond)\s(?:[\w'\u2019-]{1,20}\s){0,5}(?:on|in|le|en|am|im|el|il|em|den|op)\s(?:the\s)?$",
    re.IGNORECASE,
)
_HAVE_FOUND: Final = compiled(
    r"\b(?:ich\shabe|wir\shaben)\s(?:[\w-]{1,20}\s){0,5}(?:am|im)\s$", re.IGNORECASE
)
_ENDS_FINDING: Final = compiled(
    r"[>)\]]?,?\s(?:gefunden|gelesen|entdeckt|kopiert|heruntergeladen)\b", re.IGNORECASE
)
_AT_SITE: Final = compiled(
    rf",?\s(?:on|at|in|from|sur|auf|à|dans|unter|en|su|em|no|på|op)\s(?:{_PAGE}\s)?[:<(\[]{{0,2}}",
    re.IGNORECASE,
)
"""Around a date before a link: "I found this exercise on 25 January 2003 on the site URL"."""
_VISITOR: Final = compiled(
    r"(?-i:\bI\b)|\b(?:we|ich|wir|nous|jeg|jag|ik|ho|abbiamo|he|hemos|acessei|acedi|consultei|visitei)\b|\bj['\u2019]ai\b",
    re.IGNORECASE,
)
_HAVE: Final = compiled(
    r",?\s(?:habe\sich|haben\swir|heb\sik|har\sjeg|har\sjag)(?:\serneut|\szuletzt)?\s(?:die\sSeite\s)?[<(\[]?",
    re.IGNORECASE,
)
_LONGEST_VISIT: Final = 60
_PROGRAM: Final = compiled(
    r"[>)\]\"']{0,2},?\s\(?(?P<word>[a-zé]{3,12})\s(?:in|with|via|using|by|through|from)\s"
    r"(?:an?\s|the\s|my\s|our\s|private\s|incognito\s|mobile\s|online\s){0,2}"
    r"(?:sandbox(?:es)?|browsers?|Firefox|Chrome|Chromium|Safari|Edge|Opera|Brave|Tor(?:\sBrowser)?|Internet\sExplorer|Netscape"
    r"|Mosaic|Lynx|curl|wget|VM|virtual\smachine|urlscan(?:\.io)?|phone|mode)"
    r"(?:\s[0-9.]{1,6})?,?\s(?:on\s|in\s)?(?:the\s)?",
    re.IGNORECASE,
)
"""Between a link and a date: "visited in sandbox"."""


def is_of_state(text: str, link: TextSpan, date: WrittenDate) -> bool:
    """Whether a sentence says how the page at *link* was on *date*, or that it was seen."""
    if date.start >= link.end:
        return _is_after(text, link, date)
    before = text[max(0, date.start - _NEAR) : date.start]
    gap = text[date.end : link.start]
    if date.end > link.start or len(gap) > _LONGEST_VISIT:
        return False
    is_said = (_SAID.search(before) or _SAW_IT.search(before)) and _THEN_LINK.fullmatch(gap)
    is_found = _FOUND.search(before) or (
        _HAVE_FOUND.search(before) and _ENDS_FINDING.match(text, link.end)
    )
    is_found = is_found and _AT_SITE.fullmatch(gap)
    return bool(is_said or is_found) or _is_visit(text, gap, link)


def _is_after(text: str, link: TextSpan, date: WrittenDate) -> bool:
    gap = text[link.end : date.start]
    if len(gap) > _NEAR:
        return False
    if _AFTER_LINK.fullmatch(gap) or _UP_WHEN.fullmatch(gap):
        return True
    before = text[max(0, link.start - _NEAR) : link.start]
    if _LIVE.fullmatch(gap) and _DEFANGED.search(text, link.start, link.end):
        return True
    program = _PROGRAM.fullmatch(gap)
    is_clause = (_CLAUSE.fullmatch(gap) and _ENDS_CLAUSE.match(text, date.end)) or (
        _WAS_THERE.fullmatch(gap) and _STILL_THERE.match(text, date.end)
    )
    if is_clause or (program and access_word(program["word"])):
        return True
    is_german = _HAVE_AFTER.fullmatch(gap) and _GERMAN_SEEN.match(text, date.end)
    if is_german or _SEEN_AFTER.fullmatch(gap):
        return _NAMED_PAGE.search(before) is not None
    return any(
        each.between.fullmatch(gap) and each.before.search(before) for each in _QUESTIONS
    )


def _is_found_dead(text: str, link: TextSpan) -> bool:
    """Whether the sentence after the *link* says that the page was not there."""
    sentence = _TO_FULL_STOP.match(text, link.end)
    return sentence is not None and DEAD.search(sentence[0]) is not None


def _is_visit(text: str, gap: str, link: TextSpan) -> bool:
    """Whether the writer visited the page on the date: "On 5 May 2010 I visited URL"."""
    is_seen = not _is_found_dead(text, link)
    if is_seen and _LOOKED_AT.fullmatch(gap):
        return True
    if is_seen and _LOOKED_AT_ELSEWHERE.fullmatch(gap):
        is_clause = _GERMAN_HAVE.match(gap) is not None
        return not is_clause or _GERMAN_SEEN.match(text, link.end) is not None
    if _HAVE.fullmatch(gap):
        return access_word(text[link.end : link.end + _NEAR].lstrip(" >)]"))
    if _VISITOR.search(gap) is None or any(sign in gap for sign in ".;\n"):
        return False
    return mark_before(gap.lstrip(" ,)")) == "accessed"
