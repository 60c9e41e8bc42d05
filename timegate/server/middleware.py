"""Who answers a request: found by the target, as the bytes that came in.

A router would decode and merge what identifiers are made of (``%2F``, ``//``). So the dispatch
is by prefix on the raw target, and everything else on identifiers.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from cachetools import LRUCache

from timegate.access.blocklist import noting
from timegate.access.restricted import hiding
from timegate.observability.logs import Access
from timegate.observability.tracing import Trace
from timegate.redis import patient
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.client_quota import ClientQuota, visiting
from timegate.server.guard import Client, Guard
from timegate.server.sending import COMMON, response, streamed

_ARCHIVED: Final = ("/collections/", "/memento/proxy/")
_FOR_ANYBODY: Final = ("/healthz", "/readyz")


class Origins:
    """Which of our two addresses answers what."""

    def __init__(self, replay: str | None = None) -> None:
        """Take the address of archived bytes; None where there is one for everything."""
        self._replay = replay
        self._host = "" if replay is None else urlsplit(replay).netloc.lower()

    def elsewhere(self, target: str, headers: Mapping[str, str]) -> Response | None:
        """Return where to go with *target*; None if it is answered where it was asked."""
        if self._replay is None or target.startswith(_FOR_ANYBODY):
            return None
        archived = target.startswith(_ARCHIVED)
        if headers.get("Host", "").lower() != self._host:
            # 307: a HEAD stays a HEAD.
            return Response(307, {"Location": f"{self._replay}{target}"}) if archived else None
        return None if archived else _nothing_here()


def _nothing_here() -> Response:
    return problem(404, "not-found", "only archived bytes are served at this address")


Asked = tuple[str | None, ...]
_MOST_BYTES: Final = 16 * 1024 * 1024
_OVERHEAD: Final = 1024


class ResponseCache:
    """A bounded number of answers by what was asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: LRUCache[Asked, tuple[float, Response]] = LRUCache(_MOST_BYTES, _size)

    def get(self, asked: Asked) -> Response | None:
        """Return the answer if it may still be given."""
        kept = self._answers.get(asked)
        if kept is None:
            return None
        until, answer = kept
        if self._clock() < until:
            return answer
        del self._answers[asked]
        return None

    def put(self, asked: Asked, answer: Response) -> None:
        """Keep *answer* for as long as it says, unless the client wants no cache."""
        if answer.keep > 0 and not asked[-1]:
            self._answers[asked] = (self._clock() + answer.keep, answer)


def _size(kept: tuple[float, Response]) -> int:
    headers = kept[1].headers
    return _OVERHEAD + len(kept[1].body) + sum(len(n) + len(v) for n, v in headers.items())


Handler = Callable[[ClientRequest], Awaitable[Response | StreamingResponse]]
Batch = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Observe = Callable[[str, int, float], None]
"""Counts an answer by its route, its status and the seconds it took."""
_PREFLIGHT: Final = {
    **COMMON,
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": "Accept-Datetime, Prefer, Cache-Control, Content-Type",
    "Access-Control-Max-Age": "86400",
    "Allow": "GET, HEAD, OPTIONS",
}
_READS: Final = ("GET", "HEAD")


class Dispatch:
    """Finds who answers a request, and sends the answer."""

    def __init__(  # noqa: PLR0913 -- one parameter for each kind of route
        self,
        exact: Mapping[str, Handler],
        prefixes: Mapping[str, Handler],
        otherwise: Handler,
        batch: Batch,
        observe: Observe = lambda _route, _status, _seconds: None,
        *,
        posts: Mapping[str, Batch] | None = None,
        guard: Guard | None = None,
        log: Callable[[Access], None] | None = None,
        trace: Trace | None = None,
        own: str = "",
        origins: Origins | None = None,
    ) -> None:
        """Take *own* for our own address, as it may stand in front of a target."""
        self._exact = exact
        self._prefixes = tuple(prefixes.items())
        self._otherwise = otherwise
        self._posts = {"/resolve": batch, **(posts or {})}
        self._observe = observe
        self._guard = guard or Guard()
        self._log = log
        self._trace = trace
        self._recent = ResponseCache()
        self._own = f"{own}/"
        self._origins = origins or Origins()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer *request*."""
        if self._log is None:
            return await self._handled(request)
        began, address = time.perf_counter(), self._guard.client(request).address
        sent = await self._handled(request)
        seconds = time.perf_counter() - began
        method, target = request.method, self._target(request)
        route = self._found(target)[0]
        self._log(Access(method, route, target, sent.status, seconds, address))
        return sent

    async def _handled(self, request: web.BaseRequest) -> web.StreamResponse:
        restrictions = self._guard.restrictions
        if not restrictions:
            return await self._let_in(request)
        unseen = restrictions.hidden_from(self._guard.client(request).address)
        with hiding(unseen):
            return await self._let_in(request, " ".join(sorted(unseen)))

    async def _let_in(self, request: web.BaseRequest, scope: str = "") -> web.StreamResponse:
        target = self._target(request)
        elsewhere = self._origins.elsewhere(target, request.headers)
        if elsewhere is not None:
            return response(elsewhere)
        asked = _asked(request, target, scope) if request.method in _READS else None
        kept = None if asked is None or _is_partial(request) else self._recent.get(asked)
        if kept is not None:
            return response(kept)
        client = self._guard.client(request)
        refusal = await self._guard.enter(client, target)
        if refusal is not None:
            return response(refusal)
        try:
            visit = self._guard.visit(client, patient=asked is None)
            with visiting(visit):
                if asked is None:
                    return await self._other(request, target)
                answer = await self._read(request, target, asked, visit)
        finally:
            self._guard.leave(client, target)
        if isinstance(answer, StreamingResponse):
            return await self._flowing(request, answer, client, target)
        return response(answer)

    async def _flowing(
        self, request: web.BaseRequest, stream: StreamingResponse, client: Client, target: str
    ) -> web.StreamResponse:
        """Send *stream* from a place of its own: who reads slowly holds up nobody else."""
        refusal = await self._guard.enter_stream(client, target)
        if refusal is not None:
            await stream.chunks.aclose()
            return response(refusal)
        try:
            return await streamed(request, stream)
        finally:
            self._guard.leave_stream(client, target)

    async def _read(
        self, request: web.BaseRequest, target: str, asked: Asked, visit: ClientQuota | None
    ) -> Response | StreamingResponse:
        with noting() as denied:
            answer = self._guard.settled(await self._answered(request, target), visit)
        if denied:
            answer = self._guard.denied(answer)
        answer = self._guard.kept_private(answer, request)
        if isinstance(answer, Response) and (visit is None or visit.retry_after is None):
            self._recent.put(asked, answer)
        return answer

    async def _other(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=_PREFLIGHT)
        posted = self._posts.get(target.partition("?")[0])
        if request.method == "POST" and posted is not None:
            return await posted(request)
        there = " and ".join(self._posts)
        detail = f"only GET, HEAD and OPTIONS are answered here; POST only at {there}"
        allow = {"Allow": "GET, HEAD, OPTIONS"}
        return response(problem(405, "method", detail, headers=allow))

    async def _answered(
        self, request: web.BaseRequest, target: str
    ) -> Response | StreamingResponse:
        route, handler, rest = self._found(target)
        repeated = frozenset[str]()
        if len(request.headers.getall("Accept-Datetime", ())) > 1:
            repeated = frozenset({"accept-datetime"})
        call = ClientRequest(request.method, rest, request.headers, repeated)
        began = time.perf_counter()
        answer: Response | StreamingResponse
        try:
            with patient():
                answer = await self._traced(route, handler, call)
        except EarlyResponse as declined:
            answer = declined.answer
        self._observe(route, answer.status, time.perf_counter() - began)
        return answer

    async def _traced(
        self, route: str, handler: Handler, call: ClientRequest
    ) -> Response | StreamingResponse:
        if self._trace is None:
            return await handler(call)
        with self._trace(f"{call.method} {route}") as mark:
            mark("http.route", route)
            answer = await handler(call)
            mark("http.response.status_code", answer.status)
            return answer

    def _target(self, request: web.BaseRequest) -> str:
        """Return the target; ours may be written in full (RFC 9112 3.2.2)."""
        target = request.raw_path
        if target.startswith("/") or not target.startswith(self._own):
            return target
        return target[len(self._own) - 1 :]

    def _found(self, target: str) -> tuple[str, Handler, str]:
        for prefix, handler in self._prefixes:
            if target.startswith(prefix):
                return prefix, handler, target[len(prefix) :]
        path, mark, query = target.partition("?")
        exact = self._exact.get(path)
        if exact is not None:
            return path, exact, mark + query
        return "/{identifier}", self._otherwise, target[1:]


def _is_partial(request: web.BaseRequest) -> bool:
    """Whether less than the whole answer may do: what is kept is whole."""
    headers = request.headers
    return "Range" in headers or "If-None-Match" in headers


def _asked(request: web.BaseRequest, target: str, scope: str) -> Asked:
    """Return all that an answer can depend on."""
    headers = request.headers
    return (
        scope,
        target,
        headers.get("Accept-Datetime"),
        headers.get("Accept"),
        headers.get("Prefer"),
        headers.get("Cache-Control"),
    )
