"""The nouns of one resolution: what is asked, what each archive said, what was chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, Protocol

from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment
from timegate.resolution.context import RequestContext

Syntax = Literal["strict", "legacy", "repaired"]
Strictness = Literal["exact", "archive", "day", "any"]
Direction = Literal["closest", "before", "after"]
Verification = Literal["none", "head"]
Rule = Literal["scheme", "www", "slash", "percent", "fragment"]
"""How a variant of a URL differs from what was asked."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a reference asks for: which URL, when, in which archive, how much of it."""

    original: str
    at: Moment | None
    """None for the newest copy."""
    archive: str | None = None
    """The id in the registry of the archive that the reference names, where it is known."""
    archive_id: str | None = None
    """The archive as the reference writes it; None where any may answer."""
    precision: str | None = None
    """How much is meant: page, part, site ... (the precision-spec of a PWID)."""
    identifier: str | None = None
    """The canonical form of the reference; None for a URL with Accept-Datetime."""
    literal: str | None = None
    """The item as it reads if nobody encoded it (P-21); None where that is the same."""
    minted: bool = False
    """Whether the time is only the day on which a PDI was minted."""
    syntax: Syntax = "strict"
    diagnostics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the client wants, beyond the reference itself."""

    archives: frozenset[str] | None = None
    """Ask only these; None for all that are in use."""
    exclude: frozenset[str] = frozenset()
    precision: Strictness = "any"
    """The least that will do; what is worse is answered with 404 and its alternatives."""
    tolerance: timedelta | None = None
    """How far from the interval a copy may be."""
    direction: Direction = "closest"
    wait: float | None = None
    """Seconds; None for the deadlines of the configuration."""
    verify: Verification = "none"
    no_cache: bool = False
    only_if_cached: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an archive said before. An outcome of None is a clear no."""

    outcome: Closest | None
    fresh: bool
    """Whether it may be used as it is; otherwise only while nothing better is to be had."""
    age: float
    """Seconds since the archive said it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What asking one archive brought: found, a clear no (None), or why we do not know."""

    archive: str
    outcome: Closest | ArchiveError | None
    seconds: float
    original: str
    """The URL that was asked for: the one of the query, or a variant of it."""
    variant: Rule | None = None
    age: float | None = None
    """Seconds since the archive said it; None where it was asked just now."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """A spelling of the URL under which some archives may hold a copy, and were not asked."""

    variant: Rule
    url: str
    archives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer to a query, with the trail of how it came about."""

    query: Query
    preferences: Preferences
    best: Attempt | None
    """The attempt whose outcome was chosen; its outcome is a Closest."""
    alternatives: tuple[Attempt, ...]
    """The closest of every other archive that found one, best first."""
    attempts: tuple[Attempt, ...]
    """Every archive that was asked, in the order of the answers; those without one last."""
    unanswered: tuple[str, ...] = ()
    """Archives that were asked or should have been, and had not answered when time was up."""
    unasked: tuple[Unasked, ...] = ()
    """Where nothing was found: other spellings, which are asked of a few archives only."""
    skipped: tuple[str, ...] = ()
    """Archives of which nothing was heard, since the copy cannot be bettered or only what is
    remembered will do. They are not missing, but may hold copies next to the one chosen."""

    @property
    def memento(self) -> Memento | None:
        """The copy that was chosen."""
        if self.best is None or not isinstance(self.best.outcome, Closest):
            return None
        return self.best.outcome.memento

    @property
    def lacks_neighbours(self) -> bool:
        """Whether the archive did not link the neighbours of its memento.

        Where archives were not queried, one of them may hold a nearer memento.
        """
        best = self.best
        if best is None or not isinstance(best.outcome, Closest) or self.skipped:
            return False
        return not best.outcome.neighbours

    @property
    def failed(self) -> tuple[str, ...]:
        """Archives of which we do not know whether they hold it."""
        errors = (a.archive for a in self.attempts if isinstance(a.outcome, ArchiveError))
        return tuple(dict.fromkeys((*errors, *self.unanswered)))

    @property
    def stale(self) -> bool:
        """Whether the copy is what an archive said once, because it says nothing now."""
        return (
            self.best is not None
            and self.best.age is not None
            and (self.best.archive in self.failed)
        )

    @property
    def complete(self) -> bool:
        """Whether every archive asked has answered."""
        if self.unanswered:
            return False
        return not any(isinstance(a.outcome, ArchiveError) for a in self.attempts)


# RFC 8767 5: a client hears of old data before it gives up by itself.
_OLD_IS_GOOD_ENOUGH: Final = 1.8


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds after which an answer is given: with what there is, and in any case."""

    soft: float = 2.0
    hard: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.soft <= self.hard:
            raise ValueError("deadlines: 0 < soft <= hard")

    def give_up(self, *, copy: bool, old: bool) -> float:
        """Return after how many seconds to answer with a copy, an old one, or none."""
        if copy:
            return self.soft
        # Where both are one, a client has said how long it wants to wait for something new.
        return (
            min(self.soft, _OLD_IS_GOOD_ENOUGH) if old and self.soft < self.hard else self.hard
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Whom to ask: group after group."""

    groups: tuple[tuple[str, ...], ...]
    folding: frozenset[str] = frozenset()
    """Those who hold all spellings of a URL under one key: they have said all at once."""

    @property
    def order(self) -> tuple[str, ...]:
        """Everyone who may be asked, in the order in which they are."""
        return tuple(archive for group in self.groups for archive in group)


Router = Callable[[Query, Preferences, RequestContext], Plan]


class Resolves(Protocol):
    """Resolves queries: over many archives, or over one collection."""

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution: ...
