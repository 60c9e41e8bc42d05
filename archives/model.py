"""The data model: mementos, what an archive answered, and the entry that describes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from archives.moment import Moment


class Memento(NamedTuple):
    """One capture of one original in one archive.

    A tuple, and *stamp* first, because TimeMaps hold millions of them and merging is sorting.
    """

    stamp: str
    """Time of capture: UTC digits as far as the archive proves them, at least 14."""
    uri: str
    """Address of the capture (URI-M)."""
    original: str
    """The URL that was captured (URI-R), as the archive writes it."""
    archive: str
    """The id of the archive in the registry."""
    status: int | None = None
    """The archived HTTP status, if the archive states it."""
    mime: str | None = None
    digest: str | None = None
    is_asserted: bool = False
    """Whether the time is what the writer of a store asserts, rather than a clock."""
    length: int | None = None
    """Octets of the record in the files of the archive, if its index states them."""

    @property
    def captured(self) -> Moment:
        """The moment of capture."""
        return _moment(self.stamp)


# Needed several times for one response, and checked against the calendar each time.
_moment: Final = lru_cache(maxsize=1024)(Moment)


Negotiation = Literal["timegate", "timemap", "cdx", "template"]
Relation = Literal["first", "prev", "next", "last"]


def is_beside(relation: Relation, stamp: str, chosen: str) -> bool:
    """Whether *stamp* can have *relation* to *chosen*: prev is earlier, next is later."""
    if relation == "prev":
        return stamp < chosen
    return relation != "next" or stamp > chosen


class UniformNeighbours(Mapping[Relation, Memento]):
    """Neighbours whose addresses differ in nothing but the stamp.

    As most archives link them. Choosing between archives takes the stamps alone: a `Memento` is
    made only of what is read.
    """

    __slots__ = ("memento", "prefix", "stamps")

    def __init__(self, memento: Memento, prefix: str, stamps: Mapping[Relation, str]) -> None:
        self.memento = memento
        """The one that the archive chose."""
        self.prefix = prefix
        """What precedes the stamp in the addresses of all of them."""
        self.stamps = stamps

    def __getitem__(self, relation: Relation) -> Memento:
        chosen, prefix, stamp = self.memento, self.prefix, self.stamps[relation]
        behind = chosen.uri[len(prefix) + len(chosen.stamp) :]
        return Memento(stamp, f"{prefix}{stamp}{behind}", chosen.original, chosen.archive)

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.stamps)

    def __len__(self) -> int:
        return len(self.stamps)

    def __repr__(self) -> str:
        return repr(dict(self))


def stamps_of(neighbours: Mapping[Relation, Memento]) -> Mapping[Relation, str]:
    """Return the stamps of *neighbours*."""
    if isinstance(neighbours, UniformNeighbours):
        return neighbours.stamps
    return {relation: memento.stamp for relation, memento in neighbours.items()}


Evidence = Literal["promised", "delivered", "held"]
"""What the claim that a memento exists rests on, see `Closest.evidence`."""


class Hop(NamedTuple):
    """One response on the way to a memento."""

    url: str
    status: int
    stamp: str | None
    """The time in its ``Memento-Datetime``; None without a plausible one."""


class Closest(Struct, frozen=True):
    """The answer of one archive to a query for the capture closest to a moment.

    A Struct: making a named tuple takes three times as many instructions, a frozen dataclass
    ten times.
    """

    memento: Memento
    via: Negotiation
    doubts: tuple[str, ...] = ()
    """Contradictions between header, link and digits of the URI-M (X-6); or why a client that
    follows the URI-M may get another capture."""
    neighbours: Mapping[Relation, Memento] = MappingProxyType({})
    """Other captures that the archive names, by their relation to the one it chose."""
    evidence: Evidence = "promised"
    """``promised``: a redirect, a link or an index names the memento. ``delivered``: it was
    requested itself, and its own headers say so. ``held``: it was read from a collection of our
    own (X-6)."""
    hops: tuple[Hop, ...] = ()
    """The responses from the first request to the memento, if it was delivered."""


Access = Literal["open", "partial", "onsite-only", "defunct"]
Selection = Literal["nearest", "nearest-before"]
Dialect = Literal["wayback-cdx", "pywb-cdxj", "arquivo", "outbackcdx"]


@dataclass(frozen=True, slots=True)
class ArchiveKind:
    """A kind of archive: what its adapter needs to know of an archive, and what it can do.

    `archives.kinds.KINDS` lists them by name.
    """

    name: str
    """The value of ``kind`` in an entry."""
    description: str
    """One line for people."""
    needs: tuple[str, ...] = ()
    """Fields that an `ArchiveEntry` of this kind must have."""
    is_askable: bool = True
    """Whether programs can query such an archive."""
    is_local: bool = False
    """Whether it is a collection of the operator, read from files and not over HTTP."""
    uses_index: bool = False
    """Whether its CDX index answers every query, within the rate limit of the index."""
    folds_spellings: bool = False
    """Whether all spellings of a URL have one key; see `ArchiveEntry.folds_spellings`."""
    asks_originals: bool = False
    """Whether it stands for the originals themselves: each has a server of its own."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_remote(self) -> bool:
        """Whether it is queried over HTTP."""
        return self.is_askable and not self.is_local


@dataclass(frozen=True, slots=True)
class Rate:
    """At most *requests* in *seconds*, at most *burst* of them at once."""

    requests: float
    seconds: float
    burst: int = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Rate limits of an archive, and their source."""

    memento: Rate
    """TimeGates and mementos."""
    index: Rate
    """TimeMaps and CDX; some archives allow far fewer of these."""
    at_once: int
    """Requests under way at the same time."""
    source: str
    """Where these numbers are stated, or who agreed to them."""


@dataclass(frozen=True, slots=True)
class ReplayForm:
    """Template of one form of link into an archive: ``{host}/web/{time}{mod}/{uri}``."""

    template: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Relocation:
    """Links that began with *dead* begin with *living* now."""

    dead: str
    living: str
    confidence: str = ""


@dataclass(frozen=True, slots=True)
class Quirk:
    """A peculiarity of one archive, and the source of the observation."""

    fact: str
    source: str


NEVER_ARCHIVED: Final = "http://timegate-canary.invalid/"
"""A page that no archive can hold: RFC 6761 6.4 reserves ``.invalid``. It is fixed and not
random, so that operators recognise it in the log of an archive."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A page that an archive must hold, and one that it cannot hold."""

    has: str | None = None
    """None if no such page is known."""
    at: str = ""
    """When *has* was captured, in 4 to 14 digits: one capture must lie in that interval. Empty
    for any time."""
    lacks: str = NEVER_ARCHIVED
    source: str = ""
    """Evidence that the archive holds *has*."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One archive, as described in `archives/known` or in the operator's configuration."""

    id: str
    name: str
    kind: ArchiveKind
    """Which adapter queries it; ``none`` where programs cannot."""
    use: bool
    """Whether it is queried unless configured otherwise."""
    because: str
    """Why it is used or not."""
    access: Access
    limits: Limits
    country: str | None = None
    access_note: str = ""
    apply: str = ""
    """Where to apply for access that is not open."""
    status: str = ""
    """State of the service, with the date of the statement."""
    trust: str = ""
    """Confidence in the endpoints, forms and status."""
    pwid: tuple[str, ...] = ()
    """Its archive-ids in PWIDs; the first is used in PWIDs that we write."""
    hosts: tuple[str, ...] = ()
    """Hosts that serve it now, at their default ports. Connections go to these and to the
    servers of the endpoints only, and no address elsewhere is taken from its answers."""
    former_hosts: tuple[str, ...] = ()
    timegate: str | None = None
    """Prefix to which the original URL is appended."""
    timemaps: Mapping[str, str] = field(default_factory=dict)
    """Prefix by format: ``link``, ``json``, ``cdxj``."""
    cdx: str | None = None
    """Address of the CDX service, without query."""
    dialect: Dialect | None = None
    replay: str | None = None
    """Template with ``{time14}`` and ``{uri}``."""
    raw: str | None = None
    """Template of the unaltered bytes; None if the archive does not serve them."""
    selection: Selection = "nearest"
    """How its TimeGate chooses: ``nearest``, or ``nearest-before`` if it only looks back, which
    is also learned from its answers; `/archives/{id}` shows it."""
    padded: bool = False
    """Whether its stamps may end in zeros that were never measured (T-9)."""
    path: str | None = None
    """Folder or file of a local collection."""
    index: str | None = None
    """The index of a local collection; None for the default path beside its files."""
    gate: str = ""
    """The bot gate that was observed in front of it, with the date."""
    hosted_by: str | None = None
    domains: tuple[str, ...] = ()
    """The only hosts that it collects, by suffix: ``.parliament.uk``, ``example.org/news``. It
    is not queried for other URLs, unless a reference names it."""
    home: tuple[str, ...] = ()
    """The hosts that it collects above all, by suffix: ``.pt``. It is queried for URLs under
    generic domains (``.com``) too, but not for those under the domain of another country."""
    aggregator: bool = False
    """Whether it asks other archives: then mementos that it names may be at any host, to which
    no connection is made, and its first and last memento are not believed."""
    canary: Canary | None = None
    """``{ has = "http://...", at = "2016", lacks = "http://..." }``: a page it must hold, and
    one it cannot hold, for `[canaries]`."""
    forms: tuple[ReplayForm, ...] = ()
    relocations: tuple[Relocation, ...] = ()
    quirks: tuple[Quirk, ...] = ()
    sources: tuple[str, ...] = ()
    origin: str = ""
    """The file that the entry was read from."""

    @property
    def folds_spellings(self) -> bool:
        """Whether all spellings of a URL have one key: http and https, www, last slash.

        Every CDX server keys by SURT (A-2), and so does replay on top of it. Of other archives
        it is not known.
        """
        return self.kind.folds_spellings or self.dialect is not None
