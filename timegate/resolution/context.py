"""Request context: the limits and rights of a request, and its budgets.

It is an argument of every function that needs it. The command line and the library use
`UNLIMITED`; the server makes one context for each request. The budgets limit the upstream
requests and octets of a resolution (R-11), and the time spent waiting for Redis.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from archives.errors import Queued, Resting
from archives.source import Fetcher, Reply, Request

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


class Budget:
    """Upstream requests and octets that are left."""

    __slots__ = ("octets", "requests")

    def __init__(self, requests: int = MOST_REQUESTS, octets: int = MOST_OCTETS) -> None:
        self.requests = requests
        self.octets = octets


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


def budgeted(fetch: Fetcher, archive: str, budget: Budget | None) -> Fetcher:
    """Return *fetch*, drawing on *budget*; *fetch* itself without one."""
    if budget is None:
        return fetch
    left = budget

    def drawing(request: Request) -> AbstractAsyncContextManager[Reply]:
        left.requests -= 1
        if left.requests < 0:
            why = "the budget of upstream requests for this answer is used up"
            raise Resting(archive, request.url, why, 1.0)
        # Only the bodies of lists are read.
        return fetch(request) if request.purpose == "memento" else counting(request)

    @asynccontextmanager
    async def counting(request: Request) -> AsyncGenerator[Reply]:
        async with fetch(request) as reply:
            yield _CountedReply(reply, left, archive)

    return drawing


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


def placed(fetch: Fetcher, archive: str, places: Places | None) -> Fetcher:
    """Return *fetch*, whose requests take places; *fetch* itself where none are needed."""
    if places is None or not places.is_remote(archive):
        return fetch
    of_request = places

    @asynccontextmanager
    async def waiting(request: Request) -> AsyncGenerator[Reply]:
        if not await of_request.enter():
            raise busy(archive, request.url)
        try:
            if not of_request.begin(archive):
                raise busy(archive, request.url)
            try:
                async with fetch(request) as reply:
                    yield reply
            finally:
                of_request.end(archive)
        finally:
            of_request.leave()

    return waiting


@dataclass(frozen=True, slots=True)
class RequestContext:
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


UNLIMITED: Final = RequestContext()
"""The context of the operator: nothing is hidden, no quota."""
