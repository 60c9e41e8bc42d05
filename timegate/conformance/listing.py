"""A TimeMap taken apart: what it lists, what it says of itself, and how well it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from archives.formats.detection import decoder_for
from archives.formats.linkformat import Link, LinkReader, resolved
from archives.possessive import compiled
from archives.reading import Malformed
from timegate.conformance.said import MementoLink, ParsedResponse, memento_links, stamp_of

LINK_FORMAT: Final = "application/link-format"
Capture = tuple[str, str]
"""Stamp and URI-M."""

# RFC 8288 3 with the line breaks that RFC 7089 5 allows between and inside links.
_GAP: Final = rb"[ \t\r\n]*+"
_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
# RFC 6690 2: link-format takes type=application/link-format, which RFC 8288 does not.
_VALUE_TOKEN: Final = rb"[!#$%&'()*+./:=?@^_`{|}~0-9A-Za-z\[\]-]++"
_QUOTED: Final = rb'"[^"\\]*+(?:\\[\x00-\xff][^"\\]*+)*+"'
_LINK: Final = compiled(
    _GAP
    + rb"<[^<>\x00-\x20\x7f]*+>(?:"
    + _GAP
    + rb";"
    + _GAP
    + _TOKEN
    + rb"(?:"
    + _GAP
    + rb"="
    + _GAP
    + rb"(?:"
    + _QUOTED
    + rb"|"
    + _VALUE_TOKEN
    + rb"))?+)*+"
    + _GAP
)


def first_violation(body: bytes) -> int | None:
    """Return where *body* leaves the grammar of link-format; None if it never does."""
    at = 0
    while match := _LINK.match(body, at):
        at = match.end()
        if at == len(body):
            return None
        if body[at : at + 1] != b",":
            return at
        at += 1
    return at


@dataclass(frozen=True)
class ParsedTimeMap:
    """One TimeMap document in link-format."""

    said: ParsedResponse

    @cached_property
    def _read(self) -> tuple[tuple[Link, ...], int]:
        reader = LinkReader()
        links = [*reader.feed(self.said.exchange.body), *reader.close()]
        return tuple(links), reader.skipped

    @property
    def silence(self) -> str:
        """Why nothing can be said about it; empty if something can."""
        trouble = self.said.exchange.trouble
        return self.said.silence or (trouble.why if trouble else "")

    @property
    def links(self) -> tuple[Link, ...]:
        return self._read[0]

    @cached_property
    def mementos(self) -> tuple[MementoLink, ...]:
        """The mementos in the order of the document."""
        return tuple(memento_links(self.links, self.said.url))

    @cached_property
    def captures(self) -> tuple[Capture, ...]:
        """Stamp and address of those with a date, in the order of the document."""
        return tuple((link.stamp, link.uri) for link in self.mementos if link.stamp)

    @property
    def violation(self) -> int | None:
        """Where the document leaves the grammar."""
        return first_violation(self.said.exchange.body)

    @property
    def is_list(self) -> bool:
        """Whether this is link-format at all."""
        return self.said.status == 200 and any(link.rels for link in self.links)

    def targets(self, relation: str) -> list[str]:
        """Return where the links with *relation* lead."""
        found = (resolved(link.target, self.said.url) for link in self.links_with(relation))
        return [target for target in found if target]

    def links_with(self, relation: str) -> list[Link]:
        return [link for link in self.links if relation in link.rels]

    @property
    def pages(self) -> list[str]:
        """The other pages it names; its own JSON and CDXJ forms are no pages."""
        named = [
            resolved(link.target, self.said.url)
            for link in self.links_with("timemap")
            if "self" not in link.rels
            and link.params.get("type", LINK_FORMAT).startswith(LINK_FORMAT)
        ]
        return list(dict.fromkeys(uri for uri in named if uri))

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """From and until of the whole document, as it states them about itself."""
        itself = next(iter(self.links_with("self")), None)
        params = {} if itself is None else itself.params
        return stamp_of(params.get("from")), stamp_of(params.get("until"))


def captures_in(said: ParsedResponse) -> tuple[Capture, ...]:
    """Read a TimeMap in any form (JSON, CDXJ). Raises Malformed where it is no list."""
    decoder = decoder_for(said.exchange.body, said.url)
    rows = [*decoder.feed(said.exchange.body), *decoder.close()]
    if not decoder.complete:
        raise Malformed("incomplete", decoder.shortfall, len(said.exchange.body))
    return tuple((row.stamp[:14], row.uri or "") for row in rows)


def in_time(captures: Sequence[Capture]) -> list[Capture]:
    """Return *captures* oldest first, each once."""
    return sorted(set(captures))
