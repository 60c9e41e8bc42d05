"""CDX servers over all archives: the Wayback Machine's ``/cdx/search/cdx``, pywb's ``/cdx``.

Who is missing is said in ``Memento-Sources`` as far as it is known before the first byte. Rows
have no room for it, so a list that breaks off later ends abnormally (R-21).
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
from timegate.identifiers.url import read_url
from timegate.resolution.model import Attempt, Deadlines, Preferences, Query, Resolution, Router
from timegate.resolution.preferences import BadPreference
from timegate.resolution.query import query_for_url
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import nothing_found, problem, unreadable
from timegate.responses.timemap import sources
from timegate.timemaps import ArchiveLists, Merge, MergeDeadlines

VARY: Final = "prefer"
_SLICE: Final = 1_000
"""Captures looked at in one go: some 5 ms, in which nobody else is served."""


class Captures:
    """The captures of a URL in all archives, as rows."""

    def __init__(
        self, lists: ArchiveLists, route: Router, deadlines: Deadlines | None = None
    ) -> None:
        self._lists = lists
        self._route = route
        self._deadlines = deadlines or Deadlines()

    async def listed(
        self, request: ClientRequest, asked: CdxQuery, writer: CdxFormat
    ) -> Response | StreamingResponse:
        """Begin to send the rows; an Answer if there are none, or if nobody knows."""
        query = _query(asked.url)
        preferences, applied = request.preferences
        archives = self._route(query, preferences, request.context).order
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences, request.context)
            merge = await stack.enter_async_context(merging)
            await merge.begin(self._pace(preferences))
            rows = _Rows(merge, Selection(asked), writer)
            body = rows.written()
            first = await _first(body)
            headers = _headers(merge, writer, applied)
            if first is None:
                return _nothing(
                    query, preferences, merge, Response(200, headers, writer.nothing)
                )
            rows.announce()
            return StreamingResponse(200, headers, await _begun(first, body, stack.pop_all()))

    def _pace(self, preferences: Preferences) -> MergeDeadlines:
        if preferences.wait is None:
            return MergeDeadlines(self._deadlines.soft, self._deadlines.hard)
        return MergeDeadlines(preferences.wait, preferences.wait)


class WaybackCdx:
    """Answers as the Wayback Machine's CDX server does."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send what was asked for, empty text or ``[]`` if there is nothing."""
        asked = _asked(request, "wayback")
        writer = (WaybackArray if asked.output == "json" else WaybackLines)(asked.fields)
        plain = {"Content-Type": WaybackLines.type, "Vary": VARY}
        if asked.counts_pages:
            return Response(200, plain, b"1\n")
        if asked.page > 0:
            # Nothing at all, also where JSON is wanted: cdx_toolkit pages on while it gets [].
            return Response(200, plain)
        return await self._captures.listed(request, asked, writer)


class PywbCdx:
    """Answers as the CDX server of pywb does."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send what was asked for; 404 if there is nothing, 400 behind the only page (A-3)."""
        asked = _asked(request, "pywb")
        if asked.counts_pages:
            told = b'{"pages": 1, "pageSize": 1, "blocks": 1}\n'
            return Response(200, {"Content-Type": "application/json", "Vary": VARY}, told)
        if asked.page > 0:
            return problem(400, "bad-parameter", "page must be 0: all captures are on it")
        answer = await self._captures.listed(request, asked, _pywb_writer(asked))
        if isinstance(answer, Response) and answer.status == 200:
            # Clients look for the member, and take it for an empty list.
            why = f"No captures found for: {asked.url}"
            kept = {name: answer.headers[name] for name in ("Vary", "Memento-Sources")}
            return problem(404, "no-memento", why, headers=kept, message=why)
        return answer


def _pywb_writer(asked: CdxQuery) -> CdxFormat:
    if asked.output == "json":
        return PywbObjects(asked.fields)
    return WaybackLines(asked.fields) if asked.output == "text" else Cdxj(asked.fields)


class _Rows:
    """The body, made while archives are read."""

    def __init__(self, merge: Merge, selection: Selection, writer: CdxFormat) -> None:
        self._merge = merge
        self._selection = selection
        self._writer = writer
        self._announced: frozenset[str] | None = None

    def announce(self) -> None:
        """From now on nobody else may fail: the header has left."""
        self._announced = frozenset(self._merge.failures)

    async def written(self) -> AsyncGenerator[bytes, None]:
        """Yield the rows; nothing at all if there are none. Raises ArchiveError."""
        head, began = self._writer.head(), False
        async with aclosing(self._selected()) as selected:
            async for captures in selected:
                if captures:
                    yield (b"" if began else head) + self._writer.rows(captures)
                    began = True
        if began:
            yield self._writer.tail(self._selection.resume_key)

    async def _selected(self) -> AsyncGenerator[Sequence[Capture], None]:
        selection = self._selection
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                yield selection.take(piece)
                if selection.done:
                    break
        for piece in _slices(selection.rest()):
            yield piece

    async def _pieces(self) -> AsyncGenerator[Sequence[Capture], None]:
        async with aclosing(self._merge.blocks()) as blocks:
            async for block in blocks:
                for piece in _slices(block):
                    yield piece
                    await asyncio.sleep(0)
                self._check()
        self._check()

    def _check(self) -> None:
        if self._merge.cut_short:
            raise ArchiveError("all archives", "", "list more captures than can be merged")
        if self._announced is not None:
            for archive, error in self._merge.failures.items():
                if archive not in self._announced:
                    raise error


def _slices(captures: Sequence[Capture]) -> Iterator[Sequence[Capture]]:
    for start in range(0, len(captures), _SLICE):
        yield captures[start : start + _SLICE]


def _asked(request: ClientRequest, dialect: Dialect) -> CdxQuery:
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


async def _begun(
    first: bytes, body: AsyncGenerator[bytes, None], stack: AsyncExitStack
) -> AsyncGenerator[bytes, None]:
    """Return *first* and the rest as one body, at whose end the archives are let go of.

    Begun already: closing a generator that is not runs no ``finally``, and nobody reads the
    body of an answer to HEAD.
    """
    whole = _whole(first, body, stack)
    await anext(whole)
    return whole


async def _whole(
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


def _nothing(query: Query, preferences: Preferences, merge: Merge, empty: Response) -> Response:
    """Return *empty*, but only if everybody said so."""
    if not merge.failures and merge.asked:
        return empty
    attempts = tuple(
        Attempt(archive, merge.failures.get(archive), 0.0, query.original)
        for archive in merge.asked
    )
    kept = {name: empty.headers[name] for name in ("Vary", "Memento-Sources")}
    return nothing_found(Resolution(query, preferences, None, (), attempts), None, kept)
