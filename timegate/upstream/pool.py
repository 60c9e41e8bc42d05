"""Builds a `Fetcher` for every archive; the order of wrapping is written here and only here.

    trace -> breaker -> politeness -> network

The breaker stands before politeness, so that a dead archive costs no tokens and no waiting.
Archives that live at the same host (``hosted_by``) share its pool and its politeness, because
the host counts requests, not collections.
"""

import random
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

import aiohttp
from aiohttp.abc import AbstractResolver

from archives.model import ArchiveEntry
from archives.source import Fetcher
from timegate.upstream.breaker import Breakers, breaking
from timegate.upstream.connection import BoundedResolver, SystemResolver, session
from timegate.upstream.egress import Egress
from timegate.upstream.fetcher import AiohttpFetcher, Timeouts, check_parser
from timegate.upstream.politeness import Door, Ledger, LocalLedger, polite
from timegate.upstream.trace import Exchange, traced


@dataclass(frozen=True, slots=True)
class Settings:
    """How archives are asked, as far as it does not depend on the archive."""

    contact: str
    """URL or address where archives reach us; part of the User-Agent."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    patience: float = 2.0
    """How many seconds a request may wait for its turn before it is called off."""
    allow_private: frozenset[str] = frozenset()
    """Archives of the operator's own whose names may lead to private addresses."""
    allow_python_parser: bool = False
    tls: ssl.SSLContext | None = None
    """For archives with certificates of a private authority; None for the system's."""
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
        return f"timegate/{version('timegate-proxy')} (+{self.contact})"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a test or a cluster puts in the place of the real thing."""

    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    resolver: Callable[[], AbstractResolver] | None = None
    ledger: Callable[[ArchiveEntry], Ledger] | None = None
    """The politeness of a host archive; None to count in this process alone."""
    record: Callable[[Exchange], None] | None = None
    """Takes every exchange with every archive."""


class Fetchers(dict[str, Fetcher]):
    """A `Fetcher` for each archive by its id, and how they are."""

    def __init__(self, breakers: Breakers) -> None:
        super().__init__()
        self.breakers = breakers


@asynccontextmanager
async def open_fetchers(
    entries: Collection[ArchiveEntry],
    settings: Settings,
    surroundings: Surroundings | None = None,
) -> AsyncGenerator[Fetchers]:
    """Open what is needed to ask *entries*, and close it at the end."""
    check_parser(allow_python=settings.allow_python_parser)
    around = surroundings or Surroundings()
    breakers = Breakers((entry.id for entry in entries), around.clock, around.chance)
    fetchers = Fetchers(breakers)
    async with AsyncExitStack() as stack:
        houses = _Houses(entries, settings, around, stack)
        for entry in entries:
            fetch = await houses.network(entry)
            fetch = polite(fetch, entry.id, houses.door(entry), settings.patience)
            fetch = breaking(fetch, entry.id, breakers, around.clock)
            if around.record is not None:
                fetch = traced(fetch, entry.id, around.record, around.clock)
            fetchers[entry.id] = fetch
        yield fetchers


class _Houses:
    """What archives at the same host share: the door, and the pool of connections."""

    def __init__(
        self,
        entries: Collection[ArchiveEntry],
        settings: Settings,
        surroundings: Surroundings,
        stack: AsyncExitStack,
    ) -> None:
        self._by_id = {entry.id: entry for entry in entries}
        self._settings = settings
        self._around = surroundings
        self._stack = stack
        self._doors: dict[str, Door] = {}
        self._sessions: dict[tuple[str, bool], aiohttp.ClientSession] = {}
        self._egresses: dict[tuple[str, bool], list[Egress]] = {}
        self._resolver: AbstractResolver | None = None

    def door(self, entry: ArchiveEntry) -> Door:
        house = _house(entry)
        if house not in self._doors:
            host = self._host(entry)
            self._doors[house] = Door(self._ledger(host), host.limits.at_once)
        return self._doors[house]

    async def network(self, entry: ArchiveEntry) -> Fetcher:
        allow_private = entry.id in self._settings.allow_private
        egress = Egress.of(entry, allow_private=allow_private)
        # Not shared between who may go to private addresses and who may not.
        key = (_house(entry), allow_private)
        self._egresses.setdefault(key, []).append(egress)
        if key not in self._sessions:
            self._sessions[key] = await self._open(entry, self._egresses[key])
        return AiohttpFetcher(
            egress, self._sessions[key], self._settings.user_agent, self._settings.timeouts
        )

    def _ledger(self, host: ArchiveEntry) -> Ledger:
        if self._around.ledger is not None:
            return self._around.ledger(host)
        return LocalLedger(host.limits, self._around.clock)

    async def _open(
        self, entry: ArchiveEntry, residents: list[Egress]
    ) -> aiohttp.ClientSession:
        def refusal(address: str) -> str | None:
            reasons = [egress.refusal(address) for egress in residents]
            return None if None in reasons else reasons[0]

        at_once = self._host(entry).limits.at_once
        opened = session(at_once, refusal, self._resolving(), self._settings.tls)
        return await self._stack.enter_async_context(opened)

    def _host(self, entry: ArchiveEntry) -> ArchiveEntry:
        return self._by_id.get(_house(entry), entry)

    def _resolving(self) -> AbstractResolver:
        if self._resolver is None:
            make = self._around.resolver or _resolver(system=self._settings.system_resolver)
            self._resolver = BoundedResolver(make(), self._settings.timeouts.connect)
            self._stack.push_async_callback(self._resolver.close)
        return self._resolver


def _house(entry: ArchiveEntry) -> str:
    return entry.hosted_by or entry.id


def _resolver(*, system: bool) -> Callable[[], AbstractResolver]:
    # Without aiodns, aiohttp would look names up in the threads that do everything else.
    blocking = aiohttp.DefaultResolver is aiohttp.ThreadedResolver
    return SystemResolver if system or blocking else aiohttp.DefaultResolver
