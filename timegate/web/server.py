"""aiohttp's server, below its router: targets are handled as the bytes that came in.

A router would decode and merge what identifiers are made of (``%2F``, ``//``). So the dispatch
is by prefix on the raw target, and everything else on identifiers.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

from aiohttp import web
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy
from multidict import CIMultiDict

from archives.errors import ArchiveError
from timegate.cold import Visit, visiting
from timegate.denial import noting
from timegate.logs import Access
from timegate.restricted import hiding
from timegate.sharing import patient
from timegate.telemetry import Trace
from timegate.web.call import Answer, Call, Declined, Stream
from timegate.web.doorway import Doorway, Room
from timegate.web.guard import Client, Guard
from timegate.web.origins import Origins
from timegate.web.problems import problem
from timegate.web.recent import Asked, Recent

Handler = Callable[[Call], Awaitable[Answer | Stream]]
Batch = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Observe = Callable[[str, int, float], None]
"""Counts an answer by its route, its status and the seconds it took."""

HEAD_DEADLINE: Final = 10.0
"""Seconds for the head of a connection's first request."""
_KEEP_ALIVE: Final = 30.0
"""Seconds for each later one, from the end of the answer before it."""
_DRAIN: Final = 10.0
_BACKLOG: Final = 1024
_SLOWEST: Final = 1024
"""Octets a second that a client has to take on average, after a grace of so many seconds."""
_GRACE: Final = 20.0
_UNSENT: Final = 128 * 1024
"""Octets of an answer that wait in the kernel for its reader; up to 2.8 MB did before."""
_LONGEST_LINE: Final = 16_384
"""More than an identifier may have, so that what is too long gets 414 and not 400."""
_COMMON: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, Location, Memento-Datetime, Memento-Precision, Content-Location, "
        "Preference-Applied, X-Memento-Count, Memento-Sources, Content-Range, Accept-Ranges"
    ),
    "X-Content-Type-Options": "nosniff",
    "Server": "timegate",
}
_PREFLIGHT: Final = {
    **_COMMON,
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
        self._recent = Recent()
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
        if isinstance(answer, Stream):
            return await self._flowing(request, answer, client, target)
        return response(answer)

    async def _flowing(
        self, request: web.BaseRequest, stream: Stream, client: Client, target: str
    ) -> web.StreamResponse:
        """Send *stream* from a place of its own: who reads slowly holds up nobody else."""
        refusal = await self._guard.enter_stream(client, target)
        if refusal is not None:
            await stream.chunks.aclose()
            return response(refusal)
        try:
            return await _streamed(request, stream)
        finally:
            self._guard.leave_stream(client, target)

    async def _read(
        self, request: web.BaseRequest, target: str, asked: Asked, visit: Visit | None
    ) -> Answer | Stream:
        with noting() as denied:
            answer = self._guard.settled(await self._answered(request, target), visit)
        if denied:
            answer = self._guard.denied(answer)
        answer = self._guard.kept_private(answer, request)
        if isinstance(answer, Answer) and (visit is None or visit.retry_after is None):
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

    async def _answered(self, request: web.BaseRequest, target: str) -> Answer | Stream:
        route, handler, rest = self._found(target)
        repeated = frozenset[str]()
        if len(request.headers.getall("Accept-Datetime", ())) > 1:
            repeated = frozenset({"accept-datetime"})
        call = Call(request.method, rest, request.headers, repeated)
        began = time.perf_counter()
        answer: Answer | Stream
        try:
            with patient():
                answer = await self._traced(route, handler, call)
        except Declined as declined:
            answer = declined.answer
        self._observe(route, answer.status, time.perf_counter() - began)
        return answer

    async def _traced(self, route: str, handler: Handler, call: Call) -> Answer | Stream:
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


class Patience:
    """How long a client may keep us waiting: so long, and a second more for each kilobyte."""

    def __init__(self, grace: float = _GRACE, slowest: float = _SLOWEST) -> None:
        self._left = grace
        self._slowest = slowest

    @asynccontextmanager
    async def of(self, octets: int) -> AsyncIterator[None]:
        """Wait for *octets* to be taken; raise TimeoutError if that takes too long."""
        clock = asyncio.get_running_loop().time
        self._left += octets / self._slowest
        began = clock()
        async with asyncio.timeout(self._left):
            yield
        self._left -= clock() - began


async def _streamed(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    """Send a body as it is made; the client's pace holds back who makes it."""
    headers = CIMultiDict(_COMMON)
    headers.update(stream.headers)
    sent = web.StreamResponse(status=stream.status, headers=headers)
    async with aclosing(stream.chunks) as chunks:
        await sent.prepare(request)
        if request.method == "HEAD":
            return sent
        reading = Patience()
        try:
            async for chunk in chunks:
                # Who reads slower than this holds archives and memory for nothing (S16).
                async with reading.of(len(chunk)):
                    await sent.write(chunk)
            await sent.write_eof()
        except ConnectionResetError:
            # The client has left; there is nobody to tell.
            return sent
        except (ArchiveError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
            raise
    return sent


def response(answer: Answer) -> web.Response:
    headers = CIMultiDict(_COMMON)
    headers.update(answer.headers)
    return web.Response(status=answer.status, headers=headers, body=answer.body)


def check_parser() -> None:
    """Refuse to serve with aiohttp's parser in Python: it takes what llhttp refuses (R31)."""
    if HttpRequestParser is HttpRequestParserPy and "TIMEGATE_PYTHON_PARSER" not in os.environ:
        why = (
            "aiohttp runs without its C extensions: install a wheel for this platform, "
            "or set TIMEGATE_PYTHON_PARSER=1 if you know what you do"
        )
        raise RuntimeError(why)


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Take *port*, 0 for a free one, before anything is built that has to know it.

    *shared*: several processes listen there. Raises OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.create_server(
        (host, port), family=family, backlog=_BACKLOG, reuse_port=shared
    )
    _hold_back(place)
    return place


def _hold_back(place: socket.socket) -> None:
    """Let who reads slowly be known by it, not fill the kernel's memory for all connections.

    The connections of a listener begin with what is set for it. What is under way on a fast
    and long line is not counted, so nothing gets slower.
    """
    with suppress(OSError):
        # As Linux and macOS call it; elsewhere there is no such thing.
        option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
        if option is not None:
            place.setsockopt(socket.IPPROTO_TCP, option, _UNSENT)


@asynccontextmanager
async def serving(
    dispatch: Batch,
    place: socket.socket,
    *,
    head_deadline: float = HEAD_DEADLINE,
    room: Room | None = None,
) -> AsyncIterator[None]:
    """Answer at *place* until the block ends, then let requests under way finish."""
    check_parser()
    room = room or Room(per_client=10_000)
    server = Doorway(
        dispatch,
        room,
        access_log=None,
        head_deadline=head_deadline,
        keepalive_timeout=_KEEP_ALIVE,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        lingering_time=2.0,
    )
    runner = web.ServerRunner(server, shutdown_timeout=_DRAIN)
    await runner.setup()
    try:
        for listener in (place, *(place.dup() for _ in range(room.at_a_turn - 1))):
            await web.SockSite(runner, listener, backlog=_BACKLOG).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening(
    dispatch: Dispatch, host: str, port: int, *, head_deadline: float = HEAD_DEADLINE
) -> AsyncIterator[int]:
    """Serve at a place of its own; yields the port."""
    with bound(host, port) as place:
        async with serving(dispatch, place, head_deadline=head_deadline):
            yield int(place.getsockname()[1])


async def body_of(request: web.BaseRequest, most: int, seconds: float) -> bytes:
    """Read the body of *request*: not more than *most*, not longer than *seconds* (S16)."""
    received = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.content.iter_any():
                received += chunk
                if len(received) > most:
                    detail = f"at most {most} bytes at once; send the rest in another request"
                    raise Declined(problem(413, "too-large", detail))
    except TimeoutError as error:
        raise Declined(problem(408, "timeout", "the body did not arrive in time")) from error
    return bytes(received)
