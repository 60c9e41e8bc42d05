"""The parts of an extracted page: which of them are saved, and how they fit to the page."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from archives.moment import Moment
from timegate.extract.fetching import FoundCopy
from timegate.parts.composite import CompositeMemento, Part
from timegate.text import counted

PartsOf = Callable[[FoundCopy], Awaitable[CompositeMemento]]
"""Finds the parts of a page. Raises ArchiveError if the page cannot be read."""


class SavedPart(NamedTuple):
    """A part of a page."""

    part: Part
    record: str | None = None
    """The id of the record with its copy; None if there is none."""
    why: str = ""
    """Why the copy that was found is not saved."""

    @property
    def is_saved(self) -> bool:
        """Whether the part itself is saved, and not an archived error in its place."""
        return self.record is not None and self.part.outcome == "found"

    @property
    def described(self) -> dict[str, object]:
        """The part as in metadata records."""
        part, memento = self.part, self.part.memento
        members: dict[str, object] = {
            "url": part.url,
            "embedded-by": part.parent,
            "as": part.source,
            "outcome": part.outcome,
        }
        if memento is not None:
            members |= {
                "archive": memento.archive,
                "uri": memento.uri,
                "datetime": str(Moment(memento.stamp)),
                "offset": part.offset,
                "coherence": part.coherence.value,
            }
        why = self.why or part.why
        record = {} if self.record is None else {"record": self.record}
        return {**members, **record, **({"why": why} if why else {})}


@dataclass(frozen=True, slots=True)
class SavedParts:
    """All parts of a page."""

    parts: tuple[SavedPart, ...] = ()
    unread: tuple[str, ...] = ()
    """Why there may be more parts."""
    failure: str = ""
    """Why nothing is known of the parts."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many parts there are, and how many are saved."""
        parts = [each for each in self.parts if each.part.is_counted]
        return {"parts": len(parts), "saved": sum(each.is_saved for each in parts)}

    @property
    def is_complete(self) -> bool:
        """Whether the page is saved with everything that it embeds."""
        all_saved = self.counts["parts"] == self.counts["saved"]
        return all_saved and not self.unread and not self.failure

    @property
    def words(self) -> str:
        """How many parts are saved, in words."""
        if self.failure:
            return self.failure
        total, saved = self.counts["parts"], self.counts["saved"]
        if total == saved:
            words = f"with all {total} parts" if total > 1 else f"with {counted(total, 'part')}"
            words = words if total else "nothing is embedded"
        else:
            words = f"with {saved} of {counted(total, 'part')}"
        return "; ".join([words, *self.unread])

    @property
    def described(self) -> dict[str, object]:
        """The parts as in the metadata record of the page."""
        listed = [each.described for each in self.parts]
        return {**self.counts, "words": self.words, "unread": [*self.unread], "list": listed}
