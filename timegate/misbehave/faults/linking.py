# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Links of TimeGates and mementos that are missing, too many, or lead elsewhere."""

import re
from collections.abc import Callable
from typing import Final

from timegate.misbehave.addresses import Replay, TimeGate
from timegate.misbehave.captures import http_date
from timegate.misbehave.faults.fault import Exchange, fault
from timegate.misbehave.links import header, link, original_link, service_links
from timegate.misbehave.wire import Answer

_BESIDE: Final = re.compile(r'(?<=[" ])(?:prev|next)(?=[ "])')
_SWAPPED: Final = {"prev": "next", "next": "prev"}


def _relinked(exchange: Exchange, change: Callable[[str], str]) -> Answer:
    """Change the value of Link, where there is one."""
    value = exchange.right.value("Link")
    if value is None:
        return exchange.right
    return exchange.right.having("Link", change(value).strip(", "))


@fault(TimeGate)
def two_originals(exchange: Exchange) -> Answer:
    """The TimeGate links the original twice."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: f"{value}, {written}")


@fault(TimeGate)
def no_original(exchange: Exchange) -> Answer:
    """The TimeGate does not link the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(Replay)
def memento_no_original(exchange: Exchange) -> Answer:
    """Mementos do not link the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(TimeGate)
def other_original(exchange: Exchange) -> Answer:
    """The TimeGate links another page as the original."""
    written = str(original_link(exchange.original))
    other = str(original_link("http://other.example/"))
    return _relinked(exchange, lambda value: value.replace(written, other))


@fault(TimeGate)
def no_timemap_type(exchange: Exchange) -> Answer:
    """Links to TimeMaps do not say their type."""
    typed = '; type="application/link-format"'
    return _relinked(exchange, lambda value: value.replace(typed, ""))


@fault(TimeGate)
def chosen_unlinked(exchange: Exchange) -> Answer:
    """The TimeGate links a first memento only, whichever it chose."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.right.status != 302:
        return exchange.right
    at, original = exchange.site.addresses, exchange.original
    dated = {"datetime": http_date(held[0].at)}
    timemap = link(at.timemap("link", original), "timemap", type="application/link-format")
    first = link(at.memento(held[0]), "first memento", **dated)
    return exchange.right.having("Link", header([original_link(original), timemap, first]))


@fault(Replay)
def memento_alone(exchange: Exchange) -> Answer:
    """Mementos link their original and nothing else."""
    only = header([original_link(exchange.original)])
    return exchange.right.having("Link", only)


@fault(TimeGate)
def no_timemap(exchange: Exchange) -> Answer:
    """The TimeGate links no TimeMap."""
    _, timemap = service_links(exchange.site, exchange.original)
    return _relinked(exchange, lambda value: value.replace(f", {timemap}", ""))


@fault(TimeGate, Replay)
def prev_next_swapped(exchange: Exchange) -> Answer:
    """Links called prev lead to the memento after the chosen one, next to the one before."""
    return _relinked(
        exchange, lambda value: _BESIDE.sub(lambda found: _SWAPPED[found[0]], value)
    )
