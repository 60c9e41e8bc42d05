"""All faults by name, and which of them a request meets."""

import re
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from timegate.misbehave.answers import PREFLIGHT, with_cors
from timegate.misbehave.faults import (
    claims,
    extremes,
    linking,
    negotiation,
    oddities,
    refusals,
    timemap,
    transport,
)
from timegate.misbehave.faults.fault import Fault, FaultContext
from timegate.misbehave.wire import Reply, WholeAnswer, WireRequest

_PREFIX: Final = re.compile(r"/~([a-z0-9+-]{1,200})(/.*+)", re.DOTALL)
_PREFERENCE: Final = re.compile(
    r'misbehave[ \t]*+=[ \t]*+"?([a-z0-9+-]{1,200})"?', re.IGNORECASE
)
NONE: Final = Fault("none", "No fault: a conforming archive.")
FAULTS: Final[dict[str, Fault]] = {NONE.name: NONE} | {
    value.name: value
    for module in (
        refusals,
        negotiation,
        claims,
        linking,
        timemap,
        transport,
        extremes,
        oddities,
    )
    for value in vars(module).values()
    if isinstance(value, Fault)
}


def fault_named(name: str) -> Fault:
    """Return the fault with this name. Raises ValueError, which lists all names."""
    if name not in FAULTS:
        raise ValueError(f"no fault {name!r}; there are {', '.join(sorted(FAULTS))}")
    return FAULTS[name]


def faults_named(names: str) -> tuple[Fault, ...]:
    """Return the faults in ``a+b``. Raises ValueError, which lists all names."""
    return tuple(fault_named(name) for name in names.split("+"))


def is_per_request(fault: Fault) -> bool:
    """Whether *fault* can be selected for a single request, unlike faults of connections."""
    return fault.tls is None and not fault.silent and not fault.hangs_up


@dataclass(frozen=True, slots=True)
class FaultChoice:
    """The faults that one request meets."""

    faults: tuple[Fault, ...]
    target: str
    """The target of the request, without the prefix that selects faults."""
    prefix: str = ""
    """That prefix, which the links of the answer keep."""


def requested_faults(request: WireRequest) -> FaultChoice | None:
    """Return the faults that a request selects; None if it selects none.

    It does so with ``/~name`` before its path, or with ``Prefer: misbehave=name``. Raises
    ValueError for unknown faults and for faults of connections.
    """
    if found := _PREFIX.fullmatch(request.target):
        return FaultChoice(_faults_for_request(found[1]), found[2], f"/~{found[1]}")
    for value in request.values("Prefer"):
        for preference in re.split("[,;]", value):
            if found := _PREFERENCE.fullmatch(preference.strip()):
                return FaultChoice(_faults_for_request(found[1]), request.target)
    return None


def _faults_for_request(names: str) -> tuple[Fault, ...]:
    faults = faults_named(names)
    for fault in faults:
        if not is_per_request(fault):
            why = f"{fault.name} is a fault of connections: start the archive with it"
            raise ValueError(why)
    return faults


class Chance:
    """Draws faults for a share of the requests; the same *seed* repeats the draws."""

    def __init__(self, share: float, seed: int, faults: tuple[Fault, ...] = ()) -> None:
        """*share* of the requests meet one of *faults*; by default, of all faults."""
        self.share = share
        self._among = [fault for fault in faults or FAULTS.values() if _is_drawn(fault)]
        self._random = Random(seed)  # noqa: S311 -- not a secret, and repeatable

    def draw(self) -> tuple[Fault, ...]:
        """Return the fault that the next request meets, or none."""
        # Both are always drawn, so that another share does not change which fault it is.
        hit, drawn = self._random.random(), self._random.choice(self._among or [FAULTS["none"]])
        return (drawn,) if hit < self.share else ()


def _is_drawn(fault: Fault) -> bool:
    return fault.name != "none" and is_per_request(fault)


def reply_with(faults: tuple[Fault, ...], exchange: FaultContext) -> Reply:
    """Answer with all *faults*, each applied to the result of the one before."""
    if exchange.request.method == "OPTIONS" and all(fault.preflight for fault in faults):
        return PREFLIGHT
    for fault in faults:
        reply = fault.reply(exchange)
        if not isinstance(reply, WholeAnswer):
            return reply
        exchange = replace(exchange, modified=reply)
    answer = exchange.announcing(exchange.correct)
    return with_cors(answer) if all(fault.cors for fault in faults) else answer


def names_applying(faults: tuple[Fault, ...], exchange: FaultContext) -> tuple[str, ...]:
    """Return the names of the *faults* that apply to this exchange."""
    return tuple(fault.name for fault in faults if fault.applies(exchange))
