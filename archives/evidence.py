"""What an answer proves about a capture, and where it contradicts itself (X-6).

An archive states the time of a capture up to three times: in ``Memento-Datetime``, in the
``datetime`` of a link to it, in the digits of its address. The header counts, unless it cannot
be true: a date that does not exist, in the future, before the web, or an echo of what was asked
while the address or the link says otherwise. Then the digits count, then the link. Each
disagreement is kept as a doubt.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.formats.httpdate import stamp_from_http_date
from archives.formats.linkformat import Link, parse_header, resolved
from archives.formats.rows import stamp_from_digits
from archives.model import Memento, Relation
from archives.source import Reply
from archives.surt import surt

BEFORE_THE_WEB: Final = "19900101000000"
# A stamp in the path, a modifier, and the URL that was captured.
_ADDRESS: Final = re.compile(
    r"/([0-9]{14,17})(?:[a-z]{2}_)?/((?:https?:|[a-z0-9-]++\.).*+)", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"^https?+:/++", re.IGNORECASE)
_RELATIONS: Final[tuple[Relation, ...]] = ("first", "prev", "next", "last")
WEB: Final = ("http://", "https://")
"""How every address of a memento begins that people may be led to."""


class ReplayAddress(NamedTuple):
    """What the address of a memento says."""

    stamp: str
    original: str


# One answer names the same few addresses again and again.
_KEPT: Final = 4096


@lru_cache(maxsize=_KEPT)
def address_of(uri: str) -> ReplayAddress | None:
    """Return the stamp and the original that *uri* spells out; None where it does not."""
    found = _ADDRESS.search(uri)
    # Digits that follow another URL belong to it: a capture of a link into an archive.
    if found is None or "://" in uri[uri.find("://") + 3 : found.start()]:
        return None
    stamp = stamp_from_digits(found[1])
    return None if stamp is None else ReplayAddress(stamp, found[2])


def same_page(one: str, other: str) -> bool:
    """Whether two URLs differ in nothing but what archives fold."""
    return _page_key(one) == _page_key(other)


def filed_as_one(one: str, other: str) -> bool:
    """Whether archives file two URLs under one key, however they are written."""
    return same_page(one, other) or surt(_with_scheme(one)) == surt(_with_scheme(other))


def _with_scheme(url: str) -> str:
    """Return what an address may spell without its scheme, or with one slash, with both."""
    return url if url.startswith(WEB) else "http://" + _SCHEME.sub("", url)


@lru_cache(maxsize=_KEPT)
def _page_key(url: str) -> str:
    """Return *url* without what archives fold: scheme, www, usual port, the last slash."""
    scheme, separator, rest = url.partition("://")
    # An address may name its original without a scheme; what follows then may hold another.
    rest = rest if separator and scheme.isalpha() else url
    host, slash, path = rest.partition("/")
    host = host.lower().removeprefix("www.").removesuffix(":80").removesuffix(":443")
    return (host + slash + path).rstrip("/")


@dataclass(frozen=True, slots=True)
class Statement:
    """The Memento headers of one reply."""

    url: str
    status: int
    datetime: str | None
    """What ``Memento-Datetime`` says, as written."""
    location: str | None
    content_location: str | None
    negotiates: bool
    """Whether ``Vary`` names accept-datetime: this is a TimeGate speaking."""
    originals: tuple[str, ...]
    """What was captured: one, if the archive keeps to M-6."""
    links: tuple["DatedLink", ...]
    """The links to mementos."""
    stray: str | None = None
    """A link to a memento that was left out: its address is not one of the archive's."""

    @classmethod
    def of(cls, reply: Reply) -> "Statement":
        """Read what *reply* states."""
        headers = reply.headers
        vary = {token.strip().lower() for token in headers.get("vary", "").split(",")}
        links = parse_header(headers.get("link", ""))
        originals = _originals(links, reply.url)
        return cls(
            reply.url,
            reply.status,
            headers.get("memento-datetime"),
            _absolute(headers.get("location"), reply.url),
            _absolute(headers.get("content-location"), reply.url),
            "accept-datetime" in vary,
            originals,
            tuple(_dated_links(links, reply.url, (reply.url, *originals))),
        )

    def only_at(self, is_ours: Callable[[str], bool]) -> "Statement":
        """Return the statement without links to addresses that are not the archive's."""
        strays = [link.uri for link in self.links if not is_ours(link.uri)]
        if not strays:
            return self
        kept = tuple(link for link in self.links if link.uri not in strays)
        return replace(self, links=kept, stray=strays[0])

    @property
    def is_frame(self) -> bool:
        """Whether this is the page around a memento that its links alone name (pywb)."""
        framed = self.status == 200 and self.datetime is None and self.negotiates
        return framed and self.linked_address is not None

    @property
    def linked_address(self) -> str | None:
        """The one memento that the links can mean; None where they name several."""
        plain = {link.uri for link in self.links if not link.relations}
        dated = {link.uri for link in self.links if link.date == self.datetime}
        for uris in (plain, dated, {link.uri for link in self.links}):
            if len(uris) == 1:
                return next(iter(uris))
        return None

    @property
    def quarrels(self) -> tuple[str, ...]:
        """Doubts about what was captured: M-6 allows one original."""
        pages = {_page_key(original) for original in self.originals}
        return ("links several originals",) if len(pages) > 1 else ()

    def original(self, uri: str | None, asked: str) -> str:
        """Return what the memento at *uri* is a capture of: as linked, or as its address says.

        Of several links the one that fits what was *asked* counts.
        """
        if asked in self.originals:
            return asked
        fitting = [page for page in self.originals if same_page(page, asked)]
        address = address_of(uri) if uri else None
        spelled = (address.original,) if address and address.original.startswith(WEB) else ()
        return next(iter((*fitting, *self.originals, *spelled)), asked)

    def date_of(self, uri: str) -> str | None:
        """Return the date that the links give to the memento at *uri*, as written.

        LANL's server links the chosen memento as ``first`` and ``last`` too, with their dates
        (A-8). So of several dates the one in the address counts, then that of a link which is
        called nothing else; where neither tells, none. The raw view of a memento links the
        memento under its other address: then the one link that is called nothing else counts.
        """
        plain = [link for link in self.links if not link.relations]
        links = [link for link in self.links if link.uri == uri] or plain
        address = address_of(uri)
        if address is not None:
            agreeing = [link for link in links if _stamp(link.date) == address.stamp[:14]]
            links = agreeing or links
        links = [link for link in links if not link.relations] or links
        dates = {link.date for link in links}
        return dates.pop() if len(dates) == 1 else None

    def neighbours(self, chosen: Memento, now: str) -> dict[Relation, Memento]:
        """Return the first, prev, next and last capture linked, those with believable dates.

        The date decides, not the target alone (A-8): a target whose digits deny the date, or
        which is the *chosen* memento under another date, or of another page, is left out.
        """
        found: dict[Relation, Memento] = {}
        for link in self.links:
            stamp = believable(link.date, now)
            if stamp is not None and _fits(link.uri, stamp, chosen):
                memento = Memento(stamp, link.uri, chosen.original, chosen.archive)
                found.update(dict.fromkeys(link.relations, memento))
        return found


class DatedLink(NamedTuple):
    """A link to a memento, with the date that it states."""

    uri: str
    date: str
    relations: tuple[Relation, ...]


def _fits(uri: str, stamp: str, chosen: Memento) -> bool:
    address = address_of(uri)
    if address is None:
        return uri != chosen.uri or stamp == chosen.stamp[:14]
    return address.stamp[:14] == stamp and same_page(address.original, chosen.original)


def _originals(links: Sequence[Link], url: str) -> tuple[str, ...]:
    """Return what the reply says was captured; L-2: not what something else was."""
    targets = (
        resolved(link.target, url)
        for link in links
        if "original" in link.rels and link.anchor in (None, url)
    )
    return tuple(dict.fromkeys(_unescaped(target, url) for target in targets if target))


def _unescaped(original: str, url: str) -> str:
    """Undo the HTML escapes that the Internet Archive puts into its Link header.

    ``<https://idp.springer.com/authorize?response_type=cookie&amp;client_id=...>`` (recorded
    2020-09 by EDGI's client), while the address of the memento has it right.
    """
    if "&amp;" not in original:
        return original
    plain = unescape(original)
    return plain if plain in url else original


def _dated_links(
    links: Sequence[Link], url: str, contexts: Sequence[str]
) -> Iterator[DatedLink]:
    """Yield the links to mementos whose context is one of *contexts* (L-2)."""
    for link in links:
        date = link.params.get("datetime")
        if "memento" not in link.rels or not date:
            continue
        uri = resolved(link.target, url)
        about_this = link.anchor is None or resolved(link.anchor, url) in contexts
        if uri and uri.startswith(WEB) and about_this:
            yield DatedLink(uri, date, _relations(link.rels))


@lru_cache(maxsize=256)
def _relations(rels: tuple[str, ...]) -> tuple[Relation, ...]:
    return tuple(name for name in _RELATIONS if name in rels)


def believable(date: str, now: str) -> str | None:
    """Return the stamp of an HTTP date that a capture can have; None where it cannot be."""
    stamp = _stamp(date)
    return stamp if stamp is not None and plausible(stamp, now) else None


@lru_cache(maxsize=_KEPT)
def _stamp(date: str) -> str | None:
    try:
        return stamp_from_http_date(date)
    except Malformed:
        return None


def plausible(stamp: str, now: str) -> bool:
    """Whether a capture can have been made then: since there is a web, and until *now*."""
    return BEFORE_THE_WEB <= stamp[:14] <= now


class Dated(NamedTuple):
    """When a capture was made, and what speaks against it."""

    stamp: str | None
    doubts: tuple[str, ...]


def weigh(header: str | None, link: str | None, uri: str, asked: str | None, now: str) -> Dated:
    """Decide when the memento at *uri* was captured.

    *header* and *link* are dates as written, *asked* is the stamp that was negotiated for,
    *now* the last stamp that a capture can have.
    """
    doubts: list[str] = []
    stated = _stated("Memento-Datetime", header, now, doubts)
    linked = _stated("the link to it", link, now, doubts)
    digits = _digits(uri, now, doubts)
    claims = {
        "Memento-Datetime": stated,
        "the address": digits and digits[:14],
        "the link to it": linked,
    }
    if len(set(filter(None, claims.values()))) > 1:
        doubts.append(", ".join(f"{where} says {t}" for where, t in claims.items() if t))
        if stated is not None and stated == asked:
            doubts.append("Memento-Datetime echoes the time that was asked for")
            stated = None
    return Dated(_finer(stated, digits) or digits or linked, tuple(doubts))


def _stated(where: str, date: str | None, now: str, doubts: list[str]) -> str | None:
    if date is None:
        return None
    stamp = believable(date, now)
    if stamp is None:
        doubts.append(f"{where} gives an impossible date: {date[:60]!r}")
    return stamp


def _digits(uri: str, now: str, doubts: list[str]) -> str | None:
    address = address_of(uri)
    if address is None or plausible(address.stamp, now):
        return address and address.stamp
    doubts.append(f"the address gives an impossible date: {address.stamp}")
    return None


def _finer(stated: str | None, digits: str | None) -> str | None:
    """Return *stated*, with the fraction where the address has one of the same second."""
    return digits if stated and digits and digits[:14] == stated else stated


def _absolute(target: str | None, base: str) -> str | None:
    return None if target is None else resolved(target.strip(), base)
