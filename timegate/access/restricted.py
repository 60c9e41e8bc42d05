"""Archives whose holdings only some clients may see: those who ask from certain networks.

For everybody else such an archive is left out of every plan, so that it is not asked, not
joined in a question under way, and not recalled (R13, R27). What it said lies in a scope of its
own. Which archives are hidden travels in the context of a request; where there is no request,
as on the command line, nothing is.
"""

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache

from timegate.access.networks import Networks
from timegate.cache import AnswerCache, Store
from timegate.cache.answer_cache import CacheKey
from timegate.cache.store import Clock
from timegate.resolution.budget import During
from timegate.resolution.model import Preferences, Query
from timegate.resolution.resolver import Plan, Router

NOTHING: frozenset[str] = frozenset()
_hidden: ContextVar[frozenset[str]] = ContextVar("hidden", default=NOTHING)


class Restrictions:
    """Who may learn of which archive."""

    def __init__(self, networks: Mapping[str, Networks] | None = None) -> None:
        """Take the networks from which each restricted archive, by its id, may be seen."""
        self._networks = networks or {}
        self.hidden_from: Callable[[str], frozenset[str]] = lru_cache(4096)(self._hidden_from)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._networks)

    def shared_with(self, address: str) -> bool:
        """Whether a client at *address* sees more than everybody does."""
        return len(self.hidden_from(address)) < len(self._networks)

    @property
    def archives(self) -> Collection[str]:
        """The ids of the archives."""
        return self._networks.keys()

    def _hidden_from(self, address: str) -> frozenset[str]:
        """Return the archives that a client at *address* may not learn of."""
        return frozenset(name for name, nets in self._networks.items() if address not in nets)


def hidden() -> frozenset[str]:
    """Return what is hidden from whoever asks now."""
    return _hidden.get()


def hiding(archives: frozenset[str]) -> During[frozenset[str]]:
    """Hide *archives* from all that is done in this block."""
    return During(_hidden, archives)


def visible(route: Router) -> Router:
    """Return *route* without what is hidden from whoever asks."""

    def routed(query: Query, preferences: Preferences) -> Plan:
        unseen = _hidden.get()
        if unseen:
            preferences = replace(preferences, exclude=preferences.exclude | unseen)
        return route(query, preferences)

    return routed


class ScopedRecollection(AnswerCache):
    """Remembers what restricted archives said in a scope of their own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        version: str,
        *,
        changing: Collection[str],
        restricted: Collection[str],
    ) -> None:
        super().__init__(store, clock, version, changing=changing)
        self._restricted = frozenset(restricted)

    def _question(self, archive: str, original: str, time: str, scope: str) -> CacheKey:
        if archive in self._restricted:
            scope = "restricted"
        return super()._question(archive, original, time, scope)
