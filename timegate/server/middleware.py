"""Middleware: the one ordered list of layers that every request passes through.

Routes are found by prefix on the raw target: a router would decode and merge characters of
identifiers (``%2F``, ``//``).
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlsplit

from aiohttp import web

from timegate.access.loops import FIELD, BadLoopField, Loop, checked, name_of
from timegate.observability.logs import Access
from timegate.observability.tracing import Trace
from timegate.resolution.context import Places, RequestContext, TimeBudget
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    PostHandler,
    Response,
    StreamingResponse,
    WriteHandler,
)
from timegate.responses.problems import PROBLEM_TYPE, problem
from timegate.server.client_quota import Client, ClientLimits, ClientQuota
from timegate.server.connection_limit import (
    COMMON,
    SHORT,
    ServerConnection,
    body_of,
    deliver,
    send,
    with_all_fields,
)
from timegate.server.response_cache import (
    ResponseCache,
    key_of,
    repeated_times,
    wants_part,
)

ProblemPage = Callable[[str | None, Response], Response]
"""Turns a problem into a page, if a client that sent this ``Accept`` prefers one."""
Observe = Callable[[str, int, float], None]
"""Counts a response by its route, its status and the seconds it took."""
_READS: Final = ("GET", "HEAD")
_WRITES: Final = ("PUT", "POST")
_PREFLIGHT: Final = Response(
    204,
    {
        **COMMON,
        "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
        "Access-Control-Allow-Headers": (
            "Accept-Datetime, Accept-Datetime-Precise, Prefer, Cache-Control, Content-Type"
        ),
        "Access-Control-Max-Age": "86400",
        "Allow": "GET, HEAD, OPTIONS",
    },
)
_STORE_ALLOW: Final = "GET, HEAD, OPTIONS, PUT, POST"
# Scripts of other origins may read, and not write.
_STORE_OPTIONS: Final = replace(
    _PREFLIGHT, headers={**_PREFLIGHT.headers, "Allow": _STORE_ALLOW}
)
_POST_OPTIONS: Final = replace(
    _PREFLIGHT, headers={**_PREFLIGHT.headers, "Allow": "GET, HEAD, OPTIONS, POST"}
)
_ARCHIVED: Final = re.compile(
    r"/collections/|/memento/proxy/|/web/[0-9]{14}(?:id|if|im|js|cs)_/|/(?:view|reconstruct)/[0-9]{4,23}-"
)
"""Paths with archived bytes."""
_PROXIED: Final = ("http://", "https://")
"""Targets of forward proxying."""
_AT_BOTH_ORIGINS: Final = ("/healthz", "/readyz")


class Incoming:
    """A request on its way through the middleware."""

    __slots__ = (
        "_client",
        "_limits",
        "blocked",
        "body",
        "hidden",
        "passed",
        "places",
        "quota",
        "redis_time",
        "request",
        "route",
        "target",
    )

    def __init__(self, request: web.BaseRequest, target: str, limits: ClientLimits) -> None:
        self.request = request
        self.target = target
        self.route = ""
        """Set by `handled`."""
        self.body = b""
        self.hidden: frozenset[str] = frozenset()
        self.quota: ClientQuota | None = None
        self.redis_time: TimeBudget | None = None
        self.blocked: list[str] | None = None
        self.places: Places | None = None
        self.passed = ""
        self._limits = limits
        self._client: Client | None = None

    @property
    def context(self) -> RequestContext:
        """What the layers so far have set, for a handler."""
        return RequestContext(
            self.hidden,
            self.quota,
            redis_time=self.redis_time,
            blocked=self.blocked,
            places=self.places,
            passed=self.passed,
        )

    @property
    def client(self) -> Client:
        """The client, determined on first use."""
        if self._client is None:
            self._client = self._limits.client(self.request)
        return self._client


Outgoing = Response | StreamingResponse
Next = Callable[[Incoming], Awaitable[Outgoing]]


class Middleware(Protocol):
    """What every request passes through: it answers, or calls the next."""

    def __call__(self, incoming: Incoming, call_next: Next) -> Awaitable[Outgoing]: ...


@dataclass(frozen=True, slots=True)
class Routes:
    """The handlers: of exact paths, of prefixes, of anything else, and of POST requests."""

    exact: Mapping[str, Handler]
    prefixes: Mapping[str, Handler]
    otherwise: Handler
    posts: Mapping[str, PostHandler] = field(default_factory=dict)
    writes: Mapping[str, WriteHandler] = field(default_factory=dict)
    """The handlers of PUT and POST requests, by prefix."""

    def find_write(self, target: str) -> tuple[WriteHandler, str] | None:
        """Return the handler for writes at *target*, and the rest of the target."""
        for prefix, handler in self.writes.items():
            if target.startswith(prefix):
                return handler, target[len(prefix) :]
        return None

    def find(self, target: str) -> tuple[str, Handler, str]:
        """Return the route of *target*, its handler, and the rest of the target."""
        for prefix, handler in self.prefixes.items():
            if target.startswith(prefix):
                return prefix, handler, target[len(prefix) :]
        path, mark, query = target.partition("?")
        exact = self.exact.get(path)
        if exact is not None:
            return path, exact, mark + query
        return "/{identifier}", self.otherwise, target.removeprefix("/")


class Dispatch:
    """Answers requests: the middleware, the handler, and sending the response."""

    def __init__(  # noqa: PLR0913 -- what the middleware needs
        self,
        routes: Routes,
        limits: ClientLimits | None = None,
        *,
        observe: Observe = lambda _route, _status, _seconds: None,
        log: Callable[[Access], None] | None = None,
        trace: Trace | None = None,
        base_url: str = "",
        replay_url: str | None = None,
        problem_page: ProblemPage | None = None,
        uses_redis: bool = False,
    ) -> None:
        """*base_url* is our own address: it may precede a target (RFC 9112 3.2.2)."""
        self.routes = routes
        self._limits = limits or ClientLimits()
        self._log = log
        self._own = f"{base_url}/"
        layers = middleware(
            self._limits,
            routes,
            observe,
            trace,
            replay_url,
            problem_page,
            uses_redis=uses_redis,
            base_url=base_url,
        )
        self._handle = chained(layers, partial(handled, routes))

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass *request* through the middleware, and send the response."""
        connection = request.protocol
        if isinstance(connection, ServerConnection) and connection.has_more:
            await self._limits.pipelined.enter()
        incoming = Incoming(request, self._target(request), self._limits)
        began = 0.0 if self._log is None else time.perf_counter()
        response = await self._handle(incoming)
        if isinstance(response, Response) and len(response.body) <= SHORT:
            # aiohttp sends it when this returns.
            sent: web.StreamResponse = send(response)
        else:
            sent = await self._send_long(incoming, response)
        if self._log is None:
            return sent
        route, _, _ = self.routes.find(incoming.target)
        seconds, address = time.perf_counter() - began, incoming.client.address
        access = Access(request.method, route, incoming.target, sent.status, seconds, address)
        self._log(access)
        return sent

    async def _send_long(self, incoming: Incoming, response: Outgoing) -> web.StreamResponse:
        """Send a long response, within a limit of its own: slow readers block nothing.

        No place among the requests is held by now.
        """
        client, target = incoming.client, incoming.target
        async with AsyncExitStack() as stack:
            if isinstance(response, StreamingResponse):
                stack.push_async_callback(response.chunks.aclose)
            rejection = await self._limits.enter_stream(client, target)
            if rejection is not None:
                return send(rejection)
            stack.callback(self._limits.leave_stream, client, target)
            if isinstance(response, Response):
                rejection = await self._limits.enter_octets(len(response.body))
                if rejection is not None:
                    return send(rejection)
                stack.callback(self._limits.leave_octets, len(response.body))
            return await deliver(incoming.request, response, self._limits.chunks)

    def _target(self, request: web.BaseRequest) -> str:
        target = request.raw_path
        if target.startswith("/"):
            return target
        scheme, colon, rest = target.partition(":")
        target = scheme.lower() + colon + rest
        if target.startswith(self._own):
            return target[len(self._own) - 1 :]
        # An identifier is an absolute URI, and may be a target as it is (RFC 9112 3.2.2).
        return target if target.startswith(_PROXIED) else f"/{target}"


def middleware(  # noqa: PLR0913, PLR0917 -- the parts of the layers
    limits: ClientLimits,
    routes: Routes,
    observe: Observe,
    trace: Trace | None,
    replay_url: str | None,
    problem_page: ProblemPage | None,
    *,
    uses_redis: bool,
    base_url: str = "",
) -> Sequence[Middleware]:
    """Return the layers that every request passes through, the outermost first.

    Layers that the configuration does not need are left out.
    """
    layers: list[Middleware | None] = [
        loops(base_url) if base_url else None,
        restricted_archives(limits) if limits.restrictions else None,
        None if replay_url is None else replay_origin(replay_url),
        response_cache(ResponseCache()),
        request_body(limits, routes),
        concurrency_limit(limits),
        client_quota(limits),
        other_methods(routes),
        private_responses(limits) if limits.restrictions else None,
        blocklist(limits),
        redis_time_limit if uses_redis else None,
        metrics(observe),
        None if trace is None else tracing(routes, trace),
        None if problem_page is None else html_problems(problem_page),
    ]
    return [layer for layer in layers if layer is not None]


def chained(layers: Sequence[Middleware], handler: Next) -> Next:
    """Return *handler* inside *layers*, the first of which is the outermost."""
    for layer in reversed(layers):
        handler = partial(layer, call_next=handler)
    return handler


def loops(base_url: str) -> Middleware:
    """Refuse requests that this server has caused itself, by way of another aggregator."""
    own = name_of(base_url)

    def refuse(incoming: Incoming, call_next: Next) -> Awaitable[Outgoing]:
        if FIELD in incoming.request.headers:
            return check(incoming, call_next)
        return call_next(incoming)

    async def check(incoming: Incoming, call_next: Next) -> Outgoing:
        values = incoming.request.headers.getall(FIELD)
        try:
            incoming.passed = checked(", ".join(values), own)
        except BadLoopField as error:
            return problem(400, "bad-parameter", f"{FIELD} cannot be read: {error}")
        except Loop as error:
            return problem(508, "loop", str(error))
        return await call_next(incoming)

    return refuse


def restricted_archives(limits: ClientLimits) -> Middleware:
    """Hide restricted archives from clients outside their networks."""

    async def hide(incoming: Incoming, call_next: Next) -> Outgoing:
        incoming.hidden = limits.restrictions.hidden_from(incoming.client.address)
        return await call_next(incoming)

    return hide


def replay_origin(replay_url: str) -> Middleware:
    """Serve archived bytes at another origin, so that their scripts cannot act as us (R-5)."""
    host = urlsplit(replay_url).netloc.lower()
    detail = "this host name serves archived bytes only; use the main address of the server"
    nothing = problem(404, "not-found", detail)

    async def separate(incoming: Incoming, call_next: Next) -> Outgoing:
        target = incoming.target
        if target.startswith(_AT_BOTH_ORIGINS):
            return await call_next(incoming)
        archived = _ARCHIVED.match(target) is not None
        if incoming.request.headers.get("Host", "").lower() == host:
            return await call_next(incoming) if archived else nothing
        # 307: a HEAD stays a HEAD.
        redirect = Response(307, {"Location": f"{replay_url}{target}"})
        return redirect if archived else await call_next(incoming)

    return separate


def response_cache(cache: ResponseCache) -> Middleware:
    """Answer the same request again for a minute without any work."""

    async def cached(incoming: Incoming, call_next: Next) -> Outgoing:
        request = incoming.request
        if request.method not in _READS:
            return await call_next(incoming)
        key = key_of(request, incoming.target, incoming.hidden)
        if not wants_part(request):
            hit = cache.get(key)
            if hit is None:
                hit = cache.at_another_time(key)
                hit = None if hit is not None and repeated_times(request) else hit
            if hit is not None:
                return hit
        began = cache.began()
        response = await call_next(incoming)
        exceeded = incoming.quota is not None and incoming.quota.retry_after is not None
        if isinstance(response, Response) and not exceeded:
            if response.keep:
                response = with_all_fields(response)
            cache.put(key, response, began)
        return response

    return cached


def request_body(limits: ClientLimits, routes: Routes) -> Middleware:
    """Receive the body of a PUT or POST request. A slow client holds no place of the requests.

    What can be refused is refused before the body is read.
    """

    async def received(incoming: Incoming, call_next: Next) -> Outgoing:
        request = incoming.request
        try:
            accepted = _accepted_body(routes, incoming)
        except EarlyResponse as early:
            return early.response
        if accepted is None:
            return await call_next(incoming)
        rejection = await limits.enter_body(incoming.client)
        if rejection is not None:
            return rejection
        try:
            if request.headers.get("Expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0
            incoming.body = await body_of(request, *accepted)
        except EarlyResponse as early:
            return early.response
        finally:
            limits.leave_body(incoming.client)
        return await call_next(incoming)

    return received


def _accepted_body(routes: Routes, incoming: Incoming) -> tuple[int, float] | None:
    """Return the octets and seconds that the body may take; None if no body is read.

    Raises EarlyResponse if the request is refused by its head.
    """
    request = incoming.request
    if request.method not in _WRITES:
        return None
    found = routes.find_write(incoming.target)
    if found is not None:
        handler, rest = found
        most = handler.largest_body(
            ClientRequest(request.method, rest, request.headers, repeated_times(request))
        )
        if (request.content_length or 0) > most:
            raise EarlyResponse(problem(413, "too-large", f"a body may have {most} bytes"))
        return most, handler.body_deadline
    post = routes.posts.get(incoming.target.partition("?")[0])
    if request.method != "POST" or post is None:
        return None
    return post.largest_body, post.body_deadline


def concurrency_limit(limits: ClientLimits) -> Middleware:
    """Limit the number of requests in progress, and of those that wait for archives.

    A request ends before its response is sent. The lines of a batch are resolved while it is
    sent, and take places for waiting for archives on their own.
    """

    async def limited(incoming: Incoming, call_next: Next) -> Outgoing:
        client, target = incoming.client, incoming.target
        rejection = await limits.enter(client, target)
        if rejection is not None:
            return rejection
        patient = incoming.request.method not in _READS
        places = limits.places(client, target, patient=patient)
        if places is None:
            try:
                return await call_next(incoming)
            finally:
                limits.leave(client, target)
        incoming.places = places
        try:
            response = await call_next(incoming)
        finally:
            places.answered()
        return limits.within_places(response, places)

    return limited


def client_quota(limits: ClientLimits) -> Middleware:
    """Limit the questions to public archives that one client may cause."""

    async def limited(incoming: Incoming, call_next: Next) -> Outgoing:
        patient = incoming.request.method not in _READS
        quota = limits.quota(incoming.client, patient=patient)
        if quota is None:
            return await call_next(incoming)
        incoming.quota = quota
        response = await call_next(incoming)
        return response if patient else limits.within_quota(response, quota)

    return limited


def other_methods(routes: Routes) -> Middleware:
    """Answer OPTIONS and POST requests; reject all other methods but GET and HEAD."""
    detail = "use GET, HEAD or OPTIONS here; POST is only accepted at "
    detail += " and ".join(routes.posts)
    not_allowed = problem(405, "method", detail, headers={"Allow": "GET, HEAD, OPTIONS"})

    async def by_method(incoming: Incoming, call_next: Next) -> Outgoing:
        request = incoming.request
        if request.method in _READS:
            return await call_next(incoming)
        write = routes.find_write(incoming.target)
        path, mark, query = incoming.target.partition("?")
        handler = routes.posts.get(path)
        is_probe = request.method == "OPTIONS"
        if write is not None:
            return _options(incoming, *write) if is_probe else await _written(incoming, *write)
        if is_probe:
            return _PREFLIGHT if handler is None else _POST_OPTIONS
        if request.method != "POST" or handler is None:
            return not_allowed
        post = ClientRequest("POST", mark + query, request.headers, context=incoming.context)
        try:
            return await handler(post, incoming.body)
        except EarlyResponse as early:
            return early.response

    return by_method


def _options(incoming: Incoming, handler: WriteHandler, rest: str) -> Response:
    """Answer an OPTIONS request where something can be written."""
    try:
        probe = ClientRequest("OPTIONS", rest, incoming.request.headers)
        answer = handler.options(probe)
    except EarlyResponse as early:
        return early.response
    if isinstance(answer, str):
        return replace(_PREFLIGHT, headers={**_PREFLIGHT.headers, "Allow": answer})
    return _STORE_OPTIONS if answer is None else answer


async def _written(incoming: Incoming, handler: WriteHandler, rest: str) -> Outgoing:
    request = incoming.request
    if request.method not in _WRITES:
        # Revisions are never removed or changed.
        return problem(
            405, "method", f"use {_STORE_ALLOW} here", headers={"Allow": _STORE_ALLOW}
        )
    repeated = repeated_times(request)
    write = ClientRequest(request.method, rest, request.headers, repeated, incoming.context)
    try:
        return await handler.write(write, incoming.body)
    except EarlyResponse as early:
        return early.response


def blocklist(limits: ClientLimits) -> Middleware:
    """Answer with 451 if the blocklist stopped the query."""

    async def checked(incoming: Incoming, call_next: Next) -> Outgoing:
        blocked = incoming.blocked = []
        response = await call_next(incoming)
        return limits.blocked(response) if blocked else response

    return checked


def private_responses(limits: ClientLimits) -> Middleware:
    """Keep responses that show restricted archives out of shared caches."""

    async def marked(incoming: Incoming, call_next: Next) -> Outgoing:
        return limits.private(await call_next(incoming), incoming.client)

    return marked


async def redis_time_limit(incoming: Incoming, call_next: Next) -> Outgoing:
    """Limit the time that a request spends waiting for Redis."""
    incoming.redis_time = TimeBudget()
    return await call_next(incoming)


def metrics(observe: Observe) -> Middleware:
    """Count responses by route."""

    async def counted(incoming: Incoming, call_next: Next) -> Outgoing:
        began = time.perf_counter()
        response = await call_next(incoming)
        observe(incoming.route, response.status, time.perf_counter() - began)
        return response

    return counted


def tracing(routes: Routes, trace: Trace) -> Middleware:
    """Open a span for each request."""

    async def traced(incoming: Incoming, call_next: Next) -> Outgoing:
        route, _, _ = routes.find(incoming.target)
        with trace(f"{incoming.request.method} {route}") as mark:
            mark("http.route", route)
            response = await call_next(incoming)
            mark("http.response.status_code", response.status)
            return response

    return traced


def html_problems(problem_page: ProblemPage) -> Middleware:
    """Send problems to browsers as pages."""

    async def shown(incoming: Incoming, call_next: Next) -> Outgoing:
        response = await call_next(incoming)
        if response.headers.get("Content-Type") != PROBLEM_TYPE:
            return response
        if isinstance(response, StreamingResponse):
            return response
        return problem_page(incoming.request.headers.get("Accept"), response)

    return shown


async def handled(routes: Routes, incoming: Incoming) -> Outgoing:
    """Call the handler of the route; it may end early."""
    incoming.route, handler, rest = routes.find(incoming.target)
    request = incoming.request
    repeated = repeated_times(request)
    try:
        return await handler(
            ClientRequest(request.method, rest, request.headers, repeated, incoming.context)
        )
    except EarlyResponse as early:
        return early.response
