"""Where the next record is, behind one that is damaged.

Found by what records begin with: the magic number of gzip, if that inflates to the head of a
record, or ``WARC/`` at the start of a line. In linear time, whatever the file is made of.
"""

import re
from collections.abc import Iterator
from typing import Final

from archives.warc.arc import arc_fields
from archives.warc.members import GzipMember
from archives.warc.stored import WINDOW, Damaged, FileSection

# Each begins with letters that are fast to look for.
_GZIP: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_WARC: Final = re.compile(rb"\nWARC/[01]\.")
_ARC: Final = re.compile(
    rb"\n(?:https?+|ftp|dns):[^ \r\n]{1,4000}+ [0-9A-Fa-f.:]{1,45}+ [0-9]{14} "
    rb"[^ \r\n]{1,200}+ [0-9]{1,19}+\r?+\n"
)
_BEGINNINGS: Final = (_GZIP, _WARC, _ARC)
_LONGEST: Final = 4400
"""More than any of these can match."""
MOST_TRIALS: Final = 1000
"""Members tried in vain. By chance what they begin with occurs once in 128 MB."""


class RecordSearch:
    """Finds records in a file by what the records before it looked like."""

    def __init__(self, stored: FileSection) -> None:
        self._stored = stored
        self._beginnings: tuple[re.Pattern[bytes], ...] = _BEGINNINGS
        self.trials = 0
        self._known = False
        # Going back to search inside what was read already is paid from this, lest members
        # that claim each other's octets make reading quadratic.
        self._credit = stored.end - stored.start

    def seen(self, version: str, *, compressed: bool) -> None:
        """Learn from a record what the others will look like."""
        if not self._known:
            plain = _ARC if version == "arc" else _WARC
            self._beginnings = (_GZIP,) if compressed else (plain,)
            self._known = True

    def behind(self, damaged: Damaged) -> int | None:
        """Return where the next record begins, None if there is none or it was given up."""
        at = damaged.offset + 1
        if (again := damaged.reached - at) > self._credit:
            at, again = damaged.reached, 0
        self._credit -= again
        while (found := self._next(at)) is not None and self.trials < MOST_TRIALS:
            if self._begins_record(found):
                return found
            at = found + 1
        return None

    def _next(self, at: int) -> int | None:
        at -= 1  # the newline before
        while len(octets := self._stored.glimpse(at, WINDOW)) > 1:
            if places := list(self._places(octets)):
                return at + min(places)
            at += len(octets) - (_LONGEST if len(octets) == WINDOW else 0)
        return None

    def _places(self, octets: bytes) -> Iterator[int]:
        for beginning in self._beginnings:
            # The octet before is only there to be a newline.
            if found := beginning.search(octets, int(beginning is _GZIP)):
                yield found.start() + (beginning is not _GZIP)

    def _begins_record(self, at: int) -> bool:
        if not self._stored.beginning(at, 2).startswith(b"\x1f\x8b"):
            return True
        self.trials += 1
        try:
            octets = GzipMember(self._stored, at).read(_LONGEST)
        except Damaged:
            return False
        line = octets.partition(b"\n")[0]
        return octets.startswith(b"WARC/") or arc_fields(line) is not None
