"""What a canary has shown so far: spans of time in which all answers were alike.

Who did not answer is in it, and changes nothing: an archive that had lost a page and was then
silent for a week still counts as one that lost it.
"""

from typing import Annotated, Final

import msgspec

from timegate.canaries.questions import CanaryOutcome, Verdict

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
