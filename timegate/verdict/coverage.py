"""Which view of a copy is delivered, and how much of what was asked for it covers (V-1 to V-7).

A ``part`` is the file as it was harvested: where the archive has a view of the raw bytes, that
is where clients are led. Everything else is a page, as replay shows it.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

from archives.listing import filled
from archives.model import ArchiveEntry, Memento
from timegate.resolution.model import Query
from timegate.verdict.model import Member, plain

# The modifier id_ behind a stamp means unaltered bytes wherever it is known (F-2).
_RAW_ADDRESS: Final = re.compile(r"/[0-9]{4,17}id_/")
# Percent signs stay: triplets are not encoded twice.
_IN_BRACKETS: Final = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in '<>"\\^`{|}')
_SAFE: Final = re.compile(r"[!#-;=?-\[\]_a-z~]*+")
_PAGES: Final = ("page", "webpage")
"""The prose of draft-08 calls a page ``webpage`` (V-7)."""
_MORE_THAN_A_PAGE: Final = ("subsite", "site", "collection", "snapshot", "recording")


class View(NamedTuple):
    """What a client is led to."""

    uri: str
    raw: str | None
    """Where the unaltered bytes are; None where the archive has no such view."""
    is_ours: bool
    """Whether it is shown by ourselves, who rewrite nothing."""

    @property
    def is_raw(self) -> bool:
        """Whether a client is led to the unaltered bytes."""
        return self.uri == self.raw


def view(query: Query, memento: Memento, entry: ArchiveEntry | None) -> View:
    """Return where a client is led: to the raw bytes for a part, otherwise to replay."""
    template = None if entry is None else entry.raw
    is_local = entry is not None and entry.kind.is_local
    return _view(memento, template, is_local=is_local, part=query.precision == "part")


# Each member of a verdict asks for it, and pages are asked for again.
@lru_cache(maxsize=256)
def _view(memento: Memento, template: str | None, *, is_local: bool, part: bool) -> View:
    raw = _raw_address(memento, template)
    uri = raw if part and raw is not None else memento.uri
    # An operator may name another replay for a local collection: that one rewrites.
    replays = is_local and template is not None
    is_ours = replays and memento.uri.startswith(str(template).partition("{time14}")[0])
    return View(uri, raw, is_ours)


def raw_address(memento: Memento, entry: ArchiveEntry | None) -> str | None:
    """Return where the unaltered bytes are; None where the archive has no such view."""
    return _raw_address(memento, None if entry is None else entry.raw)


def _raw_address(memento: Memento, template: str | None) -> str | None:
    if _RAW_ADDRESS.search(memento.uri):
        return memento.uri
    return None if template is None else filled(template, memento.stamp, memento.original)


def delivers_raw(query: Query, memento: Memento, entry: ArchiveEntry | None) -> bool:
    """Whether a client is led to the unaltered bytes."""
    return view(query, memento, entry).is_raw


def header_safe(uri: str) -> str:
    """Write *uri* so that it can stand in angle brackets and in one line (L-6, R8)."""
    # Nearly all can stand as they are; quoting takes five times as long as seeing that.
    return uri if _SAFE.fullmatch(uri) else quote(uri, safe=_IN_BRACKETS, errors="replace")


def content(shown: View, status: int | None) -> Member:
    """Return whether the bytes are unaltered, and the archived *status* if it is not 200.

    Seeing no rewriting proves nothing (F-4). An archive that keeps a view of the raw bytes
    apart rewrites in the other one.
    """
    value = "rewritten" if shown.raw else "unknown"
    if shown.is_raw or shown.is_ours:
        value = "raw"
    return (
        plain(value) if status is None or status == 200 else Member(value, {"status": status})
    )


def coverage(asked: str | None, shown: View, archive: Member) -> Member:
    """Return how much of the *asked* extent the answer is."""
    return _coverage(asked, "part" if shown.is_raw else "page", archive.value)


@lru_cache(maxsize=256)
def _coverage(asked: str | None, got: str, archive: str) -> Member:
    return Member(_extent(asked, got, archive), {"req": asked or "", "got": got})


def _extent(asked: str | None, got: str, archive: str) -> str:
    if asked is None or asked == got or (asked in _PAGES and got == "page"):
        return "as-requested"
    if asked == "part" or asked in _PAGES:
        return "degraded"
    # The page is where the site begins that was meant, if it is that archive's page (V-3). In
    # another archive it belongs to another harvest, and the extent says nothing.
    is_its_own = archive in ("same", "alias", "any")
    return "degraded" if asked in _MORE_THAN_A_PAGE and is_its_own else "ignored"
