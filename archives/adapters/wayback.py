"""Archives with addresses in the manner of the Wayback Machine and nothing else.

The address of a capture at the asked time is filled into the template and asked for; the
archive redirects to the nearest. What it serves counts, not what was asked (R-6).
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from archives.listing import filled, list_captures
from archives.model import ArchiveEntry, ArchiveKind, Closest, Memento
from archives.moment import Moment
from archives.negotiation import Clock, Negotiator, Question, instant_for
from archives.source import Fetcher

KIND: Final = ArchiveKind(
    "wayback", "replays captures at addresses with a time and a URL", needs=("replay",)
)
# The newest is the one nearest to a time that no capture can have: then an archive that
# repeats the digits of the URL as the time of a capture (pywb's frame) gives itself away.
_TOMORROW: Final = timedelta(days=1)


class WaybackArchive:
    """An `Adapter` over a replay template."""

    def __init__(self, entry: ArchiveEntry, clock: Clock) -> None:
        # Raw bytes first: framed replay repeats the digits of the URL as Memento-Datetime for
        # pages it does not even hold (pywb 2.10), the raw view tells the truth.
        template = entry.raw or entry.replay
        if template is None:
            raise ValueError(f"{entry.id}: a wayback archive needs a replay template")
        self.entry = entry
        self._template = template
        self._clock = clock
        self._negotiator = Negotiator(entry, clock)

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Fill the template and see which capture is really there."""
        page = original.partition("#")[0]
        asked = self._tomorrow() if at is None else instant_for(at, self.entry)
        url = filled(self._template, asked, page)
        question = Question(url, page, at, "template", {}, asked)
        found = await self._negotiator.closest(fetch, question)
        if found is None:
            return None
        near = {name: self._replayed(capture) for name, capture in found.neighbours.items()}
        return replace(found, memento=self._replayed(found.memento), neighbours=near)

    def mementos(
        self, fetch: Fetcher, original: str
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read whatever list of captures the archive has."""
        return list_captures(self.entry, fetch, self._clock, original)

    def _tomorrow(self) -> str:
        return Moment.of(self._clock() + _TOMORROW).digits

    def _replayed(self, memento: Memento) -> Memento:
        """Return *memento* at its replay address, where people look at it."""
        template = self.entry.replay or self._template
        return memento._replace(uri=filled(template, memento.stamp, memento.original))
