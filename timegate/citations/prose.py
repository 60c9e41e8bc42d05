"""Author, year and title of a citation in prose: APA, MLA, Chicago and Harvard.

Only what the style states without a doubt is read: a name before its year, a title in quotes,
a title that is a sentence of its own. A title may stand in the place of an author ("The museum.
(2009)."), so names are read only as a family name, a comma, and initials or given names.
"""

import re
from typing import Final, NamedTuple

from archives.regex_compat import compiled


class ProseCitation(NamedTuple):
    """What a citation says of its page."""

    authors: tuple[str, ...] = ()
    """Names as they are written; several are one string if they cannot be told apart."""
    year: str = ""
    title: str = ""


_MOST: Final = 2_000
"""Characters of a citation that is read."""
_YEAR: Final = r"(?P<year>(?:1[89]|20)[0-9]{2})"
_PARTICLE: Final = (
    r"(?:van|von|vom|zu|zur|de|del|della|den|der|des|di|da|do|dos|du|la|le|ten|ter)"
)
_NAME: Final = r"[^\W\d_a-z][^\W\d_'\u2019-]{0,39}(?:['\u2019-][^\W\d_]{1,40}){0,3}"
_FAMILY: Final = rf"(?:{_PARTICLE} ){{0,3}}{_NAME}"
_INITIALS: Final = r"[^\W\d_a-z]\.?(?:[ -]{0,1}[^\W\d_a-z]\.){0,4}"
_PERSON: Final = rf"{_FAMILY}, {_INITIALS}"
_PEOPLE: Final = rf"{_PERSON}(?:,? (?:& |and )?{_PERSON}){{0,20}}"
_GIVEN: Final = r"[^\W\d_]{2,30}(?: [^\W\d_]{1,30}\.?){0,3}"
_NAMED: Final = (
    rf"{_FAMILY}, (?:{_GIVEN}|{_INITIALS})"
    rf"(?:, (?:and )?{_GIVEN}){{0,3}}(?:,? and {_GIVEN}|,? et al)?"
)
_MARK: Final = compiled(r"(?:[-*•]|\[[0-9]{1,4}\]|[0-9]{1,4}[.)])\s")
"""The mark or number of an item of a list."""
_ONE_PERSON: Final = compiled(_PERSON)
_BEFORE_YEAR: Final = compiled(
    rf"(?P<authors>{_PEOPLE})\s"
    rf"\({_YEAR}[a-z]?(?:, [^()]{{1,30}})?\)[.,:]?\s"
)
"""APA and Harvard: the authors and the year in brackets."""
_QUOTED: Final = compiled(
    rf"(?P<authors>{_NAMED})\.?\s(?:{_YEAR}\.\s)?"
    r"(?:“(?P<curly>[^“”]{2,300})”|\"(?P<straight>[^\"]{2,300})\")[.,]?\s"
)
"""MLA and Chicago: the authors, and the title in quotes."""
_TITLE_IN_QUOTES: Final = compiled(
    r"(?:“([^“”]{2,300})”|\"([^\"]{2,300})\"|\u2018([^\u2018\u2019]{2,300})\u2019(?!\w)|'([^']{2,300})'(?!\w))[.,]?\s"
)
_MONTH: Final = (
    r"(?:Jan(?:\.|uary)?|Feb(?:\.|ruary)?|Mar(?:\.|ch)?|Apr(?:\.|il)?|May|June?\.?|July?\.?"
    r"|Aug(?:\.|ust)?|Sept?(?:\.|ember)?|Oct(?:\.|ober)?|Nov(?:\.|ember)?|Dec(?:\.|ember)?)"
)


def _day(year: str) -> str:
    """Return the pattern of a year, perhaps with its month and day, with that of a *year*."""
    return rf"(?:(?:(?:[0-9]{{1,2}} )?{_MONTH} )?{year}|{_MONTH} [0-9]{{1,2}}, {year})"


_BEFORE_LINK: Final = compiled(
    r"(?P<verb>\b(?:accessed|retrieved|viewed|visited|consulted|checked|archived|modified"
    r"|updated|seen|read|cited)[ :]{1,2}(?:on )?)?"
    rf"\b(?P<day>{_day('[0-9]{4}')})[.,]\s(?:Accessed {_day('[0-9]{4}')}[.,]\s)?<?https?://",
    re.IGNORECASE,
)
"""MLA and Chicago: the date of publication, right before the link."""
_END_OF_TITLE: Final = compiled(
    r"\s?(?:\[[^\[\]]{1,40}\]|\((?:online|blog post)\)"
    r"|(?:Retrieved|Available|Accessed|Archived|Viewed|Last|Online)\b|<?https?://)",
    re.IGNORECASE,
)
"""What follows the title and the name of the site."""
_QUOTES: Final = "\"'“”\u2018\u2019„«»"
_SENTENCE: Final = compiled(r"(?<=[.?!])\s")
_ABBREVIATED: Final = compiled(
    r"(?:^|[\s(.])(?:[^\W\d_]|[^\W\d_a-z][^\W\d_]{1,2}|(?i:nos?|vol|eds?|pp?|etc|corp|dept|univ"
    r"|approx|ca|fig|al|vs|resp|incl))\.$"
)
"""The end of what may be an abbreviation, and not the end of a sentence."""


def read_citation_in_prose(text: str) -> ProseCitation:
    """Return what the only citation in *text* says for certain of its page."""
    words = " ".join(text[:_MOST].split())
    mark = _MARK.match(words)
    words = words[mark.end() :] if mark else words
    if dated := _BEFORE_YEAR.match(words):
        authors = _told_apart(dated["authors"])
        return ProseCitation(authors, dated["year"], _title(words[dated.end() :]))
    if quoted := _QUOTED.match(words):
        title = _cleaned(quoted["curly"] or quoted["straight"])
        year = quoted["year"] or _published(words[quoted.end() - 1 :])
        return ProseCitation((_without_point(quoted["authors"]),), year, title)
    return ProseCitation()


def _told_apart(authors: str) -> tuple[str, ...]:
    """Return the names in *authors*; several of them have initials, as in APA."""
    people = _ONE_PERSON.findall(authors)
    return tuple(people) if len(people) > 1 else (authors,)


def _without_point(names: str) -> str:
    """Return *names* without the point that ends the sentence; that of an initial stays."""
    is_name = len(names.rstrip(".").split()[-1]) > len("Jr")
    return names.rstrip(".") if is_name else names


def _title(rest: str) -> str:
    """Return the title at the beginning of *rest*; empty if its end is not certain."""
    if quoted := _TITLE_IN_QUOTES.match(rest):
        return _cleaned(next(filter(None, quoted.groups())))
    end = _END_OF_TITLE.search(rest)
    if end is None or rest[0].islower() or rest[0] in _QUOTES:
        return ""
    sentences = _SENTENCE.split(rest[: end.start()].strip())
    first = sentences[0]
    is_ended = first.endswith((".", "?", "!")) or len(sentences) == 1
    is_one = len(sentences) <= 2 and is_ended and _ABBREVIATED.search(first) is None
    return _cleaned(first) if is_one else ""


def _cleaned(title: str) -> str:
    """Return *title* without marks of emphasis, and without the point at its end."""
    return title.strip("*_ ").rstrip(".,").strip("*_ ")


def _published(rest: str) -> str:
    """Return the year of publication in *rest*, what follows the title; empty if none is."""
    found = _BEFORE_LINK.search(rest)
    if found is None or found["verb"]:
        return ""
    year = found["day"][-4:]
    return year if year.startswith(("18", "19", "20")) else ""
