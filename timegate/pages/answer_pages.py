"""HTML versions of answers for browsers: the copy, the list of copies, and problems.

Programs get a redirect, a report or a problem document instead.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from archives.registry import Registry
from timegate.pages.form import Caret
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import answer_view
from timegate.responses.answers import Answers
from timegate.responses.model import Response
from timegate.verdict import satisfies, verdict
from timegate.verdict.words import grade


class AnswerPages:
    """Writes the pages that show a resolution."""

    def __init__(self, answers: Answers, registry: Registry, pages: Pages) -> None:
        self._answers = answers
        self._registry = registry
        self._pages = pages

    def redirect_or_page(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str, always: bool
    ) -> Response:
        """Redirect to a copy that is what was requested; otherwise show how it differs.

        With *always*, a copy is shown on the page in any case.
        """
        judged = verdict(resolution, self._registry)
        graded = grade(judged, resolution.preferences.status)
        good = graded.redirects and not always
        if good or resolution.memento is None or not satisfies(resolution, judged):
            return self._answers.redirect(resolution, applied, vary=vary)
        headers = self._answers.headers(resolution, judged, applied, vary) | HEADERS
        view = answer_view(resolution, judged, self._registry)
        page = self._pages.render("reference", answer=view)
        return Response(200, headers, page.encode())

    def list_page(self, resolution: Resolution) -> bytes:
        """Return the page that lists the closest copy of each archive, nearest first."""
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry)
        return self._pages.render("list", answer=view).encode()


_NEXT_STEPS: Final[Mapping[str, str]] = {
    "bad-identifier": "Correct it below and search again.",
    "too-long": "Shorten it, or enter the URL and a date below.",
    "not-negotiable": "Enter an http or https URL below.",
    "unknown-archive": "Enter the URL and a date below: another archive may have a copy.",
    "no-memento": "Try another spelling of the URL.",
    "read-on-site": "Contact the institution that keeps the collection.",
    "restricted-archive": "Contact the archive, or try another spelling of the URL.",
    "precision-unmet": "Use one of the copies below, or accept a less precise one.",
    "upstream-incomplete": "Wait a moment and try again.",
    "not-cached": "Reload this page.",
    "too-busy": "Wait a moment and reload this page.",
}


def next_step(problem: Mapping[str, object]) -> str:
    """Return what the user can do about *problem*; empty if nothing helps."""
    return _NEXT_STEPS.get(str(problem["type"]).rpartition("/")[2], "")


class HtmlProblems:
    """Turns problem documents into pages for browsers."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def __call__(self, accept: str | None, problem: Response) -> Response:
        """Return *problem* as a page if a client that sent *accept* prefers HTML."""
        headers = {**problem.headers, "Vary": _with_accept(problem.headers.get("Vary", ""))}
        if not wants_page(accept):
            return replace(problem, headers=headers)
        page = self._page(json.loads(problem.body))
        return replace(problem, headers={**headers, **HEADERS}, body=page.encode())

    def _page(self, problem: Mapping[str, object]) -> str:
        identifier = str(problem.get("identifier", ""))
        return self._pages.render(
            "problem",
            title=problem["title"],
            detail=problem["detail"],
            next_step=next_step(problem),
            identifier=identifier,
            caret=_caret(identifier, problem.get("position")),
            archives=problem.get("archives", []),
            referral=problem.get("referral"),
            alternatives=problem.get("alternatives", []),
        )


def _caret(text: str, position: object) -> Caret | None:
    inside = isinstance(position, int) and text and 0 <= position <= len(text)
    return Caret.at(text, position) if inside and isinstance(position, int) else None


def _with_accept(vary: str) -> str:
    names = [name.strip().lower() for name in vary.split(",") if name.strip()]
    return ", ".join(names if "accept" in names else [*names, "accept"])
