"""Addresses of a memento: replay for people, and the unaltered bytes."""

import re
from typing import Final, NamedTuple

from archives.listing import filled
from archives.model import ArchiveEntry, Memento
from timegate.resolution.model import Query

# The modifier id_ after a stamp means unaltered bytes wherever it is supported (F-2).
_RAW_ADDRESS: Final = re.compile(r"/[0-9]{4,17}id_/")


class View(NamedTuple):
    """The address that a client is redirected to."""

    uri: str
    raw: str | None
    """The address of the unaltered bytes; None where the archive has no such view."""
    is_ours: bool
    """Whether this server replays it, without rewriting."""

    @property
    def is_raw(self) -> bool:
        """Whether it is the address of the unaltered bytes."""
        return self.uri == self.raw


def view(query: Query, memento: Memento, entry: ArchiveEntry | None) -> View:
    """Return the address for a client: the raw bytes for a part (V-1), otherwise replay."""
    raw = raw_address(memento, entry)
    uri = raw if query.precision == "part" and raw is not None else memento.uri
    return View(uri, raw, _is_ours(memento, entry))


def raw_address(memento: Memento, entry: ArchiveEntry | None) -> str | None:
    """Return the address of the unaltered bytes; None where the archive has no such view."""
    if _RAW_ADDRESS.search(memento.uri):
        return memento.uri
    template = None if entry is None else entry.raw
    return None if template is None else filled(template, memento.stamp, memento.original)


def replay_address(memento: Memento, entry: ArchiveEntry | None) -> str:
    """Return the address for people: from the template, or as the archive wrote it."""
    template = None if entry is None else entry.replay
    if template is None:
        return memento.uri
    return filled(template, memento.stamp, memento.original)


def _is_ours(memento: Memento, entry: ArchiveEntry | None) -> bool:
    """Whether a local collection replays it; its operator may configure another replay."""
    if entry is None or not entry.kind.is_local or entry.raw is None:
        return False
    return memento.uri.startswith(entry.raw.partition("{time14}")[0])
