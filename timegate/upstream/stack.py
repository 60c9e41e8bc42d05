"""Builds a `Fetcher` for every archive; the order of wrapping is written here and only here.

    trace -> breaker -> politeness -> network

The breaker stands before politeness, so that a dead archive costs no tokens and no waiting.
Archives that live at the same host (``hosted_by``) share its pool and its politeness, because
the host counts requests, not collections.
"""

import random
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

import aiohttp
from aiohttp.abc import AbstractResolver

from archives.model import ArchiveEntry
from archives.registry import endpoints
from archives.source import Fetcher
from timegate.config.secrets import Secret
from timegate.upstream.breaker import Breakers, breaking
from timegate.upstream.connection_pool import Connections, Dialling
from timegate.upstream.dns import AddressBook, BoundedResolver, DnsCache, SystemResolver
from timegate.upstream.egress import Egress, Endpoint, target
from timegate.upstream.exchange_log import UpstreamExchange, logged
from timegate.upstream.http1 import BUFFER
from timegate.upstream.http_client import HttpFetcher, Timeouts
from timegate.upstream.rate_limit import (
    LocalRateLimiter,
    RateLimiter,
    RequestQueue,
    rate_limited,
)


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """How archives are asked, as far as it does not depend on the archive."""

    contact: str
    """URL or address where archives reach us; part of the User-Agent."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    patience: float = 2.0
    """How many seconds a request may wait for its turn before it is called off."""
    allow_private: frozenset[str] = frozenset()
    """Archives of the operator's own whose names may lead to private addresses."""
    tls: ssl.SSLContext | None = None
    """For archives with certificates of a private authority; None for the system's."""
    authorizations: Mapping[str, Secret] = field(default_factory=dict)
    """What is sent as Authorization, by archive."""
    system_resolver: bool = False
    """Resolve names as the operating system does, for mDNS and the like, not by c-ares."""

    def __post_init__(self) -> None:
        if not (self.contact.isascii() and self.contact.isprintable() and self.contact):
            raise ValueError("the contact must be a URL or an address in printable ASCII")
        if not self.patience >= 0:
            raise ValueError("patience must be 0 seconds or more")

    @property
    def user_agent(self) -> str:
        """Who we are, honestly: R14."""
        return f"timegate/{_version()} (+{self.contact})"


@dataclass(frozen=True, slots=True)
class UpstreamEnvironment:
    """What a test or a cluster puts in the place of the real thing."""

    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    resolver: Callable[[], AbstractResolver] | None = None
    ledger: Callable[[ArchiveEntry], RateLimiter] | None = None
    """The politeness of a host archive; None to count in this process alone."""
    record: Callable[[UpstreamExchange], None] | None = None
    """Takes every exchange with every archive."""
    addresses: AddressBook | None = None
    """What is known of names already; None to begin with nothing."""


class Fetchers(dict[str, Fetcher]):
    """A `Fetcher` for each archive by its id, and how they are."""

    def __init__(self, breakers: Breakers) -> None:
        super().__init__()
        self.breakers = breakers
        self.doors: dict[str, RequestQueue] = {}
        """Where requests to each archive wait."""


@asynccontextmanager
async def open_fetchers(
    entries: Collection[ArchiveEntry],
    settings: UpstreamSettings,
    surroundings: UpstreamEnvironment | None = None,
) -> AsyncGenerator[Fetchers]:
    """Open what is needed to ask *entries*, and close it at the end."""
    around = surroundings or UpstreamEnvironment()
    breakers = Breakers((entry.id for entry in entries), around.clock, around.chance)
    fetchers = Fetchers(breakers)
    async with AsyncExitStack() as stack:
        houses = _Houses(entries, settings, around, stack)
        for entry in entries:
            fetch = houses.network(entry)
            door = fetchers.doors[entry.id] = houses.door(entry)
            fetch = rate_limited(fetch, entry.id, door, settings.patience)
            fetch = breaking(fetch, entry.id, breakers, around.clock)
            if around.record is not None:
                fetch = logged(fetch, entry.id, around.record, around.clock)
            fetchers[entry.id] = fetch
        yield fetchers


class _Houses:
    """What archives at the same host share: the door, and the pool of connections."""

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
        self._doors: dict[str, RequestQueue] = {}
        self._connections: dict[tuple[str, bool], Connections] = {}
        self._egresses: dict[tuple[str, bool], list[Egress]] = {}
        self._dialling = self._dialled()

    def door(self, entry: ArchiveEntry) -> RequestQueue:
        house = _house(entry)
        if house not in self._doors:
            host = self._host(entry)
            self._doors[house] = RequestQueue(self._ledger(host), host.limits.at_once)
        return self._doors[house]

    def network(self, entry: ArchiveEntry) -> Fetcher:
        allow_private = entry.id in self._settings.allow_private
        egress = Egress.of(entry, allow_private=allow_private)
        # Not shared between who may go to private addresses and who may not.
        key = (_house(entry), allow_private)
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
        """Return the one origin that gets a secret, and the secret (R26)."""
        secret = self._settings.authorizations.get(entry.id)
        address = next((url for _, url in endpoints(entry)), None)
        parts = None if address is None else target(address)
        return None if secret is None or parts is None else (parts.endpoint, secret)

    def _ledger(self, host: ArchiveEntry) -> RateLimiter:
        if self._around.ledger is not None:
            return self._around.ledger(host)
        return LocalRateLimiter(host.limits, self._around.clock)

    def _opened(self, entry: ArchiveEntry, residents: list[Egress]) -> Connections:
        def refusal(address: str) -> str | None:
            reasons = [egress.refusal(address) for egress in residents]
            return None if None in reasons else reasons[0]

        opened = Connections(self._host(entry).limits.at_once, refusal, self._dialling)
        self._stack.push_async_callback(opened.close)
        return opened

    def _host(self, entry: ArchiveEntry) -> ArchiveEntry:
        return self._by_id.get(_house(entry), entry)

    def _dialled(self) -> Dialling:
        make = self._around.resolver or _resolver(system=self._settings.system_resolver)
        limits = self._settings.timeouts
        bounded = BoundedResolver(make(), limits.connect)
        names = DnsCache(bounded, time.monotonic, self._around.addresses)
        self._stack.push_async_callback(names.close)
        tls = self._settings.tls
        trusted = cache(_system_tls) if tls is None else lambda: tls
        return Dialling(names, trusted, bytearray(BUFFER), limits.connect, limits.tls)


@cache
def _version() -> str:
    """Read it once: it takes a millisecond, and every archive asks for it."""
    return version("timegate-proxy")


def _house(entry: ArchiveEntry) -> str:
    return entry.hosted_by or entry.id


def _system_tls() -> ssl.SSLContext:
    """Return what the system trusts; loading it takes some 20 ms, so not before it is used."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _resolver(*, system: bool) -> Callable[[], AbstractResolver]:
    # Without aiodns, aiohttp would look names up in the threads that do everything else.
    blocking = aiohttp.DefaultResolver is aiohttp.ThreadedResolver
    return SystemResolver if system or blocking else aiohttp.DefaultResolver
