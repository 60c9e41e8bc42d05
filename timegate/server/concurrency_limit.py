"""Concurrency limit: which requests start now, which wait briefly, and which are rejected.

The number of requests at once is limited, not their rate: some are in flight, a short queue
waits, and the rest is rejected at once (R-16). Clients share the limit fairly: the next place
goes to the client with the fewest requests in flight, and a client that fills the queue loses
its last place there to clients with fewer. No I/O; only the timers of waiting requests.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Reason = Literal["full", "share"]
_RECENTLY: Final = 5.0
"""Seconds for which a rejection counts as overload: readiness probes come every few seconds."""
EXEMPT: Final = ""
"""The key of all clients that have no limit of their own."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The limits on requests."""

    in_flight: int = 256
    queue: int = 64
    wait: float = 0.5
    """Seconds that a request may wait in the queue."""

    @property
    def share(self) -> int:
        """Requests of one client in flight, even if there are no other clients."""
        return max(1, self.in_flight * 3 // 4)


class Rejection(NamedTuple):
    """Why a request is rejected: the server is full, or its client has used its share."""

    reason: Reason
    retry_after: int = 1
    """Seconds."""


class ConcurrencyLimit:
    """Counts the requests in flight and in the queue, by client."""

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._capacity = capacity or Capacity()
        self._busy: dict[str, int] = {}
        """Requests in flight by client."""
        self._waiting: dict[str, deque[asyncio.Future[Rejection | None]]] = {}
        """Requests in the queue by client; the first client is the next of equals."""
        self.in_flight = 0
        self.queued = 0
        self._last_start = 0.0
        self._last_timeout = float("-inf")
        """When a request was last rejected after waiting."""

    @property
    def overloaded(self) -> bool:
        """Whether the next request of a new client would or might be rejected.

        The queue may be empty all the same, because requests do not stay in it for long.
        """
        if self.in_flight < self._capacity.in_flight:
            return False
        now = asyncio.get_running_loop().time()
        stuck = now - self._last_start >= self._capacity.wait
        full = self.queued >= self._capacity.queue
        return stuck or full or now - self._last_timeout < _RECENTLY

    async def enter(self, client: str) -> Rejection | None:
        """Start a request of *client*; None for success, and then `leave` must follow."""
        if self._may_start(client):
            self._start(client)
            return None
        if self.queued >= self._capacity.queue and not self._displaced(client):
            return self._rejection(client)
        return await self._queued(client)

    def leave(self, client: str) -> None:
        """End a request of *client*; the next in the queue starts."""
        self._busy[client] -= 1
        if not self._busy[client]:
            del self._busy[client]
        self.in_flight -= 1
        if self.queued:
            self._start_next()

    def _may_start(self, client: str) -> bool:
        within_share = client == EXEMPT or self._busy.get(client, 0) < self._capacity.share
        return within_share and self.in_flight < self._capacity.in_flight

    def _start(self, client: str) -> None:
        self._busy[client] = self._busy.get(client, 0) + 1
        self.in_flight += 1
        self._last_start = asyncio.get_running_loop().time()

    def _start_next(self) -> None:
        while eligible := [client for client in self._waiting if self._may_start(client)]:
            client = min(eligible, key=lambda one: self._busy.get(one, 0))
            turn = self._waiting[client][0]
            self._forget(client, turn)
            if self._waiting.get(client):
                # Round robin: to the end.
                self._waiting[client] = self._waiting.pop(client)
            # A cancelled request may not have been woken up yet.
            if not turn.cancelled():
                self._start(client)
                turn.set_result(None)
                return

    def _displaced(self, client: str) -> bool:
        """Reject a queued request of a client that has more of them than *client* would."""
        if not self._waiting:
            return False
        greedy = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if len(self._waiting[greedy]) <= len(self._waiting.get(client, ())) + 1:
            return False
        turn = self._waiting[greedy][-1]
        self._forget(greedy, turn)
        if not turn.cancelled():
            turn.set_result(Rejection("share"))
        return True

    async def _queued(self, client: str) -> Rejection | None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Rejection | None] = loop.create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        self.queued += 1
        timer = loop.call_later(self._capacity.wait, self._give_up, client, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(client, turn)
            elif turn.result() is None:
                self.leave(client)
            raise
        finally:
            timer.cancel()

    def _give_up(self, client: str, turn: "asyncio.Future[Rejection | None]") -> None:
        if not turn.done():
            rejection = self._rejection(client)
            if rejection.reason == "full":
                self._last_timeout = asyncio.get_running_loop().time()
            self._forget(client, turn)
            turn.set_result(rejection)

    def _forget(self, client: str, turn: "asyncio.Future[Rejection | None]") -> None:
        waiting = self._waiting.get(client, ())
        if turn not in waiting:
            return
        self._waiting[client].remove(turn)
        self.queued -= 1
        if not self._waiting[client]:
            del self._waiting[client]

    def _rejection(self, client: str) -> Rejection:
        """Return the reason: *client* has more than its fair share, or the server is full."""
        clients = len(self._busy.keys() | self._waiting.keys() | {client})
        held = self._busy.get(client, 0) + len(self._waiting.get(client, ()))
        greedy = clients > 1 and held > max(1, self._capacity.in_flight // clients)
        return Rejection("share" if greedy and client != EXEMPT else "full")
