"""Any identifier: ``/resolve/{identifier}``, ``/{identifier}``, and many at once by POST."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from archives.diagnostics import Malformed
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.event_loop import end
from timegate.identifiers import parse
from timegate.observability.logs import Unforeseen
from timegate.pages.answer_pages import AnswerPages
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query
from timegate.resolution.preferences import check_archives, preferences_from
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.answers import Answers
from timegate.responses.model import (
    OWN_PARAMETERS,
    ClientRequest,
    EarlyResponse,
    Response,
    StreamingResponse,
    identifier_in,
    without_parameters,
)
from timegate.responses.problems import internal, not_negotiable, problem, unreadable

VARY: Final = "accept, prefer"
_MANNERS: Final = ("json", "html", "redirect")


class Resolve:
    """Answers requests for identifiers.

    The time stands in the identifier, so this is no TimeGate but an intermediate resource: no
    ``Vary: accept-datetime``, and a client's Accept-Datetime is ignored (M-41, D-10).
    """

    def __init__(self, answers: Answers, registry: Registry, pages: AnswerPages) -> None:
        self._answers = answers
        self._registry = registry
        self._pages = pages

    async def __call__(self, request: ClientRequest) -> Response:
        """Redirect to the copy, report on it, or show how it differs: as the client wants."""
        text, parameters = without_parameters(request.rest)
        preferences, applied = self._wishes(request, parameters)
        manner = _manner(parameters, request.header("Accept") or "")
        strict = _is_strict(request.header("Prefer") or "")
        if strict:
            applied = (*applied, "handling=strict")
        query = self._query(identifier_in(text), strict=strict)
        resolution = await self._answers.resolve(query, preferences, request.context)
        if manner == "json":
            return self._answers.described(resolution, applied, vary=VARY)
        if manner == "redirect":
            return self._answers.redirect(resolution, applied, vary=VARY)
        always = parameters.get("as") == "html"
        return self._pages.redirect_or_page(resolution, applied, vary=VARY, always=always)

    async def line(self, text: str, preferences: Preferences, context: RequestContext) -> bytes:
        """Resolve one line of a batch; the answer is one line of JSON."""
        try:
            query = self._query(text, strict=False)
        except EarlyResponse as early:
            answer = early.response
        else:
            resolution = await self._answers.resolve(query, preferences, context)
            answer = self._answers.described(resolution, vary=VARY)
        return row(text, answer)

    def _wishes(
        self, request: ClientRequest, parameters: Mapping[str, str]
    ) -> tuple[Preferences, Sequence[str]]:
        try:
            preferences, applied = preferences_from(
                parameters, request.header("Prefer"), request.header("Cache-Control")
            )
            if "archives" in parameters:
                check_archives(preferences, self._registry)
        except ValueError as error:
            raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
        return preferences, applied

    def _query(self, text: str, *, strict: bool) -> Query:
        try:
            reading = parse(text, self._registry, strict=strict)
            document = reading.identifier.document
            if document is not None:
                raise EarlyResponse(self._document(document))
            return query_for(reading, self._registry)
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint
        except NotNegotiable as error:
            raise EarlyResponse(not_negotiable(error)) from error

    def _document(self, duri: str) -> Response:
        """Point to the document that describes the thing of a ``tdb`` (D-8)."""
        return Response(
            303, {"Location": f"{self._answers.base_url}/resolve/{duri}", "Vary": VARY}
        )


def row(text: str, answer: Response) -> bytes:
    """Write *answer* as the line of a batch for the input *text*."""
    told = json.loads(answer.body) if answer.body else {}
    return json.dumps({"input": text, "status": answer.status, **told}).encode() + b"\n"


def _is_strict(prefer: str) -> bool:
    """Whether the client wants what is wrong refused, not repaired (RFC 7240 4.4)."""
    wishes = (wish.partition(";")[0].replace(" ", "").lower() for wish in prefer.split(","))
    return "handling=strict" in wishes


def _manner(parameters: Mapping[str, str], accept: str) -> str:
    """Return how to answer: json, html or redirect. Raises Declined."""
    wanted = parameters.get("as")
    if wanted in _MANNERS:
        return wanted
    if wanted is not None:
        # It may be the URL's own: only what stands behind the last ? is taken for ours.
        why = f"as must be {' or '.join(_MANNERS)}; is it the URL's own, add ?as=redirect"
        raise EarlyResponse(problem(400, "bad-parameter", why))
    if "application/json" in accept:
        return "json"
    return "html" if "text/html" in accept else "redirect"


MOST_BYTES: Final = 1024 * 1024
MOST_LINES: Final = 1000
_AT_ONCE: Final = 8
_BODY_DEADLINE: Final = 15.0
_MOST_IDLE: Final = 20.0
"""Seconds for which the client may read nothing of the answer."""
_HEADERS: Final = {"Content-Type": "application/x-ndjson"}


class BatchResolve:
    """Answers batches."""

    def __init__(
        self,
        resolve: Resolve,
        body_deadline: float = _BODY_DEADLINE,
        most_idle: float = _MOST_IDLE,
    ) -> None:
        self._resolve = resolve
        self.largest_body = MOST_BYTES
        self.body_deadline = body_deadline
        self._most_idle = most_idle
        self._log = Unforeseen("item-internal-error")

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse:
        """Answer the lines of *body* a few at a time, in the order of the answers."""
        lines = list(_lines(body))
        parameters = dict(parse_qsl(request.rest.removeprefix("?"), keep_blank_values=True))
        try:
            preferences, _ = preferences_from(
                parameters, request.header("Prefer"), request.header("Cache-Control")
            )
        except ValueError as error:
            return problem(400, "bad-parameter", str(error))
        rows = self._rows(lines, preferences, request.context)
        return StreamingResponse(200, _HEADERS, rows, self._most_idle, in_progress=True)

    async def _rows(
        self, lines: list[str], preferences: Preferences, context: RequestContext
    ) -> AsyncGenerator[bytes, None]:
        """Yield the answers as they come; no line is started while the client reads nothing."""
        loop, waiting = asyncio.get_running_loop(), iter(lines)
        tasks: set[asyncio.Task[bytes]] = set()
        try:
            while True:
                for text in islice(waiting, _AT_ONCE - len(tasks)):
                    tasks.add(loop.create_task(self._line(text, preferences, context)))
                if not tasks:
                    return
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                tasks.difference_update(done)
                for task in done:
                    yield task.result()
        finally:
            await end(tasks)

    async def _line(
        self, text: str, preferences: Preferences, context: RequestContext
    ) -> bytes:
        """Answer one line; an unforeseen exception costs this row and no other."""
        try:
            return await self._resolve.line(text, preferences, context)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /resolve", error)
            return row(text, internal(error))


def _lines(body: bytes) -> Iterator[str]:
    """Yield the identifiers: plain lines, JSON strings, or objects with ``identifier``."""
    text = body.decode(errors="surrogateescape")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        detail = f"at most {MOST_LINES} identifiers at once; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))
    for line in lines:
        yield _identifier(line)


def _identifier(line: str) -> str:
    if line[0] not in '"{':
        return line.strip()
    try:
        value = json.loads(line)
    except ValueError:
        return line
    if isinstance(value, dict):
        value = value.get("identifier", line)
    return value if isinstance(value, str) else line


_NAMES: Final = ("archivestring", "pwid")
_MOST_PARAMETERS: Final = 20
_BLANKS: Final = compiled(r"(?:\+|%20)*+")
_ENCODED: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")
_WRITE: Final = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


class _Asked(NamedTuple):
    identifier: str
    parameters: tuple[str, ...]
    """Our own, as they were written: ``wait=3``."""


class PwidResolver:
    """Answers ``/pwid`` and ``/resolve`` with a query; both take both names."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer as `Resolve` does."""
        asked = _asked(request.rest.partition("?")[2])
        if asked is None:
            detail = f"write /pwid?archiveString={_WRITE} or /resolve?pwid={_WRITE}"
            raise EarlyResponse(problem(400, "bad-parameter", detail))
        mark = "?" if asked.parameters else ""
        # Still encoded, if it was: `Resolve` decodes it once it has taken off the parameters.
        rest = asked.identifier + mark + "&".join(asked.parameters)
        return await self._resolve(request._replace(rest=rest))


def _asked(query: str) -> _Asked | None:
    """Find the PWID in *query*; what stands before it are parameters, ours or nobody's."""
    before: list[str] = []
    for _ in range(_MOST_PARAMETERS):
        name, equals, value = query.partition("=")
        if equals and name.lower() in _NAMES:
            identifier, behind = _without_own(_stripped(value))
            return _Asked(identifier, (*before, *behind)) if identifier else None
        pair, separator, query = query.partition("&")
        if not separator:
            break
        if _is_own(pair):
            before.append(pair)
    return None


def _stripped(value: str) -> str:
    """Take off the blanks that a form writes for those that were pasted with a PWID."""
    blanks = _BLANKS.match(value)
    text = value[blanks.end() :] if blanks else value
    while text.endswith("%20"):
        text = text[:-3]
    return text.rstrip("+") if _ENCODED.match(text) else text


def _without_own(value: str) -> tuple[str, list[str]]:
    """Cut our parameters off the end of *value*, the first of them first."""
    if _ENCODED.match(value):
        value, _, rest = value.partition("&")
        return _stripped(value), [pair for pair in rest.split("&") if _is_own(pair)]
    own: list[str] = []
    while len(own) < _MOST_PARAMETERS:
        before, separator, pair = value.rpartition("&")
        if not (separator and _is_own(pair)):
            break
        own.insert(0, pair)
        value = before
    return value, own


def _is_own(pair: str) -> bool:
    name, equals, _ = pair.partition("=")
    return bool(equals) and name in OWN_PARAMETERS
