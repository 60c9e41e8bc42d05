"""``/changes/{URL or identifier}``: new captures of a page, as feeds and as server-sent events.

A request for the changes of a page follows it. Archives other than our own are queried while
there are readers only: at a request, and during a stream, at most once in an interval.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, NamedTuple

from archives.registry import Registry
from timegate.endpoints import (
    EVENTS_CONTENT,
    UNCHANGED,
    PathDescription,
    answered,
)
from timegate.following.feeds import (
    EVENTS,
    FORMATS,
    EventId,
    Feed,
    atom,
    event,
    json_feed,
    newest_first,
    read_event_id,
)
from timegate.following.follower import Follower
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Router
from timegate.responses.model import (
    FORMAT_PARAMETER,
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    UnknownParameter,
    identifier_in,
    weight,
    without_parameters,
)
from timegate.responses.problems import problem
from timegate.responses.timemap import listed_query
from timegate.responses.validators import etag, last_modified, unless_known
from timegate.store import Revision, RevisionWriter, StoreSettings, Written

PREFIX: Final = "/changes/"
_FEEDS: Final = answered(
    "The changes, newest first; or a stream of them",
    {"application/atom+xml": "Text", "application/feed+json": "Feed", **EVENTS_CONTENT},
    *("ETag", "Last-Modified", "Vary", "Cache-Control"),
)
PATHS: Final = {
    "/changes/{identifier}": PathDescription(
        "New captures of a page: Atom, JSON Feed or server-sent events, by Accept or as=",
        {**_FEEDS, **UNCHANGED},
        ("identifier", "changes-as", "Last-Event-ID", "If-None-Match"),
    ),
    "/changes/{format}/{identifier}": PathDescription(
        "The same in one format",
        {**_FEEDS, **UNCHANGED},
        ("changes-format", "identifier", "Last-Event-ID", "If-None-Match"),
    ),
}
_VARY: Final = "accept"
_MOST_ENTRIES: Final = 200
_MOST_EVENTS: Final = 100
"""Events that are read at once."""
MOST_STREAMS: Final = 64
_HEARTBEAT: Final = 15.0
"""Seconds after which a comment is sent if there are no events."""
_LONGEST_STREAM: Final = 3600.0
"""Seconds after which a stream ends; clients connect again, and go on where they were."""
_PAUSE: Final = 1.0
"""Seconds between two looks at our own collections, to which other processes may write."""
_BETWEEN_QUERIES: Final = 30.0
"""Seconds after which a stream looks whether archives are to be queried again."""
_RETRY: Final = 5_000
"""Milliseconds after which clients connect again."""


class ChangesTiming(NamedTuple):
    """Seconds."""

    wait: float = 5.0
    """How long a feed waits for archives that are queried for it."""
    heartbeat: float = _HEARTBEAT
    longest: float = _LONGEST_STREAM
    pause: float = _PAUSE


class _Followed(NamedTuple):
    """A page, and the archives in which it is followed for this client."""

    page: str
    archives: Sequence[str]
    hidden: frozenset[str]


class ChangesEndpoint:
    """Answers requests for changes."""

    def __init__(  # noqa: PLR0913 -- what feeds are made of
        self,
        follower: Follower,
        route: Router,
        registry: Registry,
        base_url: str,
        timing: ChangesTiming | None = None,
        *,
        ends: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """End the streams once *ends* says that the server ends."""
        self._ends = ends
        self._follower = follower
        self._route = route
        self._registry = registry
        self._base_url = base_url.rstrip("/")
        self._timing = timing or ChangesTiming()
        self._clock = clock
        self._streams = 0

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer in the format that the path, ``as`` or ``Accept`` names."""
        form, text = _target(request)
        query = listed_query(text, self._registry)
        followed = self._followed(query, request.context)
        try:
            if form == "events":
                return await self._stream(request, followed)
            return await unless_known(request, await self._feed(form, request, followed))
        except sqlite3.Error:
            detail = "the file of changes cannot be used now; try again later"
            return problem(503, "internal", detail, headers={"Retry-After": "60"})

    def _followed(self, query: Query, context: RequestContext) -> _Followed:
        """Return the archives that are followed. Raises EarlyResponse if there are none."""
        follower = self._follower
        plan = self._route(query, Preferences(), context).order
        remote = follower.every is not None
        archives = [archive for archive in plan if remote or archive in follower.own]
        if not archives:
            detail = "this server follows no archive that may hold this page"
            raise EarlyResponse(problem(404, "not-found", detail))
        return _Followed(query.original, archives, context.hidden)

    async def _feed(
        self, form: str, request: ClientRequest, followed: _Followed
    ) -> Response | StreamingResponse:
        file, page = self._follower.file, followed.page
        await self._follower.follow(page)
        await self._look(followed, request.context, self._timing.wait)
        found = await asyncio.to_thread(file.latest, page, _MOST_ENTRIES, followed.hidden)
        states = await asyncio.to_thread(file.archives_of, page)
        visible = [each for each in states if each.archive in followed.archives]
        entries = self._registry.entries
        names = {entry.id: entry.name for entry in entries}
        feed = Feed(page, self._base_url, newest_first(found), visible, names)
        body = (atom if form == "atom" else json_feed)(feed)
        changes = [change.number for change in found]
        troubles = [(each.archive, each.trouble) for each in visible]
        headers = {
            "Content-Type": FORMATS[form] + ("; charset=utf-8" if form == "atom" else ""),
            "Cache-Control": "no-cache",
            "Vary": _VARY,
            "ETag": etag(form, self._base_url, file.name, changes, troubles),
            **last_modified(max((c.noticed for c in found), default=None), self._clock),
        }
        return Response(200, headers, body)

    async def _look(
        self, followed: _Followed, context: RequestContext, wait: float = 0.0
    ) -> None:
        """Look at our own collections, and query the archives that are due."""
        await self._follower.check_own(followed.page, followed.archives)
        if self._follower.every is not None:
            await self._query(followed, context, wait)

    async def _query(
        self, followed: _Followed, context: RequestContext, wait: float = 0.0
    ) -> None:
        """Query the archives that are due, and wait for them up to *wait* seconds.

        A client beyond its quota starts no queries.
        """
        follower = self._follower
        charge = None if context.quota is None else await context.quota.charge(followed.page)
        try:
            if charge is not None and not charge.granted:
                return
            queries = await follower.start_queries(followed.page, followed.archives)
            if queries and charge is not None:
                charge.use()
        finally:
            if charge is not None:
                charge.settle()
        if queries and wait:
            await asyncio.wait(queries, timeout=wait)

    async def _stream(
        self, request: ClientRequest, followed: _Followed
    ) -> Response | StreamingResponse:
        headers = {"Content-Type": EVENTS, "Cache-Control": "no-store", "Vary": _VARY}
        if request.method == "HEAD":
            return Response(200, headers)
        if self._streams >= MOST_STREAMS:
            detail = f"there are already {MOST_STREAMS} streams of changes; read the feed"
            return problem(503, "too-busy", detail, headers={"Retry-After": "60"})
        # Counted before anything is awaited: many clients may ask at the same time.
        self._streams += 1
        try:
            await self._follower.follow(followed.page)
            position = await self._position(request, followed)
        except BaseException:
            self._streams -= 1
            raise
        body = self._counted(self._events(request, followed, position))
        # Started, so that closing it ends the stream and its count.
        await anext(body)
        return StreamingResponse(200, headers, body)

    async def _counted(
        self, events: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield an empty part, and *events*; then the stream is no longer counted."""
        try:
            yield b""
            async for event_ in events:
                yield event_
        finally:
            self._streams -= 1
            await events.aclose()

    async def _position(self, request: ClientRequest, followed: _Followed) -> EventId:
        """Return the last event that the client has."""
        file, page = self._follower.file, followed.page
        read = read_event_id(request.header("Last-Event-ID") or "")
        if read is None:
            # Only what is noticed from now on: what is there now must be known first.
            await self._look(followed, request.context)
            return EventId(file.name, await asyncio.to_thread(file.last_number, page))
        if read.file == file.name:
            return read
        # The file was replaced: numbers mean nothing, times do.
        number = await asyncio.to_thread(file.last_until, page, read.stamp)
        return EventId(file.name, number, read.stamp)

    async def _events(
        self, request: ClientRequest, followed: _Followed, since: EventId
    ) -> AsyncGenerator[bytes, None]:
        """Yield changes after *since* until the stream has lasted long enough."""
        position = since.number
        loop, file, timing = asyncio.get_running_loop(), self._follower.file, self._timing
        ends, sent = loop.time() + timing.longest, loop.time()
        due = sent
        # An id without data: a client that connects again goes on from here.
        yield f"retry: {_RETRY}\nid: {since}\n\n".encode()
        while loop.time() < ends and not self._ends():
            news = self._follower.news
            await self._follower.check_own(followed.page, followed.archives)
            if self._follower.every is not None and loop.time() >= due:
                due = loop.time() + _BETWEEN_QUERIES
                await self._query(followed, request.context)
            changes = await asyncio.to_thread(
                file.after, followed.page, position, _MOST_EVENTS, followed.hidden
            )
            for change in changes:
                yield event(change, file.name)
                position, sent = change.number, loop.time()
            if len(changes) == _MOST_EVENTS:
                continue
            if loop.time() - sent >= timing.heartbeat:
                sent = loop.time()
                yield b": no change\n\n"
            try:
                async with asyncio.timeout(timing.pause):
                    await news.wait()
            except TimeoutError:
                pass


class AnnouncedWriter:
    """A writer of a store that wakes the streams of changes after each revision."""

    def __init__(self, writer: RevisionWriter, announce: Callable[[], None]) -> None:
        self._writer = writer
        self._announce = announce

    @property
    def settings(self) -> StoreSettings:
        """The settings of the store."""
        return self._writer.settings

    async def write(self, revision: Revision) -> Written:
        """Write *revision*. Raises StoreError."""
        written = await self._writer.write(revision)
        self._announce()
        return written


def _target(request: ClientRequest) -> tuple[str, str]:
    """Return the format, and the URL or identifier. Raises EarlyResponse."""
    name, slash, rest = request.rest.partition("/")
    if slash and name in FORMATS:
        return name, _named(rest)
    try:
        text, parameters = without_parameters(request.rest)
    except UnknownParameter as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
    if parameters.keys() - {FORMAT_PARAMETER}:
        detail = f"the only parameter of {PREFIX} is {FORMAT_PARAMETER}"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    form = parameters.get(FORMAT_PARAMETER)
    if form is not None and form not in FORMATS:
        detail = f"{FORMAT_PARAMETER} must be one of {', '.join(FORMATS)}"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    return form or _accepted(request.header("Accept")), _named(text)


def _named(text: str) -> str:
    if not text:
        detail = f"write {PREFIX} and the URL of a page, or an identifier"
        raise EarlyResponse(problem(404, "not-found", detail))
    return identifier_in(text)


def _accepted(accept: str | None) -> str:
    """Return the format that the client prefers; Atom if it accepts none of them.

    Plain JSON is accepted for JSON Feed, which few clients know to ask for.
    """
    if accept is None:
        return "atom"
    asked = {form: weight(accept, media) for form, media in FORMATS.items()}
    asked["json"] = max(asked["json"], weight(accept, "application/json"))
    if "text/event-stream" not in accept.lower():
        asked["events"] = 0.0  # a wildcard is no wish for an endless response
    return max(asked, key=lambda form: asked[form])
