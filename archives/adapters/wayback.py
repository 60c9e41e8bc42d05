"""Archives with replay addresses like the Wayback Machine's, and no other interface.

The replay address for the requested time is requested, and the archive redirects to the nearest
capture. The capture that it serves counts, not the requested time (K-6).
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Final

from msgspec import structs

from archives.addresses import AddressPolicy
from archives.listing import filled, list_captures
from archives.model import ArchiveEntry, Closest, Memento, Selection
from archives.moment import Moment
from archives.negotiation import Clock, Negotiator, Question, instant_for
from archives.source import Fetcher, WantedCaptures

# The newest capture is the one nearest to a time that no capture can have. So an archive that
# repeats the digits of the URL as the time of a capture (pywb's frame) is detected.
_TOMORROW: Final = timedelta(days=1)


class WaybackArchive:
    """An `Adapter` over a replay template."""

    def __init__(self, entry: ArchiveEntry, clock: Clock, policy: AddressPolicy) -> None:
        # The raw view is preferred: framed replay repeats the digits of the URL as
        # Memento-Datetime, even for pages that it does not hold (pywb 2.10).
        template = entry.raw or entry.replay
        if template is None:
            raise ValueError(f"{entry.id}: a wayback archive needs a replay template")
        self.entry = entry
        self._template = template
        self._clock = clock
        self._addresses = policy.of(entry)
        self._negotiator = Negotiator(entry, self._addresses, clock)

    @property
    def selection(self) -> Selection:
        """How the archive selects, as its answers show."""
        return self._negotiator.selection

    async def closest(self, fetch: Fetcher, original: str, at: Moment | None) -> Closest | None:
        """Request the address for *at*, and return the capture that is served there."""
        page = original.partition("#")[0]
        requested = self._tomorrow() if at is None else instant_for(at, self.selection)
        url = filled(self._template, requested, page)
        question = Question(url, page, at, "template", {}, requested)
        found = await self._negotiator.closest(fetch, question)
        if found is None:
            return None
        near = {name: self._replayed(capture) for name, capture in found.neighbours.items()}
        memento = found.memento
        # The replay of the capture that was delivered; of another address nothing is known.
        is_its_own = memento.uri == filled(self._template, memento.stamp, memento.original)
        return structs.replace(
            found,
            memento=self._replayed(memento),
            neighbours=near,
            evidence=found.evidence if is_its_own else "promised",
        )

    def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the TimeMap or the index, if the archive has one."""
        return list_captures(
            self.entry,
            self._addresses,
            fetch,
            self._clock,
            original,
            detailed=detailed,
            wanted=wanted,
        )

    def _tomorrow(self) -> str:
        return Moment.of(self._clock() + _TOMORROW).digits

    def _replayed(self, memento: Memento) -> Memento:
        """Return *memento* at its replay address, which is for people."""
        template = self.entry.replay or self._template
        return memento._replace(uri=filled(template, memento.stamp, memento.original))
