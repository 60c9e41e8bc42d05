"""``/archives`` and ``/archives/{id}`` for people; programs get their JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from typing import Final, NamedTuple, Protocol
from urllib.parse import unquote

from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.pages.checks import ArchiveChecks
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.responses.model import NO_NEGOTIATION, ClientRequest, Response
from timegate.verdict.words import Tone

_WORDS: Final[Mapping[tuple[str, str], tuple[Tone, str]]] = {
    ("has", "kept"): ("good", "gives the page that it must have"),
    ("has", "lost"): ("poor", "lost a page that it had"),
    ("lacks", "kept"): ("good", "denies the page that nobody can have"),
    ("lacks", "claims"): ("poor", "claims a page that nobody can have"),
}
_SILENT: Final[tuple[Tone, str]] = ("fair", "did not answer")
_SIDES: Final = ("has", "lacks")


class CanaryRow(NamedTuple):
    """One page that the archive is asked for."""

    tone: Tone
    words: str
    page: str
    """Which, and of when; empty where that is not for everybody."""
    since: str
    asked: str


class PastRow(NamedTuple):
    """A time in which all answers were alike."""

    first: str
    tone: Tone
    words: str
    why: str
    times: int


class CanaryView(NamedTuple):
    """All there is to say."""

    rows: tuple[CanaryRow, ...]
    past: tuple[PastRow, ...]
    """Newest first."""


def canary_view(state: Mapping[str, object]) -> CanaryView | None:
    """Return what is to be said of the canaries in *state*; None where there are none."""
    told = _told(state)
    if not told:
        return None
    rows = tuple(_row(side, told[side]) for side in _SIDES if side in told)
    spans = [(side, span) for side in told for span in _list(told[side].get("history"))]
    spans.sort(key=lambda each: _number(each[1].get("first")), reverse=True)
    return CanaryView(rows, tuple(_past(side, span) for side, span in spans))


def alarm(state: Mapping[str, object]) -> str | None:
    """Return what is wrong, in words; None where nothing is known to be."""
    for side, told in _told(state).items():
        tone, words = _WORDS.get((side, str(told.get("state"))), _SILENT)
        if tone == "poor":
            return words
    return None


def _told(state: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    told = state.get("canary")
    return told if isinstance(told, Mapping) else {}


def _row(side: str, told: Mapping[str, object]) -> CanaryRow:
    not_yet = _SILENT if told.get("history") else ("fair", "not asked so far")
    tone, words = _WORDS.get((side, str(told.get("state"))), not_yet)
    # Of a page that nobody can have, the time says nothing.
    named = ("url", "at") if side == "has" else ("url",)
    page = " of ".join(str(told[key]) for key in named if told.get(key))
    return CanaryRow(tone, words, page, _when(told.get("since")), _when(told.get("last_asked")))


def _past(side: str, span: Mapping[str, object]) -> PastRow:
    tone, words = _WORDS.get((side, str(span.get("state"))), _SILENT)
    times = int(_number(span.get("times")))
    return PastRow(_when(span.get("first")), tone, words, str(span.get("why")), times)


def _list(value: object) -> Sequence[Mapping[str, object]]:
    return value if isinstance(value, Sequence) else ()


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _when(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"


State = Mapping[str, object]
WIDTH: Final = 120
HEIGHT: Final = 24
_SLOWEST: Final = 5.0
"""Seconds at the upper edge of the picture, where answers stop to be waited for."""


class Spark(NamedTuple):
    """The last answers: a line over time, and a dot for each failure."""

    points: str
    failures: tuple[tuple[float, float], ...]
    words: str


class ArchiveView(NamedTuple):
    """One row."""

    id: str
    name: str
    country: str
    used: bool
    tone: Tone
    state: str
    because: str
    median: str
    p95: str
    last_success: str
    last_failure: str
    spark: Spark | None


def archive_view(entry: ArchiveEntry, state: State) -> ArchiveView:
    """Return what is to be said of *entry*."""
    tone, words = _standing(entry, state)
    return ArchiveView(
        id=entry.id,
        name=entry.name,
        country=entry.country or "",
        used=entry.use,
        tone=tone,
        state=words,
        because=entry.because,
        median=_seconds(state.get("median_seconds")) if _was_heard(state) else "",
        p95=_seconds(state.get("p95_seconds")) if _was_heard(state) else "",
        last_success=_ago(state.get("last_success")),
        last_failure=_ago(state.get("last_failure")),
        spark=_spark(state.get("recent")),
    )


def _was_heard(state: State) -> bool:
    """Whether there is an answer to measure; before it, routing assumes a latency."""
    return bool(state.get("last_success"))


def _standing(entry: ArchiveEntry, state: State) -> tuple[Tone, str]:
    if not state.get("asked"):
        return "fair", {"defunct": "closed", "onsite-only": "on site only"}.get(
            entry.access, "not asked"
        )
    if state.get("breaker") == "open":
        return "poor", "resting after failures"
    if state.get("breaker") == "half-open":
        return "fair", "being tried again"
    wrong = alarm(state)
    if wrong is not None:
        return "poor", wrong
    failed, answered = state.get("last_failure"), state.get("last_success")
    if isinstance(failed, float) and (not isinstance(answered, float) or failed > answered):
        return "fair", "did not answer last time"
    return ("good", "answers") if answered else ("fair", "not asked so far")


def _seconds(value: object) -> str:
    return f"{value:.2f} s" if isinstance(value, float) else ""


def _ago(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _spark(recent: object) -> Spark | None:
    answers = recent if isinstance(recent, Sequence) else ()
    if not answers:
        return None
    step = WIDTH / max(len(answers) - 1, 1)
    placed = [
        (round(number * step, 1), _height(float(one["seconds"])), bool(one["answered"]))
        for number, one in enumerate(answers)
    ]
    if len(placed) == 1:
        placed = [placed[0], (float(WIDTH), *placed[0][1:])]
    failed = sum(not one["answered"] for one in answers)
    slowest = max(float(one["seconds"]) for one in answers)
    return Spark(
        " ".join(f"{x},{y}" for x, y, _ in placed),
        tuple((x, y) for x, y, answered in placed if not answered),
        f"last {len(answers)} questions: {failed} failed, slowest {slowest:.2f} s",
    )


def _height(seconds: float) -> float:
    # The root shows milliseconds and seconds in one picture.
    share = sqrt(min(seconds / _SLOWEST, 1.0))
    return round(HEIGHT - 2 - share * (HEIGHT - 4), 1)


class ArchiveReports(Protocol):
    """The same about archives for programs, as JSON."""

    async def archives(self, request: ClientRequest) -> Response: ...

    async def archive(self, request: ClientRequest) -> Response: ...


class ArchivePages:
    """Writes the pages of archives."""

    def __init__(
        self,
        registry: Registry,
        state: Callable[[str], State],
        reports: ArchiveReports,
        pages: Pages,
        checks: ArchiveChecks | None = None,
    ) -> None:
        """Take *checks*, or None to say nothing of conformance."""
        self._registry = registry
        self._state = state
        self._reports = reports
        self._pages = pages
        self._checks = checks

    async def all(self, request: ClientRequest) -> Response:
        """List every archive, those that are asked first."""
        if not wants_page(request.header("Accept")):
            return await self._reports.archives(request)
        entries = sorted(self._registry.entries, key=lambda entry: entry.name.lower())
        rows = [archive_view(entry, self._state(entry.id)) for entry in entries]
        asked = [row for row in rows if row.used]
        others = [row for row in rows if not row.used]
        return self._page("archives", asked=asked, others=others)

    async def one(self, request: ClientRequest) -> Response:
        """Describe one archive."""
        entry = self._registry.by_id(unquote(request.rest.partition("?")[0]))
        if entry is None or not wants_page(request.header("Accept")):
            return await self._reports.archive(request)
        state = self._state(entry.id)
        view, canary = archive_view(entry, state), canary_view(state)
        checks = None if self._checks is None else await self._checks.view(entry)
        answer = self._page("archive", archive=view, entry=entry, checks=checks, canary=canary)
        if self._checks is None or checks is None or checks.token is None:
            return answer
        # The page holds a token: other sites may not read it, unlike all else that we answer.
        own = {
            "Access-Control-Allow-Origin": self._checks.origin,
            "Cache-Control": "no-store",
            # With no-referrer, browsers post forms with ``Origin: null`` (Fetch 3.2).
            "Referrer-Policy": "same-origin",
        }
        return replace(answer, headers={**answer.headers, **own})

    def _page(self, name: str, **values: object) -> Response:
        headers = {**HEADERS, "Cache-Control": "no-cache", "Vary": "accept"}
        body = self._pages.written(name, **values)
        return Response(200, {**headers, "Link": NO_NEGOTIATION}, body.encode())
