"""What was kept for a reference, and in how many places copies of it are.

Copies are independent if different institutions hold them. A copy in the store and the copy in
an archive from which it was made are two such copies, but of one capture: `same_capture`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from archives.model import ArchiveEntry, Memento
from archives.registry import Registry
from timegate.batch.model import Code, Item

HERE: Final = "this server"
"""The custodian of all collections of the operator: one disk or one fire ends them all."""

KeepOutcome = Literal["kept", "already", "missing", "refused"]
"""Copied in this run; there before; not there; or no reference at all."""


def custodian_of(archive: str, registry: Registry) -> str:
    """Return what holds the files of *archive*; archives with one custodian are one place."""
    entry = registry.by_id(archive)
    if entry is None:
        return archive
    return HERE if entry.kind.is_local else entry.hosted_by or entry.id


def archives_of(custodian: str, entries: Iterable[ArchiveEntry]) -> frozenset[str]:
    """Return the archives that one custodian holds."""
    return frozenset(
        entry.id
        for entry in entries
        if custodian == (HERE if entry.kind.is_local else entry.hosted_by or entry.id)
    )


def copies_in_words(number: int, which: str = "") -> str:
    """Return *number* copies in words."""
    return f"{number} {which}{'copy' if number == 1 else 'copies'}"


class CopyPlace(NamedTuple):
    """A copy of a reference that was seen."""

    archive: str
    uri: str
    datetime: str
    custodian: str
    same_capture: bool = False
    """Whether the copy in the store was made from it."""

    @property
    def described(self) -> dict[str, object]:
        """The copy as JSON."""
        return {
            "archive": self.archive,
            "uri": self.uri,
            "datetime": self.datetime,
            "custodian": self.custodian,
            "same-capture": self.same_capture,
        }


@dataclass(frozen=True, slots=True)
class KeptReference:
    """The outcome for one reference."""

    item: Item
    outcome: KeepOutcome
    code: Code
    """As exit codes."""
    why: str
    copies: tuple[CopyPlace, ...] = ()
    """The copy in the store first."""
    wanted: int = 1
    """How many independent copies there are to be."""
    parts: Mapping[str, int] | None = None
    """How many parts the page has, and how many are kept; None if they were not wanted."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Archives that did not deliver a copy, and why."""
    memento: Memento | None = None
    """The copy in the store."""

    @property
    def independent(self) -> int:
        """How many custodians hold a copy."""
        return len({copy.custodian for copy in self.copies})

    @property
    def is_kept(self) -> bool:
        """Whether the store holds a copy."""
        return self.outcome in ("kept", "already")

    @property
    def line(self) -> str:
        """The outcome in one line for people."""
        words = {"already": "kept before", "missing": "not kept"}.get(
            self.outcome, self.outcome
        )
        state = words
        if self.copies:
            state += f", {copies_in_words(self.independent, 'independent ')}"
        return f"{self.item.text}: {state}; {self.why}"

    @property
    def described(self) -> dict[str, object]:
        """The outcome as JSON."""
        members: dict[str, object] = {
            "input": self.item.text,
            "outcome": self.outcome,
            "code": self.code,
            "why": self.why,
            "independent": self.independent,
            "wanted": self.wanted,
            "ensured": self.independent >= self.wanted,
            "copies": [copy.described for copy in self.copies],
        }
        if self.parts is not None:
            members["parts"] = dict(self.parts)
        if self.failures:
            members["failures"] = dict(self.failures)
        return members
