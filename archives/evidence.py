"""What an answer proves about a capture, and where it contradicts itself (X-6).

An archive states the time of a capture up to three times: in ``Memento-Datetime``, in the
``datetime`` of a link to it, and in the digits of its address. The header counts, unless it is
impossible: a date that does not exist, in the future, before the web, or equal to the requested
time while address or link state another. Then the digits count, then the link. Each
contradiction is recorded as a doubt.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.formats.httpdate import stamp_from_http_date
from archives.formats.linkformat import (
    Link,
    parse_header,
    relations,
    resolved,
    split_at_dates,
    undated_links,
)
from archives.model import Memento, Relation, UniformNeighbours, is_beside
from archives.moment import stamp_from_digits
from archives.source import Reply
from archives.surt import surt
from archives.uri import WEB

BEFORE_THE_WEB: Final = "19900101000000"
# A stamp in the path, a modifier, and the URL that was captured.
_ADDRESS: Final = re.compile(
    r"/([0-9]{14,17})(?:[a-z]{2}_)?/((?:https?:|[a-z0-9-]++\.).*+)", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"^https?+:/++", re.IGNORECASE)
_RELATIONS: Final[tuple[Relation, ...]] = ("first", "prev", "next", "last")


class ReplayAddress(NamedTuple):
    """The stamp and the original in the address of a memento."""

    stamp: str
    original: str


_STAMP_DIGITS: Final = 14
_SOME_ADDRESS: Final = ReplayAddress("20000101000000", "http://example.org/")

# One answer repeats the same few addresses.
_MEMO_SIZE: Final = 4096


@lru_cache(maxsize=_MEMO_SIZE)
def address_of(uri: str) -> ReplayAddress | None:
    """Return the stamp and the original in *uri*; None if it has none."""
    found = _ADDRESS.search(uri)
    # Digits after another URL belong to that URL: a capture of a link into an archive.
    if found is None or "://" in uri[uri.find("://") + 3 : found.start()]:
        return None
    stamp = stamp_from_digits(found[1])
    return None if stamp is None else ReplayAddress(stamp, found[2])


def same_page(one: str, other: str) -> bool:
    """Whether two URLs are the same apart from scheme, www, default port and last slash."""
    return _page_key(one) == _page_key(other)


def same_key(one: str, other: str) -> bool:
    """Whether archives index two URLs under one key."""
    return same_page(one, other) or surt(_with_scheme(one)) == surt(_with_scheme(other))


def _with_scheme(url: str) -> str:
    """Return *url* with scheme and two slashes, which the address of a memento may omit."""
    return url if url.startswith(WEB) else "http://" + _SCHEME.sub("", url)


@lru_cache(maxsize=_MEMO_SIZE)
def _page_key(url: str) -> str:
    """Return *url* without what archives ignore: scheme, www, default port, last slash."""
    scheme, separator, rest = url.partition("://")
    # In an address without scheme, "://" may belong to another URL in the path.
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
    """The value of ``Memento-Datetime`` as written."""
    location: str | None
    content_location: str | None
    negotiates: bool
    """Whether ``Vary`` names accept-datetime: the answer of a TimeGate."""
    originals: tuple[str, ...]
    """The originals that are linked: exactly one, if the archive conforms to M-6."""
    links: tuple["DatedLink", ...]
    """The links to mementos."""
    foreign_link: str | None = None
    """A link to a memento that was dropped because it is not at a host of the archive."""

    @classmethod
    def of(cls, reply: Reply) -> "Statement":
        """Read the headers of *reply*."""
        headers = reply.headers
        vary = {token.strip().lower() for token in headers.get("vary", "").split(",")}
        links = links_of(reply)
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

    def without_foreign_links(self, is_own: Callable[[str], bool]) -> "Statement":
        """Return the statement without links to addresses outside the archive."""
        foreign = [link.uri for link in self.links if not is_own(link.uri)]
        if not foreign:
            return self
        links = tuple(link for link in self.links if link.uri not in foreign)
        return replace(self, links=links, foreign_link=foreign[0])

    @property
    def is_frame(self) -> bool:
        """Whether this is pywb's page around a memento, which only its links identify."""
        framed = self.status == 200 and self.datetime is None and self.negotiates
        return framed and self.linked_address is not None

    @property
    def linked_address(self) -> str | None:
        """The memento that the links identify; None if there are several."""
        plain = {link.uri for link in self.links if not link.relations}
        dated = {link.uri for link in self.links if link.date == self.datetime}
        for uris in (plain, dated, {link.uri for link in self.links}):
            if len(uris) == 1:
                return next(iter(uris))
        return None

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Doubts about the original: M-6 allows one."""
        pages = {_page_key(original) for original in self.originals}
        return ("links several originals",) if len(pages) > 1 else ()

    def original(self, uri: str | None, requested: str) -> str:
        """Return the original of the memento at *uri*, from the links or from its address.

        Of several links, the one that matches the *requested* URL counts.
        """
        if requested in self.originals:
            return requested
        matching = [page for page in self.originals if same_page(page, requested)]
        address = address_of(uri) if uri else None
        stated = "" if address is None else address.original
        in_address = (stated,) if stated.lower().startswith(WEB) else ()
        return next(iter((*matching, *self.originals, *in_address)), requested)

    def date_of(self, uri: str) -> str | None:
        """Return the date that the links state for the memento at *uri*, as written.

        LANL's server links the chosen memento as ``first`` and ``last`` too, with their dates
        (A-8). So of several dates the one equal to the digits of the address counts, then that
        of a link whose only relation is ``memento``; otherwise there is none. The raw view of a
        memento links it under its other address: then the one link whose only relation is
        ``memento`` counts.
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
        """Return the linked first, prev, next and last captures that have plausible dates.

        The date counts, not only the target (A-8). A target is left out if its digits
        contradict the date, if it is the *chosen* memento with another date, or if it is of
        another page.
        """
        found: dict[Relation, Memento] = {}
        for link in self.links:
            stamp = plausible_stamp(link.date, now)
            if stamp is not None and _is_neighbour(link.uri, stamp, chosen):
                memento = Memento(stamp, link.uri, chosen.original, chosen.archive)
                found.update(dict.fromkeys(link.relations, memento))
        return found


def common_redirect(
    location: str, link: str, requested: str, archive: str, now: str
) -> UniformNeighbours | None:
    """Read the redirect that most TimeGates send; None for any other.

    Its *location* ends with a stamp and the *requested* URL, which is the only linked original.
    All mementos in *link* have addresses of the same form, and plausible dates that agree with
    their digits. Such a reply cannot contradict itself: memento and neighbours are those of
    `Statement` and `weigh`, in a fifth of the time (decision 12).
    """
    end = "/" + requested
    prefix = location[: -_STAMP_DIGITS - len(end)]
    if not (location.endswith(end) and _is_plain(location) and _precedes_stamp(prefix)):
        return None
    chosen = location[len(prefix) : -len(end)]
    parts = split_at_dates(link)
    if parts is None or not _has_only_original(parts[::4], requested):
        return None
    linked = _uniform_stamps(parts, prefix, end, chosen, now)
    # A prefix that has the digits too would be ambiguous.
    if linked is None or chosen in prefix:
        return None
    return UniformNeighbours(Memento(chosen, location, requested, archive), prefix, linked)


def _uniform_stamps(
    parts: list[str], prefix: str, end: str, chosen: str, now: str
) -> dict[Relation, str] | None:
    """Return the stamps of the neighbours of the *chosen* stamp among split links.

    None if it is not linked, or if a memento is not at *prefix*, its stamp and *end*.
    """
    stamps = [stamp for stamp in map(_stamp, parts[3::4]) if stamp is not None]
    if chosen not in stamps or parts[1::4] != [prefix + stamp + end for stamp in stamps]:
        return None
    if min(stamps) < BEFORE_THE_WEB or max(stamps) > now:
        return None
    linked: dict[Relation, str] = {}
    for names, stamp in zip(map(_memento_relations, parts[2::4]), stamps, strict=True):
        if names is None:
            return None
        for name in names:
            linked[name] = stamp
    for name in _ADJACENT:
        if name in linked and not is_beside(name, linked[name], chosen):
            del linked[name]
    return linked


_ADJACENT: Final[tuple[Relation, ...]] = ("prev", "next")


@lru_cache(maxsize=256)
def _memento_relations(rel: str) -> tuple[Relation, ...] | None:
    """Return the relations of a memento in *rel*; None if it is no memento, or the original."""
    rels = relations(rel)
    return _relations(rels) if "memento" in rels and "original" not in rels else None


_URL: Final = "\0"
"""In place of the requested URL."""
_LONGEST_MEMO: Final = 2000


def _has_only_original(texts: Sequence[str], requested: str) -> bool:
    """Whether *texts* are links, one of them to the original *requested*, none to a memento.

    An archive writes the same links for every page, but for the URL of the page.
    """
    originals = 0
    for text in filter(None, texts):
        shape = text.replace(requested, _URL)
        if _URL in text:
            return False
        read = _originals_in if len(shape) <= _LONGEST_MEMO else _originals_in.__wrapped__
        linked = read(shape)
        if linked is None:
            return False
        originals += linked
    return originals == 1


@lru_cache(maxsize=1024)
def _originals_in(links: str) -> int | None:
    """Return how many of *links* are to the original.

    None if one is to another original, or to a memento.
    """
    found = undated_links(links)
    if found is None:
        return None
    rels = [(target, relations(rel)) for target, rel in found]
    originals = [target for target, names in rels if "original" in names]
    if any("memento" in names for _, names in rels) or any(each != _URL for each in originals):
        return None
    return len(originals)


@lru_cache(maxsize=1024)
def _precedes_stamp(prefix: str) -> bool:
    """Whether the addresses of mementos begin with *prefix*: stamp and original follow."""
    return prefix.isprintable() and (
        address_of(f"{prefix}{_SOME_ADDRESS.stamp}/{_SOME_ADDRESS.original}") == _SOME_ADDRESS
    )


def _is_plain(url: str) -> bool:
    """Whether a link to *url* is read as it is written: absolute, and without HTML escapes."""
    return url.startswith(WEB) and url.isascii() and " " not in url and "&amp;" not in url


class DatedLink(NamedTuple):
    """A link to a memento, with its date as written."""

    uri: str
    date: str
    relations: tuple[Relation, ...]


def _is_neighbour(uri: str, stamp: str, chosen: Memento) -> bool:
    address = address_of(uri)
    if address is None:
        return uri != chosen.uri or stamp == chosen.stamp[:14]
    return address.stamp[:14] == stamp and same_page(address.original, chosen.original)


def links_of(reply: Reply) -> list[Link]:
    """Return the links in the Link header of *reply*."""
    return parse_header(reply.headers.get("link", ""))


def _originals(links: Sequence[Link], url: str) -> tuple[str, ...]:
    """Return the linked originals, without links of another context (L-2)."""
    targets = (
        resolved(link.target, url)
        for link in links
        if "original" in link.rels and link.anchor in (None, url)
    )
    return tuple(dict.fromkeys(_unescaped(target, url) for target in targets if target))


def _unescaped(original: str, url: str) -> str:
    """Undo the HTML escapes that the Internet Archive writes into its Link header.

    ``<https://idp.springer.com/authorize?response_type=cookie&amp;client_id=...>`` (recorded
    2020-09 by EDGI's client), while the address of the memento has the plain text.
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
        in_context = link.anchor is None or resolved(link.anchor, url) in contexts
        if uri and uri.startswith(WEB) and in_context:
            yield DatedLink(uri, date, _relations(link.rels))


@lru_cache(maxsize=256)
def _relations(rels: tuple[str, ...]) -> tuple[Relation, ...]:
    return tuple(name for name in _RELATIONS if name in rels)


def plausible_stamp(date: str, now: str) -> str | None:
    """Return the stamp of an HTTP date; None if no capture can have it."""
    stamp = _stamp(date)
    return stamp if stamp is not None and plausible(stamp, now) else None


@lru_cache(maxsize=_MEMO_SIZE)
def _stamp(date: str) -> str | None:
    try:
        return stamp_from_http_date(date)
    except Malformed:
        return None


def plausible(stamp: str, now: str) -> bool:
    """Whether a capture can have this stamp: after the web began, and until *now*."""
    return BEFORE_THE_WEB <= stamp[:14] <= now


class Dated(NamedTuple):
    """The time of a capture, and doubts about it."""

    stamp: str | None
    doubts: tuple[str, ...]


def weigh(
    header: str | None, link: str | None, uri: str, requested: str | None, now: str
) -> Dated:
    """Decide when the memento at *uri* was captured.

    *header* and *link* are dates as written, *requested* is the stamp in Accept-Datetime, *now*
    the last stamp that a capture can have.
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
        doubts.append(", ".join(f"{where} states {t}" for where, t in claims.items() if t))
        if stated is not None and stated == requested:
            doubts.append("Memento-Datetime repeats the requested time")
            stated = None
    return Dated(_finer(stated, digits) or digits or linked, tuple(doubts))


def _stated(where: str, date: str | None, now: str, doubts: list[str]) -> str | None:
    if date is None:
        return None
    stamp = plausible_stamp(date, now)
    if stamp is None:
        doubts.append(f"{where} states an impossible date: {date[:60]!r}")
    return stamp


def _digits(uri: str, now: str, doubts: list[str]) -> str | None:
    address = address_of(uri)
    if address is None or plausible(address.stamp, now):
        return address and address.stamp
    doubts.append(f"the address states an impossible date: {address.stamp}")
    return None


def _finer(stated: str | None, digits: str | None) -> str | None:
    """Return *stated*, with the fraction of the address if it is the same second."""
    return digits if stated and digits and digits[:14] == stated else stated


def _absolute(target: str | None, base: str) -> str | None:
    return None if target is None else resolved(target.strip(), base)
