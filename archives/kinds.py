"""The kinds of archives. `archives.adapters` has the code that queries each of them.

They are here, so that the registry can be read without importing the adapters.
"""

from collections.abc import Mapping
from typing import Final

from archives.model import ArchiveKind

MEMENTO: Final = ArchiveKind(
    "memento",
    "an archive with Memento: a TimeGate, and TimeMaps (RFC 7089)",
    needs=("timegate",),
)
WAYBACK: Final = ArchiveKind(
    "wayback", "an archive with replay addresses, /web/<time>/<URL>, only", needs=("replay",)
)
CDX: Final = ArchiveKind(
    "cdx",
    "an archive with a CDX server and replay addresses",
    needs=("cdx", "dialect", "replay"),
    uses_index=True,
    folds_spellings=True,
)
WARC: Final = ArchiveKind(
    "warc",
    "a collection of our own: WARC, ARC or WACZ files and their index",
    needs=("path",),
    is_local=True,
    folds_spellings=True,
)
ORIGINAL: Final = ArchiveKind(
    "original",
    "the original itself, where it is its own TimeGate or links one",
    folds_spellings=True,
    asks_originals=True,
)
"""Not among `KINDS`: there is one such entry, which `[live]` switches on."""
NOT_ASKABLE: Final = ArchiveKind("none", "programs cannot query it", is_askable=False)

KINDS: Final[Mapping[str, ArchiveKind]] = {
    kind.name: kind for kind in (MEMENTO, WAYBACK, CDX, WARC, NOT_ASKABLE)
}
