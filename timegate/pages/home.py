"""The search page at ``/``, and the progress of running searches at ``/events``.

``/?q=...&at=...`` is a complete page that needs no script. With scripts, ``/events?q=...``
sends the parts of it that change: which archives have answered, and at the end the answer.
Forms are posted, because an address cannot hold a long text.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Final, NamedTuple, Self

from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.event_loop import SlowWork, end
from timegate.pages.choices import (
    LONGEST_ADDRESS,
    SeveralReferences,
    Unresolvable,
    archive_name,
    search_of,
)
from timegate.pages.form import MOST_TEXT, FormFields, FormQuery, FormRejection, read_form
from timegate.pages.kept_answers import KeptAnswers
from timegate.pages.own_addresses import OwnAddresses
from timegate.pages.rendering import AT_ONCE, HEADERS, Pages, wants_page
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.responses.answer_view import (
    SearchLink,
    answer_view,
    archive_outcomes,
    name_of,
)
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import failure_in, problem
from timegate.responses.referral import is_demo
from timegate.verdict import verdict

_SHORT_TEXT: Final = 400
"""Characters of a pasted text that are read at once: that takes some 5 ms at most."""
_MOST_BYTES: Final = 10 * MOST_TEXT
"""Octets of a posted form; most characters take 1 to 9 in it."""
_BODY_DEADLINE: Final = 15.0
_FIRST_FIELDS: Final = 10
_NO_FIELD: Final = (
    "the body has no field q, the text with the reference; send a list to POST /resolve"
)
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

    def open(self, original: str) -> _Queue:
        """Collect the attempts for the URL *original* in a queue; `close` must follow."""
        queue: _Queue = asyncio.Queue()
        self._queues[queue] = original
        self._subscriptions.add(self.observe)
        return queue

    def close(self, queue: _Queue) -> None:
        """End the queue: None is its last item."""
        queue.put_nowait(None)
        del self._queues[queue]
        if not self._queues:
            self._subscriptions.discard(self.observe)


class RunningSearch(NamedTuple):
    """A search, and the attempts of its archives as they answer."""

    archives: tuple[str, ...]
    queue: _Queue
    task: asyncio.Task[Resolution]

    async def steps(self) -> AsyncGenerator[SearchProgress | Resolution, None]:
        """Yield the progress whenever an archive has answered, and at the end the answer."""
        progress = SearchProgress(self.archives, ())
        yield progress
        while (attempt := await self.queue.get()) is not None:
            if attempt.archive in progress.waiting:
                progress = progress._replace(attempts=(*progress.attempts, attempt))
                yield progress
        yield await self.task


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

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Search without progress, and not beyond the request of the client."""
        return await self._exhaustive.looked_at(query, preferences, context)

    def start(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> RunningSearch:
        """Start a search; it goes on when its client leaves."""
        archives = self._exhaustive.archives(query, preferences, context)
        queue = self._events.open(query.original)
        searching = self._exhaustive.looked_at(query, preferences, context)
        task = asyncio.get_running_loop().create_task(searching)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._events.close(queue))
        return RunningSearch(archives, queue, task)


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


_ARCHIVE_OF_EXAMPLES: Final = "internet-archive"


def examples(registry: Registry) -> tuple[Example, ...]:
    """Return references that the archives in use can resolve; none if none is known."""
    if is_demo(registry):
        return _DEMO_EXAMPLES
    if any(entry.id == _ARCHIVE_OF_EXAMPLES for entry in registry.used):
        return _WEB_EXAMPLES
    # The canary of an archive is a page that it is known to hold.
    held = (entry for entry in registry.used if entry.canary and entry.canary.has)
    return next((tuple(_of_canary(entry)) for entry in held), ())


def _of_canary(entry: ArchiveEntry) -> Iterator[Example]:
    url, at = (entry.canary.has, entry.canary.at) if entry.canary else (None, "")
    if url is None:
        return
    if not at:
        yield Example("URL", FormFields(url))
        return
    moment = Moment(at)
    if entry.pwid and len(at) >= _SECOND:
        yield Example("PWID", FormFields(f"urn:pwid:{entry.pwid[0]}:{moment}:page:{url}"))
    yield Example("duri", FormFields(f"duri:{moment}:{url}"))
    yield Example("URL and date", FormFields(url, str(moment)[:10]))


_SECOND: Final = 14
_EVENTS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


_PAGE_HEADERS: Final = {**HEADERS, "Vary": VARY_PAGE, "Cache-Control": "no-cache"}
_NO_RESULT: Final = {
    "refusal": None,
    "query": None,
    "answer": None,
    "token": "",
    "several": None,
    "missing": None,
    "archive": "",
}


class Home:
    """Answers searches from the form of the page."""

    def __init__(  # noqa: PLR0913 -- the parts of an answer
        self,
        answers: Answers,
        registry: Registry,
        searches: RunningSearches,
        pages: Pages,
        kept: KeptAnswers,
        *,
        at_once: float = AT_ONCE,
        origins: tuple[str, ...] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """*origins* are further addresses of this server, beside that of *answers*."""
        self._own = OwnAddresses((answers.base_url, *origins), registry)
        self._now = now
        self._answers = answers
        self._pages = pages
        self._registry = registry
        self._searches = searches
        self._kept = kept
        self._at_once = at_once
        self._slow = SlowWork()

    @property
    def path(self) -> str:
        """Where the page is."""
        return f"{self._pages.root}/"

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Return the page, with the answer if the form was filled in.

        If the answer takes longer, browsers get the page at once, and the answer at its end.
        """
        return await self.answer(request, FormFields.of(request.rest))

    async def answer(
        self, request: ClientRequest, form: FormFields
    ) -> Response | StreamingResponse:
        """Return the page for *form*, as for a GET request or a posted form."""
        if not form.q:
            return self._page(200, form)
        try:
            query = await self._read(form, request)
        except FormRejection as refusal:
            return self._page(refusal.status, form, refusal=refusal)
        except (SeveralReferences, Unresolvable) as choice:
            shown, values = self._choices(form, choice)
            return self._page(200, shown, **values)
        form = query.field(form)
        preferences = _preferences(request, form)
        if self._searches.full:
            resolution = await self._searches.resolve(query.query, preferences, request.context)
            return self._answered(form, query, resolution, request.context)
        search = self._searches.start(query.query, preferences, request.context)
        is_page = wants_page(request.header("Accept")) and request.method != "HEAD"
        await asyncio.wait({search.task}, timeout=self._at_once if is_page else None)
        if search.task.done():
            return self._answered(form, query, search.task.result(), request.context)
        chunks = self._streamed_page(form, query, search, request.context)
        return StreamingResponse(200, _PAGE_HEADERS, chunks)

    async def _read(self, form: FormFields, request: ClientRequest) -> FormQuery:
        """Return the query of *form*. Raises FormRejection, SeveralReferences, Unresolvable."""
        own = self._own.of_host(request.header("Host"), self._pages.root)
        read = partial(read_form, form, self._registry, self._now(), own)
        if len(form.q) <= _SHORT_TEXT:
            return read()
        try:
            return await self._slow.run(read)
        except TimeoutError as error:
            why = "others have pasted long texts, which are being read"
            raise FormRejection(503, "The text was not read; send it again", why) from error

    async def without_left_date(self, form: FormFields, request: ClientRequest) -> FormFields:
        """Return *form* without a date of an earlier search, if its text has one."""
        if not form.is_date_left:
            return form
        try:
            return (await self._read(form, request)).field(form)
        except (FormRejection, SeveralReferences, Unresolvable):
            # The page explains it.
            return form

    async def events(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the progress of a search and then its answer, as server-sent events."""
        form = FormFields.of(request.rest)
        if not form.q:
            return Response(200, _EVENTS, _event("answer", self._part(form)))
        if self._searches.full:
            detail = "too many searches with live progress: request the page without events"
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        try:
            query = await self._read(form, request)
        except FormRejection as refusal:
            return Response(200, _EVENTS, _event("answer", self._part(form, refusal=refusal)))
        except (SeveralReferences, Unresolvable) as choice:
            shown, values = self._choices(form, choice)
            return Response(200, _EVENTS, _event("answer", self._part(shown, **values)))
        form = query.field(form)
        search = self._searches.start(query.query, _preferences(request, form), request.context)
        return StreamingResponse(
            200, _EVENTS, self._stream(form, query, search, request.context)
        )

    async def _stream(
        self, form: FormFields, query: FormQuery, search: RunningSearch, context: RequestContext
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(search.steps()) as steps:
            async for step in steps:
                if isinstance(step, SearchProgress):
                    yield _event("progress", self._progress(step))
                else:
                    answer = self._answer(query, step, context)
                    yield _event("answer", self._part(form, query=query, **answer.values))

    async def _streamed_page(
        self, form: FormFields, query: FormQuery, search: RunningSearch, context: RequestContext
    ) -> AsyncGenerator[bytes, None]:
        """Yield the page up to the answer, a line for each archive, the answer and the end."""
        names = [name_of(archive, self._registry) for archive in search.archives]
        before, after = self._pages.halves(
            "home", form=form, examples=(), waiting=names, **_NO_RESULT
        )
        yield before
        async with aclosing(search.steps()) as steps:
            async for step in steps:
                if isinstance(step, SearchProgress):
                    outcomes = archive_outcomes(step.attempts[-1:], (), self._registry)
                    yield self._pages.render("waiting", attempts=list(outcomes)).encode()
                else:
                    answer = self._answer(query, step, context)
                    yield self._part(form, query=query, **answer.values).encode()
        yield after

    def _answer(
        self, query: FormQuery, resolution: Resolution, context: RequestContext
    ) -> "_Answer":
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry, described=query.described)
        response = self._answers.described(resolution, vary=VARY_PAGE)
        if resolution.memento is None and not view.live:
            lacking = failure_in(json.loads(response.body))
            others = () if view.is_offline else tuple(_same_page(resolution))
            view = view.without_copy(lacking.title, lacking.detail, lacking.next_step, others)
        view = view.doubted(query.doubt).beside(self._registry, context.hidden)
        if query.doubt and view.copy is not None:
            document = json.loads(response.body) | {"headline": view.headline}
            response = replace(response, body=json.dumps(document).encode())
        token = self._kept.keep(response, context.hidden)
        return _Answer(response.status, {"answer": view, "token": token})

    def _answered(
        self,
        form: FormFields,
        query: FormQuery,
        resolution: Resolution,
        context: RequestContext,
    ) -> Response:
        answer = self._answer(query, resolution, context)
        return self._page(answer.status, form, query=query, **answer.values)

    def _choices(
        self, form: FormFields, choice: SeveralReferences | Unresolvable
    ) -> tuple[FormFields, dict[str, object]]:
        """Return the form and the values of a page on which the user has to choose."""
        if isinstance(choice, SeveralReferences):
            return form, {"several": choice}
        # The time that a link states is a fact; another one may be left from an earlier search.
        at = form.at if choice.at is None else str(choice.at)
        archive = archive_name(choice.link, self._registry)
        return form._replace(at=at), {"missing": choice, "archive": archive}

    def _progress(self, step: SearchProgress) -> str:
        return self._pages.render(
            "progress",
            answered=len(step.archives) - len(step.waiting),
            total=len(step.archives),
            waiting=[name_of(archive, self._registry) for archive in step.waiting],
            attempts=list(archive_outcomes(step.attempts, (), self._registry)),
        )

    def _part(self, form: FormFields, **values: object) -> str:
        return self._pages.render(
            "outcome",
            form=form,
            examples=examples(self._registry),
            **{**_NO_RESULT, **values},
        )

    def _page(self, status: int, form: FormFields, **values: object) -> Response:
        body = self._pages.render(
            "home",
            form=form,
            examples=examples(self._registry),
            waiting=(),
            **{**_NO_RESULT, **values},
        )
        return Response(status, _PAGE_HEADERS, body.encode())


class PostedForm:
    """Answers the form: with the address of its answer or, to a long text, with the answer."""

    def __init__(self, home: Home, body_deadline: float = _BODY_DEADLINE) -> None:
        self._home = home
        self.largest_body = _MOST_BYTES
        self.body_deadline = body_deadline

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse:
        """Read the fields in *body*. The address of a short text can be kept and sent."""
        text = body.decode(errors="replace")
        if not any(part.startswith("q=") for part in text.split("&", _FIRST_FIELDS)):
            return problem(400, "bad-request", _NO_FIELD)
        form = FormFields.of(text)
        if len(form.address) > LONGEST_ADDRESS:
            return await self._home.answer(request, form)
        form = await self._home.without_left_date(form, request)
        return Response(303, {"Location": f"{self._home.path}?{form.address}".rstrip("?")})


_INDEX_PAGE: Final = compiled(
    r"(?:index|default|home)\.(?:s?html?|php[0-9]?|aspx?|jsp|cgi)", re.IGNORECASE
)


_TRACKING: Final = compiled(
    r"(?:utm_[a-z_]{1,30}|fbclid|gclid|dclid|msclkid|yclid|igshid|mc_[ce]id)=.*+", re.IGNORECASE
)
_MOST_SAME: Final = 3


def _same_page(resolution: Resolution) -> Iterator[SearchLink]:
    """Yield searches for URLs that may be the same page, and that no archive was asked for."""
    query = resolution.query
    asked = {query.original, *(attempt.original for attempt in resolution.attempts)}
    at = "" if query.at is None else str(query.at)
    others = [url for url in dict.fromkeys(_simpler(query.original)) if url not in asked]
    for url in others[:_MOST_SAME]:
        yield SearchLink(url, search_of(url, at))


def _simpler(url: str) -> Iterator[str]:
    """Yield *url* without what often differs for the same page: tracking, index page, www."""
    address, mark, parameters = url.partition("?")
    kept = [each for each in parameters.split("&") if not _TRACKING.fullmatch(each)]
    query = f"?{'&'.join(kept)}" if mark and any(kept) else ""
    yield address + query
    folder, _, name = address.rpartition("/")
    if _INDEX_PAGE.fullmatch(name):
        address = f"{folder}/"
        yield address + query
    scheme, separator, rest = address.partition("://")
    if rest.lower().startswith("www."):
        yield f"{scheme}{separator}{rest[4:]}{query}"


class _Answer(NamedTuple):
    status: int
    values: dict[str, object]
    """For the template."""


def _preferences(request: ClientRequest, form: FormFields) -> Preferences:
    """Return the preferences; the page verifies the copy also for a URL and a date."""
    preferences, _ = request.preferences
    verify = "content" if form.is_look else preferences.verify or "head"
    return replace(preferences, verify=verify, live=True)


def _event(name: str, part: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in part.splitlines() if line.strip())
    return f"event: {name}\n{lines}\n".encode()
