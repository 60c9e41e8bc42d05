"""HTML versions of answers for browsers: the copy, the list of copies, and problems.

Programs get a redirect, a report or a problem document instead.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archives.registry import Registry
from timegate.pages.form import Caret
from timegate.pages.kept_answers import KeptAnswers
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Resolution
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.responses.answer_view import answer_view, name_of
from timegate.responses.answers import Answers
from timegate.responses.model import Response
from timegate.responses.problems import failure_in
from timegate.verdict import satisfies, verdict
from timegate.verdict.words import grade


class AnswerPages:
    """Writes the pages that show a resolution."""

    def __init__(
        self, answers: Answers, registry: Registry, pages: Pages, kept: KeptAnswers
    ) -> None:
        self._answers = answers
        self._kept = kept
        self._registry = registry
        self._pages = pages

    def redirect_or_page(
        self,
        resolution: Resolution,
        context: RequestContext,
        applied: Sequence[str] = (),
        *,
        vary: str,
        always: bool,
    ) -> Response:
        """Redirect to a copy that is what was requested; otherwise show how it differs.

        So is one without the quotation that was asked for. With *always*, a copy is shown on
        the page in any case.
        """
        judged = verdict(resolution, self._registry)
        graded = grade(judged, resolution.preferences.status)
        quote = resolution.quote
        is_quoted = quote is None or quote.status == "found"
        good = graded.redirects and is_quoted and not always
        is_live = always and judged.match.value == "live"
        is_copy = resolution.memento is not None and satisfies(resolution, judged)
        if good or not (is_copy or is_live):
            return self._answers.redirect(resolution, applied, vary=vary)
        headers = self._answers.headers(resolution, judged, applied, vary) | HEADERS
        view = answer_view(resolution, judged, self._registry)
        view = view.beside(self._registry, context.hidden)
        described = self._answers.described(resolution, applied, vary=vary)
        token = self._kept.keep(described, context.hidden)
        page = self._pages.render("reference", answer=view, token=token)
        return Response(200, headers, page.encode())

    def list_page(self, resolution: Resolution) -> bytes:
        """Return the page that lists the closest copy of each archive, nearest first."""
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry)
        return self._pages.render("list", answer=view).encode()


class HtmlProblems:
    """Turns problem documents into pages for browsers."""

    def __init__(self, pages: Pages, registry: Registry) -> None:
        self._pages = pages
        self._registry = registry

    def __call__(self, accept: str | None, problem: Response) -> Response:
        """Return *problem* as a page if a client that sent *accept* prefers HTML."""
        headers = {**problem.headers, "Vary": _with_accept(problem.headers.get("Vary", ""))}
        if not wants_page(accept):
            return replace(problem, headers=headers)
        page = self._page(json.loads(problem.body))
        return replace(problem, headers={**headers, **HEADERS}, body=page.encode())

    def _page(self, problem: Mapping[str, object]) -> str:
        identifier = str(problem.get("identifier", ""))
        lacking = failure_in(problem)
        is_offline = lacking.kind == "no-network"
        return self._pages.render(
            "problem",
            title=lacking.title,
            detail=lacking.detail,
            next_step=" ".join(filter(None, (lacking.next_step, _more_time(problem)))),
            identifier=identifier,
            caret=_caret(identifier, problem.get("position")),
            archives=[] if is_offline else [*self._named(problem.get("archives"))],
            referral=problem.get("referral"),
            alternatives=[*self._named(problem.get("alternatives"))],
        )

    def _named(self, archives: object) -> Iterator[Mapping[str, object]]:
        """Yield the members of a list with the names of their archives."""
        for member in archives if isinstance(archives, list) else ():
            if isinstance(member, dict):
                name = name_of(str(member.get("archive", "")), self._registry)
                yield {**member, "name": name}


def _more_time(problem: Mapping[str, object]) -> str:
    """Return how to give archives more time, where the request limited it."""
    wait, kind = problem.get("wait"), str(problem["type"]).rpartition("/")[2]
    is_short = isinstance(wait, int | float) and wait < LONGEST_WAIT
    if kind != "upstream-incomplete" or not is_short:
        return ""
    return f"This address gives archives {wait:g} s: wait={LONGEST_WAIT:g} gives them more."


def _caret(text: str, position: object) -> Caret | None:
    inside = isinstance(position, int) and text and 0 <= position <= len(text)
    return Caret.at(text, position) if inside and isinstance(position, int) else None


def _with_accept(vary: str) -> str:
    names = [name.strip().lower() for name in vary.split(",") if name.strip()]
    return ", ".join(names if "accept" in names else [*names, "accept"])
