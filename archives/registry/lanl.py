"""Reads LANL's list of archives (``archivelist.xml``), which Time Travel and others used.

XML from elsewhere: expat reads it, and a document type, and with it every entity, is refused
before it is read. Size, depth and number of elements are bounded.
"""

from collections.abc import Mapping
from typing import Final
from xml.parsers import expat

from archives.model import ArchiveEntry
from archives.registry.entry import BadEntry, entry_from

MOST_CHARACTERS: Final = 2 * 1024**2
MOST_ELEMENTS: Final = 20_000
LONGEST_VALUE: Final = 2_000
_DEEPEST: Final = 20
_KINDS: Final = ("timegate", "timemap")


def is_xml(text: str) -> bool:
    """Whether *text* is XML rather than JSON."""
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def from_lanl(text: str, origin: str) -> list[ArchiveEntry]:
    """Return the archives in *text*; errors name *origin* and the line."""
    if len(text) > MOST_CHARACTERS:
        raise BadEntry(origin, "", f"is longer than {MOST_CHARACTERS} characters")
    reader = _Reader(origin)
    try:
        reader.parser.Parse(text.lstrip("\ufeff \t\r\n").encode(), True)  # noqa: FBT003 -- expat
    except expat.ExpatError as error:
        why = f"is not XML: {expat.ErrorString(error.code)}, in line {error.lineno}"
        raise BadEntry(origin, "", why) from None
    if not reader.archives:
        raise BadEntry(origin, "", "has no <link id=...> with a <timegate uri=...>")
    return reader.archives


class _Reader:
    """Collects the archives while expat reads elements."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self.archives: list[ArchiveEntry] = []
        self._open: list[str] = []
        self._elements = 0
        self._link: Mapping[str, str] = {}
        self._services: dict[str, str] = {}
        # The text is decoded already, whatever encoding its declaration names.
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def _refuse_doctype(self, *_: object) -> None:
        raise self._bad("has a document type, which is refused")

    def _bad(self, why: str) -> BadEntry:
        return BadEntry(self._origin, f"line {self.parser.CurrentLineNumber}", why)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        self._open.append(name)
        if self._elements > MOST_ELEMENTS or len(self._open) > _DEEPEST:
            raise self._bad("has too many elements")
        if any(len(value) > LONGEST_VALUE for value in attributes.values()):
            raise self._bad(f"has a value longer than {LONGEST_VALUE} characters")
        if name == "link":
            self._link, self._services = attributes, {}
        elif name in _KINDS and "uri" in attributes:
            self._services.setdefault(name, attributes["uri"])

    def _end(self, name: str) -> None:
        self._open.pop()
        if name != "link":
            return
        archive, timegate = self._link.get("id", ""), self._services.get("timegate")
        # Entries without a TimeGate are proxies and wikis, which are asked in other ways.
        if archive and timegate:
            self.archives.append(self._entry(archive, timegate))

    def _entry(self, archive: str, timegate: str) -> ArchiveEntry:
        table: dict[str, object] = {
            "id": archive.lower(),
            "name": self._link.get("longname") or archive,
            "kind": "memento",
            "because": "listed",
            "timegate": timegate,
        }
        if "timemap" in self._services:
            table["timemap"] = self._services["timemap"]
        place = f"line {self.parser.CurrentLineNumber}"
        return entry_from(table, f"{self._origin}: {place}")
