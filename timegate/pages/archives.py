"""Pages ``/archives`` and ``/archives/{id}``: the status of archives. Programs get JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.parse import unquote

from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.access.networks import public_entry
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.responses.model import NO_NEGOTIATION, ClientRequest, Response
from timegate.text import counted
from timegate.verdict.words import Tone

if TYPE_CHECKING:
    from timegate.pages.checks import ArchiveChecks

State = Mapping[str, object]
CHECKS_PATH: Final = "/checks"
"""The form that starts a check is posted there."""
WIDTH: Final = 120
HEIGHT: Final = 24
_SLOWEST: Final = 5.0
"""Seconds at the upper edge of the picture: the resolver does not wait longer."""


class Spark(NamedTuple):
    """The recent requests: a line of response times, and a dot for each failure."""

    points: str
    failures: tuple[tuple[float, float], ...]
    words: str


class ArchiveView(NamedTuple):
    """An archive as the pages show it."""

    id: str
    name: str
    country: str
    in_use: bool
    tone: Tone
    state: str
    because: str
    median: str
    p95: str
    last_success: str
    last_failure: str
    spark: Spark | None


def archive_view(entry: ArchiveEntry, state: State) -> ArchiveView:
    """Return the view of *entry* in *state*."""
    tone, words = _standing(entry, state)
    in_use = entry.use and bool(state.get("asked"))
    why = entry.because if in_use or not entry.use else entry.access_note or entry.because
    return ArchiveView(
        id=entry.id,
        name=entry.name,
        country=entry.country or "",
        in_use=in_use,
        tone=tone,
        state=words,
        because=why,
        median=_seconds(state.get("median_seconds")) if _has_answered(state) else "",
        p95=_seconds(state.get("p95_seconds")) if _has_answered(state) else "",
        last_success=_second(state.get("last_success")),
        last_failure=_second(state.get("last_failure")),
        spark=_spark(state.get("recent")),
    )


def _has_answered(state: State) -> bool:
    """Whether latencies were measured; before the first answer, routing assumes some."""
    return bool(state.get("last_success"))


def _standing(entry: ArchiveEntry, state: State) -> tuple[Tone, str]:
    if not state.get("asked"):
        access = {"defunct": "closed down", "onsite-only": "on-site access only"}
        return "fair", access.get(entry.access, "not in use")
    if state.get("breaker") == "open":
        reason = state.get("breaker_reason")
        return "poor", f"paused: {reason}" if reason else "paused after failures"
    if state.get("breaker") == "half-open":
        return "fair", "being retried"
    wrong = alarm(state)
    if wrong is not None:
        return "poor", wrong
    failed, answered = state.get("last_failure"), state.get("last_success")
    if isinstance(failed, float) and (not isinstance(answered, float) or failed > answered):
        return "fair", "last request failed"
    return ("good", "working") if answered else ("fair", "no requests yet")


def _seconds(value: object) -> str:
    return f"{value:.2f} s" if isinstance(value, float) else ""


def _second(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _spark(recent: object) -> Spark | None:
    requests = recent if isinstance(recent, Sequence) else ()
    if not requests:
        return None
    step = WIDTH / max(len(requests) - 1, 1)
    points = [
        (round(number * step, 1), _height(float(request["seconds"])), bool(request["answered"]))
        for number, request in enumerate(requests)
    ]
    if len(points) == 1:
        points = [points[0], (float(WIDTH), *points[0][1:])]
    failed = sum(not request["answered"] for request in requests)
    slowest = max(float(request["seconds"]) for request in requests)
    return Spark(
        " ".join(f"{x},{y}" for x, y, _ in points),
        tuple((x, y) for x, y, answered in points if not answered),
        f"last {counted(len(requests), 'request')}: {failed} failed, slowest {slowest:.2f} s",
    )


def _height(seconds: float) -> float:
    # A square-root scale shows both milliseconds and seconds.
    share = sqrt(min(seconds / _SLOWEST, 1.0))
    return round(HEIGHT - 2 - share * (HEIGHT - 4), 1)


_CANARY_RESULTS: Final[Mapping[tuple[str, str], tuple[Tone, str]]] = {
    ("has", "kept"): ("good", "returns a page that it is known to have"),
    ("has", "lost"): ("poor", "no longer returns a page that it had"),
    ("lacks", "kept"): ("good", "returns no copy of a page that never existed"),
    ("lacks", "claims"): ("poor", "returns a copy of a page that never existed"),
}
_NO_ANSWER: Final[tuple[Tone, str]] = ("fair", "did not answer")
_CANARIES: Final = ("has", "lacks")


class CanaryRow(NamedTuple):
    """A test request, and its last result."""

    tone: Tone
    words: str
    page: str
    """URL and time of the requested page; empty if they are not public."""
    since: str
    tested: str


class PastRow(NamedTuple):
    """A period in which all test requests had the same result."""

    first: str
    tone: Tone
    words: str
    why: str
    times: int


class CanaryView(NamedTuple):
    """The test requests of an archive."""

    rows: tuple[CanaryRow, ...]
    past: tuple[PastRow, ...]
    """Newest first."""


def canary_view(state: Mapping[str, object]) -> CanaryView | None:
    """Return the test requests in *state*; None if the archive has none."""
    canaries = _canaries(state)
    if not canaries:
        return None
    rows = tuple(_row(kind, canaries[kind]) for kind in _CANARIES if kind in canaries)
    periods = [
        (kind, past) for kind in canaries for past in _list(canaries[kind].get("history"))
    ]
    periods.sort(key=lambda period: _number(period[1].get("first")), reverse=True)
    return CanaryView(rows, tuple(_past(kind, past) for kind, past in periods))


def alarm(state: Mapping[str, object]) -> str | None:
    """Return in words which test request gave a wrong result; None if none did."""
    for kind, canary in _canaries(state).items():
        tone, words = _CANARY_RESULTS.get((kind, str(canary.get("state"))), _NO_ANSWER)
        if tone == "poor":
            return words
    return None


def _canaries(state: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    canaries = state.get("canary")
    return canaries if isinstance(canaries, Mapping) else {}


def _row(kind: str, canary: Mapping[str, object]) -> CanaryRow:
    otherwise = _NO_ANSWER if canary.get("history") else ("fair", "not tested yet")
    tone, words = _CANARY_RESULTS.get((kind, str(canary.get("state"))), otherwise)
    # The time means nothing for a page that never existed.
    shown = ("url", "at") if kind == "has" else ("url",)
    page = " from ".join(str(canary[key]) for key in shown if canary.get(key))
    since, tested = _minute(canary.get("since")), _minute(canary.get("last_asked"))
    return CanaryRow(tone, words, page, since, tested)


def _past(kind: str, past: Mapping[str, object]) -> PastRow:
    tone, words = _CANARY_RESULTS.get((kind, str(past.get("state"))), _NO_ANSWER)
    times = int(_number(past.get("times")))
    return PastRow(_minute(past.get("first")), tone, words, str(past.get("why")), times)


def _list(value: object) -> Sequence[Mapping[str, object]]:
    return value if isinstance(value, Sequence) else ()


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _minute(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"


class ArchiveReports(Protocol):
    """The JSON versions of the pages, for programs."""

    async def archives(self, request: ClientRequest) -> Response: ...

    async def archive(self, request: ClientRequest) -> Response: ...


class ArchivePages:
    """Serves the pages of archives."""

    def __init__(
        self,
        registry: Registry,
        state: Callable[[str], State],
        reports: ArchiveReports,
        pages: Pages,
        checks: "ArchiveChecks | None" = None,
    ) -> None:
        """Show the results of *checks*; None shows nothing about conformance."""
        self._registry = registry
        self._state = state
        self._reports = reports
        self._pages = pages
        self._checks = checks

    async def all(self, request: ClientRequest) -> Response:
        """List all archives, those in use first."""
        if not wants_page(request.header("Accept")):
            return await self._reports.archives(request)
        entries = sorted(self._registry.entries, key=lambda entry: entry.name.lower())
        hidden = request.context.hidden
        rows = [archive_view(entry, self._visible_state(entry, hidden)) for entry in entries]
        in_use = [row for row in rows if row.in_use]
        not_in_use = [row for row in rows if not row.in_use]
        return self._page("archives", in_use=in_use, not_in_use=not_in_use)

    async def one(self, request: ClientRequest) -> Response:
        """Describe one archive."""
        entry = self._registry.by_id(unquote(request.rest.partition("?")[0]))
        if entry is None or not wants_page(request.header("Accept")):
            return await self._reports.archive(request)
        hidden = request.context.hidden
        state = self._visible_state(entry, hidden)
        view, canary = archive_view(entry, state), canary_view(state)
        checks = None
        if entry.id in hidden:
            entry = public_entry(entry)
        elif self._checks is not None:
            checks = await self._checks.view(entry)
        response = self._page(
            "archive", archive=view, entry=entry, checks=checks, canary=canary
        )
        if self._checks is None or checks is None or checks.token is None:
            return response
        # The page contains a token: unlike all other responses, other sites may not read it.
        restricted = {
            "Access-Control-Allow-Origin": self._checks.origin,
            "Cache-Control": "no-store",
            # With no-referrer, browsers post forms with ``Origin: null`` (Fetch 3.2).
            "Referrer-Policy": "same-origin",
        }
        return replace(response, headers={**response.headers, **restricted})

    def _visible_state(self, entry: ArchiveEntry, hidden: frozenset[str]) -> State:
        return {} if entry.id in hidden else self._state(entry.id)

    def _page(self, name: str, **values: object) -> Response:
        headers = {**HEADERS, "Cache-Control": "no-cache", "Vary": "accept"}
        body = self._pages.render(name, **values)
        return Response(200, {**headers, "Link": NO_NEGOTIATION}, body.encode())
