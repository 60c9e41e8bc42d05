"""Classes of pages that are not what was cited: errors, parked domains, walls, empty pages.

Each class is a sum of features with weights, from phrases (`class_words.toml`) and from the
shape of the page. A class is stated only above its threshold, with the features as evidence. A
long text speaks against every class: articles write about errors, domains and passwords.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from re import Pattern, escape
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from archives.regex_compat import compiled
from timegate.content.comparison import PageClass
from timegate.content.main_text import PageText
from timegate.content.similarity import words

_BEGINNING: Final = 80
"""Words of the main text in which a page says what it is."""
_SHORT: Final = 60
_LONG: Final = 120
_VERY_LONG: Final = 250
_HEADING: Final = 9
"""Words of a title or heading that names an error; a longer one is of an article."""
_ROOTS: Final = frozenset(
    {"", "index.html", "index.htm", "index.php", "index.asp", "index.jsp", "default.asp"}
    | {
        "default.aspx",
        "home",
        "home.html",
        "start",
        "startseite",
        "accueil",
        "forside",
        "inicio",
    }
)


class Feature(NamedTuple):
    """One reason for a class."""

    weight: float
    evidence: str


class Judgement(NamedTuple):
    """The class of a page, and why; no class for a usual page, or if nothing is shown."""

    page_class: PageClass | None = None
    evidence: tuple[str, ...] = ()


class _Seen(NamedTuple):
    """What the rules look at."""

    page: PageText
    host: str
    length: int
    """Words of the main text."""
    beginning: str
    everything: str
    """The first words of all text, with spaces around."""
    headings: tuple[str, ...]
    """Title and headings of few words, with spaces around."""


def classify(page: PageText, url: str, redirect: str | None = None) -> Judgement:
    """Return the class of the copy of *url*; *redirect* is where its response leads."""
    target = redirect or page.refresh
    if target and leads_to_root(url, target):
        return Judgement(PageClass.REDIRECT_TO_ROOT, (f"it leads to {target[:200]}",))
    seen = _seen(page, url)
    for page_class, (threshold, rule) in _RULES.items():
        features = [feature for feature in rule(seen) if feature.weight]
        if sum(feature.weight for feature in features) >= threshold:
            reasons = (each.evidence for each in features if each.weight > 0)
            return Judgement(page_class, tuple(filter(None, reasons)))
    return Judgement()


def leads_to_root(url: str, target: str) -> bool:
    """Whether *url* has a path of its own, and *target* is the front page of a site."""
    try:
        asked, got = urlsplit(url), urlsplit(target)
    except ValueError:
        return False
    is_absolute = bool(got.scheme or got.netloc or target.startswith("/"))
    return (
        is_absolute and not _is_root(asked.path, asked.query) and _is_root(got.path, got.query)
    )


def _is_root(path: str, query: str) -> bool:
    return path.strip("/").casefold() in _ROOTS and not query


def _seen(page: PageText, url: str) -> _Seen:
    main, everything = words(page.main), words(page.text)
    body = main if len(main) >= _HEADING else everything
    titles = (page.title, *_parts(page.title), *page.headings[:3])
    # A question is the title of an article or an answer, and names no error.
    headings = [words(text) for text in titles if "?" not in text]
    return _Seen(
        page,
        _host(url),
        len(main),
        _spaced(body[:_BEGINNING]),
        _spaced([*words(page.title), *everything[:400]]),
        tuple(dict.fromkeys(_spaced(each) for each in headings if _is_heading(each))),
    )


def _is_heading(found: Sequence[str]) -> bool:
    """Whether a title is short enough to name an error; without spaces, letters are counted."""
    letters = sum(map(len, found))
    return bool(found) and (len(found) <= _HEADING or letters == len(found) <= 3 * _HEADING)


def _parts(title: str) -> Iterator[str]:
    """Yield the parts of "Page not found | The site"."""
    for mark in (" | ", " - ", " \u2013 ", " \u2014 ", " :: ", " » ", ": "):
        if mark in title:
            yield from title.split(mark)[:4]


def _spaced(found: Sequence[str]) -> str:
    return f" {' '.join(found)} "


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _length(seen: _Seen, most: int = _SHORT) -> Feature:
    """Return how much the length speaks against every class."""
    if seen.length > _VERY_LONG:
        return Feature(-3, "")
    if seen.length > _LONG:
        return Feature(-1, "")
    return Feature(0.5 if seen.length <= most else 0, "")


def _soft_404(seen: _Seen) -> Iterator[Feature]:
    named = _heading(seen, "soft-404") or next(
        (both for heading in seen.headings if (both := _near("soft-404", heading))), ""
    )
    if named:
        yield Feature(2, f"the title or heading is {named!r}")
    if any(" 404 " in heading and len(heading.split()) <= 5 for heading in seen.headings):
        yield Feature(1, "404 in the title or heading")
    said = _first("soft-404", "strong", seen.beginning)
    if said:
        yield Feature(2 if seen.length <= _LONG else 1, f"it says {said!r}")
    elif seen.length <= _LONG:
        said = _near("soft-404", seen.beginning)
        if said:
            yield Feature(1.5 if seen.length <= _SHORT else 1, f"it says {said!r}")
    yield _length(seen)


def _parked(seen: _Seen) -> Iterator[Feature]:
    page = seen.page
    addresses = " ".join((*page.link_targets[:50], *page.frames, page.script_text))
    vendor = next((name for name in _raw("parked", "vendors") if name in addresses), "")
    strong = [*_all("parked", "strong", seen.everything), _near("parked", seen.everything)]
    said = [*filter(None, strong)]
    if not vendor and not said:
        return
    if vendor:
        bare = 0.5 if seen.length <= _SHORT and not said else 0
        yield Feature(2 + bare, f"it is served with {vendor!r}")
    if said:
        yield Feature(2 + 0.5 * (len(said) > 1), f"it says {said[0]!r}")
    weak = [*_all("parked", "weak", seen.everything)]
    yield Feature(0.5 * min(2, len(weak)), f"it says {weak[0]!r}" if weak else "")
    yield from _named_domain(seen)
    yield _length(seen, _LONG)


def _named_domain(seen: _Seen) -> Iterator[Feature]:
    """Yield what titles and headings say of the domain."""
    for heading in seen.headings:
        named = _first("parked", "strong", heading) or _near("parked", heading)
        if named:
            yield Feature(1, f"the title or heading is {named!r}")
            break
    name = _spaced(words(seen.host))
    if len(name) > 2 and any(name in heading for heading in seen.headings):
        yield Feature(1, "the title is the name of the domain")


def _login(seen: _Seen) -> Iterator[Feature]:
    if seen.page.passwords:
        yield Feature(1, "a field for a password")
    said = _first("login-wall", "strong", seen.beginning) or _first(
        "login-wall", "strong", "".join(seen.headings)
    )
    if said:
        yield Feature(1.5, f"it says {said!r}")
    named = _heading(seen, "login-wall", most=5)
    if named:
        yield Feature(1, f"the title or heading is {named!r}")
    weak = _first("login-wall", "weak", seen.everything)
    if weak:
        yield Feature(0.5, f"it says {weak!r}")
    yield Feature(-1.5 if seen.length > _SHORT else 0, "")
    yield _length(seen)


def _consent(seen: _Seen) -> Iterator[Feature]:
    body = seen.beginning if seen.length >= _HEADING else seen.everything
    terms = [*_all("consent-wall", "terms", body)]
    if len(terms) >= 3:
        yield Feature(0.5 * min(len(terms), 6), f"it speaks of {', '.join(terms[:5])}")
    named = _heading(seen, "consent-wall")
    if named and terms:
        yield Feature(1, f"the title or heading is {named!r}")
    if any(_first("consent-wall", "policies", heading) for heading in seen.headings):
        yield Feature(-2, "")
    yield Feature(-2 if seen.length > _LONG else 0, "")


def _empty(seen: _Seen) -> Iterator[Feature]:
    everything = len(words(seen.page.text))
    is_shown = bool(seen.page.frames) or seen.page.images > 2
    if everything <= 8 and not is_shown:
        yield Feature(1, f"{everything} words in all")


_RULES: Final[Mapping[PageClass, tuple[float, Callable[[_Seen], Iterator[Feature]]]]] = {
    PageClass.PARKED: (3, _parked),
    PageClass.SOFT_404: (2.5, _soft_404),
    PageClass.LOGIN: (2.5, _login),
    PageClass.CONSENT: (2.5, _consent),
    PageClass.EMPTY: (1, _empty),
}
"""The threshold and the rule of each class, in the order in which they are tried."""


def _heading(seen: _Seen, name: str, most: int = _HEADING) -> str:
    """Return the phrase that a title or heading is mostly made of; empty if none is."""
    fillers = _raw("soft-404", "fillers")
    for heading in seen.headings:
        length = len(heading.split())
        for phrase in _all(name, "heading", heading) if length <= most else ():
            rest = [
                word for word in heading.replace(phrase, " ").split() if word not in fillers
            ]
            if len(rest) <= (length > 4):
                return phrase
    return ""


@cache
def _pairs(name: str) -> tuple[Pattern[str], Pattern[str]]:
    """Return the expressions of the two groups of words that stand near each other."""
    groups = _lexicon()[name]["near"]
    if not isinstance(groups, dict):  # pragma: no cover -- the file has both groups
        raise TypeError(name)
    nouns, others = (
        compiled("|".join(sorted(map(_pattern, groups[group]), key=len, reverse=True)))
        for group in ("nouns", "others")
    )
    return nouns, others


_GAP: Final = 70
"""Characters between a noun and what is said of it: some eight words."""


def _near(name: str, text: str) -> str:
    """Return a noun and what is said of it, where both are near each other; empty if not."""
    nouns, others = _pairs(name)
    places = [found.span() for found in nouns.finditer(text)]
    for other in others.finditer(text):
        for start, end in places:
            first, last = min(start, other.start()), max(end, other.end())
            if last - first <= _GAP and (end <= other.start() + 1 or other.end() <= start + 1):
                return text[first:last].strip()
    return ""


def _first(name: str, group: str, text: str) -> str:
    return next(_all(name, group, text), "")


def _all(name: str, group: str, text: str) -> Iterator[str]:
    """Yield what of *text* each phrase of a group is, once for each phrase."""
    for pattern in _patterns(name, group):
        found = pattern.search(text)
        if found:
            yield found[0].strip()


@cache
def _patterns(name: str, group: str) -> tuple[Pattern[str], ...]:
    return tuple(compiled(_pattern(phrase)) for phrase in _raw(name, group))


def _pattern(phrase: str) -> str:
    """Return the expression of a phrase over words with single spaces between."""
    pieces = []
    for piece in phrase.split():
        if piece == "*":
            pieces.append("(?:[^ ]{1,40} ){0,4}")
            continue
        written = " ".join(words(piece.rstrip("~")))
        pieces.append(escape(written) + ("[^ ]{0,20} " if piece.endswith("~") else " "))
    start = "" if _is_unspaced(phrase) else " "
    return start + "".join(pieces)


def _is_unspaced(phrase: str) -> bool:
    """Whether the phrase is of a language without spaces between words."""
    return any(ord(character) > 0x2E80 for character in phrase)


@cache
def _raw(name: str, group: str) -> tuple[str, ...]:
    found = _lexicon()[name][group]
    return tuple(found)


@cache
def _lexicon() -> Mapping[str, Mapping[str, list[str] | dict[str, list[str]]]]:
    text = (files("timegate.content") / "class_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
