"""Reader of wikitext: citations and archive links with their positions, for rewriting.

mwparserfromhell is not used because the nodes of its tree do not know their positions in the
page. This scanner makes one pass without recursion, in time linear in the length of the page.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import Item, TextSpan
from timegate.references.dates import (
    DateBasis,
    FoundDate,
    basis_of_name,
    field_date,
    stated_date,
)
from timegate.references.model import ReferencePlace, cited
from timegate.text.html import decode_entities
from timegate.text.written_dates import find_dates

_DATE: Final = compiled(
    r"([0-9]{1,2})(?:\.|er|º)?\s{1,3}(?:de\s|di\s)?([^\W\d_]{3,10})\.?\s{1,3}(?:de\s|del\s)?([0-9]{4})"
)
# Months by their first letters, which are unique within each of these languages.
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
# English names are read by `timegate.text.times`; they stay as written.
_ENGLISH: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)


def iso_date(date: str) -> str:
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


# Templates for characters that have a meaning inside templates.
_ESCAPED: Final = compiled(r"\{\{\s{0,9}([=!])\s{0,9}\}\}|</?nowiki\s{0,9}/?>")
_CHARACTERS: Final = {"=": "=", "!": "|", None: ""}
# A template after a link, such as {{dead link}}.
_NOTE: Final = compiled(r"\s++\{\{")


def unescaped(text: str) -> str:
    """Return *text* without comments and trailing templates, with escapes decoded."""
    plain = _ESCAPED.sub(lambda escape: _CHARACTERS[escape[1]], _without_comments(text))
    note = _NOTE.search(plain)
    return decode_entities(plain[: note.start()] if note else plain).strip()


def unreadable(link: str) -> str:
    """Return why the unescaped *link* cannot be resolved; empty if it can."""
    if "{{" in link or "[[" in link:
        return "a template in the link, whose text is not known"
    return ""


def _without_comments(text: str) -> str:
    pieces = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        pieces.append(text[at:start])
        end = text.find("-->", start)
        at = end + len("-->") if end >= 0 else len(text)
    return "".join([*pieces, text[at:]])


_LINKS: Final = (
    *("archive-url", "archiveurl", "archiv-url", "archivurl", "arkivurl", "arkiv-url"),
    *("archiefurl", "archief-url", "urlarchivo", "url-archivo", "urlarchivio", "arquivourl"),
)
_LINK_DATES: Final = (
    *("archive-date", "archivedate", "archiv-datum", "archivdatum", "arkivdato", "arkiv-dato"),
    *("arkivdatum", "archiefdatum", "fechaarchivo", "fecha-archivo", "dataarchivio"),
    "arquivodata",
)
_ACCESS_DATES: Final = (
    *("access-date", "accessdate", "abruf", "zugriff", "consulté le", "besøgsdato"),
    *("besøksdato", "hämtdatum", "bezochtdatum", "fechaacceso", "fecha-acceso", "accesso"),
    *("acessodata", "viitattu", "data dostępu", "дата обращения"),
    *("datum přístupu", "consulta", "accessdate2", "retrieved", "hentet", "besøgt"),
)
_DATES: Final[tuple[tuple[DateBasis, tuple[str, ...]], ...]] = (
    ("archived", _LINK_DATES),
    ("accessed", _ACCESS_DATES),
    (
        "published",
        (
            "date",
            "datum",
            "dato",
            "fecha",
            "data",
            "année",
            "year",
            "año",
            "anno",
            "tarih",
            "ajankohta",
        ),
    ),
)
_YEAR: Final = compiled(r"[0-9]{4}")
_KNOWN_DATES: Final = frozenset(name for _, names in _DATES for name in names)
_URLS: Final = (
    *("url", "website", "lien", "lire en ligne", "enlace", "chapter-url", "weblink", "online"),
    *("ссылка", "посилання", "adres", "adresse", "indirizzo", "uri"),
)
_EXTERNAL: Final = compiled(r"\[\s{0,4}(https?://[^\s\]]++)")
_URL_TEMPLATE: Final = compiled(
    r"\{\{\s{0,4}url\s{0,4}\|\s{0,4}([^\s|{}]++)[^{}]{0,200}\}\}", re.IGNORECASE
)
_TITLES: Final = ("title", "titel", "titre", "título", "titulo", "titolo", "заглавие")
_QUOTES: Final = (
    "quote",
    "zitat",
    "citat",
    "cita",
    "citazione",
    "quotation",
    "sitat",
    "citaat",
)
_MARKUP: Final = compiled(
    r"\[\[(?:[^\[\]|]{0,200}\|)?([^\[\]|]{1,500})\]\]|'{2,5}|<[^<>]{1,200}>"
)
_DEAD: Final = {
    *(("url-status", "dead"), ("url-status", "usurped"), ("dead-url", "yes")),
    *(("deadurl", "yes"), ("offline", "1"), ("offline", "ja")),
}
_OF_DEAD_LINKS: Final = compiled(
    r"dead ?link|toter link|lien (?:mort|brisé)|enlace roto|link quebrado"
    r"|collegamento interrotto|dode link|dødt link|død lenke|död länk|martwy link"
    r"|мёртвая ссылка|недоступная ссылка"
    r"|リンク切れ|broken link|linkrot|verweis tot|defekter weblink"
)
_DEAD_TAG: Final = compiled(
    rf"\{{\{{\s{{0,4}}(?:{_OF_DEAD_LINKS.pattern})\b([^{{}}]{{0,300}})\}}\}}", re.IGNORECASE
)
_BEFORE_TAG: Final = compiled(r"[ \t.,;]{0,9}+")
_WEBARCHIVE: Final = ("webarchive", "wayback")
_STAMPED: Final = {"webarchiv": "wayback", "lien archive": "horodatage archive"}
"""Templates with the timestamp of a copy in the Wayback Machine, and its parameter."""
_ARCHIVE_TODAY: Final = ("archive-is", "archive-today", "archive.is")
_SHORTEST_STAMP: Final = len("20101105")
_MISSING: Final = {
    "internetquelle": (" |archiv-url=", " |archiv-datum="),
    "kilde www": (" |arkivurl=", " |arkivdato="),
    "lien web": (" |archive-url=", " |archive-date="),
}

"""Templates with other names for the link to a copy, and for its date."""
_ENGLISH_CITATIONS: Final = ("cite ", "citation")


class Field(NamedTuple):
    """A parameter of a template: its value and its position."""

    value: str
    span: TextSpan
    comment: str = ""
    """What is in comments, of a field without a value."""


class Template(NamedTuple):
    """A template in a page."""

    name: str
    fields: Mapping[str, Field]
    end: int
    """The position after its braces."""

    def first(self, names: Sequence[str]) -> Field | None:
        """Return the first field with one of *names*; None if there is none."""
        return next((self.fields[name] for name in names if name in self.fields), None)

    def value(self, *names: str) -> str:
        """Return the first value that is not empty of the fields *names*."""
        values = (self.fields[name].value for name in names if name in self.fields)
        return next(filter(None, values), "")


Found = tuple[int, ReferencePlace]
"""The position of a reference in the page, and its ranges."""


def cited_by(
    template: Template,
    *,
    living: bool = False,
    adding: bool = False,
    tag: re.Match[str] | None = None,
) -> Found | None:
    """Return the reference of a citation with an archive link, or with a dead link.

    *living*: also of one whose link is not marked as dead; it is not rewritten unless *adding*.
    *tag* is the template after it which says that its link is dead.
    """
    if template.name in _WEBARCHIVE:
        return _webarchive(template)
    if template.name in _STAMPED:
        today = next((name for name in _ARCHIVE_TODAY if template.value(name)), "")
        return _stamped(template, today or _STAMPED[template.name])
    link, date = template.first(_LINKS), template.first(_LINK_DATES)
    url_field = template.first(_URLS)
    archive_link = link.value if link else ""
    url = _address(url_field.value) if url_field else ""
    named = url or (living and template.value("doi").startswith("10."))
    is_dead = tag is not None or _is_dead(template)
    if not archive_link and not (named and (living or is_dead)):
        return None
    doi = template.value("doi")
    also = f"https://doi.org/{doi}" if doi.startswith("10.") else ""
    references = tuple(filter(None, (archive_link, url, also)))
    trouble = unreadable(references[0])
    dates = tuple(_dates(template)) or (() if tag is None else tuple(_dead_since(tag)))
    place = cited(references, dates, trouble)
    place = place._replace(
        item=place.item._replace(quote=_quoted(template.value(*_QUOTES))),
        where=(url_field or link or template.fields["doi"]).span,
        title=_plain(template.value(*_TITLES)),
        url_status="dead" if is_dead else template.value("url-status"),
    )
    if link is not None:
        place = place._replace(link=link.span, date=date.span if date else None)
        return link.span.start, place
    end = url_field.span.end if url_field else template.fields["doi"].span.end
    is_english = template.name.startswith(_ENGLISH_CITATIONS)
    is_named = is_english or template.name in _MISSING
    if not ((is_dead or adding) and (is_named or _is_dead(template))):
        return end, place
    return end, _missing(template.name, place, TextSpan(end, end), date)


def _quoted(value: str) -> str:
    """Return a quotation without markup; empty if it contains a template."""
    return "" if "{{" in value else _plain(value)


def _plain(value: str) -> str:
    """Return *value* as it is displayed: of links their words, without quotes and tags."""
    return _MARKUP.sub(lambda found: found[1] or "", value).strip()


def _address(value: str) -> str:
    """Return the address in *value*, which may be an external link with its words."""
    linked = _EXTERNAL.match(value) or _URL_TEMPLATE.fullmatch(value)
    return linked[1] if linked else value


def _dates(template: Template) -> Iterator[FoundDate]:
    if _OF_DEAD_LINKS.search(template.name):
        # When the link was found dead says nothing of when it was not.
        values = (field.value for field in template.fields.values())
        yield from filter(None, (stated_date(value, "dead") for value in values))
        return
    year = template.value("accessyear")
    for basis, names in _DATES:
        for name in names:
            written = template.value(name)
            if basis == "accessed" and written and year and not _YEAR.search(written):
                written = f"{written} {year}"
            yield from field_date(iso_date(written), basis)
    for name, field in template.fields.items():
        if name not in _KNOWN_DATES:
            yield from _date_of(name, field.value)
        # What is in a comment was taken out, perhaps because it is wrong.
        hidden = find_dates(field.comment)
        yield from (FoundDate(each.text, None, "accessed") for each in hidden)
    month = template.value("accessmonthday", "accessdaymonth", "accessmonth")
    if month and year:
        yield from field_date(f"{month} {year}", "accessed")


def _date_of(name: str, value: str) -> Iterator[FoundDate]:
    """Yield the date in a field whose name is that of another language, or of anything."""
    basis = basis_of_name(name)
    if "://" in value:
        # The name of a link, such as archive-url, has the same words.
        return
    if basis in ("archived", "accessed"):
        yield from field_date(value, basis)
    elif date := stated_date(value, basis or "unmarked"):
        yield date


def _is_dead(template: Template) -> bool:
    marked = any(template.value(name).lower() == value for name, value in _DEAD)
    return marked or bool(template.value("brisé le"))


def _missing(
    name: str, place: ReferencePlace, end: TextSpan, date: Field | None
) -> ReferencePlace:
    """Return where to insert an archive link, with the parameter names of the template."""
    link, new_date = _MISSING.get(name, (" |archive-url=", " |archive-date="))
    if date is not None:
        return place._replace(link=end, date=date.span, before_link=link)
    return place._replace(link=end, date=end, before_link=link, before_date=new_date)


def _webarchive(template: Template) -> Found | None:
    link, date = template.first(("url",)), template.first(("date",))
    if link is None or not link.value:
        return None
    if date and date.value.isdecimal() and len(date.value) >= _SHORTEST_STAMP:
        return _stamped(template, "date")
    dates = tuple(field_date(iso_date(date.value), "archived")) if date else ()
    span = date.span if date else None
    trouble = unreadable(link.value)
    place = cited((link.value,), dates, trouble)
    return link.span.start, place._replace(link=link.span, date=span)


def _stamped(template: Template, name: str) -> Found | None:
    url, stamp = template.first(("url",)), template.value(name)
    if url is None or not url.value or not stamp:
        return None
    host = "archive.today" if name in _ARCHIVE_TODAY else "web.archive.org/web"
    link = f"https://{host}/{stamp}/{url.value}"
    item = Item(0, link, (link, url.value), (), unreadable(link))
    return url.span.start, ReferencePlace(item, None, where=url.span)


IsArchiveLink = Callable[[str], bool]

_LONGEST: Final = 16_384
"""Characters; a longer parameter is neither a link nor a date."""
_BRACKET: Final = compiled(r"\{\{|\}\}|\[\[|\]\]|\|")
_HIDING: Final = compiled(r"<!--|<(nowiki|pre|source)\b[^<>]{0,200}>", re.IGNORECASE)
_CLOSING: Final = {
    tag: compiled(f"</{tag}[ \t]{{0,9}}>", re.IGNORECASE) for tag in ("nowiki", "pre", "source")
}
_URL: Final = compiled(r"https?://(?:\{\{[=!]\}\}|[^\s|\[\]{}<>\"])++", re.IGNORECASE)
# MediaWiki excludes these at the end of a bare link (Parser: closing punctuation).
_AFTER_LINK: Final = ",;.:!?'"


def read_wikitext(
    text: str, is_archive_link: IsArchiveLink, *, living: bool = False, adding: bool = False
) -> Iterator[ReferencePlace]:
    """Yield every reference of *text* with an archive link or a dead link, in order.

    *living*: also every citation whose link is not marked as dead; with *adding*, with the
    position of a new archive link.
    """
    hidden = [*_hidden(text)]
    citations = [
        found
        for each in templates(text, hidden)
        if (found := cited_by(each, living=living, adding=adding, tag=_tag_after(text, each)))
    ]
    taken = sorted(
        [span for _, place in citations for span in (place.link, place.date) if span] + hidden
    )
    bare = _bare(text, is_archive_link, taken)
    in_order = sorted([*citations, *bare], key=lambda found: found[0])
    for position, (_, place) in enumerate(in_order):
        yield place._replace(item=place.item._replace(position=position))


class DeadTag(NamedTuple):
    """A template that says since when a link is known to be dead."""

    start: int
    date: FoundDate


def dead_tags(text: str) -> Iterator[DeadTag]:
    """Yield the tags of dead links that have a date, in order."""
    for tag in _DEAD_TAG.finditer(text):
        yield from (DeadTag(tag.start(), date) for date in _dead_since(tag))


def _dead_since(tag: re.Match[str]) -> Iterator[FoundDate]:
    """Yield the date in the *tag* of a dead link, if it has one."""
    values = (field.rpartition("=")[2] for field in tag[1].split("|"))
    yield from islice(filter(None, (stated_date(value, "dead") for value in values)), 1)


def _tag_after(text: str, template: Template) -> re.Match[str] | None:
    """Return the tag of a dead link right after *template*; None if there is none."""
    blank = _BEFORE_TAG.match(text, template.end)
    return _DEAD_TAG.match(text, blank.end()) if blank else None


def template_spans(text: str) -> Iterator[TextSpan]:
    """Yield the outermost templates, comments and text without wikitext, in order."""
    hidden = [*_hidden(text)]
    spans = [*hidden]
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if _is_inside(match.start(), hidden):
            continue
        if match[0] == "{{":
            opened.append(match.start())
        elif match[0] == "}}" and opened:
            start = opened.pop()
            if not opened:
                spans.append(TextSpan(start, match.end()))
    end = 0
    for span in sorted(spans):
        if span.start >= end:
            yield span
            end = span.end


def templates(text: str, hidden: Sequence[TextSpan]) -> Iterator[Template]:
    """Yield the templates of *text*, inner ones before outer ones."""
    # Open brackets: index, whether it opens a template, indexes of its pipes.
    opened: list[tuple[int, bool, list[int]]] = []
    depth = 0
    for match in _BRACKET.finditer(text):
        mark, at = match[0], match.start()
        if _is_inside(at, hidden):
            continue
        if mark in ("{{", "[["):
            opened.append((at, mark == "{{", []))
            depth += mark == "{{"
        elif mark == "|" and opened:
            opened[-1][2].append(at)
        elif mark == "}}" and depth:
            pipes = _closed(opened)
            depth -= 1
            yield _template(text, [*pipes, at])
        elif mark == "]]" and opened and not opened[-1][1]:
            opened.pop()


def _closed(opened: list[tuple[int, bool, list[int]]]) -> list[int]:
    """Close the innermost template and unclosed links in it; return its bounds."""
    while not opened[-1][1]:
        opened.pop()
    start, _, pipes = opened.pop()
    return [start + 1, *pipes]


def _template(text: str, bounds: Sequence[int]) -> Template:
    """Return the template whose parts begin after *bounds*."""
    name, *parts = (TextSpan(start + 1, end) for start, end in pairwise(bounds))
    fields = {}
    for start, end in parts:
        equals = text.find("=", start, end)
        if equals >= 0 and end - start <= _LONGEST:
            # MediaWiki uses the last of equal names.
            fields[text[start:equals].strip().lower()] = _field(text, equals + 1, end)
    end = bounds[-1] + len("}}")
    return Template(text[name.start : name.end].strip().lower(), fields, end)


def _field(text: str, start: int, end: int) -> Field:
    raw = text[start:end]
    comment = raw.find("<!--")
    if comment >= 0 and not unescaped(raw[comment:]):
        # A comment after the value stays there.
        raw = raw[:comment]
    begin = start + len(raw) - len(raw.lstrip())
    value = raw.strip()
    # An empty value is right after the equals sign, before a line break.
    begin = begin if value else start
    hidden = "" if value else text[start:end][:_LONGEST_COMMENT]
    return Field(unescaped(value), TextSpan(begin, begin + len(value)), hidden.strip())


_LONGEST_COMMENT: Final = 200


def _bare(
    text: str, is_archive_link: IsArchiveLink, taken: Sequence[TextSpan]
) -> Iterator[Found]:
    for match in _URL.finditer(text):
        start = match.start()
        bracketed = text.startswith("[", start - 1) if start else False
        written = match[0] if bracketed else _without_punctuation(match[0])
        link = unescaped(written)
        if not _is_inside(start, taken) and is_archive_link(link):
            yield (
                start,
                ReferencePlace(Item(0, link, (link,)), TextSpan(start, start + len(written))),
            )


def _without_punctuation(link: str) -> str:
    # As in MediaWiki: a closing parenthesis belongs to a link that contains an opening one.
    return link.rstrip(_AFTER_LINK if "(" in link else f"{_AFTER_LINK})")


def _is_inside(at: int, spans: Sequence[TextSpan]) -> bool:
    """Whether *at* is in one of *spans*, which are in order without overlap."""
    before = bisect_right(spans, at, key=lambda span: span.start)
    return before > 0 and at < spans[before - 1].end


def _hidden(text: str) -> Iterator[TextSpan]:
    """Yield comments, and text between tags that disable wikitext."""
    at = 0
    unclosed: set[str] = set()
    while match := _HIDING.search(text, at):
        kind = (match[1] or "").lower()
        at = match.end()
        if kind in unclosed or match[0].endswith("/>"):
            continue
        end = _end_of_hidden(text, kind, at)
        if end is None:
            # Do not search to the end of the page again for other tags of this kind.
            unclosed.add(kind)
        else:
            yield TextSpan(match.start(), end)
            at = end


def _end_of_hidden(text: str, kind: str, at: int) -> int | None:
    if not kind:
        end = text.find("-->", at)
        # MediaWiki: an unclosed comment extends to the end of the page.
        return len(text) if end < 0 else end + 3
    closing = _CLOSING[kind].search(text, at)
    return closing.end() if closing else None
