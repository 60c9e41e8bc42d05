"""TimeMaps: ``/timemap/{link,json,cdxj}/{URL or identifier}``, sent while they are merged.

What is missing is said in ``Memento-Sources`` as far as it is known before the first byte, and
at the end where the format has room for it. Otherwise a list that is not whole ends abnormally
(R21), as a download does that broke off. ``Accept-Datetime`` means nothing here: a TimeMap is
about all times.
"""

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import islice
from typing import Final

from http_sf import Token, ser
from http_sf.types import ParamsType

from archives.diagnostics import Malformed
from archives.registry import Registry
from timegate.endpoints.targets import identifier_in, weights
from timegate.identifiers import parse
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.preferences import preferences_from
from timegate.resolution.query import NotNegotiable, query_for
from timegate.resolution.resolver import Deadlines, Router
from timegate.responses.model import (
    ClientRequest,
    ClosingBody,
    EarlyResponse,
    Response,
    StreamingResponse,
)
from timegate.responses.problems import not_negotiable, nothing_found, problem, unreadable
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
# Time Travel: /timemap/link/1/http://...
_PAGE: Final = re.compile(r"([0-9]{1,6})/(?=[A-Za-z])")


class TimeMapEndpoint:
    """Answers requests for TimeMaps."""

    def __init__(
        self,
        lists: ArchiveLists,
        route: Router,
        registry: Registry,
        base_url: Callable[[], str],
        deadlines: Deadlines | None = None,
    ) -> None:
        self._lists = lists
        self._route = route
        self._registry = registry
        self._base_url = base_url
        self._deadlines = deadlines or Deadlines()

    async def __call__(self, call: ClientRequest) -> Response | StreamingResponse:
        """Begin to send the TimeMap, or say why there is none."""
        name, _, text = call.rest.partition("/")
        if name not in FORMATS or not text:
            raise EarlyResponse(_no_such_format())
        query = self._query(identifier_in(_first_page(text)))
        preferences, applied = preferences_from(
            {}, call.header("Prefer"), call.header("Cache-Control")
        )
        names = TimeMapLinks.of(query.original, self._base_url())
        writer = _writer(name, names, call.header("Accept") or "")
        archives = self._route(query, preferences).order
        async with AsyncExitStack() as stack:
            merging = self._lists.merged(archives, query.original, preferences)
            merge = await stack.enter_async_context(merging)
            await merge.begin(self._pace(preferences))
            headers = {"Vary": VARY, "Memento-Sources": sources(merge)}
            if applied:
                headers["Preference-Applied"] = ", ".join(applied)
            first = merge.first
            if first is None:
                return _nothing(query, preferences, merge, headers)
            headers |= _headers(writer, merge, names)
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


def _first_page(text: str) -> str:
    """Return *text* without the number of Time Travel's first page; there is no second one."""
    paged = _PAGE.match(text)
    if paged is None:
        return text
    if int(paged[1]) != 1:
        detail = "all captures are on page 1"
        raise EarlyResponse(problem(404, "not-found", detail))
    return text[paged.end() :]


def _no_such_format() -> Response:
    forms = [f"/timemap/{name}/{{URL or identifier}}" for name in FORMATS]
    return problem(404, "not-found", f"there is {', '.join(forms)}", formats=[*FORMATS])


def _writer(name: str, names: TimeMapLinks, accept: str) -> TimeMapWriter:
    liked = weights(accept)
    if name == "link" and liked.get(LINKSET, 0.0) > liked.get(LINK, 0.0):
        return LinksetWriter(names)
    return FORMATS[name](names)


def sources(merge: Merge) -> str:
    """Return the value of ``Memento-Sources``: whether all who were asked have answered."""
    missing = sorted(merge.failures)
    params: ParamsType = {"asked": len(merge.asked), "failed": len(missing)}
    if missing:
        # An operator may call an archive anything; a String holds ASCII only (RFC 9651 3.3.3).
        plain = (c for c in " ".join(missing) if c.isascii() and c.isprintable())
        params["missing"] = "".join(islice(plain, 1000))
    return ser((Token("partial" if missing else "complete"), params))


def _headers(writer: TimeMapWriter, merge: Merge, names: TimeMapLinks) -> dict[str, str]:
    # Not rel="original": that would call the TimeMap itself a memento (M-55).
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
