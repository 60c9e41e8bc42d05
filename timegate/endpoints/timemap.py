"""TimeMaps: ``/timemap/{format}/{URL or identifier}``; ``Accept-Datetime`` is ignored."""

import re
from collections.abc import Mapping
from typing import Final

from timegate.endpoints import (
    HTML_CONTENT,
    TIMEMAP_HEADERS,
    TIMEMAPS,
    UNCHANGED,
    PathDescription,
    answered,
)
from timegate.resolution.preferences import BadPreference, preferences_from
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    UnknownParameter,
    identifier_in,
    without_parameters,
)
from timegate.responses.problems import problem
from timegate.responses.timemap import TimeMapResponses
from timegate.responses.validators import unless_known
from timegate.timemaps import FORMATS

PATHS: Final = {
    "/timemap/html/{url}": PathDescription(
        "All captures for people: by year, day and archive, with filters",
        answered("The page", HTML_CONTENT, "Vary", "Cache-Control"),
        ("url", "Prefer"),
    ),
    "/timemap/{format}/{url}": PathDescription(
        "The lists of all archives, merged",
        {**answered("All captures, oldest first", TIMEMAPS, *TIMEMAP_HEADERS), **UNCHANGED},
        ("format", "url", "Prefer", "If-None-Match"),
    ),
}
# Time Travel: /timemap/link/1/http://...
_PAGE: Final = re.compile(r"([0-9]{1,6})/(?=[A-Za-z])")


class TimeMapEndpoint:
    """Answers requests for TimeMaps."""

    def __init__(self, timemaps: TimeMapResponses) -> None:
        self._timemaps = timemaps

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the TimeMap, or return the problem; 304 if the client has it already."""
        return await unless_known(request, await self.listed(request))

    async def listed(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the TimeMap, or return the problem."""
        rest, parameters = _own_parameters(request.rest)
        name, text = timemap_target(request._replace(rest=rest))
        prefer, caching = request.header("Prefer"), request.header("Cache-Control")
        try:
            preferences, applied = preferences_from(parameters, prefer, caching)
        except BadPreference as error:
            return problem(400, "bad-parameter", str(error), parameter=error.name)
        return await self._timemaps.respond(
            name,
            text,
            preferences,
            request.context,
            applied=applied,
            accept=request.header("Accept") or "",
        )


def _own_parameters(rest: str) -> tuple[str, Mapping[str, str]]:
    """Return the target, and our parameters, which may follow a URL that is percent-encoded.

    A link cannot send ``Prefer``.
    """
    _, _, text = rest.partition("?")[0].partition("/")
    if identifier_in(text) == text:
        return rest, {}
    try:
        return without_parameters(rest)
    except UnknownParameter:
        return rest, {}


def timemap_target(request: ClientRequest) -> tuple[str, str]:
    """Return the format and the URL or identifier of a request. Raises EarlyResponse."""
    name, _, text = request.rest.partition("/")
    if name not in FORMATS or not text:
        raise EarlyResponse(_no_such_format())
    return name, identifier_in(_first_page(text))


def _first_page(text: str) -> str:
    """Return *text* without the page number of Time Travel, which must be 1."""
    page = _PAGE.match(text)
    if page is None:
        return text
    if int(page[1]) != 1:
        detail = "there is only one page: all captures are on page 1"
        raise EarlyResponse(problem(404, "not-found", detail))
    return text[page.end() :]


def _no_such_format() -> Response:
    addresses = [f"/timemap/{name}/{{URL or identifier}}" for name in FORMATS]
    detail = f"the addresses of TimeMaps are {', '.join(addresses)}"
    return problem(404, "not-found", detail, formats=[*FORMATS])
