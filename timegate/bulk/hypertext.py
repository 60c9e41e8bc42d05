"""References in a page of HTML: its links, and what Robust Links say of them.

A robust link names the copy beside the page, in either order: ``href`` with
``data-versionurl``, or a copy as ``href`` with ``data-originalurl``; ``data-versiondate`` is
the time that was meant (Robust Links 1.0). Links without a host are not read: nobody knows
where the page stood.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from archives.possessive import compiled
from timegate.bulk.item import Item
from timegate.cite.markup import page_text, small, tag_from, with_signs

_ATTRIBUTE: Final = compiled(
    r"[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']++)))?+"
)
_IDENTIFIERS: Final = ("http://", "https://", "urn:", "duri:", "tdb:", "pwid:", "pdi:")


def read_html(document: str) -> Iterator[Item]:
    """Yield the links of *document*, in order."""
    position = 0
    for attributes in _anchors(page_text(document.encode(errors="surrogateescape"))):
        references = tuple(_references(attributes))
        if references:
            dates = tuple(filter(None, [attributes.get("data-versiondate", "")]))
            yield Item(position, references[0], references, dates)
            position += 1


def _anchors(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the attributes of each ``a``; of equal ones the first counts."""
    lower = small(text)
    at = 0
    while tag := tag_from(lower, at):
        at = tag.onward
        if tag.name == "a":
            attributes: dict[str, str] = {}
            at = tag.start + len("<a")
            while attribute := _ATTRIBUTE.match(text, at):
                name, *values = attribute.groups(default="")
                attributes.setdefault(small(name), with_signs("".join(values)).strip())
                at = attribute.end()
            yield attributes


def _references(attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the link and its like, the copy first: it says most."""
    # Robust Links allow several copies, with blanks between.
    copies = attributes.get("data-versionurl", "").split()[:1]
    named = [*copies, attributes.get("href", ""), attributes.get("data-originalurl", "")]
    for link in dict.fromkeys(named):
        if link.startswith("//"):
            yield f"http:{link}"
        elif link.lower().startswith(_IDENTIFIERS):
            yield link
