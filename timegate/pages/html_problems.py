"""Problems as pages for browsers, with what to do next."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from timegate.pages.form import Caret
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.responses.model import (
    Response,
)

_NEXT: Final[Mapping[str, str]] = {
    "bad-identifier": "Put it right below, and ask again.",
    "too-long": "Shorten it, or ask for the URL and a date below.",
    "not-negotiable": "Ask below for the http or https URL that is meant.",
    "unknown-archive": "Ask below for the URL and a date: another archive may have a copy.",
    "no-memento": "Try another spelling of the URL.",
    "read-on-site": "Ask those who keep the collection.",
    "restricted-archive": "Ask the archive itself, or look for another spelling of the URL.",
    "precision-unmet": "Take one of the copies below, or ask with less precision.",
    "upstream-incomplete": "Wait a little, and ask again.",
    "not-cached": "Load this page again.",
    "too-busy": "Wait a little, and load this page again.",
}


def next_step(problem: Mapping[str, object]) -> str:
    """Return what a person can do about *problem*; empty where nothing helps."""
    return _NEXT.get(str(problem["type"]).rpartition("/")[2], "")


class HtmlProblems:
    """Turns problems into pages where a browser asks."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def __call__(self, accept: str | None, problem: Response) -> Response:
        """Return *problem* as a page, if a client that sent *accept* prefers one."""
        headers = {**problem.headers, "Vary": _varying(problem.headers.get("Vary", ""))}
        if not wants_page(accept):
            return replace(problem, headers=headers)
        page = self._page(json.loads(problem.body))
        return replace(problem, headers={**headers, **HEADERS}, body=page.encode())

    def _page(self, problem: Mapping[str, object]) -> str:
        identifier = str(problem.get("identifier", ""))
        return self._pages.written(
            "problem",
            title=problem["title"],
            detail=problem["detail"],
            next_step=next_step(problem),
            identifier=identifier,
            caret=_caret(identifier, problem.get("position")),
            archives=problem.get("archives", []),
            alternatives=problem.get("alternatives", []),
        )


def _caret(text: str, position: object) -> Caret | None:
    inside = isinstance(position, int) and text and 0 <= position <= len(text)
    return Caret.at(text, position) if inside and isinstance(position, int) else None


def _varying(vary: str) -> str:
    names = [name.strip().lower() for name in vary.split(",") if name.strip()]
    return ", ".join(names if "accept" in names else [*names, "accept"])
