"""What keeps a store from working, said once a minute and not at every question."""

import logging
from collections.abc import Callable
from typing import Final

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
