"""Stores: the protocol of whatever keeps bytes, and what all stores share.

Looking up and putting never raise and never wait long: trouble is a miss. Only `delete` and
`purge`, which a person relies on, raise when they could not be done.
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, runtime_checkable

from timegate.resolution.context import TimeBudget

Clock = Callable[[], float]
"""Seconds since 1970; entries outlive the process, so it is no monotonic clock."""

LONGEST: Final = 8 * 86_400.0
"""Seconds. Nothing is kept longer, fresh and stale together: a day, and the cap of a week that
RFC 8767 sets for stale answers. Unbound's issue 1175 shows what happens without a cap."""

SKEW: Final = 60.0
"""Seconds by which clocks of several machines may differ. What was said later than that was
written under a clock that has been put right since, and nobody knows its age."""


class Unavailable(Exception):
    """Something that should be gone may still be there; says why."""


class Stored(NamedTuple):
    """What a store returns."""

    value: bytes
    age: float
    """Seconds since it was put."""
    fresh: bool


class Kept(NamedTuple):
    """What a store keeps: bytes and the times at which they lose their worth."""

    value: bytes
    said: float
    fresh_until: float
    until: float

    @classmethod
    def of(cls, value: bytes, said: float, lifetime: float, stale_for: float) -> "Kept":
        """Return *value* as it was said at *said*, with lifetimes cut to `LONGEST`."""
        lifetime = min(lifetime, LONGEST)
        return cls(value, said, said + lifetime, said + min(lifetime + stale_for, LONGEST))

    def seen(self, now: float) -> Stored | None:
        """Return what it is worth at *now*; None if nothing."""
        value, said, fresh_until, until = self
        if not said - SKEW <= now < until:
            return None
        return Stored(value, max(now - said, 0.0), now < fresh_until)


class Store(Protocol):
    """Keeps bytes for a while."""

    @property
    def trouble(self) -> str | None:
        """Why it remembers nothing at the moment, for readiness; None if all is well."""
        ...

    async def get(self, key: str, budget: TimeBudget | None = None) -> Stored | None:
        """Return the value of *key*. *budget* limits the time spent waiting for Redis."""
        ...

    async def put(
        self,
        key: str,
        value: bytes,
        lifetime: float,
        stale_for: float,
        budget: TimeBudget | None = None,
    ) -> None:
        """Keep *value*: fresh for *lifetime* seconds, then stale for *stale_for* seconds."""
        ...

    async def delete(self, key: str) -> None:
        """Forget one entry. Raises Unavailable."""
        ...

    async def purge(self, prefix: str) -> int:
        """Forget every key that begins with *prefix*, say how many. Raises Unavailable."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Immediate(Protocol):
    """A store that can be used without waiting."""

    def get_now(self, key: str) -> Stored | None: ...

    def put_now(
        self, key: str, value: bytes, lifetime: float, stale_for: float, *, age: float = 0.0
    ) -> None: ...


_LOG: Final = logging.getLogger(__name__)

REST: Final = 1.0
"""Seconds in which a store in trouble is left alone, so that not every question pays for it."""
SILENCE: Final = 60.0
"""Seconds between two warnings."""


class StoreTrouble:
    """The state of one thing a store does, reading or writing."""

    __slots__ = ("_doing", "_monotonic", "_quiet_until", "_rests_until", "why")

    def __init__(self, doing: str, monotonic: Callable[[], float]) -> None:
        self._doing = doing
        self._monotonic = monotonic
        self._rests_until = self._quiet_until = float("-inf")
        self.why: str | None = None
        """For people; None if all is well."""

    @property
    def resting(self) -> bool:
        """Whether it failed so recently that it is not worth trying."""
        return self.why is not None and self._monotonic() < self._rests_until

    def happened(self, why: str) -> None:
        """Note a failure."""
        now = self._monotonic()
        self.why = f"{self._doing}: {why}"
        self._rests_until = now + REST
        if now >= self._quiet_until:
            self._quiet_until = now + SILENCE
            _LOG.warning("the cache is not used: %s", self.why)

    def over(self) -> None:
        """Note a success."""
        self.why = None


_SLOTS: Final = 1 << 17
"""Octets. Keys that share one overwrite each other, so what is long ago is forgotten."""
_FINGERPRINTS: Final = 255
"""One stranger in so many is taken for somebody who was here."""


class GhostList:
    """Remembers keys by one octet each. For one process: hashes differ in the next."""

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes = bytearray(_SLOTS)

    def note(self, key: str) -> None:
        """Remember that *key* had to go."""
        self._notes[hash(key) % _SLOTS] = _fingerprint(key)

    def knows(self, key: str) -> bool:
        """Whether *key* had to go a while ago, or looks like one that had."""
        return self._notes[hash(key) % _SLOTS] == _fingerprint(key)


def _fingerprint(key: str) -> int:
    return hash(key) // _SLOTS % _FINGERPRINTS + 1
