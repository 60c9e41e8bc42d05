"""CDX servers over all archives: the Wayback Machine's ``/cdx/search/cdx``, pywb's ``/cdx``.

``Memento-Sources`` names the archives that are known to be missing before the first octet is
sent. If an archive fails later, the response is aborted, because rows cannot say so (R-21).
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.uri import check_text
from timegate.cdx import (
    Capture,
    CdxFormat,
    Cdxj,
    CdxQuery,
    Dialect,
    PywbObjects,
    Selection,
    WaybackArray,
    WaybackLines,
    parameters_in,
    query_from,
)
from timegate.endpoints import PathDescription
from timegate.identifiers.url import read_url
from timegate.resolution.model import Attempt, Deadlines, Preferences, Query, Resolution, Router
from timegate.resolution.preferences import BadPreference
from timegate.resolution.query import query_for_url
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import nothing_found, problem, unreadable
from timegate.responses.timemap import sources
from timegate.timemaps import ArchiveLists, Merge, MergeDeadlines

VARY: Final = "prefer"
PATHS: Final = {
    "/cdx/search/cdx": PathDescription("CDX server as that of the Wayback Machine"),
    "/cdx": PathDescription("CDX server as that of pywb"),
}
_SLICE: Final = 1_000
"""Captures processed at once: some 5 ms, during which the event loop is blocked."""


class Captures:
    """Lists the captures of a URL in all archives, as rows."""

    def __init__(
        self, lists: ArchiveLists, route: Router, deadlines: Deadlines | None = None
    ) -> None:
        self._lists = lists
        self._route = route
        self._deadlines = deadlines or Deadlines()

    async def listed(
        self, request: ClientRequest, cdx_query: CdxQuery, writer: CdxFormat
    ) -> Response | StreamingResponse:
        """Return the rows as a stream; a `Response` if there are none, or that is unknown."""
        query = _query(cdx_query.url)
        preferences, applied = request.preferences
        archives = self._route(query, preferences, request.context).order
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences, request.context)
            merge = await stack.enter_async_context(merging)
            await merge.begin(self._pace(preferences))
            rows = _Rows(merge, Selection(cdx_query), writer)
            body = rows.written()
            first = await _first(body)
            headers = _headers(merge, writer, applied)
            if first is None:
                empty = Response(200, headers, writer.nothing)
                return _no_captures(query, preferences, merge, empty)
            rows.announce()
            return StreamingResponse(200, headers, await _started(first, body, stack.pop_all()))

    def _pace(self, preferences: Preferences) -> MergeDeadlines:
        if preferences.wait is None:
            return MergeDeadlines(self._deadlines.soft, self._deadlines.hard)
        return MergeDeadlines(preferences.wait, preferences.wait)


class WaybackCdx:
    """Answers as the CDX server of the Wayback Machine does."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the captures; empty text or ``[]`` if there are none."""
        query = _cdx_query(request, "wayback")
        writer = (WaybackArray if query.output == "json" else WaybackLines)(query.fields)
        headers = {"Content-Type": WaybackLines.type, "Vary": VARY}
        if query.counts_pages:
            return Response(200, headers, b"1\n")
        if query.page > 0:
            # Empty even for JSON: cdx_toolkit requests further pages while it gets [].
            return Response(200, headers)
        return await self._captures.listed(request, query, writer)


class PywbCdx:
    """Answers as the CDX server of pywb does."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the captures; 404 if there are none, 400 after the only page (A-3)."""
        query = _cdx_query(request, "pywb")
        if query.counts_pages:
            pages = b'{"pages": 1, "pageSize": 1, "blocks": 1}\n'
            return Response(200, {"Content-Type": "application/json", "Vary": VARY}, pages)
        if query.page > 0:
            detail = "page must be 0, because all captures are on one page"
            return problem(400, "bad-parameter", detail)
        response = await self._captures.listed(request, query, _pywb_writer(query))
        if isinstance(response, Response) and response.status == 200:
            # Clients read this member and treat the response as an empty list.
            message = f"No captures found for: {query.url}"
            copied = {name: response.headers[name] for name in ("Vary", "Memento-Sources")}
            return problem(404, "no-memento", message, headers=copied, message=message)
        return response


def _pywb_writer(query: CdxQuery) -> CdxFormat:
    if query.output == "json":
        return PywbObjects(query.fields)
    return WaybackLines(query.fields) if query.output == "text" else Cdxj(query.fields)


class _Rows:
    """The body, written while the lists of the archives are read."""

    def __init__(self, merge: Merge, selection: Selection, writer: CdxFormat) -> None:
        self._merge = merge
        self._selection = selection
        self._writer = writer
        self._announced: frozenset[str] | None = None

    def announce(self) -> None:
        """Note the failures that the headers name; any other failure ends the body."""
        self._announced = frozenset(self._merge.failures)

    async def written(self) -> AsyncGenerator[bytes, None]:
        """Yield the rows; nothing at all if there are none. Raises ArchiveError."""
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
        for captures in _slices(selection.rest()):
            yield captures

    async def _merged(self) -> AsyncGenerator[Sequence[Capture], None]:
        async with aclosing(self._merge.blocks()) as blocks:
            async for block in blocks:
                for captures in _slices(block):
                    yield captures
                    await asyncio.sleep(0)
                self._check()
        self._check()

    def _check(self) -> None:
        """Raise the first failure that the headers do not name."""
        if self._merge.cut_short:
            raise ArchiveError("all archives", "", "list more captures than can be merged")
        if self._announced is not None:
            for archive, error in self._merge.failures.items():
                if archive not in self._announced:
                    raise error


def _slices(captures: Sequence[Capture]) -> Iterator[Sequence[Capture]]:
    for start in range(0, len(captures), _SLICE):
        yield captures[start : start + _SLICE]


def _cdx_query(request: ClientRequest, dialect: Dialect) -> CdxQuery:
    try:
        return query_from(parameters_in(request.rest), dialect)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error


def _query(url: str) -> Query:
    try:
        check_text(url)
        reading = read_url(url, Diagnosis())
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, url)) from complaint
    return query_for_url(reading.identifier.item or url, None, reading.diagnostics)


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


def _headers(merge: Merge, writer: CdxFormat, applied: Sequence[str]) -> dict[str, str]:
    headers = {
        "Content-Type": writer.type,
        "Vary": VARY,
        "Memento-Sources": sources(merge),
        "Cache-Control": "no-cache" if merge.failures else "max-age=60",
    }
    if applied:
        headers["Preference-Applied"] = ", ".join(applied)
    return headers


def _no_captures(
    query: Query, preferences: Preferences, merge: Merge, empty: Response
) -> Response:
    """Return *empty* if all archives have answered, else the problem."""
    if not merge.failures and merge.asked:
        return empty
    attempts = tuple(
        Attempt(archive, merge.failures.get(archive), 0.0, query.original)
        for archive in merge.asked
    )
    copied = {name: empty.headers[name] for name in ("Vary", "Memento-Sources")}
    return nothing_found(Resolution(query, preferences, None, (), attempts), None, copied)
