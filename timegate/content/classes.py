"""Classes of pages that are not what was cited: errors, parked domains, walls, empty pages.

Each class is a sum of features with weights, from phrases (`class_words.toml`) and from the
shape of the page. A class is stated only above its threshold, with the features as evidence. A
long text speaks against every class: articles write about errors, domains and passwords.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from re import escape
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from archives.regex_compat import compiled
from timegate.content.class_phrases import (
    all_said,
    fillers,
    first_said,
    listed,
    said_near,
    words_beside,
    words_of,
)
from timegate.content.comparison import PageClass
from timegate.content.main_text import PageText
from timegate.content.page_view import (
    A_SUBJECT,
    FORM,
    LINKED,
    LONG,
    NOTICE,
    SHORT,
    VERY_LONG,
    Feature,
    PageView,
    leading_lines,
    length_feature,
    named_heading,
    short_headings,
    spaced,
    subject_words,
    view_of,
)
from timegate.content.similarity import words
from timegate.content.wall_rules import consent_features, login_features

_FIRST_WORDS: Final = 40
"""Words in which a program says what went wrong."""
_FEW_WORDS: Final = 8
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


class Judgement(NamedTuple):
    """The class of a page, and why; no class for a usual page, or if nothing is shown."""

    page_class: PageClass | None = None
    evidence: tuple[str, ...] = ()


def classify(page: PageText, url: str, redirect: str | None = None) -> Judgement:
    """Return the class of the copy of *url*; *redirect* is where its response leads."""
    target = redirect or page.refresh
    if target and leads_to_root(url, target):
        return Judgement(PageClass.REDIRECT_TO_ROOT, (f"it leads to {target[:200]}",))
    best = _judged(page, url)
    if best.page_class is PageClass.EMPTY:
        # A page that only leads on by a script says what it is to browsers without scripts.
        best = _named(_judged(_without_scripts(page), url)) or best
    return best


def _named(judgement: Judgement) -> Judgement | None:
    return None if judgement.page_class in (None, PageClass.EMPTY) else judgement


def _without_scripts(page: PageText) -> PageText:
    """Return *page* as it is shown where scripts do not run."""
    blocks = tuple(
        block._replace(place="main") if block.place == "noscript" else block
        for block in page.blocks
    )
    return replace(page, blocks=blocks, text="\n".join(block.text for block in blocks))


def _judged(page: PageText, url: str) -> Judgement:
    seen = view_of(page, url)
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


def _is_named_so(seen: PageView, page_class: PageClass) -> bool:
    """Whether the address has the name too: "Room 404" at room-404.example is a subject."""
    if page_class not in _NAMED or page_class is PageClass.LOGIN:
        return False
    last = urlsplit(seen.url).path.rstrip("/").rpartition("/")[2] if seen.host else ""
    named = {*words(seen.host), *words(last.replace("_", "-"))}
    phrases = (each for title in seen.headings for each in all_said(*_NAMED[page_class], title))
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


def _soft_404(seen: PageView) -> Iterator[Feature]:
    # Beside a subject, the name of an error is one of several headings.
    first = seen.shown[:A_SUBJECT] if seen.subject >= A_SUBJECT else seen.shown
    shown = _named_error(seen, first)
    titled = _named_error(seen, seen.titles)
    # An article has a subject; "Oops" and the name of the site are none.
    has_subject = seen.subject >= A_SUBJECT and not shown
    if shown or (titled and not has_subject):
        yield Feature(2, f"the title or heading is {shown or titled!r}")
    elif titled:
        is_of_page = any(said_near("soft-404", title) for title in seen.titles)
        yield Feature(1.5 if is_of_page else 1, f"the title is {titled!r}")
    numbered = seen.headings if not has_subject else ()
    if any(" 404 " in heading and len(heading.split()) <= 5 for heading in numbered):
        yield Feature(1, "404 in the title or heading")
    elif not shown and not titled and any(map(_is_apology, seen.headings)):
        yield Feature(1, "the title or heading is an apology")
    elif not shown and not titled and any(map(_is_notice, seen.titles)):
        yield Feature(1, "the title says nothing else")
    yield from _said_error(seen, has_subject=has_subject)
    yield from _server_error(seen)
    if has_subject and not titled and seen.length > NOTICE:
        yield Feature(-0.5, "")
    yield from _error_structure(seen)
    is_of_host = any(first_said("parked", "hosting", each) for each in seen.headings)
    yield Feature(-2 if is_of_host or _is_search(seen) else 0, "")
    yield length_feature(seen)


def _is_apology(heading: str) -> bool:
    """Whether a heading is nothing but "Oops" or "We are sorry"."""
    found = heading.split()
    apologies = words_of("soft-404", "apologies")
    return not apologies.isdisjoint(found) and (apologies | fillers()).issuperset(found)


def _is_notice(title: str) -> bool:
    """Whether a title is nothing but a sentence on a page that is not there."""
    said = first_said("soft-404", "strong", title)
    return bool(said) and words_beside(title, said) <= 1


def _server_error(seen: PageView) -> Iterator[Feature]:
    """Yield what servers, programs and databases say at the beginning of a page."""
    said = first_said("soft-404", "server", spaced(seen.beginning.split()[:_FIRST_WORDS]))
    titled = any(first_said("soft-404", "server", each) for each in seen.headings)
    is_shown = any(
        first_said("soft-404", "server", each) and not subject_words(each, seen.site)
        for each in seen.shown
    )
    if said and seen.length <= LONG:
        is_sure = seen.length <= SHORT or is_shown
        yield Feature(2 if is_sure else 1, f"it says {said!r}")
    if titled and seen.length <= LONG:
        yield Feature(1, "the title or heading is of an error of the server")


def _named_error(seen: PageView, headings: tuple[str, ...]) -> str:
    """Return the name of an error that a heading is made of; empty if there is none."""
    return named_heading(seen, "soft-404", headings) or next(
        (
            both
            for heading in headings
            if (both := said_near("soft-404", heading) or said_near("gone", heading))
            and words_beside(heading, both) <= 1
        ),
        "",
    )


def _said_error(seen: PageView, *, has_subject: bool) -> Iterator[Feature]:
    """Yield what the text says of an error."""
    said = first_said("soft-404", "strong", seen.beginning)
    most = SHORT if has_subject else LONG
    in_title = has_subject and any(
        said in heading and subject_words(heading, seen.site) >= A_SUBJECT
        for heading in seen.headings
    )
    if said:
        is_sure = seen.length <= most and not in_title
        yield Feature(2 if is_sure else 1, f"it says {said!r}")
    elif seen.length <= LONG:
        is_notice = seen.length <= NOTICE
        said = said_near("soft-404", seen.beginning) or (
            said_near("gone", seen.beginning) or said_near("none", seen.beginning)
            if is_notice
            else ""
        )
        weight = 1.5 if seen.length <= SHORT else 1
        if said:
            yield Feature(0.75 if has_subject else weight, f"it says {said!r}")
        vague = first_said("soft-404", "vague", seen.beginning)
        if vague and seen.length <= SHORT and not has_subject:
            yield Feature(0.5 if said else 1, f"it says {vague!r}")


def _error_structure(seen: PageView) -> Iterator[Feature]:
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


def _is_search(seen: PageView) -> bool:
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
        for heading in (*seen.titles, *short_headings(seen.page.headings[:3]))
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


def _parked(seen: PageView) -> Iterator[Feature]:
    page = seen.page
    addresses = " ".join((*page.link_targets[:50], *page.frames, page.script_text))
    vendors = (name for name in listed("parked", "vendors") if name in addresses)
    # Pages of a vendor itself are pages.
    vendor = next((name for name in vendors if seen.host not in name or not seen.host), "")
    said = [*all_said("parked", "strong", seen.everything), *_near_domain(seen)]
    if first_said("parked", "brokers", "".join(seen.headings)):
        return
    hosting = first_said("parked", "hosting", seen.everything)
    soon = _soon(seen)
    if not vendor and not said and not hosting and not soon:
        return
    if vendor:
        bare = 0.5 if seen.length <= SHORT and not said else 0
        yield Feature(2 + bare, f"it is served with {vendor!r}")
    if said:
        yield Feature(2 + 0.5 * (len(said) > 1), f"it says {said[0]!r}")
    if hosting:
        yield Feature(1.5 if said or vendor else 2, f"it says {hosting!r}")
    if soon:
        yield Feature(1.5, f"it says {soon!r}")
    weak = [*all_said("parked", "weak", seen.everything)]
    yield Feature(0.5 * min(2, len(weak)), f"it says {weak[0]!r}" if weak else "")
    yield from _named_domain(seen)
    if first_said("parked", "addressed", seen.everything) and seen.length <= SHORT:
        yield Feature(0.5, "")
    yield from _against_parked(seen, said=len(said), vendor=vendor, hosting=hosting)


def _against_parked(
    seen: PageView, *, said: int, vendor: str, hosting: str
) -> Iterator[Feature]:
    """Yield what a subject and the length say against a parked domain."""
    is_own = " domain " in seen.titles and said >= A_SUBJECT
    # Default pages of servers explain at length what they are.
    is_default = any(first_said("parked", "hosting", title) for title in seen.titles)
    explained = len([*all_said("parked", "hosting", seen.everything)]) if is_default else 0
    is_known = vendor or is_own or explained >= A_SUBJECT or _has_own_name(seen)
    if seen.subject >= A_SUBJECT and not is_known:
        yield Feature(-2, "")
    is_long = seen.length > (VERY_LONG if is_default and hosting else LONG)
    yield Feature(1 if is_default and LONG < seen.length <= VERY_LONG else -is_long, "")
    yield length_feature(seen)


def _has_own_name(seen: PageView) -> bool:
    """Whether a short page has the name of its own domain as title or in its heading."""
    if seen.length > SHORT or "." not in seen.host:
        return False
    shown = (seen.page.title, *leading_lines(seen.page))
    # Inside an address, it is that of a page.
    name = compiled(rf"(?<![\w/.-])(?:www\.)?{escape(seen.host)}(?![\w/-])")
    return any(name.search(each.casefold()) for each in shown)


def _near_domain(seen: PageView) -> Iterator[str]:
    """Yield what a short page says near the word "domain", if it is about one."""
    has_name = " domain " in seen.headings or _has_own_name(seen)
    is_about = has_name or first_said("parked", "addressed", seen.everything)
    if seen.length <= SHORT and is_about:
        yield from filter(None, (said_near("parked", seen.everything),))
        yield from filter(None, (said_near("unpublished", seen.everything),))


def _soon(seen: PageView) -> str:
    """Return what a page says that has nothing else to say but that a site is to come."""
    if seen.length > NOTICE or seen.subject:
        return ""
    said = first_said("parked", "soon", seen.everything)
    is_heading = any(first_said("parked", "soon", heading) for heading in seen.headings)
    is_of_site = any(noun in said for noun in _SITES)
    named = [each for each in seen.shown if first_said("parked", "soon", each)]
    if any(subject_words(each, seen.site) for each in named):
        return ""
    return said if is_heading or is_of_site else ""


def _named_domain(seen: PageView) -> Iterator[Feature]:
    """Yield what titles and headings say of the domain."""
    for heading in seen.headings:
        named = (
            first_said("parked", "strong", heading)
            or (
                (near := said_near("parked", heading))
                and words_beside(heading, near) <= 1
                and near
            )
            or first_said("parked", "hosting", heading)
            or first_said("parked", "soon", heading)
        )
        if named:
            yield Feature(1, f"the title or heading is {named!r}")
            break
    if " domain " in seen.headings or _has_own_name(seen):
        yield Feature(1, "the title or heading has the name of the domain")


def _empty(seen: PageView) -> Iterator[Feature]:
    everything = len(words(seen.page.text))
    is_shown = bool(seen.page.frames) or seen.page.images > 2
    blocks = seen.page.blocks
    own = sum(
        len(words(block.text))
        for block in blocks
        if block.place in ("main", "consent") and block.links < LINKED
    )
    asks_script = any(block.place == "noscript" for block in blocks) and own <= _FEW_WORDS
    is_frame = bool(blocks) and own <= _FEW_WORDS and everything <= FORM
    if seen.page.passwords or _is_search(seen):
        return
    if everything <= _FEW_WORDS and not is_shown:
        yield Feature(1, f"{everything} words in all")
    elif seen.page.images <= 2 and (asks_script or is_frame):
        yield Feature(1, f"{own} words beside navigation and notices")


_RULES: Final[Mapping[PageClass, tuple[float, Callable[[PageView], Iterator[Feature]]]]] = {
    PageClass.PARKED: (3, _parked),
    PageClass.SOFT_404: (2.5, _soft_404),
    PageClass.LOGIN: (2.5, login_features),
    PageClass.CONSENT: (2.5, consent_features),
    PageClass.EMPTY: (1, _empty),
}
"""The threshold and the rule of each class, in the order in which they are tried."""
