"""Addresses of the Wayback Machine, over all archives: ``/web/...`` and availability.

``/web/{stamp}/{url}`` leads a browser to the best memento of any archive. With ``id_``,
``if_``, ``im_``, ``js_`` or ``cs_`` after the stamp, a memento is answered with its archived
bytes, and any other stamp with a redirect to that of the closest one, as there: clients that
download follow no redirect to another host. Programs get the bytes without a modifier, too.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links.fields import Stamp, read_stamp, stamp_moment
from archives.uri import check_text
from timegate.cdx import UNKNOWN, Parameters, moment_of, parameters_in, timestamp
from timegate.endpoints import (
    CDX_PARAMETERS,
    QUERIED,
    RAW_BYTES,
    REDIRECT,
    TEXT_CONTENT,
    TIMEMAPS,
    VERDICT,
    AnswerDescription,
    Content,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.endpoints.raw_proxy import RawProxyEndpoint, RawRequest
from timegate.endpoints.resolve import MOST_BYTES, MOST_LINES
from timegate.endpoints.timegate import RAW_VIEWS, REWRITTEN, preferred_view, with_view
from timegate.identifiers.url import read_url
from timegate.observability.logs import Unforeseen
from timegate.pages.answer_pages import AnswerPages
from timegate.pages.rendering import wants_page
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.preferences import (
    PARAMETERS,
    BadPreference,
    check_archives,
    preferences_from,
)
from timegate.resolution.query import query_for_url
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import problem, unreadable
from timegate.responses.replay_addresses import ReplayPlace
from timegate.timemaps import FORMATS
from timegate.verdict import header_safe, location

VARY: Final = "prefer"
_CDX_ONLY: Final[Content] = {**TEXT_CONTENT, "application/json": "CdxArray"}
_CDX: Final[Content] = {**_CDX_ONLY, **TIMEMAPS}
PATHS: Final = {
    "/web/{stamp}/{url}": PathDescription(
        "The best memento, as at the Wayback Machine",
        RAW_BYTES,
        ("wayback-stamp", "url", "Prefer", "Range"),
        problems=(*QUERIED, "403", "416"),
    ),
    "/web/{stamp}{modifier}/{url}": PathDescription(
        "The archived bytes for an exact stamp, and otherwise a redirect to one",
        RAW_BYTES,
        ("wayback-stamp", "modifier", "url", "Prefer", "Range"),
        problems=(*QUERIED, "403", "416"),
    ),
    "/web/{url}": PathDescription("The newest memento", REDIRECT, ("url", "Prefer")),
    "/web/*/{url}": PathDescription(
        "The list of captures, as at the Wayback Machine",
        {"302": AnswerDescription("To the page of captures", {}, ("Location",))},
        ("url",),
    ),
    "/web/timemap/{format}/{url}": PathDescription(
        "The captures, as at the Wayback Machine",
        {
            **answered("The captures", _CDX, "Memento-Sources"),
            "302": AnswerDescription("To the TimeMap, for link", {}, ("Location",)),
        },
        ("wayback-format", "url"),
    ),
    "/web/timemap/{format}": PathDescription(
        "The same, with parameters of a CDX server",
        {
            **answered("The captures", _CDX_ONLY, "Memento-Sources"),
            "302": AnswerDescription("To the TimeMap, for link", {}, ("Location",)),
        },
        ("wayback-format", "cdx-url", *CDX_PARAMETERS),
    ),
    "/wayback/available": PathDescription(
        "The availability API of the Wayback Machine",
        answered("The closest memento", {"application/json": "Availability"}, *VERDICT),
        ("available-url", "timestamp"),
        writes={
            "post": WriteDescription(
                "The same for many URLs",
                {"application/x-www-form-urlencoded": "AvailabilityForm", **TEXT_CONTENT},
                answered("A result for each line", {"application/json": "Availabilities"}),
                problems=("408", "413"),
            )
        },
    ),
}
BYTES: Final = "id_|if_|im_|js_|cs_"
"""Modifiers after a stamp that request bytes."""
_RAW: Final = re.compile(rf"([0-9]{{0,14}})({BYTES})")
"""Requests bytes; with a second origin, `server.middleware` serves these only there."""
_SECOND: Final = re.compile(r"[0-9]{14}")
_TEMPLATE: Final = "web/{{stamp}}{modifier}/{{url}}"
_OLDEST: Final = Moment("1991")
"""What ``/web/0/`` requests: no archive has a page of the first year of the web."""
_SPAN: Final = re.compile(r"[0-9]{0,14}(?:-[0-9]{0,14})?\*")
"""Requests a list: ``*``, ``2013*``, ``2013-2015*``."""
# A name, perhaps with dots: anything else could be a script.
_CALLBACK: Final = re.compile(
    r"[A-Za-z_$][A-Za-z0-9_$]{0,63}(?:\.[A-Za-z_$][A-Za-z0-9_$]{0,63}){0,3}"
)
_DIRECTIONS: Final = {"either": "closest", "before": "before", "after": "after"}


class WaybackEndpoint:
    """Answers ``/web/...``: as a memento by time, a TimeGate if there is no time, or a list."""

    def __init__(  # noqa: PLR0913 -- what it is built from, and a setting
        self,
        answers: Answers,
        timegate: Callable[[ClientRequest], Awaitable[Response]],
        raw: RawProxyEndpoint,
        pages: AnswerPages | None = None,
        own: frozenset[str] = frozenset(),
        *,
        cdx: Handler | None = None,
        sends_bytes: bool = True,
    ) -> None:
        """*raw* sends the bytes of a memento, *cdx* is the CDX server.

        *pages* are for browsers; pages of the collections in *own* are shown by `/view/`.
        *sends_bytes*: to programs, also without a modifier; they are not if archived bytes have
        an origin of their own.
        """
        self._answers = answers
        self._timegate = timegate
        self._raw = raw
        self._pages = pages
        self._own = own
        self._cdx = cdx
        self._sends_bytes = sends_bytes

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Redirect to the best memento or to the list of all, or send the bytes of one."""
        token, slash, target = request.rest.partition("/")
        if request.rest.startswith(("timemap/", "timemap?")):
            return await self._list(request, request.rest.removeprefix("timemap"))
        if slash and _SPAN.fullmatch(token.replace("%2A", "*").replace("%2a", "*")):
            return self._span(request, token, target)
        stamp = read_stamp("", token) if slash else None
        if stamp is None:
            # Without a stamp this is the Wayback Machine's TimeGate.
            return await self._timegate(request)
        is_browser = wants_page(request.header("Accept"))
        query = _dated(stamp, request.rest, identifier_in(target))
        raw = _RAW.fullmatch(token)
        if raw is not None and (raw[2] == "id_" or not is_browser):
            return await self._raw.sent(request, _raw_request(raw[1], raw[2], query))
        preferences, _ = request.preferences
        if self._pages is None or stamp.modifier or not is_browser:
            view = None if stamp.modifier else preferred_view(request)
            return await self._for_program(request, token, query, view, is_browser=is_browser)
        # A person is led to a page that is there.
        checked = replace(preferences, verify=preferences.verify or "head")
        resolution = await self._answers.resolve(query, checked, request.context)
        return self._for_people(self._pages, request, resolution, stamp)

    async def _for_program(
        self,
        request: ClientRequest,
        token: str,
        query: Query,
        view: str | None,
        *,
        is_browser: bool,
    ) -> Response | StreamingResponse:
        """Send the bytes to a program, unless it prefers another view; else redirect."""
        preferences, applied = request.preferences
        if view in RAW_VIEWS:
            query = replace(query, precision="part")
        resolution = await self._answers.resolve(query, preferences, request.context)
        if not is_browser and view != REWRITTEN:
            sent = await self._bytes(request, token, resolution)
            if sent is not None:
                return with_view(sent, view)
        redirect = self._answers.redirect(resolution, applied, vary=VARY_PAGE)
        return with_view(redirect, view)

    async def _bytes(
        self, request: ClientRequest, token: str, resolution: Resolution
    ) -> StreamingResponse | None:
        """Return the bytes of the memento for a program, if *token* is its second.

        None if they cannot be had: then the client is redirected to the archive.
        """
        accept, memento = request.header("Accept") or "*/*", resolution.memento
        if (
            not self._sends_bytes
            or "*/*" not in accept
            or memento is None
            or _SECOND.fullmatch(token) is None
            or not self._raw.delivers(memento)
        ):
            return None
        requested = _raw_request(token, "", resolution.query)
        if not requested.names(memento, resolution.query.original):
            return None
        exact = replace(resolution, query=requested.query)
        response = await self._raw.sent_of(request, requested, exact)
        if isinstance(response, Response):
            return None
        return replace(response, headers={**response.headers, "Vary": VARY_PAGE})

    def _for_people(
        self, pages: AnswerPages, request: ClientRequest, resolution: Resolution, stamp: Stamp
    ) -> Response:
        """Lead to the page; where it is not what was requested, say so first."""
        _, applied = request.preferences
        response = pages.redirect_or_page(
            resolution, request.context, applied, vary=VARY_PAGE, always=False
        )
        memento = resolution.memento
        if response.status != 302 or memento is None or memento.archive not in self._own:
            return response
        view = ReplayPlace(stamp.digits, memento.original).path("view")
        location = f"{self._answers.base_url.rstrip('/')}{view}"
        return replace(response, headers={**response.headers, "Location": location})

    def _span(self, request: ClientRequest, token: str, target: str) -> Response:
        """Redirect to the list: for people, to the page of the captures of the span."""
        if target.endswith("*"):
            # All URLs with this prefix: captures of many pages are CDX.
            url = quote(identifier_in(target), safe="", errors="surrogateescape")
            return self._redirect(f"cdx/search/cdx?url={url}")
        if not wants_page(request.header("Accept")):
            response = self._redirect(f"timemap/link/{target}")
        elif token[0] == "*" or token[0] == "%":
            response = self._redirect(f"timemap/html/{target}")
        else:
            first, _, last = token.replace("%2A", "*").replace("%2a", "*")[:-1].partition("-")
            span = urlencode({"from": first, "to": last or first})
            encoded = quote(identifier_in(target), safe="", errors="surrogateescape")
            response = self._redirect(f"timemap/html/{encoded}?{span}")
        return replace(response, headers={**response.headers, "Vary": "accept"})

    async def _list(self, request: ClientRequest, rest: str) -> Response | StreamingResponse:
        """Answer ``/{format}/{url}``, ``/{format}?url=`` or ``?url=``; formats as there.

        With ``url=`` all but ``link`` are CDX, in JSON unless *cdx* is the format.
        """
        path, mark, query = rest.removeprefix("/").partition("?")
        name, _, target = path.partition("/")
        by_parameter = "url" in parameters_in(mark + query) and not target
        if by_parameter and name == "link":
            url = first(parameters_in(mark + query), "url")
            encoded = quote(url, safe="", errors="surrogateescape")
            return self._redirect(f"timemap/link/{encoded}")
        if by_parameter and self._cdx is not None and name in ("", "json", "cdx"):
            output = "&output=json" if name == "json" else ""
            return await self._cdx(request._replace(rest=f"?{query}{output}"))
        rest = rest.removeprefix("/")
        if name in (*FORMATS, "html") and target:
            return self._redirect(f"timemap/{rest}")
        if "." in name or ":" in name:
            return self._redirect(f"timemap/link/{rest}")
        detail = f"write /web/timemap/{{format}}/{{url}}; formats are {', '.join(FORMATS)}"
        return problem(404, "not-found", detail, formats=[*FORMATS])

    def _redirect(self, target: str) -> Response:
        address = f"{self._answers.base_url.rstrip('/')}/{header_safe(target)}"
        return Response(302, {"Location": address, "Cache-Control": "max-age=60"})


def _dated(stamp: Stamp, whole: str, target: str) -> Query:
    diagnosis = Diagnosis()
    try:
        at = stamp_moment(stamp, 0, diagnosis)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, whole)) from complaint
    if at is None and stamp.digits and not stamp.digits.strip("0"):
        at = _OLDEST
    return _query(target, at, diagnosis)


def _raw_request(digits: str, modifier: str, query: Query) -> RawRequest:
    # PWID calls the bytes of a single file a part (V-1).
    part = replace(query, precision="part")
    return RawRequest(digits, part, _TEMPLATE.format(modifier=modifier), is_wayback=True)


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
        """Return the closest memento; a problem if it is unknown whether there is one."""
        parameters = parameters_in(request.rest)
        try:
            query = availability_query(parameters)
            callback = _callback(parameters)
            preferences, applied = preferences_from(
                {**_stated(parameters), **direction_in(parameters)},
                request.header("Prefer"),
                request.header("Cache-Control"),
            )
            if "archives" in parameters:
                check_archives(preferences, self._registry)
        except BadPreference as error:
            raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
        resolution = await self._answers.resolve(query, preferences, request.context)
        described = self._answers.described(resolution, applied, vary=VARY)
        if described.status != 200 and not is_absent(resolution, preferences):
            return described
        body = msgspec.json.encode(
            {"archived_snapshots": snapshots(resolution, self._registry)}
        )
        return _scripted(described, body, callback)


def snapshots(resolution: Resolution, registry: Registry) -> dict[str, object]:
    """Return the chosen memento in the format of the API; empty if there is none."""
    memento = resolution.memento
    if memento is None:
        return {}
    closest = {
        "available": True,
        "url": location(resolution, registry),
        "timestamp": timestamp(memento),
        # A string in this API; a status that the archive did not state is not called 200.
        "status": UNKNOWN if memento.status is None else str(memento.status),
    }
    return {"closest": closest}


def is_absent(resolution: Resolution, preferences: Preferences) -> bool:
    """Whether archives were queried, and all answered that they hold no memento."""
    queried = bool(resolution.attempts) and not preferences.only_if_cached
    return resolution.memento is None and resolution.complete and queried


def _scripted(described: Response, body: bytes, callback: str) -> Response:
    headers = {**described.headers, "Content-Type": "application/json"}
    headers["Cache-Control"] = (
        "max-age=60" if described.status != 200 else headers["Cache-Control"]
    )
    if callback:
        headers["Content-Type"] = "text/javascript; charset=utf-8"
        # The comment prevents that the body, which begins with text of the caller, is taken for
        # another media type.
        body = b"/**/" + callback.encode() + b"(" + body + b");"
    return Response(200, headers, body, described.keep)


def availability_query(parameters: Parameters) -> Query:
    """Return the query in ``url`` and ``timestamp``. Raises BadPreference or EarlyResponse."""
    return _query(_url(parameters), _at(parameters), Diagnosis())


def first(parameters: Parameters, name: str) -> str:
    """Return the first value of a parameter; empty if there is none."""
    return next(iter(parameters.get(name, ())), "")


def _url(parameters: Parameters) -> str:
    url = first(parameters, "url")
    if not url:
        raise BadPreference("url", "the percent-encoded URL of a page; it is missing")
    return url


def _at(parameters: Parameters) -> Moment | None:
    digits = first(parameters, "timestamp")
    return moment_of("timestamp", digits) if digits else None


def _callback(parameters: Parameters) -> str:
    name = first(parameters, "callback")
    if name and not _CALLBACK.fullmatch(name):
        raise BadPreference("callback", "the name of a function: letters, digits, _ $ and dots")
    return name


def _stated(parameters: Parameters) -> dict[str, str]:
    """Return the parameters of ours."""
    names = (parameter.name for parameter in PARAMETERS)
    return {name: ",".join(parameters[name]) for name in names if name in parameters}


def direction_in(parameters: Parameters) -> dict[str, str]:
    """Return ``closest`` as our parameter ``direction``. Raises BadPreference."""
    closest = first(parameters, "closest")
    if closest and closest not in _DIRECTIONS:
        raise BadPreference("closest", " or ".join(_DIRECTIONS))
    return {"direction": _DIRECTIONS[closest]} if closest else {}


_AT_ONCE: Final = 8
"""Lines that are resolved at the same time."""
_BODY_DEADLINE: Final = 15.0
# InternetArchiveBot closes the connection after 300 seconds (APII.php, CURLOPT_TIMEOUT).
_DEADLINE: Final = 120.0


class Availabilities:
    """Answers POST requests to the availability API: one line of parameters for each URL."""

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
        """Return the results of all lines of *body*, as far as time allows."""
        parameters = parameters_in(request.rest)
        common = {name: first(parameters, name) for name in parameters}
        lines = _lines(body)
        try:
            check_archives(preferences_from(common, None, None)[0], self._registry)
        except BadPreference as error:
            return problem(400, "bad-parameter", str(error))
        results = await self._results(lines, common, request.context)
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return Response(200, headers, msgspec.json.encode({"results": results}))

    async def _results(
        self, lines: Sequence[Parameters], common: Mapping[str, str], context: RequestContext
    ) -> list[dict[str, object]]:
        results: list[dict[str, object]] = [_echoed(line) for line in lines]
        remaining = iter(zip(lines, results, strict=True))

        async def work() -> None:
            for line, result in remaining:
                found = await self._contained(line, common, context)
                if found is not None:
                    result["archived_snapshots"] = found

        # Results that are unknown when time is up have no snapshots member.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._deadline), asyncio.TaskGroup() as group:
                for _ in range(min(_AT_ONCE, len(lines))):
                    group.create_task(work())
        return results

    async def _contained(
        self, line: Parameters, common: Mapping[str, str], context: RequestContext
    ) -> dict[str, object] | None:
        """Resolve one line; an unforeseen exception affects only this result."""
        try:
            return await self._snapshots(line, common, context)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /wayback/available", error)
            return None

    async def _snapshots(
        self, line: Parameters, common: Mapping[str, str], context: RequestContext
    ) -> dict[str, object] | None:
        """Return the memento, empty if there is none; None if that is unknown."""
        try:
            query = availability_query(line)
            preferences, _ = preferences_from(_parameters(common, line), None, None)
        except (BadPreference, EarlyResponse):
            return None
        resolution = await self._answers.resolve(query, preferences, context)
        if resolution.memento is None:
            return {} if is_absent(resolution, preferences) else None
        suitable = _with_status(resolution, line.get("statuscodes", ()))
        if suitable is None:
            return None
        described = self._answers.described(suitable, vary=VARY)
        return snapshots(suitable, self._registry) if described.status == 200 else None


def _lines(body: bytes) -> list[Parameters]:
    lines = [line for line in body.decode(errors="replace").split("\n") if line.strip()]
    if len(lines) > MOST_LINES:
        detail = f"a request may have {MOST_LINES} URLs; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))
    return [parameters_in(f"?{line.strip()}") for line in lines]


def _echoed(line: Parameters) -> dict[str, object]:
    """Return the parameters by which a client recognises its result."""
    return {
        name: first(line, name).encode(errors="replace").decode()
        for name in ("url", "timestamp", "tag")
        if name in line
    }


def _parameters(common: Mapping[str, str], line: Parameters) -> dict[str, str]:
    """Return our parameters for *line*. Raises BadPreference.

    A TimeGate that redirects does not state the status of the memento. So for ``statuscodes``
    the memento is requested, unless the client sends ``verify=none``.
    """
    verify = {"verify": "head"} if line.get("statuscodes") else {}
    return {**verify, **common, **direction_in(line)}


def _with_status(resolution: Resolution, codes: Sequence[str]) -> Resolution | None:
    """Return *resolution* with the best memento that has one of the status *codes*.

    A memento of unknown status is accepted. None if all mementos have other statuses: the
    lists of the archives may have more.
    """
    best = resolution.memento
    if not codes or best is None or best.status is None or str(best.status) in codes:
        return resolution
    others = (replace(resolution, best=attempt) for attempt in resolution.alternatives)
    return next((other for other in others if _status(other) in codes), None)


def _status(resolution: Resolution) -> str | None:
    memento = resolution.memento
    return None if memento is None or memento.status is None else str(memento.status)
