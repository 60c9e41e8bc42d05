"""What asking one archive brought, hop by hop, as text and as JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import click

from archives.choice import second_of
from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment
from timegate.printing import escaped
from timegate.upstream.trace import UpstreamExchange

_SHOWN: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "retry-after"),
)


@dataclass(slots=True)
class ArchiveAnswer:
    """One question to one archive, and what became of it."""

    archive: str
    original: str
    at: Moment | None
    outcome: Closest | ArchiveError | None = None
    trail: list[UpstreamExchange] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 found, 3 the archive has none, 4 it did not say."""
        if isinstance(self.outcome, ArchiveError):
            return 4
        return 3 if self.outcome is None else 0


def as_json(inquiry: ArchiveAnswer) -> str:
    """Write *inquiry* as one JSON object."""
    at, outcome = inquiry.at, inquiry.outcome
    found = outcome if isinstance(outcome, Closest) else None
    error = outcome if isinstance(outcome, ArchiveError) else None
    return json.dumps(
        {
            "archive": inquiry.archive,
            "original": inquiry.original,
            "asked": None if at is None else str(at),
            "outcome": "found" if found else "unknown" if error else "absent",
            "memento": None if found is None else _memento(found.memento),
            "delta": None if found is None else _delta(found.memento, at),
            "via": None if found is None else found.via,
            "doubts": [] if found is None else list(found.doubts),
            "neighbours": {}
            if found is None
            else {name: _memento(memento) for name, memento in found.neighbours.items()},
            "error": None
            if error is None
            else {
                "kind": type(error).__name__.lower(),
                "why": error.why,
                "url": error.url,
                "retry_after": getattr(error, "retry_after", None),
            },
            "exchanges": [_exchange(exchange) for exchange in inquiry.trail],
        }
    )


def _memento(memento: Memento) -> dict[str, object]:
    return {
        "uri": memento.uri,
        "datetime": str(memento.captured),
        "original": memento.original,
        "status": memento.status,
    }


def _delta(memento: Memento, at: Moment | None) -> int | None:
    if at is None:
        return None
    return int(at.distance(second_of(memento.stamp)).total_seconds())


def _exchange(exchange: UpstreamExchange) -> dict[str, object]:
    return {
        "method": exchange.request.method,
        "url": exchange.request.url,
        "sent": dict(exchange.request.headers),
        "status": exchange.status,
        "headers": dict(exchange.headers),
        "error": None if exchange.error is None else exchange.error.why,
        "seconds": round(exchange.seconds, 3),
    }


def as_text(inquiry: ArchiveAnswer) -> str:
    """Write *inquiry* for people."""
    at = inquiry.at
    when = "the newest copy" if at is None else f"the copy closest to {at}"
    lines = [f"asking {inquiry.archive} for {when} of {inquiry.original}"]
    for number, exchange in enumerate(inquiry.trail, start=1):
        lines += _hop(number, exchange)
    return "\n".join([*lines, *_verdict(inquiry.outcome, at)])


def _hop(number: int, exchange: UpstreamExchange) -> Iterator[str]:
    yield f"{number:>2}  {exchange.request.method} {exchange.request.url}"
    for name, value in exchange.request.headers.items():
        yield f"      > {name.title()}: {value}"
    if exchange.status is None:
        yield f"      no answer after {exchange.seconds:.2f} s"
        return
    yield f"      {exchange.status} after {exchange.seconds:.2f} s"
    for name in _SHOWN:
        if name in exchange.headers:
            yield f"      < {name.title()}: {escaped(exchange.headers[name])}"


def _verdict(outcome: Closest | ArchiveError | None, at: Moment | None) -> Iterator[str]:
    if outcome is None:
        yield f"{click.style('absent', 'yellow')}: the archive says that it has no copy"
    elif isinstance(outcome, ArchiveError):
        yield f"{click.style('unknown', 'magenta')}: {escaped(outcome.why)}"
    else:
        memento = outcome.memento
        yield f"{click.style('found', 'green')} {escaped(memento.uri)}"
        yield f"  captured {memento.captured}{_in_words(_delta(memento, at))}"
        if memento.status not in (None, 200):
            yield f"  archived status {memento.status}"
        for doubt in outcome.doubts:
            yield f"  {click.style('doubt', 'yellow')}: {escaped(doubt)}"


def _in_words(delta: int | None) -> str:
    if delta is None:
        return ""
    if delta == 0:
        return ", inside the time asked for"
    side = "before" if delta < 0 else "after"
    days, seconds = divmod(abs(delta), 86_400)
    distance = f"{days} days" if days else f"{seconds} seconds"
    return f", {distance} {side} the time asked for"
