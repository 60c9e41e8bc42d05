"""What outlives a configuration: it is changed while requests are answered, these go on.

Answers that are remembered, what was counted, and above all how much archives have been asked:
a reload is no reason to begin again with a full bucket (R12).
"""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from archives.model import ArchiveEntry
from timegate.access.networks import Networks
from timegate.access.restricted import Restrictions
from timegate.cache import Store, open_store
from timegate.config import Config
from timegate.endpoints.operations import Condition
from timegate.observability.logs import LogCounter
from timegate.observability.metrics import Metrics
from timegate.routing import Observations
from timegate.server.client_quota import ClientAddresses, ClientQuotas
from timegate.server.concurrency_limit import Capacity, ConcurrencyLimit
from timegate.server.connection_limit import ConnectionLimit, files_allow
from timegate.server.guard import Guard
from timegate.upstream.breaker import Breakers
from timegate.upstream.dns import AddressBook
from timegate.upstream.rate_limit import LocalRateLimiter, RateLimiter

_OBSERVED: Final = "observations"
_MONTH: Final = 30 * 86_400.0


class ProcessState:
    """Holds it. Use as a context manager: it closes what it opened."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.observations = Observations(time.time)
        self.room = ConnectionLimit()
        self.addresses: AddressBook = {}
        self.draining = False
        self.reload_trouble: str | None = None
        self._admission = ConcurrencyLimit()
        self._streams = ConcurrencyLimit(Capacity(queue=0))
        self._places = Capacity()
        self._budgets = ClientQuotas(30, 10)
        self._rate = (30, 10)
        self._stores: dict[tuple[str, int | None], Store] = {}
        self._ledgers: dict[str, tuple[object, RateLimiter]] = {}
        self._breakers: Breakers | None = None
        self._tally = LogCounter("refused")
        self._restored = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for store in self._stores.values():
            await store.close()

    def guard(self, config: Config) -> Guard:
        """Return who guards the front; who is inside stays counted, unless limits changed."""
        limits = config.limits
        places = Capacity(limits.in_flight, limits.queue, config.queue_wait)
        if places != self._places:
            self._places, self._admission = places, ConcurrencyLimit(places)
            # Nobody waits for a place among these: they are long, and their turn may not come.
            self._streams = ConcurrencyLimit(Capacity(limits.in_flight, queue=0))
        rate = (limits.cold_per_minute, limits.cold_burst)
        if rate != self._rate:
            self._rate, self._budgets = rate, ClientQuotas(*rate)
        self.room.per_client = limits.connections_per_client
        self.room.uncounted = Networks([*limits.trusted_proxies, *limits.exempt])
        self.room.refused = self._refused
        return Guard(
            self._admission,
            self._budgets,
            ClientAddresses(Networks(limits.trusted_proxies), limits.client_header),
            Networks(limits.exempt),
            self._refused,
            Restrictions({name: Networks(texts) for name, texts in config.restricted.items()}),
            self._streams,
            config.deny.status,
            config.base_url or "",
        )

    def make_room(self, config: Config) -> None:
        """Let as many connections in as are configured, and as files may be open."""
        limits = config.limits
        # To archives, and for each request and each long body one of a collection's files.
        to_archives = sum(entry.limits.at_once for entry in config.registry.entries)
        besides = to_archives + 2 * limits.in_flight
        self.room.most = files_allow(limits.connections, besides)

    def store(self, url: str, limit: int | None = None) -> Store:
        """Return the store at *url*, the same one while neither it nor its limit changes.

        Raises ValueError.
        """
        key = (url, limit)
        if key not in self._stores:
            self._stores[key] = open_store(url, limit=limit)
        return self._stores[key]

    async def observed(self, store: Store) -> Observations:
        """Return what was learned of the archives, also before the last stop."""
        kept = None if self._restored else await store.get(_OBSERVED)
        self._restored = True
        if kept is not None:
            # What is damaged, or of another version, is learned again.
            with suppress(ValueError):
                self.observations.restore(msgspec.json.decode(bytes(kept.value)))
        return self.observations

    async def keep_observed(self, store: Store) -> None:
        """Keep what was learned for the next start."""
        learned = msgspec.json.encode(self.observations.export())
        await store.put(_OBSERVED, learned, _MONTH, 0.0)

    def ledger(self, entry: ArchiveEntry) -> RateLimiter:
        """Return what is known of how much *entry* was asked; anew where its limits changed."""
        limits, ledger = self._ledgers.get(entry.id, (None, None))
        if ledger is None or limits != entry.limits:
            ledger = LocalRateLimiter(entry.limits, time.monotonic)
            self._ledgers[entry.id] = (entry.limits, ledger)
        return ledger

    def hand_on(self, breakers: Breakers) -> None:
        """Tell new breakers who was found dead before."""
        if self._breakers is not None:
            for archive, dead in self._breakers.dead().items():
                if breakers.knows(archive):
                    breakers.advise(archive, dead.failures, dead.openings, dead.left)
        self._breakers = breakers

    def condition(self) -> Condition:
        """Return how we are."""
        overloaded = self._admission.overloaded or self.room.full
        lists_full = self._streams.overloaded
        return Condition(overloaded, self.draining, self.reload_trouble, lists_full)

    def gauges(self) -> dict[str, float]:
        """Return what is under way, for the metrics."""
        return {
            "in_flight": self._admission.in_flight,
            "queued": self._admission.queued,
            "streams": self._streams.in_flight,
            "overloaded": float(self.condition().overloaded),
            "connections": self.room.total,
            "tasks": len(asyncio.all_tasks()),
        }

    def _refused(self, reason: str) -> None:
        self.metrics.refused(reason)
        self._tally(reason)
