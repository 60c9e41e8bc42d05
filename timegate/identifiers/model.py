"""What every identifier says, whatever it is written in: which URL, when, in which archive.

`ParsedIdentifier` is what a text turned out to be: the identifier, the notation it was written in, and
what the reader has to say.
"""

from typing import Final, NamedTuple, Protocol

from archives.diagnostics import Diagnosis, Diagnostic
from archives.moment import Moment
from archives.uri import negotiable


class Identifier(Protocol):
    """A reference to the archived web. Immutable; kinds differ in what they can say."""

    @property
    def archive(self) -> str | None:
        """The archive-id it names; None where any archive may answer."""
        ...

    @property
    def time(self) -> Moment | None:
        """When; None where it does not say."""
        ...

    @property
    def granularity(self) -> str:
        """That of the time: ``latest`` where none is said, ``any`` where every time will do."""
        ...

    @property
    def precision(self) -> str | None:
        """How much is meant (the precision-spec of a PWID): part, page, site ..."""
        ...

    @property
    def item(self) -> str | None:
        """What was archived: a URL, or an id where the archive assigned one."""
        ...

    @property
    def canonical(self) -> str | None:
        """The one right spelling; None where no notation can say it."""
        ...

    @property
    def negotiable(self) -> bool:
        """Whether archives can be asked for it with Memento."""
        ...


class CanonicalEquality:
    """What the kinds have in common: they are equal when their canonical forms are."""

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
    def granularity(self: Identifier) -> str:
        return "latest" if self.time is None else self.time.granularity

    @property
    def negotiable(self: Identifier) -> bool:
        return self.item is not None and negotiable(self.item)


class ParsedIdentifier(NamedTuple):
    """An identifier as it was found in a text."""

    identifier: Identifier
    scheme: str
    """The notation: ``urn:pwid``, ``pwid``, ``pwid-http``, ``duri``, ``tdb``, ``pdi``, ..."""
    diagnostics: tuple[Diagnostic, ...] = ()
    fragment: str | None = None
    """What stood behind ``#``: it stays with the client and is no part of the name."""
    entry: str | None = None
    """The id of the archive in the registry, where the archive named is known there."""

    @property
    def conforming(self) -> bool:
        """Whether the text was right as it stood."""
        return not any(diagnostic.repair for diagnostic in self.diagnostics)


class Reader(Protocol):
    """Reads one notation. None: the text is not in it. Raises Malformed: it is, but wrong."""

    def __call__(self, text: str, diagnosis: Diagnosis) -> ParsedIdentifier | None: ...


UNRESERVED: Final = "A-Za-z0-9._~-"
"""RFC 3986 2.3, for use inside a character class."""
