"""What the list of archives says of each: its state in words, its last answers as a picture."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import Final, NamedTuple

from archives.model import ArchiveEntry
from timegate.verdict.explanation import Tone
from timegate.web.site.canary_view import alarm

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
