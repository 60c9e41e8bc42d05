"""References in BibTeX, each with its place, so that a file can be rewritten in place."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from archives.possessive import compiled
from timegate.bulk.bibtex_entries import Value, entries
from timegate.bulk.item import Item
from timegate.bulk.place import ReferencePlace, TextSpan
from timegate.bulk.wikitext import IsArchiveLink

# Signs that mean something to TeX, as people write them into links.
_ESCAPE: Final = (
    r"\{\\[_%&#~$^]\}|\\~\{\}|\\[_%&#~$^]|\{\\textasciitilde\}|\\textasciitilde(?:\{\})?+"
    r"|\{\$\\sim\$\}|\$\\sim\$|\\string~"
)
_ESCAPED: Final = compiled(_ESCAPE)
_URL: Final = compiled(rf"https?://(?:{_ESCAPE}|[^\s{{}}<>\"\\])++", re.IGNORECASE)
_COMMAND: Final = compiled(r"\\[A-Za-z]++|[{}]")
_ACCESSED: Final = compiled(
    r"\b(?:accessed|retrieved|visited)(?: on)?[:,]?\s{1,4}"
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9A-Za-z ,.-]{3,20}?[0-9]{4})(?![0-9])",
    re.IGNORECASE,
)
_AFTER_LINK: Final = ",;.:!?'"
_LINKS: Final = ("archiveurl", "url")
_WITH_LINKS: Final = (*_LINKS, "howpublished", "note", "eprint", "addendum")
_DATES: Final = ("archivedate", "urldate", "lastaccessed", "lastchecked", "accessed", "date")
_NOTHING: Final = Value("", None)

Fields = Mapping[str, Value]


def read_bibtex(text: str, is_archive_link: IsArchiveLink) -> Iterator[ReferencePlace]:
    """Yield the reference of every entry that has one, in order."""
    places = (_place(fields, is_archive_link) for fields in entries(text))
    for position, place in enumerate(filter(None, places)):
        yield place._replace(item=place.item._replace(position=position))


def _place(fields: Fields, is_archive_link: IsArchiveLink) -> ReferencePlace | None:
    links = [
        link
        for name in _WITH_LINKS
        if name in fields and not fields[name].trouble
        for link in _links(fields[name], whole=name in _LINKS)
    ]
    if not links:
        return _without_link(fields)
    # The link into an archive says most: which page, and when.
    archived = next((link for link in links if is_archive_link(link[0])), None)
    first = archived or links[0]
    references = (first[0], *(link for link, _ in links if link != first[0]))
    item = Item(0, first[0], references, tuple(_dates(fields)))
    date = fields.get("archivedate")
    return ReferencePlace(item, archived[1] if archived else None, date.span if date else None)


def _without_link(fields: Fields) -> ReferencePlace | None:
    """Return what stands where a link should be, so that it is asked for, or told as bad."""
    for name in _LINKS:
        value = fields.get(name, _NOTHING)
        text = _COMMAND.sub("", _unescaped(value.text)).strip()
        if text or value.trouble:
            item = Item(0, text or name, (text or name,), tuple(_dates(fields)), value.trouble)
            return ReferencePlace(item, None)
    return None


def _links(value: Value, *, whole: bool) -> Iterator[tuple[str, TextSpan | None]]:
    """Yield the links in *value*; in a sentence, without what ends the sentence."""
    for match in _URL.finditer(value.text):
        link = match[0] if whole else _without_end(match[0])
        span = None
        if value.span is not None:
            start = value.span.start + match.start()
            span = TextSpan(start, start + len(link))
        yield _unescaped(link), span


def _without_end(link: str) -> str:
    end = len(link)
    unopened = link.count(")") - link.count("(")
    while link[end - 1] in _AFTER_LINK or (link[end - 1] == ")" and unopened > 0):
        end -= 1
        unopened -= link[end] == ")"
    return link[:end]


def _unescaped(link: str) -> str:
    return _ESCAPED.sub(_sign, link)


def _sign(escape: re.Match[str]) -> str:
    return next((sign for sign in "_%&#^" if sign in escape[0]), None) or (
        "$" if escape[0] in ("\\$", "{\\$}") else "~"
    )


def _dates(fields: Fields) -> Iterator[str]:
    for name in _DATES:
        yield from filter(None, [_plain(fields, name)])
    for name in ("note", "howpublished", "addendum"):
        yield from _ACCESSED.findall(_plain(fields, name))
    year, month = _plain(fields, "year"), _plain(fields, "month")
    if year and month:
        yield f"{month} {year}"
    if year:
        yield year


def _plain(fields: Fields, name: str) -> str:
    """Return the text of a field without braces and ties; empty where there is none."""
    value = fields.get(name)
    if value is None or value.trouble:
        return ""
    return value.text.replace("~", " ").strip("{}[] \t\r\n")
