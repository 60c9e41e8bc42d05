"""Links into archives: the archive, the time and the original URL, even if the link is dead.

The timestamp in a link is only a claim (K-6): archives redirect to the nearest capture, and
people write a year where seconds belong. Only a timestamp with seconds can become a PWID, which
states the granularity that the archive recorded (K-5).
"""

from dataclasses import dataclass
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import ReplayLink, read_link
from archives.uri import WEB, read_uri
from timegate.identifiers.model import CanonicalEquality, IdentifierKind, ParsedIdentifier
from timegate.identifiers.pwid import Pwid

_RAW: Final = ("id_", "raw", "part")
_LISTS: Final = {
    "calendar": "is a list of captures and does not name one: request the TimeMap instead",
    "timemap": "is a TimeMap, a list of captures: request the TimeMap instead",
    "index-query": "searches an index: request the TimeMap instead",
}
_NO_TARGET: Final = (
    "the archive link does not say which page it is a copy of: after the time comes the URL "
    "of the page, as in https://web.archive.org/web/20160122112029/http://www.dr.dk/"
)


@dataclass(frozen=True, slots=True, eq=False)
class ReplayUrl(CanonicalEquality):
    """The copy that a link into an archive names."""

    archive: str | None
    """PWID archive-id; None for an archive without one."""
    time: Moment | None
    precision: str
    item: str | None
    """None if the link only has the archive's own id of the copy, not the original URL."""
    link: ReplayLink

    @property
    def canonical(self) -> str | None:
        if self.archive is None or self.time is None or self.item is None:
            return None
        if len(self.time.digits) < 14:
            return None
        return Pwid(self.archive, self.time, self.precision, self.item).canonical


def read_replay(
    text: str, diagnosis: Diagnosis, registry: Registry | None
) -> ParsedIdentifier | None:
    """Read a link into an archive of *registry*; None if it is the URL of any other page."""
    if registry is None:
        return None
    # Repairs only count if this turns out to be a link into an archive.
    own = Diagnosis(strict=diagnosis.strict)
    link = read_link(text, registry, own)
    if link.lacks_target:
        raise Malformed("no-target", _NO_TARGET, len(text))
    if link.archive is None or link.kind == "not-a-memento":
        return None
    if link.kind in _LISTS:
        raise Malformed("timemap-url", f"the link {_LISTS[link.kind]}", 0)
    entry = registry.by_id(link.archive)
    item, hash_sign, fragment = (link.uri or "").partition("#")
    replay = ReplayUrl(
        entry.pwid[0] if entry and entry.pwid else None,
        link.time,
        "part" if link.modifier in _RAW else "page",
        _read_item(item, text, own) if item else None,
        link,
    )
    return ParsedIdentifier(
        replay,
        REPLAY_LINK,
        tuple(own.diagnostics),
        fragment if hash_sign else None,
        link.archive,
        text if text.startswith(WEB) else None,
    )


REPLAY_LINK: Final = IdentifierKind(
    "replay", "link into an archive", read_replay, is_archive_link=True
)


def _read_item(item: str, text: str, diagnosis: Diagnosis) -> str:
    position = max(text.find(item), 0)
    try:
        return read_uri(item, diagnosis, position)
    except Malformed as complaint:
        # The item may have been decoded or completed, so positions can exceed the text.
        raise Malformed(
            complaint.code, complaint.why, min(complaint.position, len(text))
        ) from None
