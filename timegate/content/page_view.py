"""What the rules of page classes look at: titles, headings, the subject and the main text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from archives.regex_compat import compiled
from timegate.content.blocks import TextBlock
from timegate.content.class_phrases import (
    all_said,
    first_said,
    heading_fillers,
    said_near,
)
from timegate.content.main_text import PageText
from timegate.content.similarity import words

BEGINNING: Final = 80
"""Words of the main text in which a page says what it is."""
HEADING_WORDS: Final = 9
"""Words of a title or heading that names an error; a longer one is of an article."""
_SENTENCE: Final = 8
"""Words of a block that is running text."""
LINKED: Final = 50
"""Percent of a block inside links, from which on it is navigation."""
_MOST_HEADING: Final = 200
"""Characters of a heading that can stand in a title."""
_FIRST_LINES: Final = 8
"""Lines of a page without headings, of which one can be its heading."""
_A_NAME: Final = 5
"""Letters of the name of a site that its host has."""
A_SUBJECT: Final = 2
"""Words of a heading that names a subject of its own."""
SHORT: Final = 60
LONG: Final = 120
VERY_LONG: Final = 250
NOTICE: Final = 40
"""Words of a page that says nothing but that a site is not there yet."""
FORM: Final = 30
"""Words of a page that is nothing but a form."""


class Feature(NamedTuple):
    """One reason for a class."""

    weight: float
    evidence: str


class PageView(NamedTuple):
    """What the rules look at."""

    page: PageText
    url: str
    host: str
    length: int
    """Words of the main text: of paragraphs outside of navigation, links and teasers."""
    beginning: str
    """The first words of the main text, with spaces around."""
    everything: str
    """The first words of all text, with spaces around."""
    titles: tuple[str, ...]
    """The title and its parts, if they have few words, with spaces around."""
    shown: tuple[str, ...]
    """Headings and other first blocks of few words, with spaces around."""
    subject: int
    """Words of the first heading that name a subject: not an error, a login or a sale."""
    site: frozenset[str]
    """Words of the host, and of the name of the site where the host has it."""
    marks: str

    @property
    def headings(self) -> tuple[str, ...]:
        """Titles and headings."""
        return *self.titles, *self.shown


def view_of(page: PageText, url: str) -> PageView:
    everything = words(page.text)
    prose = _prose(page)
    main = prose if prose is not None else words(page.main)
    lead = words(_said("\n".join(_lead(page, _names(page))))) if page.blocks else main
    body = lead if len(lead) >= HEADING_WORDS else everything
    title = _plain(page.title)
    host = _host(url)
    site = _site_words(page, host)
    own = _own_heading(page, title, site)
    titles = short_headings((*_parts(title), own))
    subject = _subject(page, titles, own, site)
    # Under a heading of its own that the title repeats, a line of few words is no heading.
    is_headed = bool(own) and subject >= A_SUBJECT
    shown = short_headings(map(_plain, leading_lines(page, lines=not is_headed)))
    text = spaced(words(_plain(_said(f"{page.title}\n{page.text[:6000]}")))[:420])
    return PageView(
        page,
        url,
        host,
        _length_of(main),
        spaced(body[:BEGINNING]),
        text,
        titles,
        shown,
        subject,
        site,
        page.marks.lower(),
    )


def _length_of(found: Sequence[str]) -> int:
    """Return how many words a text has; two characters of Chinese are one."""
    single = sum(len(word) == 1 and word > "\u0e00" for word in found)
    return len(found) - single + single // 2


_QUOTED: Final = compiled(
    r"[\u201c\u201d\u201e\u201f\"\u00ab\u2039\u300c\u300e][^\u201c\u201d\u201e\"\u00ab\u00bb\u203a\u300d\u300f]{3,90}"
    r"[\u201c\u201d\u201e\u201f\"\u00bb\u203a\u300d\u300f]"
)
"""What is quoted is not said: articles and questions quote error pages."""


_DOMAIN: Final = compiled(
    r"(?i)\b(?:https?://)?(?:[a-z0-9\u00c0-\uffef-]{1,63}\.){1,5}(?!html?\b|php\b|aspx?\b|js\b|pdf\b|jpe?g\b)"
    r"[a-z]{2,10}\b/?"
)


_QUESTION: Final = compiled(r"[^.!?\u3002\uff01\uff1f\u061f\n]{3,300}[?\uff1f\u061f]")
_SEVERAL: Final = 2
"""Questions of a page that answers them."""


def _said(text: str) -> str:
    """Return *text* without what is quoted, and without questions if there are several."""
    said = _QUOTED.sub(" ", text)
    asked = sum(1 for _ in _QUESTION.finditer(said))
    return _QUESTION.sub(" ", said) if asked >= _SEVERAL else said


def _plain(text: str) -> str:
    """Return *text* without what is quoted, and with "domain" for names of domains."""
    return _DOMAIN.sub(" domain ", _QUOTED.sub(" ", text))


def short_headings(texts: Iterable[str]) -> tuple[str, ...]:
    """Return those of *texts* that can be the name of an error, as words."""
    # A question is the title of an article or an answer, and names no error.
    split = [words(text) for text in texts if "?" not in text and "\uff1f" not in text]
    return tuple(dict.fromkeys(spaced(each) for each in split if _is_heading(each)))


def _names(page: PageText) -> frozenset[str]:
    """Return the parts of the title after the first that name no error: the site, a section."""
    parts = (spaced(words(part)) for part in _SEPARATOR.split(page.title)[1:6])
    return frozenset(part for part in parts if not _notices(part))


def _lead(page: PageText, names: frozenset[str]) -> Iterator[str]:
    """Yield headings and running text, without navigation and the name of the site."""
    for block in page.blocks:
        if block.place == "main" and (block.is_heading or block.links < LINKED):
            is_name = len(block.text) <= _MOST_HEADING and spaced(words(block.text)) in names
            yield "" if is_name else block.text


def _prose(page: PageText) -> list[str] | None:
    """Return the words of running text; None if the page has no blocks."""
    if not page.blocks:
        return None
    found: list[str] = []
    for block in page.blocks:
        if block.place == "main" and block.links < LINKED and not block.is_heading:
            own = words(block.text)
            if len(own) >= _SENTENCE or not found:
                found += own
    return found


def leading_lines(page: PageText, *, lines: bool = True) -> tuple[str, ...]:
    """Return the first headings of the page, and with *lines* blocks of few words."""
    if not page.blocks:
        return page.headings[:3]
    shown = [block for block in page.blocks if block.place == "main"]
    own = (block for block in shown if block.level == 1 or block.links < LINKED)
    found = sorted((block for block in own if block.is_heading), key=lambda each: each.level)
    headings = [block.text for block in found][:4]
    first = shown[:6] if lines else ()
    big = [block.text for block in first if not block.links and not block.is_heading]
    return tuple(dict.fromkeys((*headings, *big)))


def _site_words(page: PageText, host: str) -> frozenset[str]:
    """Return the words of *host*, and of titles and headings that it is made of."""
    letters = "".join(words(host))
    names = {
        found: "".join(found)
        for text in (*_title_pieces(page.title), *(each.text for each in _headings(page)))
        if (found := tuple(words(text)))
    }
    known = (found for found, name in names.items() if len(name) >= _A_NAME and name in letters)
    return frozenset((*words(host), *(word for found in known for word in found)))


def _headings(page: PageText) -> list[TextBlock]:
    """Return the headings beside the text, the highest first."""
    found = (block for block in page.blocks if block.place == "main" and block.is_heading)
    return sorted(found, key=lambda each: each.level)


def _title_pieces(title: str) -> Iterator[str]:
    """Yield the parts of a title, also those of "The site: page not found"."""
    for part in _SEPARATOR.split(title)[:6]:
        yield part
        first, colon, rest = part.partition(": ")
        if colon:
            yield first
            yield rest


def _own_heading(page: PageText, title: str, site: frozenset[str]) -> str:
    """Return what both the title and a block of the page say that is not the site's name.

    That is the heading of the page, whatever its element is; empty if there is none.
    """
    split = [found for text in _title_pieces(title) if (found := words(text))]
    # What stands after the first part of a title is often the name of the site.
    own = next((found for found in split if not site.issuperset(found)), [])
    pieces = {spaced(own), *(spaced(found) for found in split if _ends_with(own, found, site))}
    for block in (*_headings(page), *page.blocks):
        if block.place != "main" or (block.links >= LINKED and block.level != 1):
            continue
        text = _plain(block.text) if len(block.text) <= _MOST_HEADING else ""
        found = words(text)
        if spaced(found) in pieces and not site.issuperset(found):
            return text
    return ""


def _ends_with(whole: list[str], end: list[str], site: frozenset[str]) -> bool:
    """Whether *whole* is the name of the site and *end*: "The site: page not found"."""
    rest = len(whole) - len(end)
    return rest > 0 and whole[rest:] == end and site.issuperset(whole[:rest])


def _first_line(page: PageText, titles: tuple[str, ...]) -> str:
    """Return the line before the running text of a page without headings; empty if none."""
    shown = [block for block in page.blocks if block.place == "main" and block.links < LINKED]
    for block, following in pairwise(shown[:_FIRST_LINES]):
        found = words(block.text)
        is_line = len(found) <= HEADING_WORDS < len(words(following.text))
        if is_line and spaced(found) not in titles:
            return block.text
    return ""


def _subject(
    page: PageText, titles: tuple[str, ...], own_heading: str, site: frozenset[str]
) -> int:
    """Return how many words of the first heading name a subject of its own.

    Names of errors, logins, sales and sites are none, nor are words such as "the" and "sorry".
    A title without a heading counts if it says more beside such a name.
    """
    found = _headings(page)
    lines = page.headings[:1] if not page.blocks else (_first_line(page, titles),)
    first = found[0].text if found else "".join(lines)
    own = spaced(words(_plain(own_heading or first)))
    is_site = own in titles and len(titles) > 1 and any(_is_error(each) for each in titles)
    by_heading = 0 if is_site and not own_heading else subject_words(own, site)
    mixed = [subject_words(each, site) for each in titles if _notices(each)]
    return max(by_heading, *mixed, 0)


def subject_words(heading: str, site: frozenset[str]) -> int:
    """Return how many words of *heading* name a subject."""
    if first_said("parked", "addressed", heading):
        return 0
    rest = _without(heading, _notices(heading))
    names = {*heading_fillers(), *site, "domain"}
    is_question = not _QUESTIONS.isdisjoint(heading.split()[:1])
    return sum(word not in names for word in rest.split()) + A_SUBJECT * is_question


def _without(heading: str, phrases: Iterable[str]) -> str:
    """Return *heading* without the words of *phrases*, which may overlap."""
    kept = [*heading]
    for phrase in phrases:
        start = heading.find(f" {phrase} ")
        if start >= 0:
            kept[start : start + len(phrase) + 1] = " " * (len(phrase) + 1)
    return "".join(kept)


def _notices(heading: str) -> list[str]:
    """Return what of a heading names an error, a login, a sale or a question for consent."""
    found = [phrase for name, group in _NOTICES for phrase in all_said(name, group, heading)]
    found += filter(None, (said_near("parked", heading), said_near("human", heading)))
    return sorted(found, key=len, reverse=True)


_QUESTIONS: Final = frozenset(
    (
        *("how", "why", "what", "when", "wie", "warum", "was", "comment", "pourquoi", "cómo"),
        *("qué", "como", "come", "perché", "hoe", "waarom", "hur", "hvordan", "jak", "как"),
    )
)


def _is_error(title: str) -> bool:
    return bool(first_said("soft-404", "heading", title) or said_near("soft-404", title))


_NOTICES: Final = (
    *(("soft-404", group) for group in ("strong", "vague", "heading", "server")),
    *(("parked", group) for group in ("strong", "hosting", "soon")),
    *(("login-wall", group) for group in ("strong", "heading", "human")),
    ("consent-wall", "heading"),
)


def _is_heading(found: Sequence[str]) -> bool:
    """Whether a title is short enough to name an error; without spaces, letters are counted."""
    letters = sum(map(len, found))
    return bool(found) and (
        len(found) <= HEADING_WORDS or letters == len(found) <= 3 * HEADING_WORDS
    )


_SEPARATOR: Final = compiled(
    r"\s{1,9}(?:[|\-\u2013\u2014\u00bb\u00ab\u00b7\u2022\u2039\u203a/~]|::?)\s{1,9}"
    r"|\s{0,9}[\uff5c_\[\]\u3010\u3011]\s{0,9}"
)
_NUMBERED: Final = compiled(r"^[^\s:]{1,12}:\s{1,9}")


def _parts(title: str) -> Iterator[str]:
    """Yield the parts of "Page not found | The site"."""
    for part in _SEPARATOR.split(title)[:6]:
        yield part
        # "Not found: the letters of Anna" is one part, and "Error: not found" is two.
        rest = _NUMBERED.sub("", part)
        if rest != part:
            yield rest


def spaced(found: Sequence[str]) -> str:
    return f" {' '.join(found)} "


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def length_feature(seen: PageView, most: int = SHORT) -> Feature:
    """Return how much the length speaks against every class."""
    if seen.length > VERY_LONG:
        return Feature(-3, "")
    if seen.length > LONG:
        return Feature(-1, "")
    return Feature(0.5 if seen.length <= most else 0, "")


def named_heading(
    seen: PageView,
    name: str,
    headings: tuple[str, ...],
    most: int = HEADING_WORDS,
    spare: int = 0,
) -> str:
    """Return the phrase that one of *headings* is made of; empty if none is.

    Beside it there may be words without a subject, the name of the site, and *spare* others
    beside several words.
    """
    for heading in headings:
        length = len(heading.split())
        for phrase in all_said(name, "heading", heading) if length <= most else ():
            rest = heading.replace(phrase, " ").split()
            unknown = [word for word in rest if word not in heading_fillers()]
            others = [word for word in unknown if word not in seen.site]
            if len(others) <= (spare if " " in phrase else 0):
                return phrase
    return ""
