"""Series of documents with persistent identifiers (draft-mallery-urn-pdi-00).

A document is minted once, on one day, and never removed or changed: other bytes are a new
version. All of it is in WARC files of a store (`timegate.store`), from which the catalogue of a
series is rebuilt. [docs/pdi.md] has each rule of the draft and how it is met.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Literal, NamedTuple

from timegate.store import StoreError

Date = tuple[str, str, str]
"""Year, month and day, as digits."""
MOST_VALUE: Final = 8192
"""Octets of the value of an assertion."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Days from *first* to *last*, both included; None is open."""

    first: date | None = None
    last: date | None = None

    def contains(self, day: date) -> bool:
        """Whether *day* is in the interval."""
        return (self.first is None or self.first <= day) and (
            self.last is None or day <= self.last
        )

    @property
    def is_all(self) -> bool:
        """Whether it has neither beginning nor end."""
        return self.first is None and self.last is None


@dataclass(frozen=True, slots=True)
class Delegation:
    """Documents for which another resolver answers."""

    resolver: str
    """The base of its THTTP addresses."""
    how: Literal["redirect", "ask"]
    subseries: str | None = None
    """A series below the one that is configured, with all below it; None for the series."""
    interval: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class Minter:
    """A token that may mint, and the name of its holder in assertions."""

    digest: bytes
    name: str


@dataclass(frozen=True, slots=True)
class SeriesSettings:
    """The configuration of one series."""

    name: str
    store: str
    minters: tuple[Minter, ...] = ()
    interval: Interval = field(default_factory=Interval)
    """The days for which this server answers."""
    delegations: tuple[Delegation, ...] = ()

    @property
    def is_mintable(self) -> bool:
        """Whether names of the series conform, so that new ones may be given (2.2)."""
        country = self.name.rpartition(".")[2]
        return len(country) == 2

    def delegation(self, series: str, day: date | None) -> Delegation | None:
        """Return who answers for *series* on *day* instead; None if this server does."""
        for each in self.delegations:
            is_below = each.subseries is not None and is_within(series, each.subseries)
            is_it = each.subseries is None and series == self.name
            known = each.interval.is_all or (day is not None and each.interval.contains(day))
            if (is_below or is_it) and known:
                return each
        return None


def is_within(series: str, top: str) -> bool:
    """Whether *series* is *top*, or a series below it."""
    return series == top or series.endswith(f".{top}")


class DocumentName(NamedTuple):
    """The name of a document in any format and version."""

    series: str
    date: Date
    unique_id: str
    """In canonical form."""

    def __str__(self) -> str:
        slash = "/" if self.unique_id else ""
        return f"pdi://{self.series}/{'/'.join(self.date)}{slash}{self.unique_id}"


class Location(NamedTuple):
    """Where the record of a representation is; has the fields that reading it needs."""

    url: str
    stamp: str
    digest: str | None
    file: str
    name: str
    offset: int
    length: int


class Representation(NamedTuple):
    """A document in one version and format."""

    document: DocumentName
    version: int
    format: str
    media_type: str
    digest: str | None
    """``sha256:`` and hex digits; None if it is bound to a URI whose bytes are not known."""
    size: int | None
    uri: str | None
    """The URI to which it is bound; None if it never was."""
    stamp: str
    """When it was minted, as digits of UTC."""
    minter: str
    location: Location | None
    """None if it is bound to a URI only."""

    @property
    def pdi(self) -> str:
        """The fully qualified name."""
        return f"{self.document}.{self.format}.{self.version}"

    @property
    def is_bound(self) -> bool:
        """Whether only a URI is known, and no bytes."""
        return self.location is None


class SeriesDocument(NamedTuple):
    """A document with all its versions and formats, in order."""

    name: DocumentName
    minted: str
    """Digits of UTC."""
    representations: Sequence[Representation]

    @property
    def versions(self) -> list[int]:
        """All versions, in order."""
        return sorted({each.version for each in self.representations})

    @property
    def formats(self) -> list[str]:
        """All formats, in order."""
        return sorted({each.format for each in self.representations})

    @property
    def highest(self) -> int:
        """The highest version."""
        return max(each.version for each in self.representations)

    def find(self, version: int, form: str) -> Representation | None:
        """Return the representation; None if there is none."""
        for each in self.representations:
            if (each.version, each.format) == (version, form):
                return each
        return None


class Assertion(NamedTuple):
    """A statement about a PDI."""

    subject: str
    """The PDI, which may be generic, or have a fragment or a citation."""
    key: str
    value: str
    who: str
    stamp: str
    """Digits of UTC."""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a representation, or the URI to which it is bound."""

    format: str
    media_type: str
    body: bytes = b""
    digest: str | None = None
    """``sha256:`` and hex digits, of the body, or as stated for the URI."""
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class MintRequest:
    """A document to be minted."""

    series: str
    content: Content
    minter: str
    unique_id: str | None = None
    """In canonical form; None for the next number of the day."""


@dataclass(frozen=True, slots=True)
class PlaceRequest:
    """A representation whose PDI was given elsewhere, or before, to be put in place."""

    document: DocumentName
    version: int
    content: Content
    minter: str


@dataclass(frozen=True, slots=True)
class PutRequest:
    """Content for a document that was minted before."""

    document: DocumentName
    version: int | None
    """The version that the writer names; None for the highest."""
    content: Content
    minter: str
    etag: str | None = None
    """The digest that the current version must have; None for any."""


@dataclass(frozen=True, slots=True)
class AssertRequest:
    """An assertion to be added."""

    document: DocumentName
    subject: str
    key: str
    value: str
    who: str


class Minted(NamedTuple):
    """The result of minting or putting."""

    representation: Representation
    is_new: bool
    """False if the same bytes were there."""


class UnknownDocument(StoreError):
    """The document, or this version of it, was never minted."""


class NameTaken(StoreError):
    """The unique-id is that of another document of the day."""


class OtherBytes(StoreError):
    """The fully qualified PDI has other bytes, and never changes."""


class VersionMoved(StoreError):
    """The current version is another one than the precondition names."""
