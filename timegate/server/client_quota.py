"""Limits for clients: their addresses, their quota of questions to archives, and rejections.

The Internet Archive allows 24 lists a minute for the whole server: a client that requests ten
thousand random URLs would leave nothing to the others. So each client has a quota of questions
that need public archives (R-11, R-14). Cached answers are free, and so are the operator's own
archives: beyond the quota these still answer, and the response names the archives that were
not queried.
"""

import asyncio
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, Protocol

from aiohttp import web
from cachetools import LRUCache

from timegate.access.networks import UNKNOWN, Networks, Restrictions, household, read_address
from timegate.event_loop import FairTurns
from timegate.responses.model import Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.concurrency_limit import (
    EXEMPT,
    ConcurrencyLimit,
    OctetLimit,
    Rejection,
    RequestPlaces,
    UpstreamLimit,
)

_MOST_CLIENTS: Final = 65_536
"""Some 10 MB. A client that is evicted starts again with a full quota."""


class ClientQuotas:
    """A token bucket for each client."""

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


class ClientQuota:
    """The quota of one client during one request."""

    __slots__ = ("_charged", "_client", "_patient", "_quotas", "retry_after")

    def __init__(self, client: str, quotas: ClientQuotas, *, patient: bool = False) -> None:
        """*patient*: beyond the quota, `charge` waits; for batches of many questions."""
        self._client = client
        self._quotas = quotas
        self._patient = patient
        self._charged: set[str] = set()
        self.retry_after: float | None = None
        """Seconds until more is allowed; None if nothing was refused."""

    async def charge(self, original: str) -> "QuotaCharge":
        """Charge for questions about *original*, once in a request, if the quota allows.

        In advance, so that a hundred concurrent questions cost a hundred.
        """
        if original in self._charged:
            return QuotaCharge(granted=True)
        while wait := self._quotas.take(self._client):
            if not self._patient:
                self.retry_after = wait
                return QuotaCharge(granted=False)
            await asyncio.sleep(wait)
        self._charged.add(original)
        return QuotaCharge(granted=True, refund=partial(self._refund, original))

    def _refund(self, original: str) -> None:
        self._charged.discard(original)
        self._quotas.give_back(self._client)


class QuotaCharge:
    """The charge for one question; returned if no public archive had to be queried."""

    __slots__ = ("_refund", "_used", "granted")

    def __init__(self, *, granted: bool, refund: Callable[[], None] | None = None) -> None:
        self.granted = granted
        self._refund = refund
        self._used = False

    def use(self) -> None:
        """Note that a public archive is queried."""
        self._used = True

    def settle(self) -> None:
        """Return an unused charge to the quota."""
        if self._refund is not None and not self._used:
            self._refund()


_MOST_HOPS: Final = 16
_FOR: Final = re.compile(r'(?:^|[;\s])for="?([^";,\s]++)', re.IGNORECASE)


class Fields(Protocol):
    """Header fields of a request."""

    def getall(self, name: str, default: Sequence[str], /) -> Sequence[str]: ...


class ClientAddresses:
    """Determines the addresses of clients, also behind trusted proxies."""

    def __init__(self, trusted: Networks, header: str = "X-Forwarded-For") -> None:
        self._trusted = trusted
        self._header = header

    def address(self, peer: object, fields: Fields) -> str:
        """Return the address of the client; *peer* is the peer name of the socket."""
        client = peer_address(peer)
        if not self._trusted.holds(client):
            return client
        for forwarded in self._forwarded(fields):
            if forwarded is None:
                # Hidden or unreadable: only the address of the next proxy is known.
                return client
            client = forwarded
            if not self._trusted.holds(client):
                return client
        return client

    def _forwarded(self, fields: Fields) -> Iterator[str | None]:
        """Yield the addresses in the header field, the last hop first."""
        hops = ",".join(fields.getall(self._header, ())).split(",")
        for hop in hops[: -_MOST_HOPS - 1 : -1]:
            yield _read(_forwarded_for(hop) if self._header == "Forwarded" else hop.strip())


def peer_address(peer: object) -> str:
    """Return the address in the peer name of a socket; a Unix socket has none."""
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


FREE: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are answered under any load: monitoring needs them, and they cost nothing."""
UNCOUNTED: Final = frozenset({"/monitor", "/events"})
"""Paths of event streams: open for hours and idle, they count as connections only."""
_UNLIMITED: Final = FREE | UNCOUNTED
_STARTS_PER_TURN: Final = 16
"""Requests that are started in one iteration of the event loop: some 8 ms for cold ones."""
_PIPELINED_PER_TURN: Final = 4
"""Pipelined requests that are handled in one iteration of the event loop: 0.5 ms if cached.
300 connections with a pipeline each would be 30 ms, in which nothing else is served."""
_LONG_TURN: Final = 0.001
"""Seconds. Not all are cached, and parts of lists take long: then fewer are handled at once."""
_CHUNKS_PER_TURN: Final = 2
"""Parts of streamed responses that are made in one iteration of the event loop."""
_LISTS: Final = ("/timemap/", "/cdx")
"""Paths with long bodies: if no more streams are allowed, no archive is queried for them."""
_DETAILS: Final = {
    "full": "the server is handling as many requests as it can; try again shortly",
    "share": "you have too many requests in progress; wait for their responses",
    "archive": "too many requests wait for the archives of this one; try again shortly",
    "cold": (
        "you have used up your quota of requests to public archives; cached answers are still "
        "available, everything else in {wait} seconds"
    ),
}


class Client(NamedTuple):
    """The client of a request."""

    address: str
    key: str
    """The key by which the client is counted; `EXEMPT` for a client without limits."""


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The limits of a server for its clients."""

    concurrency: ConcurrencyLimit | None = None
    quotas: ClientQuotas | None = None
    addresses: ClientAddresses = field(default_factory=lambda: ClientAddresses(Networks()))
    exempt: Networks = field(default_factory=Networks)
    count: Callable[[str], None] = lambda _: None
    """Counts a rejected request by its reason."""
    restrictions: Restrictions = field(default_factory=Restrictions)
    streams: ConcurrencyLimit | None = None
    """Limits the long responses that are being sent."""
    blocked_status: int = 451
    base_url: str = ""
    upstream: UpstreamLimit | None = None
    """Limits the requests that wait for remote archives."""
    remote: frozenset[str] = frozenset()
    """The remote archives."""
    make_room: Callable[[], bool] = lambda: False
    """Ends a response that makes no progress, for a new one; False if there is none."""
    bodies: ConcurrencyLimit | None = None
    """Limits the bodies of requests that are being received."""
    octets: OctetLimit | None = None
    """Limits the octets of whole responses that are being sent."""
    starts: FairTurns = field(default_factory=lambda: FairTurns(_STARTS_PER_TURN))
    pipelined: FairTurns = field(
        default_factory=lambda: FairTurns(_PIPELINED_PER_TURN, _LONG_TURN)
    )
    """Turns of requests that the client sent without waiting for the response before."""
    chunks: FairTurns = field(default_factory=lambda: FairTurns(_CHUNKS_PER_TURN, _LONG_TURN))
    """Turns of the parts of streamed responses: making one may take some milliseconds."""

    def client(self, request: web.BaseRequest) -> Client:
        """Return the client of *request*."""
        transport = request.transport
        peer = None if transport is None else transport.get_extra_info("peername")
        address = self.addresses.address(peer, request.headers)
        return Client(address, EXEMPT if self.exempt.holds(address) else household(address))

    async def enter(self, client: Client, target: str) -> Response | None:
        """Start a request; return the rejection if it may not start, else `leave` follows."""
        if self.concurrency is None:
            return None
        if _is_unlimited(target):
            # Event streams take no place, but 300 that start together take turns.
            if target.partition("?")[0] not in FREE:
                await self.starts.enter()
            return None
        if target.startswith(_LISTS) and self._no_room():
            return self._rejected(Rejection("full"))
        await self.starts.enter()
        rejection = await self.concurrency.enter(client.key)
        return None if rejection is None else self._rejected(rejection)

    def leave(self, client: Client, target: str) -> None:
        """End a request."""
        if self.concurrency is not None and not _is_unlimited(target):
            self.concurrency.leave(client.key)

    def _no_room(self) -> bool:
        """Whether no long response could be sent; tries to make room for one."""
        return self.streams is not None and self.streams.free <= 0 and not self.make_room()

    def places(self, client: Client, target: str, *, patient: bool) -> RequestPlaces | None:
        """Return the places of a request that has entered; its end is `RequestPlaces.answered`.

        None if there is no limit: then `leave` ends the request.
        """
        if self.upstream is None or _is_unlimited(target):
            return None
        leave = partial(self.leave, client, target)
        return RequestPlaces(self.upstream, client.key, self.remote, leave, patient=patient)

    def within_places(
        self, response: Response | StreamingResponse, places: RequestPlaces
    ) -> Response | StreamingResponse:
        """Return *response*, or the rejection where it failed for lack of a place."""
        rejection = places.rejection
        if places.busy and not places.waited:
            rejection = rejection or Rejection("archive")
        if rejection is None:
            return response
        if isinstance(response, StreamingResponse) or response.status < 500:
            return response
        return self._rejected(rejection, _copied(response, "Vary", "Link"))

    async def enter_stream(self, client: Client, target: str) -> Response | None:
        """Start to send a long response; return the rejection if it may not start."""
        if self.streams is None or _is_unlimited(target):
            return None
        if self.streams.free <= 0:
            self.make_room()
        rejection = await self.streams.enter(client.key)
        return None if rejection is None else self._rejected(rejection)

    def leave_stream(self, client: Client, target: str) -> None:
        """End the sending of a long response."""
        if self.streams is not None and not _is_unlimited(target):
            self.streams.leave(client.key)

    async def enter_octets(self, octets: int) -> Response | None:
        """Start to send a whole body; return the rejection if it may not start."""
        if self.octets is None:
            return None
        if not self.octets.fits(octets):
            self.make_room()
        rejection = await self.octets.enter(octets)
        return None if rejection is None else self._rejected(rejection)

    def leave_octets(self, octets: int) -> None:
        """End the sending of a whole body."""
        if self.octets is not None:
            self.octets.leave(octets)

    async def enter_body(self, client: Client) -> Response | None:
        """Start to receive a body; return the rejection if it may not start."""
        rejection = None if self.bodies is None else await self.bodies.enter(client.key)
        return None if rejection is None else self._rejected(rejection)

    def leave_body(self, client: Client) -> None:
        """End the receiving of a body."""
        if self.bodies is not None:
            self.bodies.leave(client.key)

    def quota(self, client: Client, *, patient: bool) -> ClientQuota | None:
        """Return the quota of *client* for one request; None for no limit.

        *patient*: beyond the quota, questions wait instead of being refused.
        """
        if self.quotas is None or client.key == EXEMPT:
            return None
        return ClientQuota(client.key, self.quotas, patient=patient)

    def within_quota(
        self, response: Response | StreamingResponse, quota: ClientQuota | None
    ) -> Response | StreamingResponse:
        """Return *response*, or 429 where it failed because the quota was used up."""
        if (
            quota is None
            or quota.retry_after is None
            or isinstance(response, StreamingResponse)
        ):
            return response
        if response.status < 500:
            return response
        self.count("cold")
        wait = max(1, math.ceil(quota.retry_after))
        detail = _DETAILS["cold"].format(wait=wait)
        headers = _copied(response, "Vary", "Link") | {"Retry-After": str(wait)}
        return problem(429, "too-busy", detail, headers=headers)

    def blocked(self, response: Response | StreamingResponse) -> Response | StreamingResponse:
        """Return the response for a blocked URL (RFC 7725) instead of an error."""
        if isinstance(response, StreamingResponse) or response.status < 400:
            return response
        self.count("denied")
        detail = "the operator of this server has blocked this URL"
        headers = _copied(response, "Vary")
        if self.base_url:
            headers["Link"] = f'<{self.base_url}/about>; rel="blocked-by"'
        return problem(self.blocked_status, "not-found", detail, headers=headers)

    def private(
        self, response: Response | StreamingResponse, client: Client
    ) -> Response | StreamingResponse:
        """Return *response*, marked as private if the client sees restricted archives."""
        if not self.restrictions.shared_with(client.address):
            return response
        caching = response.headers.get("Cache-Control", "")
        if "no-store" in caching:
            return response
        caching = ", ".join(filter(None, ("private", caching)))
        return replace(response, headers={**response.headers, "Cache-Control": caching})

    def _rejected(
        self, rejection: Rejection, headers: Mapping[str, str] | None = None
    ) -> Response:
        self.count(rejection.reason)
        return problem(
            429 if rejection.reason == "share" else 503,
            "too-busy",
            _DETAILS[rejection.reason],
            headers={**(headers or {}), "Retry-After": str(rejection.retry_after)},
        )


def _is_unlimited(target: str) -> bool:
    return target.startswith("/static/") or target.partition("?")[0] in _UNLIMITED


def _copied(response: Response, *names: str) -> dict[str, str]:
    return {name: response.headers[name] for name in names if name in response.headers}
