"""Replication: copies the mementos of another archive that a store does not hold yet.

A revision is the same in two stores if its page, its time and its digest are. So copies of
copies end, and two stores that copy from each other come to hold the same revisions.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class OfferedCapture(NamedTuple):
    """A capture that a source lists."""

    url: str
    """The page, as the source writes it."""
    stamp: str
    """The time of capture: digits of UTC, as many as the source states."""
    uri: str
    raw: str | None
    """The address of the bytes as captured; None if there is none."""
    digest: str | None = None
    status: int | None = None
    """The captured HTTP status; None if it is not stated, or no server answered."""
    asserted: bool = False
    """Whether the time is what a writer asserted, and no clock."""


class Conflict(NamedTuple):
    """A capture of the source whose instant holds other bytes in the store. Both stay."""

    uri: str
    """The capture of the source."""
    here: str | None
    """The digest of the revision in the store."""
    there: str | None
    """The digest of the capture of the source."""


@dataclass(slots=True)
class SyncReport:
    """What was done."""

    pages: int = 0
    """Pages that the source listed, or that were given."""
    listed: int = 0
    written: int = 0
    here: int = 0
    """Captures that the store held before."""
    unverified: int = 0
    """Captures written for which the source stated no digest."""
    conflicts: list["Conflict"] = field(default_factory=list)
    """Captures whose instant holds other bytes here."""
    failures: dict[str, str] = field(default_factory=dict)
    """Captures and lists that could not be read, and why."""
