"""The page at ``/``, and the same answer as events while it comes about.

``/?q=...&at=...`` is a whole page without any script. With scripts, ``/events?q=...`` sends the
parts of it that change: who has answered, and at the end the answer.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, NamedTuple

from archives.registry import Registry
from timegate.pages.form import FormFields, FormQuery, FormRejection, read_form
from timegate.pages.html_problems import next_step
from timegate.pages.progress import RunningSearches, SearchProgress
from timegate.pages.rendering import HEADERS, Pages
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Preferences, Resolution
from timegate.responses.answer_view import AnswerView, answer_view, heard, name_of
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.verdict import verdict


class Example(NamedTuple):
    """One reference."""

    kind: str
    form: FormFields

    @property
    def text(self) -> str:
        """The reference as people read it."""
        return ", ".join(filter(None, self.form))


WEB: Final = (
    Example(
        "PWID", FormFields("urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk")
    ),
    Example("duri", FormFields("duri:2005:http://www.w3.org/")),
    Example("Archive link", FormFields("https://web.archive.org/web/2005/http://example.org/")),
    Example("URL and date", FormFields("http://example.org/", "June 2005")),
)
_MUSEUM: Final = "http://museum.example/"
DEMO: Final = (
    Example(
        "PWID", FormFields(f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{_MUSEUM}")
    ),
    Example("duri", FormFields(f"duri:2016-01:{_MUSEUM}")),
    Example(
        "Archive link", FormFields(f"https://web.archive.org/web/20120601000000/{_MUSEUM}")
    ),
    Example("URL and date", FormFields(_MUSEUM, "November 2010")),
)


def examples(registry: Registry) -> tuple[Example, ...]:
    """Return references that the archives in use may know.

    No archive but one of the demo has a name in ``.example`` (RFC 2606).
    """
    harbour = registry.by_pwid("harbour.example")
    return DEMO if harbour is not None and harbour.use else WEB


_EVENTS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Home:
    """Answers what a person types."""

    def __init__(
        self,
        answers: Answers,
        registry: Registry,
        everyone: ExhaustiveResolver,
        following: RunningSearches,
        pages: Pages,
    ) -> None:
        self._answers = answers
        self._pages = pages
        self._registry = registry
        self._everyone = everyone
        self._following = following

    async def __call__(self, request: ClientRequest) -> Response:
        """Write the page, with the answer where something was asked."""
        form = FormFields.of(request.rest)
        if not form.q:
            return self._page(200, form, refusal=None, inquiry=None, answer=None)
        try:
            inquiry = read_form(form, self._registry)
        except FormRejection as refusal:
            return self._page(refusal.status, form, refusal=refusal, inquiry=None, answer=None)
        resolution = await self._everyone.resolve(
            inquiry.query, _wishes(request), request.context
        )
        status, view = self._view(resolution)
        return self._page(status, form, refusal=None, inquiry=inquiry, answer=view)

    async def events(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send how the answer comes about."""
        form = FormFields.of(request.rest)
        if self._following.full:
            detail = "too many searches are being watched; ask without watching"
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        try:
            inquiry = read_form(form, self._registry)
        except FormRejection as refusal:
            part = self._part(form, refusal=refusal, inquiry=None, answer=None)
            return Response(200, _EVENTS, _event("answer", part))
        return StreamingResponse(
            200, _EVENTS, self._told(form, inquiry, _wishes(request), request.context)
        )

    async def _told(
        self,
        form: FormFields,
        inquiry: FormQuery,
        preferences: Preferences,
        context: RequestContext,
    ) -> AsyncGenerator[bytes, None]:
        following = self._following.follow(inquiry.query, preferences, context)
        async with aclosing(following) as steps:
            async for step in steps:
                if isinstance(step, SearchProgress):
                    yield _event("progress", self._progress(step))
                else:
                    _, view = self._view(step)
                    part = self._part(form, refusal=None, inquiry=inquiry, answer=view)
                    yield _event("answer", part)

    def _view(self, resolution: Resolution) -> tuple[int, AnswerView]:
        """Return the status of the answer, and what is said of it."""
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry)
        if resolution.memento is not None:
            return 200, view
        answer = self._answers.described(resolution, vary=VARY_PAGE)
        told = json.loads(answer.body)
        return answer.status, view.without_copy(told["title"], told["detail"], next_step(told))

    def _progress(self, step: SearchProgress) -> str:
        return self._pages.written(
            "progress",
            answered=len(step.asked) - len(step.waiting),
            asked=len(step.asked),
            waiting=[name_of(archive, self._registry) for archive in step.waiting],
            heard=list(heard(step.attempts, (), self._registry)),
        )

    def _part(self, form: FormFields, **told: object) -> str:
        return self._pages.written("outcome", form=form, **told)

    def _page(self, status: int, form: FormFields, **told: object) -> Response:
        offered = examples(self._registry)
        body = self._pages.written("home", form=form, examples=offered, **told)
        headers = {**HEADERS, "Vary": VARY_PAGE, "Cache-Control": "no-cache"}
        return Response(status, headers, body.encode())


def _wishes(request: ClientRequest) -> Preferences:
    preferences, _ = request.preferences
    return preferences


def _event(name: str, part: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in part.splitlines() if line.strip())
    return f"event: {name}\n{lines}\n".encode()
