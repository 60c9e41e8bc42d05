"""The TimeGate (RFC 7089, pattern 2.1): ``/timegate/{URI-R}`` with ``Accept-Datetime``."""

from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import read_http_date
from archives.moment import Moment
from archives.uri import check_text
from timegate.identifiers.url import read_url
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.model import (
    ClientRequest,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import bad_accept_datetime, problem, unreadable

VARY = "accept-datetime, prefer"


class TimeGateEndpoint:
    """Answers TimeGate requests."""

    def __init__(self, answers: Answers, neighbours: Neighbours) -> None:
        self._answers = answers
        self._neighbours = neighbours

    async def __call__(self, request: ClientRequest) -> Response:
        """Redirect to the closest copy, or say why there is none."""
        text = identifier_in(request.rest)
        try:
            check_text(text)
            reading = read_url(text, Diagnosis())
            original = reading.identifier.item or text
        except Malformed as complaint:
            answer = unreadable(complaint, text)
            return Response(answer.status, {**answer.headers, "Vary": VARY}, answer.body)
        try:
            at = accept_datetime(request)
        except Malformed as complaint:
            links = self._answers.links(query_for_url(original, None))
            return bad_accept_datetime(complaint, {"Vary": VARY, "Link": links})
        preferences, applied = request.preferences
        query = query_for_url(original, at, reading.diagnostics)
        resolution = await self._answers.resolve(query, preferences, request.context)
        if resolution.lacks_neighbours:
            resolution = await self._neighbours.filled_in(resolution, request.context)
        return self._answers.redirect(resolution, applied, vary=VARY)


def accept_datetime(request: ClientRequest) -> Moment | None:
    """Return the time asked for; None where the client did not say (M-14).

    Two fields are one too many: which one counts would be a guess (M-12). An empty one says
    nothing, so it is none: see decision 6.
    """
    value = request.header("Accept-Datetime")
    if value is None or not value.strip():
        return None
    if "accept-datetime" in request.repeated:
        raise Malformed("bad-accept-datetime", "Accept-Datetime came twice", 0)
    return read_http_date(value, Diagnosis())


_SCHEMES: Final = ("http://", "https://")


def forwarded(timegate: Handler, *, enabled: bool) -> dict[str, Handler]:
    """Return who answers requests with absolute URLs, by how these begin."""
    return {scheme: _Forward(timegate if enabled else None, scheme) for scheme in _SCHEMES}


class _Forward:
    """Answers for the URLs of one scheme."""

    def __init__(self, timegate: Handler | None, scheme: str) -> None:
        self._timegate = timegate
        self._scheme = scheme

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer as a TimeGate, or say that this is no proxy."""
        if self._timegate is None:
            detail = "this server is no proxy; ask for /timegate/ with the URL behind it"
            return problem(400, "bad-identifier", detail)
        return await self._timegate(request._replace(rest=self._scheme + request.rest))
