"""The model of a resolution: query, preferences, plan, attempts at archives, and the result."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from msgspec import Struct

from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment
from timegate.content.comparison import Comparison
from timegate.content.findings import CopyText, QuoteFinding, UnreadCopy
from timegate.content.fragments import TextQuote
from timegate.parts.composite import PartsSummary
from timegate.resolution.context import Budget, RequestContext

if TYPE_CHECKING:
    from timegate.content.text_diff import TextDiff
    from timegate.resolution.settled import Steady

Syntax = Literal["strict", "legacy", "repaired"]
Strictness = Literal["exact", "archive", "day", "any"]
Direction = Literal["closest", "before", "after"]
Verification = Literal["none", "head", "page", "content"]
WantedStatus = Literal["2xx", "any"]
Rule = Literal["scheme", "www", "slash", "percent", "fragment", "also"]
"""How a URL variant differs from the URL of the query; ``also``: it is an equivalent URL."""
Cause = Literal[
    "not-chosen",
    "excluded",
    "blocked",
    "defunct",
    "on-site",
    "unaskable",
    "gated",
    "not-in-use",
    "absent",
    "domain",
    "budget",
    "only-cached",
    "refused",
]
"""Why an archive is not queried."""


class Skip(NamedTuple):
    """One archive that is not queried."""

    archive: str
    cause: Cause
    reason: str
    """For people."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a reference refers to: which URL, when, in which archive, how much of it."""

    original: str
    at: Moment | None
    """None for the newest memento."""
    archive: str | None = None
    """Registry id of the archive that the reference names; None if it is not registered."""
    archive_id: str | None = None
    """The archive as the reference writes it; None if any archive may answer."""
    precision: str | None = None
    """How much is meant: page, part, site ... (the precision-spec of a PWID)."""
    identifier: str | None = None
    """The canonical form of the reference; None for a URL with Accept-Datetime."""
    literal: str | None = None
    """The item read literally, as if it was never encoded (P-21); None if that is the same."""
    decoded: tuple[str, ...] = ()
    """The item decoded, if it was read literally and some of it seems to be encoded (P-21)."""
    selection: tuple[tuple[str, str], ...] = ()
    """What selects a part or a version of the original, as names and values: not applied."""
    minted: bool = False
    """Whether the time is only the day on which a PDI was minted."""
    syntax: Syntax = "strict"
    diagnostics: tuple[str, ...] = ()
    link: str | None = None
    """The reference itself where it is a link into the named archive."""
    by_id: bool = False
    """Whether `link` has the archive's own id of the copy: only opening it shows that copy."""
    quote: TextQuote | None = None
    """What the fragment of the URL quotes (``#:~:text=``)."""

    @property
    def is_undated(self) -> bool:
        """Whether it is a dated URI with an empty date, which means now (D-7)."""
        return self.identifier is not None and self.identifier.startswith(("duri::", "tdb::"))

    def dated(self, at: Moment | None) -> "Query":
        """Return the query at a time that neither its identifier nor its link states."""
        return replace(self, at=at, identifier=None, link=None)


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the client wants, beyond the reference itself."""

    archives: frozenset[str] | None = None
    """The only archives to query; None for all that are in use."""
    exclude: frozenset[str] = frozenset()
    """Archives that are not queried."""
    precision: Strictness = "any"
    """The least precise memento that is acceptable; a worse one is a 404 with alternatives."""
    tolerance: timedelta | None = None
    """How far from the interval a memento may be."""
    direction: Direction = "closest"
    wait: float | None = None
    """Seconds until the response; None for the configured deadlines."""
    verify: Verification | None = None
    """Whether the memento itself is requested, or its parts as well (``page``), or its content
    and that of other copies (``content``); None for the default of the kind of query."""
    status: WantedStatus = "2xx"
    """Whether a page nearby is preferred to an archived error or redirect."""
    also: tuple[str, ...] = ()
    """Equivalent URLs, tried in order if the URL of the reference gives nothing acceptable."""
    quote: TextQuote | None = None
    """A quotation to look for in the memento; it counts more than that of the query."""
    live: bool = False
    """Whether the original itself may be the answer to an empty date, where the operator allows
    that."""
    no_cache: bool = False
    only_if_cached: bool = False

    def allow(self, archive: str) -> bool:
        """Whether copies in *archive* are accepted."""
        is_chosen = self.archives is None or archive in self.archives
        return is_chosen and archive not in self.exclude


class CachedAnswer(NamedTuple):
    """An earlier answer of an archive. An outcome of None means that it holds nothing."""

    outcome: Closest | None
    fresh: bool
    """Whether it may be used as it is; a stale answer is used only if there is no other."""
    age: float
    """Seconds since the archive answered."""


class Attempt(Struct, frozen=True):
    """A question to one archive and its outcome: found, absent (None) or unknown (an error).

    A Struct, as other values that are made for each archive: making a named tuple takes three
    times as many instructions, a frozen dataclass ten times.
    """

    archive: str
    outcome: Closest | ArchiveError | None
    seconds: float
    """How long the archive took, without the time in our own queue for it."""
    original: str
    """The URL of the question: that of the query, or a variant of it."""
    variant: Rule | None = None
    age: float | None = None
    """Age of a cached answer in seconds; None if the archive was queried just now."""
    unchecked: str = ""
    """Why the memento could not be verified; empty if it was, or was not to be."""


@dataclass(frozen=True, slots=True)
class MementoCheck:
    """A request for a memento, and its outcome: a memento, gone (None) or unknown."""

    archive: str
    uri: str
    """The address that was requested."""
    outcome: Closest | ArchiveError | None
    age: float | None = None
    """Age of a cached outcome in seconds; None if it was requested just now."""


@dataclass(frozen=True, slots=True)
class UnaskedVariant:
    """A URL variant for which some archives were not asked; they may hold it."""

    variant: Rule
    url: str
    archives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiveOriginal:
    """A request to the original itself, and whether it answered. It is no memento."""

    url: str
    """The original."""
    requested: Moment
    """When it was requested."""
    status: int | None
    """The status of its last response; None without a response."""
    why: str = ""
    """Why it is not the result; empty if it answered with a page."""

    @property
    def answers(self) -> bool:
        """Whether its current state can be had."""
        return not self.why


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a query, with all attempts that led to it."""

    query: Query
    preferences: Preferences
    best: Attempt | None
    """The attempt whose memento was chosen; its outcome is a Closest."""
    alternatives: tuple[Attempt, ...]
    """The closest memento of every other archive that holds one, best first."""
    attempts: tuple[Attempt, ...]
    """All attempts, in the order of the answers; those without an answer last."""
    unanswered: tuple[str, ...] = ()
    """Archives without an answer when time was up, whether or not they were queried yet."""
    unasked: tuple[UnaskedVariant, ...] = ()
    """If nothing was found: URL variants, for which only a few archives are asked."""
    skipped: tuple[str, ...] = ()
    """Archives without an answer that were not needed: no memento could be better, or only
    cached answers were wanted. They may hold mementos next to the one chosen."""
    checks: tuple[MementoCheck, ...] = ()
    """Mementos that were requested to verify them, in order."""
    named_skip: Skip | None = None
    """Why the named archive is not in the plan; None if it is, or may not be mentioned."""
    refused: tuple[Skip, ...] = ()
    """Archives that must not be queried for this page; they count as not queried."""
    outside: tuple[Skip, ...] = ()
    """Archives in use that were not queried because they do not collect such pages."""
    parts: PartsSummary | None = None
    """The parts of the page; None if they were not looked for."""
    comparison: Comparison | None = None
    """How the contents of the copies compare; None if they were not to be looked at."""
    quote: QuoteFinding | None = None
    """Whether the memento has the quotation; None if none was asked for."""
    extent: str | None = None
    """What the memento is, if its address is neither that of a page nor of its file."""
    failed: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """Archives for which it is unknown whether they hold the page, or deliver it."""
    live: LiveOriginal | None = None
    """The request to the original, for an empty date; None if it was not requested. If it
    answers, it is the result, and there is no memento."""
    settled: "Steady | None" = field(default=None, init=False, compare=False, repr=False)
    """For which other times it holds; None if that is not known.

    It is not an argument, so that `replace` does not copy it."""

    def mark_settled(self, settled: "Steady") -> None:
        """Set `settled`, where the resolution is made."""
        object.__setattr__(self, "settled", settled)

    @property
    def memento(self) -> Memento | None:
        """The memento that was chosen; None if nothing was found."""
        if self.best is None or not isinstance(self.best.outcome, Closest):
            return None
        return self.best.outcome.memento

    @property
    def unqueried(self) -> Skip | None:
        """Why the archive that the reference names was not queried; None if it was."""
        named = self.query.archive
        asked = {*(attempt.archive for attempt in self.attempts), *self.unanswered}
        if named is None or named in asked:
            return None
        if named in self.skipped:
            return Skip(named, "only-cached", "only cached answers were requested")
        return self.named_skip

    @property
    def lacks_neighbours(self) -> bool:
        """Whether the archive did not link the neighbours of its memento.

        False if archives were skipped, because one of them may hold a nearer neighbour.
        """
        best = self.best
        if best is None or not isinstance(best.outcome, Closest) or self.skipped:
            return False
        return not best.outcome.neighbours

    def __post_init__(self) -> None:
        errors = [a.archive for a in self.attempts if isinstance(a.outcome, ArchiveError)]
        withheld = [c.archive for c in self.checks if not isinstance(c.outcome, Closest)]
        failed = tuple(dict.fromkeys((*errors, *withheld, *self.unanswered)))
        object.__setattr__(self, "failed", failed)

    @property
    def stale(self) -> bool:
        """Whether the memento is from a stale answer, because its archive fails now."""
        return (
            self.best is not None
            and self.best.age is not None
            and (self.best.archive in self.failed)
        )

    @property
    def complete(self) -> bool:
        """Whether every archive has answered."""
        return not self.failed


_STALE_AFTER: Final = 1.8
"""Seconds until a stale answer is used. RFC 8767 5: before the client times out."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds after which a search ends: with a memento (soft), and in any case (hard)."""

    soft: float = 2.0
    hard: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.soft <= self.hard:
            raise ValueError("deadlines: 0 < soft <= hard")

    def give_up(self, *, copy: bool, old: bool) -> float:
        """Return the seconds after which to end: with a memento, a stale one, or none."""
        if copy:
            return self.soft
        # If both are equal, the client has stated how long it waits for a new answer.
        return min(self.soft, _STALE_AFTER) if old and self.soft < self.hard else self.hard


@dataclass(frozen=True, slots=True)
class Plan:
    """The archives to query, group after group."""

    groups: tuple[tuple[str, ...], ...]
    folding: frozenset[str] = frozenset()
    """Archives that hold all variants of a URL under one key: one question is enough."""
    named_skip: Skip | None = None
    """Why the archive that the reference names is not in it, if that may be mentioned."""
    refused: tuple[Skip, ...] = ()
    """Archives that are not in it because they must not be queried for this page."""
    outside: tuple[Skip, ...] = ()
    """Archives in use that are not in it because they do not collect such pages."""

    order: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """All archives of the plan, in the order in which they are queried."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", tuple(chain.from_iterable(self.groups)))


Router = Callable[[Query, Preferences, RequestContext], Plan]
"""Chooses the archives to query."""


class Resolves(Protocol):
    """Resolves queries: over many archives, or over one collection."""

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution: ...


class AsksOriginals(Protocol):
    """Requests originals. Failures never raise."""

    async def __call__(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> LiveOriginal | None:
        """Return whether the original answers; None if it is not to be requested."""
        ...


def live_resolution(
    query: Query, preferences: Preferences, live: LiveOriginal | None
) -> Resolution | None:
    """Return the resolution whose result is the original; None if it is not."""
    if live is None or not live.answers:
        return None
    return Resolution(query, preferences, None, (), (), live=live)


class ReadsCopies(Protocol):
    """Reads the texts of copies. Failures of archives never raise."""

    async def of(
        self, memento: Memento, context: RequestContext, budget: Budget, most: int
    ) -> CopyText | UnreadCopy: ...


class LooksAtCopies(Resolves, Protocol):
    """Resolves queries, and compares the copies that are found. Failures never raise."""

    async def of(self, resolution: Resolution, context: RequestContext) -> Resolution:
        """Return *resolution* with a comparison of its memento with other copies."""
        ...


class DiffsCopies(Protocol):
    """Compares the texts of copies. Failures of archives never raise."""

    async def diff(
        self, first: Memento, second: Memento, context: RequestContext
    ) -> "TextDiff | UnreadCopy":
        """Return how the text of *second* differs from that of *first*."""
        ...
