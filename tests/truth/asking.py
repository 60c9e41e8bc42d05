"""The whole product over a world, without sockets and in virtual time, and ways to ask it.

The composition is that of ``timegate serve``: only the network and the clock are replaced.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import quote

import http_sf
from aiohttp import web
from aiohttp.abc import AbstractResolver
from aiohttp.http import HttpVersion11, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from archives.errors import ArchiveError
from archives.registry import Registry
from tests.clock import VirtualLoop
from tests.truth.drawing import Reference, Round, accept_datetime
from tests.truth.world import Exchange, World
from timegate import Gate
from timegate.app import CoreState, build_core, build_server
from timegate.config import Config
from timegate.core import Core
from timegate.server.connection_limit import ServerConnection
from timegate.server.middleware import Dispatch
from timegate.server.process_state import ProcessState
from timegate.upstream.rate_limit import LocalRateLimiter
from timegate.upstream.stack import UpstreamEnvironment

T = TypeVar("T")
Parameters = Mapping[str, object]
Members = Mapping[str, tuple[str, Parameters]]
_BASE: Final = "http://gate.example"
_SETTLED: Final = 40.0
"""Seconds after which every question that an answer did not wait for has ended."""
_MEMBERS: Final = (
    *("match", "evidence", "archive", "time", "granularity", "coverage", "uri", "content"),
    *("sources", "negotiation", "syntax"),
)
_STAMP: Final = re.compile(r"/web/([0-9]{14})/")
_FIRST_MEMENTO: Final = re.compile(r'<([^>]*)>; rel="(?:[a-z]+ )*memento"')


class Asked(NamedTuple):
    """What a way of asking asks for; `/timegate/` names no archive and has no fractions."""

    url: str
    digits: str
    archive: str | None
    precision: str | None
    is_identifier: bool
    """Whether promises are no exact match: everywhere but at TimeGates and drop-in forms."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the product, and the upstream requests that it took."""

    way: str
    asked: Asked
    status: int
    location: str | None
    """The address that the client is led to."""
    members: Members
    """``Memento-Precision``."""
    problem: str
    """The last part of the type of a problem."""
    exchanges: tuple[Exchange, ...]
    shown: str
    """Request and response, for people."""
    document: Mapping[str, Any]
    """The report in JSON, if there is one."""

    def value(self, name: str) -> str:
        """Return the value of a member; empty if there is none."""
        return self.members.get(name, ("", {}))[0]

    def parameter(self, member: str, name: str) -> object:
        """Return a parameter of a member; None if there is none."""
        return self.members.get(member, ("", {}))[1].get(name)


class _InlineLoop(VirtualLoop):
    """A loop in virtual time that has no threads: what is left to one is done at once."""

    def run_in_executor(
        self, _executor: object, function: Callable[..., T], *arguments: object
    ) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(function(*arguments))
        except BaseException as error:  # noqa: BLE001 -- as an executor does
            done.set_exception(error)
        return done


def in_virtual_time(story: Coroutine[object, object, T]) -> T:
    """Run *story*; its sleeps and timeouts cost nothing."""
    with asyncio.Runner(loop_factory=_InlineLoop) as runner:
        return runner.run(story)


class _NoNames:
    """A resolver that is never used."""

    async def close(self) -> None:
        """Have nothing to close."""


class Asking:
    """Something that can be asked for references: the product over one world."""

    settles = True
    """Whether all that a question started has ended when its answer is returned."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def get(
        self, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> "Made":
        """Send a request to the server."""
        raise NotImplementedError

    async def library(self, reference: Reference, preferences: Mapping[str, str]) -> "Made":
        """Resolve with the library."""
        raise NotImplementedError

    async def ask(self, drawn: Round, way: str) -> Answer:
        """Ask in one way, and wait until everything that it started has ended."""
        before = len(self._world.journal)
        made = await _WAYS[way](self, drawn)
        during = tuple(self._world.journal[before:])
        if self.settles:
            await asyncio.sleep(_SETTLED)
        return Answer(
            way,
            asked_by(drawn.reference, way),
            made.status,
            made.location,
            made.members,
            made.problem,
            during,
            made.shown,
            made.document,
        )


class Product(Asking):
    """The product in this process, without sockets."""

    def __init__(self, world: World, core: Core, dispatch: Dispatch) -> None:
        super().__init__(world)
        self._core = core
        self._dispatch = dispatch

    async def get(
        self, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> "Made":
        """Send a request through the whole server."""
        method = "GET" if body is None else "POST"
        sent = await self.send(method, target, headers or {}, body)
        asked = f"{method} {target} {dict(headers or {})} {(body or b'').decode()}"
        return made_of(asked, sent.status, sent.headers, sent.content)

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> "Sent":
        """Send a request through the whole server; return its response as it was sent."""
        writer = _Writer()
        request = _request(method, target, headers, body, writer)
        try:
            response = await self._dispatch(request)
        except (ArchiveError, TimeoutError):
            # A response that had begun is aborted, which its client sees.
            if not writer.status:
                raise
            return Sent(writer.status, writer.headers, bytes(writer.written), whole=False)
        if isinstance(response, web.Response):
            content = bytes(cast(bytes, response.body or b""))
        else:
            content = bytes(writer.written)
        return Sent(response.status, dict(response.headers), content, whole=True)

    async def library(self, reference: Reference, preferences: Mapping[str, str]) -> "Made":
        """Resolve with the library."""
        at = _spoken(reference.digits) if reference.kind == "at" else None
        known = {name: value for name, value in preferences.items() if name != "status"}
        found = await Gate(self._core).resolve(reference.text, at=at, **known)  # type: ignore[arg-type]
        status = 302 if found.uri else 502 if found.unanswered else 404
        shown = f"library: {reference.text} at={at} {known}\n{found}"
        members, report = _members(found.precision), dict(found.report)
        location = found.uri and _address(report, {}, members)
        return Made(status, location, members, "", shown, report)


class Sent(NamedTuple):
    """A response as it was sent."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    whole: bool
    """False if the connection was aborted before the end."""


class Made(NamedTuple):
    """An answer without its question."""

    status: int
    location: str | None
    members: Members
    problem: str
    shown: str
    document: Mapping[str, Any]


@asynccontextmanager
async def product_over(world: World) -> AsyncIterator[Product]:
    """Build the product over *world*, as ``timegate serve`` does."""
    clock = asyncio.get_running_loop().time
    config = Config(
        Registry([archive.entry for archive in world.archives.values()]),
        contact="mailto:truth@example.org",
        partial_stamps="middle",
    )
    upstream = UpstreamEnvironment(
        clock=clock,
        chance=lambda: 0.5,
        resolver=lambda: cast(AbstractResolver, _NoNames()),
        limiter=lambda entry: LocalRateLimiter(entry.limits, clock),
        network=world.network,
    )
    async with (
        CoreState() as state,
        build_core(config, _BASE, state=state, upstream=upstream) as core,
        build_server(core, ProcessState(state.metrics)) as dispatch,
    ):
        yield Product(world, core, dispatch)


# Ways to ask


def asked_by(reference: Reference, way: str) -> Asked:
    """Return what *way* asks for."""
    if way in ("timegate", "memento", "api"):
        return Asked(reference.url, reference.digits[:14], None, None, is_identifier=False)
    return Asked(
        reference.url,
        reference.digits,
        reference.archive,
        reference.precision,
        is_identifier=True,
    )


def _with(text: str, preferences: Mapping[str, str], **more: str) -> str:
    pairs = {**preferences, **{name.rstrip("_"): value for name, value in more.items()}}
    query = "&".join(f"{name}={quote(value, safe=',')}" for name, value in pairs.items())
    return f"{text}?{query}" if query else text


def _resolving(prefix: str, **more: str) -> "Callable[[Asking, Round], Awaitable[Made]]":
    async def ask(product: Asking, drawn: Round) -> Made:
        text = _with(drawn.reference.text, drawn.preferences, **more)
        return await product.get(f"{prefix}{text}")

    return ask


async def _batch(product: Asking, drawn: Round) -> Made:
    target = _with("/resolve", drawn.preferences)
    return await product.get(target, {}, drawn.reference.text.encode())


async def _library(product: Asking, drawn: Round) -> Made:
    return await product.library(drawn.reference, drawn.preferences)


def _prefer(preferences: Mapping[str, str]) -> dict[str, str]:
    listed = ", ".join(f'{name}="{value}"' for name, value in preferences.items())
    return {"Prefer": listed} if listed else {}


async def _root(product: Asking, drawn: Round) -> Made:
    """Ask at ``/{identifier}``, which takes no parameters."""
    return await product.get(f"/{drawn.reference.text}", _prefer(drawn.preferences))


async def _timegate(product: Asking, drawn: Round) -> Made:
    headers, date = _prefer(drawn.preferences), accept_datetime(drawn.reference)
    if date is not None:
        headers["Accept-Datetime"] = date
    return await product.get(f"/timegate/{drawn.reference.url}", headers)


def _stamped(prefix: str) -> "Callable[[Asking, Round], Awaitable[Made]]":
    async def ask(product: Asking, drawn: Round) -> Made:
        reference = drawn.reference
        target = f"{prefix}{reference.digits[:14]}/{reference.url}"
        return await product.get(target, _prefer(drawn.preferences))

    return ask


_WAYS: Final[Mapping[str, Callable[[Asking, Round], Awaitable[Made]]]] = {
    "resolve": _resolving("/resolve/"),
    "root": _root,
    "json": _resolving("/resolve/", as_="json"),
    "html": _resolving("/resolve/", as_="html"),
    "verify-none": _resolving("/resolve/", verify="none"),
    "verify-head": _resolving("/resolve/", verify="head"),
    "batch": _batch,
    "library": _library,
    "timegate": _timegate,
    "memento": _stamped("/memento/"),
    "api": _stamped("/api/json/"),
}


def _spoken(digits: str) -> str:
    hour, minute, second = digits[8:10], digits[10:12], digits[12:14]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{hour}:{minute}:{second}Z"


# Requests and responses without sockets


class _Writer:
    """Takes what a response writes while it is produced."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.length: int | None = None
        self.buffer_size = 0
        self.output_size = 0

    def enable_chunking(self) -> None: ...

    def send_headers(self) -> None: ...

    async def write_headers(self, line: str, headers: Mapping[str, str]) -> None:
        self.status, self.headers = int(line.split(" ")[1]), dict(headers)

    async def write(self, data: bytes, *_: object, **__: object) -> None:
        self.written += data

    async def write_eof(self, data: bytes = b"") -> None:
        self.written += data

    async def drain(self) -> None: ...


class _Connection(ServerConnection):
    """A connection without a socket: only what a request looks at."""

    peername = ("127.0.0.1", 1)
    ssl_context = None
    sockname = None

    def __init__(self, **parts: object) -> None:
        for name, part in parts.items():
            setattr(self, name, part)

    @property
    def has_more(self) -> bool:
        """Whether another request waits on the connection."""
        return False


def _request(
    method: str, target: str, headers: Mapping[str, str], body: bytes | None, writer: _Writer
) -> web.BaseRequest:
    fields = CIMultiDictProxy(CIMultiDict({"Host": "gate.example", **headers}))
    message = RawRequestMessage(
        method,
        target,
        HttpVersion11,
        fields,
        (),
        should_close=False,
        compression=None,
        upgrade=False,
        chunked=False,
        url=URL("/"),
    )
    loop = asyncio.get_running_loop()
    transport = SimpleNamespace(
        get_extra_info=lambda name, default=None: (
            ("127.0.0.1", 1) if name == "peername" else default
        ),
        is_closing=lambda: False,
        abort=lambda: None,
    )
    protocol = _Connection(
        transport=transport,
        writer=writer,
        pause_reading=lambda **_: None,
        resume_reading=lambda **_: None,
        _reading_paused=False,
        _messages=(),
    )
    payload: Any = EMPTY_PAYLOAD
    if body is not None:
        payload = StreamReader(cast(Any, protocol), 1 << 20, loop=loop)
        payload.feed_data(body)
        payload.feed_eof()
    task = asyncio.current_task()
    return web.BaseRequest(
        message, payload, cast(Any, protocol), cast(Any, writer), cast(Any, task), loop
    )


def made_of(asked: str, status: int, headers: Mapping[str, str], body: bytes) -> Made:
    """Read a response of the server; *asked* is the request, for people."""
    shown = f"{asked}\n{status} {headers}\n{body[:3000].decode(errors='replace')}"
    fields = {name.lower(): value for name, value in headers.items()}
    kind = fields.get("content-type", "")
    document: dict[str, Any] = {}
    if body and ("json" in kind or kind == "application/x-ndjson"):
        document = json.loads(body.splitlines()[0] if "ndjson" in kind else body)
    if "ndjson" in kind:
        status = document["status"]
    report = (
        document.get("timegate") if isinstance(document.get("timegate"), dict) else document
    )
    members = _members(fields.get("memento-precision", "")) or _from_json(report or {})
    location = fields.get("location") or _address(report or {}, fields, members)
    problem = str(document.get("type", "")).rpartition("/")[2] if status >= 400 else ""
    return Made(status, location, members, problem, shown, report or {})


def _address(
    document: Mapping[str, Any], fields: Mapping[str, str], members: Members
) -> str | None:
    """Return the address that a report or a page is about: the raw view, where it says raw."""
    is_raw = members.get("content", ("", {}))[0] == "raw"
    memento = document.get("memento")
    if isinstance(memento, dict) and "uri" in memento:
        return str(memento.get("raw") if is_raw and memento.get("raw") else memento["uri"])
    found = _FIRST_MEMENTO.search(fields.get("link", ""))
    address = found[1] if found else None
    return _STAMP.sub(r"/web/\1id_/", address, count=1) if is_raw and address else address


def _members(field: str) -> dict[str, tuple[str, Parameters]]:
    if not field:
        return {}
    parsed: Any = http_sf.parse(field.encode(), tltype="dictionary")
    return {
        name: (str(value), {key: _plain(item) for key, item in parameters.items()})
        for name, (value, parameters) in parsed.items()
    }


def _plain(item: object) -> object:
    return item if isinstance(item, int | str) else str(item)


def _from_json(document: Mapping[str, Any]) -> dict[str, tuple[str, Parameters]]:
    found = {name: document.get(name) for name in _MEMBERS}
    return {
        name: (
            str(member["value"]),
            {key: item for key, item in member.items() if key != "value"},
        )
        for name, member in found.items()
        if isinstance(member, dict) and "value" in member
    }
