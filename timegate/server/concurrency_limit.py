"""Decides which requests are worked on now, which wait a moment, and which are refused.

Concurrency is what is limited, not speed: as many as are in flight, a short queue, and the rest
is told at once (R16). Places go round by client: whoever has fewest under way is next, and who
fills the queue is pushed out of it by those who have less. Pure but for the timers of those who
wait.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Reason = Literal["full", "share"]
_LATELY: Final = 5.0
"""Seconds for which a refusal tells of overload: probes come every few seconds."""
EXEMPT: Final = ""
"""The client without a share of its own."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many there are."""

    in_flight: int = 256
    queue: int = 64
    wait: float = 0.5
    """Seconds in the queue."""

    @property
    def share(self) -> int:
        """What one client may have at most, however idle the others are just now."""
        return max(1, self.in_flight * 3 // 4)


class Rejection(NamedTuple):
    """Why a request is not worked on: the server is full, or its client has its share."""

    reason: Reason
    retry_after: int = 1
    """Seconds."""


class ConcurrencyLimit:
    """Counts who is in flight and who waits."""

    def __init__(self, places: Capacity | None = None) -> None:
        self._places = places or Capacity()
        self._busy: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[Rejection | None]]] = {}
        self.in_flight = 0
        self.queued = 0
        self._taken = 0.0
        """When a place was last taken."""
        self._in_vain = float("-inf")
        """When a request last was refused after it had waited."""

    @property
    def overloaded(self) -> bool:
        """Whether the next request of somebody new would be refused, or might be.

        Whatever holds the places: the queue may be empty, because nobody stays in it for long.
        """
        if self.in_flight < self._places.in_flight:
            return False
        now = asyncio.get_running_loop().time()
        held = now - self._taken >= self._places.wait
        return held or self.queued >= self._places.queue or now - self._in_vain < _LATELY

    async def enter(self, client: str) -> Rejection | None:
        """Take a place, None for success: then `leave` must follow."""
        if self._has_place(client):
            self._take(client)
            return None
        if self.queued >= self._places.queue and not self._pushed_out(client):
            return self._refusal(client)
        return await self._turn(client)

    def leave(self, client: str) -> None:
        """Give the place back; whoever is next gets it."""
        self._busy[client] -= 1
        if not self._busy[client]:
            del self._busy[client]
        self.in_flight -= 1
        if self.queued:
            self._hand_over()

    def _has_place(self, client: str) -> bool:
        within = client == EXEMPT or self._busy.get(client, 0) < self._places.share
        return within and self.in_flight < self._places.in_flight

    def _take(self, client: str) -> None:
        self._busy[client] = self._busy.get(client, 0) + 1
        self.in_flight += 1
        self._taken = asyncio.get_running_loop().time()

    def _hand_over(self) -> None:
        while eligible := [client for client in self._waiting if self._has_place(client)]:
            client = min(eligible, key=lambda one: self._busy.get(one, 0))
            turn = self._waiting[client][0]
            self._forget(client, turn)
            if self._waiting.get(client):
                # To the end of the round.
                self._waiting[client] = self._waiting.pop(client)
            # Who has left while waiting may not know it yet.
            if not turn.cancelled():
                self._take(client)
                turn.set_result(None)
                return

    def _pushed_out(self, client: str) -> bool:
        """Make room in the queue at the cost of who has more in it than *client* would."""
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

    async def _turn(self, client: str) -> Rejection | None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Rejection | None] = loop.create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        self.queued += 1
        timer = loop.call_later(self._places.wait, self._give_up, client, turn)
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
            refusal = self._refusal(client)
            if refusal.reason == "full":
                self._in_vain = asyncio.get_running_loop().time()
            self._forget(client, turn)
            turn.set_result(refusal)

    def _forget(self, client: str, turn: "asyncio.Future[Rejection | None]") -> None:
        waiting = self._waiting.get(client, ())
        if turn not in waiting:
            return
        self._waiting[client].remove(turn)
        self.queued -= 1
        if not self._waiting[client]:
            del self._waiting[client]

    def _refusal(self, client: str) -> Rejection:
        """Say whose fault it is: a client among others that has more than its part."""
        clients = len(self._busy.keys() | self._waiting.keys() | {client})
        held = self._busy.get(client, 0) + len(self._waiting.get(client, ()))
        greedy = clients > 1 and held > max(1, self._places.in_flight // clients)
        return Rejection("share" if greedy and client != EXEMPT else "full")
