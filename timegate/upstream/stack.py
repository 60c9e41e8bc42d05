"""The stack of every request to an archive; its order is written here and only here.

    question:  tracing -> delay (demo) -> adapter
    request:   places -> exchange log -> guard (budget, breaker, rate limit) -> network

The breaker comes before the rate limit, so that an archive whose breaker is open costs no
tokens and no waiting. Both are one step, not two that wrap each other, because every question
to every archive passes it. Archives at the same host (``hosted_by``) share its
connection pool and its rate limit, because the host counts requests, not collections.
"""

import random
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from types import TracebackType

from msgspec import Struct, structs

from archives.errors import Resting
from archives.model import ArchiveEntry, Limits
from archives.registry import endpoints
from archives.source import Adapter, AdapterSource, Fetcher, Reply, Request, Source
from timegate.access.loops import FIELD, with_own
from timegate.config.secrets import Secret
from timegate.resolution.context import UNLIMITED, RequestContext, counted, placed
from timegate.upstream.breaker import GIVEN_UP, Breakers, outcome_of, outcome_of_error
from timegate.upstream.connection_pool import Connections, Dialling
from timegate.upstream.dns import (
    AddressBook,
    BoundedResolver,
    DnsCache,
    LazyResolver,
    NameResolver,
    SystemResolver,
    default_resolver,
)
from timegate.upstream.egress import Egress, Endpoint, target
from timegate.upstream.exchange_log import UpstreamExchange, logged
from timegate.upstream.http1 import BUFFER
from timegate.upstream.http_client import HttpFetcher, Timeouts
from timegate.upstream.rate_limit import (
    LocalRateLimiter,
    RateLimiter,
    RequestQueue,
)


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """Settings for requests to archives that are the same for all archives."""

    contact: str
    """URL or address of the operator; part of the User-Agent."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    patience: float = 2.0
    """Seconds that a request may wait for the rate limit."""
    allow_private: frozenset[str] = frozenset()
    """Archives of the operator whose names may resolve to private addresses."""
    tls: ssl.SSLContext | None = None
    """For archives with certificates of a private authority; None for those of the system."""
    authorizations: Mapping[str, Secret] = field(default_factory=dict)
    """The Authorization field that is sent to an archive, by its id."""
    loop_name: str = ""
    """Our name in ``CDN-Loop`` (RFC 8586), which aggregators are sent; empty for none."""
    system_resolver: bool = False
    """Resolve names with the resolver of the operating system (mDNS), not with c-ares."""

    def __post_init__(self) -> None:
        if not (self.contact.isascii() and self.contact.isprintable() and self.contact):
            raise ValueError("the contact must be a URL or an address in printable ASCII")
        if not self.patience >= 0:
            raise ValueError("patience must be 0 seconds or more")

    @property
    def user_agent(self) -> str:
        """The name under which this server identifies itself (R-14)."""
        return f"timegate/{_version()} (+{self.contact})"


@dataclass(frozen=True, slots=True)
class UpstreamEnvironment:
    """Parts that a test or a cluster of replicas replaces."""

    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    resolver: Callable[[], NameResolver] | None = None
    limiter: Callable[[ArchiveEntry], RateLimiter] | None = None
    """The rate limiter of a host; None for one of this process alone."""
    record: Callable[[UpstreamExchange], None] | None = None
    """Called with every exchange with every archive."""
    addresses: AddressBook | None = None
    """Known addresses of hosts, kept over a configuration reload."""
    network: Callable[[ArchiveEntry], Fetcher] | None = None
    """What sends the requests to an archive; None for HTTP."""


class UpstreamState:
    """State of the upstream side that survives a configuration reload."""

    def __init__(self) -> None:
        self.addresses: AddressBook = {}
        self._limiters: dict[str, tuple[Limits, RateLimiter]] = {}
        self._breakers: Breakers | None = None

    def limiter(self, entry: ArchiveEntry) -> RateLimiter:
        """Return the rate limiter of *entry*; a new one where its limits have changed."""
        limits, limiter = self._limiters.get(entry.id, (None, None))
        if limiter is None or limits != entry.limits:
            limiter = LocalRateLimiter(entry.limits, time.monotonic)
            self._limiters[entry.id] = (entry.limits, limiter)
        return limiter

    def replace_breakers(self, breakers: Breakers) -> None:
        """Replace the breakers by new ones, in which open circuits stay open."""
        if self._breakers is not None:
            for archive, circuit in self._breakers.open_circuits().items():
                if breakers.knows(archive):
                    breakers.advise(
                        archive,
                        circuit.failures,
                        circuit.openings,
                        circuit.left,
                        circuit.reason,
                    )
        self._breakers = breakers


class Guard:
    """The guard of one archive."""

    __slots__ = ("archive", "breakers", "clock", "fetch", "loop_name", "patience", "queue")

    def __init__(  # noqa: PLR0913, PLR0917 -- what it passes a request to
        self,
        fetch: Fetcher,
        archive: str,
        breakers: Breakers,
        queue: RequestQueue,
        patience: float,
        clock: Callable[[], float],
        loop_name: str = "",
    ) -> None:
        """*fetch* sends a request, which waits in *queue* at most *patience* seconds.

        *loop_name* is our name in the ``CDN-Loop`` of requests to an aggregator.
        """
        self.loop_name = loop_name
        self.fetch = fetch
        self.archive = archive
        self.breakers = breakers
        self.queue = queue
        self.patience = patience
        self.clock = clock


class GuardedFetcher(Struct, frozen=True):
    """A `Fetcher` of one archive, within the limits of a client's request."""

    guard: Guard
    context: RequestContext

    def __call__(self, request: Request) -> AbstractAsyncContextManager[Reply]:
        guard, context = self.guard, self.context
        if guard.loop_name:
            passed = with_own(context.passed, guard.loop_name)
            request = structs.replace(request, headers={**request.headers, FIELD: passed})
        guarded = _GuardedRequest(guard, request, context)
        if context.budget is None:
            return guarded
        context.budget.draw(guard.archive, request.url)
        if request.purpose == "memento":
            return guarded
        # Only the bodies of lists are read.
        return counted(guarded, context.budget, guard.archive)


class _GuardedRequest:
    """One request, whose outcome is reported to the breaker and to the queue."""

    __slots__ = ("_context", "_guard", "_inner", "_reply", "_request")

    def __init__(self, guard: Guard, request: Request, context: RequestContext) -> None:
        self._guard = guard
        self._request = request
        self._context = context

    async def __aenter__(self) -> Reply:
        guard, request = self._guard, self._request
        archive, queue = guard.archive, guard.queue
        admission = guard.breakers.admit(archive)
        if not admission.admitted:
            raise Resting(
                archive,
                request.url,
                admission.why,
                admission.retry_after,
                no_network=guard.breakers.no_network(archive),
            )
        if not queue.enter_now(request.purpose):
            await self._wait_in_queue()
        began = guard.clock()
        try:
            self._inner = guard.fetch(request)
            self._reply = reply = await self._inner.__aenter__()
        except BaseException as error:
            late = guard.clock() - began >= GIVEN_UP
            guard.breakers.report(archive, outcome_of_error(error, late=late))
            if self._context.answered is not None:
                self._context.answered(archive, request.purpose)
            await self._leave_queue(error)
            raise
        return reply

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        guard = self._guard
        # Not before the body was read: a body that breaks off makes the whole answer bad.
        outcome = outcome_of(self._reply) if error is None else outcome_of_error(error)
        try:
            return await self._inner.__aexit__(kind, error, trace)
        finally:
            guard.breakers.report(guard.archive, outcome)
            if self._context.answered is not None:
                self._context.answered(guard.archive, self._request.purpose)
            if error is None:
                guard.queue.leave()
            else:
                await self._leave_queue(error)

    async def _wait_in_queue(self) -> None:
        guard, context = self._guard, self._context
        try:
            await guard.queue.enter(
                guard.archive,
                self._request,
                guard.patience,
                context.redis_time,
                context.queue_time,
            )
        except BaseException:
            # Nothing was sent: that says nothing about the archive.
            guard.breakers.report(guard.archive, "neither")
            raise

    async def _leave_queue(self, error: BaseException) -> None:
        queue = self._guard.queue
        try:
            await queue.pause_after(error, self._context.redis_time)
        finally:
            queue.leave()


class Fetchers(dict[str, Fetcher]):
    """A `Fetcher` for each archive by its id, without the limits of a request."""

    def __init__(self, breakers: Breakers) -> None:
        super().__init__()
        self.breakers = breakers
        self.queues: dict[str, RequestQueue] = {}
        """The queue of each archive."""
        self.stacks: dict[str, Callable[[RequestContext], Fetcher]] = {}

    def within(self, archive: str, context: RequestContext) -> Fetcher:
        """Return the fetcher of *archive* within the limits of a request."""
        return self.stacks[archive](context)


class ArchiveSources:
    """The `Source` of each archive, within the limits of a request."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        fetchers: Fetchers,
        local: Mapping[str, Source],
        around: Mapping[str, Sequence[Callable[[Source], Source]]],
    ) -> None:
        """*local* are the collections of this server; *around* wraps sources, inside first."""
        self._adapters = adapters
        self._fetchers = fetchers
        self._local = local
        self._around = around

    def selection(self, archive: str) -> Mapping[str, object]:
        """Return how *archive* selects among its captures, for /archives."""
        adapter = self._adapters.get(archive)
        return {} if adapter is None else {"selection": adapter.selection}

    def __call__(
        self,
        archive: str,
        context: RequestContext,
        through: Callable[[Fetcher], Fetcher] | None = None,
    ) -> Source:
        """Return the source of *archive*; requests to it pass *through* another layer."""
        source = self._local.get(archive)
        if source is None:
            fetch = self._fetchers.stacks[archive](context)
            fetch = fetch if through is None else through(fetch)
            source = AdapterSource(self._adapters[archive], fetch)
        for wrap in self._around.get(archive, ()):
            source = wrap(source)
        return source


@asynccontextmanager
async def open_fetchers(
    entries: Collection[ArchiveEntry],
    settings: UpstreamSettings,
    surroundings: UpstreamEnvironment | None = None,
) -> AsyncGenerator[Fetchers]:
    """Open a fetcher for each of *entries*, and close all connections at the end."""
    around = surroundings or UpstreamEnvironment()
    breakers = Breakers((entry.id for entry in entries), around.clock, around.chance)
    fetchers = Fetchers(breakers)
    async with AsyncExitStack() as stack:
        hosts = _Hosts(entries, settings, around, stack)
        for entry in entries:
            queue = fetchers.queues[entry.id] = hosts.queue(entry)
            network = around.network(entry) if around.network else hosts.network(entry)
            stacked = _stack(entry, network, queue, breakers, settings, around)
            fetchers.stacks[entry.id] = stacked
            fetchers[entry.id] = stacked(UNLIMITED)
        yield fetchers


def _stack(  # noqa: PLR0913, PLR0917 -- the layers
    entry: ArchiveEntry,
    network: Fetcher,
    queue: RequestQueue,
    breakers: Breakers,
    settings: UpstreamSettings,
    environment: UpstreamEnvironment,
) -> Callable[[RequestContext], Fetcher]:
    """Return the layers that every request to *entry* passes; the only such list."""
    clock, record, archive = environment.clock, environment.record, entry.id
    loop_name = settings.loop_name if entry.aggregator else ""
    guard = Guard(network, archive, breakers, queue, settings.patience, clock, loop_name)

    def stacked(context: RequestContext) -> Fetcher:
        fetch: Fetcher = GuardedFetcher(guard, context)
        if record is not None:
            fetch = logged(fetch, archive, record, clock)
        # The places of a question belong to the searches that wait for it.
        return fetch if context.places is None else placed(fetch, archive, context.places)

    return stacked


class _Hosts:
    """The queue and the connection pool that archives at the same host share."""

    def __init__(
        self,
        entries: Collection[ArchiveEntry],
        settings: UpstreamSettings,
        surroundings: UpstreamEnvironment,
        stack: AsyncExitStack,
    ) -> None:
        self._by_id = {entry.id: entry for entry in entries}
        self._settings = settings
        self._around = surroundings
        self._stack = stack
        self._queues: dict[str, RequestQueue] = {}
        self._connections: dict[tuple[str, bool], Connections] = {}
        self._egresses: dict[tuple[str, bool], list[Egress]] = {}
        self._dialling = self._dialled()

    def queue(self, entry: ArchiveEntry) -> RequestQueue:
        name = _host_of(entry)
        if name not in self._queues:
            host = self._host(entry)
            self._queues[name] = RequestQueue(self._limiter(host), host.limits.at_once)
        return self._queues[name]

    def network(self, entry: ArchiveEntry) -> Fetcher:
        allow_private = entry.id in self._settings.allow_private
        egress = Egress.of(entry, allow_private=allow_private)
        # Not shared between archives that may have private addresses and those that may not.
        key = (_host_of(entry), allow_private)
        self._egresses.setdefault(key, []).append(egress)
        if key not in self._connections:
            self._connections[key] = self._opened(entry, self._egresses[key])
        return HttpFetcher(
            egress,
            self._connections[key],
            self._settings.user_agent,
            self._settings.timeouts,
            self._authorization(entry),
        )

    def _authorization(self, entry: ArchiveEntry) -> tuple[Endpoint, Secret] | None:
        """Return the one endpoint that gets the secret, and the secret (R-26)."""
        secret = self._settings.authorizations.get(entry.id)
        address = next((url for _, url in endpoints(entry)), None)
        parts = None if address is None else target(address)
        return None if secret is None or parts is None else (parts.endpoint, secret)

    def _limiter(self, host: ArchiveEntry) -> RateLimiter:
        if self._around.limiter is not None:
            return self._around.limiter(host)
        return LocalRateLimiter(host.limits, self._around.clock)

    def _opened(self, entry: ArchiveEntry, egresses: list[Egress]) -> Connections:
        def refusal(address: str) -> str | None:
            reasons = [egress.refusal(address) for egress in egresses]
            return None if None in reasons else reasons[0]

        opened = Connections(self._host(entry).limits.at_once, refusal, self._dialling)
        self._stack.push_async_callback(opened.close)
        return opened

    def _host(self, entry: ArchiveEntry) -> ArchiveEntry:
        return self._by_id.get(_host_of(entry), entry)

    def _dialled(self) -> Dialling:
        usual = SystemResolver if self._settings.system_resolver else default_resolver
        limits = self._settings.timeouts
        bounded = BoundedResolver(LazyResolver(self._around.resolver or usual), limits.connect)
        names = DnsCache(bounded, time.monotonic, self._around.addresses)
        self._stack.push_async_callback(names.close)
        tls = self._settings.tls
        trusted = cache(_system_tls) if tls is None else lambda: tls
        return Dialling(names, trusted, bytearray(BUFFER), limits.connect, limits.tls)


@cache
def _version() -> str:
    """Return our version; reading it takes a millisecond, and every archive needs it."""
    return version("timegate-proxy")


def _host_of(entry: ArchiveEntry) -> str:
    return entry.hosted_by or entry.id


def _system_tls() -> ssl.SSLContext:
    """Return a context with the system's certificates; loading takes 20 ms, so on first use."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
