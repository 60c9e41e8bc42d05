# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Answers without content: bot challenges, refusals, errors, delays, closed connections."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from timegate.misbehave.faults.fault import EVERYTHING, FaultContext, fault
from timegate.misbehave.faults.transport import no_bytes
from timegate.misbehave.site import (
    CdxQuestion,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    http_date,
)
from timegate.misbehave.wire import RawAnswer, WholeAnswer, stream

HTML: Final = ("Content-Type", "text/html; charset=utf-8")
PAUSE: Final = 120
"""Seconds in Retry-After."""


def _page(title: str) -> bytes:
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n".encode()


@fault(TimeGateQuestion, TimeMapQuestion, CdxQuestion)
def bot_challenge(_: FaultContext) -> WholeAnswer:
    """TimeGate, TimeMap and CDX answer 200 with an HTML page that checks for bots."""
    return WholeAnswer(200, (HTML,), _page("Just a moment, are you human?"))


@fault(ReplayQuestion)
def block_page(_: FaultContext) -> WholeAnswer:
    """Mementos are a 200 with an HTML page saying that the capture is blocked."""
    return WholeAnswer(200, (HTML,), _page("This URL has been excluded"))


@fault(*EVERYTHING)
def too_many_seconds(_: FaultContext) -> WholeAnswer:
    """A 429 with Retry-After in seconds."""
    return WholeAnswer(429, (HTML, ("Retry-After", str(PAUSE))), _page("Too many requests"))


@fault(*EVERYTHING)
def too_many_date(_: FaultContext) -> WholeAnswer:
    """A 429 with Retry-After as a date."""
    later = http_date(datetime.now(UTC) + timedelta(seconds=PAUSE))
    return WholeAnswer(429, (HTML, ("Retry-After", later)), _page("Too many requests"))


@fault(*EVERYTHING)
def too_many_silent(_: FaultContext) -> WholeAnswer:
    """A 429 without Retry-After."""
    return WholeAnswer(429, (HTML,), _page("Too many requests"))


@fault(*EVERYTHING)
def unavailable(_: FaultContext) -> WholeAnswer:
    """A 503 with Retry-After."""
    return WholeAnswer(503, (HTML, ("Retry-After", str(PAUSE))), _page("Service unavailable"))


@fault(*EVERYTHING)
def forbidden(_: FaultContext) -> WholeAnswer:
    """A 403, as from a bot filter."""
    return WholeAnswer(403, (HTML,), _page("Access denied"))


@fault(*EVERYTHING)
def server_error(_: FaultContext) -> WholeAnswer:
    """A 500."""
    return WholeAnswer(500, (HTML,), _page("Internal error"))


@fault(*EVERYTHING)
def slow(exchange: FaultContext) -> WholeAnswer:
    """No fault: the correct answer, after 3 seconds."""
    return replace(exchange.correct, delay=exchange.site.options.delay)


@fault(*EVERYTHING)
def hang(exchange: FaultContext) -> RawAnswer:
    """The request is read and never answered."""
    return RawAnswer(no_bytes(exchange.site.options))


@fault(*EVERYTHING)
def close_unanswered(_: FaultContext) -> RawAnswer:
    """The request is read, then the connection is closed."""
    return RawAnswer(stream())


@fault(*EVERYTHING)
def reset(_: FaultContext) -> RawAnswer:
    """The request is read, then the connection is reset."""
    return RawAnswer(stream(), resets=True)


@fault(ReplayQuestion)
def memento_lost(_: FaultContext) -> WholeAnswer:
    """Mementos are a 404, although TimeGate and lists lead to them."""
    return WholeAnswer(404, (HTML,), _page("Not found"))


@fault(ReplayQuestion)
def memento_500(_: FaultContext) -> WholeAnswer:
    """Mementos are a 500 of the archive itself."""
    return WholeAnswer(500, (HTML,), _page("Internal error"))


@fault(ReplayQuestion)
def memento_403(_: FaultContext) -> WholeAnswer:
    """Mementos are a 403, as from a bot filter."""
    return WholeAnswer(403, (HTML,), _page("Access denied"))


@fault(ReplayQuestion)
def memento_429(_: FaultContext) -> WholeAnswer:
    """Mementos are a 429 without Retry-After."""
    return WholeAnswer(429, (HTML,), _page("Too many requests"))


@fault(ReplayQuestion)
def memento_503(_: FaultContext) -> WholeAnswer:
    """Mementos are a 503 without Retry-After."""
    return WholeAnswer(503, (HTML,), _page("Service unavailable"))


@fault(ReplayQuestion)
def memento_hang(exchange: FaultContext) -> RawAnswer:
    """Requests for mementos are read and never answered."""
    return RawAnswer(no_bytes(exchange.site.options))
