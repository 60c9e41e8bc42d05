"""TimeMap responses, written while the lists of the archives are merged.

``Memento-Sources`` names the archives that are known to be missing before the first octet is
sent. It says ``complete`` only if all lists have ended by then, ``pending`` if some have not.
Archives that fail later are named at the end if the format allows that; otherwise the
connection is aborted, so that the list is not taken for complete (R-21).

A short list that has ended before the first octet is one response, which clients that request
the same list at the same time share, and which is kept for a minute: of 300 such clients, each
took 18 ms of the processor and 1 MB.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from http import HTTPStatus
from itertools import islice
from typing import Final, Protocol

from http_sf import Token, ser
from http_sf.types import ParamsType

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
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
from timegate.responses.validators import etag, last_modified
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
_SHORT: Final = 5_000
"""Captures of a list that is sent as one response, of some 700 kB."""
_KEEP: Final = 60.0
_FRESH: Final = 60
"""Seconds for which clients may keep a list."""
_VERSION: Final = 1
"""Changes when the writing of a format does."""
_Request = tuple[object, ...]
"""All that the response to a request depends on."""


class TimeMapResponses:
    """Writes TimeMaps."""

    def __init__(  # noqa: PLR0913 -- what the lists and their links depend on
        self,
        lists: ArchiveLists,
        route: Router,
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None = None,
        *,
        changing: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Do not keep lists of the archives in *changing*, not even for a minute."""
        self._clock = clock
        self._lists = lists
        self._route = route
        self._registry = registry
        self._base_url = base_url
        self._deadlines = deadlines or Deadlines()
        self._changing = changing
        self._in_progress: dict[_Request, asyncio.Future[Response | None]] = {}

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
        query = listed_query(text, self._registry)
        links = TimeMapLinks.of(query.original, self._base_url)
        writer = _writer(form, links, accept)
        archives = tuple(self._route(query, preferences, context).order)
        same = (type(writer), query, archives, preferences, *applied)
        if same in self._in_progress and not preferences.no_cache:
            shared = await asyncio.shield(self._in_progress[same])
            if shared is not None:
                return shared
        finished: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        is_first = self._in_progress.setdefault(same, finished) is finished
        response: Response | StreamingResponse | None = None
        try:
            response = await self._merged(
                writer, links, query, archives, preferences, context, applied
            )
        finally:
            if is_first:
                del self._in_progress[same]
                finished.set_result(_sharable(response))
        return response

    async def _merged(  # noqa: PLR0913, PLR0917 -- the parts of a request
        self,
        writer: TimeMapWriter,
        links: TimeMapLinks,
        query: Query,
        archives: Sequence[str],
        preferences: Preferences,
        context: RequestContext,
        applied: Sequence[str],
    ) -> Response | StreamingResponse:
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences, context)
            merge = await stack.enter_async_context(merging)
            await merge.begin(self._pace(preferences))
            headers = {"Vary": VARY, "Memento-Sources": sources(merge)}
            if applied:
                headers["Preference-Applied"] = ", ".join(applied)
            first = merge.first
            if first is None:
                return nothing_listed(
                    query,
                    preferences,
                    merge.asked,
                    merge.failures,
                    headers,
                    self._registry,
                )
            count = merge.count()
            headers |= _headers(writer, merge, links, count) | self._validators(writer, merge)
            chunks = written(writer, merge, Ends(first, merge.last))
            if count is None or count > _SHORT or merge.failures:
                return StreamingResponse(200, headers, ClosingBody(chunks, stack.pop_all()))
            async with aclosing(chunks):
                body = b"".join([chunk async for chunk in chunks])
            keep = 0.0 if self._changing.intersection(archives) else _KEEP
            return Response(200, headers, body, keep)

    def _validators(self, writer: TimeMapWriter, merge: Merge) -> dict[str, str]:
        """Return the fields that say which version of the list this is, and how old it is.

        Without a list that is here as a whole there are none. If one of the lists was read just
        now, or is of a collection of our own, only the ETag says whether something changed.
        """
        version = merge.fingerprint()
        if version is None:
            return {}
        kind = type(writer).__name__
        headers = {"ETag": etag(_VERSION, kind, self._base_url, merge.asked, version)}
        ages = merge.ages.values()
        if not ages:
            return headers
        oldest = int(max(ages))
        headers["Age"] = str(oldest)
        # Caches subtract the age (RFC 9111 4.2).
        headers["Cache-Control"] = f"max-age={oldest + _FRESH}"
        if len(ages) == len(merge.asked):
            headers |= last_modified(self._clock() - min(ages), self._clock)
        return headers

    def _pace(self, preferences: Preferences) -> MergeDeadlines:
        if preferences.wait is None:
            return MergeDeadlines(self._deadlines.soft, self._deadlines.hard)
        return MergeDeadlines(preferences.wait, preferences.wait)


def _sharable(response: Response | StreamingResponse | None) -> Response | None:
    """Return *response* if it is a whole list, and so the response to the same request."""
    if isinstance(response, Response) and response.status == HTTPStatus.OK:
        return response
    return None


def listed_query(text: str, registry: Registry) -> Query:
    """Return the query for the list of the URL or identifier *text*. Raises EarlyResponse."""
    try:
        return query_for(parse(text, registry), registry)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, text)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error


def _writer(name: str, names: TimeMapLinks, accept: str) -> TimeMapWriter:
    weight = weights(accept)
    if name == "link" and weight.get(LINKSET, 0.0) > weight.get(LINK, 0.0):
        return LinksetWriter(names)
    return FORMATS[name](names)


class CountedSources(Protocol):
    """What a merge of lists says of its archives."""

    failures: dict[str, ArchiveError]

    @property
    def asked(self) -> tuple[str, ...]: ...

    @property
    def is_whole(self) -> bool: ...


def sources(merge: CountedSources, unjudged: int | None = 0) -> str:
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


def _headers(
    writer: TimeMapWriter, merge: Merge, names: TimeMapLinks, count: int | None
) -> dict[str, str]:
    # No rel="original": it would declare the TimeMap itself to be a memento (M-55).
    link = (
        f'<{names.timemaps["link"]}>; anchor="{names.original}"; rel="timemap"; type="{LINK}"'
    )
    headers = {
        "Content-Type": writer.type,
        "Link": link,
        "Cache-Control": "no-cache" if merge.failures else f"max-age={_FRESH}",
    }
    if count is not None:
        headers["X-Memento-Count"] = str(count)
    return headers


def nothing_listed(  # noqa: PLR0913, PLR0917 -- the parts of a list
    query: Query,
    preferences: Preferences,
    asked: Sequence[str],
    failures: Mapping[str, ArchiveError],
    headers: Mapping[str, str],
    registry: Registry | None = None,
) -> Response:
    """Return the problem for a list without captures; *failures* by archive."""
    attempts = tuple(
        Attempt(archive, failures.get(archive), 0.0, query.original) for archive in asked
    )
    if attempts and not failures:
        headers = {**headers, "X-Memento-Count": "0"}
    resolution = Resolution(query, preferences, None, (), attempts)
    return nothing_found(resolution, None, headers, names=registry)
