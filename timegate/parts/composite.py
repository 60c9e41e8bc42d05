"""A composite memento: an archived page, and the captures of the parts that it embeds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from archives.model import Evidence, Memento
from archives.moment import Moment
from timegate.parts.coherence import Coherence

Outcome = Literal["found", "missing", "unknown", "not-looked", "variant"]
"""What is known of a part.

``missing``: every archive that was asked answered that it does not hold it, or it was archived
as an error. ``unknown``: an archive did not answer. ``not-looked``: the budget did not suffice.
``variant``: one of several for other screens or media, which was not looked for; nothing is
missing without it.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a page embeds, and its capture near the time of the page."""

    url: str
    kind: str
    """What it is: image, stylesheet, frame, ..."""
    source: str
    """Where it is named, such as ``img src``."""
    parent: str
    """The URL of the document that embeds it: the page, a frame, or a stylesheet."""
    outcome: Outcome
    is_variant: bool = False
    memento: Memento | None = None
    """Its capture; also one that could not be read, or that is an error."""
    offset: int | None = None
    """Seconds from the page to it, negative before; None if not both are dated so well."""
    coherence: Coherence = Coherence.UNDEFINED
    evidence: Evidence | None = None
    """Whether the capture was requested itself."""
    last_modified: Moment | None = None
    digest: str | None = None
    redirect: str | None = None
    """The URL to which an archived redirect leads; it is a part as well."""
    why: str = ""
    """Why it is missing, unknown, or was not looked for."""

    @property
    def is_counted(self) -> bool:
        """Whether the page is incomplete without it."""
        return not self.is_variant


@dataclass(frozen=True, slots=True)
class PartsSummary:
    """The parts of a page in figures, for the verdict."""

    parts: int = 0
    """Those that are known, without variants."""
    found: int = 0
    missing: int = 0
    unknown: int = 0
    not_looked: int = 0
    earliest: int | None = None
    """The least offset of a part from the page, in seconds; None if none is known."""
    latest: int | None = None
    coherence: Coherence = Coherence.UNDEFINED
    classes: Mapping[Coherence, int] = field(default_factory=dict)
    """How many of the parts found have each class."""
    partial: bool = False
    """Whether there may be parts that are not known, because a document was not read."""
    failure: str = ""
    """Why the page could not be read; then nothing is known of its parts."""

    @property
    def is_settled(self) -> bool:
        """Whether looking again, with more time or requests, would find nothing else."""
        return not (self.unknown or self.not_looked or self.partial or self.failure)

    @property
    def spread(self) -> str | None:
        """The least and the greatest offset as durations of ISO 8601: ``-P3D/P41D``."""
        if self.earliest is None or self.latest is None:
            return None
        return f"{iso_duration(self.earliest)}/{iso_duration(self.latest)}"


@dataclass(frozen=True, slots=True)
class PartLimits:
    """The budget for the parts of one page."""

    requests: int = 60
    """Requests to archives, but for those to collections of our own."""
    octets: int = 20 * 1024**2
    seconds: float = 20.0
    parts: int = 500
    document: int = 4 * 1024**2
    """Octets that are read of one document."""
    at_once: int = 4
    variants: bool = False
    """Whether variants are looked for as well."""


_WORST_FIRST: Final = (
    Coherence.VIOLATIVE,
    Coherence.PROBABLY_VIOLATIVE,
    Coherence.UNDEFINED,
    Coherence.POSSIBLE,
    Coherence.COHERENT,
)


@dataclass(frozen=True, slots=True)
class CompositeMemento:
    """A page with its parts."""

    root: Memento
    parts: tuple[Part, ...] = ()
    unread: tuple[str, ...] = ()
    """Why there may be more parts: documents that were not read, or not to their end."""
    requests: int = 0
    """Requests to archives."""

    def counted(self) -> Iterator[Part]:
        """Yield the parts without which the page is incomplete."""
        return (part for part in self.parts if part.is_counted)

    @property
    def summary(self) -> PartsSummary:
        """The figures."""
        outcomes = Counter(part.outcome for part in self.counted())
        found = [part for part in self.counted() if part.outcome == "found"]
        offsets = [part.offset for part in found if part.offset is not None]
        classes = Counter(part.coherence for part in found)
        doubtful = self.unread or outcomes["unknown"] or outcomes["not-looked"]
        return PartsSummary(
            parts=outcomes.total(),
            found=outcomes["found"],
            missing=outcomes["missing"],
            unknown=outcomes["unknown"],
            not_looked=outcomes["not-looked"],
            earliest=min(offsets, default=None),
            latest=max(offsets, default=None),
            coherence=_overall(classes, doubtful=bool(doubtful)),
            classes={each: classes[each] for each in Coherence if each in classes},
            partial=bool(self.unread),
        )


def _overall(classes: Mapping[Coherence, int], *, doubtful: bool) -> Coherence:
    """Return the worst class of a part; a page with *doubtful* parts is never coherent."""
    known = {*classes, *((Coherence.UNDEFINED,) if doubtful else ())}
    return next((each for each in _WORST_FIRST if each in known), Coherence.UNDEFINED)


_UNITS: Final = (("D", 86_400), ("H", 3_600), ("M", 60), ("S", 1))


def iso_duration(seconds: int) -> str:
    """Return a duration of ISO 8601: ``-P3DT4H``, ``PT0S``."""
    sign, left = ("-" if seconds < 0 else ""), abs(seconds)
    counts = {}
    for unit, size in _UNITS:
        counts[unit], left = divmod(left, size)
    days = f"{counts['D']}D" if counts["D"] else ""
    time = "".join(f"{counts[unit]}{unit}" for unit in "HMS" if counts[unit])
    if not days and not time:
        return "PT0S"
    return f"{sign}P{days}{'T' if time else ''}{time}"
