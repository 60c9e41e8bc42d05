"""Questions of canaries, and the history of their outcomes: spans of equal outcomes.

A failed request is part of the history, but does not change the state: an archive that had lost
a page and then failed for a week still counts as one that lost it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from archives.model import ArchiveEntry, Canary, Closest
from archives.moment import Moment
from timegate.cache.store import LONGEST, Store

Side = Literal["has", "lacks"]
Verdict = Literal["kept", "lost", "claims", "unknown"]
"""``kept``: as expected; ``lost``: without the page it had; ``claims``: with a page that cannot
exist; ``unknown``: no answer."""


class CanaryQuestion(NamedTuple):
    """One page that an archive must have, or cannot have."""

    archive: str
    side: Side
    url: str
    at: Moment | None = None
    """The time of the capture, where it is stated; None for any time."""


class CanaryOutcome(NamedTuple):
    """The outcome of one question, and the reason."""

    verdict: Verdict
    why: str


def questions_of(entries: Iterable[ArchiveEntry]) -> Iterator[CanaryQuestion]:
    """Yield the questions for *entries*; a page that cannot exist is asked for everywhere."""
    for entry in entries:
        canary = entry.canary or Canary()
        at = Moment(canary.at) if canary.at else None
        if canary.has is not None:
            yield CanaryQuestion(entry.id, "has", canary.has, at)
        yield CanaryQuestion(entry.id, "lacks", canary.lacks, at)


def judged(question: CanaryQuestion, found: Closest | None) -> CanaryOutcome:
    """Return the outcome where an archive *found* this; None: it clearly has no copy."""
    if question.side == "lacks":
        if found is None:
            return CanaryOutcome("kept", "it says that it holds no copy")
        return CanaryOutcome("claims", f"it gives a copy of {found.memento.captured}")
    if found is None:
        return CanaryOutcome("lost", "it says that it holds no copy")
    captured = found.memento.captured
    if question.at is not None and question.at.distance(captured.window[0]):
        return CanaryOutcome("lost", f"the nearest copy it gives is of {captured}")
    return CanaryOutcome("kept", f"it gives the copy of {captured}")


MOST_SPANS: Final = 30
"""Spans of a history; the oldest are dropped."""
_LONGEST_REASON: Final = 300
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class CanarySpan(msgspec.Struct, frozen=True):
    """Equal outcomes in a row."""

    verdict: Verdict
    why: Annotated[str, msgspec.Meta(max_length=_LONGEST_REASON)]
    """The reason of the last outcome."""
    first: _Seconds
    """Seconds since 1970."""
    last: _Seconds
    times: Annotated[int, msgspec.Meta(ge=1)] = 1


class CanaryRecord(msgspec.Struct, frozen=True):
    """The history of one canary."""

    asked: _Seconds | None = None
    """When it was last asked, or is being asked; None for never."""
    spans: Annotated[tuple[CanarySpan, ...], msgspec.Meta(max_length=MOST_SPANS)] = ()
    """Oldest first."""

    @property
    def standing(self) -> Verdict:
        """The last outcome that was not ``unknown``."""
        return next((span.verdict for span in self._answers()), "unknown")

    @property
    def since(self) -> float | None:
        """The beginning of this state; None if there was no answer yet."""
        began = None
        for span in self._answers():
            if span.verdict != self.standing:
                break
            began = span.first
        return began

    @property
    def is_doubtful(self) -> bool:
        """Whether the last outcome is wrong and was seen only once: it may be an accident."""
        last = self.spans[-1] if self.spans else None
        return last is not None and last.verdict in ("lost", "claims") and last.times == 1

    def _answers(self) -> list[CanarySpan]:
        """Return the spans of outcomes that are not ``unknown``, newest first."""
        return [span for span in reversed(self.spans) if span.verdict != "unknown"]


def noted(record: CanaryRecord, outcome: CanaryOutcome, now: float) -> CanaryRecord:
    """Return *record* with *outcome* added."""
    why = outcome.why[:_LONGEST_REASON]
    last = record.spans[-1] if record.spans else None
    if last is not None and last.verdict == outcome.verdict:
        longer = CanarySpan(last.verdict, why, last.first, now, last.times + 1)
        return CanaryRecord(record.asked, (*record.spans[:-1], longer))
    return CanaryRecord(
        record.asked, (*record.spans, CanarySpan(outcome.verdict, why, now, now))[-MOST_SPANS:]
    )


def has_flipped(before: CanaryRecord, after: CanaryRecord) -> bool:
    """Whether the state has changed so that it is logged; a missing answer is no change.

    A first outcome is logged only where it is wrong.
    """
    was, now = before.standing, after.standing
    return now != was and (was, now) != ("unknown", "kept")


_NEW: Final = CanaryRecord()


class CanaryStore:
    """All histories, as they were when they were last read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[CanaryQuestion, CanaryRecord] = {}

    @property
    def records(self) -> Mapping[CanaryQuestion, CanaryRecord]:
        """The histories in this process, without reading the store."""
        return self._records

    async def look(self, question: CanaryQuestion) -> CanaryRecord:
        """Read the history of *question*, which other processes may have written."""
        record = self._records.get(question, _NEW)
        stored = await self._store.get(_key(question))
        if stored is not None:
            # With equal times the stored one wins: ours is from before the answer.
            record = max(_read(stored.value), record, key=lambda each: each.asked or 0.0)
        self._records[question] = record
        return record

    async def put(self, question: CanaryQuestion, record: CanaryRecord) -> None:
        """Write the history of *question*."""
        self._records[question] = record
        await self._store.put(_key(question), msgspec.json.encode(record), LONGEST, 0.0)


def _read(stored: bytes) -> CanaryRecord:
    try:
        return msgspec.json.decode(bytes(stored), type=CanaryRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _NEW


def _key(question: CanaryQuestion) -> str:
    """Return the key of a question, which no other page or time has."""
    at = "" if question.at is None else question.at.digits
    asked = f"{question.archive} {question.side} {at} {question.url}"
    return f"canary:1:{blake2b(asked.encode(), digest_size=16).hexdigest()}"


Standing = Literal["kept", "flipped", "unknown"]
STANDINGS: Final[Mapping[Verdict, Standing]] = {
    "kept": "kept",
    "lost": "flipped",
    "claims": "flipped",
    "unknown": "unknown",
}


def canary_states(
    archive: str, records: Mapping[CanaryQuestion, CanaryRecord], secret: Collection[str] = ()
) -> dict[str, object]:
    """Return the histories of the canaries of *archive*, in types that JSON has.

    The pages of an archive in *secret* are not named: its holdings are restricted.
    """
    own = {q: record for q, record in records.items() if q.archive == archive}
    return {
        question.side: {
            **({} if archive in secret else _question_fields(question)),
            "state": record.standing,
            "since": record.since,
            "last_asked": record.asked,
            "history": [_span(span) for span in record.spans],
        }
        for question, record in own.items()
    }


def standings(
    records: Mapping[CanaryQuestion, CanaryRecord],
) -> dict[tuple[str, str], Standing]:
    """Return the state of each canary, by archive and side, as one of three words."""
    return {
        (question.archive, question.side): STANDINGS[record.standing]
        for question, record in records.items()
    }


def _span(span: CanarySpan) -> dict[str, object]:
    fields = msgspec.structs.asdict(span)
    return {"state": fields.pop("verdict"), **fields}


def _question_fields(question: CanaryQuestion) -> dict[str, object]:
    return {"url": question.url, "at": None if question.at is None else str(question.at)}
