"""Reads a link into a web archive: which archive, which time, which original.

The templates of links are data, in `archives/known`; the rules common to all of them are here
(K-1 to K-7). A link is a claim: the capture that the archive serves for it may be another one.
"""

from dataclasses import dataclass
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry, bare_host
from archives.registry.forms import LinkKind
from archives.replay_links.fields import repaired_target, stamp_moment
from archives.replay_links.matching import LinkParts, Match, forms_of, lacks_target, matched

__all__ = ["LinkKind", "ReplayLink", "read_link"]

# G-5. No-break and zero-width space, line separators, byte order mark: invisible to people.
_BLANKS: Final = frozenset(map(chr, (*range(0x21), *range(0x7F, 0xA1), 0x200B, 0x2028, 0x2029)))
_INVISIBLE: Final = _BLANKS | {"\ufeff"}
_FORBIDDEN: Final = frozenset('<>"\\')


@dataclass(frozen=True, slots=True)
class ReplayLink:
    """A link into an archive, as read."""

    kind: LinkKind
    archive: str | None = None
    """The id in the registry; None if the host is not an archive's."""
    time: Moment | None = None
    """As precise as written; None if no time is written, or none that can be used."""
    time_text: str | None = None
    uri: str | None = None
    """The original, with its query and fragment."""
    modifier: str | None = None
    """The view: ``id_`` for the raw bytes, or a word with that meaning (``raw``)."""
    collection: str | None = None
    """The collection within the archive: a hint for resolution, which PWIDs cannot express."""
    id: str | None = None
    """The archive's own id of the capture."""
    lacks_target: bool = False
    """Whether it would be a link to a memento if the URL of the original followed the time."""


def read_link(url: str, registry: Registry, diagnosis: Diagnosis) -> ReplayLink:
    """Read *url*; an unknown host, or a page that is not a memento, is a result too.

    Raises Malformed for characters that no URL has and for dates that do not exist.
    """
    _check_characters(url)
    address = _address(url)
    entries = registry.at_host(address.host)
    if not entries:
        return ReplayLink("unknown-host")
    _diagnose_scheme(url, diagnosis)
    for entry in entries:
        for form in forms_of(entry):
            match = matched(form, address)
            if match is not None:
                return _link(form.kind, entry.id, match, diagnosis)
    for entry in entries:
        if any(lacks_target(form, address) for form in forms_of(entry)):
            return ReplayLink("not-a-memento", entry.id, lacks_target=True)
    return ReplayLink("not-a-memento", entries[0].id)


def _check_characters(url: str) -> None:
    for position, character in enumerate(url):
        if character in _INVISIBLE:
            raise Malformed(
                "control-or-space", "blanks and control characters are not allowed", position
            )
        if character in _FORBIDDEN:
            raise Malformed("bad-char", f"{character} is not allowed in a URL", position)


def _address(url: str) -> LinkParts:
    """Find host and path. A link may lack its scheme, or one of the slashes after it."""
    colon = url.find(":")
    start = colon + 1 if url[:colon].lower() in ("http", "https") else 0
    while start < len(url) and url[start] == "/" and start <= colon + 2:
        start += 1
    ends = (at for at in (url.find(each, start) for each in "/?#") if at >= 0)
    host_end = min(ends, default=len(url))
    path = host_end + 1 if url[host_end : host_end + 1] == "/" else host_end
    query = (at for at in (url.find(each, path) for each in "?#") if at >= 0)
    return LinkParts(
        host=bare_host(url[start:host_end]),
        text=url,
        path=path,
        path_end=min(query, default=len(url)),
    )


def _diagnose_scheme(url: str, diagnosis: Diagnosis) -> None:
    scheme, colon, rest = url.partition(":")
    if not colon or scheme.lower() not in ("http", "https"):
        diagnosis.repair("scheme-assumed", "the link has no scheme", 0)
    elif not rest.startswith("//"):
        diagnosis.repair(
            "slash-collapsed", "// after the scheme was merged to /", len(scheme) + 1
        )


def _link(kind: LinkKind, archive: str, match: Match, diagnosis: Diagnosis) -> ReplayLink:
    stamp = match.stamp
    uri = None if match.uri is None else repaired_target(match.uri, match.uri_at, diagnosis)
    if stamp is None:
        time = None
    else:
        time = stamp_moment(stamp, match.stamp_at, diagnosis)
        kind = stamp.kind if stamp.kind and kind == "memento" else kind
    return ReplayLink(
        kind=kind,
        archive=archive,
        time=time,
        time_text=stamp.text if stamp else None,
        uri=uri,
        modifier=match.modifier or (stamp.modifier if stamp else None),
        collection="/".join(match.collection) or None,
        id=match.id or (stamp.id if stamp else None),
    )
