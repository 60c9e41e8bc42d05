"""References in wikitext, each with its place, so that a page can be rewritten in place.

Read are templates that cite, and archive links by themselves. The scanner is our own because
places are what counts: mwparserfromhell builds a tree of the page whose nodes do not know where
they stood. One pass, no recursion, linear in the length of the page.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from archives.possessive import compiled
from timegate.bulk.citations import Field, Found, Template, cited_by
from timegate.bulk.item import Item
from timegate.bulk.place import ReferencePlace, TextSpan
from timegate.bulk.unfolding import unfolded

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
