"""Reader of XML lists, such as the parts of a page by SolrWayback, and of sitemaps.

Such lists are often not well-formed: SolrWayback writes elements without a root, and URLs
without escapes. So the text between tags is read, and the attributes that name references.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.links import TextLink, find_links

_TAG: Final = compiled(r"<!--|<!\[CDATA\[|\]\]>|<[!?/]?[A-Za-z_][^<>]{0,8000}>")
_ATTRIBUTE: Final = compiled(
    r"\s(?:[\w.-]{1,40}:)?(?:href|src|(?:xml|html)?url|uri|pwid|target|identifier|ref|about|id)\s{0,9}=\s{0,9}"
    r"(?:\"([^\"<>]{1,8192}+)\"|'([^'<>]{1,8192}+)')",
    re.IGNORECASE,
)
_ACCESSED: Final = compiled(
    r"\s\w{0,20}access(?:ed|date)\s{0,4}=\s{0,4}[\"']([0-9][0-9T:.Z+-]{3,30})[\"']",
    re.IGNORECASE,
)
"""An attribute with a date of access, as in MODS; it is not shorter than "accessed" and it."""
_ACCESS: Final = compiled(
    r"<(?:[\w.-]{1,40}:)?(?:access(?:ed)?-?_?date|date-?_?access(?:ed)?|accessed|urldate|date-?retrieved)\s{0,4}>",
    re.IGNORECASE,
)
"""An element with a date of access, as in EndNote's XML."""
_TYPED: Final = compiled(
    r"<[\w.:-]{1,60}\s[^<>]{0,200}?\b(?:content-|date-?)type\s{0,4}=\s{0,4}[\"'](?:"
    r"(?P<accessed>access|accessed|access-?date|date-?accessed|retrieved|consulted|cited|urldate)"
    r"|(?P<published>pub|published|publication|issued|updated|created|copyright|modified|available|submitted))[\"']",
    re.IGNORECASE,
)
"""An element whose attribute says of what the date in it is: in JATS and DataCite."""
_STATED: Final = compiled(
    r"\s(?:iso-8601-date|when|when-iso)\s{0,4}=\s{0,4}[\"']([0-9]{4}(?:-[0-9]{2}){0,2})[\"']",
    re.IGNORECASE,
)
"""The date of such an element as an attribute."""
_PUBLISHED: Final = compiled(
    r"<(?:[\w.-]{1,40}:)?(?:updated|published|pubdate|lastmod|lastbuilddate|modified|created|issued)\s{0,4}>",
    re.IGNORECASE,
)
"""An element with a date of publication, as in feeds; it is not shorter than "posted"."""
_OTHER_DATE: Final = compiled(
    r"\s(?:[\w.-]{1,40}:)?[\w-]{0,30}?(?:time|date|created|added|visited|saved|seen|stamp)[\w-]{0,10}"
    r"\s{0,4}=\s{0,4}[\"'](?P<date>[^\"'<>]{4,60})[\"']",
    re.IGNORECASE,
)
"""An attribute with a date beside that with the link, as of a bookmark: it is in doubt."""
_SUBMITTED: Final = compiled(r"<(?:[\w.-]{1,40}:)?dateSubmitted\s{0,4}>", re.IGNORECASE)
"""An element in which Zotero writes the date of access; elsewhere, it is of a thesis."""
_OF_ZOTERO: Final = compiled(r"<(?:z|bib):|zotero\.org/namespaces")
_PART: Final = compiled(
    r"<(?:[\w.-]{1,40}:)?(?P<kind>year|month|day)(?P<accessed>accessed)?\s{0,4}>\s{0,4}"
    r"(?P<value>[^\s<>]{1,20})\s{0,4}</[^<>]{1,60}>",
    re.IGNORECASE,
)
"""An element with a part of a date, as in JATS and in the sources of Word."""
# Elements of HTML with which a piece of a page may begin.
_PIECE: Final = compiled(
    r"<(?:a|abbr|article|b|blockquote|cite|dd|div|dl|dt|em|figure|footer|h[1-6]|header|i|iframe|img"
    r"|li|link|main|meta|nav|ol|p|pre|q|script|section|small|span|strong|style|sub|sup|table|td|th"
    r"|time|title|tr|ul|video)[\s/>]",
    re.IGNORECASE,
)
_ROOT: Final = compiled(r"<(?:\?xml\b|[A-Za-z_][\w.-]{0,60}(?::[\w.-]{1,60})?[\s/>])")


def is_xml(text: str) -> bool:
    """Whether *text* begins as XML does; pages in HTML must have been excluded before."""
    return _ROOT.match(text) is not None and _PIECE.match(text) is None


class _Part(NamedTuple):
    """An element with a part of a date."""

    span: TextSpan
    kind: str
    value: str
    accessed: bool

    @classmethod
    def of(cls, part: re.Match[str]) -> "_Part":
        span, kind = TextSpan(*part.span()), part["kind"].lower()
        return cls(span, kind, part["value"], bool(part["accessed"]))


def entries_of(text: str, links: Sequence[int]) -> list[TextSpan]:
    """Return the entries of a list: elements of one name with others in them, and with links.

    *links* are the positions of the links. A date in one entry is of no link in another; one
    outside the entries may be of all of them.
    """
    first: dict[str, list[int]] = {}
    for tag, following in pairwise(_TAG.finditer(text)):
        is_outer = not tag[0].endswith("/>") and following[0][1:2].isalpha()
        element = _NAME.match(tag[0]) if is_outer else None
        if element is not None and not text[tag.end() : following.start()].strip():
            first.setdefault(element[1], []).append(tag.start())
    for name, starts in first.items():
        spans = [TextSpan(*pair) for pair in pairwise([*starts, len(text)])]
        if sum(_has_link(span, links) for span in spans) > 1:
            return [_closed(text, name, span) for span in spans]
    return [TextSpan(0, len(text))]


_NAME: Final = compiled(r"<([A-Za-z_][\w.:-]{0,80})")


def _closed(text: str, name: str, entry: TextSpan) -> TextSpan:
    """Return *entry* up to the end of its element; what follows is of the whole list."""
    closing = text.rfind(f"</{name}", *entry)
    end = text.find(">", closing, entry.end) if closing >= 0 else -1
    return TextSpan(entry.start, end + 1) if end >= 0 else entry


def _has_link(span: TextSpan, links: Sequence[int]) -> bool:
    number = bisect_left(links, span.start)
    return number < len(links) and links[number] < span.end


def with_whole_dates(text: str, entries: Iterable[TextSpan]) -> str:
    """Return *text*, of the same length, with the parts of each date beside each other."""
    pieces, at = [], 0
    for entry in entries:
        parts = [_Part.of(part) for part in _PART.finditer(text, *entry)]
        for span, date in sorted(_joined(text, parts)):
            pieces += [text[at : span.start], date.ljust(span.end - span.start)]
            at = span.end
    return "".join([*pieces, text[at:]])


def _joined(text: str, parts: Sequence[_Part]) -> Iterator[tuple[TextSpan, str]]:
    """Yield what is to be written in place of *parts*: a date, or blanks."""
    accessed = [part for part in parts if part.accessed]
    groups = [accessed] if accessed else []
    for part in (each for each in parts if not each.accessed):
        last = groups[-1][-1] if groups else part
        is_beside = not text[last.span.end : part.span.start].strip()
        is_next = last is not part and is_beside and not last.accessed
        if is_next and part.kind not in (each.kind for each in groups[-1]):
            groups[-1].append(part)
        else:
            groups.append([part])
    for group in groups:
        values = {part.kind: part.value for part in group}
        if len(values) < len(group) or not ("year" in values or group[0].accessed):
            continue
        word = "accessed " if group[0].accessed else ""
        date = f"\n{word}{_date_of(values)}"
        whole = TextSpan(group[0].span.start, group[-1].span.end)
        gaps = (text[one.span.end : other.span.start] for one, other in pairwise(group))
        if not "".join(gaps).strip():
            yield whole, date
        elif len(date) <= group[0].span.end - whole.start:
            yield group[0].span, date
            yield from ((part.span, "") for part in group[1:])


def _date_of(values: Mapping[str, str]) -> str:
    named = [values[kind] for kind in ("day", "month", "year") if kind in values]
    if all(map(str.isdecimal, named)):
        return "-".join(value.zfill(2) for value in reversed(named))
    return " ".join(named)


def without_tags(text: str) -> str:
    """Return *text* with blanks in place of tags and comments, so that positions stay."""
    is_of_zotero = _OF_ZOTERO.search(text) is not None
    pieces, at = [], 0
    while tag := _TAG.search(text, at):
        end = tag.end()
        if tag[0] == "<!--":
            closing = text.find("-->", end)
            end = len(text) if closing < 0 else closing + 3
        # A line break keeps the text of neighbouring elements apart.
        is_access = is_of_zotero and _SUBMITTED.match(tag[0]) is not None
        shown = "\naccessed " if is_access else _shown(tag[0])
        pieces += [text[at : tag.start()], shown.ljust(end - tag.start())]
        at = end
    return "".join([*pieces, text[at:]])


def _shown(tag: str) -> str:
    """Return what is shown in place of *tag*: what it says of a date, on a line of its own."""
    if date := _ACCESSED.search(tag):
        return f"\naccessed {date[1]}"
    typed = _TYPED.match(tag)
    other = _OTHER_DATE.search(tag) if _ATTRIBUTE.search(tag) else None
    if typed is None and other is not None:
        return f"\n{other['date']:>{other.end('date') - 1}}"
    if typed is None:
        is_published = _PUBLISHED.match(tag) is not None
        return "\naccessed " if _ACCESS.match(tag) else "\nposted " if is_published else "\n"
    word = "accessed" if typed["accessed"] else "posted"
    stated = _STATED.search(tag)
    if stated is None:
        return f"\n{word} "
    if tag.endswith("/>"):
        return f"\n{word} {stated[1]}"
    # The same date follows in words; a different one leaves a doubt.
    return f"\n{f'{word} {stated[1]} and ':>{len(tag) - 1}}"


def attribute_links(text: str) -> Iterator[TextLink]:
    """Yield the links in attributes of elements; namespaces and schemas are none."""
    for tag in _TAG.finditer(text):
        for attribute in _ATTRIBUTE.finditer(tag[0]):
            group = 1 if attribute[1] is not None else 2
            value, start = attribute[group], tag.start() + attribute.start(group)
            link = next(find_links(value), None)
            if link is not None and link.span.start == 0:
                yield link._replace(span=TextSpan(start, start + link.span.end))
