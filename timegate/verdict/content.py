"""Which view of a copy is delivered, and how much of what was asked for it covers (V-1 to V-7).

A ``part`` is the file as it was harvested: where the archive has a view of the raw bytes, that
is where clients are led. Everything else is a page, as replay shows it.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from archives.listing import filled
from archives.model import ArchiveEntry, Memento
from timegate.resolution import Query
from timegate.verdict.member import Member

# The modifier id_ behind a stamp means unaltered bytes wherever it is known (F-2).
_RAW_ADDRESS: Final = re.compile(r"/[0-9]{4,17}id_/")
# Percent signs stay: triplets are not encoded twice.
_IN_BRACKETS: Final = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in '<>"\\^`{|}')
_SAFE: Final = re.compile(r"[!#-;=?-\[\]_a-z~]*+")
_PAGES: Final = ("page", "webpage")
"""The prose of draft-08 calls a page ``webpage`` (V-7)."""
_MORE_THAN_A_PAGE: Final = ("subsite", "site", "collection", "snapshot", "recording")


def delivered(query: Query, memento: Memento, entry: ArchiveEntry | None) -> str:
    """Return where a client is led: to the raw bytes for a part, otherwise to replay."""
    raw = raw_address(memento, entry) if query.precision == "part" else None
    return raw or memento.uri


def raw_address(memento: Memento, entry: ArchiveEntry | None) -> str | None:
    """Return where the unaltered bytes are; None where the archive has no such view."""
    template = None if entry is None else entry.raw
    return _raw_address(memento.uri, template, memento.stamp, memento.original)


# Each member of a verdict asks for it.
@lru_cache(maxsize=256)
def _raw_address(uri: str, template: str | None, stamp: str, original: str) -> str | None:
    if _RAW_ADDRESS.search(uri):
        return uri
    return None if template is None else filled(template, stamp, original)


def delivers_raw(query: Query, memento: Memento, entry: ArchiveEntry | None) -> bool:
    """Whether a client is led to the unaltered bytes."""
    return delivered(query, memento, entry) == raw_address(memento, entry)


def header_safe(uri: str) -> str:
    """Write *uri* so that it can stand in angle brackets and in one line (L-6, R8)."""
    # Nearly all can stand as they are; quoting takes five times as long as seeing that.
    return uri if _SAFE.fullmatch(uri) else quote(uri, safe=_IN_BRACKETS, errors="replace")


def content(query: Query, memento: Memento, entry: ArchiveEntry | None) -> Member:
    """Return whether the bytes are unaltered, and the archived status if it is not 200.

    Seeing no rewriting proves nothing (F-4). An archive that keeps a view of the raw bytes
    apart rewrites in the other one.
    """
    value = "rewritten" if raw_address(memento, entry) else "unknown"
    if delivers_raw(query, memento, entry) or _is_ours(memento, entry):
        value = "raw"
    status = memento.status
    return Member(value, {} if status is None or status == 200 else {"status": status})


def _is_ours(memento: Memento, entry: ArchiveEntry | None) -> bool:
    """Whether the copy is shown by ourselves, who rewrite nothing.

    An operator may name another replay for a local collection: that one rewrites.
    """
    if entry is None or entry.kind != "warc" or entry.raw is None:
        return False
    return memento.uri.startswith(entry.raw.partition("{time14}")[0])


def coverage(
    query: Query, memento: Memento, entry: ArchiveEntry | None, archive: Member
) -> Member:
    """Return how much of the asked extent the answer is."""
    asked = query.precision
    got = "part" if delivers_raw(query, memento, entry) else "page"
    return Member(_extent(asked, got, archive), {"req": asked or "", "got": got})


def _extent(asked: str | None, got: str, archive: Member) -> str:
    if asked is None or asked == got or (asked in _PAGES and got == "page"):
        return "as-requested"
    if asked == "part" or asked in _PAGES:
        return "degraded"
    # The page is where the site begins that was meant, if it is that archive's page (V-3). In
    # another archive it belongs to another harvest, and the extent says nothing.
    is_its_own = archive.value in ("same", "alias", "any")
    return "degraded" if asked in _MORE_THAN_A_PAGE and is_its_own else "ignored"
