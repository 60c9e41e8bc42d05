"""What the page of an archive says of its checks: the last one, and how it was before."""

from collections.abc import Sequence
from typing import NamedTuple

from timegate.conformance.checks import CHECKS
from timegate.conformance.history import Past
from timegate.verdict.explanation import Tone

_SIGNS = {"fail": "✕", "warn": "!", "unknown": "?"}


class FailedCheck(NamedTuple):
    """One check that was not passed."""

    sign: str
    verdict: str
    check: str
    sentence: str
    where: str
    why: str


class PastCheck(NamedTuple):
    """One check of the past."""

    checked: str
    tone: Tone
    counts: str
    changed: str
    """Which checks broke or were mended since the one before."""


class CheckView(NamedTuple):
    """All there is to say."""

    rows: tuple[PastCheck, ...]
    """Newest first."""
    complaints: tuple[FailedCheck, ...]
    """Of the last check."""
    samples: tuple[str, ...]
    running: str | None
    """Which archive is being checked now."""
    failed: str
    """Why the last attempt to run a check ended without a result."""
    token: str | None
    """What allows to run a check from here; None if the operator does not."""


def check_view(
    pasts: Sequence[Past], running: str | None, failed: str, token: str | None
) -> CheckView:
    """Return what is to be said of *pasts*, oldest first."""
    before: list[Past | None] = [None, *pasts]
    rows = [_row(past, earlier) for past, earlier in zip(pasts, before, strict=False)]
    last = pasts[-1] if pasts else None
    complaints = _complaints(last) if last else ()
    samples = last.samples if last else ()
    return CheckView(tuple(reversed(rows)), complaints, samples, running, failed, token)


def _row(past: Past, earlier: Past | None) -> PastCheck:
    stamp = past.checked
    when = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[8:10]}:{stamp[10:12]} UTC"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in past.counts.items() if count)
    return PastCheck(
        when, _tone(past), counts, "" if earlier is None else _changed(past, earlier)
    )


def _tone(past: Past) -> Tone:
    if past.counts.get("fail"):
        return "poor"
    return "fair" if past.wrong else "good"


def _changed(past: Past, earlier: Past) -> str:
    """Tell what broke and what was mended; what could not be judged is neither."""
    now, then = _broken(past), _broken(earlier)
    unknown = {wrong.check for wrong in past.wrong} - now
    told = [f"new: {name}" for name in sorted(now - then)]
    told += [f"mended: {name}" for name in sorted(then - now - unknown)]
    return ", ".join(told)


def _broken(past: Past) -> set[str]:
    return {wrong.check for wrong in past.wrong if wrong.verdict in ("fail", "warn")}


def _complaints(past: Past) -> tuple[FailedCheck, ...]:
    found = []
    for wrong in past.wrong:
        check = CHECKS.get(wrong.check)
        sentence = check.sentence if check else wrong.check
        where = f"{check.level}, {check.section}" if check else "no such check any more"
        sign = _SIGNS.get(wrong.verdict, "")
        found.append(FailedCheck(sign, wrong.verdict, wrong.check, sentence, where, wrong.why))
    return tuple(found)
