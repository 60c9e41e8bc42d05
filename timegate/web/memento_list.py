"""What each archive holds, the nearest first: ``/list/{stamp}/{URI-R}``, as at Time Travel.

The resolver stops at a copy that cannot be bettered; here the others are wanted as well. So it
is asked again for those of whom nothing is known yet, until time is up. Most of them were asked
the first time already and have only not been waited for.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Final, NamedTuple

from archives.choice import second_of
from archives.evidence import WEB
from archives.model import Closest, Memento
from archives.moment import Moment
from timegate.policies import policy_from
from timegate.ranking import ranked
from timegate.resolution import Attempt, Policy, Query, Resolution
from timegate.resolver import Router
from timegate.timemap import Names
from timegate.verdict import header_safe
from timegate.web.answers import Answers
from timegate.web.call import Answer, Call
from timegate.web.memento import stamped
from timegate.web.memento_formats import rfc3339

VARY: Final = "accept, prefer"
_PATIENCE: Final = 5.0
_PAGE: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
}


class ListHandler:
    """Lists for each archive its closest copy."""

    def __init__(self, answers: Answers, route: Router, patience: float = _PATIENCE) -> None:
        self._answers = answers
        self._route = route
        self._patience = patience

    async def __call__(self, call: Call) -> Answer:
        """Answer ``{stamp}/{URI-R}``, with a page where a browser asks."""
        _, at, query = stamped(call.rest)
        policy, applied = policy_from({}, call.header("Prefer"), call.header("Cache-Control"))
        resolution = await self._everyones(query, policy)
        answer = self._answers.described(resolution, applied, vary=VARY)
        if answer.status != 200:
            return answer
        names = Names.of(query.original, self._answers.base_url)
        holdings = _holdings(resolution, at)
        if "text/html" in (call.header("Accept") or ""):
            page = list_page(names, at, holdings, resolution.failed)
            return replace(answer, headers={**answer.headers, **_PAGE}, body=page.encode())
        body = list_json(names, at, holdings, json.loads(answer.body))
        return replace(answer, body=body.encode())

    async def _everyones(self, query: Query, policy: Policy) -> Resolution:
        """Return what every archive has to say, as far as time allows."""
        order = self._route(query, policy).order
        now = asyncio.get_running_loop().time
        until = now() + (policy.wait or self._patience)
        attempts: list[Attempt] = []
        left = frozenset(order)
        while left and (seconds := until - now()) > 0:
            wishes = replace(policy, archives=left, wait=seconds)
            found = (await self._answers.resolve(query, wishes)).attempts
            if not found:
                break
            attempts += found
            left -= {attempt.archive for attempt in found}
        silent = () if policy.only_if_cached else tuple(a for a in order if a in left)
        best, *others = _one_for_each(query, attempts, order) or [None]
        alternatives = tuple(filter(None, others))
        return Resolution(query, policy, best, alternatives, tuple(attempts), silent)


def _one_for_each(
    query: Query, attempts: Sequence[Attempt], order: Sequence[str]
) -> list[Attempt | None]:
    copies: dict[str, Attempt] = {}
    for attempt in ranked(query, attempts, order):
        copies.setdefault(attempt.archive, attempt)
    return [*copies.values()]


class Holding(NamedTuple):
    """The closest copy of one archive."""

    memento: Memento
    delta: int
    """Seconds outside the time asked for; negative before it."""


def list_json(
    names: Names, at: Moment, holdings: Sequence[Holding], told: Mapping[str, object]
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


def list_page(
    names: Names, at: Moment, holdings: Sequence[Holding], missing: Sequence[str]
) -> str:
    """Write the same for people."""
    rows = "".join(
        f"<tr><td>{escape(holding.memento.archive)}</td>"
        f'<td><a rel="noreferrer" href="{escape(header_safe(holding.memento.uri))}">'
        f"{escape(rfc3339(holding.memento))}</a></td></tr>"
        for holding in holdings
    )
    silent = f"<p>No answer from: {escape(', '.join(missing))}</p>" if missing else ""
    original = escape(names.original)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Copies of {original}</title>"
        f"<h1>Copies of {original}</h1><p>Nearest to {escape(str(at))} first.</p>"
        f"<table><tr><th>Archive</th><th>Captured</th></tr>{rows}</table>{silent}"
        f'<p><a href="{escape(names.timemaps["link"])}">All copies</a></p></html>'
    )


def _holdings(resolution: Resolution, at: Moment) -> list[Holding]:
    found = (a.outcome for a in (resolution.best, *resolution.alternatives) if a)
    mementos = [outcome.memento for outcome in found if isinstance(outcome, Closest)]
    return [
        Holding(memento, int(at.distance(second_of(memento.stamp)).total_seconds()))
        for memento in mementos
        if memento.uri.startswith(WEB)
    ]
