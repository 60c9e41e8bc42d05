"""``POST /wayback/available``: what is available of many URLs, a line of parameters for each.

The second version of the Wayback Machine's interface, as InternetArchiveBot 2.0.9.5 speaks it
(APII.php, CDXQuery, read 2026-11-16): ``tag`` comes back with its result, and a copy has one of
``statuscodes``. Where nobody knows, a result has no ``archived_snapshots``: the bot then asks
again, while an empty one lets it note for good that there is no copy. Our own choices may stand
in the query of the address: ``?archives=internet-archive``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import msgspec
from aiohttp import web

from archives.registry import Registry
from timegate.cdx import Parameters, parameters_in
from timegate.logs import Unforeseen
from timegate.policies import BadPreference, check_archives, preferences_from
from timegate.resolution import Resolution
from timegate.web.answers import Answers
from timegate.web.batch import MOST_BYTES, MOST_LINES
from timegate.web.call import EarlyResponse, Response
from timegate.web.problems import problem
from timegate.web.sending import body_of, response
from timegate.web.wayback import VARY, asked, first, is_no, side_wanted, snapshots

_AT_ONCE: Final = 8
_BODY_DEADLINE: Final = 15.0
# The bot hangs up after 300 seconds (APII.php, CURLOPT_TIMEOUT).
_DEADLINE: Final = 120.0


class Availabilities:
    """Answers lines of parameters, each with what is available."""

    def __init__(
        self, answers: Answers, registry: Registry, deadline: float = _DEADLINE
    ) -> None:
        self._answers = answers
        self._registry = registry
        self._deadline = deadline
        self._log = Unforeseen("item-internal-error")

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Read all lines, and answer when all are known or time is up."""
        parameters = parameters_in(request.raw_path)
        orders = {name: first(parameters, name) for name in parameters}
        try:
            lines = _lines(await body_of(request, MOST_BYTES, _BODY_DEADLINE))
            check_archives(preferences_from(orders, None, None)[0], self._registry)
        except EarlyResponse as declined:
            return response(declined.answer)
        except BadPreference as error:
            return response(problem(400, "bad-parameter", str(error)))
        results = await self._results(lines, orders)
        body = msgspec.json.encode({"results": results})
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return response(Response(200, headers, body))

    async def _results(
        self, lines: Sequence[Parameters], orders: Mapping[str, str]
    ) -> list[dict[str, object]]:
        results: list[dict[str, object]] = [_named(line) for line in lines]
        waiting = iter(zip(lines, results, strict=True))

        async def work() -> None:
            for line, result in waiting:
                known = await self._contained(line, orders)
                if known is not None:
                    result["archived_snapshots"] = known

        # What is not known when time is up is not said.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._deadline), asyncio.TaskGroup() as group:
                for _ in range(min(_AT_ONCE, len(lines))):
                    group.create_task(work())
        return results

    async def _contained(
        self, line: Parameters, orders: Mapping[str, str]
    ) -> dict[str, object] | None:
        """Answer one line; an unforeseen exception costs this row and no other."""
        try:
            return await self._known(line, orders)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /wayback/available", error)
            return None

    async def _known(
        self, line: Parameters, orders: Mapping[str, str]
    ) -> dict[str, object] | None:
        """Return what is available, empty for nothing; None where that is not known."""
        try:
            query = asked(line)
            policy, _ = preferences_from(_with_look(orders, line), None, None)
        except (BadPreference, EarlyResponse):
            return None
        found = await self._answers.resolve(query, policy)
        if found.memento is None:
            return {} if is_no(found, policy) else None
        suitable = _of_status(found, line.get("statuscodes", ()))
        if suitable is None:
            return None
        described = self._answers.described(suitable, vary=VARY)
        return snapshots(suitable, self._registry) if described.status == 200 else None


def _lines(body: bytes) -> list[Parameters]:
    lines = [line for line in body.decode(errors="replace").split("\n") if line.strip()]
    if len(lines) > MOST_LINES:
        detail = f"at most {MOST_LINES} URLs at once; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))
    return [parameters_in(f"?{line.strip()}") for line in lines]


def _named(line: Parameters) -> dict[str, object]:
    """Return what a client finds its result by."""
    return {
        name: first(line, name).encode(errors="replace").decode()
        for name in ("url", "timestamp", "tag")
        if name in line
    }


def _with_look(orders: Mapping[str, str], line: Parameters) -> dict[str, str]:
    """Return all that is ordered. Raises BadChoice.

    A TimeGate that redirects does not tell the status of the copy. Who cares for it wants us to
    look, or says ``verify=none``.
    """
    look = {"verify": "head"} if line.get("statuscodes") else {}
    return {**look, **orders, **side_wanted(line)}


def _of_status(resolution: Resolution, codes: Sequence[str]) -> Resolution | None:
    """Return *resolution* with the best copy that has one of *codes*, as far as is known.

    None where the copies found are all of another status: others may be in the lists.
    """
    best = resolution.memento
    if not codes or best is None or best.status is None or str(best.status) in codes:
        return resolution
    others = (replace(resolution, best=attempt) for attempt in resolution.alternatives)
    return next((other for other in others if _status(other) in codes), None)


def _status(resolution: Resolution) -> str | None:
    memento = resolution.memento
    return None if memento is None or memento.status is None else str(memento.status)
