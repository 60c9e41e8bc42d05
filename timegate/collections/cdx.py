"""The index of a local collection as pywb's CDX server tells it, so that a pywb can replay it.

``/collections/{id}/cdx?url=``: one URL, or all that begin with it, of its host or its domain.
Rows leave while the index is read; what breaks off ends abnormally (R21).
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.surt import surt
from archives.uri import check_text
from archives.warc_index.model import IndexRow
from timegate.cdx import (
    FILED,
    Capture,
    CdxFormat,
    Cdxj,
    CdxQuery,
    Filed,
    PywbObjects,
    Selection,
    WaybackLines,
    parameters_in,
    query_from,
)
from timegate.collections.access import CollectionAccess, address
from timegate.resolution.preferences import BadPreference
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem, unreadable

_SLICE: Final = 1_000
"""Captures looked at in one go: some 5 ms, in which nobody else is served."""
_ONE_PAGE: Final = b'{"pages": 1, "pageSize": 1, "blocks": 1}\n'


class CollectionCdx:
    """Answers as the CDX server of pywb does."""

    def __init__(self, shelf: CollectionAccess, base_url: str) -> None:
        self._shelf = shelf
        self._base_url = base_url

    async def __call__(self, call: ClientRequest) -> Response | StreamingResponse:
        """Send what was asked for; 404 if there is nothing, 400 behind the only page (A-3)."""
        asked = _asked(call)
        if asked.counts_pages:
            return Response(200, {"Content-Type": "application/json"}, _ONE_PAGE)
        if asked.page > 0:
            return problem(400, "bad-parameter", "page must be 0: all captures are on it")
        writer = _writer(asked)
        body = self._written(asked, writer)
        try:
            first = await anext(body, None)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)
        if first is None:
            # Clients look for the member, and take it for an empty list.
            why = f"No captures found for: {asked.url}"
            return problem(404, "no-memento", why, message=why)
        headers = {"Content-Type": writer.type, "Cache-Control": "no-cache"}
        return StreamingResponse(200, headers, await _begun(first, body))

    async def _written(self, asked: CdxQuery, writer: CdxFormat) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._selected(asked)) as selected:
            async for captures in selected:
                if captures:
                    yield writer.rows(captures)

    async def _selected(self, asked: CdxQuery) -> AsyncGenerator[Sequence[Capture], None]:
        selection = Selection(asked)
        async with aclosing(self._rows(asked)) as batches:
            async for rows in batches:
                for start in range(0, len(rows), _SLICE):
                    piece = [self._filed(row) for row in rows[start : start + _SLICE]]
                    yield selection.take(piece)
                    await asyncio.sleep(0)
                if selection.done:
                    break
        rest = selection.rest()
        for start in range(0, len(rest), _SLICE):
            yield rest[start : start + _SLICE]

    def _rows(self, asked: CdxQuery) -> AsyncGenerator[Sequence[IndexRow], None]:
        if asked.match == "exact":
            return self._shelf.captures_of(asked.url)
        return self._shelf.captures_between(*key_range(asked.url, asked.match))

    def _filed(self, row: IndexRow) -> Filed:
        uri = address(self._base_url, self._shelf.id, row.stamp, row.url)
        return Filed(
            row.stamp,
            uri,
            row.url,
            self._shelf.id,
            row.status,
            row.mime,
            row.digest,
            row.surt,
            row.length,
            row.offset,
            row.name,
        )


def key_range(url: str, match: str) -> tuple[str, str]:
    """Return the SURT with which a range begins, and the first that is behind it.

    ``com,example)/`` are the pages of a host, and ``com,example,`` begins its subdomains; the
    characters in that order are ``)``, ``*``, ``+``, ``,``, ``-``.
    """
    key = surt(url)
    if match == "prefix":
        # example.com is its front page, and the beginning of all others.
        return key, key[:-1] + chr(ord(key[-1]) + 1)
    host = key.partition(")")[0]
    return f"{host})/", f"{host}*" if match == "host" else f"{host}-"


def _asked(call: ClientRequest) -> CdxQuery:
    try:
        asked = query_from(parameters_in(call.rest), "pywb", ranges=True)
        check_text(asked.url)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, call.rest)) from complaint
    return asked


def _writer(asked: CdxQuery) -> CdxFormat:
    writers: dict[str, type[PywbObjects | WaybackLines | Cdxj]] = {
        "json": PywbObjects,
        "text": WaybackLines,
    }
    return writers.get(asked.output, Cdxj)(asked.fields or FILED)


async def _begun(
    first: bytes, body: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Return *first* and the rest as one body, begun, so that closing it ends the reading."""
    whole = _whole(first, body)
    await anext(whole)
    return whole


async def _whole(
    first: bytes, body: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(body):
        yield b""
        yield first
        async for chunk in body:
            yield chunk
