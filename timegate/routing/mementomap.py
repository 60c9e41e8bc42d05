"""What an archive declares to hold: a MementoMap, looked up by SURT, most specific line first.

The octets stay one string with an index of four octets a line; a map of a hundred megabytes
as a `dict` would take six hundred. A look-up asks for the key and for every wildcard above
it, each by bisection.
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
_MOST_ALIKE: Final = 1_000
"""Lines with one key that are looked at; a map by day has 365 a year."""


class Presence(NamedTuple):
    """Whether an archive says that it holds a page."""

    state: Literal["present", "absent", "unknown"]
    rank: float = 0.0
    """From nearly 0 (it holds something under that top-level domain) to 1 (that very page)."""
    line: str | None = None
    """The key of the line that says so."""


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

        *complete* says that what it does not list is not held; no field of the format can say
        so but a line ``* 0``. A page that is wrongly taken for absent is never asked for, so
        this is for maps that an archive makes of its whole index.
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
        """Return what the most specific line says of *surt*."""
        for key, rank in self._lines_about(surt):
            said = self._said(key.encode())
            if said == "something" and rank > 0:
                return Presence("present", rank, key)
            if said == "nothing":
                return Presence("absent", line=key)
            if said is not None:
                return UNKNOWN
        # The tool leaves out keys without a comma: localhost, urn:...
        return ABSENT if self._complete and "," in surt.partition(")")[0] else UNKNOWN

    def _lines_about(self, surt: str) -> Iterator[tuple[str, float]]:
        """Yield the keys that speak of *surt*, most specific first, and their ranks."""
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

    def _said(self, key: bytes) -> Literal["something", "nothing", "unclear"] | None:
        """Return what the lines with exactly this key say together; None if there are none."""
        first = bisect_left(self._starts, key, key=self._key)
        run = self._starts[first : first + _MOST_ALIKE]
        alike = takewhile(lambda start: self._key(start) == key, run)
        frequencies = [read_frequency(self._frequency(start, len(key))) for start in alike]
        if any(frequency.something for frequency in frequencies):
            return "something"
        if not frequencies:
            return None
        return "nothing" if all(each.nothing for each in frequencies) else "unclear"

    def _key(self, start: int) -> bytes:
        return bytes(self._octets[start : self._octets.index(b" ", start)])

    def _frequency(self, start: int, length: int) -> str:
        begins = start + length + 1
        return self._octets[begins : self._octets.index(b"\n", begins)].decode()

    def _fill(self, file: UkvsFile) -> None:
        """Keep keys and frequencies alone, and index them, sorted by key."""
        last, in_order = b"", True
        for key, frequency, whole in file.records():
            if not whole and read_frequency(frequency.decode()).nothing:
                continue  # Nothing in one year is nothing known of the others.
            in_order = in_order and key >= last
            last = key
            self._starts.append(len(self._octets))
            self._deepest = max(self._deepest, key.count(b"/"), key.count(b",") + 1)
            self._octets += b"%s %s\n" % (key, frequency)
        if not in_order:
            self._starts = array("I", sorted(self._starts, key=self._key))
