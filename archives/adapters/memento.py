"""Archives with Memento: a TimeGate, and TimeMaps (RFC 7089)."""

from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec import structs

from archives.addresses import AddressPolicy
from archives.formats.httpdate import http_date
from archives.listing import list_captures
from archives.model import ArchiveEntry, Closest, Memento, Relation, Selection
from archives.moment import Moment
from archives.negotiation import Clock, Negotiator, Question, instant_for
from archives.source import Fetcher, WantedCaptures


class MementoArchive:
    """An `Adapter` over a TimeGate of either style."""

    def __init__(self, entry: ArchiveEntry, clock: Clock, policy: AddressPolicy) -> None:
        if entry.timegate is None:
            raise ValueError(f"{entry.id}: a memento archive needs a TimeGate")
        self.entry = entry
        self._timegate = entry.timegate
        self._clock = clock
        self._addresses = policy.of(entry)
        self._negotiator = Negotiator(entry, self._addresses, clock)

    @property
    def selection(self) -> Selection:
        """How the archive selects, as its answers show."""
        return self._negotiator.selection

    def closest(
        self, fetch: Fetcher, original: str, at: Moment | None
    ) -> Coroutine[object, object, Closest | None]:
        """Query the TimeGate; without a time it returns the newest capture (M-14)."""
        requested, headers = _asked_at(at and at.digits, self._negotiator.selection)
        page = original.partition("#")[0]
        question = Question(self._timegate + page, page, at, "timegate", headers, requested)
        if self.entry.aggregator:
            return self._without_ends(fetch, question)
        return self._negotiator.closest(fetch, question)

    async def _without_ends(self, fetch: Fetcher, question: Question) -> Closest | None:
        """Leave out the first and last memento of the archives that an aggregator asked."""
        found = await self._negotiator.closest(fetch, question)
        if found is None:
            return None
        around: dict[Relation, Memento] = {
            relation: memento
            for relation, memento in found.neighbours.items()
            if relation not in ("first", "last")
        }
        return structs.replace(found, neighbours=around)

    def mementos(
        self,
        fetch: Fetcher,
        original: str,
        *,
        detailed: bool = False,
        wanted: WantedCaptures | None = None,
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Read the TimeMap. Accept-Datetime is not sent: pywb would treat it as ``from=``."""
        return list_captures(
            self.entry,
            self._addresses,
            fetch,
            self._clock,
            original,
            detailed=detailed,
            wanted=wanted,
        )


# All archives are asked for the same time.
@lru_cache(maxsize=256)
def _asked_at(digits: str | None, selection: Selection) -> tuple[str | None, Mapping[str, str]]:
    """Return the stamp that is requested for a time, and the header fields that request it."""
    if digits is None:
        return None, {}
    requested = instant_for(Moment(digits), selection)
    return requested, MappingProxyType({"accept-datetime": http_date(requested)})
