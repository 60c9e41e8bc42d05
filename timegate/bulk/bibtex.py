"""References in BibTeX, each with its place, so that a file can be rewritten in place.

The scanner is our own because places are what counts, which bibtexparser does not keep. An
entry ends where the next line that begins with ``@`` starts, at the latest: so one brace too
few spoils one entry and not the rest, and the scan stays linear.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from timegate.bulk.item import Item
from timegate.bulk.place import Place, Span
from timegate.bulk.wikitext import Field, IsArchiveLink

_START: Final = re.compile(r"^[ \t]{0,64}@([A-Za-z]{1,64})[ \t\r\n]{0,64}[{(]", re.MULTILINE)
_FIELD: Final = re.compile(r"[\s,]*+([A-Za-z][A-Za-z0-9_:.+-]*+)\s*+=\s*+")
_KEY: Final = re.compile(r"[^,=\"{}]*+,")
_BARE: Final = re.compile(r"[^\s,{}\"#]++")
_URL: Final = re.compile(r"https?://[^\s{}<>\",]++", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\([_%&#~$])")
_AFTER_LINK: Final = ",;.:!?')\\"
_NOT_ENTRIES: Final = ("comment", "string", "preamble")
_WITH_LINKS: Final = ("archiveurl", "url", "howpublished", "note", "eprint", "addendum")
_DATES: Final = ("archivedate", "urldate", "date")


def read_bibtex(text: str, is_archive_link: IsArchiveLink) -> Iterator[Place]:
    """Yield the reference of every entry that has one, in order."""
    starts = [*_START.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    position = 0
    for match, end in zip(starts, ends, strict=False):
        if match[1].lower() in _NOT_ENTRIES:
            continue
        place = _place(fields_of(text, match.end(), end), is_archive_link)
        if place is not None:
            yield place._replace(item=place.item._replace(position=position))
            position += 1


def fields_of(text: str, start: int, end: int) -> Mapping[str, Field]:
    """Return the fields of the entry that is opened before *start*; the first of equals."""
    fields: dict[str, Field] = {}
    key = _KEY.match(text, start, end)
    at = key.end() if key else start
    while match := _FIELD.match(text, at, end):
        span, at = _value(text, match.end(), end)
        fields.setdefault(match[1].lower(), Field(text[span.start : span.end], span))
    return fields


def _value(text: str, start: int, end: int) -> tuple[Span, int]:
    """Return where the value is without its braces or quotes, and where it ends with them."""
    opening = text[start : start + 1]
    if opening in ("{", '"'):
        closing = _balanced(text, start + 1, end, "}" if opening == "{" else '"')
        return Span(start + 1, closing), closing + 1
    bare = _BARE.match(text, start, end)
    stop = bare.end() if bare else start
    return Span(start, stop), stop


_TURN: Final = re.compile(r"[{}\"]")


def _balanced(text: str, start: int, end: int, closing: str) -> int:
    """Return where the *closing* of the same depth is; *end* where it is missing."""
    depth = 0
    for match in _TURN.finditer(text, start, end):
        if match[0] == closing and depth == 0:
            return match.start()
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
    return end


def _place(fields: Mapping[str, Field], is_archive_link: IsArchiveLink) -> Place | None:
    links = [
        (_unescaped(link), span)
        for name in _WITH_LINKS
        if name in fields
        for link, span in _links(fields[name])
    ]
    if not links:
        return None
    # The link into an archive says most: which page, and when.
    archived = next((link for link in links if is_archive_link(link[0])), None)
    first = archived or links[0]
    references = (first[0], *(link for link, _ in links if link != first[0]))
    item = Item(0, first[0], references, tuple(_dates(fields)))
    date = fields.get("archivedate")
    return Place(item, archived[1] if archived else None, date.span if date else None)


def _links(field: Field) -> Iterator[tuple[str, Span]]:
    for match in _URL.finditer(field.value):
        link = match[0].rstrip(_AFTER_LINK)
        start = field.span.start + match.start()
        yield link, Span(start, start + len(link))


def _unescaped(link: str) -> str:
    return _ESCAPED.sub(r"\1", link)


def _dates(fields: Mapping[str, Field]) -> Iterator[str]:
    for name in _DATES:
        if name in fields and fields[name].value.strip():
            yield fields[name].value.strip()
    year = fields["year"].value.strip() if "year" in fields else ""
    if year and "month" in fields:
        yield f"{fields['month'].value.strip()} {year}"
    if year:
        yield year
