"""``/timemap/html/{URL}``: all captures of a page, for people: by year, by day and by archive.

The captures are counted, filtered and paged here, so that the page needs no script and its
size does not depend on their number. The parameters of the form follow a URL that is
percent-encoded; all of a URL that is not belongs to the URL, as in the other TimeMaps.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

from cachetools import LRUCache

from archives.errors import Resting
from archives.registry import Registry
from timegate.event_loop import end
from timegate.pages.capture_table import CaptureTable
from timegate.pages.capture_view import (
    CaptureAddress,
    CaptureFields,
    CapturesView,
    captures_view,
)
from timegate.pages.rendering import AT_ONCE, HEADERS, Pages, wants_page
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Deadlines, Preferences, Router
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.responses.answer_view import name_of
from timegate.responses.answers import VARY_PAGE
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.responses.timemap import listed_query, nothing_listed
from timegate.timemaps import ArchiveLists, Merge, MergeDeadlines

MOST_CAPTURES: Final = 300_000
"""Captures of one table: some 30 MB."""
_MOST_BYTES: Final = 48 * 1024 * 1024
"""Of all tables that are kept. With 100,000 captures of three archives on loopback, another
page of the list takes 0.21 s (0.11 to 0.38) from a table that was kept, and 3.0 s (2.97 to
3.27) if all is read again."""
_MOST_RUNNING: Final = 8
"""Tables that are read at the same time, in one process."""
_KEPT: Final = 600.0
"""Seconds for which a complete table is kept."""
_KEPT_PARTIAL: Final = 60.0
"""Seconds for which a table is kept that lacks an archive, so that its pages agree."""
_TOTAL: Final = 25.0
"""Seconds for reading all lists."""

_Key = tuple[str, tuple[str, ...], bool]


class _Kept(NamedTuple):
    until: float
    table: CaptureTable


class CaptureTables:
    """Reads tables of captures, and keeps those of the last minutes. A context manager.

    The tasks belong to this object: a table is read to its end and kept when its client leaves.
    """

    def __init__(
        self,
        lists: ArchiveLists,
        deadlines: Deadlines,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lists = lists
        self._deadlines = deadlines
        self._clock = clock
        self._kept: LRUCache[_Key, _Kept] = LRUCache(_MOST_BYTES, lambda kept: kept.table.size)
        self._running: dict[_Key, asyncio.Task[CaptureTable]] = {}

    @property
    def wait(self) -> float:
        """Seconds for each list to begin."""
        return min(self._deadlines.hard, LONGEST_WAIT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await end(list(self._running.values()))

    def read(
        self,
        archives: tuple[str, ...],
        original: str,
        preferences: Preferences,
        context: RequestContext,
        *,
        detailed: bool,
    ) -> "asyncio.Future[CaptureTable] | None":
        """Return the table; None if too many are being read."""
        key = (original, archives, detailed)
        kept = None if preferences.no_cache else self._kept.get(key)
        if kept is not None and self._clock() < kept.until:
            ready: asyncio.Future[CaptureTable] = asyncio.get_running_loop().create_future()
            ready.set_result(kept.table)
            return ready
        running = self._running.get(key)
        if running is None and len(self._running) < _MOST_RUNNING:
            reading = self._read(key, preferences, context)
            running = asyncio.get_running_loop().create_task(reading)
            self._running[key] = running
            running.add_done_callback(lambda _: self._running.pop(key, None))
        return running

    async def _read(
        self, key: _Key, preferences: Preferences, context: RequestContext
    ) -> CaptureTable:
        original, archives, detailed = key
        table = CaptureTable(archives)
        merging = self._lists.merged(
            archives, original, preferences, context, detailed=detailed
        )
        async with merging as merge:
            hard = self.wait
            await merge.begin(MergeDeadlines(hard, hard, stall=hard, total=_TOTAL))
            await _fill(table, merge)
            if not any(isinstance(error, Resting) for error in merge.failures.values()):
                seconds = _KEPT_PARTIAL if merge.failures else _KEPT
                self._keep(key, _Kept(self._clock() + seconds, table))
        return table

    def _keep(self, key: _Key, kept: _Kept) -> None:
        if kept.table.size <= _MOST_BYTES:
            self._kept[key] = kept


async def _fill(table: CaptureTable, merge: Merge) -> None:
    async for block in merge.blocks():
        left = MOST_CAPTURES - len(table)
        table.add(block[:left])
        if len(block) > left:
            table.truncated = True
            break
        await asyncio.sleep(0)
    table.truncated = table.truncated or merge.cut_short
    table.failures = dict(merge.failures)


class CapturesPage:
    """Answers with the page of all captures."""

    def __init__(
        self,
        tables: CaptureTables,
        route: Router,
        registry: Registry,
        pages: Pages,
        at_once: float = AT_ONCE,
    ) -> None:
        self._tables = tables
        self._route = route
        self._registry = registry
        self._pages = pages
        self._at_once = at_once

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Return the page; browsers get its beginning while the lists are read."""
        fields = CaptureFields.of(request.rest)
        query = listed_query(fields.url, self._registry)
        preferences, _ = request.preferences
        archives = self._route(query, preferences, request.context).order
        asked = CaptureAddress(self._pages.root, query.original, fields)
        reading = self._tables.read(
            archives, query.original, preferences, request.context, detailed=bool(fields.status)
        )
        if reading is None:
            detail = "too many lists of captures are being read"
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        is_page = wants_page(request.header("Accept")) and request.method == "GET"
        await asyncio.wait({reading}, timeout=self._at_once if is_page else None)
        if not reading.done():
            chunks = self._streamed(asked, archives, reading, request.context)
            return StreamingResponse(200, _HEADERS, chunks)
        table = reading.result()
        if not len(table):
            vary = {"Vary": VARY_PAGE}
            return nothing_listed(
                query, preferences, archives, table.failures, vary, self._registry
            )
        view = await self._view(asked, table, request.context)
        body = self._pages.render("captures", view=view, archives=())
        return Response(400 if view.complaints else 200, _HEADERS, body.encode())

    async def _streamed(
        self,
        asked: CaptureAddress,
        archives: tuple[str, ...],
        reading: "asyncio.Future[CaptureTable]",
        context: RequestContext,
    ) -> AsyncGenerator[bytes, None]:
        """Yield the beginning of the page, and the rest when all lists are read."""
        names = [name_of(archive, self._registry) for archive in archives]
        empty = captures_view(
            asked, CaptureTable(archives), self._registry, context.hidden, self._tables.wait
        )
        before, after = self._pages.halves("captures", view=empty, archives=names)
        yield before
        table = await asyncio.shield(reading)
        view = await self._view(asked, table, context)
        yield self._pages.render("capture_parts", view=view).encode()
        yield after

    async def _view(
        self, asked: CaptureAddress, table: CaptureTable, context: RequestContext
    ) -> CapturesView:
        # Counting 100,000 captures takes 34 ms, in which other requests are served.
        return await asyncio.to_thread(
            captures_view, asked, table, self._registry, context.hidden, self._tables.wait
        )


_HEADERS: Final = {**HEADERS, "Vary": VARY_PAGE, "Cache-Control": "no-cache"}
