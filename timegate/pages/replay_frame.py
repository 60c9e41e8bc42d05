"""The frame around an archived page: what is shown, how far it is from what was requested."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from archives.model import Closest, Memento
from archives.registry import Registry
from timegate.citations import copy_found
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import citation_views, copy_view, spoken
from timegate.responses.replay_addresses import ReplayPlace
from timegate.responses.report import dated
from timegate.text import duration
from timegate.verdict import Verdict, header_safe, in_words, raw_address
from timegate.verdict.parts import Tone
from timegate.verdict.words import grade, remarks

_SECOND: Final = 14
_YEAR: Final = 31_556_952
"""Seconds."""


@dataclass(frozen=True, slots=True)
class FrameView:
    """What the frame says."""

    original: str
    uri: str
    """The address of the copy."""
    tone: Tone | None
    """None for the address of the copy itself, of which nothing was requested."""
    headline: str
    words: str
    archive: str
    captured: str
    captured_at: str
    asked: str
    """The requested time; empty if the address is that of the copy itself."""
    years_away: str
    """How far the copy is from the requested time, if that is a year or more."""
    is_only: bool
    """Whether no other archive was to be queried."""
    previous: str | None
    next: str | None
    captures: str
    raw: str
    others: str
    """The address of the list of copies in other archives."""
    parts: str
    """The address of the list of parts."""
    reference: str
    """The capture as an identifier, with which it can be cited."""
    matched: str
    """What was requested, as an identifier; empty if the address is that of the copy."""
    whole: bool
    """Whether parts may come from other archives than the page."""


def frame_view(
    resolution: Resolution, judged: Verdict, registry: Registry, route: str, base_url: str
) -> FrameView:
    """Return what the frame around the memento of *resolution* says."""
    memento, query = resolution.memento, resolution.query
    if memento is None:
        raise ValueError("a frame needs a memento")
    graded = grade(judged, resolution.preferences.status)
    copy = copy_view(memento, query.at, registry)
    target = header_safe(memento.original)
    stamp = "" if query.at is None else query.at.digits
    # Such an address names the copy: it does not say what somebody looked for.
    is_own = len(stamp) >= _SECOND and memento.stamp.startswith(stamp)

    def neighbour(relation: str) -> str | None:
        other = _neighbours(resolution).get(relation)
        return None if other is None else base_url + _place(other).path(route)

    return FrameView(
        original=memento.original,
        uri=memento.uri,
        tone=None if is_own and graded.tone == "good" else graded.tone,
        headline=graded.headline,
        words=remarks(judged) if is_own else in_words(judged),
        archive=copy.name,
        captured=copy.captured,
        captured_at=copy.stamp,
        asked="" if query.at is None or is_own else spoken(query.at),
        years_away=_years_away(judged),
        is_only=resolution.preferences.archives == frozenset({memento.archive}),
        previous=neighbour("prev"),
        next=neighbour("next"),
        captures=f"{base_url}/timemap/html/{target}",
        raw=raw_address(memento, registry.by_id(memento.archive)) or memento.uri,
        others=f"{base_url}/list/{stamp}/{target}",
        parts=f"{base_url}/parts/{quote(memento.uri, safe='')}",
        reference=_reference(resolution, registry),
        matched="" if is_own else dated(query),
        whole=route == "reconstruct",
    )


def _reference(resolution: Resolution, registry: Registry) -> str:
    """Return the PWID of the copy; else its other identifier."""
    copy = copy_found(resolution, registry)
    return next((cited.text for cited in citation_views(copy)), resolution.query.original)


def _place(memento: Memento) -> ReplayPlace:
    return ReplayPlace(memento.stamp, memento.original)


def _neighbours(resolution: Resolution) -> dict[str, Memento]:
    best = resolution.best
    if best is None or not isinstance(best.outcome, Closest):
        return {}
    return {str(name): memento for name, memento in best.outcome.neighbours.items()}


def _years_away(judged: Verdict) -> str:
    delta = judged.time["delta"] if judged.time else None
    distance = abs(int(delta or 0))
    if distance < _YEAR or judged.time is None:
        return ""
    side = "before" if judged.time.value == "before" else "after"
    return f"{duration(distance)} {side}"
