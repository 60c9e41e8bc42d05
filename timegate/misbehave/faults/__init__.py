"""Every way this archive can be wrong, by name."""

from typing import Final

from timegate.misbehave.faults import (
    claims,
    negotiation,
    refusals,
    timemap_content,
    timemap_syntax,
    transport,
)
from timegate.misbehave.faults.fault import Fault

NONE: Final = Fault("none", "A right archive.")

FAULTS: Final[dict[str, Fault]] = {NONE.name: NONE} | {
    value.name: value
    for module in (refusals, negotiation, claims, timemap_syntax, timemap_content, transport)
    for value in vars(module).values()
    if isinstance(value, Fault)
}


def fault_named(name: str) -> Fault:
    """Return a fault; ValueError with all names if there is none called that."""
    if name not in FAULTS:
        raise ValueError(f"no fault {name!r}; there are {', '.join(sorted(FAULTS))}")
    return FAULTS[name]
