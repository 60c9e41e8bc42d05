"""Concurrency limit: which requests start now, which wait briefly, and which are rejected.

The number of requests at once is limited, not their rate: some are in flight, a short queue
waits, and the rest is rejected at once (R-16). Clients share the limit fairly: the next place
goes to the client with the fewest requests in flight, and a client that fills the queue loses
its last place there to clients with fewer. No I/O; only the timers of waiting requests.

A request that waits for remote archives has a place of its own kind (`UpstreamLimit`), and
gives back its place among the working requests. So cached and local answers are never rejected
because archives are slow, and an archive that hangs leaves places for the others.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Reason = Literal["full", "share", "archive"]
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
    per_client: int | None = None
    """Requests of one client in flight; None for three quarters of all."""

    @property
    def share(self) -> int:
        """Requests of one client in flight, even if there are no other clients."""
        return self.per_client or max(1, self.in_flight * 3 // 4)


class Rejection(NamedTuple):
    """Why a request is rejected.

    The server is full, the client has used its share, or too many requests wait for the
    archives that are needed.
    """

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
        self.free = self._capacity.in_flight
        """Places that are not taken."""
        self.queued = 0
        self._last_start = 0.0
        self._last_timeout = float("-inf")
        """When a request was last rejected after waiting."""

    @property
    def in_flight(self) -> int:
        """Requests that were started and have not ended."""
        return self._capacity.in_flight - self.free

    @property
    def overloaded(self) -> bool:
        """Whether the next request of a new client would or might be rejected.

        The queue may be empty all the same, because requests do not stay in it for long.
        """
        if self.free > 0:
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
        self.free += 1
        if self.queued:
            self._start_next()

    def _may_start(self, client: str) -> bool:
        within_share = client == EXEMPT or self._busy.get(client, 0) < self._capacity.share
        return within_share and self.free > 0

    def _start(self, client: str) -> None:
        self._busy[client] = self._busy.get(client, 0) + 1
        self.free -= 1
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


class OctetLimit:
    """Limits the octets of whole responses that are being sent at the same time.

    A response that exceeds the limit waits briefly for others to end, and so does as much again
    in all; what lies beyond is rejected at once. So clients that do not read hold a bounded
    amount of memory, however long the responses are.
    """

    def __init__(self, most: int = 64 * 1024 * 1024, wait: float = 0.5) -> None:
        self._most = most
        self._wait = wait
        self._ended = asyncio.Event()
        self._waiting = 0
        self._last_rejection = float("-inf")
        self.octets = 0

    @property
    def overloaded(self) -> bool:
        """Whether a response was rejected a few seconds ago."""
        return asyncio.get_running_loop().time() - self._last_rejection < _RECENTLY

    def fits(self, octets: int) -> bool:
        """Whether there is room; one response of any length is sent by itself."""
        return not self.octets or self.octets + octets <= self._most

    async def enter(self, octets: int) -> Rejection | None:
        """Start to send *octets*; None for success, and then `leave` must follow."""
        if not self.fits(octets):
            if self._waiting + octets > self._most:
                return self._rejection()
            self._waiting += octets
            try:
                async with asyncio.timeout(self._wait):
                    while not self.fits(octets):
                        await self._ended.wait()
            except TimeoutError:
                return self._rejection()
            finally:
                self._waiting -= octets
        self.octets += octets
        return None

    def _rejection(self) -> Rejection:
        self._last_rejection = asyncio.get_running_loop().time()
        return Rejection("full")

    def leave(self, octets: int) -> None:
        """Note that a response has ended; those that wait look again."""
        self.octets -= octets
        self._ended.set()
        self._ended.clear()


class UpstreamLimit:
    """Limits the requests that wait for remote archives, in all and for each archive.

    Another request may wait for an archive while fewer requests wait for it than there are free
    places. So one archive that hangs takes half of the places at most, two take a third each,
    and some always remain for requests that wait for other archives.
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        """Let ``capacity.in_flight`` requests wait for one archive, twice as many in all."""
        capacity = capacity or Capacity()
        self.requests = ConcurrencyLimit(
            Capacity(2 * capacity.in_flight, capacity.queue, capacity.wait, capacity.share)
        )
        self._waiting: dict[str, int] = {}

    def begin(self, archive: str) -> bool:
        """Let a request with a place wait for *archive*; False if it must not."""
        waiting = self._waiting.get(archive, 0)
        if waiting >= self.requests.free:
            return False
        self._waiting[archive] = waiting + 1
        return True

    def end(self, archive: str, times: int = 1) -> None:
        """Note that as many requests no longer wait for *archive*."""
        waiting = self._waiting.get(archive, 0) - times
        if waiting > 0:
            self._waiting[archive] = waiting
        else:
            self._waiting.pop(archive, None)


class RequestPlaces:
    """The places of one request: a working place, and one for waiting for archives.

    The working place is given back when the request starts to wait, and not taken again: what
    remains to be done then is short.
    """

    __slots__ = (
        "_archives",
        "_client",
        "_entering",
        "_held",
        "_holders",
        "_leave_work",
        "_limit",
        "_patient",
        "_remote",
        "_sending",
        "_working",
        "busy",
        "rejection",
        "waited",
    )

    def __init__(
        self,
        limit: UpstreamLimit,
        client: str,
        remote: frozenset[str],
        leave_work: Callable[[], None],
        *,
        patient: bool = False,
    ) -> None:
        """*leave_work* gives the working place back.

        *patient*: wait for a place for as long as it takes, and hold it only while archives are
        queried; for batches, which go on while the response is sent.
        """
        self._limit = limit
        self._client = client
        self._remote = remote
        self._leave_work = leave_work
        self._patient = patient
        self._working = True
        self._held = False
        self._holders = 0
        self._sending = False
        self._entering: asyncio.Lock | None = None
        self._archives: dict[str, int] = {}
        self.rejection: Rejection | None = None
        """Why the request may not wait for archives; None if it may, or has not tried."""
        self.busy: set[str] = set()
        """Archives that were not queried, because too many requests wait for them."""
        self.waited = False
        """Whether the request has waited for any archive."""

    def is_remote(self, archive: str) -> bool:
        """Whether waiting for *archive* takes a place."""
        return archive in self._remote

    async def enter(self) -> bool:
        """Take the place of the request; after True, `leave` must follow."""
        if not self._held and not self._sending and not await self._enter_once():
            return False
        self._holders += 1
        return True

    def leave(self) -> None:
        """Stop waiting; other parts of the request may go on."""
        self._holders -= 1
        if self._patient and not self._holders:
            self._give_back()

    def begin(self, archive: str) -> bool:
        """Wait for *archive*; False if too many requests do. After True, `end` must follow."""
        if self._sending or archive not in self._remote:
            return True
        if not self._limit.begin(archive):
            self.busy.add(archive)
            return False
        self.waited = True
        self._archives[archive] = self._archives.get(archive, 0) + 1
        return True

    def end(self, archive: str) -> None:
        """Stop waiting for *archive*."""
        times = self._archives.pop(archive, 0)
        if times > 1:
            self._archives[archive] = times - 1
        if times:
            self._limit.end(archive)

    def answered(self) -> None:
        """Give back the places: from now on, the response is sent."""
        self._stop_working()
        if not self._patient:
            self._sending = True
            self._give_back()
            for archive, times in self._archives.items():
                self._limit.end(archive, times)
            self._archives.clear()

    async def _enter_once(self) -> bool:
        """Take the place, however many parts of the request want it at the same time."""
        self._entering = self._entering or asyncio.Lock()
        async with self._entering:
            while not self._held and self.rejection is None:
                rejection = await self._limit.requests.enter(self._client)
                if rejection is None:
                    self._held = True
                    self._stop_working()
                elif self._patient:
                    await asyncio.sleep(rejection.retry_after)
                else:
                    self.rejection = rejection
            return self._held

    def _stop_working(self) -> None:
        if self._working:
            self._working = False
            self._leave_work()

    def _give_back(self) -> None:
        if self._held:
            self._held = False
            self._limit.requests.leave(self._client)
