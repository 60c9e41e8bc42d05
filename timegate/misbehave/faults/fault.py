"""A fault: its name, its description, the requests it applies to, and its function."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final

from timegate.misbehave.answers import (
    FAULT_HEADER,
    InvalidDate,
    correct_answer,
    requested_date,
    with_cors,
)
from timegate.misbehave.site import (
    CdxQuestion,
    FakeCapture,
    FakeHoldings,
    FakeSite,
    PageQuestion,
    Question,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    UnknownQuestion,
    stamp,
)
from timegate.misbehave.wire import Authority, Reply, WholeAnswer, WireRequest

EVERYTHING: Final = (
    PageQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    ReplayQuestion,
    CdxQuestion,
    UnknownQuestion,
)
LISTS: Final = (TimeMapQuestion, CdxQuestion)


@dataclass(frozen=True)
class FaultContext:
    """One request, and the archive that received it."""

    site: FakeSite
    request: WireRequest
    question: Question
    announced: str = ""
    """The names of the faults that the answer declares."""
    modified: WholeAnswer | None = None
    """The answer as changed by other faults; None before the first."""

    @cached_property
    def correct(self) -> WholeAnswer:
        """The answer of a conforming archive, as changed by other faults before."""
        if self.modified is not None:
            return self.modified
        answer = with_cors(correct_answer(self.site, self.request, self.question))
        return self.announcing(answer)

    def announcing(self, answer: WholeAnswer) -> WholeAnswer:
        """Return *answer* with a header that names its faults, where they are declared."""
        return answer.having(FAULT_HEADER, self.announced) if self.announced else answer

    def about(self, question: Question) -> "FaultContext":
        """Return the same exchange with another question, without changes of other faults."""
        return replace(self, question=question, modified=None)

    @property
    def original(self) -> str:
        """The page that is requested."""
        match self.question:
            case PageQuestion() | TimeGateQuestion() | TimeMapQuestion() | ReplayQuestion():
                return self.question.original
            case CdxQuestion():
                return self.question.parameters.get("url", "")
            case _:
                return ""

    @property
    def accept_datetime(self) -> datetime | None:
        """The time in Accept-Datetime; None if it is missing or invalid."""
        try:
            return requested_date(self.request)
        except InvalidDate:
            return None

    @property
    def chosen(self) -> FakeCapture | None:
        """The capture that a conforming TimeGate chooses."""
        return self.site.holdings.closest(self.original, self.accept_datetime)

    def holding(self, *captures: FakeCapture) -> "FaultContext":
        """Return the same exchange with an archive that holds *captures* instead."""
        site = replace(self.site, holdings=FakeHoldings(captures))
        return replace(self, site=site, modified=None)

    def requested_stamp(self) -> str | None:
        """Return the time in a replay URL or in Accept-Datetime, as digits."""
        if isinstance(self.question, ReplayQuestion):
            return self.question.stamp
        return None if self.accept_datetime is None else stamp(self.accept_datetime)


FaultFunction = Callable[[FaultContext], Reply]


def unchanged(exchange: FaultContext) -> Reply:
    """Return the correct answer."""
    return exchange.correct


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which an archive can be wrong."""

    name: str
    sentence: str
    applies_to: tuple[type[Question], ...] = ()
    """The kinds of questions that it changes; all others are answered correctly."""
    apply: FaultFunction = unchanged
    tls: Callable[[Authority], ssl.SSLContext] | None = None
    """The archive uses TLS with this context."""
    silent: bool = False
    """The archive claims TLS, accepts connections, and sends nothing."""
    hangs_up: bool = False
    """The archive closes every connection before reading from it."""
    cors: bool = True
    """Whether scripts of other sites may read its answers."""
    preflight: bool = True
    """Whether they may send Accept-Datetime: OPTIONS is answered."""

    @property
    def is_valid(self) -> bool:
        """Whether it breaks no rule: unusual, and right."""
        return self.sentence.startswith("No fault")

    def applies(self, exchange: FaultContext) -> bool:
        """Whether this fault changes the answer of an exchange."""
        if exchange.request.method == "OPTIONS":
            return not self.preflight
        return isinstance(exchange.question, self.applies_to)

    def reply(self, exchange: FaultContext) -> Reply:
        """Return the faulty answer, or the correct one where this fault does not apply."""
        return self.apply(exchange) if self.applies(exchange) else exchange.correct


def fault(*applies_to: type[Question]) -> Callable[[FaultFunction], Fault]:
    """Make a fault of a function: its name and docstring become name and sentence."""

    def decorate(apply: FaultFunction) -> Fault:
        name = getattr(apply, "__name__", "").replace("_", "-")
        return Fault(name, (apply.__doc__ or "").partition("\n")[0], applies_to, apply)

    return decorate
