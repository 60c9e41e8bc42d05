"""The page at ``/``, and the same answer as events while it comes about.

``/?q=...&at=...`` is a whole page without any script. With scripts, ``/events?q=...`` sends the
parts of it that change: who has answered, and at the end the answer.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from archives.registry import Registry
from timegate.policies import preferences_from
from timegate.resolution import Preferences, Resolution
from timegate.verdict import verdict
from timegate.web.answers import VARY_PAGE, Answers
from timegate.web.call import ClientRequest, Response, StreamingResponse
from timegate.web.everyone import ExhaustiveResolver
from timegate.web.problems import problem
from timegate.web.site.dressed import next_step
from timegate.web.site.examples import examples
from timegate.web.site.following import RunningSearches, SearchProgress
from timegate.web.site.inquiry import FormFields, FormQuery, FormRejection, read_form
from timegate.web.site.pages import HEADERS, Pages
from timegate.web.site.view import AnswerView, answer_view, heard, name_of

_EVENTS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Home:
    """Answers what a person types."""

    def __init__(
        self,
        answers: Answers,
        registry: Registry,
        everyone: ExhaustiveResolver,
        following: RunningSearches,
    ) -> None:
        self._answers = answers
        self._registry = registry
        self._everyone = everyone
        self._following = following

    @property
    def _pages(self) -> Pages:
        return self._answers.pages

    async def __call__(self, call: ClientRequest) -> Response:
        """Write the page, with the answer where something was asked."""
        form = FormFields.of(call.rest)
        if not form.q:
            return self._page(200, form, refusal=None, inquiry=None, answer=None)
        try:
            inquiry = read_form(form, self._registry)
        except FormRejection as refusal:
            return self._page(refusal.status, form, refusal=refusal, inquiry=None, answer=None)
        resolution = await self._everyone.resolve(inquiry.query, _wishes(call))
        status, view = self._view(resolution)
        return self._page(status, form, refusal=None, inquiry=inquiry, answer=view)

    async def events(self, call: ClientRequest) -> Response | StreamingResponse:
        """Send how the answer comes about."""
        form = FormFields.of(call.rest)
        if self._following.full:
            detail = "too many searches are being watched; ask without watching"
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        try:
            inquiry = read_form(form, self._registry)
        except FormRejection as refusal:
            part = self._part(form, refusal=refusal, inquiry=None, answer=None)
            return Response(200, _EVENTS, _event("answer", part))
        return StreamingResponse(200, _EVENTS, self._told(form, inquiry, _wishes(call)))

    async def _told(
        self, form: FormFields, inquiry: FormQuery, policy: Preferences
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._following.follow(inquiry.query, policy)) as steps:
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


def _wishes(call: ClientRequest) -> Preferences:
    policy, _ = preferences_from({}, call.header("Prefer"), call.header("Cache-Control"))
    return policy


def _event(name: str, part: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in part.splitlines() if line.strip())
    return f"event: {name}\n{lines}\n".encode()
