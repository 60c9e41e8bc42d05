"""TimeGate (RFC 7089, pattern 2.1): ``/timegate/{URI-R}`` with ``Accept-Datetime``.

With forward proxying enabled, requests with an absolute URL are answered as TimeGate requests.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import read_http_date, read_instant
from archives.moment import Moment
from archives.uri import check_text
from timegate.endpoints import (
    REDIRECT,
    PathDescription,
)
from timegate.identifiers.url import read_url
from timegate.resolution.model import Preferences
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.preferences import ALSO, BadPreference, preferences_from, prefers
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.model import (
    ClientRequest,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
    without_also,
)
from timegate.responses.problems import bad_accept_datetime, problem, unreadable

PRECISE: Final = "Accept-Datetime-Precise"
"""The requested instant in RFC 3339, with any fraction of a second (T-10)."""
VARY: Final = "accept-datetime, accept-datetime-precise, prefer"
PATHS: Final = {
    "/timegate/{url}": PathDescription(
        "A Memento TimeGate", REDIRECT, ("url", "Accept-Datetime", PRECISE, ALSO, "Prefer")
    ),
}
LENIENT: Final = "handling=lenient"
"""The preference with which ``Accept-Datetime`` may state a fraction of a second."""
RAW_VIEWS: Final = ("original-content", "original-links", "raw")
"""Preferences for the bytes as they were archived (Memento raw proposals; pywb)."""
REWRITTEN: Final = "rewritten"
_Answer = TypeVar("_Answer", Response, StreamingResponse)
_SECOND: Final = 14
_SCHEMES: Final = ("http://", "https://")


class TimeGateEndpoint:
    """Answers TimeGate requests."""

    def __init__(self, answers: Answers, neighbours: Neighbours) -> None:
        self._answers = answers
        self._neighbours = neighbours

    async def __call__(self, request: ClientRequest) -> Response:
        """Redirect to the closest memento, or return the problem."""
        rest, parameters = without_also(request.rest)
        if not parameters:
            return await self.answer_url(request)
        try:
            chosen = preferences_from(
                parameters, request.header("Prefer"), request.header("Cache-Control")
            )
        except BadPreference as error:
            return problem(400, "bad-parameter", str(error), headers={"Vary": VARY})
        return await self._answer(request, rest, *chosen)

    async def answer_url(self, request: ClientRequest) -> Response:
        """Answer a request without parameters: all of its target is the URL."""
        return await self._answer(request, request.rest, *request.preferences)

    async def _answer(
        self,
        request: ClientRequest,
        rest: str,
        preferences: Preferences,
        applied: Sequence[str],
    ) -> Response:
        text = identifier_in(rest)
        try:
            check_text(text)
            reading = read_url(text, Diagnosis())
            original = reading.identifier.item or text
        except Malformed as complaint:
            response = unreadable(complaint, text)
            return Response(response.status, {**response.headers, "Vary": VARY}, response.body)
        try:
            at = accept_datetime(request)
            is_fine = at is not None and len(at.digits) > _SECOND
            if is_fine and request.header(PRECISE) is None:
                applied = (*applied, LENIENT)
        except Malformed as complaint:
            links = self._answers.links(query_for_url(original, None))
            return bad_accept_datetime(complaint, {"Vary": VARY, "Link": links})
        query = query_for_url(original, at, reading.diagnostics)
        view = preferred_view(request)
        if view is not None and view != REWRITTEN:
            # PWID calls the bytes of a single file a part (V-1).
            query = replace(query, precision="part")
        resolution = await self._answers.resolve(query, preferences, request.context)
        if resolution.lacks_neighbours:
            resolution = await self._neighbours.filled_in(resolution, request.context)
        return with_view(self._answers.negotiated(resolution, applied, vary=VARY), view)


def preferred_view(request: ClientRequest) -> str | None:
    """Return the view of a memento that ``Prefer`` names; None if it names none."""
    prefer = request.header("Prefer")
    if prefer is None:
        return None
    return next((view for view in (*RAW_VIEWS, REWRITTEN) if prefers(prefer, view)), None)


def with_view(response: _Answer, view: str | None) -> _Answer:
    """Return *response* with the preference for *view* as applied, if the verdict says so."""
    content = "content=rewritten" if view == REWRITTEN else "content=raw"
    if view is None or content not in response.headers.get("Memento-Precision", ""):
        return response
    applied = response.headers.get("Preference-Applied")
    stated = view if applied is None else f"{applied}, {view}"
    return replace(response, headers={**response.headers, "Preference-Applied": stated})


def accept_datetime(request: ClientRequest) -> Moment | None:
    """Return the requested time; None if there is none (M-14). Raises Malformed.

    A repeated field is rejected: which one counts would be a guess (M-12). An empty field
    counts as missing: see decision 6. With ``Prefer: handling=lenient`` it may be an instant
    with a fraction of a second; ``Accept-Datetime-Precise`` always is one (T-10).
    """
    fine = request.header(PRECISE)
    coarse = _accept_datetime(request)
    if fine is None or not fine.strip():
        return coarse
    instant = None if PRECISE.lower() in request.repeated else read_instant(fine)
    if instant is None:
        why = f"{PRECISE} must be one time, like 2026-11-17T20:35:00.123456789Z"
        raise Malformed("bad-accept-datetime", why, 0)
    if coarse is not None and coarse.digits[:_SECOND] != instant.digits[:_SECOND]:
        why = f"{PRECISE} and Accept-Datetime state different seconds"
        raise Malformed("bad-accept-datetime", why, 0)
    return instant


def _accept_datetime(request: ClientRequest) -> Moment | None:
    value = request.header("Accept-Datetime")
    if value is None or not value.strip():
        return None
    if "accept-datetime" in request.repeated:
        raise Malformed("bad-accept-datetime", "Accept-Datetime is repeated", 0)
    prefer = request.header("Prefer")
    if prefer is not None and prefers(prefer, LENIENT):
        instant = read_instant(value)
        if instant is not None:
            return instant
    return read_http_date(value, Diagnosis())


def forwarded(timegate: Handler, *, enabled: bool) -> dict[str, Handler]:
    """Return the handlers of requests with an absolute URL, by the beginning of the URL."""
    return {scheme: _Forward(timegate if enabled else None, scheme) for scheme in _SCHEMES}


class _Forward:
    """Answers requests with absolute URLs of one scheme."""

    def __init__(self, timegate: Handler | None, scheme: str) -> None:
        self._timegate = timegate
        self._scheme = scheme

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer as the TimeGate; reject the request if forward proxying is disabled."""
        if self._timegate is None:
            detail = (
                "this server is not a forward proxy; request /timegate/ followed by the URL"
            )
            return problem(400, "bad-identifier", detail)
        return await self._timegate(request._replace(rest=self._scheme + request.rest))
