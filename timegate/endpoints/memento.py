"""A copy by its time: ``/memento/`` as at MemGator and Time Travel, ``/api/`` as at both.

The time stands in the path, so neither is a TimeGate but an intermediate resource: no
``Vary: accept-datetime``, and a client's Accept-Datetime is ignored (M-42). A stamp of four
digits is a year, not its first second: nothing is padded (T-11).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.evidence import WEB
from archives.model import Closest, Memento
from archives.moment import GRANULARITIES, Moment
from archives.nearest import second_of
from archives.uri import check_text
from timegate.endpoints.memento_formats import (
    API,
    MEMGATOR,
    Described,
    Format,
    media_type,
    rfc3339,
)
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
_LONGEST_STAMP: Final = 14
# Tools take any address with digits for one of a Wayback Machine: MementoEmbed 0.2021 writes
# im_ behind them for images, id_ for the bytes.
_MODIFIED: Final = re.compile(r"([0-9]{4,14})([a-z]{2}_)/")


class Stamped(NamedTuple):
    """What stands in a path: a stamp, and what archives are asked."""

    stamp: str
    at: Moment
    query: Query


class _Describing:
    """Looks for a copy and describes it."""

    def __init__(
        self, answers: Answers, surroundings: Neighbours, *, old_redirects: bool = False
    ) -> None:
        self._answers = answers
        self._surroundings = surroundings
        self._old_redirects = old_redirects

    async def _resolved(
        self, request: ClientRequest, asked: Stamped
    ) -> tuple[Resolution, tuple[str, ...]]:
        """Return the closest copy with its neighbours, and the preferences applied."""
        preferences, applied = request.preferences
        resolution = await self._answers.resolve(asked.query, preferences, request.context)
        return await self._surroundings.filled_in(resolution, request.context), applied

    async def _described(
        self, request: ClientRequest, asked: Stamped, name: str, write: Format
    ) -> Response:
        """Return the description, or the problem."""
        resolution, applied = await self._resolved(request, asked)
        answer = self._answers.described(resolution, applied, vary=VARY)
        closest = resolution.memento
        if answer.status != 200 or closest is None:
            return _counted(answer, resolution)
        names = TimeMapLinks.of(asked.query.original, self._answers.base_url)
        around = neighbours(resolution, closest)
        described = Described.of(names, closest, around, known_mementos(resolution))
        body = write(described._replace(told=json.loads(answer.body)))
        headers = {**answer.headers, "Content-Type": media_type(name)}
        return replace(answer, headers=headers, body=body.encode())


class MementoEndpoint(_Describing):
    """Redirects to the copy closest to a stamp, or describes it in a format of MemGator's."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{stamp}/{URI-R}`` or ``{link,json,cdxj}/{stamp}/{URI-R}``."""
        name, slash, _ = request.rest.partition("/")
        if slash and name in MEMGATOR:
            asked = stamped(request.rest, len(name) + 1)
            return await self._described(request, asked, name, MEMGATOR[name])
        asked = _modified(request.rest)
        resolution, applied = await self._resolved(request, asked)
        answer = self._answers.redirect(resolution, applied, vary=VARY)
        if self._old_redirects:
            return _to_the_page(answer, asked, self._answers.base_url)
        return _counted(answer, resolution)


class ApiEndpoint(_Describing):
    """Describes the copy closest to a stamp: in JSON as Time Travel did, else as MemGator."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{link,json,cdxj}/{stamp}/{URI-R}``."""
        name, slash, _ = request.rest.partition("/")
        if not slash or name not in API:
            forms = ", ".join(f"/api/{known}/{{stamp}}/{{URL}}" for known in API)
            raise EarlyResponse(problem(404, "not-found", f"there is {forms}", formats=[*API]))
        asked = stamped(request.rest, len(name) + 1)
        answer = await self._described(request, asked, name, API[name])
        if self._old_redirects and name == "json":
            return _to_the_page(answer, asked, self._answers.base_url)
        return answer


def stamped(rest: str, start: int = 0) -> Stamped:
    """Read ``{stamp}/{URI-R}`` in *rest* from *start* on; complaints count from its beginning.

    Raises Declined.
    """
    stamp, slash, tail = rest[start:].partition("/")
    behind = start + len(stamp) + len(slash)
    url = identifier_in(tail)
    reading_at = start
    try:
        at = read_stamp(stamp)
        reading_at = behind
        check_text(url)
        reading = read_url(url, Diagnosis())
        query = query_for_url(reading.identifier.item or url, at, reading.diagnostics)
    except Malformed as complaint:
        text = rest[:behind] + url
        raise EarlyResponse(unreadable(complaint.moved(reading_at), text)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error
    return Stamped(stamp, at, query)


def _modified(rest: str) -> Stamped:
    """Read ``{stamp}/{URI-R}``, or with the Wayback Machine's modifier behind the stamp."""
    modified = _MODIFIED.match(rest)
    if modified is None:
        return stamped(rest)
    asked = stamped(f"{modified[1]}/{rest[modified.end() :]}")
    if modified[2] != "id_":
        return asked
    # The bytes of one file are what a PWID calls a part (V-1).
    return asked._replace(query=replace(asked.query, precision="part"))


def read_stamp(text: str) -> Moment:
    """Read 4, 6, 8, 10, 12 or 14 digits. Raises Malformed."""
    for position, char in enumerate(text[: _LONGEST_STAMP + 1]):
        if not "0" <= char <= "9":
            raise Malformed("bad-time-syntax", "a stamp is made of the digits 0 to 9", position)
    if len(text) not in GRANULARITIES:
        why = "a stamp has 4, 6, 8, 10, 12 or 14 digits"
        raise Malformed("bad-time-syntax", why, min(len(text), _LONGEST_STAMP))
    return Moment(text)


def _counted(answer: Response, resolution: Resolution) -> Response:
    """Say that there is none, where that is known; how many there are is not known here."""
    everyone = resolution.complete and bool(resolution.attempts)
    anywhere = resolution.preferences.direction == "closest" and resolution.memento is None
    if answer.status != 404 or not everyone or not anywhere:
        return answer
    return replace(answer, headers={**answer.headers, "X-Memento-Count": "0"})


def _to_the_page(answer: Response, asked: Stamped, base_url: str) -> Response:
    """Lead to the page of copies instead of saying 404, as Time Travel did.

    Where an archive did not answer, that is still said: the copy may be there.
    """
    if answer.status != 404:
        return answer
    page = f"{base_url.rstrip('/')}/list/{asked.stamp}/{header_safe(asked.query.original)}"
    return replace(answer, status=302, headers={**answer.headers, "Location": page})


LIST_VARY: Final = "accept, prefer"
_PATIENCE: Final = 5.0


class ListEndpoint:
    """Lists for each archive its closest copy."""

    def __init__(
        self,
        answers: Answers,
        pages: AnswerPages,
        route: Router,
        patience: float = _PATIENCE,
    ) -> None:
        self._answers = answers
        self._pages = pages
        self._resolver = ExhaustiveResolver(answers, route, patience)

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer ``{stamp}/{URI-R}``, with a page where a browser asks."""
        _, at, query = stamped(request.rest)
        preferences, applied = request.preferences
        resolution = await self._resolver.resolve(query, preferences, request.context)
        answer = self._answers.described(resolution, applied, vary=LIST_VARY)
        if answer.status != 200:
            return answer
        if wants_page(request.header("Accept")):
            page = self._pages.list_page(resolution)
            return replace(answer, headers={**answer.headers, **HEADERS}, body=page)
        names = TimeMapLinks.of(query.original, self._answers.base_url)
        holdings = _holdings(resolution, at)
        body = list_json(names, at, holdings, json.loads(answer.body))
        return replace(answer, body=body.encode())


class ClosestOfArchive(NamedTuple):
    """The closest copy of one archive."""

    memento: Memento
    delta: int
    """Seconds outside the time asked for; negative before it."""


def list_json(
    names: TimeMapLinks,
    at: Moment,
    holdings: Sequence[ClosestOfArchive],
    told: Mapping[str, object],
) -> str:
    """Write for each archive its closest copy, the nearest first."""
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
        "timegate": told,
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
