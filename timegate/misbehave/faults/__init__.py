"""Every way this archive can be wrong, by name."""

import re
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from timegate.misbehave.answers import PREFLIGHT, opened
from timegate.misbehave.faults import (
    claims,
    negotiation,
    refusals,
    timemap,
    transport,
)
from timegate.misbehave.faults.fault import Fault, FaultContext
from timegate.misbehave.wire import Reply, WholeAnswer, WireRequest

NONE: Final = Fault("none", "A right archive.")

FAULTS: Final[dict[str, Fault]] = {NONE.name: NONE} | {
    value.name: value
    for module in (refusals, negotiation, claims, timemap, transport)
    for value in vars(module).values()
    if isinstance(value, Fault)
}


def fault_named(name: str) -> Fault:
    """Return a fault; ValueError with all names if there is none called that."""
    if name not in FAULTS:
        raise ValueError(f"no fault {name!r}; there are {', '.join(sorted(FAULTS))}")
    return FAULTS[name]


HEADER: Final = "X-Misbehaviour"
"""Says which faults an answer has."""
_PREFIX: Final = re.compile(r"/~([a-z0-9+-]{1,200})(/.*+)", re.DOTALL)
_PREFERENCE: Final = re.compile(
    r'misbehave[ \t]*+=[ \t]*+"?([a-z0-9+-]{1,200})"?', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Play:
    """What one request meets."""

    faults: tuple[Fault, ...]
    target: str
    """What is asked for, without the wish."""
    prefix: str = ""
    """What the links of the answer begin with."""


def faults_named(names: str) -> tuple[Fault, ...]:
    """Return the faults in ``a+b``; ValueError with all names for one that is not known."""
    return tuple(fault_named(name) for name in names.split("+"))


def is_of_requests(fault: Fault) -> bool:
    """Whether a single request can meet *fault*; what concerns connections, all of them do."""
    return fault.tls is None and not fault.silent and not fault.hangs_up


def wish(request: WireRequest) -> Play | None:
    """Return what a request wishes for, if it does. Raises ValueError if that cannot be."""
    if found := _PREFIX.fullmatch(request.target):
        return Play(_wished(found[1]), found[2], f"/~{found[1]}")
    for value in request.values("Prefer"):
        for preference in re.split("[,;]", value):
            if found := _PREFERENCE.fullmatch(preference.strip()):
                return Play(_wished(found[1]), request.target)
    return None


def _wished(names: str) -> tuple[Fault, ...]:
    faults = faults_named(names)
    for fault in faults:
        if not is_of_requests(fault):
            why = f"{fault.name} is a fault of connections: start the archive with it"
            raise ValueError(why)
    return faults


class Chance:
    """Draws a fault for some of the requests, the same ones for the same *seed*."""

    def __init__(self, share: float, seed: int, faults: tuple[Fault, ...] = ()) -> None:
        """*share*: of requests that meet one of *faults*; without any, of all there are."""
        self.share = share
        self._among = [fault for fault in faults or FAULTS.values() if _is_drawn(fault)]
        self._random = Random(seed)  # noqa: S311 -- no secret, and to be repeated

    def draw(self) -> tuple[Fault, ...]:
        """Return what the next request meets: one fault, or none."""
        # Both are drawn in any case, so that another share does not change which fault it is.
        hit, drawn = self._random.random(), self._random.choice(self._among or [FAULTS["none"]])
        return (drawn,) if hit < self.share else ()


def _is_drawn(fault: Fault) -> bool:
    return fault.name != "none" and is_of_requests(fault)


def played(faults: tuple[Fault, ...], exchange: FaultContext) -> Reply:
    """Answer with all *faults*: each bends what those before it made of the right answer."""
    if exchange.request.method == "OPTIONS" and all(fault.preflights for fault in faults):
        return PREFLIGHT
    for fault in faults:
        reply = fault.reply(exchange)
        if not isinstance(reply, WholeAnswer):
            return reply
        exchange = replace(exchange, given=reply)
    answer = exchange.announcing(exchange.right)
    return opened(answer) if all(fault.opens for fault in faults) else answer


def named(faults: tuple[Fault, ...], exchange: FaultContext) -> tuple[str, ...]:
    """Return the names of those *faults* that have a say in this exchange."""
    return tuple(fault.name for fault in faults if fault.concerns(exchange))
