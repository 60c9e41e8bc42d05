"""Requests to originals: any public host, politely, through the stack that archives have.

A host gets a budget, breaker, rate limit and connections of its own, as an archive does: one
request at a time, one a second. What may be requested is decided by the URL (R-1: http and
https, the usual ports, no names of local networks) and again by the address that the socket is
connected to (R-2).
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Final

from archives.addresses import server_of
from archives.errors import Misbehaved
from archives.kinds import MEMENTO
from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Fetcher, Reply, Request
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.upstream.egress import Egress, Endpoint, host_field, target
from timegate.upstream.stack import (
    Fetchers,
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)

ORIGINAL: Final = "original"
"""The id under which originals appear beside archives."""
_PORTS: Final = (80, 443)
_LOCAL_NAMES: Final = (
    *(".local", ".internal", ".onion", ".localhost", ".lan", ".home", ".corp", ".intranet"),
    *(".home.arpa", ".invalid", ".test"),
)
_MOST_HOSTS: Final = 64
_RATE: Final = Rate(1, 1.0)
_LIMITS: Final = Limits(_RATE, _RATE, 1, "one request at a time, one a second")
_OWN_LIMITS: Final = Limits(Rate(10, 1.0, 10), Rate(10, 1.0, 10), 2, "a host of the operator")


def refusal_of(url: str, hosts: Collection[str] = ()) -> str | None:
    """Return why *url* must not be requested; None if it may.

    *hosts* are those that the operator allows, as ``host:port``.
    """
    parts = target(url)
    if parts is None or server_of(url) is None:
        return "is no http(s) URL that all clients read alike"
    _, host, port = parts.endpoint
    if _named(parts.endpoint) in hosts:
        return None
    if port not in _PORTS:
        return f"port {port} is not requested, only 80 and 443"
    if _is_address(host):
        rules = Egress(ORIGINAL, frozenset(), frozenset())
        return rules.refusal(host)
    if "." not in host or host.endswith(_LOCAL_NAMES):
        return f"{host} is a name of a local network"
    return None


def _named(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        # What C libraries read as an address (0x7f.1, 2130706433) must not pass as a name.
        return host.rpartition(".")[2][:1].isdigit()
    return True


@dataclass(slots=True)
class _Site:
    fetchers: Fetchers
    stack: AsyncExitStack
    users: int = 0


@dataclass(slots=True)
class OpenWeb:
    """Fetchers for originals, of a limited number of hosts. Use it as a context manager."""

    settings: UpstreamSettings
    hosts: frozenset[str] = frozenset()
    environment: UpstreamEnvironment | None = None
    _sites: "OrderedDict[Endpoint, _Site]" = field(default_factory=OrderedDict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def close(self) -> None:
        """Close all connections."""
        for site in self._sites.values():
            await site.stack.aclose()
        self._sites.clear()

    def within(self, context: RequestContext) -> Fetcher:
        """Return the fetcher within the limits of a client's request."""

        @asynccontextmanager
        async def fetch(request: Request) -> AsyncGenerator[Reply]:
            async with self._request(request, context) as reply:
                yield reply

        return fetch

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[Reply]:
        """Send *request*, without the limits of a client. Raises ArchiveError."""
        async with self._request(request, UNLIMITED) as reply:
            yield reply

    def request_head(self, url: str) -> str:
        """Return the head of the request that is sent for *url*."""
        parts = target(url)
        if parts is None:
            return ""
        return (
            f"GET {parts.path} HTTP/1.1\r\nHost: {host_field(parts.endpoint)}\r\n"
            f"User-Agent: {self.settings.user_agent}\r\nAccept: */*\r\n"
            "Accept-Encoding: gzip\r\n\r\n"
        )

    @asynccontextmanager
    async def _request(
        self, request: Request, context: RequestContext
    ) -> AsyncGenerator[Reply]:
        why = refusal_of(request.url, self.hosts)
        parts = target(request.url)
        if why is not None or parts is None:
            raise Misbehaved(ORIGINAL, request.url, f"is not requested: {why}")
        site = await self._site(parts.endpoint)
        site.users += 1
        try:
            async with site.fetchers.within(ORIGINAL, context)(request) as reply:
                yield reply
        finally:
            site.users -= 1

    async def _site(self, endpoint: Endpoint) -> _Site:
        async with self._opening:
            site = self._sites.get(endpoint)
            if site is None:
                await self._make_room()
                site = self._sites[endpoint] = await self._opened(endpoint)
            self._sites.move_to_end(endpoint)
            return site

    async def _make_room(self) -> None:
        idle = [each for each, site in self._sites.items() if not site.users]
        for each in idle[: max(0, len(self._sites) - _MOST_HOSTS + 1)]:
            await self._sites.pop(each).stack.aclose()

    async def _opened(self, endpoint: Endpoint) -> _Site:
        is_own = _named(endpoint) in self.hosts
        limits = _OWN_LIMITS if is_own else _LIMITS
        entry = ArchiveEntry(
            ORIGINAL,
            "the original",
            MEMENTO,
            use=True,
            because="",
            access="open",
            limits=limits,
            timegate=f"{endpoint.scheme}://{host_field(endpoint)}/",
        )
        private = frozenset({ORIGINAL}) if is_own else frozenset[str]()
        settings = replace(self.settings, allow_private=private, authorizations={})
        stack = AsyncExitStack()
        fetchers = await stack.enter_async_context(
            open_fetchers([entry], settings, self.environment)
        )
        return _Site(fetchers, stack)


@asynccontextmanager
async def open_web(
    settings: UpstreamSettings,
    hosts: Collection[str] = (),
    environment: UpstreamEnvironment | None = None,
) -> AsyncGenerator[OpenWeb]:
    """Open the web, and close all connections at the end."""
    web = OpenWeb(settings, frozenset(hosts), environment)
    try:
        yield web
    finally:
        await web.close()
