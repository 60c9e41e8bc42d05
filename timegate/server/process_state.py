"""State of the server process that survives a configuration reload.

Connections and requests in progress stay counted, and used quotas of clients stay used.
"""

import asyncio
from dataclasses import replace
from typing import Final

from timegate.access.networks import Networks, Restrictions
from timegate.config import Config
from timegate.endpoints.operations import Condition
from timegate.observability.logs import LogCounter
from timegate.observability.metrics import Metrics
from timegate.server.client_quota import ClientAddresses, ClientLimits, ClientQuotas
from timegate.server.concurrency_limit import (
    Capacity,
    ConcurrencyLimit,
    OctetLimit,
    UpstreamLimit,
)
from timegate.server.connection_limit import ConnectionLimit, files_allow

_QUEUED_RESPONSES: Final = 8
"""Long responses that wait to be sent: all work for them has been done."""


class ProcessState:
    """Limits with their counters, and the condition of the process."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.connections = ConnectionLimit()
        self.draining = False
        self.reload_trouble: str | None = None
        """Why the last reload failed; None if it succeeded."""
        self._capacity = Capacity()
        self._limit_requests(self._capacity)
        self._quotas = ClientQuotas(30, 10)
        self._rate = (30, 10)
        self._log = LogCounter("refused")
        metrics.watch(self.gauges)

    def limits(self, config: Config) -> ClientLimits:
        """Return the limits for clients; counters start anew only if their limits changed."""
        section = config.limits
        capacity = Capacity(section.in_flight, section.queue, config.queue_wait)
        if capacity != self._capacity:
            self._capacity = capacity
            self._limit_requests(capacity)
        rate = (section.cold_per_minute, section.cold_burst)
        if rate != self._rate:
            self._rate, self._quotas = rate, ClientQuotas(*rate)
        self.connections.per_client = section.connections_per_client
        self.connections.uncounted = Networks([*section.trusted_proxies, *section.exempt])
        self.connections.refused = self._rejected
        return ClientLimits(
            self._concurrency,
            self._quotas,
            ClientAddresses(Networks(section.trusted_proxies), section.client_header),
            Networks(section.exempt),
            self._rejected,
            Restrictions({name: Networks(texts) for name, texts in config.restricted.items()}),
            self._streams,
            config.deny.status,
            config.base_url or "",
            self._upstream,
            frozenset(entry.id for entry in config.remote),
            self.connections.make_room,
            self._bodies,
            self._octets,
        )

    def _limit_requests(self, capacity: Capacity) -> None:
        self._concurrency = ConcurrencyLimit(capacity)
        self._upstream = UpstreamLimit(capacity)
        # They last long. The queue is for the time until one without progress has ended.
        queue = min(capacity.queue, _QUEUED_RESPONSES)
        self._streams = ConcurrencyLimit(replace(capacity, queue=queue))
        self._bodies = ConcurrencyLimit(capacity)
        self._octets = OctetLimit(wait=capacity.wait)

    def limit_connections(self, config: Config) -> None:
        """Limit connections as configured, and by the number of files that may be open."""
        section = config.limits
        # Other open files: connections to archives, and a file for each request and response.
        to_archives = sum(entry.limits.at_once for entry in config.registry.entries)
        self.connections.most = files_allow(
            section.connections, to_archives + 2 * section.in_flight
        )

    def condition(self) -> Condition:
        """Return the condition of the process, for readiness."""
        limits = (self._concurrency, self._upstream.requests)
        overloaded = self.connections.full or any(limit.overloaded for limit in limits)
        lists_full = self._streams.overloaded or self._octets.overloaded
        return Condition(overloaded, self.draining, self.reload_trouble, lists_full)

    def gauges(self) -> dict[str, float]:
        """Return the current values of the gauges, for the metrics."""
        condition, upstream = self.condition(), self._upstream.requests
        return {
            "in_flight": self._concurrency.in_flight + upstream.in_flight,
            "waiting": upstream.in_flight,
            "queued": self._concurrency.queued + upstream.queued + self._streams.queued,
            "streams": self._streams.in_flight,
            "stream_octets": self._octets.octets,
            "receiving": self._bodies.in_flight,
            "stalled": len(self.connections.progress),
            "overloaded": float(condition.overloaded),
            "lists_full": float(condition.lists_full),
            "connections": self.connections.total,
            "tasks": len(asyncio.all_tasks()),
        }

    def _rejected(self, reason: str) -> None:
        self.metrics.refused(reason)
        self._log(reason)
