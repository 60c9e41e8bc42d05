"""Resolving identifiers: ``/resolve/{identifier}``, ``/{identifier}``, and batches by POST."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import urlencode

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.registry import Registry
from archives.uri import begins_with_host, scheme_of
from timegate.collections.extents import HeldExtents
from timegate.endpoints import (
    HTML_CONTENT,
    LINES_CONTENT,
    REDIRECT,
    VERDICT,
    AnswerDescription,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.event_loop import FairTurns, SlowWork, end
from timegate.identifiers import parse
from timegate.observability.logs import Unforeseen
from timegate.pages.answer_pages import AnswerPages
from timegate.references import BadInput
from timegate.references.pasted import are_lines, read_list, read_pasted
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import (
    ALSO,
    PARAMETERS,
    BadPreference,
    check_archives,
    preferences_from,
    prefers,
    with_also,
)
from timegate.resolution.query import NotNegotiable, of_cited_copy, query_for
from timegate.responses.answers import Answers
from timegate.responses.model import (
    FORMAT_PARAMETER,
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    UnknownParameter,
    encoded_path,
    identifier_in,
    parameters_in,
    resolve_path,
    without_parameters,
)
from timegate.responses.problems import (
    internal,
    not_negotiable,
    printable,
    problem,
    unreadable,
)
from timegate.responses.report import LONGEST_LINKS
from timegate.verdict.words import DOUBTED, DOUBTED_LINK

VARY: Final = "accept, prefer"
RESPONSE_FORMS: Final = ("json", "html", "redirect")
"""The values of the parameter ``as``."""
_PREFERENCES: Final = (FORMAT_PARAMETER, *(parameter.name for parameter in PARAMETERS))
_RESOLVED: Final = {
    **REDIRECT,
    "303": AnswerDescription("To the document of a tdb", {}, ("Location",)),
    "200": AnswerDescription(
        "The report, or the page", {"application/json": "Report", **HTML_CONTENT}, VERDICT
    ),
}
PATHS: Final = {
    "/resolve/{identifier}": PathDescription(
        "The best memento of a reference, or the report on it",
        _RESOLVED,
        ("identifier", *_PREFERENCES, "Prefer"),
    ),
    "/{identifier}": PathDescription(
        "The same as /resolve/{identifier}, without parameters",
        _RESOLVED,
        ("identifier", "Prefer"),
    ),
    "/resolve": PathDescription(
        "A PWID, as at other PWID resolvers; POST resolves many references",
        _RESOLVED,
        ("pwid", "Prefer"),
        writes={
            "post": WriteDescription(
                "Many references, one per line; the answer is a line of JSON for each",
                {"text/plain": "BatchLines", "text/csv": "BatchLines"},
                answered("A report for each line, in the order of the lines", LINES_CONTENT),
                problems=("408", "413"),
            )
        },
    ),
}


_PDI: Final = ("pdi:", "urn:pdi:")
SeriesAnswers = Callable[[ClientRequest], Awaitable[Response | None]]
"""Answers for the PDI in the target; None if it is of no series of ours."""

_OF_THE_WAYBACK_MACHINE: Final = ("__wb/", "save/", "services/")
"""Addresses that its clients request, as its browser extension does, and that are not here."""


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

    def __init__(
        self,
        answers: Answers,
        registry: Registry,
        pages: AnswerPages,
        held: HeldExtents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """*held* finds sites, lists, images and records in collections of our own."""
        self._now = now
        self._answers = answers
        self._registry = registry
        self._pages = pages
        self._held = held
        self._slow = SlowWork()
        self.series: SeriesAnswers | None = None
        """Answers for PDIs of our own series; set if any is configured."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with a redirect to the memento, the report, or the page, as requested."""
        try:
            text, parameters = without_parameters(request.rest)
            return await self._answer(request, text, parameters)
        except (UnknownParameter, BadPreference) as error:
            raise EarlyResponse(_bad_parameter(request.rest, error)) from error

    async def whole(self, request: ClientRequest) -> Response:
        """Answer ``/{identifier}``: the whole target is the identifier, with its query."""
        if request.rest.startswith(_OF_THE_WAYBACK_MACHINE):
            detail = (
                "this interface of the Wayback Machine is not offered here: for captures see "
                "/cdx/search/cdx?url= and /web/*/{url}, to keep a page see /store/"
            )
            return problem(404, "not-found", detail)
        text = identifier_in(request.rest)
        if scheme_of(text) is None and not begins_with_host(text):
            path = printable(request.rest.partition("?")[0][:_LONGEST_PATH])
            detail = (
                f"/{path} is no page of this server, and no identifier; "
                "/docs is the documentation, /docs/api lists all addresses"
            )
            return problem(404, "not-found", detail)
        return await self._answer(request, request.rest, {})

    async def address(
        self, request: ClientRequest, text: str, *, names_archive: bool
    ) -> Response:
        """Answer for the PWID *text*; the query of *request* has our parameters alone."""
        try:
            parameters = parameters_in(request.rest.removeprefix("?"))
            return await self._answer(request, text, parameters, names_archive=names_archive)
        except (UnknownParameter, BadPreference) as error:
            response = problem(400, "bad-parameter", str(error), parameter=error.name)
            raise EarlyResponse(response) from error

    async def _answer(
        self,
        request: ClientRequest,
        text: str,
        parameters: Mapping[str, str],
        *,
        names_archive: bool = True,
    ) -> Response:
        own = await self._of_series(request, text, parameters)
        if own is not None:
            return own
        preferences, applied = self.preferences(request, parameters)
        form = _response_form(parameters, request.header("Accept") or "")
        strict = prefers(request.header("Prefer") or "", "handling=strict")
        if strict:
            applied = (*applied, "handling=strict")
        identifier = identifier_in(text)
        resolution = await self._extent(identifier, preferences, request, strict=strict)
        if resolution is None:
            query = self.query(identifier, parameters, strict=strict)
            query = query if names_archive else _in_any_archive(query)
            resolution = await self._answers.resolve(query, preferences, request.context)
        return self._linked(
            self._written(resolution, request, parameters, applied, form), resolution
        )

    async def _of_series(
        self, request: ClientRequest, text: str, parameters: Mapping[str, str]
    ) -> Response | None:
        """Answer for a PDI of our own series; None for all other identifiers."""
        if self.series is None:
            return None
        identifier = identifier_in(text)
        if not identifier.lower().startswith(_PDI):
            return None
        query = urlencode({n: v for n, v in parameters.items() if n == FORMAT_PARAMETER})
        return await self.series(request._replace(rest=f"{identifier}?{query}".rstrip("?")))

    def _written(
        self,
        resolution: Resolution,
        request: ClientRequest,
        parameters: Mapping[str, str],
        applied: Sequence[str],
        form: str,
    ) -> Response:
        if form == "json":
            return self._answers.described(resolution, applied, vary=VARY)
        if form == "redirect":
            return self._answers.redirect(resolution, applied, vary=VARY)
        always = parameters.get(FORMAT_PARAMETER) == "html"
        return self._pages.redirect_or_page(
            resolution, request.context, applied, vary=VARY, always=always
        )

    async def _extent(
        self, text: str, preferences: Preferences, request: ClientRequest, *, strict: bool
    ) -> Resolution | None:
        """Return what one of our collections delivers; None for pages and files."""
        if self._held is None:
            return None
        try:
            reading = parse(text, self._registry, strict=strict)
            found = await self._held.find(reading, request.context)
        except Malformed:
            # `query` reports it.
            return None
        except ArchiveError as error:
            raise EarlyResponse(problem(502, "upstream-incomplete", error.why)) from error
        return None if found is None else replace(found, preferences=preferences)

    def _linked(self, response: Response, resolution: Resolution) -> Response:
        """Return *response* with a link to what the extent contains, if we can list it."""
        memento = resolution.memento
        if self._held is None or memento is None or "Link" not in response.headers:
            return response
        link = self._held.link(resolution.query, memento)
        if link is None or len(link) + len(response.headers["Link"]) > LONGEST_LINKS:
            return response
        links = f"{response.headers['Link']}, {link}"
        return replace(response, headers={**response.headers, "Link": links})

    async def lines(self, body: bytes, content_type: str) -> Iterable[BatchLine]:
        """Return the lines of a batch, or the references of a list. Raises EarlyResponse."""
        media_type = content_type.partition(";")[0].strip().lower()
        read = partial(self._lines, body, media_type)
        if len(body) <= _SHORT_TEXT or are_lines(body, media_type):
            return read()
        try:
            return await self._slow.run(read)
        except TimeoutError as error:
            raise EarlyResponse(_too_busy("the list")) from error

    def _lines(self, body: bytes, media_type: str) -> Iterable[BatchLine]:
        try:
            listed = read_list(body, media_type, self._registry, self._now(), MOST_LINES)
        except BadInput as error:
            raise EarlyResponse(problem(400, "bad-list", str(error))) from error
        if listed is None:
            # Read one by one: as texts, they take a fraction of the memory.
            return map(_batch_line, _lines(body))
        _check_number(len(listed))
        return [BatchLine(" ".join([i.references[0], *i.dates[:1]]), i.also) for i in listed]

    async def line(
        self, line: BatchLine, preferences: Preferences, context: RequestContext
    ) -> bytes:
        """Resolve one line of a batch; return one line of JSON."""
        text, members, headline = line.identifier, dict[str, object](), ""
        try:
            preferences = _with_also(preferences, line.also)
            reference = await self._reference_in(text)
            members, headline = dict(reference.members), reference.headline
            query = self.query(reference.text)
            query = of_cited_copy(query, reference.others, self._registry)
        except EarlyResponse as early:
            response = early.response
        else:
            resolution = await self._answers.resolve(query, preferences, context)
            response = self._answers.described(resolution, vary=VARY)
            if headline and resolution.memento is not None:
                members["headline"] = headline
        return row(text, response, members)

    async def _reference_in(self, text: str) -> "_LineReference":
        """Return the reference in a line of a batch. Raises EarlyResponse."""
        read = partial(_reference_in, text, self._registry, self._now())
        if len(text) <= _SHORT_TEXT:
            return read()
        try:
            return await self._slow.run(read)
        except TimeoutError as error:
            raise EarlyResponse(_too_busy("the line")) from error

    def preferences(
        self, request: ClientRequest, parameters: Mapping[str, str]
    ) -> tuple[Preferences, Sequence[str]]:
        """Return the preferences of the client. Raises BadPreference."""
        preferences, applied = preferences_from(
            parameters, request.header("Prefer"), request.header("Cache-Control")
        )
        if "archives" in parameters:
            check_archives(preferences, self._registry)
        return replace(preferences, live=True), applied

    def query(
        self, text: str, parameters: Mapping[str, str] | None = None, *, strict: bool = False
    ) -> Query:
        """Return the query for the identifier *text*. Raises EarlyResponse."""
        try:
            reading = parse(text, self._registry, strict=strict)
            document = reading.identifier.document
            if document is not None:
                raise EarlyResponse(self._document(document, parameters or {}))
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


def _in_any_archive(query: Query) -> Query:
    """Return *query* without its archive: a dated URL, of which an extent is meant."""
    dated = f"duri:{query.at}:{query.original}"
    return replace(query, archive=None, archive_id=None, identifier=dated, link=None)


_LONGEST_PATH: Final = 80
"""Characters of a path that are repeated."""
_LONGEST_LINE: Final = 16_384
"""Characters of a line of a batch in which a reference is looked for."""
_SHORT_TEXT: Final = 400
"""Characters that are read at once: that takes some 5 ms at most."""


def _too_busy(what: str) -> Response:
    """Return the problem for *what* that waited too long for others to be read."""
    detail = f"{what} was not read: others are being read; send it again later"
    return problem(503, "too-busy", detail, headers={"Retry-After": "5"})


class _LineReference(NamedTuple):
    """The reference in a line of a batch."""

    text: str
    members: Mapping[str, object] = {}
    """What its row says besides, if another date may be meant."""
    others: tuple[str, ...] = ()
    """Other links of the same citation."""
    headline: str = ""
    """That of its row, if another date or link may be meant."""


def _reference_in(text: str, registry: Registry, now: datetime) -> _LineReference:
    """Return the only reference in a line of a batch, with its date; else the line itself."""
    if len(text) > _LONGEST_LINE:
        return _LineReference(text)
    try:
        found = read_pasted(text, registry, now).found
    except Malformed:
        return _LineReference(text)
    if len(found) != 1 or found[0].kind != "reference":
        return _LineReference(text)
    one = found[0]
    if not one.dates.doubt:
        return _LineReference(one.dated, others=one.others)
    used = one.identifier if one.at is None else f"duri:{one.at}:{one.identifier}"
    read = {"reference": one.identifier, "said": one.said, "doubt": True}
    headline = DOUBTED_LINK if one.is_link_doubted else DOUBTED
    return _LineReference(used, {"read": read}, one.others, headline)


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


def row(text: str, response: Response, members: Mapping[str, object] | None = None) -> bytes:
    """Return the line of a batch for the input *text*; *members* are of the line itself."""
    document = json.loads(response.body) if response.body else {}
    known = {"input": text, "status": response.status, **document, **(members or {})}
    return json.dumps(known).encode() + b"\n"


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
_STARTS_PER_TURN: Final = 1
"""Lines of all batches that are started in one iteration of the event loop: some 0.2 ms. With
256 batches at once, 2,048 lines were started together, and all other requests waited."""
_LONG_TURN: Final = 0.0003
"""Seconds; after a longer iteration, some without a line follow, for other requests."""
_BODY_DEADLINE: Final = 15.0
_HEADERS: Final = {"Content-Type": "application/x-ndjson"}


class BatchResolve:
    """Answers batches."""

    def __init__(self, resolve: Resolve, body_deadline: float = _BODY_DEADLINE) -> None:
        self._resolve = resolve
        self.largest_body = MOST_BYTES
        self.body_deadline = body_deadline
        self._starts = FairTurns(_STARTS_PER_TURN, _LONG_TURN)
        self._log = Unforeseen("item-internal-error")

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse:
        """Resolve the lines of *body* a few at a time; rows come in the order of completion."""
        lines = await self._resolve.lines(body, request.header("Content-Type") or "")
        try:
            parameters = _of_batch(request.rest.removeprefix("?"))
            preferences, _ = self._resolve.preferences(request, parameters)
        except (UnknownParameter, BadPreference) as error:
            return problem(400, "bad-parameter", str(error), parameter=error.name)
        if preferences.also:
            detail = "also belongs to one identifier: write it into its line, as JSON"
            return problem(400, "bad-parameter", detail, parameter=ALSO)
        if preferences.verify == "page":
            detail = "verify=page is for one identifier: the parts of a page cost many requests"
            return problem(400, "bad-parameter", detail, parameter="verify")
        rows = self._rows(lines, preferences, request.context)
        return StreamingResponse(200, _HEADERS, rows)

    async def _rows(
        self, lines: Iterable[BatchLine], preferences: Preferences, context: RequestContext
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


def _lines(body: bytes) -> list[str]:
    """Return the lines that are not empty. Raises EarlyResponse if there are too many."""
    text = body.decode(errors="surrogateescape")
    lines = [line for line in text.splitlines() if line.strip()]
    _check_number(len(lines))
    return lines


def _check_number(identifiers: int) -> None:
    if identifiers > MOST_LINES:
        detail = f"a batch may have {MOST_LINES} identifiers; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))


def _batch_line(line: str) -> BatchLine:
    """Read a line: plain, a JSON string, or an object with ``identifier`` and ``also``."""
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
