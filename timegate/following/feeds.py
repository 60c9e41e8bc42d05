"""Changes as Atom (RFC 4287), JSON Feed 1.1 and server-sent events. Nothing here is read.

The id of an entry is derived from the archive, the time and the address of the capture, so it
stays the same if the file of changes is lost.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as ET

from archives.moment import Moment
from timegate.following import Change, FollowedArchive

ATOM: Final = "application/atom+xml"
JSON_FEED: Final = "application/feed+json"
EVENTS: Final = "text/event-stream"
FORMATS: Final[Mapping[str, str]] = {"atom": ATOM, "json": JSON_FEED, "events": EVENTS}
"""Media types by the names of the formats in addresses."""
_ATOM_SPACE: Final = "http://www.w3.org/2005/Atom"
_SPACE: Final = "https://timegate.example/ns/changes"
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS: Final = {
    True: "Its content differs from that of the capture before it in this archive.",
    False: "Its content is the same as that of the capture before it in this archive.",
    None: "It is not known whether its content differs from that of the capture before it.",
}
_TERMS: Final = {True: "changed", False: "unchanged", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Feed:
    """What a feed says."""

    page: str
    address: str
    """The address of the feed without a format: ``{base}/changes/{format}/`` follows."""
    changes: Sequence[Change]
    archives: Sequence[FollowedArchive]
    names: Mapping[str, str]
    """Names of archives for people, by id."""

    @property
    def updated(self) -> float:
        """When something was last noticed; if nothing was, when archives were last queried."""
        noticed = [change.noticed for change in self.changes]
        return max(noticed or [each.checked or 0.0 for each in self.archives] or [0.0])

    def at(self, form: str) -> str:
        """Return the address of the feed in the format *form*."""
        return f"{self.address}/changes/{form}/{self.page}"


def atom(feed: Feed) -> bytes:
    """Return *feed* as Atom."""
    ET.register_namespace("", _ATOM_SPACE)
    ET.register_namespace("timegate", _SPACE)
    root = ET.Element(_tag("feed"))
    _add(root, "id", feed.at("atom"))
    _add(root, "title", f"New copies of {feed.page}")
    _add(root, "updated", _time(feed.updated))
    _add(_add(root, "author"), "name", "timegate")
    _add(root, "link", rel="self", type=ATOM, href=feed.at("atom"))
    _add(root, "link", rel="alternate", type=JSON_FEED, href=feed.at("json"))
    _add(root, "link", rel="related", href=feed.page)
    for each in feed.archives:
        state = ET.SubElement(root, f"{{{_SPACE}}}archive", id=_xml(each.archive))
        state.attrib |= {k: _xml(str(v)) for k, v in _state(each).items() if k != "id"}
    for change in feed.changes:
        _entry(root, feed, change)
    ET.indent(root, " ")
    return bytes(ET.tostring(root, "utf-8", xml_declaration=True)) + b"\n"


def _entry(root: ET.Element, feed: Feed, change: Change) -> None:
    memento, entry = change.memento, _add(root, "entry")
    _add(entry, "id", entry_id(change))
    _add(entry, "title", _title(feed, change))
    _add(entry, "updated", _time(change.noticed))
    _add(entry, "published", str(Moment(memento.stamp)))
    _add(entry, "link", rel="alternate", href=memento.uri)
    _add(entry, "category", term=_TERMS[change.changed], scheme=_SPACE)
    _add(entry, "summary", _WORDS[change.changed])


def json_feed(feed: Feed) -> bytes:
    """Return *feed* as JSON Feed."""
    items = [
        {
            "id": entry_id(change),
            "url": change.memento.uri,
            "title": _title(feed, change),
            "content_text": _WORDS[change.changed],
            "date_published": str(Moment(change.memento.stamp)),
            "date_modified": _time(change.noticed),
            "_timegate": members(change),
        }
        for change in feed.changes
    ]
    body = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"New copies of {feed.page}",
        "home_page_url": feed.page,
        "feed_url": feed.at("json"),
        "authors": [{"name": "timegate"}],
        "items": items,
        "_timegate": {"archives": [_state(each) for each in feed.archives]},
    }
    return json.dumps(body, indent=1).encode() + b"\n"


def event(change: Change, file: str) -> bytes:
    """Return *change* as an event; *file* is the name of the file of changes."""
    data = json.dumps(members(change))
    position = EventId(file, change.number, change.memento.stamp)
    return f"id: {position}\nevent: change\ndata: {data}\n\n".encode()


class EventId(NamedTuple):
    """The id of an event."""

    file: str
    """The name of the file of changes."""
    number: int
    stamp: str = "0"
    """Where a client goes on if the file was replaced."""

    def __str__(self) -> str:
        return f"{self.file}-{self.number}-{self.stamp}"


_EVENT_ID: Final = re.compile(r"([0-9a-f]{1,32})-([0-9]{1,18})-([0-9]{14,23}|0)")


def read_event_id(text: str) -> EventId | None:
    """Read an id; None if it is not one of ours."""
    read = _EVENT_ID.fullmatch(text.strip())
    return None if read is None else EventId(read[1], int(read[2]), read[3])


def members(change: Change) -> dict[str, object]:
    """Return *change* in types that JSON has. What is not known is null."""
    memento = change.memento
    return {
        "id": entry_id(change),
        "page": change.page,
        "archive": memento.archive,
        "datetime": str(Moment(memento.stamp)),
        "uri": memento.uri,
        "original": memento.original,
        "status": memento.status,
        "digest": memento.digest,
        "changed": change.changed,
        "time_basis": "asserted" if memento.is_asserted else "capture",
        "noticed": _time(change.noticed),
    }


def entry_id(change: Change) -> str:
    """Return the id of an entry, the same for ever."""
    memento = change.memento
    name = f"{change.page} {memento.archive} {memento.stamp} {memento.uri}"
    return uuid5(NAMESPACE_URL, name).urn


def newest_first(changes: Iterable[Change]) -> list[Change]:
    """Return *changes* by the time of capture."""
    return sorted(changes, key=lambda each: (each.memento.stamp, each.number), reverse=True)


def _title(feed: Feed, change: Change) -> str:
    archive = change.memento.archive
    return f"{feed.names.get(archive, archive)}, {Moment(change.memento.stamp)}"


def _state(archive: FollowedArchive) -> dict[str, object]:
    state: dict[str, object] = {"id": archive.archive, "known": archive.known}
    if archive.checked is not None:
        state["checked"] = _time(archive.checked)
    if archive.trouble:
        state["trouble"] = archive.trouble
    return state


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _tag(name: str) -> str:
    return f"{{{_ATOM_SPACE}}}{name}"


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    safe = {key: _xml(value) for key, value in attributes.items()}
    element = ET.SubElement(parent, _tag(name), safe)
    if text:
        element.text = _xml(text)
    return element


def _xml(text: str) -> str:
    """Return *text* without the characters that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)
