"""What a fault is: a name, a sentence, the questions it spoils, the function that does it."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final

from timegate.misbehave.answers import NoDate, asked_date, opened, right_answer
from timegate.misbehave.site import (
    CdxQuestion,
    FakeCapture,
    FakeHoldings,
    FakeSite,
    Question,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    UnknownQuestion,
    stamp,
)
from timegate.misbehave.wire import Authority, Reply, WholeAnswer, WireRequest

EVERYTHING: Final = (
    TimeGateQuestion,
    TimeMapQuestion,
    ReplayQuestion,
    CdxQuestion,
    UnknownQuestion,
)
LISTS: Final = (TimeMapQuestion, CdxQuestion)


@dataclass(frozen=True)
class FaultContext:
    """One request, and the archive it reached."""

    site: FakeSite
    request: WireRequest
    question: Question
    announced: str = ""
    """The names of faults that the answer says it has."""
    given: WholeAnswer | None = None
    """What other faults have made of the right answer already."""

    @cached_property
    def right(self) -> WholeAnswer:
        """What a right archive would answer, but for other faults."""
        if self.given is not None:
            return self.given
        answer = opened(right_answer(self.site, self.request, self.question))
        return self.announcing(answer)

    def announcing(self, answer: WholeAnswer) -> WholeAnswer:
        """Return *answer*, saying which faults it has."""
        return answer.having("X-Misbehaviour", self.announced) if self.announced else answer

    def about(self, question: Question) -> "FaultContext":
        """Return the same exchange with another question."""
        return replace(self, question=question, given=None)

    @property
    def original(self) -> str:
        """The page it is about."""
        match self.question:
            case TimeGateQuestion() | TimeMapQuestion() | ReplayQuestion():
                return self.question.original
            case CdxQuestion():
                return self.question.parameters.get("url", "")
            case _:
                return ""

    @property
    def asked(self) -> datetime | None:
        """The time in Accept-Datetime, where there is a right one."""
        try:
            return asked_date(self.request)
        except NoDate:
            return None

    @property
    def chosen(self) -> FakeCapture | None:
        """The capture a right TimeGate would choose."""
        return self.site.holdings.closest(self.original, self.asked)

    def holding(self, *captures: FakeCapture) -> "FaultContext":
        """Return the same exchange with an archive that holds *captures* instead."""
        site = replace(self.site, holdings=FakeHoldings(captures))
        return replace(self, site=site, given=None)

    def asked_stamp(self) -> str | None:
        """Return the digits in a replay URL, or those of Accept-Datetime."""
        if isinstance(self.question, ReplayQuestion):
            return self.question.stamp
        return None if self.asked is None else stamp(self.asked)


Spoil = Callable[[FaultContext], Reply]


def right(exchange: FaultContext) -> Reply:
    """Answer rightly."""
    return exchange.right


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to be wrong."""

    name: str
    sentence: str
    at: tuple[type[Question], ...] = ()
    """The kinds of questions it spoils; all others are answered rightly."""
    spoil: Spoil = right
    tls: Callable[[Authority], ssl.SSLContext] | None = None
    """The archive speaks TLS, with this."""
    silent: bool = False
    """It claims to speak TLS, accepts connections, and says nothing."""
    hangs_up: bool = False
    """It closes every connection before reading from it."""
    opens: bool = True
    """Whether scripts of other sites may read what it answers."""
    preflights: bool = True
    """Whether they may ask for a time: OPTIONS is answered."""

    def concerns(self, exchange: FaultContext) -> bool:
        """Whether this fault has a say in an exchange."""
        if exchange.request.method == "OPTIONS":
            return not self.preflights
        return isinstance(exchange.question, self.at)

    def reply(self, exchange: FaultContext) -> Reply:
        """Answer wrongly, or rightly where this fault has no say."""
        return self.spoil(exchange) if self.concerns(exchange) else exchange.right


def fault(*at: type[Question]) -> Callable[[Spoil], Fault]:
    """Make a fault of a function: named after it, explained by its docstring."""

    def made(spoil: Spoil) -> Fault:
        name = getattr(spoil, "__name__", "").replace("_", "-")
        return Fault(name, (spoil.__doc__ or "").partition("\n")[0], at, spoil)

    return made
