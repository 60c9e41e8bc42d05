"""What a fault is: a name, a sentence, the questions it spoils, the function that does it."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final

from tests.hostile.addresses import Cdx, Elsewhere, Question, Replay, TimeGate, TimeMap
from tests.hostile.answers import NoDate, asked_date, right_answer
from tests.hostile.captures import Capture, Holdings, stamp
from tests.hostile.site import Site
from tests.hostile.tls import Authority
from tests.hostile.wire import Answer, Reply, Request

EVERYTHING: Final = (TimeGate, TimeMap, Replay, Cdx, Elsewhere)
LISTS: Final = (TimeMap, Cdx)


@dataclass(frozen=True)
class Exchange:
    """One request, and the archive it reached."""

    site: Site
    request: Request
    question: Question

    @cached_property
    def right(self) -> Answer:
        """What a right archive would answer."""
        return right_answer(self.site, self.request, self.question)

    @property
    def original(self) -> str:
        """The page it is about."""
        match self.question:
            case TimeGate() | TimeMap() | Replay():
                return self.question.original
            case Cdx():
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
    def chosen(self) -> Capture | None:
        """The capture a right TimeGate would choose."""
        return self.site.holdings.closest(self.original, self.asked)

    def holding(self, *captures: Capture) -> "Exchange":
        """Return the same exchange with an archive that holds *captures* instead."""
        return replace(self, site=replace(self.site, holdings=Holdings(captures)))

    def asked_stamp(self) -> str | None:
        """Return the digits in a replay URL, or those of Accept-Datetime."""
        if isinstance(self.question, Replay):
            return self.question.stamp
        return None if self.asked is None else stamp(self.asked)


Spoil = Callable[[Exchange], Reply]


def right(exchange: Exchange) -> Reply:
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

    def reply(self, exchange: Exchange) -> Reply:
        """Answer wrongly, or rightly where this fault has no say."""
        return (
            self.spoil(exchange) if isinstance(exchange.question, self.at) else exchange.right
        )


def fault(*at: type[Question]) -> Callable[[Spoil], Fault]:
    """Make a fault of a function: named after it, explained by its docstring."""

    def made(spoil: Spoil) -> Fault:
        name = getattr(spoil, "__name__", "").replace("_", "-")
        return Fault(name, (spoil.__doc__ or "").partition("\n")[0], at, spoil)

    return made
