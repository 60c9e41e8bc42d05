"""References in wikitext, each with its place, so that a page can be rewritten in place.

Read are templates that cite, and archive links by themselves. The scanner is our own because
places are what counts: mwparserfromhell builds a tree of the page whose nodes do not know where
they stood. One pass, no recursion, linear in the length of the page.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.batch.model import Item, ReferencePlace, TextSpan
from timegate.text.html import decode_entities

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


# Signs that a template would take for its own have templates of their own.
_FOLDED: Final = compiled(r"\{\{\s{0,9}([=!])\s{0,9}\}\}|</?nowiki\s{0,9}/?>")
_SIGNS: Final = {"=": "=", "!": "|", None: ""}
# A note behind a link, such as {{dead link}}.
_NOTE: Final = compiled(r"\s++\{\{")


def unfolded(text: str) -> str:
    """Return *text* without comments and notes, with signs for what stands for them."""
    plain = _FOLDED.sub(lambda fold: _SIGNS[fold[1]], _without_comments(text))
    note = _NOTE.search(plain)
    return decode_entities(plain[: note.start()] if note else plain).strip()


def unreadable(link: str) -> str:
    """Say why *link*, unfolded, is none that can be asked for; nothing where it is one."""
    if "{{" in link or "[[" in link:
        return "a template in the link, whose text nobody here knows"
    return ""


def _without_comments(text: str) -> str:
    kept = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        kept.append(text[at:start])
        end = text.find("-->", start)
        at = end + len("-->") if end >= 0 else len(text)
    return "".join([*kept, text[at:]])


_LINKS: Final = (
    *("archive-url", "archiveurl", "archiv-url", "archivurl", "arkivurl", "arkiv-url"),
    *("archiefurl", "archief-url", "urlarchivo", "url-archivo", "urlarchivio", "arquivourl"),
)
_LINK_DATES: Final = (
    *("archive-date", "archivedate", "archiv-datum", "archivdatum", "arkivdato", "arkiv-dato"),
    *("arkivdatum", "archiefdatum", "fechaarchivo", "fecha-archivo", "dataarchivio"),
    "arquivodata",
)
_DATES: Final = (
    *_LINK_DATES,
    *("access-date", "accessdate", "abruf", "zugriff", "consulté le", "besøgsdato"),
    *("besøksdato", "hämtdatum", "bezochtdatum", "fechaacceso", "fecha-acceso", "accesso"),
    *("acessodata", "date", "datum", "dato", "fecha", "year"),
)
_DEAD: Final = {
    *(("url-status", "dead"), ("url-status", "usurped"), ("dead-url", "yes")),
    *(("deadurl", "yes"), ("offline", "1"), ("offline", "ja")),
}
_WEBARCHIVE: Final = ("webarchive", "wayback")
_STAMPED: Final = {"webarchiv": "wayback", "lien archive": "horodatage archive"}
"""Templates that name a copy in the Wayback Machine by the digits of its time."""
_MISSING: Final = {
    "internetquelle": (" |archiv-url=", " |archiv-datum="),
    "kilde www": (" |arkivurl=", " |arkivdato="),
}


class Field(NamedTuple):
    """A parameter of a template: its value, and where that stands."""

    value: str
    span: TextSpan


class Template(NamedTuple):
    """A template as a page uses it."""

    name: str
    fields: Mapping[str, Field]

    def first(self, names: Sequence[str]) -> Field | None:
        """Return the first of the fields called so; None where there is none."""
        return next((self.fields[name] for name in names if name in self.fields), None)

    def value(self, *names: str) -> str:
        """Return the first value of the fields called so that is not empty."""
        values = (self.fields[name].value for name in names if name in self.fields)
        return next(filter(None, values), "")


Found = tuple[int, ReferencePlace]
"""Where in the page a reference stands, and its place."""


def cited_by(template: Template) -> Found | None:
    """Return what *template* cites and has an archive link for, or wants one."""
    if template.name in _WEBARCHIVE:
        return _webarchive(template)
    if template.name in _STAMPED:
        return _stamped(template, _STAMPED[template.name])
    link, date = template.first(_LINKS), template.first(_LINK_DATES)
    archive_link, url = link.value if link else "", template.value("url")
    if not archive_link and not (url and _is_dead(template)):
        return None
    references = tuple(filter(None, (archive_link, url)))
    dates = tuple(filter(None, (in_digits(template.value(name)) for name in _DATES)))
    item = Item(0, references[0], references, dates, unreadable(references[0]))
    if link is not None:
        return link.span.start, ReferencePlace(item, link.span, date.span if date else None)
    end = template.fields["url"].span.end
    return end, _missing(template.name, item, TextSpan(end, end), date)


def _is_dead(template: Template) -> bool:
    said = any(template.value(name).lower() == value for name, value in _DEAD)
    return said or bool(template.value("brisé le"))


def _missing(name: str, item: Item, place: TextSpan, date: Field | None) -> ReferencePlace:
    """Return the place for a link that is not there yet, in the words of the template."""
    link, new_date = _MISSING.get(name, (" |archive-url=", " |archive-date="))
    if date is not None:
        return ReferencePlace(item, place, date.span, link)
    return ReferencePlace(item, place, place, link, new_date)


def _webarchive(template: Template) -> Found | None:
    link, date = template.first(("url",)), template.first(("date",))
    if link is None or not link.value:
        return None
    dates = (in_digits(date.value),) if date and date.value else ()
    item = Item(0, link.value, (link.value,), dates, unreadable(link.value))
    return link.span.start, ReferencePlace(item, link.span, date.span if date else None)


def _stamped(template: Template, name: str) -> Found | None:
    url, stamp = template.first(("url",)), template.value(name)
    if url is None or not url.value or not stamp:
        return None
    link = f"https://web.archive.org/web/{stamp}/{url.value}"
    item = Item(0, link, (link, url.value), (), unreadable(link))
    return url.span.start, ReferencePlace(item, None)


IsArchiveLink = Callable[[str], bool]

_LONGEST: Final = 16_384
"""Characters; what is longer is neither a link nor a date."""
_BRACKET: Final = compiled(r"\{\{|\}\}|\[\[|\]\]|\|")
_HIDING: Final = compiled(r"<!--|<(nowiki|pre|source)\b[^<>]{0,200}>", re.IGNORECASE)
_CLOSING: Final = {
    tag: compiled(f"</{tag}[ \t]{{0,9}}>", re.IGNORECASE) for tag in ("nowiki", "pre", "source")
}
_URL: Final = compiled(r"https?://(?:\{\{[=!]\}\}|[^\s|\[\]{}<>\"])++", re.IGNORECASE)
# MediaWiki leaves these out of a bare link if they end it (Parser: closing punctuation).
_AFTER_LINK: Final = ",;.:!?'"


def read_wikitext(text: str, is_archive_link: IsArchiveLink) -> Iterator[ReferencePlace]:
    """Yield every reference of *text* that has an archive link or wants one, in order."""
    hidden = [*_hidden(text)]
    cited = [found for one in templates(text, hidden) if (found := cited_by(one))]
    taken = sorted(
        [span for _, place in cited for span in (place.link, place.date) if span] + hidden
    )
    in_order = sorted([*cited, *_bare(text, is_archive_link, taken)], key=lambda one: one[0])
    for position, (_, place) in enumerate(in_order):
        yield place._replace(item=place.item._replace(position=position))


def templates(text: str, hidden: Sequence[TextSpan]) -> Iterator[Template]:
    """Yield the templates of *text*, inner ones before the outer."""
    # Each open bracket: where it is, whether it opens a template, where its pipes are.
    opened: list[tuple[int, bool, list[int]]] = []
    depth = 0
    for match in _BRACKET.finditer(text):
        sign, at = match[0], match.start()
        if _is_inside(at, hidden):
            continue
        if sign in ("{{", "[["):
            opened.append((at, sign == "{{", []))
            depth += sign == "{{"
        elif sign == "|" and opened:
            opened[-1][2].append(at)
        elif sign == "}}" and depth:
            pipes = _closed(opened)
            depth -= 1
            yield _template(text, [*pipes, at])
        elif sign == "]]" and opened and not opened[-1][1]:
            opened.pop()


def _closed(opened: list[tuple[int, bool, list[int]]]) -> list[int]:
    """Close the innermost template, with links in it that nobody closed; return its bounds."""
    while not opened[-1][1]:
        opened.pop()
    start, _, pipes = opened.pop()
    return [start + 1, *pipes]


def _template(text: str, bounds: Sequence[int]) -> Template:
    """Return the template whose parts begin behind *bounds*."""
    name, *parts = (TextSpan(start + 1, end) for start, end in pairwise(bounds))
    fields = {}
    for start, end in parts:
        equals = text.find("=", start, end)
        if equals >= 0 and end - start <= _LONGEST:
            # Of equal names MediaWiki takes the last.
            fields[text[start:equals].strip().lower()] = _field(text, equals + 1, end)
    return Template(text[name.start : name.end].strip().lower(), fields)


def _field(text: str, start: int, end: int) -> Field:
    raw = text[start:end]
    comment = raw.find("<!--")
    if comment >= 0 and not unfolded(raw[comment:]):
        # Behind the value; it stays there.
        raw = raw[:comment]
    begin = start + len(raw) - len(raw.lstrip())
    value = raw.strip()
    # An empty value stands behind its sign, not behind the line break that follows.
    begin = begin if value else start
    return Field(unfolded(value), TextSpan(begin, begin + len(value)))


def _bare(
    text: str, is_archive_link: IsArchiveLink, taken: Sequence[TextSpan]
) -> Iterator[Found]:
    for match in _URL.finditer(text):
        start = match.start()
        bracketed = text.startswith("[", start - 1) if start else False
        written = match[0] if bracketed else _without_end(match[0])
        link = unfolded(written)
        if not _is_inside(start, taken) and is_archive_link(link):
            yield (
                start,
                ReferencePlace(Item(0, link, (link,)), TextSpan(start, start + len(written))),
            )


def _without_end(link: str) -> str:
    # As MediaWiki does: a parenthesis is part of a link in which one is opened.
    return link.rstrip(_AFTER_LINK if "(" in link else f"{_AFTER_LINK})")


def _is_inside(at: int, spans: Sequence[TextSpan]) -> bool:
    """Whether *at* is in one of *spans*, which are in order and do not overlap."""
    before = bisect_right(spans, at, key=lambda span: span.start)
    return before > 0 and at < spans[before - 1].end


def _hidden(text: str) -> Iterator[TextSpan]:
    """Yield comments, and what stands between tags that switch wikitext off."""
    at = 0
    unclosed: set[str] = set()
    while match := _HIDING.search(text, at):
        kind = (match[1] or "").lower()
        at = match.end()
        if kind in unclosed or match[0].endswith("/>"):
            continue
        end = _end_of_hidden(text, kind, at)
        if end is None:
            # Looked for once to the end of the page, and not again for all others of its kind.
            unclosed.add(kind)
        else:
            yield TextSpan(match.start(), end)
            at = end


def _end_of_hidden(text: str, kind: str, at: int) -> int | None:
    if not kind:
        end = text.find("-->", at)
        # MediaWiki: a comment that nobody closes reaches to the end of the page.
        return len(text) if end < 0 else end + 3
    closing = _CLOSING[kind].search(text, at)
    return closing.end() if closing else None
