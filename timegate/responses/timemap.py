"""TimeMap responses, written while the lists of the archives are merged.

``Memento-Sources`` names the archives that are known to be missing before the first octet is
sent. It says ``complete`` only if all lists have ended by then, ``pending`` if some have not.
Archives that fail later are named at the end if the format allows that; otherwise the
connection is aborted, so that the list is not taken for complete (R-21).
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import islice
from typing import Final

from http_sf import Token, ser
from http_sf.types import ParamsType

from archives.diagnostics import Malformed
from archives.registry import Registry
from timegate.identifiers import parse
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Deadlines, Preferences, Query, Resolution, Router
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.model import (
    ClosingBody,
    EarlyResponse,
    Response,
    StreamingResponse,
    weights,
)
from timegate.responses.problems import not_negotiable, nothing_found, unreadable
from timegate.timemaps import (
    FORMATS,
    LINK,
    LINKSET,
    ArchiveLists,
    Ends,
    LinksetWriter,
    Merge,
    MergeDeadlines,
    TimeMapLinks,
    TimeMapWriter,
    written,
)

VARY: Final = "accept, prefer"


class TimeMapResponses:
    """Writes TimeMaps."""

    def __init__(
        self,
        lists: ArchiveLists,
        route: Router,
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._lists = lists
        self._route = route
        self._registry = registry
        self._base_url = base_url
        self._deadlines = deadlines or Deadlines()

    async def respond(  # noqa: PLR0913 -- the parts of a request
        self,
        form: str,
        text: str,
        preferences: Preferences,
        context: RequestContext,
        *,
        applied: Sequence[str] = (),
        accept: str = "",
    ) -> Response | StreamingResponse:
        """Return the TimeMap of the URL or identifier *text*, or a problem.

        *form* is one of `FORMATS`. Raises EarlyResponse.
        """
        query = self._query(text)
        links = TimeMapLinks.of(query.original, self._base_url)
        writer = _writer(form, links, accept)
        archives = self._route(query, preferences, context).order
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences, context)
            merge = await stack.enter_async_context(merging)
            await merge.begin(self._pace(preferences))
            headers = {"Vary": VARY, "Memento-Sources": sources(merge)}
            if applied:
                headers["Preference-Applied"] = ", ".join(applied)
            first = merge.first
            if first is None:
                return _nothing(query, preferences, merge, headers)
            headers |= _headers(writer, merge, links)
            chunks = written(writer, merge, Ends(first, merge.last))
            return StreamingResponse(200, headers, ClosingBody(chunks, stack.pop_all()))

    def _query(self, text: str) -> Query:
        try:
            return query_for(parse(text, self._registry), self._registry)
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint
        except NotNegotiable as error:
            raise EarlyResponse(not_negotiable(error)) from error

    def _pace(self, preferences: Preferences) -> MergeDeadlines:
        if preferences.wait is None:
            return MergeDeadlines(self._deadlines.soft, self._deadlines.hard)
        return MergeDeadlines(preferences.wait, preferences.wait)


def _writer(name: str, names: TimeMapLinks, accept: str) -> TimeMapWriter:
    weight = weights(accept)
    if name == "link" and weight.get(LINKSET, 0.0) > weight.get(LINK, 0.0):
        return LinksetWriter(names)
    return FORMATS[name](names)


def sources(merge: Merge, unjudged: int | None = 0) -> str:
    """Return the value of ``Memento-Sources``: how many archives answered, which did not.

    *unjudged* is the number of captures that a filter could not judge; None if it is not known
    yet.
    """
    missing = sorted(merge.failures)
    params: ParamsType = {"asked": len(merge.asked), "failed": len(missing)}
    if missing:
        # Operators choose the ids of archives; a String is ASCII only (RFC 9651 3.3.3).
        plain = (c for c in " ".join(missing) if c.isascii() and c.isprintable())
        params["missing"] = "".join(islice(plain, 1000))
    if unjudged != 0:
        params["unjudged"] = True if unjudged is None else unjudged
    so_far = "complete" if merge.is_whole else "pending"
    return ser((Token("partial" if missing or unjudged != 0 else so_far), params))


def _headers(writer: TimeMapWriter, merge: Merge, names: TimeMapLinks) -> dict[str, str]:
    # No rel="original": it would declare the TimeMap itself to be a memento (M-55).
    link = (
        f'<{names.timemaps["link"]}>; anchor="{names.original}"; rel="timemap"; type="{LINK}"'
    )
    headers = {
        "Content-Type": writer.type,
        "Link": link,
        "Cache-Control": "no-cache" if merge.failures else "max-age=60",
    }
    count = merge.count()
    if count is not None:
        headers["X-Memento-Count"] = str(count)
    return headers


def _nothing(
    query: Query, preferences: Preferences, merge: Merge, headers: dict[str, str]
) -> Response:
    attempts = tuple(
        Attempt(archive, merge.failures.get(archive), 0.0, query.original)
        for archive in merge.asked
    )
    if attempts and not merge.failures:
        headers = {**headers, "X-Memento-Count": "0"}
    resolution = Resolution(query, preferences, None, (), attempts)
    return nothing_found(resolution, None, headers)
