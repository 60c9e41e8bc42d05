"""Mementos by time: ``/memento/`` and ``/api/`` as at MemGator and Time Travel, and ``/list/``.

The time is part of the path, so these are not TimeGates but intermediate resources: there is no
``Vary: accept-datetime``, and Accept-Datetime is ignored (M-42). Those services read a stamp of
four digits as the first second of the year, and so does this one by default at their addresses;
otherwise it is the year, and nothing is padded (T-11).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.model import Closest, Memento
from archives.moment import GRANULARITIES, Moment, second_of
from archives.uri import WEB, check_text
from timegate.endpoints import (
    HTML_CONTENT,
    REDIRECT,
    VERDICT,
    Content,
    PathDescription,
    answered,
)
from timegate.endpoints.memento_formats import (
    API,
    MEMGATOR,
    Described,
    Format,
    media_type,
    rfc3339,
)
from timegate.endpoints.timegate import RAW_VIEWS, preferred_view, with_view
from timegate.identifiers.url import read_url
from timegate.pages.answer_pages import AnswerPages
from timegate.pages.rendering import HEADERS, wants_page
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Query, Resolution, Router
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response, identifier_in
from timegate.responses.problems import not_negotiable, problem, unreadable
from timegate.responses.report import known_mementos, neighbours
from timegate.timemaps import TimeMapLinks
from timegate.verdict import header_safe

VARY: Final = "prefer"
LIST_VARY: Final = "accept, prefer"
_FORMATS: Final[Content] = {
    "application/link-format": "Text",
    "application/json": "MementoDescription",
    "application/cdxj+ors": "Text",
}
PATHS: Final = {
    "/memento/{stamp}/{url}": PathDescription(
        "The closest memento", REDIRECT, ("stamp", "url", "Prefer")
    ),
    "/memento/{format}/{stamp}/{url}": PathDescription(
        "The closest memento, described as by MemGator",
        answered("The memento with first, prev, next and last", _FORMATS, *VERDICT),
        ("memgator-format", "stamp", "url", "Prefer"),
    ),
    "/api/{format}/{stamp}/{url}": PathDescription(
        "The closest memento; json as Time Travel describes it",
        answered("The memento with first, prev, next and last", _FORMATS, *VERDICT),
        ("memgator-format", "stamp", "url", "Prefer"),
    ),
    "/list/{stamp}/{url}": PathDescription(
        "The closest memento of each archive",
        answered("The mementos", {"application/json": "MementoList", **HTML_CONTENT}, *VERDICT),
        ("stamp", "url", "Prefer"),
    ),
}
_LONGEST_STAMP: Final = 14
_PATIENCE: Final = 5.0
"""Seconds for the list of all archives."""
# Tools take any address with digits for one of a Wayback Machine: MementoEmbed 0.2021 adds
# im_ to the digits for images, and id_ for the bytes.
_MODIFIED: Final = re.compile(r"([0-9]{4,14})([a-z]{2}_)/")


class StampedPath(NamedTuple):
    """A parsed path: the stamp, and the query."""

    stamp: str
    at: Moment
    query: Query


class _Describing:
    """Finds a memento with its neighbours, and describes it."""

    def __init__(
        self,
        answers: Answers,
        neighbours: Neighbours,
        *,
        old_redirects: bool = False,
        from_start: bool = False,
    ) -> None:
        """*from_start*: a partial stamp is its first second, as at MemGator and Time Travel."""
        self._from_start = from_start
        self._answers = answers
        self._neighbours = neighbours
        self._old_redirects = old_redirects

    async def _resolved(
        self, request: ClientRequest, path: StampedPath
    ) -> tuple[Resolution, tuple[str, ...]]:
        """Return the closest memento with its neighbours, and the applied preferences."""
        preferences, applied = request.preferences
        resolution = await self._answers.resolve(path.query, preferences, request.context)
        return await self._neighbours.filled_in(resolution, request.context), applied

    async def _described(
        self, request: ClientRequest, path: StampedPath, name: str, write: Format
    ) -> Response:
        """Return the description, or the problem."""
        resolution, applied = await self._resolved(request, path)
        response = self._answers.described(resolution, applied, vary=VARY)
        closest = resolution.memento
        if response.status != 200 or closest is None:
            return _counted(response, resolution)
        names = TimeMapLinks.of(path.query.original, self._answers.base_url)
        around = neighbours(resolution, closest)
        described = Described.of(names, closest, around, known_mementos(resolution))
        body = write(described._replace(report=json.loads(response.body)))
        headers = {**response.headers, "Content-Type": media_type(name)}
        return replace(response, headers=headers, body=body.encode())


class MementoEndpoint(_Describing):
    """Redirects to the memento closest to a stamp, or describes it in a format of MemGator."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{stamp}/{URI-R}`` or ``{format}/{stamp}/{URI-R}``."""
        name, slash, _ = request.rest.partition("/")
        if slash and name in MEMGATOR:
            path = stamped(request.rest, len(name) + 1, from_start=self._from_start)
            return await self._described(request, path, name, MEMGATOR[name])
        path = _modified(request.rest, from_start=self._from_start)
        view = preferred_view(request)
        if view in RAW_VIEWS:
            path = path._replace(query=replace(path.query, precision="part"))
        resolution, applied = await self._resolved(request, path)
        response = with_view(self._answers.redirect(resolution, applied, vary=VARY), view)
        if self._old_redirects:
            return _to_list_page(response, path, self._answers.base_url)
        return _counted(response, resolution)


class ApiEndpoint(_Describing):
    """Describes the memento closest to a stamp: in Time Travel's JSON, else as MemGator."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{format}/{stamp}/{URI-R}``."""
        name, slash, _ = request.rest.partition("/")
        if not slash or name not in API:
            addresses = ", ".join(f"/api/{known}/{{stamp}}/{{URL}}" for known in API)
            detail = f"the addresses below /api/ are {addresses}"
            raise EarlyResponse(problem(404, "not-found", detail, formats=[*API]))
        path = stamped(request.rest, len(name) + 1, from_start=self._from_start)
        response = await self._described(request, path, name, API[name])
        if self._old_redirects and name == "json":
            return _to_list_page(response, path, self._answers.base_url)
        return response


def stamped(rest: str, start: int = 0, *, from_start: bool = False) -> StampedPath:
    """Read ``{stamp}/{URI-R}`` in *rest* from *start* on. Raises EarlyResponse.

    Positions in problems count from the beginning of *rest*.
    """
    stamp, slash, tail = rest[start:].partition("/")
    url_start = start + len(stamp) + len(slash)
    url = identifier_in(tail)
    position = start
    try:
        at = read_stamp(stamp)
        if from_start:
            at = Moment(Moment.of(at.window[0]).digits[:_LONGEST_STAMP])
        position = url_start
        check_text(url)
        reading = read_url(url, Diagnosis())
        query = query_for_url(reading.identifier.item or url, at, reading.diagnostics)
    except Malformed as complaint:
        text = rest[:url_start] + url
        raise EarlyResponse(unreadable(complaint.moved(position), text)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error
    return StampedPath(stamp, at, query)


def _modified(rest: str, *, from_start: bool) -> StampedPath:
    """Read ``{stamp}/{URI-R}``, also with a modifier of Wayback Machines after the stamp."""
    modified = _MODIFIED.match(rest)
    if modified is None:
        return stamped(rest, from_start=from_start)
    path = stamped(f"{modified[1]}/{rest[modified.end() :]}", from_start=from_start)
    if modified[2] != "id_":
        return path
    # PWID calls the bytes of a single file a part (V-1).
    return path._replace(query=replace(path.query, precision="part"))


def read_stamp(text: str) -> Moment:
    """Read 4, 6, 8, 10, 12 or 14 digits. Raises Malformed."""
    for position, char in enumerate(text[: _LONGEST_STAMP + 1]):
        if not "0" <= char <= "9":
            raise Malformed("bad-time-syntax", "a stamp consists of digits", position)
    if len(text) not in GRANULARITIES:
        why = "a stamp has 4, 6, 8, 10, 12 or 14 digits"
        raise Malformed("bad-time-syntax", why, min(len(text), _LONGEST_STAMP))
    return Moment(text)


def _counted(response: Response, resolution: Resolution) -> Response:
    """Return *response* with a count of 0 if it is certain that there are no mementos."""
    all_answered = resolution.complete and bool(resolution.attempts)
    none_at_all = resolution.preferences.direction == "closest" and resolution.memento is None
    if response.status != 404 or not all_answered or not none_at_all:
        return response
    return replace(response, headers={**response.headers, "X-Memento-Count": "0"})


def _to_list_page(response: Response, path: StampedPath, base_url: str) -> Response:
    """Turn a 404 into a redirect to the list page, as Time Travel did.

    Other problems stay: if an archive did not answer, it may hold the memento.
    """
    if response.status != 404:
        return response
    page = f"{base_url.rstrip('/')}/list/{path.stamp}/{header_safe(path.query.original)}"
    return replace(response, status=302, headers={**response.headers, "Location": page})


class ListEndpoint:
    """Lists the closest memento of each archive."""

    def __init__(
        self,
        answers: Answers,
        pages: AnswerPages,
        route: Router,
        patience: float = _PATIENCE,
        *,
        from_start: bool = False,
    ) -> None:
        self._from_start = from_start
        self._answers = answers
        self._pages = pages
        self._resolver = ExhaustiveResolver(answers, route, patience)

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{stamp}/{URI-R}``: with a page for browsers, else with JSON.

        On the page a partial stamp is an interval, as in the answer that links it.
        """
        is_page = wants_page(request.header("Accept"))
        _, at, query = stamped(request.rest, from_start=self._from_start and not is_page)
        preferences, applied = request.preferences
        resolution = await self._resolver.resolve(query, preferences, request.context)
        response = self._answers.described(resolution, applied, vary=LIST_VARY)
        if response.status != 200:
            return response
        if is_page:
            page = self._pages.list_page(resolution)
            return replace(response, headers={**response.headers, **HEADERS}, body=page)
        names = TimeMapLinks.of(query.original, self._answers.base_url)
        holdings = _holdings(resolution, at)
        body = list_json(names, at, holdings, json.loads(response.body))
        return replace(response, body=body.encode())


class ClosestOfArchive(NamedTuple):
    """The closest memento of one archive."""

    memento: Memento
    delta: int
    """Seconds from the requested interval; negative before it."""


def list_json(
    names: TimeMapLinks,
    at: Moment,
    holdings: Sequence[ClosestOfArchive],
    report: Mapping[str, object],
) -> str:
    """Write the closest memento of each archive, the nearest first."""
    archives = [
        {
            "archive": holding.memento.archive,
            "datetime": rfc3339(holding.memento),
            "uri": header_safe(holding.memento.uri),
            "delta": holding.delta,
            "status": holding.memento.status,
        }
        for holding in holdings
    ]
    body = {
        "original_uri": names.original,
        "datetime": str(at),
        "archives": archives,
        "timegate_uri": names.timegate,
        "timemap_uri": {f"{name}_format": uri for name, uri in names.timemaps.items()},
        "timegate": report,
    }
    return json.dumps(body)


def _holdings(resolution: Resolution, at: Moment) -> list[ClosestOfArchive]:
    found = (a.outcome for a in (resolution.best, *resolution.alternatives) if a)
    mementos = [outcome.memento for outcome in found if isinstance(outcome, Closest)]
    return [
        ClosestOfArchive(memento, int(at.distance(second_of(memento.stamp)).total_seconds()))
        for memento in mementos
        if memento.uri.startswith(WEB)
    ]
