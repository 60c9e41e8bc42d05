"""Reader of XML lists, such as the parts of a page by SolrWayback, and of sitemaps.

Such lists are often not well-formed: SolrWayback writes elements without a root, and URLs
without escapes. So the text between tags is read, and the attributes that name references.
"""

import re
from collections.abc import Iterator
from typing import Final

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.links import TextLink, find_links

_TAG: Final = compiled(r"<!--|<!\[CDATA\[|\]\]>|<[!?/]?[A-Za-z_][^<>]{0,8000}>")
_ATTRIBUTE: Final = compiled(
    r"\s(?:[\w.-]{1,40}:)?(?:href|src|(?:xml|html)?url|uri|pwid|target|identifier|ref|id)\s{0,9}=\s{0,9}"
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


def without_tags(text: str) -> str:
    """Return *text* with blanks in place of tags and comments, so that positions stay."""
    pieces, at = [], 0
    while tag := _TAG.search(text, at):
        end = tag.end()
        if tag[0] == "<!--":
            closing = text.find("-->", end)
            end = len(text) if closing < 0 else closing + 3
        # A line break keeps the text of neighbouring elements apart.
        pieces += [text[at : tag.start()], _shown(tag[0]).ljust(end - tag.start())]
        at = end
    return "".join([*pieces, text[at:]])


def _shown(tag: str) -> str:
    """Return what is shown in place of *tag*: what it says of a date, on a line of its own."""
    if date := _ACCESSED.search(tag):
        return f"\naccessed {date[1]}"
    typed = _TYPED.match(tag)
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
