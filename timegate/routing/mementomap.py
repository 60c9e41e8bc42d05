"""MementoMap: the holdings an archive declares, looked up by SURT, most specific line first.

The file stays one byte string with an index of four bytes a line; a map of a hundred megabytes
as a `dict` would take six hundred. A lookup searches the key and every wildcard above it, each
by bisection.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Final, Literal, NamedTuple

from archives.diagnostics import Malformed
from archives.formats.ukvs import UkvsFile, read_frequency

MOST_OCTETS: Final = 100_000_000
_MOST_EQUAL: Final = 1_000
"""Lines with one key that are read; a map by day has 365 a year."""


class Presence(NamedTuple):
    """Whether an archive declares that it holds a page."""

    state: Literal["present", "absent", "unknown"]
    rank: float = 0.0
    """From nearly 0 (holds something under the top-level domain) to 1 (holds this page)."""
    line: str | None = None
    """The key of the matching line."""


UNKNOWN: Final = Presence("unknown")
ABSENT: Final = Presence("absent")


class MementoMap:
    """A summary of holdings. Immutable once loaded."""

    __slots__ = ("_complete", "_deepest", "_octets", "_starts", "archive", "updated")

    def __init__(self, file: UkvsFile, *, complete: bool = False) -> None:
        """See `load`."""
        self.archive = file.header.archive
        self.updated = file.header.updated
        self._complete = complete
        self._deepest = 0
        self._starts = array("I")
        self._octets = bytearray()
        self._fill(file)

    @classmethod
    def load(cls, source: Path | bytes, *, complete: bool = False) -> "MementoMap":
        """Read a map of at most `MOST_OCTETS`. Raises Malformed and OSError.

        *complete*: pages that the map does not list are not held. In the format only a line
        ``* 0`` can state that. An archive is never queried for a page that is wrongly taken for
        absent, so this is for maps that an archive makes of its whole index.
        """
        if isinstance(source, Path):
            with source.open("rb") as file:
                source = file.read(MOST_OCTETS + 1)
        if len(source) > MOST_OCTETS:
            raise Malformed("too-long", f"longer than {MOST_OCTETS} octets", MOST_OCTETS)
        return cls(UkvsFile(source), complete=complete)

    def __len__(self) -> int:
        return len(self._starts)

    def holds(self, surt: str) -> Presence:
        """Return what the most specific line states about *surt*."""
        for key, rank in self._matching_keys(surt):
            entry = self._entry(key.encode())
            if entry == "something" and rank > 0:
                return Presence("present", rank, key)
            if entry == "nothing":
                return Presence("absent", line=key)
            if entry is not None:
                return UNKNOWN
        # The tool that makes maps leaves out keys without a comma: localhost, urn:...
        return ABSENT if self._complete and "," in surt.partition(")")[0] else UNKNOWN

    def _matching_keys(self, surt: str) -> Iterator[tuple[str, float]]:
        """Yield the keys that match *surt*, most specific first, and their ranks."""
        page = surt.partition("?")[0].rstrip("/")
        host, _, path = page.partition(")")
        labels, segments = host.partition(":")[0].split(","), path.split("/")[1:]
        steps = len(labels) + len(segments) + 2
        for key in dict.fromkeys((surt, page, f"{page}/")):
            yield key, 1.0
        for depth in range(min(len(segments), self._deepest), -1, -1):
            above = "/".join((f"{host})", *segments[:depth], "*"))
            yield above, (len(labels) + depth + 1) / steps
        for depth in range(min(len(labels), self._deepest), 0, -1):
            yield ",".join((*labels[:depth], "*")), depth / steps
        yield "*", 0.0

    def _entry(self, key: bytes) -> Literal["something", "nothing", "unclear"] | None:
        """Return what all lines with this key state together; None if there are none."""
        first = bisect_left(self._starts, key, key=self._key)
        run = self._starts[first : first + _MOST_EQUAL]
        equal = takewhile(lambda start: self._key(start) == key, run)
        frequencies = [read_frequency(self._frequency(start, len(key))) for start in equal]
        if any(frequency.something for frequency in frequencies):
            return "something"
        if not frequencies:
            return None
        return "nothing" if all(frequency.nothing for frequency in frequencies) else "unclear"

    def _key(self, start: int) -> bytes:
        return bytes(self._octets[start : self._octets.index(b" ", start)])

    def _frequency(self, start: int, length: int) -> str:
        begins = start + length + 1
        return self._octets[begins : self._octets.index(b"\n", begins)].decode()

    def _fill(self, file: UkvsFile) -> None:
        """Store keys and frequencies, and index them by key."""
        last, in_order = b"", True
        for key, frequency, whole in file.records():
            if not whole and read_frequency(frequency.decode()).nothing:
                continue  # Nothing in one year does not mean nothing in the others.
            in_order = in_order and key >= last
            last = key
            self._starts.append(len(self._octets))
            self._deepest = max(self._deepest, key.count(b"/"), key.count(b",") + 1)
            self._octets += b"%s %s\n" % (key, frequency)
        if not in_order:
            self._starts = array("I", sorted(self._starts, key=self._key))
