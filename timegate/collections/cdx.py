"""CDX server of a local collection, compatible with pywb's, so that pywb can replay it.

``/collections/{id}/cdx?url=`` lists one URL, or all URLs with that prefix, host or domain. Rows
are sent while the index is read; if reading fails, the response is aborted (R-21).
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.listing.ranges import key_range
from archives.uri import check_text
from archives.warc_index.model import IndexRow
from timegate.cdx import (
    FILED_FIELDS,
    Capture,
    CdxFormat,
    Cdxj,
    CdxQuery,
    FiledCapture,
    PywbObjects,
    Selection,
    WaybackLines,
    parameters_in,
    query_from,
)
from timegate.collections import CollectionAccess, address
from timegate.resolution.preferences import BadPreference
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem, unjudged_captures, unreadable

_CAPTURES_PER_SLICE: Final = 1_000
"""Captures processed at once: some 5 ms, during which the event loop is blocked."""
_PAGE_COUNT: Final = b'{"pages": 1, "pageSize": 1, "blocks": 1}\n'


class CollectionCdx:
    """Answers CDX queries as pywb's CDX server does."""

    def __init__(self, collection: CollectionAccess, base_url: str) -> None:
        self._collection = collection
        self._base_url = base_url

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the captures; 404 if there are none, 400 after the only page (A-3)."""
        query = _cdx_query(request)
        if query.counts_pages:
            return Response(200, {"Content-Type": "application/json"}, _PAGE_COUNT)
        if query.page > 0:
            detail = "page must be 0, because all captures are on one page"
            return problem(400, "bad-parameter", detail)
        writer, selection = _writer(query), Selection(query)
        body = self._write(query, selection, writer)
        try:
            first = await anext(body, None)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)
        if first is None and selection.unjudged and selection.is_empty:
            return unjudged_captures(selection.unjudged, query.doubtful_fields, {})
        if first is None:
            # Clients read this member and treat the response as an empty list.
            message = f"No captures found for: {query.url}"
            return problem(404, "no-memento", message, message=message)
        headers = {"Content-Type": writer.type, "Cache-Control": "no-cache"}
        return StreamingResponse(200, headers, await _started(first, body))

    async def _write(
        self, query: CdxQuery, selection: Selection, writer: CdxFormat
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._selected(query, selection)) as selected:
            async for captures in selected:
                if captures:
                    yield writer.rows(captures)

    async def _selected(
        self, query: CdxQuery, selection: Selection
    ) -> AsyncGenerator[Sequence[Capture], None]:
        async with aclosing(self._rows(query)) as batches:
            async for rows in batches:
                for start in range(0, len(rows), _CAPTURES_PER_SLICE):
                    captures = [
                        self._capture(row) for row in rows[start : start + _CAPTURES_PER_SLICE]
                    ]
                    yield selection.take(captures)
                    await asyncio.sleep(0)
                if selection.done:
                    break
        remaining = selection.rest()
        for start in range(0, len(remaining), _CAPTURES_PER_SLICE):
            yield remaining[start : start + _CAPTURES_PER_SLICE]

    def _rows(self, query: CdxQuery) -> AsyncGenerator[Sequence[IndexRow], None]:
        if query.match == "exact":
            return self._collection.captures_of(query.url, query.wanted)
        return self._collection.captures_between(*key_range(query.url, query.match))

    def _capture(self, row: IndexRow) -> FiledCapture:
        uri = address(self._base_url, self._collection.id, row.stamp, row.url)
        return FiledCapture(
            row.stamp,
            uri,
            row.url,
            self._collection.id,
            row.status,
            row.mime,
            row.digest,
            row.surt,
            row.length,
            row.offset,
            row.name,
        )


def _cdx_query(request: ClientRequest) -> CdxQuery:
    try:
        parameters = parameters_in(request.rest)
        # All captures are on one page, whatever its size.
        parameters.pop("pageSize", None)
        query = query_from(parameters, "pywb")
        check_text(query.url)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, request.rest)) from complaint
    return query


def _writer(query: CdxQuery) -> CdxFormat:
    writers: dict[str, type[PywbObjects | WaybackLines | Cdxj]] = {
        "json": PywbObjects,
        "text": WaybackLines,
    }
    return writers.get(query.output, Cdxj)(query.fields or FILED_FIELDS)


async def _started(
    first: bytes, body: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Return *first* and the rest as one started body, so that closing it ends the reading."""
    body_with_first = _with_first(first, body)
    await anext(body_with_first)
    return body_with_first


async def _with_first(
    first: bytes, body: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(body):
        yield b""
        yield first
        async for chunk in body:
            yield chunk
