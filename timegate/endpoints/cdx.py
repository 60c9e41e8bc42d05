"""CDX servers over all archives: the Wayback Machine's ``/cdx/search/cdx``, pywb's ``/cdx``.

``Memento-Sources`` names the archives that are known to be missing before the first octet is
sent. If an archive fails later, the response is aborted, because rows cannot say so (R-21). It
also counts the captures that a filter cannot judge, because their archive does not state the
field: they are left out, and an empty list never follows from that.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.registry import Registry
from archives.uri import check_text
from timegate.cdx import (
    Capture,
    CdxFormat,
    Cdxj,
    CdxQuery,
    Dialect,
    PywbObjects,
    RangeLists,
    RangeMerge,
    Selection,
    WaybackArray,
    WaybackLines,
    parameters_in,
    query_from,
)
from timegate.cdx.formats import PYWB, URL_M, WAYBACK
from timegate.endpoints import (
    CDX_PARAMETERS,
    PYWB_CDX,
    TEXT_CONTENT,
    PathDescription,
    answered,
)
from timegate.identifiers.url import read_url
from timegate.resolution.model import Attempt, Deadlines, Preferences, Query, Resolution, Router
from timegate.resolution.preferences import BadPreference, check_archives, preferences_from
from timegate.resolution.query import query_for_url
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import (
    nothing_found,
    problem,
    unjudged_captures,
    unlisted_archives,
    unreadable,
)
from timegate.responses.timemap import sources
from timegate.timemaps import ArchiveLists, Merge, MergeDeadlines

VARY: Final = "prefer"
_CAPTURES: Final = ("Memento-Sources", "Vary", "Cache-Control", "Preference-Applied")
PATHS: Final = {
    "/cdx/search/cdx": PathDescription(
        "CDX server as that of the Wayback Machine, over all archives",
        answered(
            "The captures, oldest first",
            {**TEXT_CONTENT, "application/json": "CdxArray"},
            *_CAPTURES,
        ),
        ("cdx-url", *CDX_PARAMETERS, "cdx-wayback-output"),
    ),
    "/cdx": PathDescription(
        "CDX server as that of pywb, over all archives",
        answered(
            "The captures, oldest first",
            PYWB_CDX,
            *_CAPTURES,
        ),
        ("cdx-url", *CDX_PARAMETERS, "cdx-pywb-output"),
    ),
}
_PREFERENCES: Final = ("archives", "exclude", "wait")
"""Parameters of ours that CDX servers of others do not have."""
MOST_COUNTED: Final = 2_000_000
"""Rows that are counted for the number of pages."""
_SLICE: Final = 2_000
"""CdxCaptures processed at once: some 2 ms without filters, in which no request is served."""


class CdxCaptures:
    """Lists the captures of a URL in all archives, as rows."""

    def __init__(
        self,
        lists: ArchiveLists,
        route: Router,
        registry: Registry,
        deadlines: Deadlines | None = None,
        ranges: RangeLists | None = None,
    ) -> None:
        self._lists = lists
        self._ranges = ranges
        self._route = route
        self._registry = registry
        self._deadlines = deadlines or Deadlines()

    async def listed(
        self, request: ClientRequest, cdx_query: CdxQuery, writer: CdxFormat
    ) -> Response | StreamingResponse:
        """Return the rows as a stream; a `Response` if there are none, or that is unknown."""
        query = _query(cdx_query.url)
        preferences, applied = _preferences(request, self._registry)
        async with AsyncExitStack() as stack:
            merge = await self._merge(stack, request, cdx_query, query, preferences)
            rows = _Rows(merge, cdx_query, writer)
            body = rows.written()
            first = await _first(body)
            headers = _headers(merge, rows.unjudged, writer, applied)
            if first is None:
                empty = Response(200, headers, writer.nothing)
                return _no_captures(query, preferences, rows, empty)
            rows.announce()
            return StreamingResponse(200, headers, await _started(first, body, stack.pop_all()))

    async def counted(self, request: ClientRequest, cdx_query: CdxQuery) -> int:
        """Return the number of rows of a range of URLs. Raises EarlyResponse."""
        query = _query(cdx_query.url)
        preferences, _ = _preferences(request, self._registry)
        every = replace(cdx_query, limit=MOST_COUNTED, offset=0, resume=None)
        async with AsyncExitStack() as stack:
            merge = await self._merge(stack, request, every, query, preferences)
            rows = _Rows(merge, every, _RowCounter())
            try:
                return sum([len(part) async for part in rows.written()])
            except ArchiveError as error:
                detail = f"{error.archive} {error.why}"
                raise EarlyResponse(problem(502, "upstream-incomplete", detail)) from error

    async def _merge(
        self,
        stack: AsyncExitStack,
        request: ClientRequest,
        cdx_query: CdxQuery,
        query: Query,
        preferences: Preferences,
    ) -> Merge | RangeMerge:
        """Return the merge of the lists, which have begun; *stack* ends it."""
        archives = self._route(query, preferences, request.context).order
        pace = self._pace(preferences)
        if cdx_query.is_range:
            if self._ranges is None:
                raise EarlyResponse(problem(400, "bad-parameter", "matchType must be exact"))
            turns = self._lists.turns
            merging = self._ranges.merged(
                archives, cdx_query, preferences, request.context, turns
            )
            merged_range = await stack.enter_async_context(merging)
            await merged_range.begin(pace.soft, pace.hard)
            return merged_range
        merge = await stack.enter_async_context(
            self._lists.merged(
                archives,
                query.original,
                preferences,
                request.context,
                detailed=cdx_query.needs_index,
                wanted=cdx_query.wanted,
            )
        )
        await merge.begin(pace)
        return merge

    def _pace(self, preferences: Preferences) -> MergeDeadlines:
        if preferences.wait is None:
            return MergeDeadlines(self._deadlines.soft, self._deadlines.hard)
        return MergeDeadlines(preferences.wait, preferences.wait)


class WaybackCdx:
    """Answers as the CDX server of the Wayback Machine does."""

    def __init__(self, captures: CdxCaptures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the captures; empty text or ``[]`` if there are none."""
        query = _cdx_query(request, "wayback")
        writer = _wayback_writer(query)
        headers = {"Content-Type": WaybackLines.type, "Vary": VARY}
        if query.counts_pages:
            pages = await _pages(self._captures, request, query)
            return Response(200, headers, f"{pages}\n".encode())
        # Empty even for JSON: cdx_toolkit requests further pages while it gets [].
        if query.page > 0 and not query.is_range:
            return Response(200, headers)
        response = await self._captures.listed(request, query, writer)
        if query.page > 0 and isinstance(response, Response) and response.status == 200:
            return Response(200, {**response.headers, **headers})
        return response


class PywbCdx:
    """Answers as the CDX server of pywb does."""

    def __init__(self, captures: CdxCaptures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the captures; 404 if there are none, 400 after the only page (A-3)."""
        query = _cdx_query(request, "pywb")
        if query.counts_pages:
            pages = await _pages(self._captures, request, query)
            counted = {"pages": pages, "pageSize": 1, "blocks": pages}
            body = json.dumps(counted).encode() + b"\n"
            return Response(200, {"Content-Type": "application/json", "Vary": VARY}, body)
        last = problem(400, "bad-parameter", "page must be less: no captures are left for it")
        if query.page > 0 and not query.is_range:
            return last
        response = await self._captures.listed(request, query, _pywb_writer(query))
        if isinstance(response, Response) and response.status == 200:
            if query.page > 0:
                return last
            # Clients read this member and treat the response as an empty list.
            message = f"No captures found for: {query.url}"
            copied = {name: response.headers[name] for name in ("Vary", "Memento-Sources")}
            return problem(404, "no-memento", message, headers=copied, message=message)
        return response


async def _pages(captures: CdxCaptures, request: ClientRequest, query: CdxQuery) -> int:
    """Return the number of pages, at least one."""
    if not query.is_range:
        return 1
    return max(-(-await captures.counted(request, query) // query.page_rows), 1)


class _RowCounter:
    """Writes an octet for each row, to count them."""

    type = ""
    nothing = b""

    def head(self) -> bytes:
        return b""

    def rows(self, captures: Sequence[Capture]) -> bytes:
        return b"." * len(captures)

    def tail(self, resume_key: str | None) -> bytes:  # noqa: ARG002 -- as other writers
        return b""


def _wayback_writer(query: CdxQuery) -> CdxFormat:
    if query.output == "json":
        default = (*WAYBACK, *query.counters, URL_M)
        return WaybackArray((*query.fields, *query.counters) if query.fields else default)
    return WaybackLines((*(query.fields or WAYBACK), *query.counters))


def _pywb_writer(query: CdxQuery) -> CdxFormat:
    fields = query.fields
    if query.is_range and not fields:
        fields = (*PYWB[:6], "length", *PYWB[6:])
    if query.output == "json":
        return PywbObjects(fields)
    return WaybackLines(fields) if query.output == "text" else Cdxj(fields)


class _Rows:
    """The body, written while the lists of the archives are read."""

    def __init__(self, merge: Merge | RangeMerge, query: CdxQuery, writer: CdxFormat) -> None:
        self.merge = merge
        self.query = query
        keys = merge.keys_before if isinstance(merge, RangeMerge) else _no_keys
        self._selection = Selection(query, keys)
        self._writer = writer
        self._announced: frozenset[str] | None = None
        self._judged_all = not query.doubtful_fields

    @property
    def unjudged(self) -> int | None:
        """The number of captures that filters could not judge; None if it may still grow."""
        return self._selection.unjudged if self._judged_all else None

    @property
    def is_empty(self) -> bool:
        """Whether no row was found, not even one that the offset skips."""
        return self._selection.is_empty

    def announce(self) -> None:
        """Note the failures that the headers name; any other failure ends the body."""
        self._announced = frozenset(self.merge.failures)

    @property
    def unjudged_archives(self) -> frozenset[str]:
        """The archives of these captures, so far."""
        return frozenset(self._selection.unjudged_archives)

    def written(self) -> AsyncGenerator[bytes, None]:
        """Yield the rows; nothing at all if there are none. Raises ArchiveError.

        If all lists are complete, the captures that filters cannot judge are counted before the
        first row is sent.
        """
        at_once = self.merge.is_whole and not self._judged_all
        return _at_once(self._written()) if at_once else self._written()

    async def _written(self) -> AsyncGenerator[bytes, None]:
        head, started = self._writer.head(), False
        async with aclosing(self._selected()) as selected:
            async for captures in selected:
                if captures:
                    yield (b"" if started else head) + self._writer.rows(captures)
                    started = True
        if started:
            yield self._writer.tail(self._selection.resume_key)

    async def _selected(self) -> AsyncGenerator[Sequence[Capture], None]:
        selection = self._selection
        async with aclosing(self._merged()) as merged:
            async for captures in merged:
                yield selection.take(captures)
                if selection.done:
                    break
        self._judged_all = True
        for captures in _slices(selection.rest()):
            yield captures

    async def _merged(self) -> AsyncGenerator[Sequence[Capture], None]:
        async with aclosing(self.merge.blocks()) as blocks:
            async for block in blocks:
                for captures in _slices(block):
                    yield captures
                    await self.merge.turns.next()
                self._check()
        self._check()

    def _check(self) -> None:
        """Raise the first failure that the headers do not name."""
        if self.merge.cut_short:
            raise ArchiveError("all archives", "", "list more captures than can be merged")
        if self._announced is not None:
            for archive, error in self.merge.failures.items():
                if archive not in self._announced:
                    raise error


def _no_keys(_: Capture) -> dict[str, str]:
    return {}


def _slices(captures: Sequence[Capture]) -> Iterator[Sequence[Capture]]:
    for start in range(0, len(captures), _SLICE):
        yield captures[start : start + _SLICE]


def _cdx_query(request: ClientRequest, dialect: Dialect) -> CdxQuery:
    try:
        return query_from(parameters_in(request.rest), dialect)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error


def _preferences(
    request: ClientRequest, registry: Registry
) -> tuple[Preferences, tuple[str, ...]]:
    """Return the preferences in the query string and in the header fields."""
    stated = {
        name: ",".join(values)
        for name, values in parameters_in(request.rest).items()
        if name in _PREFERENCES
    }
    try:
        preferences, applied = preferences_from(
            stated, request.header("Prefer"), request.header("Cache-Control")
        )
        if "archives" in stated:
            check_archives(preferences, registry)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
    return preferences, applied


def _query(url: str) -> Query:
    try:
        check_text(url)
        reading = read_url(url, Diagnosis())
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, url)) from complaint
    return query_for_url(reading.identifier.item or url, None, reading.diagnostics)


async def _at_once(body: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    for part in [part async for part in body]:
        yield part


async def _first(body: AsyncGenerator[bytes, None]) -> bytes | None:
    try:
        return await anext(body, None)
    except ArchiveError as error:
        raise EarlyResponse(problem(502, "upstream-incomplete", error.why)) from error


async def _started(
    first: bytes, body: AsyncGenerator[bytes, None], stack: AsyncExitStack
) -> AsyncGenerator[bytes, None]:
    """Return *first* and the rest as one body, whose end closes *stack*.

    It is started already: closing a generator that was never started runs no ``finally``, and
    the body of a response to HEAD is never read.
    """
    body_with_first = _with_first(first, body, stack)
    await anext(body_with_first)
    return body_with_first


async def _with_first(
    first: bytes, body: AsyncGenerator[bytes, None], stack: AsyncExitStack
) -> AsyncGenerator[bytes, None]:
    async with stack, aclosing(body):
        yield b""
        yield first
        async for chunk in body:
            if chunk:
                yield chunk


def _headers(
    merge: Merge | RangeMerge, unjudged: int | None, writer: CdxFormat, applied: Sequence[str]
) -> dict[str, str]:
    headers = {
        "Content-Type": writer.type,
        "Vary": VARY,
        "Memento-Sources": sources(merge, unjudged),
        "Cache-Control": "no-cache" if merge.failures else "max-age=60",
    }
    if applied:
        headers["Preference-Applied"] = ", ".join(applied)
    return headers


def _no_captures(
    query: Query, preferences: Preferences, rows: _Rows, empty: Response
) -> Response:
    """Return *empty* if all archives have answered and no capture fits, else the problem.

    It is *empty*, too, after the last page: what is left out was said with the first one.
    """
    merge = rows.merge
    copied = {name: empty.headers[name] for name in ("Vary", "Memento-Sources")}
    unlisted = merge.unlisted if isinstance(merge, RangeMerge) else frozenset[str]()
    failed = merge.failures.keys() - unlisted
    if not failed and not rows.is_empty:
        return empty
    if not failed and unlisted and not rows.unjudged:
        return unlisted_archives(sorted(unlisted), copied)
    if not merge.failures and merge.asked:
        if not rows.unjudged:
            return empty
        return unjudged_captures(rows.unjudged, rows.query.doubtful_fields, copied)
    attempts = tuple(
        Attempt(archive, merge.failures.get(archive), 0.0, query.original)
        for archive in merge.asked
        # Of these it is not known that they hold nothing that fits.
        if archive in merge.failures or archive not in rows.unjudged_archives
    )
    return nothing_found(Resolution(query, preferences, None, (), attempts), None, copied)
