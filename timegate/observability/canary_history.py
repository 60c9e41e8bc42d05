"""What a canary has shown so far: spans of time in which all answers were alike.

Who did not answer is in it, and changes nothing: an archive that had lost a page and was then
silent for a week still counts as one that lost it.
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
"""As it must be; without what it had; with what nobody can have. Who did not answer has shown
neither."""


class CanaryQuestion(NamedTuple):
    """One page that one archive must have, or cannot have."""

    archive: str
    side: Side
    url: str
    at: Moment | None = None
    """When it was captured, as far as that is stated; None for any time."""


class CanaryOutcome(NamedTuple):
    """What an answer shows, and why."""

    verdict: Verdict
    why: str


def questions_of(entries: Iterable[ArchiveEntry]) -> Iterator[CanaryQuestion]:
    """Yield what is asked of *entries*: that nobody can have a page needs no knowledge."""
    for entry in entries:
        canary = entry.canary or Canary()
        at = Moment(canary.at) if canary.at else None
        if canary.has is not None:
            yield CanaryQuestion(entry.id, "has", canary.has, at)
        yield CanaryQuestion(entry.id, "lacks", canary.lacks, at)


def judged(question: CanaryQuestion, found: Closest | None) -> CanaryOutcome:
    """Return what it shows that an archive *found* this, or clearly nothing."""
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


KEPT: Final = 30
"""Spans; the oldest go first."""
_LONGEST: Final = 300
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class CanarySpan(msgspec.Struct, frozen=True):
    """Answers in a row that showed the same."""

    verdict: Verdict
    why: Annotated[str, msgspec.Meta(max_length=_LONGEST)]
    """Of the last of them."""
    first: _Seconds
    """In seconds since 1970."""
    last: _Seconds
    times: Annotated[int, msgspec.Meta(ge=1)] = 1


class CanaryRecord(msgspec.Struct, frozen=True):
    """All that is known of one canary."""

    asked: _Seconds | None = None
    """When it was last asked, or is about to be; None for never."""
    spans: Annotated[tuple[CanarySpan, ...], msgspec.Meta(max_length=KEPT)] = ()
    """Oldest first."""

    @property
    def standing(self) -> Verdict:
        """What the last answer showed that was one."""
        return next((one.verdict for one in self._answers()), "unknown")

    @property
    def since(self) -> float | None:
        """When it was first seen so; None if there was no answer yet."""
        began = None
        for span in self._answers():
            if span.verdict != self.standing:
                break
            began = span.first
        return began

    @property
    def is_doubtful(self) -> bool:
        """Whether something is wrong that was seen but once: it may have been an accident."""
        last = self.spans[-1] if self.spans else None
        return last is not None and last.verdict in ("lost", "claims") and last.times == 1

    def _answers(self) -> list[CanarySpan]:
        """Return what was no silence, newest first."""
        return [span for span in reversed(self.spans) if span.verdict != "unknown"]


def noted(record: CanaryRecord, seen: CanaryOutcome, now: float) -> CanaryRecord:
    """Return *record* with what was *seen* now."""
    why = seen.why[:_LONGEST]
    last = record.spans[-1] if record.spans else None
    if last is not None and last.verdict == seen.verdict:
        longer = CanarySpan(last.verdict, why, last.first, now, last.times + 1)
        return CanaryRecord(record.asked, (*record.spans[:-1], longer))
    return CanaryRecord(
        record.asked, (*record.spans, CanarySpan(seen.verdict, why, now, now))[-KEPT:]
    )


def has_flipped(before: CanaryRecord, after: CanaryRecord) -> bool:
    """Whether somebody should be told: of what broke or was mended, not of silence.

    A canary that sings when it is first heard is no news; one that does not, is.
    """
    was, now = before.standing, after.standing
    return now != was and (was, now) != ("unknown", "kept")


_NEW: Final = CanaryRecord()


class CanaryStore:
    """All histories, as they were when they were last looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[CanaryQuestion, CanaryRecord] = {}

    @property
    def records(self) -> Mapping[CanaryQuestion, CanaryRecord]:
        """What is known here, without looking again."""
        return self._records

    async def look(self, question: CanaryQuestion) -> CanaryRecord:
        """Return what is known of *question*, by whomever it was asked."""
        record = self._records.get(question, _NEW)
        stored = await self._store.get(_key(question))
        if stored is not None:
            # Of two that were asked at the same time, ours is from before the answer.
            record = max(_read(stored.value), record, key=lambda one: one.asked or 0.0)
        self._records[question] = record
        return record

    async def put(self, question: CanaryQuestion, record: CanaryRecord) -> None:
        """Let all know it."""
        self._records[question] = record
        await self._store.put(_key(question), msgspec.json.encode(record), LONGEST, 0.0)


def _read(stored: bytes) -> CanaryRecord:
    try:
        return msgspec.json.decode(bytes(stored), type=CanaryRecord)
    except msgspec.MsgspecError:
        return _NEW


def _key(question: CanaryQuestion) -> str:
    """Return a name that another page, or another time of it, does not have."""
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


def told(
    archive: str, records: Mapping[CanaryQuestion, CanaryRecord], secret: Collection[str] = ()
) -> dict[str, object]:
    """Return what is known of the canaries of *archive*, in types that JSON has.

    What an archive in *secret* holds is not for everybody: its pages are not named.
    """
    ours = {q: record for q, record in records.items() if q.archive == archive}
    return {
        question.side: {
            **({} if archive in secret else _asked(question)),
            "state": record.standing,
            "since": record.since,
            "last_asked": record.asked,
            "history": [_span(span) for span in record.spans],
        }
        for question, record in ours.items()
    }


def standings(
    records: Mapping[CanaryQuestion, CanaryRecord],
) -> dict[tuple[str, str], Standing]:
    """Return for each archive and page how it stands, in three words."""
    return {
        (question.archive, question.side): STANDINGS[record.standing]
        for question, record in records.items()
    }


def _span(span: CanarySpan) -> dict[str, object]:
    fields = msgspec.structs.asdict(span)
    return {"state": fields.pop("verdict"), **fields}


def _asked(question: CanaryQuestion) -> dict[str, object]:
    return {"url": question.url, "at": None if question.at is None else str(question.at)}
