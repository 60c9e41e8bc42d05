"""How much one client may have public archives asked, so that no one uses up what all share.

The Internet Archive allows 24 lists a minute to the whole of a server: a client that asks for
ten thousand random URLs would leave nothing to the others. So each has a budget of questions
for which archives must be asked (R11, R14). What is remembered is free, and so is what our own
archives say: beyond the budget these still answer, and who was not asked is said.

The errand travels in the context, as the budget of a resolution does.
"""

import asyncio
import re
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, Protocol

from cachetools import LRUCache

from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Source
from timegate.access.networks import UNKNOWN, Networks, read_address
from timegate.resolution.budget import During
from timegate.resolution.coalescing import AnswerMemory, Coalescer
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.ranking import ends_search
from timegate.resolution.resolver import Deadlines, Resolver, Router
from timegate.timemaps import ArchiveLists, ListCache, Merge
from timegate.upstream.containment import Containment

_MOST_CLIENTS: Final = 65_536
"""Some 10 MB. Who is forgotten has a full budget again, but only after so many others came."""


class ClientQuotas:
    """Tokens that drip in for each client."""

    def __init__(
        self, per_minute: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._known: LRUCache[str, tuple[float, float]] = LRUCache(_MOST_CLIENTS)

    def take(self, client: str) -> float:
        """Take a token and return 0, or take none and return the seconds until there is one."""
        tokens, now = self._tokens(client)
        if tokens < 1:
            return (1 - tokens) / self._per_second
        self._known[client] = (tokens - 1, now)
        return 0.0

    def give_back(self, client: str) -> None:
        """Return a token that was not needed."""
        tokens, now = self._tokens(client)
        self._known[client] = (min(tokens + 1, self._burst), now)

    def _tokens(self, client: str) -> tuple[float, float]:
        now = self._clock()
        tokens, since = self._known.get(client, (self._burst, now))
        return min(self._burst, tokens + (now - since) * self._per_second), now


class Errand:
    """One question of a visit: whether it is paid for, and whether anybody was asked."""

    __slots__ = ("asked", "original", "paid", "paid_now")

    def __init__(self, original: str, *, paid: bool, paid_now: bool) -> None:
        self.original = original
        self.paid = paid
        self.paid_now = paid_now
        """Whether by this errand, not by one before it."""
        self.asked = False


class ClientQuota:
    """One request of one client, and what it was denied."""

    __slots__ = ("_budgets", "_client", "_paid", "_patient", "retry_after")

    def __init__(self, client: str, budgets: ClientQuotas, *, patient: bool = False) -> None:
        """*patient*: it has many questions and waits until each may be asked."""
        self._client = client
        self._budgets = budgets
        self._patient = patient
        self._paid: set[str] = set()
        self.retry_after: float | None = None
        """Seconds until more may be asked; None if nothing was denied."""

    async def errand(self, original: str) -> Errand:
        """Pay for asking archives for *original*, once in a visit, if the budget allows.

        Beforehand, so that a hundred questions at once cost a hundred.
        """
        if original in self._paid:
            return Errand(original, paid=True, paid_now=False)
        while wait := self._budgets.take(self._client):
            if not self._patient:
                self.retry_after = wait
                return Errand(original, paid=False, paid_now=False)
            await asyncio.sleep(wait)
        self._paid.add(original)
        return Errand(original, paid=True, paid_now=True)

    def settle(self, errand: Errand) -> None:
        """Give back what was paid if nobody had to be asked."""
        if errand.paid_now and not errand.asked:
            self._paid.discard(errand.original)
            self._budgets.give_back(self._client)


_visit: ContextVar[ClientQuota | None] = ContextVar("visit", default=None)
_errand: ContextVar[Errand | None] = ContextVar("errand", default=None)


def visiting(visit: ClientQuota | None) -> During[ClientQuota | None]:
    """Let *visit* pay for what is asked in this block; None for nobody to pay."""
    return During(_visit, visit)


def _on(errand: Errand) -> During[Errand | None]:
    """Let everything that is started in this block belong to *errand*."""
    return During(_errand, errand)


class Public:
    """A `Source` that somebody else runs: asking it is noted in the errand."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def entry(self) -> ArchiveEntry:
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        _note()
        return await self._source.closest(original, at)

    def mementos(self, original: str) -> AsyncGenerator[Sequence[Memento], None]:
        _note()
        return self._source.mementos(original)


def _note() -> None:
    errand = _errand.get()
    if errand is not None:
        errand.asked = True


class FrugalResolver(Resolver):
    """A resolver that asks public archives only for those who can pay."""

    def __init__(  # noqa: PLR0913 -- a resolver's, and whom it costs to ask
        self,
        desk: Coalescer,
        memory: AnswerMemory,
        route: Router,
        deadlines: Deadlines | None = None,
        *,
        public: frozenset[str],
        observe: Callable[[Resolution], None] = lambda _: None,
    ) -> None:
        super().__init__(desk, memory, route, deadlines)
        self._plan = route
        self._public = public
        self._observe = observe

    async def resolve(self, query: Query, preferences: Preferences | None = None) -> Resolution:
        """Return the best answer that the client can still have."""
        resolution = await self._resolved(query, preferences or Preferences())
        self._observe(resolution)
        return resolution

    async def _resolved(self, query: Query, preferences: Preferences) -> Resolution:
        visit = _visit.get()
        if visit is None or preferences.only_if_cached or not self._costs(query, preferences):
            return await super().resolve(query, preferences)
        errand = await visit.errand(query.original)
        if not errand.paid:
            return await self._free(query, preferences)
        try:
            with _on(errand):
                return await super().resolve(query, preferences)
        finally:
            visit.settle(errand)

    def _costs(self, query: Query, preferences: Preferences) -> bool:
        return not self._public.isdisjoint(self._plan(query, preferences).order)

    async def _free(self, query: Query, preferences: Preferences) -> Resolution:
        """Return what is remembered, else what our own archives have; nobody else is asked."""
        known = replace(preferences, only_if_cached=True, no_cache=False)
        found = await super().resolve(query, known)
        if found.memento is None:
            own = replace(preferences, exclude=preferences.exclude | self._public)
            found = await super().resolve(query, own)
        if any(ends_search(query, attempt) for attempt in found.attempts):
            return replace(found, preferences=preferences)
        heard = {attempt.archive for attempt in found.attempts}
        order = self._plan(query, preferences).order
        missing = tuple(archive for archive in order if archive not in heard)
        return replace(found, preferences=preferences, unanswered=missing)


class FrugalLists(ArchiveLists):
    """Lists of captures, of public archives only for those who can pay."""

    def __init__(
        self,
        sources: dict[str, Source],
        memory: ListCache,
        public: frozenset[str],
        containment: Containment | None = None,
    ) -> None:
        super().__init__(sources, memory, containment)
        self._public = public

    @asynccontextmanager
    async def merged(
        self, archives: Iterable[str], original: str, preferences: Preferences
    ) -> AsyncIterator[Merge]:
        """Merge what *archives* list of *original*."""
        visit = _visit.get()
        merging = super().merged(archives, original, preferences)
        if visit is None:
            async with merging as merge:
                yield merge
            return
        errand = await visit.errand(original)
        async with AsyncExitStack() as stack:
            stack.callback(visit.settle, errand)
            # Tasks take the errand with them from where they begin.
            with _on(errand):
                merge = await stack.enter_async_context(merging)
            yield merge

    async def of(
        self, archive: str, original: str, preferences: Preferences
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Yield the captures that *archive* lists, if only from memory."""
        errand = _errand.get()
        if archive in self._public and errand is not None and not errand.paid:
            preferences = replace(preferences, only_if_cached=True, no_cache=False)
        async with aclosing(super().of(archive, original, preferences)) as batches:
            async for batch in batches:
                yield batch


_MOST_HOPS: Final = 16
_FOR: Final = re.compile(r'(?:^|[;\s])for="?([^";,\s]++)', re.IGNORECASE)


class Fields(Protocol):
    """Header fields of a request."""

    def getall(self, name: str, default: Sequence[str], /) -> Sequence[str]: ...


class ClientAddresses:
    """Finds the addresses of clients."""

    def __init__(self, trusted: Networks, header: str = "X-Forwarded-For") -> None:
        self._trusted = trusted
        self._header = header

    def address(self, peer: object, fields: Fields) -> str:
        """Return the client's address; *peer* is what the socket says."""
        client = peer_address(peer)
        if client not in self._trusted:
            return client
        for named in self._named(fields):
            if named is None:
                # Hidden or unreadable: all that is known is who handed it on.
                return client
            client = named
            if client not in self._trusted:
                return client
        return client

    def _named(self, fields: Fields) -> Iterator[str | None]:
        """Yield who is said to have handed it on, the last one first."""
        hops = ",".join(fields.getall(self._header, ())).split(",")
        for hop in hops[: -_MOST_HOPS - 1 : -1]:
            yield _read(_forwarded_for(hop) if self._header == "Forwarded" else hop.strip())


def peer_address(peer: object) -> str:
    """Return the address in a socket's name; a Unix socket has none."""
    return str(peer[0]) if isinstance(peer, tuple) and peer else UNKNOWN


def _forwarded_for(element: str) -> str:
    """Return the node in an element of Forwarded (RFC 7239 4): ``for="[2001:db8::1]:80"``."""
    found = _FOR.search(element)
    return found[1] if found else ""


def _read(node: str) -> str | None:
    """Return the address of *node*, without its port."""
    if node.startswith("["):
        node = node[1:].partition("]")[0]
    elif node.count(":") == 1:
        node = node.partition(":")[0]
    address = read_address(node)
    return None if address is None else str(address)
