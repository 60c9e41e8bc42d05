"""Restricted archives: their holdings are visible only to clients in certain networks.

For all other clients such an archive is left out of every plan: it is not queried, no question
in progress to it is joined, and its cached answers are not used (R-13, R-27).
"""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from timegate.access.networks import Networks


class Restrictions:
    """The networks from which each restricted archive may be seen."""

    def __init__(self, networks: Mapping[str, Networks] | None = None) -> None:
        """Take the networks of each restricted archive by its id."""
        self._networks = networks or {}
        self.hidden_from: Callable[[str], frozenset[str]] = lru_cache(4096)(self._hidden_from)

    def __bool__(self) -> bool:
        """Whether any archive is restricted."""
        return bool(self._networks)

    def shared_with(self, address: str) -> bool:
        """Whether a client at *address* sees more than the public does."""
        return len(self.hidden_from(address)) < len(self._networks)

    @property
    def archives(self) -> Collection[str]:
        """The ids of the restricted archives."""
        return self._networks.keys()

    def _hidden_from(self, address: str) -> frozenset[str]:
        """Return the archives that a client at *address* may not see."""
        return frozenset(name for name, nets in self._networks.items() if address not in nets)
