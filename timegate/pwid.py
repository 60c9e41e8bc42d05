"""The PWID, and how it is written: the name we give to every copy we find.

    urn:pwid: archive-id : archival-time : precision-spec : archived-item-id

(draft-pwid-urn-specification-08.) Its readers are in `identifiers.pwid`.
"""

from dataclasses import dataclass
from typing import Final

from archives.moment import Moment
from archives.uri import canonical_uri
from timegate.identifier import CanonicalEquality

PRECISIONS: Final = frozenset(
    {"part", "page", "subsite", "site", "collection", "recording", "snapshot"}
)
# What must not stand raw in an archived item (P-20). One pass, so nothing is encoded twice.
_ENCODED: Final = str.maketrans({"%": "%25", "[": "%5B", "]": "%5D", "?": "%3F", "#": "%23"})


@dataclass(frozen=True, slots=True, eq=False)
class Pwid(CanonicalEquality):
    """One PWID. Archive-id, precision and a registered item are in lower case."""

    archive: str
    time: Moment
    precision: str
    item: str

    @property
    def canonical(self) -> str:
        item = canonical_uri(self.item).translate(_ENCODED)
        when = str(self.time) if len(self.time.digits) > 8 else f"{self.time}Z"
        return f"urn:pwid:{self.archive}:{when}:{self.precision}:{item}"

    def __str__(self) -> str:
        return self.canonical
