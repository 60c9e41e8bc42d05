"""What each archive holds, the nearest first: ``/list/{stamp}/{URI-R}``, as at Time Travel."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from archives.choice import second_of
from archives.evidence import WEB
from archives.model import Closest, Memento
from archives.moment import Moment
from timegate.policies import preferences_from
from timegate.resolution import Resolution
from timegate.resolver import Router
from timegate.timemap import TimeMapLinks
from timegate.verdict import header_safe
from timegate.web.answers import Answers
from timegate.web.call import ClientRequest, Response
from timegate.web.everyone import ExhaustiveResolver
from timegate.web.memento import stamped
from timegate.web.memento_formats import rfc3339
from timegate.web.site.pages import HEADERS, wants_page

LIST_VARY: Final = "accept, prefer"
_PATIENCE: Final = 5.0


class ListHandler:
    """Lists for each archive its closest copy."""

    def __init__(self, answers: Answers, route: Router, patience: float = _PATIENCE) -> None:
        self._answers = answers
        self._everyone = ExhaustiveResolver(answers, route, patience)

    async def __call__(self, call: ClientRequest) -> Response:
        """Answer ``{stamp}/{URI-R}``, with a page where a browser asks."""
        _, at, query = stamped(call.rest)
        policy, applied = preferences_from(
            {}, call.header("Prefer"), call.header("Cache-Control")
        )
        resolution = await self._everyone.resolve(query, policy)
        answer = self._answers.described(resolution, applied, vary=LIST_VARY)
        if answer.status != 200:
            return answer
        if wants_page(call.header("Accept")):
            page = self._answers.listed(resolution)
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
