"""The nouns: what an archive is, what it holds, what it answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from archives.moment import Moment


class Memento(NamedTuple):
    """One capture of one original in one archive.

    A tuple, and *stamp* first, because TimeMaps hold millions of them and merging is sorting.
    """

    stamp: str
    """When it was captured: UTC digits as far as the archive proves them, at least 14."""
    uri: str
    """Where the capture is (URI-M)."""
    original: str
    """What was captured (URI-R), as the archive writes it."""
    archive: str
    """The id of the archive in the registry."""
    status: int | None = None
    """The archived HTTP status, where the archive tells."""
    mime: str | None = None
    digest: str | None = None

    @property
    def captured(self) -> Moment:
        """The moment of capture."""
        return _moment(self.stamp)


# Asked for several times while an answer is written, each time checked against the calendar.
_moment: Final = lru_cache(maxsize=1024)(Moment)


Negotiation = Literal["timegate", "timemap", "cdx", "template"]
Relation = Literal["first", "prev", "next", "last"]


@dataclass(frozen=True, slots=True)
class Closest:
    """What one archive answered when asked for the capture closest to a moment."""

    memento: Memento
    via: Negotiation
    doubts: tuple[str, ...] = ()
    """Where the archive contradicts itself: header, link, digits of the URI-M (X-6); or why who
    is led to the copy may see another."""
    neighbours: Mapping[Relation, Memento] = field(default_factory=dict)


Access = Literal["open", "partial", "onsite-only", "defunct"]
Selection = Literal["nearest", "nearest-before"]
Dialect = Literal["wayback-cdx", "pywb-cdxj", "arquivo", "outbackcdx"]


@dataclass(frozen=True, slots=True)
class ArchiveKind:
    """A kind of archive: what its adapter needs to know of an archive, and what it can do.

    Each adapter states its own; `archives.adapters.KINDS` lists them by name.
    """

    name: str
    """What ``kind = "..."`` says."""
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
    """How fast an archive may be asked, and who said so."""

    memento: Rate
    """TimeGates and mementos."""
    index: Rate
    """TimeMaps and CDX; some archives allow far fewer of these."""
    at_once: int
    source: str


@dataclass(frozen=True, slots=True)
class ReplayForm:
    """One shape of link into an archive: ``{host}/web/{time}{mod}/{uri}``."""

    template: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Relocation:
    """Links that begin with *dead* live on under *living*."""

    dead: str
    living: str
    confidence: str = ""


@dataclass(frozen=True, slots=True)
class Quirk:
    """Something this archive does that others do not, and who saw it."""

    fact: str
    source: str


NEVER_ARCHIVED: Final = "http://timegate-canary.invalid/"
"""A page that nobody can have: RFC 6761 6.4 keeps ``.invalid`` out of the DNS for good. Not
drawn by lot, so that whoever reads the log of an archive sees what it is."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A page that an archive must have, and one that it cannot have."""

    has: str | None = None
    """None where no such page is known."""
    at: str = ""
    """When *has* was captured, in 4 to 14 digits: some copy must be of then. Empty for any
    time."""
    lacks: str = NEVER_ARCHIVED
    source: str = ""
    """Who says that it has it."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One archive, as its file in `archives/known` or the operator's configuration says."""

    id: str
    name: str
    kind: ArchiveKind
    """Which adapter queries it; ``none`` where programs cannot."""
    use: bool
    """Whether it is asked unless configured otherwise."""
    because: str
    """Why it is on or off."""
    access: Access
    limits: Limits
    country: str | None = None
    access_note: str = ""
    apply: str = ""
    """Whom to ask for access that is not open."""
    status: str = ""
    """State of the service, with the date of the statement."""
    trust: str = ""
    """How sure the facts are: confidence of endpoints, forms and status."""
    pwid: tuple[str, ...] = ()
    """Archive-ids in PWIDs that mean it; the first is the one we write."""
    hosts: tuple[str, ...] = ()
    """Hosts that serve it now. Only these may be connected to, and those of the endpoints."""
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
    """Template of the unaltered bytes; None where the archive has no such view."""
    selection: Selection = "nearest"
    padded: bool = False
    """Whether its stamps may end in zeros that were never measured (T-9)."""
    path: str | None = None
    """Folder or file of a local collection."""
    index: str | None = None
    """The index of a local collection; None for the usual place beside its files."""
    gate: str = ""
    """The bot gate that was seen in front of it, with the date."""
    hosted_by: str | None = None
    domains: tuple[str, ...] = ()
    """Suffixes of the hosts it collects: ``.pt``."""
    canary: Canary | None = None
    """``{ has = "http://...", at = "2016", lacks = "http://..." }``: a page it must have, and
    one it cannot have, for `[canaries]`."""
    forms: tuple[ReplayForm, ...] = ()
    relocations: tuple[Relocation, ...] = ()
    quirks: tuple[Quirk, ...] = ()
    sources: tuple[str, ...] = ()
    origin: str = ""
    """The file the entry was read from."""

    @property
    def folds_spellings(self) -> bool:
        """Whether all spellings of a URL lie under one key: http and https, www, last slash.

        Every index that is asked as a CDX server keys by SURT (A-2), and so does replay over
        it. Of others nobody knows.
        """
        return self.kind.folds_spellings or self.dialect is not None
