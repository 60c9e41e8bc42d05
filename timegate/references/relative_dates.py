"""Times before an unknown day in the words around a link: last Tuesday, two years ago."""

import re
from typing import Final

from archives.regex_compat import compiled
from timegate.references.dates import FoundDate

_LONG_AGO: Final = compiled(
    r"\b(?:yesterday|(?:the\s)?same\s(?:day|date)|(?:last|past|this)\s(?:week|month|year|spring|summer|autumn|fall|winter|night)"
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


def relative_date(before: str, after: str) -> FoundDate | None:
    """Return a time such as "two years ago" in the words around a link; None if none."""
    line = after.partition("\n")[0][:_LONGEST_LINE]
    match = _LONG_AGO.search(line) or _LONG_AGO.search(before[-_LONGEST_LINE:])
    return FoundDate(match[0], None, "unmarked") if match else None


_LONGEST_LINE: Final = 200
