"""``/diff/{identifier}/{stamp}``: two copies of a page side by side, by their texts.

The older one is the first, so that what is added is new, in whichever order they are named.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.content.findings import UnreadCopy
from timegate.endpoints import (
    HTML_CONTENT,
    VERDICT,
    PathDescription,
    answered,
)
from timegate.endpoints.resolve import Resolve
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.resolution.exhaustive import patient
from timegate.resolution.model import DiffsCopies, Query, Resolution
from timegate.resolution.preferences import PARAMETERS, BadPreference
from timegate.responses.answer_view import CopyView, copy_view, name_of
from timegate.responses.answers import VARY_PAGE, Answers
from timegate.responses.model import (
    FORMAT_PARAMETER,
    ClientRequest,
    EarlyResponse,
    Response,
    UnknownParameter,
    identifier_in,
    without_parameters,
)
from timegate.responses.problems import problem
from timegate.responses.text_diff import diff_json
from timegate.verdict import header, in_words, verdict

if TYPE_CHECKING:
    from timegate.content.text_diff import DiffRow, TextDiff

DIFF_FORMS: Final = ("html", "json")
"""The values of the parameter ``as``."""
PATHS: Final = {
    "/diff/{identifier}/{stamp}": PathDescription(
        "Two copies of a page by their texts: that of the identifier, and one near a time",
        answered(
            "The difference; 502 if a copy is held, but its text cannot be read",
            {"application/json": "Difference", **HTML_CONTENT},
            *VERDICT,
        ),
        (
            "identifier",
            "stamp",
            "diff-format",
            *(parameter.name for parameter in PARAMETERS),
            "Prefer",
        ),
    ),
}
_STAMP: Final = compiled(r"[0-9]{4,14}")
_AROUND: Final = 2
"""Equal lines that are shown before and after those that differ."""
_MOST_ROWS: Final = 3000
"""Rows of the page; the JSON has all."""


class _Skipped(NamedTuple):
    """Equal lines that are not shown."""

    lines: int
    kind: str = "skipped"


class DiffEndpoint:
    """Answers requests for the difference between two copies."""

    def __init__(
        self,
        answers: Answers,
        resolve: Resolve,
        registry: Registry,
        texts: DiffsCopies,
        pages: Pages,
    ) -> None:
        self._answers = answers
        self._resolve = resolve
        self._registry = registry
        self._texts = texts
        self._pages = pages

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer with the difference as JSON, or as a page."""
        try:
            text, parameters = without_parameters(request.rest)
            is_page = _wants_page(parameters, request.header("Accept") or "")
            preferences, applied = self._resolve.preferences(request, parameters)
        except (UnknownParameter, BadPreference) as error:
            detail = f"{error}; if it belongs to the URL, percent-encode the URL"
            response = problem(400, "bad-parameter", detail, parameter=error.name)
            raise EarlyResponse(response) from error
        identifier, moment = _parts(text)
        preferences = patient(replace(preferences, verify="head", quote=None))
        query = self._resolve.query(identifier)
        first = await self._answers.resolve(query, preferences, request.context)
        answer = self._answers.described(first, applied, vary=VARY_PAGE)
        if first.memento is None or answer.status != 200:
            return answer
        other = Query(first.memento.original, moment)
        second = await self._answers.resolve(other, preferences, request.context)
        answer = self._answers.described(second, applied, vary=VARY_PAGE)
        if second.memento is None or answer.status != 200:
            return answer
        older, newer = sorted((first, second), key=_stamp)
        assert older.memento is not None and newer.memento is not None  # noqa: S101, PT018 -- both
        diff = await self._texts.diff(older.memento, newer.memento, request.context)
        if isinstance(diff, UnreadCopy):
            detail = f"the copy of {diff.memento.captured} in "
            detail += (
                f"{name_of(diff.memento.archive, self._registry)} cannot be read: {diff.why}"
            )
            return problem(502, "upstream-incomplete", detail)
        headers = {
            "Vary": VARY_PAGE,
            "Cache-Control": "no-cache",
            "Memento-Precision": header(verdict(first, self._registry)),
        }
        if is_page:
            page = self._page(identifier, moment, older, newer, diff)
            return Response(200, {**headers, **HEADERS}, page.encode())
        body = msgspec.json.encode(
            {
                "original": first.memento.original,
                "copies": [self._copy(older), self._copy(newer)],
                **diff_json(diff),
            }
        )
        return Response(200, {**headers, "Content-Type": "application/json"}, body)

    def _copy(self, resolution: Resolution) -> dict[str, object]:
        memento = resolution.memento
        assert memento is not None  # noqa: S101 -- checked before
        return {
            "uri": memento.uri,
            "archive": memento.archive,
            "datetime": str(memento.captured),
            "words": in_words(verdict(resolution, self._registry)),
        }

    def _page(
        self,
        identifier: str,
        moment: Moment,
        older: Resolution,
        newer: Resolution,
        diff: "TextDiff",
    ) -> str:
        rows = [*_shown(diff.rows)]
        return self._pages.render(
            "diff",
            identifier=identifier,
            stamp=moment.digits,
            original="" if older.memento is None else older.memento.original,
            copies=[self._view(older), self._view(newer)],
            is_same_copy=older.memento == newer.memento,
            diff=diff,
            counts={kind: diff.count(kind) for kind in ("changed", "added", "removed")},
            rows=rows[:_MOST_ROWS],
            hidden=max(0, len(rows) - _MOST_ROWS),
        )

    def _view(self, resolution: Resolution) -> CopyView:
        memento = resolution.memento
        assert memento is not None  # noqa: S101 -- checked before
        return copy_view(memento, resolution.query.at, self._registry)


def _stamp(resolution: Resolution) -> str:
    return "" if resolution.memento is None else resolution.memento.stamp


def _parts(text: str) -> tuple[str, Moment]:
    """Return the identifier, and the other time. Raises EarlyResponse."""
    identifier, _, stamp = text.removesuffix("/").rpartition("/")
    if identifier and _STAMP.fullmatch(stamp):
        with suppress(ValueError):
            return identifier_in(identifier), Moment(stamp)
    detail = "the address is /diff/{identifier}/{time}, with 4 to 14 digits for the time"
    raise EarlyResponse(problem(400, "bad-parameter", detail))


def _wants_page(parameters: Mapping[str, str], accept: str) -> bool:
    wanted = parameters.get(FORMAT_PARAMETER)
    if wanted is not None and wanted not in DIFF_FORMS:
        raise BadPreference(FORMAT_PARAMETER, " or ".join(DIFF_FORMS))
    return wants_page(accept) if wanted is None else wanted == "html"


def _shown(rows: "tuple[DiffRow, ...]") -> "Iterator[DiffRow | _Skipped]":
    """Yield the rows that differ, with some around them; equal ones between are counted."""
    near = [False] * len(rows)
    for at, row in enumerate(rows):
        if row.kind != "same":
            start, end = max(0, at - _AROUND), min(len(rows), at + _AROUND + 1)
            near[start:end] = [True] * (end - start)
    skipped = 0
    for row, is_near in zip(rows, near, strict=True):
        if is_near:
            if skipped:
                yield _Skipped(skipped)
            skipped = 0
            yield row
        else:
            skipped += 1
    if skipped:
        yield _Skipped(skipped)
