"""What a run of the indexer tells: complaints, how far it is, and what came of it."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

MOST_SHOWN: Final = 20
"""Complaints that are kept in words; the others are counted."""


class FileProblem(NamedTuple):
    """Something that could not be used, and where."""

    file: str
    offset: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}@{self.offset}: {self.why}"


class IndexProgress(NamedTuple):
    """How far a run is; octets are those of the files, as they are stored."""

    files: int
    of_files: int
    octets: int
    of_octets: int
    captures: int


@dataclass(slots=True)
class IndexSummary:
    """What a run did."""

    files: int = 0
    """WARCs, ARCs and WACZs in the collection."""
    read: int = 0
    continued: int = 0
    """Of those read: how many had only grown."""
    from_cdx: int = 0
    """Taken from a CDX file instead of being read."""
    unchanged: int = 0
    gone: int = 0
    captures: int = 0
    """Rows that this run wrote."""
    octets: int = 0
    rebuilt: bool = False
    """Whether a damaged index was set aside."""
    complaints: int = 0
    shown: list[FileProblem] = field(default_factory=list)

    def complain(self, file: str, offset: int, why: str) -> None:
        """Count a complaint, and keep its words if there are not too many already."""
        self.complaints += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(FileProblem(file, offset, why))
