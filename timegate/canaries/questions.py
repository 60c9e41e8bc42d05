"""What is asked of an archive, and what its answer shows."""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from archives.model import ArchiveEntry, Canary, Closest
from archives.moment import Moment

Side = Literal["has", "lacks"]
Verdict = Literal["kept", "lost", "claims", "unknown"]
"""As it must be; without what it had; with what nobody can have. Who did not answer has shown
neither."""


class CanaryQuestion(NamedTuple):
    """One page that one archive must have, or cannot have."""

    archive: str
    side: Side
    url: str
    at: Moment | None = None
    """When it was captured, as far as that is stated; None for any time."""


class CanaryOutcome(NamedTuple):
    """What an answer shows, and why."""

    verdict: Verdict
    why: str


def questions_of(entries: Iterable[ArchiveEntry]) -> Iterator[CanaryQuestion]:
    """Yield what is asked of *entries*: that nobody can have a page needs no knowledge."""
    for entry in entries:
        canary = entry.canary or Canary()
        at = Moment(canary.at) if canary.at else None
        if canary.has is not None:
            yield CanaryQuestion(entry.id, "has", canary.has, at)
        yield CanaryQuestion(entry.id, "lacks", canary.lacks, at)


def judged(question: CanaryQuestion, found: Closest | None) -> CanaryOutcome:
    """Return what it shows that an archive *found* this, or clearly nothing."""
    if question.side == "lacks":
        if found is None:
            return CanaryOutcome("kept", "it says that it holds no copy")
        return CanaryOutcome("claims", f"it gives a copy of {found.memento.captured}")
    if found is None:
        return CanaryOutcome("lost", "it says that it holds no copy")
    captured = found.memento.captured
    if question.at is not None and question.at.distance(captured.window[0]):
        return CanaryOutcome("lost", f"the nearest copy it gives is of {captured}")
    return CanaryOutcome("kept", f"it gives the copy of {captured}")
