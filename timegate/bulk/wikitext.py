"""References in wikitext, each with its place, so that a page can be rewritten in place.

Read are templates that cite (``archive-url``, ``archive-date``, ``url``, ``access-date``),
``{{webarchive}}``, and archive links by themselves. The scanner is our own because places are
what counts: mwparserfromhell builds a tree of the page whose nodes do not know where they
stood. One pass, no recursion, linear in the length of the page.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from timegate.bulk.item import Item
from timegate.bulk.place import Place, Span

IsArchiveLink = Callable[[str], bool]

_BRACKET: Final = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_HIDING: Final = re.compile(r"<!--|<(nowiki|pre|source)\b[^<>]{0,200}>", re.IGNORECASE)
_CLOSING: Final = {
    tag: re.compile(f"</{tag}[ \t]{{0,9}}>", re.IGNORECASE)
    for tag in ("nowiki", "pre", "source")
}
_URL: Final = re.compile(r"https?://[^\s|\[\]{}<>\"]++", re.IGNORECASE)
# MediaWiki leaves these out of a bare link if they end it (Parser: closing punctuation).
_AFTER_LINK: Final = ",;.:!?'"
_LINKS: Final = ("archive-url", "archiveurl")
_LINK_DATES: Final = ("archive-date", "archivedate")
_DATES: Final = (*_LINK_DATES, "access-date", "accessdate", "date", "year")
_DEAD: Final = {("url-status", "dead"), ("url-status", "usurped"), ("dead-url", "yes")}
_WEBARCHIVE: Final = ("webarchive", "wayback")


class Field(NamedTuple):
    """A parameter of a template: its value, and where that stands."""

    value: str
    span: Span


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


def read_wikitext(text: str, is_archive_link: IsArchiveLink) -> Iterator[Place]:
    """Yield every reference of *text* that has an archive link or wants one, in order."""
    hidden = [*_hidden(text)]
    cited = [place for one in templates(text, hidden) if (place := _cited(one))]
    taken = sorted(
        [span for place in cited for span in (place.link, place.date) if span] + hidden
    )
    places = [*cited, *_bare(text, is_archive_link, taken)]
    places.sort(key=lambda place: place.link or Span(0, 0))
    for position, place in enumerate(places):
        yield place._replace(item=place.item._replace(position=position))


def templates(text: str, hidden: Sequence[Span]) -> Iterator[Template]:
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
    name, *parts = (Span(start + 1, end) for start, end in pairwise(bounds))
    fields = {}
    for start, end in parts:
        equals = text.find("=", start, end)
        if equals >= 0:
            # Of equal names MediaWiki takes the last.
            fields[text[start:equals].strip().lower()] = _field(text, equals + 1, end)
    return Template(text[name.start : name.end].strip().lower(), fields)


def _field(text: str, start: int, end: int) -> Field:
    comment = text.find("<!--", start, end)
    value = text[start : comment if comment >= 0 else end]
    begin = start + len(value) - len(value.lstrip())
    value = value.strip()
    # An empty value stands behind its sign, not behind the line break that follows.
    begin = begin if value else start
    return Field(value, Span(begin, begin + len(value)))


def _cited(template: Template) -> Place | None:
    if template.name in _WEBARCHIVE:
        return _webarchive(template)
    url = template.value("url")
    link, date = template.first(_LINKS), template.first(_LINK_DATES)
    archive_link = link.value if link else ""
    dead = any(template.value(name).lower() == value for name, value in _DEAD)
    if not archive_link and not (dead and url):
        return None
    references = tuple(filter(None, (archive_link, url)))
    dates = tuple(filter(None, (template.value(name) for name in _DATES)))
    item = Item(0, references[0], references, dates)
    if link is not None:
        return Place(item, link.span, date.span if date else None)
    end = template.fields["url"].span.end
    place = Span(end, end)
    new_date = "" if date else " |archive-date="
    return Place(item, place, date.span if date else place, " |archive-url=", new_date)


def _webarchive(template: Template) -> Place | None:
    link, date = template.first(("url",)), template.first(("date",))
    if link is None or not link.value:
        return None
    dates = (date.value,) if date and date.value else ()
    item = Item(0, link.value, (link.value,), dates)
    return Place(item, link.span, date.span if date else None)


def _bare(text: str, is_archive_link: IsArchiveLink, taken: Sequence[Span]) -> Iterator[Place]:
    for match in _URL.finditer(text):
        link = match[0].rstrip(_AFTER_LINK)
        start = match.start()
        if not _is_inside(start, taken) and is_archive_link(link):
            yield Place(Item(0, link, (link,)), Span(start, start + len(link)))


def _is_inside(at: int, spans: Sequence[Span]) -> bool:
    """Whether *at* is in one of *spans*, which are in order and do not overlap."""
    before = bisect_right(spans, at, key=lambda span: span.start)
    return before > 0 and at < spans[before - 1].end


def _hidden(text: str) -> Iterator[Span]:
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
            yield Span(match.start(), end)
            at = end


def _end_of_hidden(text: str, kind: str, at: int) -> int | None:
    if not kind:
        end = text.find("-->", at)
        # MediaWiki: a comment that nobody closes reaches to the end of the page.
        return len(text) if end < 0 else end + 3
    closing = _CLOSING[kind].search(text, at)
    return closing.end() if closing else None
