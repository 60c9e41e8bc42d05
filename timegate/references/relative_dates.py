"""Times before an unknown day in the words around a link: last Tuesday, two years ago."""

import re
from typing import Final

from archives.regex_compat import compiled
from timegate.references.dates import FoundDate, seen_word

_LONG_AGO: Final = compiled(
    r"(?<=\()(?:idem|ditto|dito|as\sabove|wie\soben)\b|\b(?:yesterday|(?:the\s)?same\s(?:day|date)|(?:last|past|this)\s(?:week|month|year|spring|summer|autumn|fall|winter|night)"
    r"|this\s(?:morning|afternoon|evening)|earlier\stoday|the\sother\s(?:day|week)"
    r"|(?:last|past|this|on)\s(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:letzte[nr]?|vorige[nr]?|am)\s(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)"
    r"|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\s(?:dernier|passé)"
    r"|el\s(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)(?:\spasado)?"
    r"|(?:heute|gestern)\s(?:früh|morgen|abend|nachmittag|vormittag)|ce\smatin|esta\smañana|stamattina|vanmorgen"
    r"|(?:[0-9]{1,3}|an?|two|three|four|five|six|few|several|many|couple\sof)\s(?:hours?|days?|weeks?|months?|years?)\sago"
    r"|gestern|vorgestern|letzte[sn]?\s(?:woche|monat|jahr)|vor\s(?:\w{1,10})\s(?:tagen|wochen|monaten|jahren)"
    r"|hier|avant-hier|(?:la\ssemaine|le\smois|l['\u2019]an(?:née)?)\s(?:dernier|dernière|passée?)"
    r"|ayer|anteayer|(?:la\ssemana|el\smes|el\saño)\spasad[ao]|ieri|ontem|gisteren|eilen|wczoraj|вчера)\b",
    re.IGNORECASE,
)
"""A time before an unknown day."""


_NOUNS: Final = (
    r"(?:christmas|xmas|easter|new\syear\w{0,2}|michaelmas|thanksgiving|halloween|ramadan|passover|hilary|trinity|lent|whitsun|pentecost"
    r"|spring|summer|autumn|fall|winter|term|semester|quarter|half-?term|weekend|week|month|year|decade|night|morning|afternoon|evening|day|holidays?"
    r"|vacations?|break|lockdown|pandemic|election|strike|war|crisis|nineties|noughties|weihnachten|ostern|pfingsten|silvester|ferien|osterferien"
    r"|sommerferien|semesterferien|wochenende|vormittag|nachmittag|abend|noël|pâques|vacances|week-end|rentrée|navidad|pascua|vacaciones"
    r"|semana\ssanta|fin\sde\ssemana)"
)
_MONTH: Final = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|january|february|march|april|june|july|august|september|october|november|december"
    r"|januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b\.?(?![\s-]{0,2}[0-9])"
)
_VAGUE: Final = compiled(
    rf"(?:(?:early|late|mid|beginning\sof|end\sof|middle\sof|anfang|mitte|ende|début|mi|fin|principios\sde|mediados\sde|finales\sde|fines\sde)[\s-](?:in\s)?{_MONTH}"
    rf"|(?:(?:at|in|on|over|during|last|this|around|before|after|since|until|for|one|that|an|am|im|in\sden|über|zu|vor|nach|während|letzte[nrs]?|à|en|pendant|avant|après|durante|antes\sde|después\sde|por)\s)"
    rf"(?:(?:the|a|an|my|our|last|this|der|die|das|dem|den|la|le|les|el|los|las)\s)?(?:[^\W\d_]{{2,14}}\s){{0,1}}{_NOUNS}\b"
    rf"|{_NOUNS}\s(?:term|semester|holidays?|break|vacations?|\W{{0,1}}(?:19|20)[0-9]{{2}})\b"
    r"|(?:shortly|just|right|soon|long|some\stime|kurz|peu|juste|poco)\s(?:before|after|vor|nach|avant|après|antes|después)\b|(?:before|after|until|since)\s(?:the|my|our|his|her|it|they|we|I)\s\w"
    r"|(?:in\s)?(?:the\s)?(?:early\s|mid-?\s?|late\s)?(?:19|20)[0-9]0['\u2019]?s\b|FY\s?['\u2019]?[0-9]{2,4}\b"
    r"|on\sthe\s(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w{4,6}teenth|twent\w{2,3}|thirt\w{2,4}|last)\b)",
    re.IGNORECASE,
)
"""A time in words, after a word of access: early Nov, over Christmas, before the vote."""
_BEFORE_VAGUE: Final = compiled(
    r"[\s>)\].,;:\u2013\u2014-]{0,5}[(\[]?(?:as\s|last\s|first\s|zuletzt\s|dernier\s|page\s)?"
)
_ALSO_SEEN: Final = compiled(
    r"(?:seen|checked|viewed|vue?|visto|vista|gesehen|set|sett|sedd)\b", re.IGNORECASE
)
"""Words with other meanings as well."""
_GAP: Final = compiled(r"[\s:]{1,2}")
_HYPHENATED: Final = compiled(
    r"(?<![\w./-])(?:[0-9]{1,2}-(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)-[0-9]{2})(?![\w-])",
    re.IGNORECASE,
)
"""A day and a month, or a month and a year, as tables show them: 5-Nov, Nov-10."""


def vague_date(after: str) -> FoundDate | None:
    """Return a time in words after a link and a word of access; None if there is none."""
    start = _BEFORE_VAGUE.match(after)
    if start is None:
        return None
    weak = _ALSO_SEEN.match(after, start.end())
    word = weak.end() if weak else seen_word(after, start.end())
    gap = _GAP.match(after, word) if word else None
    vague = _VAGUE.match(after, gap.end()) if gap else None
    return FoundDate(vague[0], None, "accessed") if vague else None


def relative_date(before: str, after: str) -> FoundDate | None:
    """Return a time such as "two years ago" in the words around a link; None if none."""
    line = after.partition("\n")[0][:_LONGEST_LINE]
    forms, parts = (_LONG_AGO, _HYPHENATED), (line, before[-_LONGEST_LINE:])
    found = (form.search(part) for form in forms for part in parts)
    match = next(filter(None, found), None)
    return FoundDate(match[0], None, "unmarked") if match else None


_LONGEST_LINE: Final = 200
