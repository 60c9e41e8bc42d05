"""``/timeline/{URL}``: the captures for the timeline of a page, as lines of JSON.

Captures are sent as they are merged. The timeline needs the archive of each capture, which a
TimeMap does not state; the host does not identify it either, as one host may serve several
collections. The first line names the archives, the last one those without a list.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.model import Memento
from archives.registry import Registry
from archives.uri import check_text
from timegate.identifiers.url import read_url
from timegate.resolution.model import Deadlines, Query, Router
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.responses.answer_view import name_of
from timegate.responses.model import (
    ClientRequest,
    ClosingBody,
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import not_negotiable, unreadable
from timegate.timemaps import ArchiveLists, Merge, MergeDeadlines
from timegate.timemaps.formats import merge_summary
from timegate.verdict import header_safe

MOST: Final = 300_000
"""Captures of one timeline: more than it has pixels, and about 40 MB in a browser."""
_CHUNK: Final = 2_000
"""Captures in one chunk of the response."""
_HEADERS: Final = {"Content-Type": "application/x-ndjson", "Cache-Control": "no-cache"}


class Timeline:
    """Sends the captures that the timeline is drawn from."""

    def __init__(
        self, lists: ArchiveLists, route: Router, registry: Registry, deadlines: Deadlines
    ) -> None:
        self._lists = lists
        self._route = route
        self._registry = registry
        self._deadlines = deadlines

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Stream the captures of ``{URL}``; there may be none."""
        query = _query(identifier_in(request.rest))
        preferences, _ = request.preferences
        archives = self._route(query, preferences, request.context).order
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences, request.context)
            merge = await stack.enter_async_context(merging)
            return StreamingResponse(
                200, _HEADERS, ClosingBody(self._lines(merge), stack.pop_all())
            )

    async def _lines(self, merge: Merge) -> AsyncGenerator[bytes, None]:
        names = {archive: name_of(archive, self._registry) for archive in merge.asked}
        yield _line({"archives": names})
        # The page is already visible, so slow archives may use all of their time.
        await merge.begin(MergeDeadlines(self._deadlines.hard, self._deadlines.hard))
        left = MOST
        async with aclosing(merge.blocks()) as blocks:
            async for block in blocks:
                for start in range(0, min(len(block), left), _CHUNK):
                    yield _lines(block[start : start + min(_CHUNK, left - start)])
                left -= min(len(block), left)
                if not left:
                    break
        end = merge_summary(merge)
        yield _line({**end, "truncated": bool(end["truncated"]) or not left})


def _query(text: str) -> Query:
    try:
        check_text(text)
        reading = read_url(text, Diagnosis())
        return query_for_url(str(reading.identifier.item), None)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, text)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _lines(captures: Sequence[Memento]) -> bytes:
    rows = ([c.archive, c.stamp[:14], header_safe(c.uri)] for c in captures)
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
