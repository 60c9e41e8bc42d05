"""Archives with addresses in the manner of the Wayback Machine and nothing else.

The address of a capture at the asked time is filled into the template and asked for; the
archive redirects to the nearest. What it serves counts, not what was asked (R-6).
"""

from collections.abc import AsyncGenerator, Sequence

from archives.listing import filled, list_captures
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.negotiation import Clock, Negotiator, Question, latest_stamp
from archives.source import Fetcher


class WaybackArchive:
    """A `Source` over a replay template."""

    def __init__(self, entry: ArchiveEntry, fetch: Fetcher, clock: Clock) -> None:
        # Raw bytes first: framed replay repeats the digits of the URL as Memento-Datetime for
        # pages it does not even hold (pywb 2.10), the raw view tells the truth.
        template = entry.raw or entry.replay
        if template is None:
            raise ValueError(f"{entry.id}: a wayback archive needs a replay template")
        self.entry = entry
        self._template = template
        self._fetch = fetch
        self._clock = clock
        self._negotiator = Negotiator(entry, fetch, clock)

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Fill the template and see which capture is really there."""
        asked = latest_stamp(self._clock) if at is None else Moment.of(at.negotiated).digits
        url = filled(self._template, asked, original.partition("#")[0])
        question = Question(url, original, at, "template", {}, asked)
        found = await self._negotiator.closest(question)
        if found is None or self.entry.replay is None:
            return found
        return Closest(self._replayed(found.memento), found.via, found.doubts, found.neighbours)

    def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        """Read whatever list of captures the archive has."""
        return list_captures(self.entry, self._fetch, self._clock, original)

    def _replayed(self, memento: Memento) -> Memento:
        """Return *memento* at its replay address, where people look at it."""
        replay = filled(self.entry.replay or "", memento.stamp[:14], memento.original)
        return memento._replace(uri=replay)
