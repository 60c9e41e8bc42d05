"""What an answer proves about a capture, and where it contradicts itself (X-6).

An archive states the time of a capture up to three times: in ``Memento-Datetime``, in the
``datetime`` of a link to it, in the digits of its address. The header counts, unless it cannot
be true: a date that does not exist, in the future, before the web, or an echo of what was asked
while the address says otherwise. Then the digits count, then the link. Each disagreement is
kept as a doubt.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from archives.formats.httpdate import stamp_from_http_date
from archives.formats.linkformat import Link, parse_header, resolved
from archives.formats.rows import stamp_from_digits
from archives.model import Memento, Relation
from archives.reading import Malformed
from archives.source import Reply

BEFORE_THE_WEB: Final = "19900101000000"
# A stamp in the path, a modifier, and the URL that was captured.
_ADDRESS: Final = re.compile(
    r"/([0-9]{14,17})(?:[a-z]{2}_)?/((?:https?:|[a-z0-9-]++\.).*+)", re.IGNORECASE
)
_RELATIONS: Final[tuple[Relation, ...]] = ("first", "prev", "next", "last")


class Address(NamedTuple):
    """What the address of a memento says."""

    stamp: str
    original: str


def address_of(uri: str) -> Address | None:
    """Return the stamp and the original that *uri* spells out; None where it does not."""
    found = _ADDRESS.search(uri)
    if found is None:
        return None
    stamp = stamp_from_digits(found[1])
    return None if stamp is None else Address(stamp, found[2])


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
    links: tuple[Link, ...]

    @classmethod
    def of(cls, reply: Reply) -> "Statement":
        """Read what *reply* states."""
        headers = reply.headers
        vary = {token.strip().lower() for token in headers.get("vary", "").split(",")}
        return cls(
            reply.url,
            reply.status,
            headers.get("memento-datetime"),
            _absolute(headers.get("location"), reply.url),
            _absolute(headers.get("content-location"), reply.url),
            "accept-datetime" in vary,
            tuple(parse_header(headers.get("link", ""))),
        )

    @property
    def original(self) -> str | None:
        """What was captured; L-2: a link about something else does not count."""
        for link in self.links:
            if "original" in link.rels and link.anchor is None:
                return resolved(link.target, self.url)
        return None

    @property
    def mementos(self) -> Mapping[str, str]:
        """The address of each memento linked, and the date stated there."""
        return {
            uri: link.params["datetime"]
            for link in self.links
            if "memento" in link.rels and "datetime" in link.params
            if (uri := resolved(link.target, self.url)) is not None
        }

    def neighbours(self, archive: str, original: str, now: str) -> dict[Relation, Memento]:
        """Return the first, prev, next and last capture linked, those with believable dates.

        The date decides, not the target alone: LANL's server links the chosen memento as
        ``first`` and ``last`` (A-8), so a target whose digits deny the date is left out.
        """
        found: dict[Relation, Memento] = {}
        for link in self.links:
            uri = resolved(link.target, self.url)
            stamp = believable(link.params.get("datetime", ""), now)
            if "memento" not in link.rels or uri is None or stamp is None:
                continue
            address = address_of(uri)
            if address is None or address.stamp[:14] == stamp:
                memento = Memento(stamp, uri, original, archive)
                found.update((name, memento) for name in _RELATIONS if name in link.rels)
        return found


def believable(date: str, now: str) -> str | None:
    """Return the stamp of an HTTP date that a capture can have; None where it cannot be."""
    try:
        stamp = stamp_from_http_date(date)
    except Malformed:
        return None
    return stamp if plausible(stamp, now) else None


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
    address = address_of(uri)
    digits = address.stamp if address and plausible(address.stamp, now) else None
    if digits and stated and stated != digits[:14]:
        doubts.append(f"Memento-Datetime says {stated}, the address says {digits}")
        if stated == asked:
            doubts.append("Memento-Datetime echoes the time that was asked for")
            stated = None
    if stated and linked and stated != linked:
        doubts.append(f"Memento-Datetime says {stated}, the link to it says {linked}")
    return Dated(_finer(stated, digits) or digits or linked, tuple(doubts))


def _stated(where: str, date: str | None, now: str, doubts: list[str]) -> str | None:
    if date is None:
        return None
    stamp = believable(date, now)
    if stamp is None:
        doubts.append(f"{where} gives an impossible date: {date[:60]!r}")
    return stamp


def _finer(stated: str | None, digits: str | None) -> str | None:
    """Return *stated*, with the fraction where the address has one of the same second."""
    return digits if stated and digits and digits[:14] == stated else stated


def _absolute(target: str | None, base: str) -> str | None:
    return None if target is None else resolved(target.strip(), base)
