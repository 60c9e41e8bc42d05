"""An exchange as people read it: what was sent, what came back, and what should have."""

from collections.abc import Iterator
from typing import Final

from timegate.conformance.exchange import RecordedExchange
from timegate.printing import escaped

_SHOWN: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "content-type"),
    *("access-control-allow-origin", "access-control-allow-headers", "retry-after"),
)
_LONGEST: Final = 600
"""A Link header of a paging TimeMap may be as long as a page of this report."""


def sent(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the lines that went out."""
    yield f"{exchange.request.method} {printable(exchange.request.url)}"
    for name, value in exchange.request.headers.items():
        yield f"{name.title()}: {printable(value)}"


def got(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the lines that came back, as far as Memento looks at them."""
    if exchange.status is not None:
        yield str(exchange.status)
    for name in _SHOWN:
        if name in exchange.headers:
            yield f"{name.title()}: {printable(exchange.headers[name])}"
    if exchange.trouble is not None:
        yield f"({exchange.trouble.kind}: {printable(exchange.trouble.why)})"


def printable(text: str) -> str:
    """Return *text* with what a terminal or XML would act upon written out, within bounds."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escaped(shown)
