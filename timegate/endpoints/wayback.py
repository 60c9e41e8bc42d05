"""The addresses of the Wayback Machine: ``/web/{stamp}{modifier}/{url}`` and availability.

Over all archives: whoever holds the best copy is where a client is led.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import msgspec

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links.fields import Stamp, read_stamp, stamp_moment
from archives.uri import check_text
from timegate.cdx import UNKNOWN, Parameters, moment_of, parameters_in, timestamp
from timegate.endpoints.resolve import MOST_BYTES, MOST_LINES
from timegate.identifiers.url import read_url
from timegate.observability.logs import Unforeseen
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import BadPreference, check_archives, preferences_from
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response, identifier_in
from timegate.responses.problems import problem, unreadable
from timegate.timemaps import FORMATS
from timegate.verdict import header_safe, location

VARY: Final = "prefer"
_SPAN: Final = re.compile(r"[0-9]{0,14}(?:-[0-9]{0,14})?\*")
"""A listing: ``*``, ``2013*``, ``2013-2015*``."""
# A name, perhaps with dots: anything else would be a script of the caller's choice.
_CALLBACK: Final = re.compile(
    r"[A-Za-z_$][A-Za-z0-9_$]{0,63}(?:\.[A-Za-z_$][A-Za-z0-9_$]{0,63}){0,3}"
)
_SIDES: Final = {"either": "closest", "before": "before", "after": "after"}


class WaybackEndpoint:
    """Answers ``/web/...``: the time stands in the address, or is negotiated without one."""

    def __init__(
        self, answers: Answers, timegate: Callable[[ClientRequest], Awaitable[Response]]
    ) -> None:
        self._answers = answers
        self._timegate = timegate

    async def __call__(self, request: ClientRequest) -> Response:
        """Redirect to the best copy, or to the list of all of them."""
        token, slash, target = request.rest.partition("/")
        if request.rest.startswith("timemap/"):
            return self._listing(request.rest.removeprefix("timemap/"))
        if slash and _SPAN.fullmatch(token.replace("%2A", "*").replace("%2a", "*")):
            return self._moved(f"timemap/link/{target}")
        stamp = read_stamp("", token) if slash else None
        if stamp is None:
            # Without a stamp this is the Wayback Machine's TimeGate.
            return await self._timegate(request)
        query = _dated(stamp, request.rest, identifier_in(target))
        preferences, applied = request.preferences
        resolution = await self._answers.resolve(query, preferences, request.context)
        return self._answers.redirect(resolution, applied, vary=VARY)

    def _listing(self, rest: str) -> Response:
        name, _, target = rest.partition("/")
        if name in FORMATS and target:
            return self._moved(f"timemap/{name}/{target}")
        if rest.startswith("cdx?"):
            return self._moved(f"cdx/search/{rest}")
        if "." in name or ":" in name:
            return self._moved(f"timemap/link/{rest}")
        detail = f"there is /web/timemap/{{format}}/{{url}} in {', '.join(FORMATS)}"
        return problem(404, "not-found", detail, formats=[*FORMATS])

    def _moved(self, target: str) -> Response:
        address = f"{self._answers.base_url.rstrip('/')}/{header_safe(target)}"
        return Response(302, {"Location": address, "Cache-Control": "max-age=60"})


def _dated(stamp: Stamp, whole: str, target: str) -> Query:
    diagnosis = Diagnosis()
    try:
        at = stamp_moment(stamp, 0, diagnosis)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, whole)) from complaint
    query = _query(target, at, diagnosis)
    return replace(query, precision="part") if stamp.modifier == "id_" else query


def _query(url: str, at: Moment | None, diagnosis: Diagnosis) -> Query:
    try:
        check_text(url)
        reading = read_url(url, diagnosis)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, url)) from complaint
    return query_for_url(reading.identifier.item or url, at, reading.diagnostics)


class Availability:
    """Answers ``/wayback/available?url=&timestamp=&callback=`` (A-1)."""

    def __init__(self, answers: Answers, registry: Registry) -> None:
        self._answers = answers
        self._registry = registry

    async def __call__(self, request: ClientRequest) -> Response:
        """Tell the closest copy; a problem where nobody knows whether there is one."""
        parameters = parameters_in(request.rest)
        try:
            query = asked(parameters)
            callback = _callback(parameters)
            preferences, applied = preferences_from(
                side_wanted(parameters),
                request.header("Prefer"),
                request.header("Cache-Control"),
            )
        except BadPreference as error:
            raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
        resolution = await self._answers.resolve(query, preferences, request.context)
        described = self._answers.described(resolution, applied, vary=VARY)
        if described.status != 200 and not is_no(resolution, preferences):
            return described
        told = {"archived_snapshots": snapshots(resolution, self._registry)}
        return _scripted(described, msgspec.json.encode(told), callback)


def snapshots(resolution: Resolution, registry: Registry) -> dict[str, object]:
    """Tell the copy that was chosen, as the interface does; empty where there is none."""
    memento = resolution.memento
    if memento is None:
        return {}
    closest = {
        "available": True,
        "url": location(resolution, registry),
        "timestamp": timestamp(memento),
        # A string, by whatever name; what an archive did not tell is not called 200.
        "status": UNKNOWN if memento.status is None else str(memento.status),
    }
    return {"closest": closest}


def is_no(resolution: Resolution, preferences: Preferences) -> bool:
    """Whether everybody was asked and said that there is nothing."""
    somebody = bool(resolution.attempts) and not preferences.only_if_cached
    return resolution.memento is None and resolution.complete and somebody


def _scripted(described: Response, body: bytes, callback: str) -> Response:
    headers = {**described.headers, "Content-Type": "application/json"}
    headers["Cache-Control"] = (
        "max-age=60" if described.status != 200 else headers["Cache-Control"]
    )
    if callback:
        headers["Content-Type"] = "text/javascript; charset=utf-8"
        # The comment keeps a body that begins with the caller's word from being anything else.
        body = b"/**/" + callback.encode() + b"(" + body + b");"
    return Response(200, headers, body, described.keep)


def asked(parameters: Parameters) -> Query:
    """Return what ``url`` and ``timestamp`` ask for. Raises BadChoice or Declined."""
    return _query(_url(parameters), _at(parameters), Diagnosis())


def first(parameters: Parameters, name: str) -> str:
    """Return the first value of a parameter; empty where there is none."""
    return next(iter(parameters.get(name, ())), "")


def _url(parameters: Parameters) -> str:
    url = first(parameters, "url")
    if not url:
        raise BadPreference("url", "given: the URL of which a copy is wanted, percent-encoded")
    return url


def _at(parameters: Parameters) -> Moment | None:
    digits = first(parameters, "timestamp")
    return moment_of("timestamp", digits) if digits else None


def _callback(parameters: Parameters) -> str:
    name = first(parameters, "callback")
    if name and not _CALLBACK.fullmatch(name):
        raise BadPreference("callback", "the name of a function: letters, digits, _ $ and dots")
    return name


def side_wanted(parameters: Parameters) -> dict[str, str]:
    """Return what ``closest`` orders, in our words. Raises BadChoice."""
    side = first(parameters, "closest")
    if side and side not in _SIDES:
        raise BadPreference("closest", " or ".join(_SIDES))
    return {"direction": _SIDES[side]} if side else {}


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
        self.largest_body = MOST_BYTES
        self.body_deadline = _BODY_DEADLINE
        self._log = Unforeseen("item-internal-error")

    async def __call__(self, request: ClientRequest, body: bytes) -> Response:
        """Answer all lines of *body* when all are known or time is up."""
        parameters = parameters_in(request.rest)
        orders = {name: first(parameters, name) for name in parameters}
        lines = _lines(body)
        try:
            check_archives(preferences_from(orders, None, None)[0], self._registry)
        except BadPreference as error:
            return problem(400, "bad-parameter", str(error))
        results = await self._results(lines, orders, request.context)
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return Response(200, headers, msgspec.json.encode({"results": results}))

    async def _results(
        self, lines: Sequence[Parameters], orders: Mapping[str, str], context: RequestContext
    ) -> list[dict[str, object]]:
        results: list[dict[str, object]] = [_named(line) for line in lines]
        waiting = iter(zip(lines, results, strict=True))

        async def work() -> None:
            for line, result in waiting:
                known = await self._contained(line, orders, context)
                if known is not None:
                    result["archived_snapshots"] = known

        # What is not known when time is up is not said.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._deadline), asyncio.TaskGroup() as group:
                for _ in range(min(_AT_ONCE, len(lines))):
                    group.create_task(work())
        return results

    async def _contained(
        self, line: Parameters, orders: Mapping[str, str], context: RequestContext
    ) -> dict[str, object] | None:
        """Answer one line; an unforeseen exception costs this row and no other."""
        try:
            return await self._known(line, orders, context)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /wayback/available", error)
            return None

    async def _known(
        self, line: Parameters, orders: Mapping[str, str], context: RequestContext
    ) -> dict[str, object] | None:
        """Return what is available, empty for nothing; None where that is not known."""
        try:
            query = asked(line)
            preferences, _ = preferences_from(_with_look(orders, line), None, None)
        except (BadPreference, EarlyResponse):
            return None
        found = await self._answers.resolve(query, preferences, context)
        if found.memento is None:
            return {} if is_no(found, preferences) else None
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
