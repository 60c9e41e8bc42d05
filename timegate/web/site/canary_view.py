"""What the page of an archive says of its canaries: how they are, and how they were."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from timegate.verdict.explanation import Tone

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
