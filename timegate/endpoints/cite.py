"""``/cite?id={identifier}``: citations of the best copy of a reference, with the page's title.

The title is read from the copy, because a user asks for the citation; `/resolve/` does not.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final, NamedTuple, cast, get_args
from urllib.parse import parse_qsl

import msgspec

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.model import Memento
from archives.registry import Registry
from timegate.citations import (
    NO_DESCRIPTION,
    Copy,
    PageDescription,
    UrlStatus,
    access_day,
    copy_found,
)
from timegate.citations.forms import FORMS_OF_COPIES, Form, reference
from timegate.citations.pasted import described_by
from timegate.endpoints import (
    HTML_CONTENT,
    TEXT_CONTENT,
    VERDICT,
    PathDescription,
    answered,
)
from timegate.endpoints.resolve import Resolve
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.references.pasted import read_pasted
from timegate.resolution.context import RequestContext
from timegate.resolution.exhaustive import patient
from timegate.responses.answer_view import (
    citation_views,
    name_of,
    said_of_citations,
    spoken,
)
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response
from timegate.responses.problems import problem
from timegate.text import similar
from timegate.verdict import in_words, verdict

_MOST_PARAMETERS: Final = 10
_LONGEST_TITLE: Final = 1_000
_LONGEST_CITATION: Final = 4_000
_NAMES: Final = ("id", "format", "title", "url-status", "access-date", "citation")
_TYPES: Final[Mapping[str, str]] = {
    "bibtex": "application/x-bibtex; charset=utf-8",
    "csl": "application/vnd.citationstyles.csl+json",
    "ris": "application/x-research-info-systems; charset=utf-8",
}
_TEXT: Final = "text/plain; charset=utf-8"
PATHS: Final = {
    "/cite": PathDescription(
        "Citations of the best memento of a reference, with the title of the page",
        answered(
            "All citations as JSON or as a page, or one as text",
            {
                "application/json": "Citations",
                **HTML_CONTENT,
                **dict.fromkeys((kind.partition(";")[0] for kind in _TYPES.values()), "Text"),
                _TYPES["csl"]: "CslItems",
                **TEXT_CONTENT,
            },
            *VERDICT,
        ),
        ("cite-id", "cite-format", "title", "url-status", "access-date", "citation"),
    ),
}
TitleOf = Callable[[Memento, RequestContext], Awaitable[str | None]]


class _Wanted(NamedTuple):
    """The parameters of one request."""

    identifier: str
    form: Form | None = None
    title: str = ""
    url_status: UrlStatus | None = None
    accessed: date | None = None
    """When the user consulted the page."""
    access_text: str | None = None
    """The day of access as it is given; None if it is not."""
    access_error: str = ""
    """Why the day of access cannot be read."""
    citation: str = ""
    """The citation that the copy is added to."""


class _Title(NamedTuple):
    """The title of the cited page, and where it comes from."""

    text: str | None
    source: str | None
    """given, citation, copy, or None if there is no title."""
    why: str | None = None
    """Why there is none."""


class CiteEndpoint:
    """Answers requests for citations."""

    def __init__(  # noqa: PLR0913 -- what it is built from
        self,
        answers: Answers,
        resolve: Resolve,
        registry: Registry,
        title_of: TitleOf,
        pages: Pages,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._answers = answers
        self._resolve = resolve
        self._registry = registry
        self._title_of = title_of
        self._pages = pages
        self._now = now

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with one citation as text, or with all of them as JSON or as a page."""
        wanted = _wanted(request.rest.partition("?")[2], self._now())
        is_page = wanted.form is None and wants_page(request.header("Accept"))
        if wanted.access_error and not is_page:
            raise _bad("access-date", wanted.access_error)
        described = self._described(wanted)
        query = self._resolve.query(wanted.identifier)
        preferences, applied = request.preferences
        preferences = patient(replace(preferences, verify=preferences.verify or "head"))
        resolution = await self._answers.resolve(query, preferences, request.context)
        memento = resolution.memento
        copy = copy_found(resolution, self._registry, described=described)
        answer = self._answers.described(resolution, applied, vary=VARY_PAGE)
        if memento is None or copy is None or answer.status != 200:
            return answer
        title = await self._title(wanted, described, memento, request.context)
        copy = replace(copy, title=title.text)
        headers = {**answer.headers, "Cache-Control": "no-cache"}
        if wanted.form is not None:
            return _single(wanted.form, copy, headers)
        if not is_page:
            return Response(200, headers, msgspec.json.encode(_document(wanted, copy, title)))
        judged = verdict(resolution, self._registry)
        page = self._pages.render(
            "cite",
            wanted=wanted,
            copy=copy,
            archive_name=name_of(memento.archive, self._registry),
            captured=spoken(copy.captured),
            captured_day=str(copy.captured)[:10],
            words=in_words(judged),
            said=(
                said_of_citations(copy, described, resolution, judged, self._registry)
                if wanted.citation
                else ()
            ),
            title=title,
            statuses=get_args(UrlStatus),
            access_text=wanted.access_text or copy.accessed or "",
            citations=list(citation_views(copy)),
        )
        status = 400 if wanted.access_error else 200
        return Response(status, {**headers, **HEADERS}, page.encode())

    def _described(self, wanted: _Wanted) -> PageDescription:
        """Return what the citation says of the page; other parameters count more.

        Raises EarlyResponse for a text that is not one citation.
        """
        described = NO_DESCRIPTION
        if wanted.citation:
            try:
                pasted = read_pasted(wanted.citation, self._registry, self._now())
            except Malformed as error:
                raise _bad("citation", f"citation: {error.why}") from error
            found = [each for each in pasted.found if each.kind == "reference"]
            if len(found) != 1:
                raise _bad("citation", f"citation: {len(found)} references are in it, not one")
            described = described_by(found[0], wanted.citation, self._registry)
        is_stated = wanted.access_text is not None
        return described._replace(
            title=wanted.title or described.title,
            url_status=wanted.url_status or described.url_status or "bot: unknown",
            accessed=wanted.accessed if is_stated else described.accessed,
        )

    async def _title(
        self,
        wanted: _Wanted,
        described: PageDescription,
        memento: Memento,
        context: RequestContext,
    ) -> _Title:
        if described.title:
            return _Title(described.title, "given" if wanted.title else "citation")
        try:
            text = await self._title_of(memento, context)
        except ArchiveError as error:
            name = name_of(error.archive, self._registry)
            return _Title(None, None, f"{name} {error.why}")
        return _Title(text, "copy") if text else _Title(None, None, "the page has no title")


_MISSING: Final = (
    "the reference to cite is missing: write /cite?id= and a PWID, a duri, an archive link or "
    "a URL, percent-encoded, as in /cite?id=duri:2016:http%3A%2F%2Fexample.org%2F"
)


def _wanted(query: str, now: datetime) -> _Wanted:
    """Return the parameters in *query*. Raises EarlyResponse."""
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS))
    except ValueError as error:
        raise _bad("id", f"at most {_MOST_PARAMETERS} parameters are allowed") from error
    for name in given:
        if name not in _NAMES:
            why = f"there is no parameter {name!r}.{similar(name, _NAMES)}"
            raise _bad(name, f"{why} If it belongs to the URL, percent-encode the URL")
    if not given.get("id", "").strip():
        raise _bad("id", _MISSING)
    form, status = given.get("format") or None, given.get("url-status") or None
    if form is not None and form not in FORMS_OF_COPIES:
        raise _bad("format", f"format must be one of {', '.join(FORMS_OF_COPIES)}")
    if status is not None and status not in get_args(UrlStatus):
        raise _bad("url-status", f"url-status must be one of {', '.join(get_args(UrlStatus))}")
    citation, access = given.get("citation", "").strip(), given.get("access-date")
    if len(citation) > _LONGEST_CITATION:
        why = f"a citation of {len(citation):,} characters; {_LONGEST_CITATION:,} are allowed"
        raise _bad("citation", why)
    accessed, access_error = _accessed(access or "", now)
    return _Wanted(
        given["id"].strip(),
        form,
        given.get("title", "").strip()[:_LONGEST_TITLE],
        cast("UrlStatus | None", status),
        accessed,
        access,
        access_error,
        citation,
    )


def _accessed(text: str, now: datetime) -> tuple[date | None, str]:
    """Return the day of access in *text*, and why it cannot be read."""
    try:
        return access_day(text, now), ""
    except ValueError as error:
        return None, f"access-date: {error}"


def _bad(name: str, why: str) -> EarlyResponse:
    return EarlyResponse(problem(400, "bad-parameter", why, parameter=name))


def _single(form: Form, copy: Copy, headers: Mapping[str, str]) -> Response:
    text = reference(form, copy)
    if text is None:
        return problem(404, "not-found", f"the copy cannot be cited as {form}")
    kind = _TYPES.get(form, _TEXT)
    return Response(200, {**headers, "Content-Type": kind}, f"{text}\n".encode())


def _document(wanted: _Wanted, copy: Copy, title: _Title) -> dict[str, object]:
    return {
        "identifier": wanted.identifier,
        "memento": copy.uri,
        "original": copy.original,
        "datetime": str(copy.captured),
        "archive": copy.archive,
        "title": title.text,
        "title-source": title.source,
        "title-error": title.why,
        "citations": {view.form: view.text for view in citation_views(copy)},
    }
