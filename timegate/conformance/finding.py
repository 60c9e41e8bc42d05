"""What a check finds: right, wrong, does not apply, or nobody can say."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from timegate.conformance.parsed_response import ParsedResponse
from timegate.conformance.session import RecordedExchange

Level = Literal["must", "should", "practice"]
"""What an RFC demands, what it recommends, what users of archives rely on besides."""
Verdict = Literal["pass", "fail", "warn", "skip", "unknown"]
"""A broken *must* fails; everything else that is broken warns."""
VERDICTS: Final[tuple[Verdict, ...]] = ("pass", "fail", "warn", "skip", "unknown")
_SHOWN: Final = 3
"""Exchanges in a trace; the others would say the same."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict, why, and the exchanges that prove it."""

    verdict: Verdict
    why: str
    expected: str = ""
    evidence: tuple[RecordedExchange, ...] = ()


class NotApplicable(Exception):
    """Raised by a check that has nothing to look at: the reason why."""


class Unanswered(Exception):
    """Raised by a check whose question was not answered: unknown is not wrong."""

    def __init__(self, why: str, *said: ParsedResponse) -> None:
        super().__init__(why)
        self.evidence = tuple(each.exchange for each in said)


def passed(why: str, *said: ParsedResponse) -> Finding:
    """Return that all is well, with what was looked at."""
    return Finding("pass", why, "", tuple(each.exchange for each in said[:_SHOWN]))


def broken(why: str, expected: str, *said: ParsedResponse) -> Finding:
    """Return that something is wrong; how bad that is, the level of the check says."""
    return Finding("fail", why, expected, tuple(each.exchange for each in said[:_SHOWN]))


def answered(said: ParsedResponse | None, what: str) -> ParsedResponse:
    """Return *said* if it is an answer. Raises NotApplicable or Unanswered."""
    if said is None:
        raise NotApplicable(f"{what} was not asked for")
    if said.silence:
        raise Unanswered(said.silence, said)
    return said


def each(
    said: Iterable[ParsedResponse | None],
    complaint: Callable[[ParsedResponse], str | None],
    expected: str,
) -> Finding:
    """Judge every answer alike; what did not answer is left out, and all of it is unknown."""
    asked = [one for one in said if one is not None]
    heard = [one for one in asked if not one.silence]
    if not asked:
        raise NotApplicable("there is no such answer")
    if not heard:
        raise Unanswered(asked[0].silence, asked[0])
    wrong = [(one, why) for one in heard if (why := complaint(one))]
    if not wrong:
        answers = "answer" if len(heard) == 1 else "answers"
        return passed(f"{len(heard)} {answers} looked at", *heard)
    reasons = dict.fromkeys(why for _, why in wrong)
    return broken("; ".join([*reasons][:_SHOWN]), expected, *(one for one, _ in wrong))
