"""Classes of pages that are not what was cited: errors, parked domains, walls, empty pages.

Each class is a sum of features with weights, from phrases (`class_words.toml`) and from the
shape of the page. A class is stated only above its threshold, with the features as evidence. A
long text speaks against every class: articles write about errors, domains and passwords.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from re import Pattern, escape
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from archives.regex_compat import compiled
from timegate.content.blocks import TextBlock
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
_SENTENCE: Final = 8
"""Words of a block that is running text."""
_LINKED: Final = 50
"""Percent of a block inside links, from which on it is navigation."""
_A_SUBJECT: Final = 2
"""Words of a heading that names a subject of its own."""
_FIRST_WORDS: Final = 40
"""Words in which a program says what went wrong."""
_FORM: Final = 30
"""Words of a page that is nothing but a form."""
_A_LINE: Final = 5
"""Words beside a question for consent that are a page, if the heading is of the page."""
_CAPTION: Final = 6
"""Words of a button at most."""
_NOTICE: Final = 40
"""Words of a page that says nothing but that a site is not there yet."""
_FEW_TERMS: Final = 3
_FEW_WORDS: Final = 8
_REST: Final = 25
"""Words beside a question for consent, from which on there is a page to read."""
_POLICY: Final = 180
"""Words on cookies that are a policy, and not a question."""
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
    marks: str

    @property
    def headings(self) -> tuple[str, ...]:
        """Titles and headings."""
        return *self.titles, *self.shown


def classify(page: PageText, url: str, redirect: str | None = None) -> Judgement:
    """Return the class of the copy of *url*; *redirect* is where its response leads."""
    target = redirect or page.refresh
    if target and leads_to_root(url, target):
        return Judgement(PageClass.REDIRECT_TO_ROOT, (f"it leads to {target[:200]}",))
    seen = _seen(page, url)
    best, most = Judgement(), -1.0
    for page_class, (threshold, rule) in _RULES.items():
        features = [feature for feature in rule(seen) if feature.weight]
        if features and _is_named_so(seen, page_class):
            features.append(Feature(-2.5, ""))
        beyond = sum(feature.weight for feature in features) - threshold
        # An empty page is nothing else; of the others, the class with the most evidence.
        if beyond > most and beyond >= 0 and (page_class is not PageClass.EMPTY or most < 0):
            reasons = (each.evidence for each in features if each.weight > 0)
            best, most = Judgement(page_class, tuple(filter(None, reasons))), beyond
    return best


_NAMED: Final = {
    PageClass.SOFT_404: ("soft-404", "heading"),
    PageClass.PARKED: ("parked", "strong"),
    PageClass.LOGIN: ("login-wall", "heading"),
    PageClass.CONSENT: ("consent-wall", "heading"),
}


def _is_named_so(seen: _Seen, page_class: PageClass) -> bool:
    """Whether the address has the name too: "Room 404" at room-404.example is a subject."""
    if page_class not in _NAMED or page_class is PageClass.LOGIN:
        return False
    last = urlsplit(seen.url).path.rstrip("/").rpartition("/")[2] if seen.host else ""
    named = {*words(seen.host), *words(last.replace("_", "-"))}
    phrases = (each for title in seen.headings for each in _all(*_NAMED[page_class], title))
    # Letters with accents and short words are left out of addresses.
    return any(
        (own := [word for word in phrase.split() if word.isascii() and len(word) > 2])
        and named.issuperset(own)
        for phrase in phrases
    )


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
    everything = words(page.text)
    prose = _prose(page)
    main = prose if prose is not None else words(page.main)
    lead = words(_said("\n".join(_lead(page)))) if page.blocks else main
    body = lead if len(lead) >= _HEADING else everything
    title = _plain(page.title)
    titles = _short(_parts(title))
    shown = _short(map(_plain, _leading(page)))
    host = _host(url)
    text = _spaced(words(_plain(_said(f"{page.title}\n{page.text[:6000]}")))[:420])
    return _Seen(
        page,
        url,
        host,
        _length_of(main),
        _spaced(body[:_BEGINNING]),
        text,
        titles,
        shown,
        _subject(page, titles, host),
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


def _short(texts: Iterable[str]) -> tuple[str, ...]:
    """Return those of *texts* that can be the name of an error, as words."""
    # A question is the title of an article or an answer, and names no error.
    split = [words(text) for text in texts if "?" not in text and "\uff1f" not in text]
    return tuple(dict.fromkeys(_spaced(each) for each in split if _is_heading(each)))


def _lead(page: PageText) -> Iterator[str]:
    """Yield headings and running text, without navigation."""
    for block in page.blocks:
        if block.place == "main" and (block.is_heading or block.links < _LINKED):
            yield block.text


def _prose(page: PageText) -> list[str] | None:
    """Return the words of running text; None if the page has no blocks."""
    if not page.blocks:
        return None
    found: list[str] = []
    for block in page.blocks:
        if block.place == "main" and block.links < _LINKED and not block.is_heading:
            own = words(block.text)
            if len(own) >= _SENTENCE or not found:
                found += own
    return found


def _leading(page: PageText) -> tuple[str, ...]:
    """Return the first headings of the page, and blocks of few words before its text."""
    if not page.blocks:
        return page.headings[:3]
    shown = [block for block in page.blocks if block.place == "main"]
    own = (block for block in shown if block.level == 1 or block.links < _LINKED)
    found = sorted((block for block in own if block.is_heading), key=lambda each: each.level)
    headings = [block.text for block in found][:4]
    big = [block.text for block in shown[:6] if not block.links and not block.is_heading]
    return tuple(dict.fromkeys((*headings, *big)))


def _subject(page: PageText, titles: tuple[str, ...], host: str) -> int:
    """Return how many words of the first heading name a subject of its own.

    Names of errors, logins, sales and sites are none, nor are words such as "the" and "sorry".
    A title without a heading counts if it says more beside such a name.
    """
    found = sorted(
        (block for block in page.blocks if block.place == "main" and block.is_heading),
        key=lambda each: each.level,
    )
    heading = found[0].text if found else "" if page.blocks else "".join(page.headings[:1])
    own = _spaced(words(_plain(heading)))
    is_site = own in titles and len(titles) > 1 and any(_is_error(each) for each in titles)
    by_heading = 0 if is_site else _subject_words(own, host)
    mixed = [_subject_words(each, host) for each in titles if _notices(each)]
    return max(by_heading, *mixed, 0)


def _subject_words(heading: str, host: str) -> int:
    if _first("parked", "addressed", heading):
        return 0
    rest = heading
    for phrase in _notices(heading):
        rest = rest.replace(f" {phrase} ", "  ")
    names = {*_heading_fillers(), *words(host), "domain"}
    is_question = not _QUESTIONS.isdisjoint(heading.split()[:1])
    return sum(word not in names for word in rest.split()) + _A_SUBJECT * is_question


def _notices(heading: str) -> list[str]:
    """Return what of a heading names an error, a login, a sale or a question for consent."""
    found = [phrase for name, group in _NOTICES for phrase in _all(name, group, heading)]
    found += filter(None, (_near("parked", heading),))
    return sorted(found, key=len, reverse=True)


_QUESTIONS: Final = frozenset(
    (
        *("how", "why", "what", "when", "wie", "warum", "was", "comment", "pourquoi", "cómo"),
        *("qué", "como", "come", "perché", "hoe", "waarom", "hur", "hvordan", "jak", "как"),
    )
)


def _is_error(title: str) -> bool:
    return bool(_first("soft-404", "heading", title) or _near("soft-404", title))


_NOTICES: Final = (
    *(("soft-404", group) for group in ("strong", "vague", "heading", "server")),
    *(("parked", group) for group in ("strong", "hosting", "soon")),
    *(("login-wall", group) for group in ("strong", "heading", "human")),
    ("consent-wall", "heading"),
)


def _is_heading(found: Sequence[str]) -> bool:
    """Whether a title is short enough to name an error; without spaces, letters are counted."""
    letters = sum(map(len, found))
    return bool(found) and (len(found) <= _HEADING or letters == len(found) <= 3 * _HEADING)


_SEPARATOR: Final = compiled(
    r"\s{1,9}(?:[|\-\u2013\u2014\u00bb\u00ab\u00b7\u2022\u2039\u203a/~]|::?)\s{1,9}|\s{0,9}[\uff5c_]\s{0,9}"
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


_ERROR_MARKS: Final = (
    *("error404", "error-404", "error_404", "page-404", "page404", "page_404", "http-404"),
    *("template-404", "template-error", "is-404", "status-404", "notfound", "not-found"),
    *("not_found", "e404", "404-page", "404page", "errorpage", "error-page", "error_page"),
)
"""In classes and ids of elements."""
_ERROR_STATES: Final = (
    *('"page":"/404"', '"page":"/_error"', '"statuscode":404', '"status":404', "'404'"),
    *('"404"', "pagetype:404", "page_type:404", "/404.html", "error404", "is404", "notfound"),
)
"""In scripts, without spaces and capitals."""


def _soft_404(seen: _Seen) -> Iterator[Feature]:
    # Beside a subject, the name of an error is one of several headings.
    first = seen.shown[:_A_SUBJECT] if seen.subject >= _A_SUBJECT else seen.shown
    shown = _named_error(seen, first)
    titled = _named_error(seen, seen.titles)
    # An article has a subject; "Oops" and the name of the site are none.
    has_subject = seen.subject >= _A_SUBJECT and not shown
    if shown or (titled and not has_subject):
        yield Feature(2, f"the title or heading is {shown or titled!r}")
    elif titled:
        is_of_page = any(_near("soft-404", title) for title in seen.titles)
        yield Feature(1.5 if is_of_page else 1, f"the title is {titled!r}")
    numbered = seen.headings if not has_subject else ()
    if any(" 404 " in heading and len(heading.split()) <= 5 for heading in numbered):
        yield Feature(1, "404 in the title or heading")
    yield from _said_error(seen, has_subject=has_subject)
    yield from _server_error(seen)
    if has_subject and not titled and seen.length > _NOTICE:
        yield Feature(-0.5, "")
    yield from _error_structure(seen)
    is_of_host = any(_first("parked", "hosting", each) for each in seen.headings)
    yield Feature(-2 if is_of_host or _is_search(seen) else 0, "")
    yield _length(seen)


def _server_error(seen: _Seen) -> Iterator[Feature]:
    """Yield what servers, programs and databases say at the beginning of a page."""
    said = _first("soft-404", "server", _spaced(seen.beginning.split()[:_FIRST_WORDS]))
    titled = any(_first("soft-404", "server", each) for each in seen.headings)
    is_shown = any(
        _first("soft-404", "server", each) and not _subject_words(each, seen.host)
        for each in seen.shown
    )
    if said and seen.length <= _LONG:
        is_sure = seen.length <= _SHORT or is_shown
        yield Feature(2 if is_sure else 1, f"it says {said!r}")
    if titled and seen.length <= _LONG:
        yield Feature(1, "the title or heading is of an error of the server")


def _named_error(seen: _Seen, headings: tuple[str, ...]) -> str:
    """Return the name of an error that a heading is made of; empty if there is none."""
    return _heading(seen, "soft-404", headings) or next(
        (
            both
            for heading in headings
            if (both := _near("soft-404", heading) or _near("gone", heading))
            and _rest(heading, both) <= 1
        ),
        "",
    )


def _rest(heading: str, phrase: str) -> int:
    """Return how many words a heading has beside *phrase*."""
    fillers = _heading_fillers()
    return sum(word not in fillers for word in heading.replace(phrase, " ").split())


def _said_error(seen: _Seen, *, has_subject: bool) -> Iterator[Feature]:
    """Yield what the text says of an error."""
    said = _first("soft-404", "strong", seen.beginning)
    most = _SHORT if has_subject else _LONG
    in_title = has_subject and any(
        said in heading and _subject_words(heading, seen.host) >= _A_SUBJECT
        for heading in seen.headings
    )
    if said:
        is_sure = seen.length <= most and not in_title
        yield Feature(2 if is_sure else 1, f"it says {said!r}")
    elif seen.length <= _LONG:
        is_notice = seen.length <= _NOTICE
        said = _near("soft-404", seen.beginning) or (
            _near("gone", seen.beginning) if is_notice else ""
        )
        weight = 1.5 if seen.length <= _SHORT else 1
        if said:
            yield Feature(0.75 if has_subject else weight, f"it says {said!r}")
        vague = _first("soft-404", "vague", seen.beginning)
        if vague and seen.length <= _SHORT and not has_subject:
            yield Feature(0.5 if said else 1, f"it says {vague!r}")


def _error_structure(seen: _Seen) -> Iterator[Feature]:
    """Yield what classes, scripts and the canonical address say of an error."""
    marks = {*seen.marks.split()}
    mark = next((each for each in _ERROR_MARKS if each in marks), "")
    if mark:
        yield Feature(1.5, f"its elements are called {mark!r}")
    state = "".join(seen.page.script_text.lower().split())
    if any(each in state for each in _ERROR_STATES[:4]):
        yield Feature(1, "its scripts say 404")
    canonical = seen.page.canonical.lower().rstrip("/")
    if canonical.endswith(("/404", "/404.html", "/404.php", "/error", "/notfound")):
        yield Feature(1.5, f"its canonical address is {canonical[-40:]!r}")


_SEARCHES: Final = ("search", "results", "suche", "suchergebnisse", "recherche", "résultats")


def _is_search(seen: _Seen) -> bool:
    """Whether it is the result of a search, which may have found nothing."""
    try:
        query = urlsplit(seen.url)
    except ValueError:
        return False
    if any(f"{name}=" in query.query for name in ("q", "s", "query", "search", "keyword")):
        return True
    return any(
        f" {word} " in heading and " page " not in heading
        for word in _SEARCHES
        for heading in (*seen.titles, *_short(seen.page.headings[:3]))
    )


_SITES: Final = (
    *("site", "web", "homepage", "seite", "internetpräsenz", "hier entsteht", "future home"),
    *(
        "página",
        "sito",
        "hjemmeside",
        "stron",
        "strán",
        "сайт",
        "网站",
        "網站",
        "الموقع",
        "האתר",
    ),
)


def _parked(seen: _Seen) -> Iterator[Feature]:
    page = seen.page
    addresses = " ".join((*page.link_targets[:50], *page.frames, page.script_text))
    vendors = (name for name in _raw("parked", "vendors") if name in addresses)
    # Pages of a vendor itself are pages.
    vendor = next((name for name in vendors if seen.host not in name or not seen.host), "")
    said = [*_all("parked", "strong", seen.everything), *_near_domain(seen)]
    if _first("parked", "brokers", "".join(seen.headings)):
        return
    hosting = _first("parked", "hosting", seen.everything)
    soon = _soon(seen)
    if not vendor and not said and not hosting and not soon:
        return
    if vendor:
        bare = 0.5 if seen.length <= _SHORT and not said else 0
        yield Feature(2 + bare, f"it is served with {vendor!r}")
    if said:
        yield Feature(2 + 0.5 * (len(said) > 1), f"it says {said[0]!r}")
    if hosting:
        yield Feature(1.5 if said or vendor else 2, f"it says {hosting!r}")
    if soon:
        yield Feature(1.5, f"it says {soon!r}")
    weak = [*_all("parked", "weak", seen.everything)]
    yield Feature(0.5 * min(2, len(weak)), f"it says {weak[0]!r}" if weak else "")
    yield from _named_domain(seen)
    if _first("parked", "addressed", seen.everything) and seen.length <= _SHORT:
        yield Feature(0.5, "")
    yield from _against_parked(seen, said=len(said), vendor=vendor, hosting=hosting)


def _against_parked(seen: _Seen, *, said: int, vendor: str, hosting: str) -> Iterator[Feature]:
    """Yield what a subject and the length say against a parked domain."""
    is_own = " domain " in seen.titles and said >= _A_SUBJECT
    if seen.subject >= _A_SUBJECT and not (vendor or is_own or _has_own_name(seen)):
        yield Feature(-2, "")
    # Default pages of servers explain at length what they are.
    is_default = any(_first("parked", "hosting", title) for title in seen.titles)
    is_long = seen.length > (_VERY_LONG if is_default and hosting else _LONG)
    yield Feature(1 if is_default and _LONG < seen.length <= _VERY_LONG else -is_long, "")
    yield _length(seen)


def _has_own_name(seen: _Seen) -> bool:
    """Whether a short page has the name of its own domain as title or in its heading."""
    if seen.length > _SHORT or "." not in seen.host:
        return False
    shown = (seen.page.title, *_leading(seen.page))
    # Inside an address, it is that of a page.
    name = compiled(rf"(?<![\w/.-])(?:www\.)?{escape(seen.host)}(?![\w/-])")
    return any(name.search(each.casefold()) for each in shown)


def _near_domain(seen: _Seen) -> Iterator[str]:
    """Yield what a short page says near the word "domain", if it is about one."""
    has_name = " domain " in seen.headings or _has_own_name(seen)
    is_about = has_name or _first("parked", "addressed", seen.everything)
    if seen.length <= _SHORT and is_about:
        yield from filter(None, (_near("parked", seen.everything),))
        yield from filter(None, (_near("unpublished", seen.everything),))


def _soon(seen: _Seen) -> str:
    """Return what a page says that has nothing else to say but that a site is to come."""
    if seen.length > _NOTICE or seen.subject:
        return ""
    said = _first("parked", "soon", seen.everything)
    is_heading = any(_first("parked", "soon", heading) for heading in seen.headings)
    is_of_site = any(noun in said for noun in _SITES)
    named = [each for each in seen.shown if _first("parked", "soon", each)]
    if any(_subject_words(each, seen.host) for each in named):
        return ""
    return said if is_heading or is_of_site else ""


def _named_domain(seen: _Seen) -> Iterator[Feature]:
    """Yield what titles and headings say of the domain."""
    for heading in seen.headings:
        named = (
            _first("parked", "strong", heading)
            or ((near := _near("parked", heading)) and _rest(heading, near) <= 1 and near)
            or _first("parked", "hosting", heading)
            or _first("parked", "soon", heading)
        )
        if named:
            yield Feature(1, f"the title or heading is {named!r}")
            break
    if " domain " in seen.headings or _has_own_name(seen):
        yield Feature(1, "the title or heading has the name of the domain")


_LOGIN_ADDRESSES: Final = (
    *("/login", "/signin", "/sign-in", "/sso/", "/cas/", "/idp/", "shibboleth", "/accounts/"),
    *(
        "/auth/",
        "/oauth",
        "/session",
        "wp-login",
        "ucp.php?mode=login",
        "ezproxy",
        "openathens",
    ),
)


def _login(seen: _Seen) -> Iterator[Feature]:
    if seen.page.passwords:
        is_form = seen.length <= _FORM and seen.subject < _A_SUBJECT
        yield Feature(1.5 if is_form else 1, "a field for a password")
    human = _first("login-wall", "human", seen.beginning)
    if human and seen.length <= _SHORT:
        is_heading = any(_first("login-wall", "human", each) for each in seen.headings)
        yield Feature(2 + 0.5 * is_heading, f"it says {human!r}")
    blocks = _without_comments(seen)
    said = _first("login-wall", "strong", blocks) or _first(
        "login-wall", "strong", "".join(seen.headings)
    )
    if said:
        yield Feature(1.5, f"it says {said!r}")
    named = _heading(seen, "login-wall", seen.headings, most=5)
    asked = next(filter(None, (_asked(seen, heading) for heading in seen.headings)), "")
    if named or asked:
        yield Feature(1, f"the title or heading is {named or asked!r}")
    weak = [*_all("login-wall", "weak", seen.everything)]
    if weak:
        yield Feature(0.5, f"it says {weak[0]!r}")
    if _is_login_address(seen):
        yield Feature(0.5, "its address is that of a login")
    if seen.subject >= _A_SUBJECT and not named and not asked:
        yield Feature(-0.5, "")
    yield Feature(-1.5 if seen.length > _SHORT else 0, "")
    yield _length(seen)


def _asked(seen: _Seen, heading: str) -> str:
    """Return what a heading asks for; beside a subject, it says little else."""
    asked = _first("login-wall", "strong", heading)
    is_most = 2 * len(asked.split()) >= len(heading.split())
    return asked if is_most or seen.subject < _A_SUBJECT else ""


def _is_login_address(seen: _Seen) -> bool:
    canonical = seen.page.canonical.lower()
    return any(each in canonical for each in _LOGIN_ADDRESSES)


_COMMENTS: Final = (
    *("comment", "comments", "reply", "review", "vote", "rate", "kommentar", "kommentieren"),
    *(
        "commentaire",
        "comentario",
        "comentar",
        "comentário",
        "commento",
        "commentare",
        "reactie",
    ),
    *("reageren", "kommentera", "kommentere", "komentarz", "komentář", "комментар", "评论"),
)


def _without_comments(seen: _Seen) -> str:
    """Return the first words, without sentences on who may comment."""
    kept = [
        block.text
        for block in seen.page.blocks[:60]
        if not any(f"{each}" in block.text.casefold() for each in _COMMENTS)
    ]
    if not seen.page.blocks:
        return seen.beginning
    return _spaced(words(" ".join(kept))[: 2 * _BEGINNING])


class _Question(NamedTuple):
    """What of a page asks for consent, and what does not."""

    text: str
    rest: int
    """Words of running text beside it."""
    is_framed: bool
    """Whether it is in the frame of a consent manager, which may stand over a page."""
    has_action: bool
    """Whether there is a button or a sentence to agree or to refuse."""


def _question(seen: _Seen) -> _Question:
    blocks = [block for block in seen.page.blocks if block.place in ("main", "consent")]
    if not blocks:
        body = seen.beginning if seen.length >= _HEADING else seen.everything
        return _Question(body, 0, is_framed=False, has_action=True)
    framed = [block for block in blocks if block.place == "consent"]
    # With a frame around the question, what else speaks of consent is the page.
    loose = [block for block in blocks if block.place == "main" and _asks(block.text)]
    asking = [*framed, *loose] if not framed or any(map(_is_action, loose)) else framed
    others = [block for block in blocks if block not in asking and not block.is_heading]
    lines = [len(words(block.text)) for block in others if block.links < _LINKED]
    rest = sum(length for length in lines if length >= _A_LINE)
    text = _spaced(words(" ".join(block.text for block in asking)))
    has_action = any(map(_is_action, asking))
    phrases = (each for each in _all("consent-wall", "actions", text) if " " in each)
    return _Question(text, rest, bool(framed), has_action or any(phrases))


def _is_action(block: TextBlock) -> bool:
    """Whether a block is a button or a link to agree or to refuse."""
    caption = words(block.text)
    is_button = len(caption) <= _CAPTION and block.links >= _LINKED
    return is_button and bool(_first("consent-wall", "actions", _spaced(caption)))


def _consent(seen: _Seen) -> Iterator[Feature]:
    question = _question(seen)
    terms = [*dict.fromkeys(_all("consent-wall", "terms", question.text))]
    if len(terms) >= _FEW_TERMS:
        yield Feature(0.5 * min(len(terms), 6), f"it speaks of {', '.join(terms[:5])}")
    is_alone = question.is_framed and not question.rest and not seen.length
    if is_alone and len(terms) >= _A_SUBJECT:
        yield Feature(2, "there is nothing but a question for consent")
    named = _heading(seen, "consent-wall", seen.headings, spare=2)
    if named and terms:
        yield Feature(1, f"the title or heading is {named!r}")
    if any(_first("consent-wall", "policies", heading) for heading in seen.headings):
        yield Feature(-2, "")
    if not question.has_action:
        yield Feature(-1.5, "")
    # A banner over a page leaves the page to read.
    least = _A_LINE if seen.subject else 2 * _A_LINE
    has_page = question.is_framed and question.rest >= least
    is_asked = bool(named) and seen.subject < _A_SUBJECT and seen.length <= _LONG
    if (question.rest > _REST and not is_asked) or has_page:
        yield Feature(-2, "")
    is_policy = len(question.text.split()) > _POLICY
    yield Feature(-2 if question.rest > _LONG or is_policy else 0, "")


def _asks(text: str) -> bool:
    """Whether a block asks for consent: several terms in few words, or a button."""
    terms = {*_all("consent-wall", "terms", _spaced(words(text)))}
    length = len(words(text))
    return len(terms) >= 2 if length > 6 else bool(terms)


def _empty(seen: _Seen) -> Iterator[Feature]:
    everything = len(words(seen.page.text))
    is_shown = bool(seen.page.frames) or seen.page.images > 2
    blocks = seen.page.blocks
    own = sum(
        len(words(block.text))
        for block in blocks
        if block.place in ("main", "consent") and block.links < _LINKED
    )
    asks_script = any(block.place == "noscript" for block in blocks) and own <= _FEW_WORDS
    is_frame = bool(blocks) and own <= _FEW_WORDS and everything <= _FORM
    if seen.page.passwords or _is_search(seen):
        return
    if everything <= _FEW_WORDS and not is_shown:
        yield Feature(1, f"{everything} words in all")
    elif seen.page.images <= 2 and (asks_script or is_frame):
        yield Feature(1, f"{own} words beside navigation and notices")


_RULES: Final[Mapping[PageClass, tuple[float, Callable[[_Seen], Iterator[Feature]]]]] = {
    PageClass.PARKED: (3, _parked),
    PageClass.SOFT_404: (2.5, _soft_404),
    PageClass.LOGIN: (2.5, _login),
    PageClass.CONSENT: (2.5, _consent),
    PageClass.EMPTY: (1, _empty),
}
"""The threshold and the rule of each class, in the order in which they are tried."""


def _heading(
    seen: _Seen, name: str, headings: tuple[str, ...], most: int = _HEADING, spare: int = 0
) -> str:
    """Return the phrase that one of *headings* is made of; empty if none is.

    Beside it there may be words without a subject, the name of the site, and *spare* others
    beside several words.
    """
    site = {*words(seen.host)}
    for heading in headings:
        length = len(heading.split())
        for phrase in _all(name, "heading", heading) if length <= most else ():
            rest = heading.replace(phrase, " ").split()
            unknown = [word for word in rest if word not in _heading_fillers()]
            others = [word for word in unknown if word not in site]
            if len(others) <= (spare if " " in phrase else 0):
                return phrase
    return ""


@cache
def _heading_fillers() -> frozenset[str]:
    """Return words that name no subject in a heading: also what can be missing."""
    objects = (word for each in _raw("soft-404", "objects") for word in words(each.rstrip("~")))
    return _fillers().union(objects)


@cache
def _fillers() -> frozenset[str]:
    return frozenset(_raw("soft-404", "fillers"))


_GAP: Final = 70
"""Characters between a noun and what is said of it: some eight words."""


def _near(name: str, text: str) -> str:
    """Return a noun and what is said of it, where both are near each other; empty if not."""
    nouns, others = _pairs(name)
    places = [span for _, span in nouns.occurrences(text)]
    if not places:
        return ""
    for _, (begins, ends) in others.occurrences(text):
        for start, end in places:
            first, last = min(start, begins), max(end, ends)
            if last - first <= _GAP and (end <= begins + 1 or ends <= start + 1):
                return text[first:last].strip()
    return ""


def _first(name: str, group: str, text: str) -> str:
    return next(_all(name, group, text), "")


def _all(name: str, group: str, text: str) -> Iterator[str]:
    """Yield what of *text* each phrase of a group is, once for each phrase."""
    found: set[int] = set()
    for number, (start, end) in _phrases(name, group).occurrences(text):
        if number not in found:
            found.add(number)
            yield text[start:end].strip()


class _Phrases:
    """Phrases by their first word: a text is read once, whatever their number."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self._whole: dict[str, list[tuple[int, Pattern[str]]]] = {}
        self._begun: dict[str, list[tuple[int, Pattern[str]]]] = {}
        for number, phrase in enumerate(phrases):
            first, *_ = phrase.split()
            key = words(first.rstrip("~"))[0]
            is_begun = first.endswith("~") and len(words(first.rstrip("~"))) == 1
            index, key = (self._begun, key[:2]) if is_begun else (self._whole, key)
            index.setdefault(key, []).append((number, compiled(_pattern(phrase))))

    def occurrences(self, text: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the number of each phrase that begins at a word of *text*, and where."""
        for word in _WORDS.finditer(text):
            key, start = word[0], max(0, word.start() - 1)
            for number, pattern in (
                *self._whole.get(key, ()),
                *self._begun.get(key[:2], ()),
            ):
                found = pattern.match(text, start)
                if found:
                    yield number, found.span()


_WORDS: Final = compiled(r"[^ ]++")


@cache
def _phrases(name: str, group: str) -> _Phrases:
    return _Phrases(_raw(name, group))


@cache
def _pairs(name: str) -> tuple[_Phrases, _Phrases]:
    """Return the two groups of words that stand near each other."""
    groups = _lexicon()[name]["near"]
    if not isinstance(groups, dict):  # pragma: no cover -- the file has both groups
        raise TypeError(name)
    return _Phrases([*dict.fromkeys(groups["nouns"])]), _Phrases(
        [*dict.fromkeys(groups["others"])]
    )


def _pattern(phrase: str) -> str:
    """Return the expression of a phrase over words with single spaces between."""
    pieces = [" "]
    for piece in phrase.split():
        if piece == "*":
            pieces.append("(?:[^ ]{1,40} ){0,4}")
            continue
        written = " ".join(words(piece.rstrip("~")))
        pieces.append(escape(written) + ("[^ ]{0,20} " if piece.endswith("~") else " "))
    return "".join(pieces)


@cache
def _raw(name: str, group: str) -> tuple[str, ...]:
    found = _lexicon()[name][group]
    return tuple(dict.fromkeys(found))


@cache
def _lexicon() -> Mapping[str, Mapping[str, list[str] | dict[str, list[str]]]]:
    text = (files("timegate.content") / "class_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
