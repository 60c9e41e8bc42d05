"""Dates with a month in words, as other encyclopedias than the English one write them."""

from typing import Final

from archives.possessive import compiled

_DATE: Final = compiled(
    r"([0-9]{1,2})(?:\.|er|º)?\s{1,3}(?:de\s|di\s)?([^\W\d_]{3,10})\.?\s{1,3}(?:de\s|del\s)?([0-9]{4})"
)
# By their first letters, which no two months share within these languages.
_BEGINNINGS: Final = (
    ("jan", "jän", "gen", "ene"),
    ("feb", "fév", "fev"),
    ("mar", "mär", "maa", "mrt"),
    ("apr", "avr", "abr"),
    ("mai", "maj", "mei", "mag", "may"),
    ("jun", "juin", "giu"),
    ("jul", "juil", "lug"),
    ("aug", "aoû", "ago"),
    ("sep", "set"),
    ("oct", "okt", "ott", "out"),
    ("nov",),
    ("dec", "déc", "dez", "dic", "des"),
)
# These everybody reads; they stay as they are written.
_ENGLISH: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)


def in_digits(date: str) -> str:
    """Return ``3. Februar 2013`` as ``2013-02-03``; anything else as it is."""
    match = _DATE.fullmatch(date.strip())
    if match is None:
        return date
    day, name, year = match.groups()
    if name.lower() in _ENGLISH:
        return date
    for month, beginnings in enumerate(_BEGINNINGS, start=1):
        if name.lower().startswith(beginnings):
            return f"{year}-{month:02}-{int(day):02}"
    return date
