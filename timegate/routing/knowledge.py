"""What routing may know of an archive, from wherever it is known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from timegate.routing.mementomap import UNKNOWN, MementoMap, Presence
from timegate.routing.observations import Experience, Latency, Observations

Standing = Literal["closed", "open", "half-open"]
"""That of the breaker: requests pass, none passes, a single one may."""


class Knowledge(Protocol):
    """The seam: routing asks these questions and no others."""

    @property
    def local(self) -> frozenset[str]:
        """Ids of collections on this machine."""
        ...

    @property
    def private(self) -> frozenset[str]:
        """Ids of the operator's own archives."""
        ...

    def presence(self, archive: str, surt: str) -> Presence:
        """Return what the archive declares to hold."""
        ...

    def experience(self, archive: str, host: str) -> Experience:
        """Return what it answered before."""
        ...

    def latency(self, archive: str) -> Latency: ...

    def standing(self, archive: str) -> Standing: ...


@dataclass(frozen=True, slots=True)
class CombinedKnowledge:
    """Knowledge put together from maps, observations and breakers."""

    observations: Observations
    health: Callable[[str], Standing]
    maps: Mapping[str, MementoMap] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()

    def presence(self, archive: str, surt: str) -> Presence:
        """Unknown where there is no map."""
        found = self.maps.get(archive)
        return UNKNOWN if found is None else found.holds(surt)

    def experience(self, archive: str, host: str) -> Experience:
        return self.observations.experience(archive, host)

    def latency(self, archive: str) -> Latency:
        return self.observations.latency(archive)

    def standing(self, archive: str) -> Standing:
        return self.health(archive)
