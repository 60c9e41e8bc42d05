# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Answers that are no answer: bot gates, refusals, errors, silence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from timegate.misbehave.faults.fault import EVERYTHING, FaultContext, fault
from timegate.misbehave.faults.transport import silence
from timegate.misbehave.site import (
    CdxQuestion,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    http_date,
)
from timegate.misbehave.wire import RawAnswer, WholeAnswer, once

HTML: Final = ("Content-Type", "text/html; charset=utf-8")
PAUSE: Final = 120
"""Seconds that Retry-After asks for."""


def _page(title: str) -> bytes:
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n".encode()


@fault(TimeGateQuestion, TimeMapQuestion, CdxQuestion)
def bot_challenge(_: FaultContext) -> WholeAnswer:
    """A 200 with an HTML page that asks whether one is human, at TimeGate, TimeMap and CDX."""
    return WholeAnswer(200, (HTML,), _page("Just a moment, are you human?"))


@fault(ReplayQuestion)
def block_page(_: FaultContext) -> WholeAnswer:
    """A 200 with an HTML page that says the capture is blocked, without Memento-Datetime."""
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
    """A 429 that does not say for how long."""
    return WholeAnswer(429, (HTML,), _page("Too many requests"))


@fault(*EVERYTHING)
def unavailable(_: FaultContext) -> WholeAnswer:
    """A 503 with Retry-After."""
    return WholeAnswer(503, (HTML, ("Retry-After", str(PAUSE))), _page("Service unavailable"))


@fault(*EVERYTHING)
def forbidden(_: FaultContext) -> WholeAnswer:
    """A 403 of a bot gate, before anything was looked up."""
    return WholeAnswer(403, (HTML,), _page("Access denied"))


@fault(*EVERYTHING)
def server_error(_: FaultContext) -> WholeAnswer:
    """A 500."""
    return WholeAnswer(500, (HTML,), _page("Internal error"))


@fault(*EVERYTHING)
def slow(exchange: FaultContext) -> WholeAnswer:
    """The right answer, after 3 seconds."""
    return replace(exchange.right, delay=exchange.site.manner.delay)


@fault(*EVERYTHING)
def hang(exchange: FaultContext) -> RawAnswer:
    """The request is read and never answered."""
    return RawAnswer(silence(exchange.site.manner))


@fault(*EVERYTHING)
def close_unanswered(_: FaultContext) -> RawAnswer:
    """The request is read, then the connection is closed."""
    return RawAnswer(once())


@fault(*EVERYTHING)
def reset(_: FaultContext) -> RawAnswer:
    """The request is read, then the connection is reset."""
    return RawAnswer(once(), resets=True)
