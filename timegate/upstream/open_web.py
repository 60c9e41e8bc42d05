"""Requests to originals: any public host, politely, through the stack that archives have.

A host gets a budget, breaker, rate limit and connections of its own, as an archive does: one
request at a time, one a second. What may be requested is decided by the URL (R-1: http and
https, the usual ports, no names of local networks) and again by the address that the socket is
connected to (R-2).
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import ip_address
from typing import Final, Literal
from weakref import WeakValueDictionary

from cachetools import TTLCache

from archives.addresses import downgrades, server_of
from archives.errors import ArchiveError, Misbehaved, Refused
from archives.formats.linkformat import resolved
from archives.kinds import MEMENTO
from archives.kinds import ORIGINAL as ORIGINALS
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from archives.negotiation import REDIRECTS
from archives.source import Fetcher, Reply, Request
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import LiveOriginal, Preferences, Query
from timegate.upstream.egress import Egress, Endpoint, host_field, target
from timegate.upstream.stack import (
    Fetchers,
    UpstreamEnvironment,
    UpstreamSettings,
    open_fetchers,
)

ORIGINAL: Final = ORIGINALS.name
"""The id under which originals appear beside archives."""
_PORTS: Final = (80, 443)
_LOCAL_NAMES: Final = (
    *(".local", ".internal", ".onion", ".localhost", ".lan", ".home", ".corp", ".intranet"),
    *(".home.arpa", ".invalid", ".test"),
)
_MOST_HOSTS: Final = 64
_RATE: Final = Rate(1, 1.0)
_LIMITS: Final = Limits(_RATE, _RATE, 1, "one request at a time, one a second")
_IN_A_ROW: Final = Rate(1, 1.0, 4)
QUESTION_LIMITS: Final = Limits(_IN_A_ROW, _IN_A_ROW, 1, "one a second, four in a row")
"""For questions about one page, of which a TimeGate needs a few at once."""
_OWN_LIMITS: Final = Limits(Rate(10, 1.0, 10), Rate(10, 1.0, 10), 2, "a host of the operator")
_MOST_REDIRECTS: Final = 5
_FINAL: Final = frozenset({404, 410, 429, 503})
"""Errors in answer to HEAD after which GET is not tried."""
_KNOWN_FOR: Final = 10.0
"""Seconds for which an original that was requested is not requested again."""
_MOST_KNOWN: Final = 1024


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
    limits: Limits = _LIMITS
    """Of each public host."""
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
        limits = _OWN_LIMITS if is_own else self.limits
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
    limits: Limits = _LIMITS,
) -> AsyncGenerator[OpenWeb]:
    """Open the web, and close all connections at the end."""
    web = OpenWeb(settings, frozenset(hosts), environment, limits)
    try:
        yield web
    finally:
        await web.close()


class OriginalStates:
    """Whether originals answer now, for identifiers with an empty date (D-7).

    One request, with the redirects after it, within a few seconds; no body is read. It is made
    on behalf of a person and not by a crawler, so robots.txt is not requested before it. What
    was seen is kept for some seconds, and concurrent questions about one URL are asked once.
    """

    def __init__(
        self,
        web: OpenWeb,
        clock: Callable[[], datetime],
        patience: float,
        refused: Callable[[str], str | None],
    ) -> None:
        """*refused* says why an original must not be requested, or None."""
        self._web = web
        self._clock = clock
        self._patience = patience
        self._refused = refused
        self._known: TTLCache[str, LiveOriginal] = TTLCache(_MOST_KNOWN, _KNOWN_FOR)
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> LiveOriginal | None:
        """Request the original; None if a memento is wanted, or it must not be requested."""
        url = query.original
        is_memento = (
            preferences.archives is not None
            or preferences.precision != "any"
            or preferences.quote is not None
            or query.quote is not None
            or preferences.verify in ("page", "content")
            or preferences.only_if_cached
        )
        if is_memento or self._refused(url) is not None:
            return None
        lock = self._asking.setdefault(url, asyncio.Lock())
        async with lock:
            known = None if preferences.no_cache else self._known.get(url)
            return known or await self._charged(url, context)

    async def _charged(self, url: str, context: RequestContext) -> LiveOriginal:
        if context.quota is None:
            return await self._noted(url, context)
        charge = await context.quota.charge(url)
        try:
            if not charge.granted:
                why = "was not requested: the quota of the client is used up"
                return LiveOriginal(url, Moment.of(self._clock()), None, why)
            charge.use()
            return await self._noted(url, context)
        finally:
            charge.settle()

    async def _noted(self, url: str, context: RequestContext) -> LiveOriginal:
        """Request the original, and keep what was seen."""
        self._known[url] = found = await self._state(url, context)
        return found

    async def _state(self, url: str, context: RequestContext) -> LiveOriginal:
        began = Moment.of(self._clock())
        try:
            async with asyncio.timeout(self._patience):
                status = await self._followed(url, self._web.within(context))
        except TimeoutError:
            why = f"did not answer within {self._patience:g} s"
            return LiveOriginal(url, began, None, why)
        except ArchiveError as error:
            return LiveOriginal(url, began, None, error.why)
        is_page = 200 <= status <= 299
        return LiveOriginal(url, began, status, "" if is_page else f"answers {status}")

    async def _followed(self, url: str, fetch: Fetcher) -> int:
        """Return the status of the original, after its redirects. Raises ArchiveError."""
        for _ in range(_MOST_REDIRECTS + 1):
            status, following = await self._status("HEAD", url, fetch)
            if status >= 400 and status not in _FINAL:
                # A server may have no HEAD, or another answer to it.
                status, following = await self._status("GET", url, fetch)
            if following is None:
                return status
            if downgrades(url, following):
                raise Misbehaved(ORIGINAL, url, "redirects from https to http")
            if self._refused(following) is not None:
                raise Misbehaved(ORIGINAL, url, "redirects to what must not be requested")
            url = following
        raise Misbehaved(ORIGINAL, url, f"redirects more than {_MOST_REDIRECTS} times")

    async def _status(
        self, method: Literal["HEAD", "GET"], url: str, fetch: Fetcher
    ) -> tuple[int, str | None]:
        """Return the status, and where a redirect leads."""
        try:
            async with fetch(Request(method, url, "memento")) as reply:
                if reply.status not in REDIRECTS:
                    return reply.status, None
                stated = reply.headers.get("location", "").strip()
                following = resolved(stated, url) if stated else None
                if following is None:
                    raise Misbehaved(ORIGINAL, url, "redirects to no address")
                return reply.status, following.partition("#")[0]
        except Refused as error:
            return error.status, None
