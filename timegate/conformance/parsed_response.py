"""Responses and TimeMaps parsed in the terms of RFC 7089, so that checks compare values."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.evidence import Statement
from archives.formats.decoding import decoder_for
from archives.formats.httpdate import stamp_from_http_date
from archives.formats.linkformat import Link, LinkReader, parse_header, resolved
from archives.negotiation import REDIRECTS
from archives.regex_compat import compiled
from timegate.conformance.session import RecordedExchange
from timegate.markup import TooComplex
from timegate.markup.attributes import decoded_value
from timegate.markup.model import Steps
from timegate.markup.tokens import StartTag, html_tokens

_ORDER: Final = ("first", "prev", "next", "last")
DO_NOT_NEGOTIATE: Final = "http://mementoweb.org/terms/donotnegotiate"


class MementoLink(NamedTuple):
    """A link to a memento, with its date as written and as parsed."""

    uri: str
    date: str
    stamp: str | None
    order: tuple[str, ...]
    """Which of first, prev, next, last it claims to be."""


@dataclass(frozen=True)
class ParsedResponse:
    """One exchange in the terms of Memento."""

    exchange: RecordedExchange

    @property
    def url(self) -> str:
        return self.exchange.url

    @property
    def status(self) -> int:
        """The status; 0 if no response arrived."""
        return self.exchange.status or 0

    @property
    def no_answer(self) -> str:
        """Why there is no usable response; empty if there is one."""
        exchange = self.exchange
        refused = exchange.trouble is not None and exchange.trouble.kind == "refused"
        if exchange.status is None or refused:
            return exchange.trouble.why if exchange.trouble else "no response"
        if exchange.status >= 500 and self.datetime is None:
            return f"answers {exchange.status}, a server error"
        return ""

    @property
    def is_plain_page(self) -> bool:
        """Whether this is a page without any Memento header: a bot challenge, an error page."""
        memento = self.datetime is not None or self.negotiates or self.links
        return self.status == 200 and not memento

    def field(self, name: str) -> str | None:
        """Return the value of a header field; None if there is none."""
        return self.exchange.headers.get(name.lower())

    @property
    def is_partial(self) -> bool:
        """Whether an aggregator declares that not every archive behind it answered (X-3).

        The next response to the same request may differ, and both are correct.
        """
        members = (self.field("memento-precision") or "").split(",")
        return any(member.strip().startswith("sources=partial") for member in members)

    @property
    def accept_datetime(self) -> str | None:
        """The Accept-Datetime that was sent."""
        return self.exchange.request.headers.get("accept-datetime")

    @cached_property
    def statement(self) -> Statement:
        return Statement.of(_Head(self.url, self.status, dict(self.exchange.headers)))

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links of the Link header."""
        return tuple(parse_header(self.field("link") or ""))

    @property
    def link_violation(self) -> int | None:
        """The offset where the Link header violates its grammar."""
        written = (self.field("link") or "").encode("utf-8", "surrogateescape")
        if not written:
            return None
        # The target is a URI, in ASCII. Empty elements are accepted (RFC 9110 5.6.1.2).
        foreign = _NOT_ASCII_TARGET.search(written)
        found = first_violation(written, empty=True)
        places = [at for at in (found, foreign and foreign.start()) if at is not None]
        return min(places, default=None)

    @cached_property
    def cache_directives(self) -> dict[str, str]:
        """The members of Cache-Control, by name in lower case."""
        pairs = (
            member.partition("=") for member in (self.field("cache-control") or "").split(",")
        )
        return {name.strip().lower(): value.strip(' "') for name, _, value in pairs}

    @property
    def is_shared_by_caches(self) -> bool:
        """Whether it says that a cache may answer later requests with it (RFC 9111 4.2.1)."""
        directives = self.cache_directives
        if "no-store" in directives or "no-cache" in directives:
            return False
        lifetimes = (directives.get("s-maxage", ""), directives.get("max-age", ""))
        lasting = any(
            value.isascii() and value.isdigit() and int(value) > 0 for value in lifetimes
        )
        return lasting or "immutable" in directives

    @property
    def declines_negotiation(self) -> bool:
        """Whether it declares that it is not to be negotiated (M-25)."""
        return DO_NOT_NEGOTIATE in self.targets("type")

    @property
    def negotiates(self) -> bool:
        """Whether Vary names accept-datetime."""
        return self.statement.negotiates

    @property
    def datetime(self) -> str | None:
        """Memento-Datetime as written."""
        return self.field("memento-datetime")

    @property
    def stamp(self) -> str | None:
        """Memento-Datetime as digits; None if it is missing or invalid."""
        return stamp_of(self.datetime)

    @property
    def location(self) -> str | None:
        return self.statement.location

    @property
    def is_redirect(self) -> bool:
        """Whether this is a redirect that is not itself a capture (M-21)."""
        return self.status in REDIRECTS and self.datetime is None

    @property
    def chosen(self) -> str | None:
        """The address of the memento that a TimeGate chose, by redirect or Content-Location."""
        if self.status in REDIRECTS and self.statement.content_location is None:
            # A fragment is no part of the memento's address.
            return self.location and self.location.partition("#")[0]
        return self.statement.content_location or self.statement.linked_address

    def targets(self, relation: str) -> list[str]:
        """Return the targets of the links with *relation*, in order, repetitions included.

        Links with another context (anchor) are left out (L-2).
        """
        mine = (link for link in self.links if link.anchor in (None, self.url))
        found = (resolved(link.target, self.url) for link in mine if relation in link.rels)
        return [target for target in found if target]

    @cached_property
    def mementos(self) -> tuple[MementoLink, ...]:
        """The links to mementos."""
        return tuple(memento_links(self.links, self.url))

    def html_targets(self, relation: str) -> list[str]:
        """Return the targets of the link elements with *relation* in an HTML page."""
        if not (self.field("content-type") or "").startswith(_HTML):
            return []
        elements = _link_elements(self.exchange.body.decode("utf-8", "replace"))
        found = (resolved(href, self.url) for href, rels in elements if relation in rels)
        return [target for target in found if target]


_HTML: Final = ("text/html", "application/xhtml+xml")


def _link_elements(text: str) -> list[tuple[str, list[str]]]:
    """Return target and relations of the link elements, as far as the page can be read."""
    found: list[tuple[str, list[str]]] = []
    with suppress(TooComplex):
        for token in html_tokens(text, Steps()):
            if isinstance(token, StartTag) and token.name == "link":
                href = decoded_value(token.attributes.get("href", "")).strip()
                found.append((href, token.attributes.get("rel", "").lower().split()))
    return found


class _Head(NamedTuple):
    """The part of a `Reply` that `Statement` reads."""

    url: str
    status: int
    headers: dict[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """Not available: a `Statement` needs no body."""
        raise NotImplementedError


def memento_links(links: tuple[Link, ...], base: str) -> Iterator[MementoLink]:
    """Yield those of *links* that lead to mementos."""
    for link in links:
        uri = resolved(link.target, base)
        if "memento" in link.rels and uri is not None:
            date = link.params.get("datetime", "")
            order = tuple(name for name in _ORDER if name in link.rels)
            yield MementoLink(uri, date, stamp_of(date), order)


def stamp_of(date: str | None) -> str | None:
    """Return the digits of an rfc1123-date; None for anything else (M-2)."""
    try:
        return None if date is None else stamp_from_http_date(date)
    except Malformed:
        return None


LINK_FORMAT: Final = "application/link-format"


def is_link_format(response: ParsedResponse) -> bool:
    """Whether the Content-Type is that of link-format, in any case and with parameters."""
    media_type, _, _ = (response.field("content-type") or "").partition(";")
    return media_type.strip().lower() == LINK_FORMAT


Capture = tuple[str, str]
"""Stamp and URI-M."""

# RFC 8288 3 with the line breaks that RFC 7089 5 allows between and inside links.
_GAP: Final = rb"[ \t\r\n]*+"
_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
# RFC 6690 2: link-format allows type=application/link-format, which RFC 8288 does not.
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


_NOT_ASCII_TARGET: Final = compiled(rb"<[^<>\x80-\xff\"]*+[\x80-\xff]")
_EMPTY: Final = compiled(_GAP + rb"(?:," + _GAP + rb")*+")


def first_violation(body: bytes, *, empty: bool = False) -> int | None:
    """Return the offset where *body* violates the grammar of link-format; None if nowhere.

    *empty*: whether list elements may be empty, as recipients of headers have to accept.
    """
    at = 0
    while True:
        if empty and (gap := _EMPTY.match(body, at)):
            at = gap.end()
            if at == len(body):
                return None
        if not (match := _LINK.match(body, at)):
            return at
        at = match.end()
        if at == len(body):
            return None
        if body[at : at + 1] != b",":
            return at
        at += 1


@dataclass(frozen=True)
class ParsedTimeMap:
    """One TimeMap document in link-format."""

    response: ParsedResponse

    @cached_property
    def _read(self) -> tuple[tuple[Link, ...], int]:
        reader = LinkReader()
        links = [*reader.feed(self.response.exchange.body), *reader.close()]
        return tuple(links), reader.skipped

    @property
    def no_answer(self) -> str:
        """Why there is no usable document; empty if there is one."""
        trouble = self.response.exchange.trouble
        return self.response.no_answer or (trouble.why if trouble else "")

    @property
    def links(self) -> tuple[Link, ...]:
        return self._read[0]

    @cached_property
    def mementos(self) -> tuple[MementoLink, ...]:
        """The mementos in the order of the document."""
        return tuple(memento_links(self.links, self.response.url))

    @cached_property
    def captures(self) -> tuple[Capture, ...]:
        """Capture time and address of the dated mementos, in the order of the document."""
        return tuple((link.stamp, link.uri) for link in self.mementos if link.stamp)

    @property
    def violation(self) -> int | None:
        """The offset where the document violates the grammar, but for empty elements."""
        return first_violation(self.response.exchange.body, empty=True)

    @property
    def empty_element(self) -> int | None:
        """The offset of the first empty element: two commas, or one at an end."""
        return first_violation(self.response.exchange.body)

    @property
    def is_list(self) -> bool:
        """Whether this is link-format."""
        return self.response.status == 200 and any(link.rels for link in self.links)

    def targets(self, relation: str) -> list[str]:
        """Return the targets of the links with *relation*."""
        found = (resolved(link.target, self.response.url) for link in self.links_with(relation))
        return [target for target in found if target]

    def links_with(self, relation: str) -> list[Link]:
        return [link for link in self.links if relation in link.rels]

    @property
    def pages(self) -> list[str]:
        """The other pages that it links; its JSON and CDXJ forms are not pages."""
        named = [
            resolved(link.target, self.response.url)
            for link in self.links_with("timemap")
            if "self" not in link.rels
            and link.params.get("type", LINK_FORMAT).lower().startswith(LINK_FORMAT)
        ]
        return list(dict.fromkeys(uri for uri in named if uri))

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """From and until of the document, from its link to itself."""
        itself = next(iter(self.links_with("self")), None)
        params = {} if itself is None else itself.params
        return stamp_of(params.get("from")), stamp_of(params.get("until"))


def captures_in(response: ParsedResponse) -> tuple[Capture, ...]:
    """Read a TimeMap in any format (JSON, CDXJ). Raises Malformed if it is not a list."""
    decoder = decoder_for(response.exchange.body, response.url)
    rows = [*decoder.feed(response.exchange.body), *decoder.close()]
    if not decoder.complete:
        raise Malformed("incomplete", decoder.shortfall, len(response.exchange.body))
    return tuple((row.stamp[:14], row.uri or "") for row in rows)


def in_time(captures: Sequence[Capture]) -> list[Capture]:
    """Return *captures* oldest first, each once."""
    return sorted(set(captures))
