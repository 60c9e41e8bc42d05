"""Resolving identifiers: ``/resolve/{identifier}``, ``/{identifier}``, and batches by POST.

``/pwid`` and ``/resolve`` with a query answer as the PWID resolver of the national libraries.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import urlencode

from archives.diagnostics import Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.endpoints import REDIRECT, PathDescription
from timegate.event_loop import FairTurns, end
from timegate.identifiers import parse
from timegate.observability.logs import Unforeseen
from timegate.pages.answer_pages import AnswerPages
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query
from timegate.resolution.preferences import (
    ALSO,
    PARAMETERS,
    BadPreference,
    check_archives,
    preferences_from,
    with_also,
)
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.answers import Answers
from timegate.responses.model import (
    FORMAT_PARAMETER,
    OWN_PARAMETERS,
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    UnknownParameter,
    encoded_path,
    identifier_in,
    near_parameter,
    parameters_in,
    resolve_path,
    without_parameters,
)
from timegate.responses.problems import internal, not_negotiable, problem, unreadable

VARY: Final = "accept, prefer"
RESPONSE_FORMS: Final = ("json", "html", "redirect")
"""The values of the parameter ``as``."""
_PREFERENCES: Final = (FORMAT_PARAMETER, *(parameter.name for parameter in PARAMETERS))
PATHS: Final = {
    "/resolve/{identifier}": PathDescription(
        "The best memento of a reference, or the report on it",
        ("identifier", *_PREFERENCES, "Prefer"),
        {**REDIRECT, "200": "The report, or the page"},
    ),
    "/{identifier}": PathDescription(
        "The same as /resolve/{identifier}, without parameters",
        ("identifier", "Prefer"),
        {**REDIRECT, "200": "The report, or the page"},
    ),
    "/pwid": PathDescription(
        "The same as the PWID resolver of the national libraries", (), REDIRECT
    ),
}


class BatchLine(NamedTuple):
    """One line of a batch."""

    identifier: str
    also: tuple[str, ...] = ()
    """Equivalent URLs."""


class Resolve:
    """Answers requests for identifiers.

    The time is part of the identifier, so this is not a TimeGate but an intermediate resource:
    there is no ``Vary: accept-datetime``, and Accept-Datetime is ignored (M-41, D-10).
    """

    def __init__(self, answers: Answers, registry: Registry, pages: AnswerPages) -> None:
        self._answers = answers
        self._registry = registry
        self._pages = pages

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with a redirect to the memento, the report, or the page, as requested."""
        try:
            text, parameters = without_parameters(request.rest)
            return await self._answer(request, text, parameters)
        except (UnknownParameter, BadPreference) as error:
            raise EarlyResponse(_bad_parameter(request.rest, error)) from error

    async def whole(self, request: ClientRequest) -> Response:
        """Answer ``/{identifier}``: the whole target is the identifier, with its query."""
        return await self._answer(request, request.rest, {})

    async def _answer(
        self, request: ClientRequest, text: str, parameters: Mapping[str, str]
    ) -> Response:
        preferences, applied = self.preferences(request, parameters)
        form = _response_form(parameters, request.header("Accept") or "")
        strict = _is_strict(request.header("Prefer") or "")
        if strict:
            applied = (*applied, "handling=strict")
        query = self._query(identifier_in(text), parameters, strict=strict)
        resolution = await self._answers.resolve(query, preferences, request.context)
        if form == "json":
            return self._answers.described(resolution, applied, vary=VARY)
        if form == "redirect":
            return self._answers.redirect(resolution, applied, vary=VARY)
        always = parameters.get(FORMAT_PARAMETER) == "html"
        return self._pages.redirect_or_page(resolution, applied, vary=VARY, always=always)

    async def line(
        self, line: BatchLine, preferences: Preferences, context: RequestContext
    ) -> bytes:
        """Resolve one line of a batch; return one line of JSON."""
        text = line.identifier
        try:
            preferences = _with_also(preferences, line.also)
            query = self._query(text, {}, strict=False)
        except EarlyResponse as early:
            response = early.response
        else:
            resolution = await self._answers.resolve(query, preferences, context)
            response = self._answers.described(resolution, vary=VARY)
        return row(text, response)

    def preferences(
        self, request: ClientRequest, parameters: Mapping[str, str]
    ) -> tuple[Preferences, Sequence[str]]:
        """Return the preferences of the client. Raises BadPreference."""
        preferences, applied = preferences_from(
            parameters, request.header("Prefer"), request.header("Cache-Control")
        )
        if "archives" in parameters:
            check_archives(preferences, self._registry)
        return preferences, applied

    def _query(self, text: str, parameters: Mapping[str, str], *, strict: bool) -> Query:
        try:
            reading = parse(text, self._registry, strict=strict)
            document = reading.identifier.document
            if document is not None:
                raise EarlyResponse(self._document(document, parameters))
            return query_for(reading, self._registry)
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint
        except NotNegotiable as error:
            raise EarlyResponse(not_negotiable(error)) from error

    def _document(self, duri: str, parameters: Mapping[str, str]) -> Response:
        """Redirect to the document that describes the thing of a ``tdb`` (D-8)."""
        address = self._answers.base_url + resolve_path(duri)
        query = urlencode(parameters, safe=",")
        location = "?".join(filter(None, (address, query)))
        return Response(303, {"Location": location, "Vary": VARY})


def _bad_parameter(rest: str, error: UnknownParameter | BadPreference) -> Response:
    """Return the problem for a parameter in *rest*, with the path if it belongs to the URL."""
    encoded = encoded_path(rest, error.name)
    detail = f"{error}; if it belongs to the URL, percent-encode the URL: {encoded}"
    return problem(400, "bad-parameter", detail, parameter=error.name, encoded=encoded)


def _with_also(preferences: Preferences, urls: Sequence[str]) -> Preferences:
    try:
        return with_also(preferences, urls)
    except BadPreference as error:
        raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error


def row(text: str, response: Response) -> bytes:
    """Return the line of a batch for the input *text*."""
    document = json.loads(response.body) if response.body else {}
    return json.dumps({"input": text, "status": response.status, **document}).encode() + b"\n"


def _is_strict(prefer: str) -> bool:
    """Whether the client wants faulty identifiers rejected, not repaired (RFC 7240 4.4)."""
    items = (item.partition(";")[0].replace(" ", "").lower() for item in prefer.split(","))
    return "handling=strict" in items


def _response_form(parameters: Mapping[str, str], accept: str) -> str:
    """Return one of `RESPONSE_FORMS`. Raises BadPreference."""
    wanted = parameters.get(FORMAT_PARAMETER)
    if wanted in RESPONSE_FORMS:
        return wanted
    if wanted is not None:
        raise BadPreference(FORMAT_PARAMETER, " or ".join(RESPONSE_FORMS))
    if "application/json" in accept:
        return "json"
    return "html" if "text/html" in accept else "redirect"


MOST_BYTES: Final = 1024 * 1024
"""Octets in one batch."""
MOST_LINES: Final = 1000
_AT_ONCE: Final = 8
"""Lines of one batch that are resolved at the same time."""
_STARTS_PER_TURN: Final = 4
"""Lines of all batches that are started in one iteration of the event loop: some 0.5 ms. With
256 batches at once, 2,048 lines were started together, and all other requests waited."""
_BODY_DEADLINE: Final = 15.0
_HEADERS: Final = {"Content-Type": "application/x-ndjson"}


class BatchResolve:
    """Answers batches."""

    def __init__(self, resolve: Resolve, body_deadline: float = _BODY_DEADLINE) -> None:
        self._resolve = resolve
        self.largest_body = MOST_BYTES
        self.body_deadline = body_deadline
        self._starts = FairTurns(_STARTS_PER_TURN)
        self._log = Unforeseen("item-internal-error")

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse:
        """Resolve the lines of *body* a few at a time; rows come in the order of completion."""
        lines = list(_lines(body))
        try:
            parameters = _of_batch(request.rest.removeprefix("?"))
            preferences, _ = self._resolve.preferences(request, parameters)
        except (UnknownParameter, BadPreference) as error:
            return problem(400, "bad-parameter", str(error), parameter=error.name)
        if preferences.also:
            detail = "also belongs to one identifier: write it into its line, as JSON"
            return problem(400, "bad-parameter", detail, parameter=ALSO)
        rows = self._rows(lines, preferences, request.context)
        return StreamingResponse(200, _HEADERS, rows)

    async def _rows(
        self, lines: list[BatchLine], preferences: Preferences, context: RequestContext
    ) -> AsyncGenerator[bytes, None]:
        """Yield rows as they are ready; no line is started while the client reads nothing."""
        loop, remaining = asyncio.get_running_loop(), iter(lines)
        tasks: set[asyncio.Task[bytes]] = set()
        try:
            while True:
                for line in islice(remaining, _AT_ONCE - len(tasks)):
                    tasks.add(loop.create_task(self._line(line, preferences, context)))
                if not tasks:
                    return
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                tasks.difference_update(done)
                for task in done:
                    yield task.result()
        finally:
            await end(tasks)

    async def _line(
        self, line: BatchLine, preferences: Preferences, context: RequestContext
    ) -> bytes:
        """Resolve one line; an unforeseen exception affects only this row."""
        await self._starts.enter()
        try:
            return await self._resolve.line(line, preferences, context)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /resolve", error)
            return row(line.identifier, internal(error))


def _of_batch(query: str) -> Mapping[str, str]:
    """Return the parameters of a batch. Raises UnknownParameter and BadPreference."""
    parameters = parameters_in(query)
    if parameters.get(FORMAT_PARAMETER, "json") != "json":
        raise BadPreference(FORMAT_PARAMETER, "json for a batch")
    return parameters


def _lines(body: bytes) -> Iterator[BatchLine]:
    """Yield the lines: plain, JSON strings, or objects with ``identifier`` and ``also``."""
    text = body.decode(errors="surrogateescape")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        detail = f"a batch may have {MOST_LINES} identifiers; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))
    for line in lines:
        yield _batch_line(line)


def _batch_line(line: str) -> BatchLine:
    if line[0] not in '"{':
        return BatchLine(line.strip())
    try:
        value = json.loads(line)
    except ValueError:
        return BatchLine(line)
    also: tuple[str, ...] = ()
    if isinstance(value, dict):
        also = _texts(value.get(ALSO))
        value = value.get("identifier", line)
    return BatchLine(value if isinstance(value, str) else line, also)


def _texts(value: object) -> tuple[str, ...]:
    """Return the texts in a JSON string or list."""
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in values if isinstance(text, str) and text.strip())


_NAMES: Final = ("archivestring", "pwid")
_MOST_PARAMETERS: Final = 20
_BLANKS: Final = compiled(r"(?:\+|%20)*+")
_ENCODED: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")
_EXAMPLE: Final = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


class _PwidQuery(NamedTuple):
    identifier: str
    parameters: tuple[str, ...]
    """Our own parameters as written: ``wait=3``."""


class PwidResolver:
    """Answers ``/pwid?archiveString=`` and ``/resolve?pwid=``; both accept both names."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer as `Resolve` does."""
        try:
            query = _pwid_query(request.rest.partition("?")[2])
        except UnknownParameter as error:
            detail = f"{error}; if it belongs to the URL, percent-encode the PWID"
            response = problem(400, "bad-parameter", detail, parameter=error.name)
            raise EarlyResponse(response) from error
        if query is None:
            detail = f"write /pwid?archiveString={_EXAMPLE} or /resolve?pwid={_EXAMPLE}"
            raise EarlyResponse(problem(400, "bad-parameter", detail))
        mark = "?" if query.parameters else ""
        # An encoded identifier stays so: `Resolve` decodes it after removing the parameters.
        rest = query.identifier + mark + "&".join(query.parameters)
        return await self._resolve(request._replace(rest=rest))


def _pwid_query(query: str) -> _PwidQuery | None:
    """Return the PWID in *query* and our parameters around it.

    Others, such as the button of a form, are ignored. Raises UnknownParameter for those that
    are misspelled.
    """
    before: list[str] = []
    for _ in range(_MOST_PARAMETERS):
        name, equals, value = query.partition("=")
        if equals and name.lower() in _NAMES:
            identifier, after = _without_own(_stripped(value))
            return _PwidQuery(identifier, (*before, *after)) if identifier else None
        pair, separator, query = query.partition("&")
        if not separator:
            break
        before += _own([pair])
    return None


def _stripped(value: str) -> str:
    """Remove encoded spaces around a PWID, which come from a form with a pasted PWID."""
    blanks = _BLANKS.match(value)
    text = value[blanks.end() :] if blanks else value
    while text.endswith("%20"):
        text = text[:-3]
    return text.rstrip("+") if _ENCODED.match(text) else text


def _without_own(value: str) -> tuple[str, list[str]]:
    """Return *value* without our parameters at its end, and these parameters in order."""
    if _ENCODED.match(value):
        value, _, rest = value.partition("&")
        return _stripped(value), _own(rest.split("&"))
    own: list[str] = []
    while len(own) < _MOST_PARAMETERS:
        before, separator, pair = value.rpartition("&")
        if not (separator and _is_own(pair)):
            break
        own.insert(0, pair)
        value = before
    if own:
        # Beside ours, a misspelled one is not part of the URL of the PWID.
        _own(value.split("&")[1:])
    return value, own


def _own(pairs: Sequence[str]) -> list[str]:
    """Return our parameters among *pairs*. Raises UnknownParameter for a misspelled one."""
    for pair in pairs:
        name = pair.partition("=")[0]
        if not _is_own(pair) and near_parameter(name):
            raise UnknownParameter(name)
    return [pair for pair in pairs if _is_own(pair)]


def _is_own(pair: str) -> bool:
    name, equals, _ = pair.partition("=")
    return bool(equals) and name in OWN_PARAMETERS
