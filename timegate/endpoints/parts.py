"""``/parts/{identifier}``: what the page of a reference embeds, and the capture of each."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final, NamedTuple

from archives.errors import ArchiveError
from archives.model import Memento
from archives.registry import Registry
from timegate.endpoints import (
    HTML_CONTENT,
    VERDICT,
    PathDescription,
    answered,
)
from timegate.endpoints.resolve import Resolve
from timegate.pages.rendering import FRAMED_HEADERS, Pages
from timegate.parts.composite import CompositeMemento, Part, PartLimits
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import patient
from timegate.resolution.model import Preferences, Resolution
from timegate.resolution.preferences import PARAMETERS, BadPreference
from timegate.responses.answer_view import name_of, spoken
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import (
    FORMAT_PARAMETER,
    ClientRequest,
    EarlyResponse,
    Response,
    UnknownParameter,
    identifier_in,
    weight,
    without_parameters,
)
from timegate.responses.parts import PARTS_FORMATS
from timegate.responses.problems import problem
from timegate.verdict import in_words, verdict
from timegate.verdict.parts import beside_page

PARTS_FORMS: Final = ("html", *PARTS_FORMATS)
"""The values of the parameter ``as``."""
PATHS: Final = {
    "/parts/{identifier}": PathDescription(
        "What the page of a reference embeds: the capture of each part near the time of the "
        "page, its PWID, and how coherent it is",
        answered(
            "The parts; 502 if the page is held, but its bytes cannot be read",
            {
                **dict.fromkeys((form.media_type for form in PARTS_FORMATS.values()), "Text"),
                "application/json": "Parts",
                "application/linkset+json": "Linkset",
                **HTML_CONTENT,
            },
            *VERDICT,
        ),
        ("identifier", "parts-format", *(parameter.name for parameter in PARAMETERS), "Prefer"),
    ),
}
PartsOf = Callable[
    [Memento, RequestContext, PartLimits | None, Preferences], Awaitable[CompositeMemento]
]


class PartView(NamedTuple):
    """A part on the page."""

    url: str
    kind: str
    outcome: str
    archive: str
    uri: str
    captured: str
    distance: str
    coherence: str
    why: str


class PartsEndpoint:
    """Answers requests for the parts of a page."""

    def __init__(
        self,
        answers: Answers,
        resolve: Resolve,
        registry: Registry,
        parts_of: PartsOf,
        pages: Pages,
    ) -> None:
        self._answers = answers
        self._resolve = resolve
        self._registry = registry
        self._parts_of = parts_of
        self._pages = pages

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with the parts in the requested format, or as a page."""
        try:
            text, parameters = without_parameters(request.rest)
            form = _form(parameters, request.header("Accept") or "")
            preferences, applied = self._resolve.preferences(request, parameters)
        except (UnknownParameter, BadPreference) as error:
            detail = f"{error}; if it belongs to the URL, percent-encode the URL"
            response = problem(400, "bad-parameter", detail, parameter=error.name)
            raise EarlyResponse(response) from error
        identifier = identifier_in(text)
        query = self._resolve.query(identifier)
        preferences = patient(replace(preferences, verify="head"))
        resolution = await self._answers.resolve(query, preferences, request.context)
        answer = self._answers.described(resolution, applied, vary=VARY_PAGE)
        if resolution.memento is None or answer.status != 200:
            return answer
        try:
            resolution, composite = await self._read(resolution, request.context)
        except ArchiveError as error:
            detail = f"{name_of(error.archive, self._registry)} {error.why}"
            return problem(502, "upstream-incomplete", detail)
        resolution = replace(resolution, parts=composite.summary)
        judged = verdict(resolution, self._registry)
        headers = self._answers.headers(resolution, judged, applied, VARY_PAGE)
        headers["Cache-Control"] = "no-cache"
        if form == "html":
            page = self._page(identifier, composite, in_words(judged))
            return Response(200, {**headers, **FRAMED_HEADERS}, page.encode())
        written = PARTS_FORMATS[form]
        body = written.write(composite, self._registry)
        return Response(200, {**headers, "Content-Type": written.media_type}, body)

    async def _read(
        self, resolution: Resolution, context: RequestContext
    ) -> tuple[Resolution, CompositeMemento]:
        """Return the parts of the page, or of the copy of another archive if it is unreadable.

        Raises ArchiveError.
        """
        preferences = resolution.preferences
        try:
            return resolution, await self._parts_in(resolution, preferences, context)
        except ArchiveError as error:
            others = await self._answers.of_others(resolution, error, context)
            if self._answers.described(others, vary=VARY_PAGE).status != HTTPStatus.OK:
                raise
        return others, await self._parts_in(others, preferences, context)

    async def _parts_in(
        self, resolution: Resolution, preferences: Preferences, context: RequestContext
    ) -> CompositeMemento:
        if resolution.memento is None:
            raise TypeError("only a memento has parts")
        return await self._parts_of(resolution.memento, context, None, preferences)

    def _page(self, identifier: str, composite: CompositeMemento, words: str) -> str:
        root = composite.root
        return self._pages.render(
            "parts",
            identifier=identifier,
            page=root,
            archive_name=name_of(root.archive, self._registry),
            captured=spoken(root.captured),
            stamp=str(root.captured),
            words=words,
            summary=composite.summary,
            unread=composite.unread,
            requests=composite.requests,
            parts=[*self._views(composite)],
            forms=[*PARTS_FORMATS],
        )

    def _views(self, composite: CompositeMemento) -> Iterator[PartView]:
        for part in composite.parts:
            yield _view(part, self._registry)


def _view(part: Part, registry: Registry) -> PartView:
    memento = part.memento
    return PartView(
        part.url,
        f"{part.kind}, variant" if part.is_variant else part.kind,
        part.outcome.replace("-", " "),
        "" if memento is None else name_of(memento.archive, registry),
        "" if memento is None else memento.uri,
        "" if memento is None else spoken(memento.captured),
        "" if part.offset is None else beside_page(part.offset),
        part.coherence.replace("-", " ") if part.outcome == "found" else "",
        part.why,
    )


def _form(parameters: Mapping[str, str], accept: str) -> str:
    """Return one of `PARTS_FORMS`. Raises BadPreference."""
    wanted = parameters.get(FORMAT_PARAMETER)
    if wanted is not None:
        if wanted not in PARTS_FORMS:
            raise BadPreference(FORMAT_PARAMETER, " or ".join(PARTS_FORMS))
        return wanted
    offers = {name: form.media_type for name, form in PARTS_FORMATS.items()}
    # Only browsers name text/html; JSON is for all others that do not care.
    weights = {name: weight(accept, offer) for name, offer in offers.items()}
    if "text/html" in accept.lower():
        weights = {"html": weight(accept, "text/html"), **weights}
    best = max(weights, key=lambda name: weights[name])
    return best if weights[best] else "json"
