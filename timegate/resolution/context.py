"""Request context: the limits and rights of a request, and its budgets.

It is an argument of every function that needs it. The command line and the library use
`UNLIMITED`; the server makes one context for each request. The budgets limit the upstream
requests and octets of a resolution (R-11), and the time spent waiting for Redis.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final, Protocol

from msgspec import Struct

from archives.errors import Queued, Resting
from archives.model import ArchiveEntry
from archives.source import Fetcher, Purpose, Reply, Request
from timegate.event_loop import FairTurns

MOST_REQUESTS: Final = 200
"""Upstream requests for one resolution. Unbound has the same limit for one client query, since
an attack made one query cost 1,620 packets."""
MOST_OCTETS: Final = 64 * 1024 * 1024
"""Octets of lists that are read for one resolution."""
REDIS_TIME: Final = 0.035
"""Seconds for one Redis command, and for all cache lookups of a request."""
REDIS_TIME_WITH_QUESTION: Final = 0.04
"""Seconds for a request and one of its questions to an archive together. The part beyond
`REDIS_TIME` is reserved for the lock of the question: a request that had used up everything for
lookups would query an archive that another replica is querying. With 40 ms of its own for each
question, a Redis that answered in 15 ms cost every request 101 ms.

50 ms are promised (FA-13); the rest is for timers that fire late: with 45 ms here, 52 were
measured."""


REQUESTS_PER_CHARGE: Final = 4
"""Requests for the bytes of copies that cost a client as much as one cold query, which queries
some ten archives. `verify=content` costs three of the ten that a client may have at once."""


class Budget:
    """Upstream requests and octets that are left."""

    __slots__ = ("_paid", "_quota", "octets", "requests")

    def __init__(
        self,
        requests: int = MOST_REQUESTS,
        octets: int = MOST_OCTETS,
        quota: "Quota | None" = None,
    ) -> None:
        """*quota*: that of the client, to which `draw_paid` charges requests for copies."""
        self.requests = requests
        self.octets = octets
        self._quota = quota
        self._paid = 0

    def draw(self, archive: str, url: str) -> None:
        """Take one request from the budget. Raises Resting where none is left."""
        self.requests -= 1
        if self.requests < 0:
            why = "the budget of upstream requests for this answer is used up"
            raise Resting(archive, url, why, 1.0)

    async def draw_paid(self, archive: str, url: str) -> None:
        """Take a request, and charge it to the quota. Raises Resting where none is left."""
        self.draw(archive, url)
        if self._quota is None:
            return
        if self._paid:
            self._paid -= 1
            return
        charge = await self._quota.charge(f"copy {url}")
        if not charge.granted:
            self.requests += 1
            raise Resting(archive, url, USED_UP, 1.0)
        charge.use()
        self._paid += REQUESTS_PER_CHARGE - 1


USED_UP: Final = "was not asked: the quota of this client is used up"


class TimeBudget:
    """Seconds that a request, or one of its questions, may still wait for Redis.

    Concurrent waits count once. A question to an archive is a branch: it starts with what the
    request has waited so far, and where branches meet again, the longest counts, because that
    is what the client has waited.
    """

    __slots__ = ("_before", "_began", "_limit", "_parent", "_spent", "_waiting")

    def __init__(
        self,
        limit: float = REDIS_TIME,
        spent: float = 0.0,
        parent: "TimeBudget | None" = None,
    ) -> None:
        self._limit = limit
        self._spent = spent
        self._parent = parent
        self._waiting = 0
        self._began = 0.0
        self._before = 0.0

    def left(self, now: float) -> float:
        """Return the seconds that are left at *now*."""
        return self._limit - self._spent_at(now)

    def begin(self, now: float) -> None:
        """Note that a wait begins."""
        if not self._waiting:
            self._began, self._before = now, self._spent
        self._waiting += 1

    def end(self, now: float) -> None:
        """Note that a wait ends."""
        spent = self._spent_at(now)
        self._waiting -= 1
        if not self._waiting:
            self._reach(spent)

    def branch(self, limit: float = REDIS_TIME_WITH_QUESTION) -> "TimeBudget":
        """Return the budget of a branch; *limit* counts from the start of the request."""
        return TimeBudget(limit, self._spent, self)

    def renew(self, limit: float = REDIS_TIME) -> None:
        """Start again with *limit* seconds, after waiting for something else than Redis."""
        self._limit, self._spent, self._parent = limit, 0.0, None

    def _reach(self, spent: float) -> None:
        self._spent = max(self._spent, spent)
        if self._parent is not None:
            self._parent._reach(self._spent)  # noqa: SLF001 -- another of the same class

    def _spent_at(self, now: float) -> float:
        if not self._waiting:
            return self._spent
        return max(self._spent, self._before + now - self._began)


class QueueTime:
    """Seconds that a question has waited in our own queue for its archive.

    They say nothing about the archive: its patience, its timeouts and its latency are counted
    without them.
    """

    __slots__ = ("_before", "_left", "_limit", "_since")

    def __init__(self) -> None:
        self._before = 0.0
        self._since: float | None = None
        self._limit: asyncio.Timeout | None = None
        self._left = 0.0

    def begin(self, now: float) -> None:
        """Note that a request begins to wait."""
        self._since = now
        if self._limit is not None:
            self._left = (self._limit.when() or now) - now
            self._limit.reschedule(None)

    def end(self, now: float) -> None:
        """Note that the request is sent, or given up."""
        self._before, self._since = self.total(now), None
        if self._limit is not None:
            self._limit.reschedule(now + self._left)

    @contextmanager
    def pausing(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Stop the clock of *limit* while the question waits in the queue."""
        outer, self._limit = self._limit, limit
        try:
            yield
        finally:
            self._limit = outer

    def total(self, now: float) -> float:
        """Return the seconds so far, a wait that goes on included."""
        return self._before + (0.0 if self._since is None else now - self._since)


@asynccontextmanager
async def counted(
    exchange: AbstractAsyncContextManager[Reply], budget: Budget, archive: str
) -> AsyncGenerator[Reply]:
    """Return *exchange*, the octets of whose body are drawn from *budget*."""
    async with exchange as reply:
        yield _CountedReply(reply, budget, archive)


class _CountedReply:
    """A reply whose octets are drawn from a budget."""

    def __init__(self, reply: Reply, budget: Budget, archive: str) -> None:
        self._reply = reply
        self._budget = budget
        self._archive = archive

    @property
    def url(self) -> str:
        return self._reply.url

    @property
    def status(self) -> int:
        return self._reply.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._reply.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._reply.chunks():
            self._budget.octets -= len(chunk)
            if self._budget.octets < 0:
                why = "the budget of octets for this answer is used up"
                raise Resting(self._archive, self.url, why, 1.0)
            yield chunk


class Charge(Protocol):
    """The charge of one question to the quota of a client."""

    @property
    def granted(self) -> bool:
        """Whether public archives may be queried for it."""
        ...

    def use(self) -> None:
        """Note that a public archive is queried."""
        ...

    def settle(self) -> None:
        """End the charge; one that was not used is returned to the quota."""
        ...


class Quota(Protocol):
    """The quota of one client: questions to public archives that it may still cause."""

    async def charge(self, original: str) -> Charge:
        """Charge the client for questions about *original*."""
        ...


class Places(Protocol):
    """The places of a request that waits for remote archives: one in all, and for each."""

    def is_remote(self, archive: str) -> bool:
        """Whether waiting for *archive* takes a place."""
        ...

    async def enter(self) -> bool:
        """Take the place of the request; after True, `leave` must follow."""
        ...

    def leave(self) -> None:
        """Stop waiting."""
        ...

    def begin(self, archive: str) -> bool:
        """Wait for *archive*; after True, `end` must follow."""
        ...

    def end(self, archive: str) -> None:
        """Stop waiting for *archive*."""
        ...


def busy(archive: str, url: str) -> Queued:
    """Return the error of an archive that has no place for another waiting request."""
    return Queued(archive, url, "too many requests are waiting for it", 1.0)


@asynccontextmanager
async def waiting_for(archive: str, url: str, places: Places | None) -> AsyncGenerator[None]:
    """Take the places for waiting for *archive* during the block. Raises Queued."""
    if places is None or not places.is_remote(archive):
        yield
        return
    if not await places.enter():
        raise busy(archive, url)
    try:
        if not places.begin(archive):
            raise busy(archive, url)
        try:
            yield
        finally:
            places.end(archive)
    finally:
        places.leave()


def placed(fetch: Fetcher, archive: str, places: Places | None) -> Fetcher:
    """Return *fetch*, whose requests take places; *fetch* itself where none are needed."""
    if places is None or not places.is_remote(archive):
        return fetch

    @asynccontextmanager
    async def waiting(request: Request) -> AsyncGenerator[Reply]:
        async with waiting_for(archive, request.url, places), fetch(request) as reply:
            yield reply

    return waiting


_WAITING_PER_SLOT: Final = 4
_SLOT_PATIENCE: Final = 2.0
"""Seconds that a request may wait for another response of the same archive to be sent."""


_LONG_TURN: Final = 0.0005
"""Seconds; writing a refusal takes about as long."""


class BodySlots:
    """Slots for responses of archives that are read at the pace of a client.

    An archive has half as many as it allows requests at once. Clients that read slowly would
    take all of them, and the archive could not be queried.
    """

    def __init__(self) -> None:
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._waiting: Counter[str] = Counter()
        """Requests that wait for a slot."""
        self._refusals = FairTurns(1, longest=_LONG_TURN)

    @asynccontextmanager
    async def taken(self, entry: ArchiveEntry, url: str) -> AsyncGenerator[None]:
        """Take a slot of the archive during the block. Raises Queued if none is free soon."""
        if entry.kind.is_local:
            yield
            return
        most = max(1, entry.limits.at_once // 2)
        slots = self._slots.setdefault(entry.id, asyncio.Semaphore(most))
        why = "too many of its mementos and lists are being sent"
        if self._waiting[entry.id] >= _WAITING_PER_SLOT * most:
            raise Queued(entry.id, url, why, _SLOT_PATIENCE)
        self._waiting[entry.id] += 1
        try:
            async with asyncio.timeout(_SLOT_PATIENCE):
                await slots.acquire()
        except TimeoutError:
            # Hundreds that began together are refused in turns.
            await self._refusals.enter()
            raise Queued(entry.id, url, why, _SLOT_PATIENCE) from None
        finally:
            self._waiting[entry.id] -= 1
        try:
            yield
        finally:
            slots.release()


class RequestContext(Struct, frozen=True):
    """The limits and rights of one request."""

    hidden: frozenset[str] = frozenset()
    """Restricted archives that the client may not see."""
    quota: Quota | None = None
    """None for no limit."""
    charge: Charge | None = None
    """The charge for the current question; None while there is none, or no limit."""
    budget: Budget | None = None
    """Requests and octets of the current resolution; None while there is none."""
    redis_time: TimeBudget | None = None
    """Seconds that may be spent waiting for Redis; None for the limits of single commands."""
    blocked: list[str] | None = None
    """Collects the URLs that the blocklist stopped; None if the caller does not need them."""
    places: Places | None = None
    """The places for waiting for archives; None for no limit."""
    queue_time: QueueTime | None = None
    """Counts the time of the current question in our own queue; None to count nothing."""
    answered: Callable[[str, Purpose], None] | None = None
    """Called with the archive and the purpose whenever a request that was sent has ended."""
    passed: str = ""
    """The servers that the request has passed before this one, as in ``CDN-Loop``."""

    def of_question(self, queue_time: QueueTime) -> "RequestContext":
        """Return the context of one question to an archive.

        The places belong to the searches that wait: the question may outlive them.
        """
        redis_time = self.redis_time
        return RequestContext(
            self.hidden,
            self.quota,
            self.charge,
            self.budget,
            None if redis_time is None else redis_time.branch(),
            self.blocked,
            None,
            queue_time,
            self.answered,
            self.passed,
        )


UNLIMITED: Final = RequestContext()
"""The context of the operator: nothing is hidden, no quota."""
