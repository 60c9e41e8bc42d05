"""The model of identifiers: what an identifier states, and what a kind of identifier is.

An `Identifier` states a URL, a time and an archive. An `IdentifierKind` is one notation, such
as ``urn:pwid``, and describes itself. `ParsedIdentifier` is the result of reading a text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from archives.diagnostics import Diagnosis, Diagnostic
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import negotiable


class Identifier(Protocol):
    """A reference to an archived page. Immutable; kinds differ in what they can state."""

    @property
    def archive(self) -> str | None:
        """The archive-id; None if any archive may answer."""
        ...

    @property
    def time(self) -> Moment | None:
        """The time of capture; None if none is stated."""
        ...

    @property
    def granularity(self) -> str:
        """Granularity of the time; ``latest`` if none is stated, ``any`` for every time."""
        ...

    @property
    def precision(self) -> str | None:
        """The precision-spec of a PWID (part, page, site ...): how much is meant."""
        ...

    @property
    def item(self) -> str | None:
        """What was archived: a URL, or the id that the archive assigned."""
        ...

    @property
    def selection(self) -> tuple[tuple[str, str], ...]:
        """What selects a part or a version of the item, as names and values.

        Archives can only be queried for the item.
        """
        ...

    @property
    def canonical(self) -> str | None:
        """The canonical spelling; None if no notation can express the identifier."""
        ...

    @property
    def negotiable(self) -> bool:
        """Whether archives can be queried for it with Memento."""
        ...

    @property
    def document(self) -> str | None:
        """Identifier of the document that describes the named thing; None for documents.

        Documents can be archived, things cannot: clients are redirected with 303 (D-8).
        """
        ...


class CanonicalEquality:
    """Base of all identifiers: equal if their canonical forms are equal."""

    __slots__ = ()

    def _key(self: Identifier) -> tuple[object, ...]:
        if self.canonical is not None:
            return (self.canonical,)
        return (type(self), self.archive, self.time, self.precision, self.item)

    def __eq__(self: Identifier, other: object) -> bool:
        if not isinstance(other, CanonicalEquality):
            return NotImplemented
        return CanonicalEquality._key(self) == other._key()  # type: ignore[misc]

    def __hash__(self: Identifier) -> int:
        return hash(CanonicalEquality._key(self))

    @property
    def selection(self) -> tuple[tuple[str, str], ...]:
        return ()

    @property
    def granularity(self: Identifier) -> str:
        return "latest" if self.time is None else self.time.granularity

    @property
    def negotiable(self: Identifier) -> bool:
        return self.item is not None and negotiable(self.item)

    @property
    def document(self: Identifier) -> str | None:
        return None


class ParsedIdentifier(NamedTuple):
    """The result of reading a text as an identifier."""

    identifier: Identifier
    kind: "IdentifierKind"
    """The notation in which the text is written."""
    diagnostics: tuple[Diagnostic, ...] = ()
    fragment: str | None = None
    """The text after ``#``; it stays with the client and is not part of the identifier."""
    entry: str | None = None
    """Registry id of the named archive; None if no archive is named or it is not registered."""
    link: str | None = None
    """The text itself if it is a link into an archive with nothing missing."""

    @property
    def scheme(self) -> str:
        """The name of the kind."""
        return self.kind.name

    @property
    def conforming(self) -> bool:
        """Whether the text was read without any repair."""
        return not any(diagnostic.repair for diagnostic in self.diagnostics)


Reader = Callable[[str, Diagnosis, Registry | None], ParsedIdentifier | None]
"""Reads a text as one kind; None if it is of another kind. Raises Malformed if it is faulty.

Only links into archives need the registry.
"""


@dataclass(frozen=True, slots=True, eq=False)
class IdentifierKind:
    """One notation: its name, its reader, and what can be negotiated with it."""

    name: str
    """For programs: the ``scheme`` in reports, such as ``urn:pwid`` or ``replay``."""
    label: str
    """For people."""
    read: Reader
    read_common: Callable[[str], ParsedIdentifier | None] | None = None
    """Reads the most common spelling with a single expression, for speed."""
    prefixes: tuple[str, ...] = ()
    """How texts of this kind begin, in lower case; empty if no prefix distinguishes them."""
    has_spaces: bool = False
    """Whether texts of this kind contain spaces, which are not allowed in any other kind."""
    is_reference: bool = True
    """Whether it refers to something archived. A time without a URL does not."""
    is_archive_link: bool = False
    """Whether it is the address of a copy in an archive."""
    states_time: bool = True
    """Whether it can state a time."""
    names_archive: bool = True
    """Whether `Identifier.archive`, if there is one, is an archive."""
    is_dated_by_minting: bool = False
    """Whether the time is only the day on which the identifier was minted."""
    encodes_item: bool = False
    """Whether ``[ ] ? # %`` in the item are percent-encoded once more (P-20, P-21)."""
    resolver: str | None = None
    """The only resolver that can look up an identifier without a URL; None if there is none."""


UNRESERVED: Final = "A-Za-z0-9._~-"
"""RFC 3986 2.3, for use inside a character class."""
