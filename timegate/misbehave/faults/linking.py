# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Links of TimeGates and mementos that are missing, too many, or lead elsewhere."""

import re
from collections.abc import Callable
from typing import Final

from timegate.misbehave.addresses import ReplayQuestion, TimeGateQuestion
from timegate.misbehave.captures import http_date
from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.links import header, link, original_link, service_links
from timegate.misbehave.wire import WholeAnswer

_BESIDE: Final = re.compile(r'(?<=[" ])(?:prev|next)(?=[ "])')
_SWAPPED: Final = {"prev": "next", "next": "prev"}


def _relinked(exchange: FaultContext, change: Callable[[str], str]) -> WholeAnswer:
    """Change the value of Link, where there is one."""
    value = exchange.right.value("Link")
    if value is None:
        return exchange.right
    return exchange.right.having("Link", change(value).strip(", "))


@fault(TimeGateQuestion)
def two_originals(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links the original twice."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: f"{value}, {written}")


@fault(TimeGateQuestion)
def no_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate does not link the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(ReplayQuestion)
def memento_no_original(exchange: FaultContext) -> WholeAnswer:
    """Mementos do not link the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(TimeGateQuestion)
def other_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links another page as the original."""
    written = str(original_link(exchange.original))
    other = str(original_link("http://other.example/"))
    return _relinked(exchange, lambda value: value.replace(written, other))


@fault(TimeGateQuestion)
def no_timemap_type(exchange: FaultContext) -> WholeAnswer:
    """Links to TimeMaps do not say their type."""
    typed = '; type="application/link-format"'
    return _relinked(exchange, lambda value: value.replace(typed, ""))


@fault(TimeGateQuestion)
def chosen_unlinked(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links a first memento only, whichever it chose."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.right.status != 302:
        return exchange.right
    at, original = exchange.site.addresses, exchange.original
    dated = {"datetime": http_date(held[0].at)}
    timemap = link(at.timemap("link", original), "timemap", type="application/link-format")
    first = link(at.memento(held[0]), "first memento", **dated)
    return exchange.right.having("Link", header([original_link(original), timemap, first]))


@fault(ReplayQuestion)
def memento_alone(exchange: FaultContext) -> WholeAnswer:
    """Mementos link their original and nothing else."""
    only = header([original_link(exchange.original)])
    return exchange.right.having("Link", only)


@fault(TimeGateQuestion)
def no_timemap(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links no TimeMap."""
    _, timemap = service_links(exchange.site, exchange.original)
    return _relinked(exchange, lambda value: value.replace(f", {timemap}", ""))


@fault(TimeGateQuestion, ReplayQuestion)
def prev_next_swapped(exchange: FaultContext) -> WholeAnswer:
    """Links called prev lead to the memento after the chosen one, next to the one before."""
    return _relinked(
        exchange, lambda value: _BESIDE.sub(lambda found: _SWAPPED[found[0]], value)
    )
