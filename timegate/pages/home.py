"""The search page at ``/``, and the progress of running searches at ``/events``.

``/?q=...&at=...`` is a complete page that needs no script. With scripts, ``/events?q=...``
sends the parts of it that change: which archives have answered, and at the end the answer.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from types import TracebackType
from typing import Final, NamedTuple, Self

from archives.registry import Registry
from timegate.event_loop import end
from timegate.pages.answer_pages import next_step
from timegate.pages.form import FormFields, FormQuery, FormRejection, read_form
from timegate.pages.rendering import HEADERS, Pages
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.responses.answer_view import AnswerView, answer_view, archive_outcomes, name_of
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.verdict import verdict

MOST_SEARCHES: Final = 32
"""Searches with live progress at once, in one process."""


class SearchProgress(NamedTuple):
    """The progress of a search: the archives, and those that have answered."""

    archives: tuple[str, ...]
    attempts: tuple[Attempt, ...]

    @property
    def waiting(self) -> tuple[str, ...]:
        """The archives that have not answered yet."""
        answered = {attempt.archive for attempt in self.attempts}
        return tuple(archive for archive in self.archives if archive not in answered)


_BACKLOG: Final = 1_000
"""Attempts queued for one search; later ones are dropped."""
_Queue = asyncio.Queue[Attempt | None]


class SearchEvents:
    """Passes the answers of archives on to the searches that wait for them."""

    def __init__(self, subscriptions: set[Callable[[Attempt], None]] | None = None) -> None:
        """Add `observe` to *subscriptions* while there are searches."""
        self._subscriptions = set() if subscriptions is None else subscriptions
        self._queues: dict[_Queue, str] = {}

    def observe(self, attempt: Attempt) -> None:
        """Queue *attempt* for the searches for its URL."""
        for queue, original in self._queues.items():
            relevant = attempt.original == original and attempt.variant is None
            if relevant and queue.qsize() < _BACKLOG:
                queue.put_nowait(attempt)

    @contextmanager
    def of(self, original: str) -> Iterator[_Queue]:
        """Collect the attempts for the URL *original* in a queue."""
        queue: _Queue = asyncio.Queue()
        self._queues[queue] = original
        self._subscriptions.add(self.observe)
        try:
            yield queue
        finally:
            del self._queues[queue]
            if not self._queues:
                self._subscriptions.discard(self.observe)


class RunningSearches:
    """Running searches with live progress. A context manager, which ends them.

    The tasks belong to this object, not to the client: a search goes on and fills the cache
    when its client leaves, and the response body owns no task. `ExhaustiveResolver` limits its
    time.
    """

    def __init__(
        self, exhaustive: ExhaustiveResolver, events: SearchEvents, most: int = MOST_SEARCHES
    ) -> None:
        self._exhaustive = exhaustive
        self._events = events
        self._most = most
        self._tasks: set[asyncio.Task[Resolution]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await end(list(self._tasks))

    @property
    def full(self) -> bool:
        """Whether no further search with live progress can start."""
        return len(self._tasks) >= self._most

    async def follow(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> AsyncGenerator[SearchProgress | Resolution, None]:
        """Yield the progress whenever an archive has answered, and at the end the answer."""
        with self._events.of(query.original) as queue:
            task = self._start(query, preferences, context, queue)
            progress = SearchProgress(
                self._exhaustive.archives(query, preferences, context), ()
            )
            yield progress
            while (attempt := await queue.get()) is not None:
                if attempt.archive in progress.waiting:
                    progress = progress._replace(attempts=(*progress.attempts, attempt))
                    yield progress
            yield await task

    def _start(
        self, query: Query, preferences: Preferences, context: RequestContext, queue: _Queue
    ) -> asyncio.Task[Resolution]:
        task = asyncio.get_running_loop().create_task(
            self._exhaustive.resolve(query, preferences, context)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: queue.put_nowait(None))
        return task


class Example(NamedTuple):
    """An example reference for the start page."""

    kind: str
    form: FormFields

    @property
    def text(self) -> str:
        """The reference as it is shown."""
        return ", ".join(filter(None, self.form))


_WEB_EXAMPLES: Final = (
    Example(
        "PWID", FormFields("urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk")
    ),
    Example("duri", FormFields("duri:2005:http://www.w3.org/")),
    Example("Archive link", FormFields("https://web.archive.org/web/2005/http://example.org/")),
    Example("URL and date", FormFields("http://example.org/", "June 2005")),
)
_MUSEUM: Final = "http://museum.example/"
_DEMO_EXAMPLES: Final = (
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
    """Return references that the archives in use can resolve.

    Only archives of the demo have a name in ``.example`` (RFC 2606).
    """
    harbour = registry.by_pwid("harbour.example")
    return _DEMO_EXAMPLES if harbour is not None and harbour.use else _WEB_EXAMPLES


_EVENTS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


_NO_RESULT: Final = {"refusal": None, "query": None, "answer": None}


class Home:
    """Answers searches from the form of the page."""

    def __init__(
        self,
        answers: Answers,
        registry: Registry,
        exhaustive: ExhaustiveResolver,
        searches: RunningSearches,
        pages: Pages,
    ) -> None:
        self._answers = answers
        self._pages = pages
        self._registry = registry
        self._exhaustive = exhaustive
        self._searches = searches

    async def __call__(self, request: ClientRequest) -> Response:
        """Return the page, with the answer if the form was filled in."""
        form = FormFields.of(request.rest)
        if not form.q:
            return self._page(200, form)
        try:
            query = read_form(form, self._registry)
        except FormRejection as refusal:
            return self._page(refusal.status, form, refusal=refusal)
        resolution = await self._exhaustive.resolve(
            query.query, _preferences(request), request.context
        )
        status, view = self._view(resolution)
        return self._page(status, form, query=query, answer=view)

    async def events(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the progress of a search and then its answer, as server-sent events."""
        form = FormFields.of(request.rest)
        if self._searches.full:
            detail = "too many searches with live progress: request the page without events"
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        try:
            query = read_form(form, self._registry)
        except FormRejection as refusal:
            return Response(200, _EVENTS, _event("answer", self._part(form, refusal=refusal)))
        return StreamingResponse(
            200, _EVENTS, self._stream(form, query, _preferences(request), request.context)
        )

    async def _stream(
        self,
        form: FormFields,
        query: FormQuery,
        preferences: Preferences,
        context: RequestContext,
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._searches.follow(query.query, preferences, context)) as steps:
            async for step in steps:
                if isinstance(step, SearchProgress):
                    yield _event("progress", self._progress(step))
                else:
                    _, view = self._view(step)
                    yield _event("answer", self._part(form, query=query, answer=view))

    def _view(self, resolution: Resolution) -> tuple[int, AnswerView]:
        """Return the status of the answer, and its view."""
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry)
        if resolution.memento is not None:
            return 200, view
        response = self._answers.described(resolution, vary=VARY_PAGE)
        found = json.loads(response.body)
        view = view.without_copy(found["title"], found["detail"], next_step(found))
        return response.status, view

    def _progress(self, step: SearchProgress) -> str:
        return self._pages.render(
            "progress",
            answered=len(step.archives) - len(step.waiting),
            total=len(step.archives),
            waiting=[name_of(archive, self._registry) for archive in step.waiting],
            attempts=list(archive_outcomes(step.attempts, (), self._registry)),
        )

    def _part(self, form: FormFields, **values: object) -> str:
        return self._pages.render("outcome", form=form, **{**_NO_RESULT, **values})

    def _page(self, status: int, form: FormFields, **values: object) -> Response:
        offered = examples(self._registry)
        body = self._pages.render(
            "home", form=form, examples=offered, **{**_NO_RESULT, **values}
        )
        headers = {**HEADERS, "Vary": VARY_PAGE, "Cache-Control": "no-cache"}
        return Response(status, headers, body.encode())


def _preferences(request: ClientRequest) -> Preferences:
    preferences, _ = request.preferences
    return preferences


def _event(name: str, part: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in part.splitlines() if line.strip())
    return f"event: {name}\n{lines}\n".encode()
