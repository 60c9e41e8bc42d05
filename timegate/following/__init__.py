"""Following pages: new captures of a page in the archives that are followed.

A change is a capture that an archive did not list when it was last queried. Changes are written
to a file before anything learns of them, so that each has one number for ever.
"""

from typing import NamedTuple

from archives.model import Memento


class Change(NamedTuple):
    """A new capture of a page."""

    number: int
    """Its place in the file of changes; later changes have higher numbers."""
    page: str
    """The URL that is followed."""
    memento: Memento
    changed: bool | None
    """Whether its digest differs from that of the capture before it in the same archive; None
    if either digest is not known."""
    noticed: float
    """The Unix time at which it was noticed."""
    is_repeated: bool = False
    """Whether a report of it had begun when a process was killed: this may be the second."""


class ListVersion(NamedTuple):
    """The version of a list that an archive states, so that it is read only if it changed."""

    url: str
    """The address of the list, which is one document."""
    etag: str = ""
    modified: str = ""


class FollowedArchive(NamedTuple):
    """The state of a page in one archive."""

    archive: str
    checked: float | None
    """The Unix time of the last query that was answered; None if there is none."""
    trouble: str = ""
    """Why the last query was not answered; empty if it was."""
    known: int = 0
    """Captures that are known."""
