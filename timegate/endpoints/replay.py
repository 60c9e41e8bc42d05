"""Whole pages: ``/view/`` of own collections, ``/reconstruct/`` from the parts of all archives.

The page is a frame of ours, which says what is shown. In it is the archived document, in a
sandbox without scripts, with the addresses of its parts and links rewritten to ours.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from cachetools import TTLCache
from msgspec import structs

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.formats.httpdate import http_date
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import check_text
from timegate.endpoints import (
    HTML_CONTENT,
    VERDICT,
    AnswerDescription,
    PathDescription,
    answered,
)
from timegate.identifiers.url import read_url
from timegate.markup import TooComplex, is_walkable, rewritten
from timegate.pages.rendering import HEADERS, Pages
from timegate.pages.replay_frame import frame_view
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.resolution.neighbours import Neighbours
from timegate.resolution.query import NotNegotiable, query_for_url
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response, identifier_in
from timegate.responses.problems import not_negotiable, problem, unreadable
from timegate.responses.replay_addresses import (
    FRAME,
    PAGE,
    STYLESHEET,
    ReplayPlace,
    read_place,
)
from timegate.text.header_values import is_clean
from timegate.verdict import header_safe, raw_address, verdict

_WHOLE: Final = {
    **answered("The page in a frame, with the verdict", HTML_CONTENT, *VERDICT, "X-Robots-Tag"),
    "302": AnswerDescription("To the capture that is shown", {}, ("Location",)),
}
PATHS: Final = {
    "/view/{stamp}/{url}": PathDescription(
        "A page of a local collection with its parts, without scripts", _WHOLE, ("stamp", "url")
    ),
    "/reconstruct/{stamp}/{url}": PathDescription(
        "A page with its parts from all archives, without scripts; if it is configured",
        _WHOLE,
        ("stamp", "url"),
    ),
}
MOST_REQUESTS: Final = 60
"""Requests to archives for one page with its parts."""
MOST_OCTETS: Final = 20 * 1024 * 1024
"""Octets of one page with its parts, and of one file of an own collection."""
_PAGES: Final = 1000
_PAGE_SECONDS: Final = 600.0
_ERROR: Final = 400
_MOST_TRIES: Final = 3
"""Archives from which the same part is requested."""
_NO_CRAWLERS: Final = {"X-Robots-Tag": "noindex, nofollow"}
# Without allow-same-origin the document has an origin of its own, and so has its every request.
_INSIDE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    **_NO_CRAWLERS,
}
_POLICY: Final = (
    "sandbox allow-top-navigation-by-user-activation; default-src 'none'; "
    "img-src 'self' data:; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
    "media-src 'self' data:; frame-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)
_SHOWN: Final = ("text/", "image/", "audio/", "video/", "application/xhtml+xml")


class ArchivedBytes(Protocol):
    """The bytes of a memento; see `timegate.extract.archived_files`."""

    @property
    def memento(self) -> Memento: ...
    @property
    def status(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def octets(self) -> bytes: ...
    @property
    def redirect(self) -> str | None: ...


ReadFile = Callable[[Memento, RequestContext, Budget, int], Awaitable[ArchivedBytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """What the two kinds of replay differ in, and where they are served."""

    route: str
    base_url: str
    content_url: str
    """The origin of the archived documents."""
    own: frozenset[str]
    """The local collections."""
    only_own: bool
    """Whether only these are asked."""


class _NotHeld(NamedTuple):
    """A part that could not be had, and why."""

    why: str
    failed: bool
    """Whether an archive did not answer, so that it may hold the part."""


class ReplayEndpoint:
    """Answers requests for whole pages, for the documents in them, and for their parts."""

    def __init__(  # noqa: PLR0913, PLR0917 -- its parts
        self,
        answers: Answers,
        neighbours: Neighbours,
        registry: Registry,
        read: ReadFile,
        pages: Pages,
        settings: ReplaySettings,
    ) -> None:
        self._answers = answers
        self._neighbours = neighbours
        self._registry = registry
        self._read = read
        self._pages = pages
        self._settings = settings
        self._budgets: TTLCache[tuple[str, str, str], Budget] = TTLCache(_PAGES, _PAGE_SECONDS)

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with the page in its frame, or with a document or part inside it."""
        place, query = _requested(request.rest, self._settings.route)
        if not place.use:
            return await self._framed(request, place, query)
        return await self._inside(request, place, query)

    async def _framed(
        self, request: ClientRequest, place: ReplayPlace, query: Query
    ) -> Response:
        stated, applied = request.preferences
        preferences = self._allowed(place, replace(stated, verify=stated.verify or "head"))
        resolution = await self._answers.resolve(query, preferences, request.context)
        resolution = await self._neighbours.filled_in(resolution, request.context)
        redirect = self._answers.redirect(resolution, applied, vary=VARY_PAGE)
        memento = resolution.memento
        if redirect.status != 302 or memento is None:
            return replace(redirect, headers={**redirect.headers, **_NO_CRAWLERS})
        shown = ReplayPlace(
            place.target, memento.original, memento.stamp, memento.archive, PAGE
        )
        judged = verdict(resolution, self._registry)
        headers = self._answers.headers(resolution, judged, applied, VARY_PAGE)
        settings = self._settings
        view = frame_view(resolution, judged, self._registry, settings.route, settings.base_url)
        page = self._pages.render(
            "view", frame=view, content=settings.content_url + shown.path(settings.route)
        )
        return Response(200, {**headers, **self._frame_headers()}, page.encode())

    def _frame_headers(self) -> Mapping[str, str]:
        policy = HEADERS["Content-Security-Policy"]
        policy += f"; frame-src 'self' {self._settings.content_url}"
        return {**HEADERS, "Content-Security-Policy": policy, **_NO_CRAWLERS}

    def _allowed(self, place: ReplayPlace, preferences: Preferences) -> Preferences:
        """Return *preferences* with the archives from which the page may be."""
        allowed = self._settings.own if self._settings.only_own else preferences.archives
        if place.archive:
            allowed = self._only(place.archive)
        if allowed is not None and preferences.archives is not None:
            allowed &= preferences.archives
        return replace(preferences, archives=allowed)

    def _only(self, archive: str) -> frozenset[str]:
        known = self._registry.by_id(archive) is not None
        if not known or (self._settings.only_own and archive not in self._settings.own):
            detail = f"no archive here has the id {archive!r}; /archives lists their ids"
            raise EarlyResponse(problem(404, "not-found", detail, headers=_NO_CRAWLERS))
        return frozenset({archive})

    async def _inside(
        self, request: ClientRequest, place: ReplayPlace, query: Query
    ) -> Response:
        found = await self._found(place, query, request.context)
        if isinstance(found, _NotHeld):
            return _missing(place, found)
        headers = self._memento_headers(place, found.memento)
        if found.redirect is not None:
            target = replace(place, url=found.redirect).path(self._settings.route)
            location = f"{self._settings.content_url}{target}"
            return Response(302, {**headers, **_INSIDE, "Location": location})
        if place.use not in (PAGE, FRAME, STYLESHEET):
            return Response(200, {**headers, **_part_headers(found)}, found.octets)
        return await self._document(place, found, headers)

    async def _found(
        self, place: ReplayPlace, query: Query, context: RequestContext
    ) -> "ArchivedBytes | _NotHeld":
        """Return the file: from the archive of the page, else from another one."""
        context = structs.replace(context, budget=self._budget_of(place))
        if place.use != PAGE:
            # A part that the blocklist stops does not stop the page.
            context = structs.replace(context, blocked=[])
        lacking = _NotHeld("no archive that was asked holds it", failed=False)
        for preferences in self._searches(place):
            resolution = await self._answers.resolve(query, preferences, context)
            if not resolution.complete:
                lacking = _NotHeld("an archive did not answer", failed=True)
            for memento in _held(resolution):
                found = await self._delivered(memento, context, lacking)
                if not isinstance(found, _NotHeld):
                    return found
                lacking = found
        return lacking

    async def _delivered(
        self, memento: Memento, context: RequestContext, lacking: _NotHeld
    ) -> "ArchivedBytes | _NotHeld":
        """Return the file of *memento*, unless it is an archived error."""
        budget = context.budget or Budget()
        if budget.requests <= 0 or budget.octets <= 0:
            return _NotHeld("the budget of this page is used up", failed=True)
        try:
            found = await self._read(memento, context, budget, MOST_OCTETS)
        except ArchiveError as error:
            return _NotHeld(f"{error.archive} {error.why}", failed=True)
        if found.status < _ERROR:
            return found
        return lacking._replace(why=f"it was archived as an error ({found.status})")

    def _searches(self, place: ReplayPlace) -> Iterator[Preferences]:
        here = frozenset({place.archive})
        if self._settings.only_own:
            here &= self._settings.own
        if here:
            yield Preferences(archives=here, verify="none")
        if place.use == PAGE:
            return
        if not self._settings.only_own:
            yield Preferences(exclude=here, verify="none")
        elif others := self._settings.own - here:
            yield Preferences(archives=others, verify="none")

    def _budget_of(self, place: ReplayPlace) -> Budget:
        """Return the budget of the page to which *place* belongs."""
        key = (place.target, place.near, place.archive)
        budget = self._budgets.get(key)
        if budget is None:
            budget = self._budgets[key] = Budget(MOST_REQUESTS, MOST_OCTETS)
        return budget

    def _memento_headers(self, place: ReplayPlace, memento: Memento) -> dict[str, str]:
        original = header_safe(memento.original)
        raw = raw_address(memento, self._registry.by_id(memento.archive)) or memento.uri
        return {
            "Memento-Datetime": http_date(memento.stamp),
            "Link": f'<{original}>; rel="original"',
            "Content-Location": header_safe(raw),
            # The same address may lead to a nearer capture when there is one.
            "Cache-Control": "no-cache" if place.use == PAGE else "max-age=600",
        }

    async def _document(
        self, place: ReplayPlace, found: ArchivedBytes, headers: dict[str, str]
    ) -> Response:
        settings = self._settings
        content_type = _used_type(place.use, found)
        if not is_walkable(found.octets, content_type):
            return self._as_it_is(place, found, headers)
        try:
            octets, media_type = await asyncio.to_thread(
                rewritten,
                found.octets,
                content_type,
                found.memento.original,
                lambda url: place.address_of(settings.route, settings.base_url, url),
                in_frame=place.use == FRAME,
            )
        except TooComplex as error:
            return _notice(place, f"This page cannot be shown: it is {error}.")
        policy = _POLICY
        if place.use == PAGE:
            parts = urlsplit(settings.base_url)
            policy += f"; frame-ancestors {parts.scheme}://{parts.netloc}"
        return Response(
            200,
            {
                **headers,
                **_INSIDE,
                "Content-Security-Policy": policy,
                "Content-Type": media_type,
            },
            octets,
        )

    def _as_it_is(
        self, place: ReplayPlace, found: ArchivedBytes, headers: dict[str, str]
    ) -> Response:
        if not found.content_type.lower().startswith(_SHOWN):
            kind = found.content_type or "of an unknown type"
            return _notice(
                place, f"This is a file ({kind}), not a page. Download it with “As captured”."
            )
        return Response(200, {**headers, **_part_headers(found)}, found.octets)


async def no_collections(_: ClientRequest) -> Response:
    """Answer where there are no own collections of which pages could be shown."""
    detail = "this server has no collections of its own, of which /view/ shows pages; "
    detail += "/resolve/{identifier} leads to the copy in its archive"
    return problem(404, "not-found", detail, headers=_NO_CRAWLERS)


async def not_reconstructed(_: ClientRequest) -> Response:
    """Answer where pages are not put together from several archives."""
    detail = "this server does not put pages together from several archives; "
    detail += "its operator can enable it with [reconstruct] in the configuration"
    return problem(404, "not-found", detail, headers=_NO_CRAWLERS)


def _held(resolution: Resolution) -> Iterator[Memento]:
    """Yield the memento that was chosen, then those of other archives, a few."""
    attempts = (*filter(None, (resolution.best,)), *resolution.alternatives)
    for attempt in attempts[:_MOST_TRIES]:
        if isinstance(attempt.outcome, Closest):
            yield attempt.outcome.memento


def _requested(rest: str, route: str) -> tuple[ReplayPlace, Query]:
    """Return the place in *rest*, and what is looked for. Raises EarlyResponse."""
    place = read_place(rest)
    if place is None:
        detail = (
            f"write a stamp of 4 to 23 digits and a URL: /{route}/20160122/http://www.dr.dk"
        )
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    text = identifier_in(place.url)
    try:
        check_text(text)
        reading = read_url(text, Diagnosis())
        at = Moment(place.near or place.target)
        query = query_for_url(reading.identifier.item or text, at, reading.diagnostics)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, text)) from complaint
    except NotNegotiable as error:
        raise EarlyResponse(not_negotiable(error)) from error
    return replace(place, url=query.original), query


def _used_type(use: str, found: ArchivedBytes) -> str:
    """Return the type as which a document is read: old servers named no type for CSS."""
    stated = found.content_type
    is_page = "html" in stated.lower()
    if use != STYLESHEET or is_page:
        return stated
    _, semicolon, parameters = stated.partition(";")
    return f"text/css{semicolon}{parameters}"


def _part_headers(found: ArchivedBytes) -> dict[str, str]:
    stated = found.content_type
    media_type = stated if stated and is_clean(stated) else "application/octet-stream"
    return {
        **_INSIDE,
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        "Content-Type": media_type,
    }


def _missing(place: ReplayPlace, lacking: _NotHeld) -> Response:
    status = 502 if lacking.failed else 404
    words = "could not be had" if lacking.failed else "is not archived"
    response = _notice(place, f"{place.url} {words}: {lacking.why}.")
    return replace(response, status=status)


def _notice(place: ReplayPlace, words: str) -> Response:
    """Return a text in the place of a document."""
    headers = {
        **_INSIDE,
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Content-Type": "text/plain; charset=utf-8",
        "Cache-Control": "no-store",
    }
    body = words.encode("utf-8", "replace") if place.use in (PAGE, FRAME) else b""
    return Response(200, headers, body)
