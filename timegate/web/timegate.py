"""The TimeGate (RFC 7089, pattern 2.1): ``/timegate/{URI-R}`` with ``Accept-Datetime``."""

from archives.formats.httpdate import read_http_date
from archives.moment import Moment
from archives.reading import Diagnosis, Malformed
from archives.uri import check_text
from timegate.identifiers.url import read_url
from timegate.policies import preferences_from
from timegate.querying import query_for_url
from timegate.surroundings import Neighbours
from timegate.web.answers import Answers
from timegate.web.call import ClientRequest, Response
from timegate.web.problems import bad_accept_datetime, unreadable
from timegate.web.targets import identifier_in

VARY = "accept-datetime, prefer"


class TimeGateEndpoint:
    """Answers TimeGate requests."""

    def __init__(self, answers: Answers, surroundings: Neighbours) -> None:
        self._answers = answers
        self._surroundings = surroundings

    async def __call__(self, call: ClientRequest) -> Response:
        """Redirect to the closest copy, or say why there is none."""
        text = identifier_in(call.rest)
        try:
            check_text(text)
            reading = read_url(text, Diagnosis())
            original = reading.identifier.item or text
        except Malformed as complaint:
            answer = unreadable(complaint, text)
            return Response(answer.status, {**answer.headers, "Vary": VARY}, answer.body)
        try:
            at = accept_datetime(call)
        except Malformed as complaint:
            links = self._answers.links(query_for_url(original, None))
            return bad_accept_datetime(complaint, {"Vary": VARY, "Link": links})
        policy, applied = preferences_from(
            {}, call.header("Prefer"), call.header("Cache-Control")
        )
        query = query_for_url(original, at, reading.diagnostics)
        resolution = await self._answers.resolve(query, policy)
        resolution = await self._surroundings.filled_in(resolution)
        return self._answers.redirect(resolution, applied, vary=VARY)


def accept_datetime(call: ClientRequest) -> Moment | None:
    """Return the time asked for; None where the client did not say (M-14).

    Two fields are one too many: which one counts would be a guess (M-12). An empty one says
    nothing, so it is none: see decision 6.
    """
    value = call.header("Accept-Datetime")
    if value is None or not value.strip():
        return None
    if "accept-datetime" in call.repeated:
        raise Malformed("bad-accept-datetime", "Accept-Datetime came twice", 0)
    return read_http_date(value, Diagnosis())
