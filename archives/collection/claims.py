"""Which files a CDX file may speak for: needed, not newer than it, and of a name it knows."""

from collections.abc import Mapping
from typing import Final

from archives.collection.beside import CdxLine
from archives.collection.folder import FileSeen
from archives.collection.planning import IndexJob
from archives.warc.capture import Capture, Damage

_MOST_UNKNOWN: Final = 1000


class UntrustedCdx(Exception):
    """A CDX file that is wrong in one place is believed in none: its WARCs are read."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"{why}; the files it names are read instead")
        self.at = at


class Claims:
    """What one CDX file tells, checked against the files that are there."""

    def __init__(
        self, listing: FileSeen, needed: Mapping[str, IndexJob], found: Mapping[str, FileSeen]
    ) -> None:
        self.taken: set[str] = set()
        """Paths of the files it spoke for."""
        self._listing = listing
        self._needed = needed
        self._unknown: set[str] = set()
        self._by_name: dict[str, list[FileSeen]] = {}
        for file in found.values():
            if file.kind == "warc":
                self._by_name.setdefault(file.path.rpartition("/")[2], []).append(file)

    def checked(self, item: CdxLine | Damage) -> tuple[FileSeen, Capture] | Damage | None:
        """Return a capture and its file; which file is missing; None if it is not needed.

        Raises Unsound.
        """
        if isinstance(item, Damage):
            raise UntrustedCdx(*item)
        files = self._by_name.get(item.name, [])
        if len(files) != 1:
            return self._complaint(item, several=bool(files))
        file = files[0]
        if file.path not in self._needed or file.mtime > self._listing.mtime:
            return None
        capture = item.capture
        if max(capture.offset + capture.length, capture.offset + 1) > file.size:
            raise UntrustedCdx(item.at, f"{item.name} is shorter than that")
        self.taken.add(file.path)
        return file, capture

    def _complaint(self, item: CdxLine, *, several: bool) -> Damage | None:
        """Say that a name means no file, or more than one; once for each name."""
        if item.name in self._unknown or len(self._unknown) >= _MOST_UNKNOWN:
            return None
        self._unknown.add(item.name)
        which = "several files are called" if several else "there is no file"
        return Damage(item.at, f"{which} {item.name[:200]}")
