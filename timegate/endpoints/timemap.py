"""TimeMaps: ``/timemap/{link,json,cdxj}/{URL or identifier}``.

``Accept-Datetime`` means nothing here: a TimeMap is about all times.
"""

import re
from typing import Final

from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import problem
from timegate.responses.timemap import TimeMapResponses
from timegate.timemaps import FORMATS

# Time Travel: /timemap/link/1/http://...
_PAGE: Final = re.compile(r"([0-9]{1,6})/(?=[A-Za-z])")


class TimeMapEndpoint:
    """Answers requests for TimeMaps."""

    def __init__(self, timemaps: TimeMapResponses) -> None:
        self._timemaps = timemaps

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the TimeMap, or say why there is none."""
        form, _, text = request.rest.partition("/")
        if form not in FORMATS or not text:
            raise EarlyResponse(_no_such_format())
        preferences, applied = request.preferences
        return await self._timemaps.respond(
            form,
            identifier_in(_first_page(text)),
            preferences,
            request.context,
            applied=applied,
            accept=request.header("Accept") or "",
        )


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
